"""Scalar rules of the error function and the gamma function."""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import register

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)

register((math.erf,), lambda y, x: TWO_OVER_SQRT_PI * math.exp(-x * x))
register((math.erfc,), lambda y, x: -TWO_OVER_SQRT_PI * math.exp(-x * x))


def digamma(x: float) -> float:
    """The derivative of log(gamma(x)), to about 1e-15 of max(1, |digamma|); nan at the poles.

    Reflection for x < 0.5, recurrence up to 10, then the asymptotic series."""
    below = 0.0
    if x < 0.5:
        r = x - math.floor(x + 0.5)  # tan has period 1 in x: reduced, it keeps its accuracy
        if r == 0.0:
            return math.nan
        below = -math.pi / math.tan(math.pi * r)
        x = 1.0 - x
    while x < 10.0:
        below -= 1.0 / x
        x += 1.0
    u = 1.0 / (x * x)
    series = u * (1 / 12 - u * (1 / 120 - u * (1 / 252 - u * (1 / 240 - u * (1 / 132 - u * S6)))))
    return below + math.log(x) - 0.5 / x - series


S6 = 691 / 32760


def _gamma_partial(y: Any, x: Any) -> Any:
    return y * digamma(x)


def _lgamma_partial(y: Any, x: Any) -> Any:
    return digamma(x)


register((math.gamma,), _gamma_partial)
register((math.lgamma,), _lgamma_partial)
