"""Scalar rules of functions with kinks and steps, and the functions no derivative flows through.

Conventions: binary max and min share a tie half and half; steps (floor, round, sign) have
derivative zero; ``copysign`` follows ``abs``, zero at zero.
"""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

import numpy as np

from ..runtime import prims
from .arithmetic import register
from .registry import inactive


def _chosen(y: Any, mine: Any, other: Any) -> Any:
    """1 if ``mine`` was the result, 1/2 if both were."""
    return prims.select(mine == y, prims.select(other == y, 0.5, 1.0), 0.0)


register(
    (max, min, np.maximum, np.minimum, np.fmax, np.fmin),
    lambda y, a, b: _chosen(y, a, b),
    lambda y, a, b: _chosen(y, b, a),
    switch=True,
)
register(
    (prims.select,),
    None,
    lambda y, c, a, b: prims.select(c, 1.0, 0.0),
    lambda y, c, a, b: prims.select(c, 0.0, 1.0),
)
register((math.copysign, np.copysign), lambda y, x, s: np.sign(x) * np.copysign(1.0, s), None)
register((math.nextafter, np.nextafter), 1.0, None)
register((math.ldexp, np.ldexp), lambda y, x, e: np.ldexp(1.0, e), None)
register((np.heaviside,), None, lambda y, x, h: prims.select(x == 0, 1.0, 0.0))

STEPS = (
    *(math.floor, math.ceil, math.trunc, round, int, bool),
    *(np.floor, np.ceil, np.trunc, np.rint, np.sign),
)
register(STEPS, None)

INACTIVE = (
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal),
    *(operator.not_, operator.is_, operator.is_not, operator.contains),
    *(operator.and_, operator.or_, operator.xor, operator.invert),
    *(operator.lshift, operator.rshift, operator.index),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift),
    *(math.isnan, math.isinf, math.isfinite, math.isclose, math.ulp),
    *(cmath.isnan, cmath.isinf, cmath.isfinite, cmath.isclose),
    *(np.isnan, np.isinf, np.isfinite, np.isclose, np.allclose, np.array_equal),
    *(np.signbit, np.spacing, np.isreal, np.iscomplex, np.iscomplexobj, np.isrealobj),
    *(np.gcd, np.lcm, math.gcd, math.lcm, math.factorial, math.comb, math.perm, math.isqrt),
    *(len, range, print, isinstance, id, hash, type, np.shape, np.size, np.ndim),
    *(np.argsort, np.argpartition, np.searchsorted, np.digitize, np.bincount, np.histogram),
    *(prims.index, prims.wrap, prims.slice_start, prims.slice_count, prims.dim),
)
for _f in (*STEPS, *INACTIVE):
    inactive(_f)
