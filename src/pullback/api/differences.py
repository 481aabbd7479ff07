"""Derivatives by finite differences, as exact as they get: central, extrapolated to step zero."""

from __future__ import annotations

import math
from collections.abc import Callable

FIRST, SHRINK, STEPS = 2.0**-5, 2.0, 11


def derivative(phi: Callable[[float], float]) -> tuple[float, float]:
    """φ′(0) by Richardson extrapolation of central differences, and how uncertain it is.

    Steps go down from FIRST; those at which φ has no value (outside its domain) are skipped, and
    the extrapolation begins anew."""
    best, error = math.nan, math.inf
    above: list[float] = []
    h = FIRST
    for _ in range(STEPS):
        d = _central(phi, h)
        h /= SHRINK
        if not math.isfinite(d):
            above = []
            continue
        row = [d]
        for k, coarse in enumerate(above):
            factor = SHRINK ** (2 * (k + 1))
            row.append((factor * row[k] - coarse) / (factor - 1))
            spread = max(abs(row[k + 1] - row[k]), abs(row[k + 1] - coarse))
            if spread <= error:
                best, error = row[k + 1], spread
        if above and abs(row[-1] - above[-1]) > 4 * error:
            break  # rounding has taken over
        above = row
    return best, error


def _central(phi: Callable[[float], float], h: float) -> float:
    try:
        return (phi(h) - phi(-h)) / (2 * h)
    except (ArithmeticError, ValueError, IndexError):
        return math.nan
