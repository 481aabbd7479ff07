"""pow: exp(y log x), the logarithm and the product with their errors."""

from __future__ import annotations

import math

from .exponential import exp32, exp_of, reduced, scaled
from .lanes import Real, fast_two_sum, muladd, polynomial, remainder, select, two_product
from .logarithm import SMALLEST_NORMAL, split
from .tables import LN2, LOG, POW, TWO_THIRDS

SIGN = 1 << 63
ENOUGH = 2.0**70
"""A number above or below 1, to this power, is out of range."""


def log_parts(k: Real, f: Real) -> tuple[Real, Real]:
    """k ln 2 + log(1 + f) and its error; the sum is right to 2^-65.

    log(1 + f) = 2 s + s z (2/3 + z P(z)) with s = f / (2 + f), z = s²."""
    d, d_lost = fast_two_sum(f.like(2.0), f)
    inverse = 1.0 / d
    s = f * inverse
    s_lost = muladd(s, -d_lost, remainder(f, s, d)) * inverse
    z, z_lost = two_product(s, s)
    z_lost = muladd(2.0 * s, s_lost, z_lost)
    c, c_lost = fast_two_sum(z.like(TWO_THIRDS[0]), muladd(z, polynomial(z, POW), TWO_THIRDS[1]))
    t, t_lost = two_product(s, z)
    t_lost = muladd(s, z_lost, muladd(s_lost, z, t_lost))
    u, u_lost = two_product(t, c)
    u_lost = muladd(t, c_lost, muladd(t_lost, c, u_lost))
    y, lost = fast_two_sum(k * LN2[0], 2.0 * s)
    y, more = fast_two_sum(y, u)
    rest = muladd(k, LN2[1], muladd(s_lost, 2.0, u_lost))
    return fast_two_sum(y, (lost + more) + rest)


def power(x: Real, y: Real) -> Real:
    a = abs(x)
    tiny = a < SMALLEST_NORMAL
    k, m, _ = split(select(tiny, a * 2.0**54, a), select(tiny, a.like(54.0), 0.0))
    log, log_lost = log_parts(k, m - 1.0)
    exponent = y.within(-ENOUGH, ENOUGH)
    p, p_lost = two_product(exponent, ends(a, log))
    p_lost = select(abs(p) < 800.0, muladd(exponent, log_lost, p_lost), 0.0)
    r, e, n = reduced(p.within(-750.0, 750.0))
    return signed(x, y, scaled(exp_of(*fast_two_sum(r, e + p_lost)), n))


def power32(x: Real, y: Real) -> Real:
    a = abs(x)
    k, m, _ = split(a)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    log = muladd(k, math.log(2.0), muladd(s * z, polynomial(z, LOG), 2.0 * s))
    return signed(x, y, exp32(ends(a, log) * y.within(-ENOUGH, ENOUGH)))


def ends(a: Real, log: Real) -> Real:
    """The logarithm of a, also of 0, infinity and nan."""
    return select(a.equals(0.0), -math.inf, select(a < math.inf, log, a))


def signed(x: Real, y: Real, result: Real) -> Real:
    """|x|^y with the sign of x^y; nan where there is none; 1^y and x^0 are 1, even of nan."""
    half, whole = 0.5 * y, y.floor()
    odd = whole.equals(y) & half.floor().differs(half)
    result = (result.bits() ^ (x.bits() & SIGN).where(odd)).real()
    undefined = (x < 0.0) & (x > -math.inf) & whole.differs(y)
    result = select(undefined, math.nan, result)
    return select(x.equals(1.0) | y.equals(0.0), 1.0, result)
