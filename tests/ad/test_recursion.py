"""Calls that stay calls: self and mutual recursion, with arrays written and returned."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pullback as pb
from pullback.ad import compile as kernels
from pullback.errors import ActivityLost, TypingError

from .harness import Derived, jvp
from .test_traps import agree, difference


def fib(x, n):
    if n < 2:
        return x * n + 1.0
    return fib(x, n - 1) * math.sin(fib(x, n - 2) + x)


def tree(x, lo, hi):
    if hi - lo == 1:
        v = x[lo]
        x[lo] = v * v
        return math.sin(v)
    m = (lo + hi) // 2
    return tree(x, lo, m) * tree(x, m, hi) + x[lo]


def even(x, n):
    return x if n == 0 else odd(x * x + 0.1, n - 1)


def odd(x, n):
    return math.sin(x) if n == 0 else even(math.cos(x), n - 1)


def products(x, n):
    if n == 0:
        return x.copy()
    y = products(x, n - 1)
    z = y * x
    y[0] = y[0] * 2.0
    return z


def fill(x, n, v):
    """Returns a constant."""
    if n > 0:
        x[n - 1] = v
        fill(x, n - 1, v * v)
    return 0.5


def put(x, n, v):
    """Returns nothing."""
    x[n - 1] = v
    if n > 1:
        put(x, n - 1, v * v)


def into_new(write, v):
    made = np.zeros(2)
    write(made, 2, v)
    return v * made[0] + made[1]


def layouts(x, y, n):
    """Calls itself with arrays of all layouts: types that are found only together."""
    if n == 0:
        return y[0] * x[1]
    return layouts(y * 1.5, x, n - 1) + layouts(x[::-1], y, n - 1)


def in_loop(x, n):
    s = 0.0
    for i in range(n):
        s += fib(x * 0.5, i) * s + x
    return s


CASES = [
    (lambda x, n: fib(x * x, n) + x, (0.3, 5)),
    (lambda x: tree(x, 0, len(x)), (np.array([0.3, 0.4, 0.5, 0.6, 0.7]),)),
    (lambda x, n: even(x, n), (0.3, 5)),
    (lambda x, n: products(x, n).sum(), (np.array([0.3, 1.2]), 3)),
    (in_loop, (0.4, 4)),
    (lambda x: layouts(x, x * x, 3), (np.array([0.3, 1.2, 0.7]),)),
    (lambda v: into_new(fill, v), (0.7,)),
    (lambda v: into_new(put, v), (0.7,)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_reverse(case: int) -> None:
    f, args = CASES[case]
    agree(f, *args)


@pytest.mark.parametrize("case", range(len(CASES)))
def test_forward(case: int) -> None:
    f, args = CASES[case]
    (g,) = difference(f, *args)
    t = 1.0 if isinstance(args[0], float) else np.linspace(0.5, 1.0, len(args[0]))
    assert jvp(f, args, (t,))[1] == pytest.approx(np.sum(g * t), rel=1e-8)


def test_machine_code() -> None:
    f, args = CASES[1]
    d = Derived(f, args)
    wanted = d(*args)
    kernel = kernels.gradient(d.flat, [True])
    x, dx = args[0].copy(), np.zeros(5)
    (value,) = kernel.call(x, dx, 1.0)
    assert value == pytest.approx(wanted.value, rel=1e-13)
    np.testing.assert_allclose(dx, wanted.grads[0], rtol=1e-12)
    np.testing.assert_allclose(x, wanted.args[0], rtol=1e-13)


def counts(x, n):
    c = np.zeros(3, np.int64)
    if n > 0:
        return counts(x * 1.5, n - 1)
    c[0] = x
    return c[0] * 1.0


def test_nothing_half_made_is_left_by_an_error() -> None:
    for _ in range(2):
        for how in ({}, {"mode": "forward"}, {"mode": "reverse"}):
            with pytest.raises(ActivityLost):
                pb.jacobian(lambda x: counts(x, 2), options={"run": "python"}, **how)(2.0)


def test_no_way_back() -> None:
    def sinks(x, i):
        if i > 2:
            raise OverflowError(i)
        x[i] = 1.0
        return 2 * sinks(x, i + 1)

    with pytest.raises(TypingError, match="returns on no path"):
        Derived(lambda x: sinks(x, 0) if x[0] > 1.0 else x.sum(), (np.ones(4),))
