"""Rotating handles: what the loop does stays, and inside it no handle changes any more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.backend import lower
from pullback.ir.loops import loop_forest
from pullback.ir.verify import verify
from pullback.passes import rotate as module
from pullback.passes.manager import optimize
from pullback.passes.rotate import period, rotate
from pullback.passes.scalars import is_a
from pullback.typing_ import abstract_of, flat


def swap(x: Any, y: Any, steps: int) -> float:
    for t in range(steps):
        for i in range(len(x)):
            y[i] = x[i] + t
        x, y = y, x
    return x[0] - 2.0 * y[0]


def three(x: Any, y: Any, steps: int) -> float:
    z = np.zeros(len(x))
    for t in range(steps):
        for i in range(len(x)):
            z[i] = x[i] * y[i] + t
        x, y, z = y, z, x
    return x[0] + 2.0 * y[0] + 4.0 * z[0]


def swap_in_while(x: Any, y: Any, steps: int) -> float:
    t = 0
    while t < steps:
        if x[0] > 7.0:
            break
        y[0] = x[0] + 1.0
        x, y = y, x
        t += 1
    return x[0] + 2.0 * y[0] + t


def swap_twice(x: Any, y: Any, steps: int) -> float:
    """A rotation in a loop in a loop, both."""
    for _ in range(steps):
        for s in range(3):
            y[0] += x[0] + s
            x, y = y, x
        x, y = y, x
    return x[0] - 2.0 * y[0]


def sometimes(x: Any, y: Any, steps: int) -> float:
    for t in range(steps):
        y[0] = x[0] + 1.0
        if y[0] > 4.0:
            x, y = y, x
    return x[0] - 2.0 * y[0]


def follow(x: Any, y: Any, steps: int) -> float:
    """A handle that trails behind is copied, not permuted."""
    for t in range(steps):
        z = np.zeros(2)
        z[0] = x[0] + y[0] + t
        x = y
        y = z
    return x[0] - 2.0 * y[0]


ROTATING = [swap, three, swap_in_while, swap_twice]
OTHERS = [sometimes, follow]


def prepared(f: Any) -> Any:
    args = (np.ones(2), np.ones(2), 3)
    ir = flat(f, [abstract_of(a) for a in args]).ir.copy()
    optimize(ir)
    return ir


@pytest.mark.parametrize("f", [*ROTATING, *OTHERS])
def test_means_the_same(f: Any) -> None:
    ir = prepared(f)
    assert rotate(ir) == (f in ROTATING)
    verify(ir)
    optimize(ir)
    verify(ir)
    run = lower(ir)
    for steps in range(9):
        mine = [np.array([0.5, 2.0]), np.array([1.5, -1.0])]
        theirs = [a.copy() for a in mine]
        (found,) = run(*mine, steps)
        assert found == f(*theirs, steps)
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("f", [swap, three, swap_in_while])
def test_handles_stay(f: Any) -> None:
    ir = prepared(f)
    rotate(ir)
    optimize(ir)
    for loop in loop_forest(ir):
        assert not any(is_a(p.type, "Array") for p in ir.blocks[loop.header].params)


def test_a_second_run_finds_nothing() -> None:
    ir = prepared(swap)
    assert rotate(ir)
    optimize(ir)
    assert not rotate(ir)


def test_periods() -> None:
    assert [max(period(ir, x) for x in loop_forest(ir)) for ir in map(prepared, (swap, three))] == [
        2,
        3,
    ]


def test_not_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIZE", 3)
    ir = prepared(swap)
    assert not rotate(ir)
    verify(ir)
