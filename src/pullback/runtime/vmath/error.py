"""erf: x (1 + P(x²)) below 1; above, 1 - exp(c + u Q(u)) with u = \\|x\\| - 1, c = log(erfc(1))."""

from __future__ import annotations

from .exponential import exp32, exp_of, reduced
from .lanes import Real, fast_two_sum, muladd, polynomial, power_of_two, select
from .tables import ERF, ERF32, ERFC, ERFC32, LOG_ERFC_1


def erf(x: Real) -> Real:
    a = abs(x)
    near = muladd(x, polynomial(x * x, ERF), x)
    u = select(a > 6.0, 6.0, a) - 1.0
    log, lost = fast_two_sum(x.like(LOG_ERFC_1[0]), u * polynomial(u, ERFC))
    r, e, k = reduced(log)
    erfc = exp_of(r, e + (lost + LOG_ERFC_1[1])) * power_of_two(k)
    return select(a < 1.0, near, (1.0 - erfc).with_sign_of(x))


def erf32(x: Real) -> Real:
    a = abs(x)
    near = muladd(x, polynomial(x * x, ERF32), x)
    u = select(a > 4.0, 4.0, a) - 1.0
    erfc = exp32(muladd(u, polynomial(u, ERFC32), LOG_ERFC_1[0]))
    return select(a < 1.0, near, (1.0 - erfc).with_sign_of(x))
