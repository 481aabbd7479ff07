"""What is called impossible is impossible: against all points of a small box."""

from __future__ import annotations

import itertools
import random

import pytest

from pullback.ad.loops.affine import Linear, impossible

NAMES = "xyz"


def value(form: Linear, point: dict[str, int]) -> int:
    return form.constant + sum(c * point[str(n)] for n, c in form.terms.items())


def form(rng: random.Random, span: int) -> Linear:
    return Linear({n: rng.randint(-span, span) for n in NAMES}, rng.randint(-6, 6))


@pytest.mark.parametrize("seed", range(20))
def test_never_wrong(seed: int) -> None:
    rng = random.Random(seed)
    proven = 0
    for _ in range(60):
        zero = [form(rng, 3) for _ in range(rng.randint(0, 2))]
        rest = [form(rng, 2) for _ in range(rng.randint(0, 5))]
        if impossible(zero, rest):
            proven += 1
            for p in itertools.product(range(-7, 8), repeat=3):
                point = dict(zip(NAMES, p))
                assert any(value(z, point) for z in zero) or any(
                    value(r, point) < 0 for r in rest
                ), (zero, rest, point)
    assert proven


def x(c: int = 1) -> Linear:
    return Linear({"x": c})


def y(c: int = 1) -> Linear:
    return Linear({"y": c})


@pytest.mark.parametrize(
    ("zero", "rest"),
    [
        ([x(2) - y(2) + 1], []),  # even and odd
        ([x() - y()], [x() - y() - 1]),
        ([], [x() - 1, -x()]),
        ([], [x(2) - 1, -x(2) + 1]),  # x = 1/2
        ([], [x() - y() - 1, y() - x()]),
        ([], [x() + y() - 5, -x() + 1, -y() + 1]),
        ([Linear(constant=3)], []),
        ([], [Linear(constant=-1)]),
    ],
)
def test_proven(zero: list[Linear], rest: list[Linear]) -> None:
    assert impossible(zero, rest)


@pytest.mark.parametrize(
    ("zero", "rest"),
    [([], []), ([x() - y()], [x(), -y() + 3]), ([], [x()]), ([x(2) - y(4)], [x() - 1])],
)
def test_possible(zero: list[Linear], rest: list[Linear]) -> None:
    assert not impossible(zero, rest)
