"""Stencils turned round: gradients as by the naive plan and by differences, vector instructions,
and the loops that must stay as they are."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pullback.ad import compile as kernels
from pullback.ad import gather as module
from pullback.ad.build import build
from pullback.ad.compile import clean, prepared
from pullback.ad.gather import gather

from .harness import Derived, flatten
from .test_programs import close


def swapped(u: Any, k: float, steps: int) -> Any:
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
    s = 0.0
    for i in range(n):
        s += u[i] * u[i]
    return s


def variable(u: Any, k: Any, steps: int) -> Any:
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
    s = 0.0
    for i in range(n):
        s += u[i] * u[i]
    return s


def nonlinear(u: Any, k: float, steps: int) -> Any:
    """Burgers' equation: what is added depends on other elements than the counter's own."""
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] - k * u[i] * (u[i + 1] - u[i - 1]) + k * (u[i - 1] * u[i + 1])
        for i in range(n):
            u[i] = v[i]
    return np.sum(u * u)


def wide(u: Any, k: float, steps: int) -> Any:
    """Radius three, lopsided, the ends treated apart, and downwards."""
    n = len(u)
    v = np.zeros(n)
    s = 0.0
    for _ in range(steps):
        for i in range(n - 2, 2, -1):
            v[i] = u[i - 3] * k - 2.0 * u[i + 1] + u[i - 1] * u[i]
        for i in range(n):
            s += v[i] * v[i] * (i + 1)
    return s


def one_sided(u: Any, k: float, steps: int) -> Any:
    n = len(u)
    v = np.zeros(n)
    for _ in range(steps):
        for i in range(n - 1):
            v[i] += (u[i + 1] - u[i]) * k
        u[0] = v[0]
    return np.sum(v * v)


def mirrored(u: Any, k: float, steps: int) -> Any:
    """Subscripts that run against the counter."""
    n = len(u)
    v = np.zeros(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] += k * u[n - 1 - i] + u[n - i] * u[n - 2 - i]
    return np.sum(v * v)


def strided(u: Any, k: float, steps: int) -> Any:
    n = len(u)
    v = np.zeros(n)
    for _ in range(steps):
        for i in range(1, n - 1, 2):
            v[i] += k * u[i - 1] + u[i + 1] * u[i]
    return np.sum(v * v)


def in_place(u: Any, k: float, steps: int) -> Any:
    """Each element is made of new ones: the reversed loop reads what it adds to."""
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            u[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
    return np.sum(u * u)


def through_a_view(u: Any, k: float, steps: int) -> Any:
    """Source and target are one array, though not one name."""
    n = len(u)
    w = u[1:]
    for _ in range(steps):
        for i in range(1, n - 2):
            w[i] = k * u[i - 1] + u[i + 1] - 0.5 * u[i]
    return np.sum(u * u)


def itself(u: Any, k: float, steps: int) -> Any:
    """Two names for one array on some runs of the loop."""
    n = len(u)
    v = u.copy()
    for t in range(steps):
        w = u if t % 2 == 0 else v
        for i in range(1, n - 1):
            w[i] = k * u[i - 1] + u[i + 1]
    return np.sum(u * u) + np.sum(v * v)


def indirect(u: Any, k: float, steps: int) -> Any:
    n = len(u)
    v = np.zeros(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] += k * u[i - 1] + u[(3 * i) % n] * u[i + 1]
    return np.sum(v * v)


def moving_view(u: Any, k: float, steps: int) -> Any:
    """Each iteration adds to a row of its own: neighbours in it are no neighbours."""
    n = len(u)
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = u[j] * (i + 1)
    s = 0.0
    for _ in range(steps):
        for i in range(1, n - 1):
            row = a[i]
            s += k * row[i - 1] * row[i + 1]
    return s


def rotating(u: Any, k: float, steps: int) -> Any:
    n = len(u)
    v, w = u.copy(), np.zeros(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            w[i] = 2.0 * v[i] - u[i] + k * (v[i + 1] - 2.0 * v[i] + v[i - 1])
        u, v, w = v, w, u
    return np.sum(u * v)


def plane(u: Any, k: float, steps: int) -> Any:
    """Two dimensions, rows kept in one array."""
    n, m = u.shape
    v = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + k * (
                    u[i + 1, j] + u[i - 1, j] + u[i, j + 1] + u[i, j - 1] - 4.0 * u[i, j]
                )
        u, v = v, u
    s = 0.0
    for i in range(n):
        for j in range(m):
            s += u[i, j] * u[i, j]
    return s


LINES = [swapped, nonlinear, wide, one_sided, mirrored, rotating]
OTHERS = [strided, in_place, through_a_view, itself, indirect, moving_view]


def second(f: Any, n: int) -> Any:
    return np.linspace(0.1, 0.3, n) if f is variable else 0.3


def arguments(f: Any, n: int, steps: int, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng([seed, n])
    shape = (n, n + 1) if f is plane else (n,)
    return rng.normal(size=shape), second(f, n), steps


def turned_round(f: Any) -> bool:
    flat = flatten(f, arguments(f, 5, 2))
    built = build(prepared(flat), [True] * len(flat.ir.args))
    return gather(clean(built.forward))


@pytest.mark.parametrize("f", [*LINES, variable, plane])
def test_turns_round(f: Any) -> None:
    assert turned_round(f)


@pytest.mark.parametrize("f", OTHERS)
def test_leaves_alone(f: Any) -> None:
    assert not turned_round(f)


@pytest.mark.parametrize("f", [*LINES, *OTHERS, variable, plane], ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    flat = flatten(f, arguments(f, 5, 2))
    ways = [
        Derived(f, arguments(f, 5, 2), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    ]
    smallest = 3 if f is through_a_view else 1 if f in (one_sided, indirect) else 0
    for n in range(smallest, 9):
        for steps in (0, 1, 2, 3):
            args = arguments(f, n, steps)
            oracle, *others = (way(*args) for way in ways)
            for g in others:
                close(g.grads, oracle.grads, 1e-12)
                assert g.value == oracle.value
                if g.tape is not None and g is others[0]:
                    np.testing.assert_array_equal(g.args[0], oracle.args[0])


@pytest.mark.parametrize("f", [*LINES, variable, plane], ids=lambda f: f.__name__)
def test_agrees_with_differences(f: Any) -> None:
    args = arguments(f, 7, 3)
    g = Derived(f, args)(*args)
    rng = np.random.default_rng(1)
    dots = [rng.normal(size=np.shape(x)) for x in args[:2]]
    h = 1e-6

    def at(t: float) -> Any:
        return f(args[0] + t * dots[0], args[1] + t * dots[1], args[2])

    slope = (at(h) - at(-h)) / (2 * h)
    found = sum(np.sum(x * d) for x, d in zip(g.grads, dots))
    assert abs(found - slope) < 1e-6 * max(1.0, abs(slope))


def test_a_lost_neighbour_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: plant a wrong shift."""
    right = module.Writer.environment
    monkeypatch.setattr(
        module.Writer, "environment", lambda w, j, k: right(w, j, k + 1 if k < 0 else k)
    )
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(swapped)


def packed(code: str) -> int:
    """Packed multiplications and additions of doubles."""
    return len(re.findall(r"^\s+v?(?:mul|add|sub|fmadd\w*)pd\b", code, re.MULTILINE))


@pytest.mark.parametrize("f", [swapped, variable])
def test_is_vector_code(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    args = arguments(f, 5, 2)
    active, here = [True, True, False], kernels.Options(cache=False)  # the disk keeps no text
    turned = kernels.gradient(flatten(f, args), active, options=here).call.asm()
    monkeypatch.setattr(kernels, "gather", lambda ir: False)
    scattered = kernels.gradient(flatten(f, args), active, options=here).call.asm()
    assert packed(turned) >= packed(scattered) + 20
