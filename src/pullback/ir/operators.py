"""The operators of Python as the functions they call, in the order of their opcodes' arguments."""

from __future__ import annotations

import operator as o

BINARY = (
    o.add, o.and_, o.floordiv, o.lshift, o.matmul, o.mul, o.mod,
    o.or_, o.pow, o.rshift, o.sub, o.truediv, o.xor,
)  # fmt: skip
INPLACE = (
    o.iadd, o.iand, o.ifloordiv, o.ilshift, o.imatmul, o.imul, o.imod,
    o.ior, o.ipow, o.irshift, o.isub, o.itruediv, o.ixor,
)  # fmt: skip
BINARY_OP = BINARY + INPLACE
"""Indexed by the argument of BINARY_OP."""

COMPARE = {"<": o.lt, "<=": o.le, "==": o.eq, "!=": o.ne, ">": o.gt, ">=": o.ge}
"""By symbol; `is`, `is not` and `in` have opcodes of their own (``x in y`` is contains(y, x))."""

UNARY = {
    "UNARY_NEGATIVE": o.neg,
    "UNARY_POSITIVE": o.pos,
    "UNARY_INVERT": o.invert,
    "UNARY_NOT": o.not_,
}
