"""The plan is a cheapest cut: of the network, and of all plans of small programs."""

from __future__ import annotations

from itertools import chain, combinations
from random import Random
from typing import Any

import numpy as np
import pytest

from pullback.ad.planning import cheapest as module
from pullback.ad.planning import planner as planning
from pullback.ad.planning.cheapest import cheapest_saves, price
from pullback.ad.planning.flow import SINK, SOURCE, Network
from pullback.ad.planning.plan import Source
from pullback.ad.planning.sources import Program, spread

from ..harness import Derived

X = np.array([0.9, 1.4, -0.7, 1.2, 0.8, 1.1])


def subsets(xs: Any) -> Any:
    xs = list(xs)
    return chain.from_iterable(combinations(xs, k) for k in range(len(xs) + 1))


# -- the network -----------------------------------------------------------------------------------
def crossing(arcs: list[tuple[int, int, float]], side: Any) -> float:
    return sum(c for a, b, c in arcs if a in side and b not in side)


@pytest.mark.parametrize("seed", range(40))
def test_cuts_are_cheapest_and_nearest_to_the_source(seed: int) -> None:
    random, n = Random(seed), 6
    arcs = [
        (a, b, float(random.choice([0, 1, 2, 3, 5])))
        for a in range(n)
        for b in range(n)
        if a != b and random.random() < 0.5
    ]
    net = Network()
    for _ in range(n - 2):
        net.node()
    first = random.randint(0, len(arcs))
    for a, b, c in arcs[:first]:
        net.arc(a, b, c)
    net.cut()  # a cut may be followed by further arcs
    for a, b, c in arcs[first:]:
        net.arc(a, b, c)
    side = set(net.cut())
    others = [{SOURCE, *s} for s in subsets(set(range(n)) - {SOURCE, SINK})]
    least = min(crossing(arcs, s) for s in others)
    assert SINK not in side
    assert crossing(arcs, side) == least
    assert all(side <= s for s in others if crossing(arcs, s) == least)


# -- plans -----------------------------------------------------------------------------------------
def chained(x):
    s = 0.0
    for i in range(len(x)):
        a = x[i] * 2.0
        b = a * x[i]
        s += b * b * a
    return s


def overwritten(x):
    s = 0.0
    for i in range(1, len(x)):
        a = x[i] + 1.0
        x[i] = a * x[i - 1]
        s += a * a
    return s


def two_sums(x, y):
    s = 0.0
    for _ in range(3):
        for i in range(len(x)):
            d = x[i] - y[i] + 0.5
            s += d * d * x[i]
        for i in range(len(x)):
            x[i] = 0.0
            y[i] = 1.0
    return s


def read_often(x, m):
    for i in range(len(x)):
        t = 0.0
        for j in range(len(x)):
            t += x[i] * x[j] * m[j]
        x[i] = t
    return x.sum()


def late(x):
    s = 0.0
    for i in range(len(x)):
        u = x[i]
        v = u * u
        w = v * u
        x[i] = w + 1.0
        s += w * v
    return s


PROGRAMS = [
    (chained, (X,)),
    (overwritten, (X,)),
    (two_sums, (X, 2 * X)),
    (read_often, (X, X)),
    (late, (X,)),
]


def planned(f: Any, args: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """The price of the plan for a function, and that of the cheapest of all."""

    def noted(program: Program, must: Any, stores: Any) -> Any:
        best = module.cheapest(program, must, stores, spread(program, must, never).asked)
        prices.append((price(program, best), least(program, must, stores)))
        return cheapest_saves(program, must, stores)

    prices: list[tuple[float, float]] = []
    monkeypatch.setattr(planning, "cheapest_saves", noted)
    Derived(f, args)
    return prices


def never(v: Any) -> bool:
    return False


def least(program: Program, must: Any, stores: Any) -> float:
    """The price of the cheapest of all plans."""
    best = float("inf")
    for extra in subsets(s for s in stores if s not in must):
        saves = [*must, *extra]
        wanted = spread(program, saves, never).sources
        choice = [v for v, how in wanted.items() if how in (Source.AGAIN, Source.TAPE)]
        choice = [
            v for v in choice if program.without_choice(v) is None and v.type.name == "float64"
        ]
        assert len(choice) < 12, len(choice)
        for tape in subsets(choice):
            best = min(best, price(program, spread(program, saves, set(tape).__contains__)))
    return best


@pytest.mark.parametrize("f, args", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_no_plan_is_cheaper(f: Any, args: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ((found, wanted),) = planned(f, args, monkeypatch)
    assert found == wanted


def test_a_dearer_plan_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = module.Cut.solved

    def whole(cut: Any) -> Any:
        return set(cut.into), solved(cut)[1]

    monkeypatch.setattr(module.Cut, "solved", whole)
    prices = [p for f, args in PROGRAMS for p in planned(f, args, monkeypatch)]
    assert any(found > wanted for found, wanted in prices)
