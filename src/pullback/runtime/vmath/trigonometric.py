"""sin and cos: x = k pi/2 + r with |r| <= pi/4 (Cody and Waite), and a polynomial in r^2."""

from __future__ import annotations

from .lanes import (
    Bits,
    Real,
    fast_two_sum,
    muladd,
    polynomial,
    remainder,
    rounded,
    select,
    two_product,
    two_sum,
)
from .tables import COS, COS32, HALF_PI, SIN, SIN32

TWO_OVER_PI = 0.6366197723675814
SIGN = 1 << 63


def reduced(a: Real) -> tuple[Real, Real, Bits]:
    """r, its error e and k, with a = k pi/2 + r + e, for 0 <= a <= `far.REACH`, where three parts
    of pi/2 are enough.

    a - k P, P the first part, needs no more than 53 bits: it is a multiple of 2^-53 below 1."""
    k, n = rounded(a, TWO_OVER_PI)
    near = remainder(a, k, HALF_PI[0])
    p, p_lost = two_product(k, HALF_PI[1])
    r, r_lost = two_sum(near, -p)
    return r, muladd(k, -HALF_PI[2], r_lost - p_lost), n


def turned(x: Real, r: Real, e: Real, k: Bits) -> Real:
    """sin(r + e + k pi/2), for float64."""
    z = r * r
    sin = r + muladd(r * z, polynomial(z, SIN), muladd(-0.5 * z, e, e))
    one, lost = fast_two_sum(x.like(1.0), -0.5 * z)
    cos = one + (lost + muladd(z * z, polynomial(z, COS), -(r * e)))
    return quadrant(sin, cos, k)


def turned32(r: Real, k: Bits) -> Real:
    """sin(r + k pi/2), for float32."""
    z = r * r
    sin = muladd(r * z, polynomial(z, SIN32), r)
    cos = muladd(z * z, polynomial(z, COS32), muladd(z, -0.5, 1.0))
    return quadrant(sin, cos, k)


def quadrant(sin: Real, cos: Real, k: Bits) -> Real:
    y = select((k & 1).equals(0), sin, cos)
    return (y.bits() ^ ((k & 2) << 62)).real()


def sin(x: Real) -> Real:
    a = abs(x)
    y = turned(x, *reduced(a))
    y = (y.bits() ^ (x.bits() & SIGN)).real()
    return x.m.in_reach(y, "sin", x)


def cos(x: Real) -> Real:
    a = abs(x)
    r, e, k = reduced(a)
    return x.m.in_reach(turned(x, r, e, k + 1), "cos", x)


def sin32(x: Real) -> Real:
    a = abs(x)
    r, _, k = reduced(a)
    y = turned32(r, k)
    y = (y.bits() ^ (x.bits() & SIGN)).real()
    return x.m.in_reach(y, "sin", x)


def cos32(x: Real) -> Real:
    a = abs(x)
    r, _, k = reduced(a)
    return x.m.in_reach(turned32(r, k + 1), "cos", x)
