"""Stencils turned round: gradients as by the naive plan and by differences, vector instructions,
and the loops that must stay as they are."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from pullback.ad import compile as kernels
from pullback.ad import reverse
from pullback.ad.build import build
from pullback.ad.compile import clean, labelled, prepared
from pullback.ad.loops import collect
from pullback.ad.loops import gather as module
from pullback.ad.loops.gather import gather
from pullback.ad.loops.nest import Nest
from pullback.errors import InvalidIR

from ..harness import Derived, flatten
from ..test_programs import close


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


def written_twice(u: Any, k: float, steps: int) -> Any:
    """What an iteration leaves for the next element, the next one overwrites."""
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 2):
            v[i] = u[i - 1] + k * u[i + 1]
            v[i + 1] = 0.5 * u[i - 1] * u[i + 1]
        for i in range(n):
            u[i] = v[i] * k
    return np.sum(u * u)


def carried(u: Any, k: float, steps: int) -> Any:
    """What is added comes out of the iteration before."""
    s = 1.0
    for i in range(1, len(u) - 1):
        s = s * k + (u[i - 1] + u[i + 1])
    return s * s


def rotating(u: Any, k: float, steps: int) -> Any:
    n = len(u)
    v, w = u.copy(), np.zeros(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            w[i] = 2.0 * v[i] - u[i] + k * (v[i + 1] - 2.0 * v[i] + v[i - 1])
        u, v, w = v, w, u
    return np.sum(u * v)


def plane(u: Any, k: float, steps: int) -> Any:
    """Two dimensions."""
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


def conducting(u: Any, k: Any, steps: int) -> Any:
    """With a coefficient for each cell, which needs what the cells held."""
    n, m = u.shape
    v = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + k[j] * u[i, j] * (u[i + 1, j] + u[i - 1, j] - u[i, j - 1])
        u, v = v, u
    return np.sum(u * u)


def knights(u: Any, k: float, steps: int) -> Any:
    """Radius two, lopsided, one level upwards and the other down, copied back."""
    n, m = u.shape
    v = np.zeros((n, m))
    for _ in range(steps):
        for i in range(n - 3, 0, -1):
            for j in range(2, m - 1):
                v[i, j] = k * u[i + 2, j + 1] + u[i - 1, j - 2] * u[i, j] + 0.5 * u[i + 1, j]
        for i in range(1, n - 2):
            for j in range(2, m - 1):
                u[i, j] = v[i, j]
    return np.sum(u * u) + np.sum(v)


def crossed(u: Any, k: float, steps: int) -> Any:
    """Subscripts against the order of the loops."""
    n, m = u.shape
    v = np.zeros((m, n))
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[j, i] += k * (u[i, j - 1] - u[i, j + 1]) + u[i - 1, j] * u[i, j]
    return np.sum(v * v)


def cube(u: Any, k: float, steps: int) -> Any:
    """Three dimensions, swapped."""
    n, m, p = u.shape
    v = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                for l in range(1, p - 1):
                    around = u[i + 1, j, l] + u[i - 1, j, l] + u[i, j + 1, l] + u[i, j - 1, l]
                    v[i, j, l] = u[i, j, l] + k * (around + u[i, j, l + 1] * u[i, j, l - 1])
        u, v = v, u
    return np.sum(u * u)


def far_cube(u: Any, k: float, steps: int) -> Any:
    """Neighbours of neighbours, with swapped buffers."""
    v = u.copy()
    n, m, p = u.shape
    for _ in range(steps):
        for i in range(2, n - 2):
            for j in range(1, m - 1):
                for q in range(2, p - 2):
                    v[i, j, q] = u[i, j, q] + k * (
                        u[i + 2, j, q] * u[i - 2, j, q]
                        + u[i, j - 1, q + 2]
                        - u[i, j + 1, q - 2]
                        + u[i - 1, j, q + 1]
                    )
        u, v = v, u
    return np.sum(u * u)


def triangle(u: Any, k: float, steps: int) -> Any:
    """Rows whose length depends on the row: each is turned round by itself."""
    n, m = u.shape
    v = np.zeros((n, m))
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, min(i + 1, m - 1)):
                v[i, j] += k * (u[i + 1, j] + u[i, j + 1] - u[i, j - 1] * u[i - 1, j])
    return np.sum(v * v)


def rows_in_place(u: Any, k: float, steps: int) -> Any:
    """Made of new rows and old ones: only within a row is anything free."""
    n, m = u.shape
    v = np.zeros(m)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[j] = u[i - 1, j] + k * u[i, j + 1] * u[i, j - 1] + u[i + 1, j]
            for j in range(1, m - 1):
                u[i, j] = v[j]
    return np.sum(u * u)


LINES = [swapped, nonlinear, wide, one_sided, mirrored, rotating]
PLANES = [plane, conducting, knights, crossed, cube, far_cube]
ROWS = [triangle, rows_in_place]
OTHERS = [strided, in_place, through_a_view, itself, indirect, moving_view, written_twice, carried]


DEEP = {cube: (4,), far_cube: (9,)}  # and how long the third axis is


def second(f: Any, n: int) -> Any:
    return np.linspace(0.1, 0.3, n + (f is conducting)) if f in (variable, conducting) else 0.3


def arguments(f: Any, n: int, steps: int, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng([seed, n])
    shape: tuple[int, ...] = (n,)
    if f in (*PLANES, *ROWS):
        shape = (n, n + 1, *DEEP.get(f, ()))
    return rng.normal(size=shape), second(f, n), steps


def turned_round(f: Any) -> bool:
    flat = flatten(f, arguments(f, 5, 2))
    built = build(prepared(flat), [True] * len(flat.ir.args))
    return gather(clean(built.forward))


@pytest.mark.parametrize("f", [*LINES, variable, *PLANES, *ROWS])
def test_turns_round(f: Any) -> None:
    assert turned_round(f)


@pytest.mark.parametrize("f", PLANES)
def test_turns_the_whole_nest_round(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    depths: list[int] = []
    right = collect.Writer.write
    monkeypatch.setattr(collect.Writer, "write", lambda w: (depths.append(w.depth), right(w))[1])
    assert turned_round(f)
    assert set(depths) == {3 if f in DEEP else 2}


def split_reverse(f: Any) -> Any:
    flat = flatten(f, arguments(f, 5, 2))
    built = build(prepared(flat), [True] * len(flat.ir.args), split=True)
    return labelled(built.reverse)


@pytest.mark.parametrize("f", [swapped, rotating, *PLANES, *ROWS])
def test_turns_round_in_a_reverse_half_of_its_own(f: Any) -> None:
    """Arrays made by the forward half come from the tape, with their names."""
    assert gather(split_reverse(f))


@pytest.mark.parametrize("f", [in_place, through_a_view, itself])
def test_leaves_alone_in_a_reverse_half_of_its_own(f: Any) -> None:
    assert not gather(split_reverse(f))


def test_a_wrong_name_on_the_tape_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count(2)
    monkeypatch.setattr(reverse, "label", lambda root, given: -next(numbers))
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(itself)


@pytest.mark.parametrize("f", OTHERS)
def test_leaves_alone(f: Any) -> None:
    assert not turned_round(f)


@pytest.mark.parametrize("f", [*LINES, *OTHERS, variable, *PLANES, *ROWS], ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    flat = flatten(f, arguments(f, 5, 2))
    ways = [
        Derived(f, arguments(f, 5, 2), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    ]
    smallest = 3 if f is through_a_view else 1 if f in (one_sided, indirect) else 0
    for n in range(smallest, 6 if f in (*PLANES, *ROWS) else 9):
        for steps in (0, 1, 2, 3):
            args = arguments(f, n, steps)
            oracle, *others = (way(*args) for way in ways)
            for g in others:
                close(g.grads, oracle.grads, 1e-12)
                assert g.value == oracle.value
                if g.tape is not None and g is others[0]:
                    np.testing.assert_array_equal(g.args[0], oracle.args[0])


def test_far_neighbours_in_three_dimensions() -> None:
    """So large that some elements have all of their neighbours in range along each axis."""
    args = arguments(far_cube, 10, 2)
    oracle, *others = (
        Derived(far_cube, args, naive=naive, split=split)(*args)
        for naive, split in ((True, False), (False, False), (False, True))
    )
    for g in others:
        close(g.grads, oracle.grads, 1e-12)


@pytest.mark.parametrize("f", [*LINES, variable, *PLANES, *ROWS], ids=lambda f: f.__name__)
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
    right = collect.Writer.environment

    def wrong(w: Any, at: Any, shift: Any) -> Any:
        return right(w, at, (*shift[:-1], shift[-1] + (shift[-1] < 0)))

    monkeypatch.setattr(collect.Writer, "environment", wrong)
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(swapped)
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(plane)


def test_a_ring_left_out_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect.Writer, "_ring", lambda *args: None)
    for f in (swapped, plane, cube):
        with pytest.raises(AssertionError):
            test_agrees_with_the_naive_plan(f)


def test_what_is_overwritten_before_it_is_collected_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nest, "written_before", lambda nest, read, write: False)
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(written_twice)


def test_what_is_carried_along_is_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nest, "again_at_will", lambda nest, values: True)
    with pytest.raises((AssertionError, InvalidIR)):
        test_agrees_with_the_naive_plan(carried)


def test_an_array_that_is_also_read_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_alone", lambda nest: module._additions(nest.line))
    for f in (in_place, itself, through_a_view):
        with pytest.raises(AssertionError):
            test_agrees_with_the_naive_plan(f)


def packed(code: str) -> int:
    """Packed multiplications and additions of doubles."""
    return len(re.findall(r"^\s+v?(?:mul|add|sub|fmadd\w*)pd\b", code, re.MULTILINE))


@pytest.mark.parametrize("f", [swapped, variable, plane, cube])
def test_is_vector_code(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    args = arguments(f, 5, 2)
    active, here = [True, True, False], kernels.Options(cache=False)  # the disk keeps no text
    turned = kernels.gradient(flatten(f, args), active, options=here).call.asm()
    monkeypatch.setattr(kernels, "gather", lambda ir: False)
    scattered = kernels.gradient(flatten(f, args), active, options=here).call.asm()
    assert packed(turned) >= packed(scattered) + 20
