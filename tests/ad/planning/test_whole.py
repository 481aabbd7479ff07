"""Arrays that are saved as a whole: where that is cheaper, and right wherever it is done."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

from pullback.ad.planning import whole

from ..harness import Derived, flatten
from ..programs import program
from ..test_programs import close, usable
from ..test_stencils import Draw

X = np.array([0.9, 1.4, -0.7, 1.2, 0.8, 1.1])


def smoothed(x, steps):
    """The array is read once in a step, and overwritten four times."""
    u = x.copy()
    n = len(u)
    s = 0.0
    for _ in range(steps):
        for i in range(1, n - 1):
            s += u[i - 1] * u[i] * u[i + 1]
        for _ in range(4):
            for i in range(1, n - 1):
                u[i] = 0.25 * (u[i - 1] + 2.0 * u[i] + u[i + 1])
    return s + u.sum()


def two_fields(x, steps):
    """Both are copied, one of them of integers and in two dimensions."""
    n = len(x)
    p = np.zeros((n, n), np.int64)
    u = x.copy()
    s = 0.0
    for t in range(steps):
        for i in range(n):
            for j in range(n):
                s += u[p[i, j]] * u[p[j, i]] * u[j]
        for k in range(4):
            for i in range(n):
                u[i] = 0.5 * u[i] + 0.1 * u[n - 1 - i]
            for i in range(n):
                for j in range(n):
                    p[i, j] = (p[j, i] + i + t + k) % n
    return s


def seldom(x, steps, where):
    """Single elements are overwritten: an array has more of them."""
    u = x.copy()
    s = 0.0
    for t in range(steps):
        for i in range(1, len(u)):
            s += u[i - 1] * u[i]
        u[where[t]] = s
    return s


def agree(f: Any, args: Any) -> tuple[Derived, Derived]:
    flat = flatten(f, args)
    wanted = Derived(f, args, naive=True, flat=flat)(*args)
    made = tuple(Derived(f, args, split=split, flat=flat) for split in (False, True))
    for way in made:
        found = way(*args)
        close(found.grads, wanted.grads, 1e-12)
        assert found.value == pytest.approx(wanted.value, rel=1e-14)
    return made  # type: ignore[return-value]


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_an_array_is_copied_instead_of_saved(steps: int) -> None:
    for way in agree(smoothed, (X, steps)):
        plan = way.built.plan
        assert plan is not None
        assert len(set(plan.copies.values())) == 1
        assert not plan.primal.saved


def test_several_arrays_are_copied() -> None:
    for way in agree(two_fields, (X, 3)):
        assert way.built.plan is not None
        assert len(set(way.built.plan.copies.values())) == 2


def test_single_elements_are_saved() -> None:
    for way in agree(seldom, (X, 3, np.array([2, 4, 0]))):
        assert way.built.plan is not None
        assert not way.built.plan.copies


def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy whatever can be copied."""
    ever_more = count()
    monkeypatch.setattr(whole, "price", lambda program, plan: next(ever_more))
    monkeypatch.setattr(whole, "_kept", lambda program, found, root, loop: float("inf"))
    monkeypatch.setattr(whole, "counters", lambda program, store: [])


def test_copies_are_right_in_random_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    copies = 0
    for seed in range(3300, 3304):
        p = program(seed)
        args = p.arguments()
        if usable(p, args) is not None:
            for way in agree(p.function, args):
                copies += len(way.built.plan.copies)  # type: ignore[union-attr]
    assert copies


def test_copies_are_right_in_random_stencils(monkeypatch: pytest.MonkeyPatch) -> None:
    always(monkeypatch)
    copies = 0
    for seed in range(3400, 3403):
        scope: dict[str, Any] = {"np": np, "__name__": "stencil"}
        exec(compile(Draw(seed).program(), f"<stencil {seed}>", "exec"), scope)
        shape = 6 if Draw(seed).flat else (6, 6)
        args = np.random.default_rng(seed).normal(size=shape) * 0.5, 0.4, 3
        for way in agree(scope["f"], args):
            copies += len(way.built.plan.copies)  # type: ignore[union-attr]
    assert copies


def test_a_copy_made_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def outermost(program: Any, load: Any) -> Any:
        around = program.s.around(program.s.home[load.result])
        return around[-1] if around else None

    monkeypatch.setattr(whole, "quiet", outermost)
    always(monkeypatch)
    with pytest.raises(AssertionError):
        agree(smoothed, (X, 3))
