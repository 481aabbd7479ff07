"""exp, expm1 and tanh: x = k ln 2 + r with |r| <= ln 2 / 2, and a polynomial in r."""

from __future__ import annotations

import math

from .lanes import (
    Bits,
    Real,
    fast_two_sum,
    muladd,
    polynomial,
    power_of_two,
    remainder,
    rounded,
    select,
    two_product,
    two_sum,
)
from .tables import EXP, EXP32, LN2

LOG2_E = 1.0 / math.log(2.0)
OVERFLOW = 709.782712893384
"""exp of what is above is above the largest float64."""


def reduced(x: Real) -> tuple[Real, Real, Bits]:
    """r, its error e and k, with x = k ln 2 + r + e."""
    k, n = rounded(x, LOG2_E)
    high = muladd(k, -LN2[0], x)  # exact: k has 11 bits
    low = k * LN2[1]
    r = high - low
    return r, (high - r) - low, n


def exp_of(r: Real, e: Real) -> Real:
    """exp(r + e) for a small e."""
    y, lost = fast_two_sum(r.like(1.0), r)
    return y + (lost + muladd(r * r, polynomial(r, (0.5, *EXP)), e))


def scaled(y: Real, k: Bits) -> Real:
    """2^k y: in two steps, because 2^k may be out of range where 2^k y is not."""
    half = ((k + 2048) >> 1) - 1024
    return y * power_of_two(half) * power_of_two(k - half)


def exp(x: Real) -> Real:
    r, e, k = reduced(x.within(-750.0, 750.0))
    return scaled(exp_of(r, e), k)


def exp32(x: Real) -> Real:
    r, _, k = reduced(x.within(-200.0, 200.0))
    return muladd(r * r, polynomial(r, (0.5, *EXP32)), r + 1.0) * power_of_two(k)


def expm1_parts(x: Real, scale: float) -> tuple[Real, Real]:
    """scale (exp(x) - 1) as a number and a small correction; scale is a power of two with which
    exp(x) is in range."""
    r, e, k = reduced(x)
    s = power_of_two(k) if scale == 1.0 else power_of_two(k - 1)
    square, lost = two_product(r, r)
    y, y_lost = two_sum(s, x.like(-scale))
    y, r_lost = fast_two_sum(y, s * r)
    y, square_lost = fast_two_sum(y, s * (0.5 * square))
    rest = muladd(square * r, polynomial(r, EXP), muladd(lost, 0.5, e))
    return y, muladd(s, rest, square_lost + (r_lost + y_lost))


def expm1(x: Real) -> Real:
    y, lost = expm1_parts(select(x < -50.0, -50.0, x), 0.5)
    y = select(x > OVERFLOW, math.inf, 2.0 * (y + lost))
    return select(abs(x) < 2.0**-54, x, y)  # and -0 stays


def expm1_narrow(x: Real) -> Real:
    """expm1 to the precision of float32, for -50 < x < 200; +0 for -0."""
    r, _, k = reduced(x)
    s = power_of_two(k)
    return muladd(s, muladd(r * r, polynomial(r, (0.5, *EXP32)), r), s - 1.0)


def expm1_32(x: Real) -> Real:
    return expm1_narrow(x.within(-50.0, 200.0)).with_sign_of(x)


def tanh(x: Real) -> Real:
    """t / (2 + t) with t = exp(2 |x|) - 1, both divided with their errors."""
    a = abs(x)
    t, t_lost = fast_two_sum(*expm1_parts(2.0 * select(a > 22.0, 22.0, a), 1.0))
    d, d_lost = two_sum(t, x.like(2.0))
    inverse = 1.0 / d
    q = t * inverse
    rest = remainder(t, q, d) + (t_lost - q * (d_lost + t_lost))
    return muladd(rest, inverse, q).with_sign_of(x)


def tanh32(x: Real) -> Real:
    a = abs(x)
    t = expm1_narrow(2.0 * select(a > 22.0, 22.0, a))
    return (t / (t + 2.0)).with_sign_of(x)
