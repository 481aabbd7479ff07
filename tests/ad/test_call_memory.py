"""Memory that a recursive function shares with its caller: what either writes, the other's reverse
half must not see. Each case is a function of one array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import pullback as pb
from pullback.errors import NoDerivativeError

from .test_traps import both_plans, difference

X = np.array([1.1, 0.7, 0.9, 1.3])


def double(x, n):
    """Linear: by itself it has nothing to remember."""
    if n == 0:
        return 0.0
    x[n] = x[n - 1] * 2.0
    return double(x, n - 1)


def squares(x, n):
    return x[0] * x[1] if n == 0 else squares(x, n - 1) * x[n] * x[n]


def powers(x, n):
    if n == 0:
        return x[0] * x[1] ** 2
    x[n] *= x[n - 1] ** 2
    return powers(x, n - 1) * x[2]


def halves(x):
    """Gives nothing back."""
    n = x.size
    if n > 1:
        x *= x[::-1]
        halves(x[: n // 2])
        halves(x[n // 2 :])
        x[0] += x[-1]


def numbered(p, x, n):
    if n == 0:
        return x[p[0]]
    p[0] = p[n]
    x[p[0]] *= x[p[1]]
    return numbered(p, x, n - 1) * x[p[2]]


def matrix_power(A, n):
    if n == 0:
        return A
    B = A @ A
    A[0] = 1.0
    return matrix_power(B, n - 1)


def towers(x, y, z, n):
    if n == 0:
        return 0.0
    s = towers(x, z, y, n - 1)
    y[0] += x[0] * 0.5
    x[0] *= z[0] + 0.1
    return s + towers(z, y, x, n - 1) + y[0] * x[0]


@njit
def neighbours(x, y, n, m):
    """Two loops that may run as one only if the arrays are apart."""
    if n == 0:
        return x[0] * x[-1]
    z = np.empty(m)
    for i in range(m):
        z[i] = x[i] * 2.0
    for i in range(m):
        y[i] = z[i] + y[i] * y[0]
    return neighbours(x, y, n - 1, m) * 0.5


def call_after_load(x):
    s = 0.0
    for _ in range(3):
        t = x[1]
        double(x, 3)
        s += t * t * x[2]
    return s


def call_between_uses(x):
    s = 0.0
    for _ in range(3):
        s += x[2] * x[2]
        double(x, 3)
        s += x[2] * x[1]
    return s


def store_after_call(x):
    s = squares(x, 3)
    x *= x
    x[0] = 2.0
    return (s + squares(x, 2)) * x[1]


def calls_in_a_row(x):
    powers(x, 3)
    x *= x
    powers(x, 2)
    return (x * x).sum()


def only_through_the_callee(x):
    return powers(x, 3)


def procedure(x):
    halves(x)
    return (x * x).sum()


def integers(x):
    p = np.array([1, 3, 0])
    s = 0.0
    for k in range(2):
        s += numbered(p, x, 2) * x[p[0]]
        p[0] = k
    return s


def whole_arrays(x):
    A = x.reshape(2, 2)
    s = matrix_power(A, 2)[0, 0]
    A[:] = A * A.T
    return s * A[0, 1]


def turns(x):
    return towers(x[:1], x[1:2], x[2:3], 3) + x[3]


def overlapping(x):
    return neighbours(x[:-1], x[1:], 3, 3)


def the_same_twice(x):
    return neighbours(x, x[::-1], 2, 4)


CASES = [
    call_after_load, call_between_uses, store_after_call, calls_in_a_row, only_through_the_callee,
    procedure, integers, whole_arrays, turns, overlapping, the_same_twice,
]  # fmt: skip
by_name = pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)


@by_name
def test_gradient_and_arguments(f: Any) -> None:
    after = X.copy()
    value = f(after)
    (wanted,) = difference(f, X)
    for g in both_plans(f, X):
        assert g.value == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(g.grads[0], wanted, rtol=1e-7, atol=1e-8)
    x = X.copy()
    pb.grad(f, options={"run": "python"})(x)
    np.testing.assert_array_equal(x, after)


@by_name
def test_second_derivatives(f: Any) -> None:
    python = {"run": "python"}
    gradient = pb.grad(f, options=python)

    def slope(v: Any, h: float) -> Any:
        return (gradient(X + h * v) - gradient(X - h * v)) / (2 * h)

    v = np.array([0.5, -1.0, 0.3, 0.8])
    wanted = (4 * slope(v, 1e-4) - slope(v, 2e-4)) / 3
    x, after = X.copy(), X.copy()
    f(after)
    found = pb.hvp(f, options=python)(x, v)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())
    np.testing.assert_array_equal(x, after)


def test_third_derivative() -> None:
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * x

    g = pb.grad
    for n in range(2, 6):
        third = g(g(g(power)))(0.7, n)
        assert third == pytest.approx((n + 1) * n * (n - 1) * 0.7 ** (n - 2), rel=1e-12)


def test_constant_factor_in_front_of_a_call() -> None:
    """The reverse half of the call gets a cotangent that does not move; its tape does."""

    def cube(x, n):
        return x * x * x if n == 0 else cube(x, n - 1)

    assert pb.hessian(cube)(0.7, 3) == pytest.approx(4.2, rel=1e-13)


def test_pullback_twice() -> None:
    x = X.copy()
    _, back = pb.vjp(calls_in_a_row, x)
    (first,) = back(1.0)
    x[:] = 7.0
    np.testing.assert_array_equal(back(1.0)[0], first)


def test_a_call_that_is_not_reversed_may_not_overwrite_what_is_read_whole() -> None:
    def blank(A, n):
        if n > 0:
            A[n - 1] = 0.0
            blank(A, n - 1)

    def f(x, A):
        B = A * 1.0
        y = B @ x
        blank(B, 2)
        return (y * y).sum()

    with pytest.raises(NoDerivativeError, match="overwrites an array"):
        pb.grad(f, options={"run": "python"})(np.ones(2), np.ones((2, 2)))
