"""What broke others: swaps, views, overwritten inputs, zero trips, early exits, shifted updates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from .harness import Derived, Gradient


def both_plans(f: Any, *args: Any) -> list[Gradient]:
    return [
        Derived(f, args, naive=naive, split=split)(*args)
        for naive in (True, False)
        for split in (False, True)
    ]


def difference(f: Any, *args: Any) -> list[Any]:
    """Central differences by the float arguments, Richardson extrapolated."""

    def value(i: int, at: Any, h: float) -> float:
        moved = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        if at is None:
            moved[i] += h
        else:
            moved[i][at] += h
        return float(f(*moved))

    def slope(i: int, at: Any) -> float:
        d = [(value(i, at, h) - value(i, at, -h)) / (2 * h) for h in (1e-3, 5e-4, 2.5e-4)]
        e = [(4 * d[1] - d[0]) / 3, (4 * d[2] - d[1]) / 3]
        return (16 * e[1] - e[0]) / 15

    out: list[Any] = []
    for i, a in enumerate(args):
        if isinstance(a, float):
            out.append(slope(i, None))
        elif isinstance(a, np.ndarray) and a.dtype.kind == "f":
            g = np.zeros(a.shape)
            for at in np.ndindex(a.shape):
                g[at] = slope(i, at)
            out.append(g)
    return out


def agree(f: Any, *args: Any) -> None:
    wanted = difference(f, *args)
    for g in both_plans(f, *args):
        for found, w in zip(g.grads, wanted, strict=True):
            np.testing.assert_allclose(found, w, rtol=1e-7, atol=1e-8)


def swap(a, b, n):
    for _ in range(n):
        a, b = b, a * 0.9 + 0.1
    return a * a + 3.0 * b


def rotate(a, b, c, n):
    for _ in range(n):
        a, b, c = b, c, math.sin(a)
    return a + 2.0 * b * c


def swap_arrays(x, y, n):
    for _ in range(n):
        for i in range(len(x)):
            y[i] = math.sin(x[i]) * y[i]
        x, y = y, x
    return x[0] * 2.0 + (y * y).sum()


def rotate_arrays(x, y, n):
    z = x * y
    for i in range(n):
        x, y, z = y, z, x
        x[i % 3] *= z[0]
    return (x * x).sum() + (y * z).sum()


@pytest.mark.parametrize("n", range(7))
def test_swaps_in_loops(n: int) -> None:
    agree(swap, 0.7, 1.3, n)
    agree(rotate, 0.7, 1.3, -0.4, n)
    agree(swap_arrays, np.array([0.5, 1.5, 0.8]), np.array([1.1, -0.3, 0.6]), n)
    agree(rotate_arrays, np.array([0.5, 1.5, 0.8]), np.array([1.1, -0.3, 0.6]), n)


def test_shifted_update() -> None:
    """Comparing subscripts of one iteration only would call the save of x[i] useless."""

    def f(x):
        s = 0.0
        for i in range(len(x) - 1):
            s += x[i + 1] ** 2
            x[i] = 0.0
        return s

    for g in both_plans(f, np.arange(1.0, 7.0)):
        np.testing.assert_array_equal(g.grads[0], [0, 4, 6, 8, 10, 12])


def siblings() -> list[Any]:
    def by_two(x):
        s = 0.0
        for i in range(len(x) - 2):
            s += x[i + 2] ** 3
            x[i] = 0.5 * x[i]
        return s + x[0]

    def backwards(x):
        s = 0.0
        for i in range(len(x) - 1, 0, -1):
            s += x[i - 1] ** 2
            x[i] = 0.0
        return s

    def product(x):
        p = 1.0
        for i in range(len(x) - 1):
            p *= x[i + 1]
            x[i] = p
        return p + x[1] * x[2]

    def seidel(x):
        for _ in range(3):
            for i in range(1, len(x) - 1):
                x[i] = math.tanh(x[i - 1] + x[i] * x[i + 1])
        return (x * x).sum()

    def two(x):
        y = np.zeros(len(x))
        for i in range(len(x) - 1):
            y[i] = x[i + 1] * x[i]
            x[i + 1] = y[i] * 0.3
            y[i + 1] = x[i]
        return (y * y).sum() + x[2]

    return [by_two, backwards, product, seidel, two]


@pytest.mark.parametrize("f", siblings(), ids=lambda f: f.__name__)
def test_shifted_siblings(f: Any) -> None:
    agree(f, np.array([0.9, 1.4, -0.7, 1.2, 0.8, 1.1]))


def test_overwritten_before_use() -> None:
    def f(x):
        t = x[0]
        x[0] = 0.0
        return t * t

    for g in both_plans(f, np.array([3.0])):
        np.testing.assert_array_equal(g.grads[0], [6.0])
        assert g.value == 9.0


def test_inactive_value_into_active_memory() -> None:
    def f(x):
        s = x[0] * x[1]
        x[0] = 5.0
        return s + x[0] * x[1]

    for g in both_plans(f, np.array([2.0, 3.0])):
        np.testing.assert_array_equal(g.grads[0], [3.0, 7.0])


def test_zero_trips_and_empty_arrays() -> None:
    def f(x, a):
        s = a
        for v in x:
            s += math.sin(v) * s
        return s

    for x in (np.array([]), np.array([0.3]), np.array([0.3, 0.5, 0.2])):
        agree(f, x, 0.7)


def early(x, limit):
    s = 1.0
    for i in range(len(x)):
        for j in range(len(x)):
            s += x[i] * x[j] * 0.1
            if s > limit:
                return s * x[j]
            if x[j] < 0.0:
                break
            if x[i] > 1.0:
                continue
            x[j] *= 1.1
    return s


@pytest.mark.parametrize("limit", [0.5, 1.2, 1.5, 2.0, 100.0])
def test_early_exits(limit: float) -> None:
    def f(x):
        return early(x, limit)

    agree(f, np.array([0.6, 1.2, 0.9]))
    agree(f, np.array([0.6, -0.4, 0.9, 1.3]))


def test_data_dependent_while() -> None:
    def f(x):
        y = 1.0
        while abs(y * y - x) > 1e-13:
            y = 0.5 * (y + x / y)
        return y

    for g in both_plans(f, 2.0):
        assert g.grads[0] == pytest.approx(0.5 / math.sqrt(2.0), rel=1e-12)


def test_loop_without_end_condition() -> None:
    def f(x):
        n = 0
        while True:
            x = x * 0.7 + 0.1
            n += 1
            if x < 0.5:
                break
            if n > 10:
                return x * x
        return x * n

    for x in (0.3, 2.0, 100.0):
        agree(f, x)


def test_loop_else() -> None:
    def f(x):
        for v in x:
            if v > 2.0:
                s = v * v
                break
        else:
            s = x.sum()
        return s * x[0]

    agree(f, np.array([0.5, 1.0]))
    agree(f, np.array([0.5, 3.0]))


def test_conditional_choice_of_arrays() -> None:
    def f(x, y, k):
        z = x if k > 0 else y
        z[0] = z[1] * z[1]
        w = x[::-1] if k % 2 else z
        w[0] += z[0] * 2.0
        return (x * y).sum() + w[1]

    for k in (-2, -1, 1, 2):
        agree(f, np.array([0.5, 1.5, 0.8]), np.array([1.1, -0.3, 0.6]), k)


@pytest.mark.parametrize("kind", ["same", "shifted", "reversed", "transposed", "disjoint"])
def test_alias_matrix(kind: str) -> None:
    """Two names of one memory, one read and one written."""

    def f(A, kind):
        x = A[0]
        if kind == 0:
            y = A[0]
        elif kind == 1:
            y = A[0][::-1]
        elif kind == 2:
            y = A.T[0]
        else:
            y = A[1]
        for i in range(len(x)):
            x[i] = y[i] * 0.5 + x[i] * y[len(x) - 1 - i]
        y += x
        return (A * A).sum() + x[0] * y[1]

    def shifted(A):
        x, y = A[0][1:], A[0][:-1]
        x *= y
        y[0] = x[0] * x[1]
        return (A * A).sum()

    A = np.array([[0.5, 1.5, 0.8], [1.1, -0.3, 0.6], [0.2, 0.9, -0.7]])
    if kind == "shifted":
        agree(shifted, A)
    else:
        agree(f, A, {"same": 0, "reversed": 1, "transposed": 2, "disjoint": 3}[kind])


def test_array_results_of_iterations() -> None:
    """Arrays made in a loop outlive their iteration."""

    def f(x, n):
        u = x
        history = np.zeros(n + 1)
        for t in range(n):
            u = u + 0.1 * np.sin(u) * x
            history[t] = u[0] * u[1]
        return (history * history).sum() + u.sum()

    for n in (0, 1, 4):
        agree(f, np.array([0.5, 1.5, 0.8]), n)


def test_unused_argument_has_zero_gradient() -> None:
    def f(x, y):
        return x * x

    g = both_plans(f, 3.0, np.ones(2))[0]
    assert g.grads[0] == 6.0
    np.testing.assert_array_equal(g.grads[1], [0.0, 0.0])


def test_float32_stays_float32() -> None:
    def f(x):
        s = x[0]
        for i in range(1, len(x)):
            s = s * x[i] + np.float32(0.5)
        return s

    x = np.array([0.5, 1.5, 0.8], np.float32)
    for g in both_plans(f, x):
        assert g.grads[0].dtype == np.float32
        np.testing.assert_allclose(g.grads[0], [1.2, 0.4, 1.25], rtol=1e-6)


def test_joins_in_a_loop_without_a_reverse() -> None:
    """Handles change hands in it, and by which way need not be remembered."""

    def f(a, z, u, n):
        z = z * a
        for i in range(n):
            for _ in range(3):
                z, u = u, z
            if i % 3 == 1:
                z, u = u, z
        return u[0] * u[1]

    for n in range(5):
        agree(f, 1.1, np.array([0.5, 0.7]), np.array([1.5, 0.3]), n)
