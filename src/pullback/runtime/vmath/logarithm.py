"""log and log1p: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)], and, for s = f / (2 + f),

log(1 + f) = 2 atanh(s) = f - (f²/2 - s (f²/2 + R(s²)))  with  R(z) = 2 z/3 + 2 z²/5 + ...
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .exponential import exp, exp32
from .lanes import Bits, Real, fast_two_sum, muladd, polynomial, select, two_sum, word
from .tables import LN2, LOG, LOG32

ROOT_TWO = math.sqrt(2.0)
SMALLEST_NORMAL = 2.0**-1022
MANTISSA = (1 << 52) - 1
ROOT_HALF = word(math.sqrt(0.5))
TO_ONE = word(1.0) - ROOT_HALF


class Split(NamedTuple):
    """x = 2^k m with m in [sqrt(1/2), sqrt(2)]; ``t``: the word of which k + 1023 is the top."""

    k: Real
    m: Real
    t: Bits


def split(x: Real, less: Real | float = 0.0) -> Split:
    """For positive normal x; ``less`` is taken from k."""
    t = x.bits() + TO_ONE
    k = ((t >> 52) | word(2.0**52)).real() - (2.0**52 + 1023.0) - less
    return Split(k, ((t & MANTISSA) + ROOT_HALF).real(), t)


def log_of(k: Real, f: Real, more: Real | float = 0.0) -> Real:
    """k ln 2 + log(1 + f) + more (1 - s)²/(1 - s²)."""
    s = f / (f + 2.0)
    z = s * s
    square = 0.5 * f * f
    small = muladd(k, LN2[1], s * muladd(z, polynomial(z, LOG), square))
    if isinstance(more, Real):
        small = muladd(more, (1.0 - s) * (1.0 - s) * muladd(z, z + 1.0, 1.0), small)
    y, lost = fast_two_sum(k * LN2[0], f)  # exact if k is 0
    return y + (lost - (square - small))


def at_the_ends(x: Real, zero: float, y: Real) -> Real:
    """y, but what a logarithm is at its singularity ``zero``, below, and at infinity."""
    y = select(x.equals(math.inf), math.inf, y)
    return select(x > zero, y, select(x.equals(zero), x.like(-math.inf), math.nan))


def log(x: Real) -> Real:
    tiny = x < SMALLEST_NORMAL
    k, m, _ = split(select(tiny, x * 2.0**54, x), select(tiny, x.like(54.0), 0.0))
    return at_the_ends(x, 0.0, log_of(k, m - 1.0))


def narrow_log(k: Real, f: Real) -> Real:
    """k ln 2 + log(1 + f) to the precision of float32."""
    return muladd(k, math.log(2.0), muladd(f * f, polynomial(f, LOG32), f))


def log32(x: Real) -> Real:
    k, m, _ = split(x)  # a subnormal float32 is a normal float64
    return at_the_ends(x, 0.0, narrow_log(k, m - 1.0))


def log1p(x: Real) -> Real:
    u, lost = two_sum(x.like(1.0), x)
    k, m, t = split(u)
    near = k.equals(0.0)
    f = select(near, x, m - 1.0)  # 1 + f is 1 + x then, without error
    inverse = ((2046 << 52) - ((t >> 52) << 52)).real()  # 2^-k
    more = select(near, 0.0, select(x < 2.0**60, lost * inverse, 0.0))
    y = at_the_ends(x, -1.0, log_of(k, f, more))
    return select(abs(x) < 2.0**-54, x, y)


def log1p32(x: Real) -> Real:
    k, m, _ = split(x + 1.0)
    f = select(k.equals(0.0), x, m - 1.0)
    y = at_the_ends(x, -1.0, narrow_log(k, f))
    return select(x.equals(0.0), x, y)


def logaddexp(x: Real, y: Real) -> Real:
    """log(exp(x) + exp(y)): the greater one and log(1 + t), where t <= 1 is the ratio."""
    t = exp(-abs(x - y))
    far = t > ROOT_TWO - 1.0
    k, f = select(far, t.like(1.0), 0.0), select(far, 0.5 * (t - 1.0), t)
    return together(x, y, select(t > 0.0, log_of(k, f), t))


def logaddexp32(x: Real, y: Real) -> Real:
    t = exp32(-abs(x - y))
    far = t > ROOT_TWO - 1.0
    k, f = select(far, t.like(1.0), 0.0), select(far, 0.5 * (t - 1.0), t)
    return together(x, y, narrow_log(k, f))


def together(x: Real, y: Real, more: Real) -> Real:
    """The greater one plus ``more``; of equal infinities the difference is nan."""
    return select(x.equals(y), x + math.log(2.0), select(x > y, x, y) + more)
