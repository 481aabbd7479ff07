"""Copies and zeroing in loops of their own: where they are taken out, and where they must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.ad.build import build
from pullback.ad.compile import clean, polished, prepared
from pullback.ad.loops import apart as module
from pullback.ad.loops.apart import set_apart
from pullback.ad.loops.line import Line
from pullback.ir.loops import loop_forest
from pullback.ir.verify import verify
from pullback.runtime import prims

from ..harness import Derived, flatten
from ..test_programs import close


def square(u: Any, v: Any, steps: int) -> Any:
    """What is overwritten is saved, and put back behind the loop that needs the other array."""
    v = v.copy()
    for _ in range(steps):
        for i in range(len(v)):
            v[i] = 0.5 * u[i] * u[i] + 0.1
        for i in range(len(u)):
            u[i] = 0.5 * v[i] * v[i] + 0.2
    return np.sum(u * v)


def chain(u: Any, v: Any, steps: int) -> Any:
    """Each element is put back before its left neighbour needs it."""
    for _ in range(steps):
        for i in range(1, len(u)):
            u[i] = u[i] * u[i - 1] + 0.1 * v[i]
    return np.sum(u * u)


def ahead(u: Any, v: Any, steps: int) -> Any:
    """The next element is overwritten before it is saved."""
    for _ in range(steps):
        for i in range(len(u) - 1):
            u[i + 1] = 0.3 * u[i + 1] * v[i]
            u[i] = u[i] * u[i + 1]
    return np.sum(u * v)


def downwards(u: Any, v: Any, steps: int) -> Any:
    for _ in range(steps):
        for i in range(len(u) - 2, -1, -1):
            u[i] = u[i] * u[i + 1] + v[i]
    return np.sum(u * u)


def two_names(u: Any, v: Any, steps: int) -> Any:
    w = u[::-1]
    for _ in range(steps):
        for i in range(len(u)):
            u[i] = 0.5 * u[i] * w[i] + v[i]
    return np.sum(u * u)


def one_place(u: Any, v: Any, steps: int) -> Any:
    """An element is overwritten again and again: what it held first is put back last."""
    s = 1.0
    for k in range(len(u)):
        for i in range(len(u)):
            s += s * v[i] * v[-1 - i] * u[i]
        for i in range(steps):
            v[k] = 0.3 * u[i % len(u)] + 0.1
    return s


def some_places(u: Any, v: Any, steps: int) -> Any:
    """Several iterations may meet in an element."""
    s, p = 1.0, np.arange(len(u)) // 2
    for _ in range(steps):
        for i in range(len(u)):
            s += s * v[i] * v[-1 - i] * u[i]
        for i in range(len(u)):
            v[p[i]] = 0.3 * u[i] + 0.1
    return s


PROGRAMS = [square, chain, ahead, downwards, two_names, one_place, some_places]


def arguments(n: int, steps: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    return rng.uniform(0.5, 1.5, n), rng.uniform(0.5, 1.5, n), steps


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    flat = flatten(f, arguments(4, 2))
    ways = [
        Derived(f, arguments(4, 2), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    ]
    for n in range(6):
        for steps in (0, 1, 3):
            args = arguments(n, steps)
            oracle, combined, split = (way(*args) for way in ways)
            close(combined.grads, oracle.grads, 1e-12)
            close(split.grads, oracle.grads, 1e-12)
            np.testing.assert_array_equal(combined.args[0], oracle.args[0])


@pytest.mark.parametrize("f", [ahead, two_names], ids=lambda f: f.__name__)
def test_what_is_saved_or_put_back_at_the_wrong_time_shows(
    f: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Line, "written_before", lambda line, read, write: False)
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(f)


@pytest.mark.parametrize("f", [one_place, some_places], ids=lambda f: f.__name__)
def test_what_is_put_back_in_the_wrong_order_shows(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_elsewhere_each_time", lambda store, line: True)
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(f)


def innermost(ir: Any) -> list[list[Any]]:
    """For each innermost loop of the body's operations those that write."""
    return [
        [
            op.callee
            for b in loop.blocks
            for op in ir.blocks[b].ops
            if op.is_call(prims.store, prims.poke)
        ]
        for loop in loop_forest(ir)
        if not loop.children
    ]


def combined(f: Any) -> Any:
    flat = flatten(f, arguments(4, 2))
    return build(prepared(flat), [True, True, False]).forward


def test_saves_are_copies() -> None:
    """No loop both saves and computes, and none puts back beside anything else."""
    before = innermost(clean(combined(square)))
    ir = polished(combined(square))
    verify(ir)
    after = innermost(ir)
    assert any(prims.poke in w and prims.store in w for w in before)
    assert not any(prims.poke in w and prims.store in w for w in after)


@pytest.mark.parametrize("f", [chain, two_names])
def test_nothing_is_put_back_late(f: Any) -> None:
    """The loops of the reverse half that read what they put back keep doing so in one piece."""
    ir = clean(combined(f))
    set_apart(ir)
    assert any(
        any(op.is_call(prims.peek) for b in loop.blocks for op in ir.blocks[b].ops)
        and sum(op.is_call(prims.store) for b in loop.blocks for op in ir.blocks[b].ops) > 1
        for loop in loop_forest(ir)
        if not loop.children
    )
