"""What it costs to evaluate an operation again, in bytes: as many as could be put on the tape and
taken from it in that time."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba import types

from ...ir.core import Const, Op
from ...rules import registry

STEP = 1 / 8  # an addition, a multiplication, a load
SLOW_STEP = 1 / 2  # one instruction that takes its time
CALL = 32  # a logarithm, a power, a call

SLOW = (
    *(operator.truediv, operator.mod, operator.floordiv),
    *(math.sqrt, math.fabs, math.floor, math.ceil, math.trunc),
    *(np.sqrt, np.absolute, np.floor, np.ceil),
)
MODULES = ("math", "cmath", "numpy")


def work(op: Op) -> float:
    """Nothing for integers and views: counting and addressing go on beside the arithmetic."""
    if is_call(op):
        return CALL
    if not isinstance(op.result.type, types.Float | types.Complex):
        return 0.0
    return SLOW_STEP if op.callee in SLOW else STEP


def is_call(op: Op) -> bool:
    """Whether the operation is more than an instruction or two."""
    f: Any = op.callee
    if f is operator.pow:
        return not isinstance(op.args[2], Const)
    if registry.scalar(f) is None or f in SLOW:
        return False
    return getattr(f, "__module__", None) in MODULES or isinstance(f, np.ufunc)
