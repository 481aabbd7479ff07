"""Python as it is written, flattened: results, exceptions and mutation agree with CPython, before
and after the flat code is typed once more.

PYTEST_DONT_REWRITE: an assert in here is one to compile.
"""

from __future__ import annotations

import math
from collections import namedtuple
from functools import partial

import numpy as np
import pytest

from pullback.errors import TypingError

from .support import call_flat, check, flattened

X = np.arange(1.0, 7.0)
A = np.arange(12.0).reshape(3, 4) + 1
Pair = namedtuple("Pair", "a b")
CASES = []


def case(*args):
    def register(f):
        CASES.append((f, args))
        return f

    return register


# -- arrays ----------------------------------------------------------------------------------------
@case(1.5, X)
def augmented(a, x):
    x[1:] += a * x[:-1]
    x[0] *= 2
    x += 1
    return x.sum()


@case(A)
def loops(A):
    n, m = A.shape
    s = 0.0
    for i in range(n):
        for j in range(m):
            if j % 2 == 0:
                continue
            if A[i, j] > 9:
                break
            s += A[i, j] ** 2
    return s, A[1], A.T[0], A[-1, ::-1], A.size, A.ndim, len(A)


@case(A, 1)
def slices(A, k):
    A[k] = A[0]
    A[:, 1] = 5.0
    A[0, 1:3] = A[2, :2]
    A[..., 0] += 1
    A[A.shape[0] - 1] *= 2
    B = A[None, :, 1]
    return B, A[k, ...], A[::2, ::-1], A[k : k + 1], A[k, -1:0:-2]


@case(X)
def overlap(x):
    x[1:] = x[:-1]
    x[:-2] += x[2:]
    return x[::-1]


@case(A)
def rows(A):
    s = 0.0
    for row in A:
        for v in row:
            s = s * 0.5 + v
        row[0] = s
    u, v, w = A[:, 0]
    return u * v - w


@case(np.array(2.5))
def no_axes(x):
    x[()] = x[()] * 2
    return float(x), x[()]


@case(X)
def out_of_bounds(x):
    x[0] = 7.0
    return x[6]


@case(A)
def out_of_bounds_late(A):
    for i in range(5):
        A[i, -1] = 0.0
    return A


@case(X, 0)
def bad_step(x, k):
    return x[::k]


@case(X, X[::-1])
def swapped(x, y):
    for _ in range(3):
        x, y = y, x
    y[0] = 9.0
    return x[0] + y[1]


# -- iteration -------------------------------------------------------------------------------------
@case(X, X[::-1])
def zipped(x, y):
    s = 0.0
    for k, (a, b) in enumerate(zip(x, y), 1):
        s += k * a * b
    for a in reversed(x):
        s = s * 0.5 + a
    for i in reversed(range(1, 6)):
        s -= i * x[i]
    for i in reversed(range(0, 6, 2)):
        s = i - s * x[i]
    return s


@case(5, -2)
def ranges(n, step):
    s = t = 0
    for i in range(n, 0, step):
        s += i
    for i in range(0, n, -step):
        s = 2 * s + i
    for i in range(10, n, -1):
        t += i
    return s, t, i, len(range(1, n, 2)), range(3, 9, 2)[1]


@case(0)
def no_step(n):
    s = 0
    for i in range(1, 5, n):
        s += i
    return s


@case((1.0, 2.0), X)
def tuples(t, x):
    a, b = t
    s = 0.0
    for c in (a, b, 3):
        s += c * x[1]
    for i, (n, c) in enumerate(zip(("u", "v"), t)):
        if n == "u":
            s += c
        else:
            s -= c * i
    for k, v in {"p": a, "q": b}.items():
        s += v if k == "p" else -v
    return s, t[-1], t[::-1], (t + (a,))[2], t * 2


@case((X, X[:2]), 3)
def tuples_of_arrays(xs, n):
    best = 0.0
    for x in xs:
        for i in range(len(x)):
            if x[i] > n:
                break
            best = max(best, x[i])
        else:
            best = -best
            continue
        break
    return best


@case((1.0, 2.0, 5.0), 1)
def picked(t, i):
    return t[i], t[-i]


