"""Sums that a reversed loop keeps in a scalar: where it may, where it must not, what comes out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pullback.ad.build import build
from pullback.ad.compile import clean, prepared
from pullback.ad.loops import promote as module
from pullback.ad.loops.promote import promote
from pullback.ad.planning.plan import Source
from pullback.ir.core import Const

from ..harness import Derived, flatten
from ..test_programs import close


def pairs(x: Any, k: int) -> Any:
    """Each with all others: who adds to its own element meets itself once."""
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            d = x[j] - x[i]
            s += d * d / (1.0 + d * d * d * d)
    return s


def weight(x: Any, k: int) -> Any:
    """One element for all iterations."""
    s = 0.0
    for i in range(1, len(x)):
        s += x[0] * math.sin(x[i]) + x[i - 1]
    return s


def maybe_none(x: Any, k: int) -> Any:
    """The element does not exist where the loop does not run."""
    s = 1.0
    for i in range(k):
        s += x[len(x) - 1 - 40 * (k == 0)] * i + x[k - 1] ** 2
    return s


def sometimes(x: Any, k: int) -> Any:
    """Added only in some iterations."""
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.0:
            s += x[0] * x[i]
    return s


def accumulated(x: Any, k: int) -> Any:
    """What is added up in one iteration is read in the next: the store ends it."""
    n = len(x)
    w = x * 0.7
    for i in range(n):
        w[0] = w[0] * x[i] + math.sin(w[0])
        w[i] += w[0]
    return np.sum(w * w) + w[0]


def twice(x: Any, k: int) -> Any:
    """Two places, one of them added to in two ways."""
    s = 0.0
    for i in range(len(x) - 1, 0, -1):
        s += x[0] * x[i] + x[1] * x[i - 1] * x[0]
    return s


def leaves(x: Any, k: int) -> Any:
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1.5:
            break
        s += x[0] * x[i] * (i + 1)
    return s


def viewed(x: Any, k: int) -> Any:
    """Through two views of one array."""
    a, b = x[1:], x[::-1]
    s = 0.0
    for i in range(len(a)):
        s += a[0] * b[i] * a[i]
    return s


PROMOTED = [pairs, weight, maybe_none, twice, viewed]
LEFT = [sometimes, accumulated, leaves]


def arguments(n: int, k: int) -> tuple[Any, ...]:
    return np.random.default_rng([n, k]).normal(size=n), k


def promoted(f: Any) -> bool:
    flat = flatten(f, arguments(5, 2))
    return promote(clean(build(prepared(flat), [True] * len(flat.ir.args)).forward))


@pytest.mark.parametrize("f", PROMOTED, ids=lambda f: f.__name__)
def test_is_kept_in_a_scalar(f: Any) -> None:
    assert promoted(f)


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_is_left_alone(f: Any) -> None:
    assert not promoted(f)


@pytest.mark.parametrize("f", [*PROMOTED, *LEFT], ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    flat = flatten(f, arguments(5, 2))
    ways = [
        Derived(f, arguments(5, 2), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    ]
    for n in range(2, 7):
        for k in range(3):
            args = arguments(n, k)
            oracle, *others = (way(*args) for way in ways)
            for g in others:
                close(g.grads, oracle.grads, 1e-13)
                assert g.value == oracle.value


def test_a_sum_kept_too_long_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above can fail: promote what the loop also reads."""
    monkeypatch.setattr(module, "_memory", lambda op, roots: frozenset())
    monkeypatch.setattr("pullback.ad.compile.give_back", lambda ir: False)  # it leaves no such sum
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(accumulated)


def test_an_element_that_does_not_exist_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ran", lambda b, c: Const(True))
    with pytest.raises((AssertionError, IndexError)):
        test_agrees_with_the_naive_plan(maybe_none)


def attraction(x: Any, k: int) -> Any:
    s = 0.0
    for _ in range(k):
        for i in range(len(x)):
            a = 0.0
            for j in range(len(x)):
                d = x[j] - x[i]
                r = d * d + 0.1
                a += d / (r * math.sqrt(r))
            s += a * a
            x[i] += 0.01 * a
    return s


def test_nothing_is_taped_for_each_pair() -> None:
    """A square root costs less than a trip to the tape: what is taped grows with the bodies."""
    flat = flatten(attraction, arguments(4, 2))
    plan = build(prepared(flat), [True, False]).plan
    assert plan is not None and plan.primal.saved
    s = plan.structure
    deepest = max(s.forest.depth(b) for b in s.home.values())
    taped = [v for v, source in plan.sources.items() if source is Source.TAPE]
    assert taped and all(s.forest.depth(s.home[v]) < deepest for v in taped)
