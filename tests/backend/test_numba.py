"""Numba compiles lowered functions, and computes what CPython does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

from pullback.backend import lower
from pullback.frontend import lift
from pullback.ir.builder import Builder
from pullback.ir.core import IR, Info, Slot
from pullback.ir.verify import verify

SCALE = 3.0


def swap(n):
    a, b = 1.0, 2.0
    i = 0
    while i < n:
        a, b = b, a
        i += 1
    return a, b


def rotate(n):
    a, b, c = 1.0, 2.0, 3.0
    for _ in range(n):
        a, b, c = c, a, b
    return a * 100 + b * 10 + c


def stencil(x, steps):
    for _ in range(steps):
        for i in range(1, x.shape[0] - 1):
            x[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
    return x.sum()


def search(x, tol):
    lo, hi = 0.0, x
    while True:
        mid = 0.5 * (lo + hi)
        if hi - lo < tol:
            break
        elif mid * mid > x:
            hi = mid
        else:
            lo = mid
    return mid


def matrix(A, v):
    n, m = A.shape
    out = np.zeros(n)
    for i in range(n):
        s = 0.0
        for j in range(m):
            if A[i, j] < 0.0 and not j == 2:
                continue
            s += A[i, j] * v[j]
        out[i] = math.sqrt(abs(s)) * SCALE if s > 0 else s**2
    out[1:] += out[0]
    return out


def late(n):
    for i in range(n):
        y = i * 2.0
    return y


CASES = [
    *[(swap, (n,)) for n in range(4)],
    *[(rotate, (n,)) for n in range(7)],
    (stencil, (np.arange(9.0) ** 2, 5)),
    (search, (2.0, 1e-9)),
    (matrix, (np.arange(12.0).reshape(3, 4) - 5, np.arange(4.0))),
    (late, (3,)),
]


@pytest.mark.parametrize("f,args", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_njit_of_lowered(f, args):
    def fresh():
        return [a.copy() if isinstance(a, np.ndarray) else a for a in args]

    compiled = njit(lower(lift(f), portable=True))
    np.testing.assert_allclose(compiled(*fresh()), f(*fresh()), rtol=1e-14)


def test_constants_are_globals_of_their_own():
    ir = IR(Info(name="g", qualname="g", argnames=("x",)))
    b = Builder(ir)
    x = ir.value("x")
    b.block.params.append(x)
    helper = njit(lambda v: v * 2)
    b.ret(b.call(np.add, b.call(helper, x), np.float32(1)))
    verify(ir)
    g = lower(ir, portable=True)
    assert {"add", "np"} & set(g.__globals__) == {"add"}
    assert njit(g)(2.0) == g(2.0) == 5.0


def test_slots_are_locals():
    """A loop that accumulates in a slot."""
    import operator

    ir = IR(Info(name="g", qualname="g", argnames=("n",)))
    n = ir.value("n")
    entry, head, body, end = ir.block([n]), ir.block(), ir.block(), ir.block()
    i = ir.value("i")
    head.params.append(i)
    acc = Slot("acc")
    b = Builder(ir, entry)
    b.set(acc, 0.0)
    b.jump(head, [0])
    b.at(head).branch(b.call(operator.lt, i, n), body, end)
    b.at(body).set(acc, b.call(operator.add, b.get(acc), i))
    b.cut()
    b.jump(head, [b.call(operator.add, i, 1)])
    b.at(end).ret(b.get(acc))
    verify(ir)
    g = lower(ir, portable=True)
    assert njit(g)(5) == g(5) == lower(ir)(5) == 10.0


def test_irreducible_loop():
    """Two ways into one loop: Collatz-like, entered in the middle if x is even."""
    import operator

    ir = IR(Info(name="g", qualname="g", argnames=("x",)))
    x = ir.value("x")
    entry, a, c, end = ir.block([x]), ir.block(), ir.block(), ir.block()
    p, q, r = ir.value("p"), ir.value("q"), ir.value("r")
    a.params.append(p)
    c.params.append(q)
    end.params.append(r)
    b = Builder(ir, entry)
    b.branch(b.call(operator.mod, x, 2), a, c, [x], [x])
    b.at(a).jump(c, [b.call(operator.add, p, 3)])
    b.at(c)
    q2 = b.call(operator.mul, q, 2)
    b.branch(b.call(operator.lt, q2, 100), a, end, [q2], [q2])
    b.at(end).ret(r)
    verify(ir)
    g = lower(ir)

    def expected(x):
        inside = x % 2 == 0
        while True:
            x = x if inside else x + 3
            inside = False
            x *= 2
            if not x < 100:
                return x

    assert [g(k) for k in range(20)] == [expected(k) for k in range(20)]
    assert [njit(g)(k) for k in (0, 1, 7)] == [expected(k) for k in (0, 1, 7)]
    assert str(lift(g)).count("jump") == str(ir).count("jump")