@case((1.0, 2.0, 5.0), 3)
def picked_outside(t, i):
    return t[i]


@case(A)
def positions(A):
    s = 0.0
    for i, j in np.ndindex(A.shape):
        s += i * A[i, j] - j
    for (i, j), v in np.ndenumerate(A):
        s += v * (i - j)
    return s


@case(6)
def while_else(n):
    s = 0
    while n > 0:
        s += n
        n -= 1
        if s > 100:
            break
    else:
        s = -s
    return s, 7 // 2, n % 3, -n, not n, n and 3, s or 2


# -- functions -------------------------------------------------------------------------------------
def apply(f, *args, **kwargs):
    return f(*args, **kwargs)


def signature(*args, b=1.0, **kwargs):
    return args[0] + b + len(args) + kwargs.get("z", 0)


@case(1.5, X)
def closures(a, x):
    k = 3.0

    def g(u, s=2.0):
        return u * k * s + a

    h = lambda v: g(v, s=0.5)
    return apply(g, x[0]) + apply(h, v=x[1])


@case(4.0)
def nonlocal_cells(a):
    t = 0.0

    def add(u):
        nonlocal t
        t += u

    add(a)
    add(a * 2)
    return t


@case(2.0)
def arguments(x):
    d = {"z": 4.0}
    return signature(x, 1, 2, b=x, z=3.0) + signature(*(x, x), **d) + signature(x)


def scaled(a, x, *, by=2.0):
    return a * x * by


@case(2.0)
def partials(x):
    f = partial(scaled, 3.0, by=x)
    return f(x)


TRIPLE = partial(scaled, 3.0, by=0.5)


@case(2.0)
def global_partial(x):
    return TRIPLE(x) + TRIPLE(x, by=x)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n, x):
    return x if n == 0 else odd(n - 1, x * 1.5)


def odd(n, x):
    return 0.0 if n == 0 else even(n - 1, x + 1)


def pair(n, x):
    if n == 0:
        return x, 1
    a, b = pair(n - 1, x * 2)
    return b + x, a


@case(7, 2.0)
def recursive(n, x):
    return fib(n), even(n - 1, x) + even(4, x) + odd(3, x), pair(n, x)


def fill(x, n):
    if n >= 0:
        x[n] = n * WEIGHT
        fill(x, n - 1)


WEIGHT = 2.5


@case(X)
def recursive_store(x):
    fill(x, 4)
    return x[3]


@case(2.0)
def ever_deeper(x):
    return [ever_deeper_inner, abs][1](x)


def ever_deeper_inner(x):
    return x


class Scale:
    """A callable object, taken by value; its number is read at each call."""

    def __init__(self, k):
        self.k = k

    def by(self, x):
        return self.k * x


SCALE = Scale(4.0)


@case(2.0)
def methods_of_objects(x):
    return SCALE.by(x) + SCALE.k


# -- control ---------------------------------------------------------------------------------------
@case(3.0)
def unbound(a):
    if a > 10:
        y = 1.0
    return y


@case(13.0)
def bound(a):
    if a > 10:
        y = a
    return y


@case(0)
def unbound_loop_variable(n):
    for i in range(n):
        pass
    return i


@case(3, X)
def raises(n, x):
    x[0] = 5.5
    if n > 2:
        raise ValueError(f"bad {n} of {x[0]:.2f}, {(n, 1)!r}")
    return 1.0


@case(3)
def raises_from(n):
    if n > 2:
        raise KeyError(n) from IndexError("x")
    return 1.0


@case(3)
def steps_by_nothing(n):
    for _ in range(0, n, 0):
        n += 1
    return n


def refuse(n):
    raise RuntimeError("never")


@case(3)
def callee_raises(n):
    if n > 2:
        refuse(n)
    return n


@case(3.0)
def asserts(x):
    assert x < 2, "too big"
    return x


@case(2.0, 3)
def comparisons(x, n):
    return (
        1 < x <= n, x in (1.0, 2.0), n in range(0, 10, 3), x is not None, (x, n) == (2.0, 3),
        isinstance(x, float), isinstance(n, (int, str)), (1, 2) < (1, n), n is True,
    )  # fmt: skip


