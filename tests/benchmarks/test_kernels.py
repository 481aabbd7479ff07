"""The kernels that are timed, at small sizes: right, and with the tapes that are claimed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import kernels

R = np.random.default_rng(1)
POSITIVE = kernels._positive(6)


def random(*shape: int) -> np.ndarray:
    return R.standard_normal(shape)


#: arguments, and how many bytes of tape; None where that is not claimed
SMALL: dict[Any, tuple[tuple[Any, ...], int | None]] = {
    kernels.seidel: ((random(9, 9), 3), 0),
    kernels.lotka_volterra: ((kernels.RATES, 40), 16 * 40),
    kernels.heat: ((random(12), 0.2, 7), 0),
    kernels.heat_conductivity: ((0.2 + 0.01 * np.abs(random(12)), random(12), 8), 8 * 10 * 8),
    kernels.cholesky: ((POSITIVE,), None),
    kernels.cholesky_updates: ((POSITIVE,), None),
    kernels.newton: ((0.5 + np.abs(random(9)),), None),
    kernels.bodies: ((random(5, 3), random(5, 3), np.abs(random(5)), 4), 8 * 5 * 3 * 4),
    kernels.mixture: ((random(4, 3), random(4), random(9, 3)), None),
    kernels.network: ((random(4, 4) / 4, random(4, 4), 3), None),
}


def slope(f: Any, x: np.ndarray, d: np.ndarray, rest: tuple[Any, ...]) -> float:
    """The directional derivative, by central differences of order eight."""
    h = 4e-3
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return (
        sum(w * (f(x + k * h * d, *rest) - f(x - k * h * d, *rest)) for k, w in weights.items()) / h
    )


def test_all_kernels_are_tested() -> None:
    assert {k.f for k in kernels.KERNELS} == set(SMALL)


@pytest.mark.parametrize("f", SMALL, ids=lambda f: f.__name__)
def test_gradient(f: Any) -> None:
    (x, *others), tape = SMALL[f]
    rest = tuple(others)
    value, g = pb.value_and_grad(f)(x, *rest)
    assert value == pytest.approx(f(x, *rest), rel=1e-12)
    d = random(*x.shape)
    d *= 0.05 / np.abs(d / x).max()  # nothing changes its sign
    assert (g * d).sum() == pytest.approx(slope(f, x, d, rest), rel=1e-8)
    if tape is not None:
        assert pb.explain(lambda x: f(x, *rest), x).tape_bytes == tape
