"""erf: x (2 / sqrt(pi) + x² P(x²)) below 7/8; above, 1 - exp(c + u Q(u)) with u = |x| - 7/8."""

from __future__ import annotations

from .exponential import exp32, exp_of, reduced
from .lanes import Real, fast_two_sum, muladd, polynomial, power_of_two, select
from .tables import ERF, ERF32, ERF_SLOPE, ERFC, ERFC32, LOG_ERFC

NEAR = 0.875


def erf(x: Real) -> Real:
    a = abs(x)
    z = x * x
    first = muladd(z, polynomial(z, ERF[1:]), ERF[0])  # rounded less often than `polynomial`
    slope = ERF_SLOPE[0] + muladd(z, first, ERF_SLOPE[1])
    near = muladd(x, slope, x)
    u = select(a > 6.0, 6.0, a) - NEAR
    log, lost = fast_two_sum(x.like(LOG_ERFC[0]), u * polynomial(u, ERFC))
    r, e, k = reduced(log)
    erfc = exp_of(r, e + (lost + LOG_ERFC[1])) * power_of_two(k)
    return select(a < NEAR, near, (1.0 - erfc).with_sign_of(x))


def erf32(x: Real) -> Real:
    a = abs(x)
    z = x * x
    near = muladd(x, muladd(z, polynomial(z, ERF32), ERF_SLOPE[0]), x)
    u = select(a > 4.0, 4.0, a) - NEAR
    erfc = exp32(muladd(u, polynomial(u, ERFC32), LOG_ERFC[0]))
    return select(a < NEAR, near, (1.0 - erfc).with_sign_of(x))
