"""Functions that came through @njit mean what Numba gives them."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from pullback.runtime import prims
from pullback.typing_ import abstract_of

from .support import call_flat, check, flattened, same

X = np.arange(1.0, 7.0)


def agrees(f, *args, rtol=1e-15):
    """The flat code of an @njit function does what the function does when compiled."""
    made = flattened(f, *args)
    got = call_flat(made, f.py_func, *args)
    same(boxed(f(*args)), boxed(got), rtol)
    return made


def boxed(x):
    """A result as Numba hands it to CPython: numbers become Python's."""
    if isinstance(x, tuple):
        return tuple(map(boxed, x))
    return x.item() if isinstance(x, np.generic) else x


@njit
def mixed(x, y, n, i):
    return x * y, x + n, i * i, i / n, -i, x**2, x**n, abs(x), min(x, y), x < y, n // i


def test_numbers_promote_as_numba_promotes_them():
    made = agrees(mixed, np.float32(1.1), 2.5, 3, np.int32(7))
    theirs = [t for t in mixed.nopython_signatures[0].return_type]
    assert [e.type for e in made.result.elements] == theirs


@njit
def divide(a, b):
    return a / b


@njit(error_model="numpy")
def divide_freely(a, b):
    return a / b


def callees(made):
    return {op.callee for op in made.ir.ops()}


def test_division_follows_the_error_model():
    x = np.zeros(1)
    checked, free = flattened(divide, x[0], x[0]), flattened(divide_freely, 1.0, 0.0)
    assert prims.pydiv in callees(checked) and prims.pydiv not in callees(free)
    with pytest.raises(ZeroDivisionError):
        call_flat(checked, divide.py_func, 1.0, 0.0)
    assert call_flat(free, divide_freely.py_func, np.float64(1.0), np.float64(0.0)) == np.inf


@njit
def at(x, i):
    return x[i]


@njit(boundscheck=True)
def at_checked(x, i):
    return x[i]


def test_indices_are_checked_only_if_asked_for():
    assert prims.wrap in callees(flattened(at, X, -1))
    made = flattened(at_checked, X, -1)
    assert prims.index in callees(made) and prims.wrap not in callees(made)
    agrees(at, X, -1)


@njit
def inner(x, a):
    s = 0.0
    for i in range(x.size):
        s += x[i] * a
    return s


def outer(x):
    return inner(x, 2.0) + inner(x[::2], 1) + x[-1] / 1.0


def test_compiled_helpers_are_entered():
    made = check(outer, X)
    assert prims.wrap in callees(made) and prims.index in callees(made)


@njit
def single(x):
    return x * x


def test_numbers_come_back_from_compiled_helpers_as_python_numbers():
    made = flattened(lambda x: (single(x), single(x) * x), np.float32(1.1))
    assert [str(e.type) for e in made.result.elements] == ["float64", "float32"]


@njit(fastmath=True)
def fast(x):
    return x + 1.0


def test_options_are_kept():
    made = flattened(fast, 1.0)
    assert made.semantics.numba and made.semantics.fastmath is True


@njit
def arrays(x, A):
    t = (1, 2.5)
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = x[i] ** 2 / t[1] + t[0]
    B = A * 2 + out[:3]
    B[0] = out[3:]
    return out, B, x.sum(), np.dot(x, x), A.T[0]


def test_arrays():
    agrees(arrays, X, np.ones((2, 3)))


@njit
def recursive(n, x):
    return x if n == 0 else recursive(n - 1, x * 1.5) + n


def test_recursion():
    made = agrees(recursive, 4, 2.0)
    assert made.specialised


def test_random_draws_stay_leaves():
    made = flattened(lambda n: np.random.normal(0.0, 1.0) * n, 2.0)
    assert np.random.normal in callees(made)
    assert abstract_of(2.0).type == made.result.type
