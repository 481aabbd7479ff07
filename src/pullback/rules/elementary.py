"""Scalar rules of the elementary functions: exponentials, logarithms, roots, trigonometric and
hyperbolic functions. One partial serves ``math``, ``cmath`` and NumPy.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from ..runtime import prims
from .arithmetic import register
from .registry import body

LOG2, LOG10 = math.log(2.0), math.log(10.0)


def _three(name: str, numpy_name: str | None = None) -> tuple[Any, ...]:
    """The function of that name in ``math``, ``cmath`` and NumPy, where it exists."""
    found = (getattr(module, name, None) for module in (math, cmath))
    return (*filter(None, found), getattr(np, numpy_name or name))


# -- exponentials and logarithms -------------------------------------------------------------------
register(_three("exp"), lambda y, x: y)
register(_three("exp2"), lambda y, x: LOG2 * y)
register(_three("expm1"), lambda y, x: np.exp(x))
register(_three("log"), lambda y, x: np.divide(1.0, x), singular=True)
register(_three("log2"), lambda y, x: np.divide(1.0 / LOG2, x), singular=True)
register(_three("log10"), lambda y, x: np.divide(1.0 / LOG10, x), singular=True)
register(_three("log1p"), lambda y, x: np.divide(1.0, 1 + x), singular=True)


@body(math.log)
def log_to_base(x: Any, base: Any) -> Any:
    return math.log(x) / math.log(base)


@body(cmath.log)
def complex_log_to_base(x: Any, base: Any) -> Any:
    return cmath.log(x) / cmath.log(base)


def _share(d: Any) -> Any:
    """1 / (1 + d): the share of one of two terms with ratio d, which may be inf or nan (tie)."""
    return prims.select(d == d, 1.0 / (1.0 + d), 0.5)


register(
    (np.logaddexp,),
    lambda y, a, b: _share(np.exp(b - a)),
    lambda y, a, b: _share(np.exp(a - b)),
)
register(
    (np.logaddexp2,),
    lambda y, a, b: _share(np.exp2(b - a)),
    lambda y, a, b: _share(np.exp2(a - b)),
)

# -- roots -----------------------------------------------------------------------------------------
register(_three("sqrt"), lambda y, x: np.divide(0.5, y), singular=True)
register(_three("cbrt"), lambda y, x: np.divide(1.0, 3 * y * y), singular=True)


def _ratio(x: Any, y: Any) -> Any:
    """x / y with 0 / 0 = 0."""
    return x / prims.select(y == 0, 1.0, y)


register(
    (math.hypot, np.hypot),
    lambda y, a, b: _ratio(a, y),
    lambda y, a, b: _ratio(b, y),
)

# -- trigonometric ---------------------------------------------------------------------------------
register(_three("sin"), lambda y, x: np.cos(x))
register(_three("cos"), lambda y, x: -np.sin(x))
register(_three("tan"), lambda y, x: 1 + y * y)
register(
    _three("asin", "arcsin"),
    lambda y, x: np.divide(1.0, np.sqrt((1 - x) * (1 + x))),
    singular=True,
)
register(
    _three("acos", "arccos"),
    lambda y, x: np.divide(-1.0, np.sqrt((1 - x) * (1 + x))),
    singular=True,
)
register(_three("atan", "arctan"), lambda y, x: np.divide(1.0, 1 + x * x), singular=True)


def _atan2_first(y: Any, a: Any, b: Any) -> Any:
    h = np.hypot(a, b)
    return _ratio(_ratio(b, h), h)


def _atan2_second(y: Any, a: Any, b: Any) -> Any:
    h = np.hypot(a, b)
    return -_ratio(_ratio(a, h), h)


register((math.atan2, np.arctan2), _atan2_first, _atan2_second)
register((math.degrees, np.degrees, np.rad2deg), 180.0 / math.pi)
register((math.radians, np.radians, np.deg2rad), math.pi / 180.0)

# -- hyperbolic ------------------------------------------------------------------------------------
register(_three("sinh"), lambda y, x: np.cosh(x))
register(_three("cosh"), lambda y, x: np.sinh(x))
register(_three("tanh"), lambda y, x: (1 - y) * (1 + y))
register(_three("asinh", "arcsinh"), lambda y, x: np.divide(1.0, np.sqrt(1 + x * x)), singular=True)
register(
    _three("acosh", "arccosh"),
    lambda y, x: np.divide(1.0, np.sqrt(x - 1) * np.sqrt(x + 1)),
    singular=True,
)
register(_three("atanh", "arctanh"), lambda y, x: np.divide(1.0, (1 - x) * (1 + x)), singular=True)


# -- sinc ------------------------------------------------------------------------------------------
def _sinc_partial(y: Any, x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, by its series near zero where that cancels."""
    t = math.pi * x
    u = t * t
    if abs(t) < 0.4:
        u = u * (1 / 840 - u * (1 / 45360 - u * (1 / 3991680 - u / 518918400)))
        return -math.pi * t * (1 / 3 - t * t * (1 / 30 - u))
    return (np.cos(t) - y) / x


register((np.sinc,), _sinc_partial)
