"""No check goes that could fail: programs run with every access watched, against CPython."""

import linecache
import operator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR
from pullback.ir.verify import verify
from pullback.passes.bounds import bounds
from pullback.passes.manager import optimize
from pullback.runtime import prims
from pullback.typing_.api import flat
from pullback.typing_.lattice import abstract_of
from tests.ir.interp import Interpreter, OutOfFuel


class Watched(Interpreter):
    """Asserts that unchecked accesses are in range."""

    def do_call(self, op):
        if op.is_call(prims.load, prims.store):
            x, *rest = map(self.read, op.args[1:])
            index = rest[1:] if op.is_call(prims.store) else rest
            assert len(index) == x.ndim
            assert all(0 <= i < n for i, n in zip(index, x.shape)), f"{op} at {index} of {x.shape}"
        return super().do_call(op)


def compiled(f, *args):
    ir = flat(f, [abstract_of(a) for a in args]).ir
    optimize(ir)
    return verify(ir, typed=True)


def checks(ir):
    return sum(op.is_call(prims.index) for op in ir.ops())


def result(run, args):
    """What a call gives, and leaves in its arrays."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        found = run(*args)
    except OutOfFuel:
        return OutOfFuel
    except (IndexError, ValueError, ZeroDivisionError) as e:
        found = type(e).__name__
    return repr((found, [a.tolist() for a in args if isinstance(a, np.ndarray)]))


def same(f, ir, *args):
    expected = result(f, args)
    found = result(lambda *xs: unpacked(Watched(ir, 4000).run(*xs)), args)
    assert found in (expected, OutOfFuel), f"{found} is not {expected}\n{ir}"


def unpacked(leaves):
    return leaves[0] if leaves else None


# -- checks that go --------------------------------------------------------------------------------
def ascending(x):
    for i in range(len(x)):
        x[i] = i


def stencil(x):
    for i in range(1, len(x) - 1):
        x[i] = x[i - 1] + x[i + 1]


def strided(x):
    for i in range(1, len(x) - 1, 2):
        x[i] = x[i - 1] + x[i + 1]


def descending(x):
    for i in range(len(x) - 2, -1, -1):
        x[i] = x[i + 1]


def mirrored(x):
    n = len(x)
    for i in range(n):
        x[i] = x[n - 1 - i]


def while_loop(x):
    i = 0
    while i < len(x):
        x[i] = 2.0
        i += 1


def guarded(x):
    for i in range(len(x)):
        if i > 0:
            x[i] += x[i - 1]
        if i + 1 < len(x):
            x[i] += x[i + 1]


def clamped(x):
    for i in range(len(x)):
        x[i] = x[max(i - 1, 0)] + x[min(i + 1, len(x) - 1)]


def periodic(x):
    for i in range(len(x)):
        x[i] = x[(i + 1) % len(x)]


def checked_before(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
        x[i] = s


def swapped(x):
    n = len(x)
    u, v = x.copy(), np.zeros(n)
    for _ in range(3):
        for i in range(1, n - 1):
            v[i] = u[i - 1] + u[i + 1]
        u, v = v, u
    for i in range(n):
        x[i] = u[i]


def tail(x):
    y = x[1:]
    for i in range(len(y)):
        y[i] = x[i]


def triangle(x):
    n = len(x)
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            a[i, j] = a[j, i] + x[j]


def one_longer(x):
    n = len(x)
    y = np.zeros(n + 1)
    for i in range(n):
        y[i + 1] = y[i] + x[i]
        x[i] = y[i + 1]


PROVEN = [
    *(ascending, stencil, strided, descending, mirrored, while_loop, guarded, clamped, periodic),
    *(checked_before, swapped, tail, triangle, one_longer),
]


@pytest.mark.parametrize("f", PROVEN, ids=lambda f: f.__name__)
def test_no_check_is_left(f):
    ir = compiled(f, np.zeros(3))
    assert checks(ir) == 0, str(ir)
    for n in range(6):
        same(f, ir, np.arange(1.0, n + 1))


# -- checks that stay ------------------------------------------------------------------------------
def from_before(x, k, m):
    for i in range(k, len(x)):
        x[i] = 1.0


def beyond(x, k, m):
    for i in range(len(x) + 1):
        x[i] = 1.0


def to_anywhere(x, k, m):
    for i in range(k):
        x[i] = 1.0


def rebound(x, k, m):
    n = len(x)
    for i in range(n):
        n = n + 1
        x[n - 1] = 1.0


def rebound_stop(x, k, m):
    n = len(x)
    if k > 1:
        n = m
    for i in range(n):
        x[i] = 1.0


def other_array(x, k, m):
    y = np.zeros(m)
    for i in range(len(x)):
        y[i] = x[i]


def growing(x, k, m):
    i = 0
    while i < len(x) and k != 0:
        i += k
        x[i] = 1.0


def negative_step(x, k, m):
    i = len(x) - 1
    while i >= 0 and k != 0:
        i -= k
        x[i] = 1.0


def modulo_zero_or_less(x, k, m):
    x[k % m] = 1.0


def shifted_guard(x, k, m):
    if k - 1 < len(x):
        x[k] = 1.0


def or_guard(x, k, m):
    if k >= 0 or k < len(x):
        x[k] = 1.0


def wrong_minimum(x, k, m):
    x[min(k, len(x))] = 1.0


def shrinking(x, k, m):
    i, n = 1, 9
    while True:
        if i + 1 >= n:
            break
        if n <= 3:
            break
        i += 1
        n -= 1
    y = np.zeros(n)
    y[i] = x[0]


def low_guard(x, k, m):
    if k >= 0:
        x[k] = 1.0


def bitwise_or_guard(x, k, m):
    if (k >= 0) | (m > 0):
        if (k < len(x)) | (m > 0):
            x[k] = 1.0


def way_around_the_guard(x, k, m):
    i = max(k, 0)
    if i < len(x) or m > 0:
        x[i] = 1.0


def otherwise(x, k, m):
    if k < len(x):
        x[0] = 2.0
    elif k >= 0:
        x[k] = 1.0


def behind(x, k, m):
    i = 0
    while i < len(x):
        i += 1
    x[i] = k


def swapped_sizes(x, k, m):
    u, v = np.zeros(3), np.zeros(5)
    for i in range(k):
        x[0] = u[3]
        u, v = v, u


KEPT = [
    *(from_before, beyond, to_anywhere, rebound, rebound_stop, other_array, growing),
    *(negative_step, modulo_zero_or_less, shifted_guard, or_guard, wrong_minimum, swapped_sizes),
    *(shrinking, behind, otherwise, low_guard, bitwise_or_guard, way_around_the_guard),
]


@pytest.mark.parametrize("f", KEPT, ids=lambda f: f.__name__)
def test_what_can_fail_is_checked(f):
    ir = compiled(f, np.zeros(3), 1, 1)
    assert checks(ir) > 0
    for n in range(4):
        for k in range(-5, 6):
            for m in (-4, 0, 1, 2, 7):
                same(f, ir, np.zeros(n), k, m)


def test_a_dead_array_of_negative_length_still_raises():
    def f(x, k):
        np.zeros(k)
        x[0 % k if k else 0] = 1.0

    ir = compiled(f, np.zeros(2), 1)
    same(f, ir, np.zeros(2), -1)


# -- sums that wrap --------------------------------------------------------------------------------
def wrapping(make):
    """``x.store(index(make(k, n)))`` where k is any integer and n the length of x."""
    ir = IR()
    x, k = ir.value("x", types.float64[::1]), ir.value("k", types.int64)
    at = Builder(ir, ir.block([x, k]))
    n = at.call(prims.dim, x, 0, type=types.int64)
    inside, outside = ir.block(), ir.block()
    test, index = make(at, k, n)
    at.branch(test, inside, outside)
    at.at(inside)
    at.call(prims.store, x, 1.0, at.call(prims.index, index, n, type=types.int64))
    at.ret(0)
    at.at(outside).ret(1)
    return ir


def int64(at, f, *args):
    return at.call(f, *args, type=types.int64)


def both(at, a, b):
    return at.call(operator.and_, a, b, type=types.boolean)


def less(at, a, b):
    return at.call(operator.lt, a, b, type=types.boolean)


def test_a_sum_that_may_wrap_is_not_where_its_parts_say():
    def low(at, k, n):  # k far below zero: k - 10 is huge, yet k < n
        shifted = int64(at, operator.sub, k, 10)
        return both(at, less(at, -1, shifted), less(at, k, n)), shifted

    def high(at, k, n):  # k huge: k + 10 is negative, yet k > -11
        shifted = int64(at, operator.add, k, 10)
        return both(at, less(at, -11, k), less(at, shifted, n)), shifted

    for make in (low, high):
        ir = wrapping(make)
        assert not bounds(ir), str(ir)


def test_a_sum_that_cannot_wrap_is():
    def low(at, k, n):
        shifted = int64(at, operator.sub, k, 10)
        return both(at, less(at, 9, k), less(at, k, n)), shifted

    def high(at, k, n):
        shifted = int64(at, operator.add, k, 10)
        nearby = both(at, less(at, -11, k), less(at, k, 1000))
        return both(at, nearby, less(at, shifted, n)), shifted

    for make in (low, high):
        ir = wrapping(make)
        assert bounds(ir) and checks(ir) == 0, str(ir)


# -- random programs -------------------------------------------------------------------------------
INDEX = ["i", "i + 1", "i - 1", "n - 1 - i", "j", "j - i", "i % n", "min(i, n - 1)", "max(j, 0)"]
INDEX += ["k", "k % n", "-1", "0", "n - 1", "i + j", "i // 2", "max(min(j, n - 1), 0)"]
CALM = [index for index in INDEX if index != "i + j"]  # assigned in loops, that would explode
BOUND = ["0", "1", "n", "n - 1", "n + 1", "m", "len(x) - 2", "j", "k", "-1", "-2", "i + 1"]
GUARD = ["i > 0", "i < n", "j >= 0 and j < n", "k > 0", "i != j", "not i > 1", "n == m"]
GUARD += ["0 <= j < m", "i + 1 < n or k > 1"]
STEP = ["1", "1", "2", "-1", "-2"]

pick = st.sampled_from


@st.composite
def bodies(draw, depth=0):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(pick(["put", "put", "set", "for", "while", "if", "array"]))
        if kind == "put":
            left, right = draw(pick("xy")), draw(pick("xy"))
            lines.append(f"{left}[{draw(pick(INDEX))}] = {right}[{draw(pick(INDEX))}] + 1")
        elif kind == "set":
            lines.append(f"{draw(pick('ijnm'))} = {draw(pick(BOUND + CALM))}")
        elif kind == "array":
            lines.append(draw(pick(["x, y = y, x", "y = np.zeros(n)", "y = x[1:]", "n = len(y)"])))
        elif depth < 2:
            inner = ["    " + line for line in draw(bodies(depth + 1))]
            if kind == "for":
                start, stop, step = draw(pick(BOUND)), draw(pick(BOUND)), draw(pick(STEP))
                lines.append(f"for {draw(pick('ij'))} in range({start}, {stop}, {step}):")
            elif kind == "while":
                lines += ["t += 1", f"while {draw(pick(GUARD))} and t < 8:"]
                inner.append(f"    {draw(pick(['i += 1', 'j -= 1', 't += 1', 'i -= 1']))}")
                inner.append("    t += 1")
            else:
                lines.append(f"if {draw(pick(GUARD))}:")
                if draw(st.booleans()):
                    inner += ["else:", *("    " + line for line in draw(bodies(depth + 1)))]
            if kind in ("for", "while"):  # however the bounds grow, it ends
                inner = ["    fuel += 1", "    if fuel > 300:", "        return -1", *inner]
            lines += inner
    return lines or ["pass"]


def function(lines):
    source = "def f(x, y, k, m):\n    n = len(x)\n    i = j = t = fuel = 0\n"
    source += "".join(f"    {line}\n" for line in lines) + "    return i + 10 * j\n"
    name = f"<program {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["f"]


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(bodies(), st.lists(st.tuples(*[st.integers(0, 4)] * 2, *[st.integers(-3, 5)] * 2)))
def test_random_programs_do_what_cpython_does(lines, calls):
    f = function(lines)
    ir = compiled(f, np.zeros(3), np.zeros(3), 1, 1)
    for a, b, k, m in [(3, 3, 1, 3), (0, 2, 0, -1), *calls]:
        same(f, ir, np.arange(a + 0.0), np.arange(b + 0.0), k, m)
