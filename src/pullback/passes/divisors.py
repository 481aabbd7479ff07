"""Divisions by what is never zero need no check: ``1.0 / (1.0 + math.exp(-x))``.

A check is a way out of the loop, and a loop with two ways out is not vectorised. Sums of a positive
constant and what is not negative are not zero, nan included, and rounding does not make them so.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..ir.core import IR, Const, Op, Operand
from ..runtime import prims
from .scalars import type_name

DEPTH = 4
"""How many sums are looked into."""

NOT_NEGATIVE: set[Any] = {math.exp, np.exp, np.exp2, math.cosh, np.cosh, math.hypot, np.hypot}
NOT_NEGATIVE |= {abs, np.abs, operator.abs, math.fabs, np.fabs, math.sqrt, np.sqrt}

Defs = Mapping[Operand, Op]


def divisors(ir: IR) -> bool:
    """Replace checked divisions of floats where the divisor shows that it is not zero."""
    checked = [op for op in ir.ops() if op.is_call(prims.pydiv)]
    if not checked:
        return False
    defs: dict[Operand, Op] = {op.result: op for op in ir.ops()}
    found = [op for op in checked if is_float(op.posargs[1]) and positive(op.posargs[1], defs)]
    for op in found:
        op.args = (Const(operator.truediv), *op.posargs)
    return bool(found)


def is_float(x: Operand) -> bool:
    return (type_name(x) or "").startswith("float")


def positive(x: Operand, defs: Defs, depth: int = DEPTH) -> bool:
    """Whether x is greater than zero or nan."""
    if isinstance(x, Const):
        return isinstance(x.value, int | float) and x.value > 0
    op = defs.get(x)
    if op is None or not op.is_call(operator.add) or depth == 0:
        return False
    for one, other in (op.posargs, op.posargs[::-1]):
        if positive(one, defs, depth - 1) and not_negative(other, defs, depth - 1):
            return True
    return False


def not_negative(x: Operand, defs: Defs, depth: int) -> bool:
    """Whether x is zero, greater, or nan."""
    op = defs.get(x)
    if op is None:
        return positive(x, defs, depth)
    if not is_float(x):  # integers wrap around
        return False
    square = op.is_call(operator.mul) and op.posargs[0] is op.posargs[1]
    square |= op.is_call(operator.pow) and is_two(op.posargs[1])
    return square or op.is_call(*NOT_NEGATIVE) or positive(x, defs, depth)


def is_two(x: Operand) -> bool:
    return isinstance(x, Const) and x.value == 2
