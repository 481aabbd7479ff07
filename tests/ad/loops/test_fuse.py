"""Loops of array expressions run as one where that changes nothing, and only there."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from pullback.ad.compile import on_cpython, prepared
from pullback.ad.loops.dependence import Dependence
from pullback.ir.loops import loop_forest

from ..harness import flatten
from ..test_traps import agree

X = np.array([0.3, 1.1, -0.4, 0.8])
Y = np.array([0.5, -0.2, 0.9, 1.3])


def loops(f: Any, *args: Any) -> int:
    """How many loops are left; the prepared function must still be the function."""
    ir = prepared(flatten(f, args))
    given, wanted = copy.deepcopy(args), copy.deepcopy(args)
    np.testing.assert_allclose(on_cpython(ir)(*given)[0], f(*wanted), rtol=1e-13)
    for a, b in zip(given, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    return len(list(loop_forest(ir)))


def chain(x):
    return (x + 2.0 * np.sin(x) * x).sum()


def two_results(x):
    a = x * x
    b = np.cos(x)
    return (a * b).sum() + a.sum()


def in_place(x, y):
    x += 2.0 * y
    x *= y
    return (x * x).sum()


def test_a_chain_is_one_loop() -> None:
    assert loops(chain, X) == 1
    agree(chain, X)


def test_shapes_that_might_differ() -> None:
    loops(in_place, X, Y)
    agree(in_place, X, Y)


def test_arrays_that_are_read_twice() -> None:
    assert loops(two_results, X) <= 2
    agree(two_results, X)


def softmax(x):
    e = np.exp(x)
    s = e.sum()
    p = e / s
    return (p * p).sum()


def shifted(x):
    y = x * x
    z = np.zeros(len(x))
    for i in range(len(x)):
        z[i] = y[len(x) - 1 - i] * x[i]
    return z.sum()


def ahead(x):
    y = np.zeros(len(x) + 1)
    for i in range(len(x)):
        y[i] = x[i] * x[i]
    s = 0.0
    for i in range(len(x)):
        s += y[i + 1] * x[i]
    return s


def behind(x):
    y = np.zeros(len(x) + 1)
    for i in range(len(x)):
        y[i + 1] = x[i] * x[i]
    s = 0.0
    for i in range(len(x)):
        s += y[i] * x[i]
    return s


def reversed_view(x):
    x[::-1] = x * 2.0
    return (x * x[::-1]).sum() + x[0]


@pytest.mark.parametrize("f", [softmax, shifted, ahead, behind, reversed_view])
def test_what_is_needed_whole_stays_apart(f: Any) -> None:
    loops(f, X)
    agree(f, X)


@pytest.mark.parametrize("f", [shifted, ahead])
def test_loops_that_wait_for_each_other_show(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    monkeypatch.setattr(Dependence, "out_of_order", lambda d, a, b, first, second: False)
    with pytest.raises(AssertionError):
        agree(f, X)


def test_final_values_are_not_read_early() -> None:
    assert loops(softmax, X) >= 2


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_sizes(n: int) -> None:
    agree(chain, np.linspace(-1.0, 1.0, n))
    agree(in_place, np.linspace(-1.0, 1.0, n), np.linspace(0.5, 1.0, n))


def test_the_first_exception_comes_first() -> None:
    def f(a, x, p):
        s = t = 0.0
        for i in range(3):
            s += x[p[i]]
        for i in range(3):
            t += a / (i - 1)
        return s * t

    args = (1.0, np.ones(3), np.array([0, 1, 9]))
    with pytest.raises(IndexError):
        on_cpython(prepared(flatten(f, args)))(*args)