@case(X, 2)
def matched(x, n):
    match n:
        case 0:
            return 0.0
        case 1 | 2:
            return x[n]
        case _:
            return -1.0


@case((1.0, 2.0, 3.0))
def matched_sequence(t):
    match t:
        case (a, *rest):
            return a, rest[0], len(rest)


@case(X, None, "fast")
def static_arguments(x, axis, mode):
    if axis is None and mode == "fast":
        return x[0]
    return x


# -- numbers and products --------------------------------------------------------------------------
@case(2.0)
def builtins_on_numbers(x):
    return (
        min(x, 3), max(x, 1, 7.5), abs(-x), round(x), int(x), float(3), bool(x), divmod(7, 2),
        sum((1, 2.0, x)), pow(x, 2), complex(x, 1), any((0, x)), all((1, 0)), math.hypot(x, 3, 4),
    )  # fmt: skip


@case(np.float32(1.5), X.astype("f4"))
def single_precision(a, x):
    s = 0.0
    for v in x:
        s += v * 2.5 + a
    x[0] = a / 3
    return (
        s, a * 2, a * x[0] * 1.1, math.sin(a), np.sin(a), a / 3, x[0] ** 2, a < 1.1, 2**3, -a,
        x[1] // 2, max(a, x[1]), np.float64(a) * 2.0, a * np.float64(2),
    )  # fmt: skip


@case(np.int32(7), np.uint8(200), True)
def small_integers(i, u, b):
    return i * 2, i // 2, i / 2, u + np.uint8(50), b + b, i * 1.5, -i, i**2, b & True, i & 3


@case(2 + 1j, X + 1j)
def complex_numbers(z, x):
    x[0] = z * z.conjugate()
    return abs(z), z.real * z.imag, x[0], x.real[1], np.conj(z), x.imag.sum(), z**2, z == z


@case(1.0, 0.0)
def division_of_numbers(a, b):
    return a / b


@case(np.array([1.0, 0.0]))
def division_of_elements(x):
    with_python = x[0] / 2
    return x[0] / x[1], with_python, 1 / x[1]


@case(2, 5, 1.5)
def powers(a, b, x):
    return a**b, x**b, x**-2, 2**-1, a**3, x**0.5, a**x


@case(Pair(1.0, 2.0))
def namedtuples(p):
    q = p._replace(a=p.b * 2)
    return Pair(q.a + 1, b=q.b), q[0], p._fields[1] == "b"


@case(1.0, 2.0)
def nested_products(a, b):
    t = ((a, b), [a, (b, 3)])
    (x, y), (z, (w, n)) = t
    for _ in range(2):
        t = ((t[0][1], t[0][0] + 1), t[1])
    return t, x + w * n - y * z


@case(3)
def ints_become_floats(n):
    s = 0
    for i in range(n):
        s += i * 0.5
    return s


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("f, args", CASES, ids=[f.__name__ for f, _ in CASES])
def test_agrees_with_cpython(f, args):
    check(f, *args)


def test_loops_count_in_integers():
    """A range with a known step is counted by its own variable; the latch adds the step."""
    text = str(flattened(zipped, X, X).ir)
    assert "lt(" in text and "iter" not in text


@pytest.mark.parametrize(
    "show",
    [
        lambda x: print(f"{x:.2f}"),
        lambda x: print("x", str(x)),
        lambda x: print((x, 2.0)),
        lambda x: print([x, 2.0]),
        lambda x: print(slice(x, None)),
    ],
)
def test_nothing_is_printed_wrong(show):
    with pytest.raises(TypingError, match="print of") as e:
        flattened(show, 3.0)
    assert e.value.loc.file == __file__


def test_what_is_printed_is_what_cpython_prints(capsys):
    def f(x, a):
        print("x", x, 3, True, None, f"{3:d} known", a, (1 if x > 0 else 2))
        return x

    f(1.5, np.ones(2))
    want = capsys.readouterr().out
    call_flat(flattened(f, 1.5, np.ones(2)), f, 1.5, np.ones(2))
    assert capsys.readouterr().out == want
