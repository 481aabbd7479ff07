"""Scalar rules of the operators and of what they are made of: + - * / ** // %, casts, the parts of
complex numbers.

Partials run on CPython and natively, on float32, float64 and complex numbers. Where a divisor may
be zero they divide with ``np.divide``, which gives inf or nan and never raises.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from typing import Any

import numpy as np

from ..runtime import prims
from .registry import body, scalar_rule
from .types import is_complex


def register(functions: tuple[Any, ...], *partials: Any, **options: Any) -> None:
    """One rule for several functions."""
    for f in functions:
        scalar_rule(f, *partials, **options)


# -- sums and products -----------------------------------------------------------------------------
register((operator.add, np.add, prims.plus), 1.0, 1.0)
register((operator.sub, np.subtract), 1.0, -1.0)
register((operator.mul, np.multiply), lambda y, a, b: b, lambda y, a, b: a)
register((operator.neg, np.negative), -1.0)
register((operator.pos, np.positive), 1.0)
register((np.square,), lambda y, x: 2 * x)
register((np.reciprocal,), lambda y, x: -y * y, singular=True)
if hasattr(math, "fma"):
    register((math.fma,), lambda y, a, b, c: b, lambda y, a, b, c: a, 1.0)

register(
    (operator.truediv, np.divide, prims.pydiv),
    lambda y, a, b: np.divide(1.0, b),
    lambda y, a, b: -y * np.divide(1.0, b),  # one division for both
    singular=True,
)


# -- remainders ------------------------------------------------------------------------------------
def _quotient(y: Any, a: Any, b: Any) -> Any:
    """-q for y = a - q*b with q a whole number: the derivative by b."""
    return -np.rint(np.divide(a - y, b))


def to_nearest(x: Any, y: Any) -> Any:
    """x minus the multiple of y that is nearest to it, of two the even one: IEEE 754's remainder.
    Every step is exact."""
    a, b = abs(x), abs(y)
    m = np.fmod(a, b)
    c = b - m
    if m == c:  # halfway
        m -= 2.0 * np.fmod(0.5 * (a - m), b)
    elif m > c:
        m = -c
    return math.copysign(1.0, x) * m


@body(math.remainder)
def remainder_body(x: Any, y: Any) -> Any:
    return to_nearest(float(x), float(y))


register(
    (operator.mod, np.remainder, np.fmod, math.fmod, to_nearest, prims.pymod),
    1.0,
    _quotient,
    singular=True,
)
register((operator.floordiv, np.floor_divide, prims.pyfloordiv), None, None)


@body(divmod, np.divmod)
def divmod_body(a: Any, b: Any) -> Any:
    return a // b, a % b


# -- powers ----------------------------------------------------------------------------------------
def _pow_base(y: Any, x: Any, k: Any) -> Any:
    """k * x**(k-1), finite for k == 0; integer exponents stay integers (products, any sign)."""
    if isinstance(k, int | np.integer):
        return k * x ** (0 if k == 0 else k - 1)
    return k * np.power(x, prims.select(k == 0, 0.0, k - 1))


def _pow_exponent(y: Any, x: Any, k: Any) -> Any:
    """log(x) * x**k; zero for x == 0."""
    return _log_as(prims.select(x == 0, 1.0, x), k) * y


def _log_as(x: Any, k: Any) -> Any:
    """log(x), complex where the exponent ``k`` is complex and x is not."""
    return np.log(x + 0j) if isinstance(k, complex | np.complexfloating) else np.log(x)


@body.typed(_log_as)
def _(x: Any, k: Any) -> Any:
    return _complex_log if is_complex(k) else _plain_log


def _complex_log(x: Any, k: Any) -> Any:
    return np.log(x + 0j)


def _plain_log(x: Any, k: Any) -> Any:
    return np.log(x)


register(
    (operator.pow, builtins.pow, math.pow, np.power, np.float_power),
    _pow_base,
    _pow_exponent,
    singular=True,
)


# -- absolute value, parts of complex numbers ------------------------------------------------------
def _unit(y: Any, z: Any) -> Any:
    """z / |z|, zero at zero."""
    return z / prims.select(y == 0, 1.0, y)


register(
    (operator.abs, abs, np.absolute, np.fabs, math.fabs),
    lambda y, x: np.sign(x),
    wirtinger=(
        lambda y, z: 0.5 * np.conjugate(_unit(y, z)),
        lambda y, z: 0.5 * _unit(y, z),
    ),
)
register((np.conjugate,), 1.0, wirtinger=(None, 1.0))
register((np.real, prims.real), 1.0, wirtinger=(0.5, 0.5))
register((np.imag, prims.imag), None, wirtinger=(-0.5j, 0.5j))
register(
    (np.angle, cmath.phase),
    None,
    wirtinger=(
        lambda y, z: np.divide(-0.5j, z),
        lambda y, z: np.divide(0.5j, np.conjugate(z)),
    ),
    singular=True,
)
register((complex,), 1.0, 1.0j)
register((prims.cast,), None, 1.0)


@body(cmath.polar)
def polar(z: Any) -> Any:
    return abs(z), cmath.phase(z)


@body(cmath.rect)
def rect(r: Any, phi: Any) -> Any:
    return complex(r * math.cos(phi), r * math.sin(phi))
