"""Constant folding, and identities that are exact: in integers, and in floating point with its
signed zeros, infinities and nans (``x * 1.0`` is x, ``x + 0.0`` is not when x is -0.0).

Identities look at types, so they are for typed IR; constants fold in both.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.core import IR, Branch, Const, Op, Operand, Value
from ..ir.dominators import reverse_postorder
from ..runtime import prims
from .scalars import constant, is_a, type_name
from .shapes import dim_below, known_dim

Defs = dict[Operand, Op]


def fold(ir: IR) -> bool:
    """Replace operations by the constants or operands that they are equal to."""
    defs: Defs = {}
    found: dict[Value, Operand] = {}
    changed = False

    for id in reverse_postorder(ir):
        block = ir.blocks[id]
        kept = []
        for op in block.ops:
            if found:
                op.replace(found)
            callee = op.callee
            if callee is None or op.attr or type(callee).__hash__ is None:
                new = None
            else:
                rewrite = _REWRITES.get(callee)
                if rewrite is not None:
                    changed |= rewrite(op, defs)
                new = _simplified(op, callee, defs)
            if new is None:
                defs[op.result] = op
                kept.append(op)
            else:
                found[op.result] = new
        block.ops = kept
    ir.substitute(found)
    return bool(found) | _swap_negated(ir, defs) | changed


def _simplified(op: Op, callee: Any, defs: Defs) -> Operand | None:
    """What ``op`` is equal to, or None."""
    if callee in _ON_CONSTANTS:
        args = op.args[1:]
        constants = [x.value for x in args if type(x) is Const]
        if len(constants) == len(args):
            return _evaluated(op, constants)
    rule = _IDENTITIES.get(callee)
    return None if rule is None else rule(op, defs)


# -- constants -------------------------------------------------------------------------------------
_OPERATORS = """add sub mul truediv floordiv mod pow neg pos abs invert not_ lt le eq ne gt ge
and_ or_ xor lshift rshift"""
_ON_CONSTANTS = {
    *(getattr(operator, n) for n in _OPERATORS.split()),
    *(abs, min, max, int, float, bool, complex, round),
    *(f for n, f in vars(math).items() if callable(f) and n[0] != "_"),
    *(prims.wrap, prims.index, prims.slice_start, prims.slice_count, prims.cast, prims.select),
    prims.likely,
    *(prims.real, prims.imag, prims.pydiv, prims.pyfloordiv, prims.pymod),
}


def _evaluated(op: Op, values: list[Any]) -> Const | None:
    """The call's result, if it has one now and it is of the operation's type."""
    callee = op.callee
    if not all(map(_immutable, values)):
        return None
    if callee in _GROWING and not all(map(_small, values)):
        return None
    try:
        with np.errstate(all="ignore"):
            result = callee(*values)
    except Exception:
        return None  # it raises: at run time, where the program can see it
    return _as_result(op, result)


def _immutable(x: Any) -> bool:
    """A number, None, or the name of a type: operators have no surprises on them."""
    return type(x) in (bool, int, float, complex, str, type(None)) or is_a(x, "Type", "generic")


_GROWING = (operator.pow, operator.lshift, operator.mul, math.factorial, math.comb, math.perm)


def _small(x: Any) -> bool:
    return not isinstance(x, str | int) or (isinstance(x, int) and abs(x) <= 2**10)


def _as_result(op: Op, result: Any) -> Const | None:
    wanted, got = type_name(op.result), type_name(Const(result))
    if got is None or (isinstance(result, int) and abs(result) >= 2**63):
        return None
    if op.result.type is None or wanted == got:
        return Const(result)
    if wanted is None:
        return None
    try:
        return Const(constant(op.result.type, result))
    except (OverflowError, TypeError, ValueError):
        return None


# -- identities ------------------------------------------------------------------------------------
def _same(op: Op, x: Operand) -> bool:
    """Whether ``x`` is of the type of the result."""
    wanted = type_name(op.result)
    return wanted is not None and wanted == type_name(x)


def _same_real(op: Op, x: Operand) -> bool:
    return _same(op, x) and not str(type_name(x)).startswith("complex")


def _integer(x: Operand) -> bool:
    name = type_name(x)
    return name is not None and name.startswith(("int", "uint"))


def _is(x: Operand, value: float) -> bool:
    """Whether ``x`` is the constant, with its sign if it is a floating-point zero."""
    if not isinstance(x, Const) or type_name(x) is None or isinstance(x.value, complex):
        return False
    c = x.value
    return bool(c == value) and math.copysign(1.0, c) == math.copysign(1.0, value)


def _zero(x: Operand) -> bool:
    return isinstance(x, Const) and _integer(x) and bool(x.value == 0)


def _one(x: Operand) -> bool:
    return _is(x, 1.0)


def _add(op: Op, defs: Defs) -> Operand | None:
    a, b = op.args[1:]
    for x, y in ((a, b), (b, a)):
        if _same_real(op, x) and ((_integer(x) and _zero(y)) or (not _integer(x) and _is(y, -0.0))):
            return x
    return None


def _sub(op: Op, defs: Defs) -> Operand | None:
    a, b = op.args[1:]
    if _integer(op.result) and a is b:
        return _as_result(op, 0)
    return a if _same_real(op, a) and _is(b, 0.0) else None


def _mul(op: Op, defs: Defs) -> Operand | None:
    a, b = op.args[1:]
    for x, y in ((a, b), (b, a)):
        if _same_real(op, x) and _one(y):
            return x
        if _integer(op.result) and _integer(x) and _zero(y):
            return _as_result(op, 0)
    return None


def _truediv(op: Op, defs: Defs) -> Operand | None:
    a, b = op.args[1:]
    return a if _same_real(op, a) and _one(b) else None


def _floordiv(op: Op, defs: Defs) -> Operand | None:
    a, b = op.args[1:]
    return a if _same(op, a) and _integer(a) and _one(b) else None


def _pow(op: Op, defs: Defs) -> Operand | None:
    a, b = op.args[1:]
    return a if _same(op, a) and _one(b) else None


def _twice(op: Op, defs: Defs) -> Operand | None:
    """neg(neg(x)) is x, and the like."""
    inner = defs.get(op.args[1])
    if inner is not None and inner.callee is op.callee and _same(op, inner.args[1]):
        return inner.args[1]
    return None


def _itself(op: Op, defs: Defs) -> Operand | None:
    x = op.args[1]
    return x if _same(op, x) else None


def _cast(op: Op, defs: Defs) -> Operand | None:
    """A float stays cast: what divides by it is told from Python's floats by that."""
    x = op.args[2]
    exact = _integer(x) or type_name(x) == "bool"
    return x if exact and _same(op, x) else None


def _select(op: Op, defs: Defs) -> Operand | None:
    c, a, b = op.args[1:]
    if isinstance(c, Const) and type_name(c) is not None:
        chosen = a if c.value else b
        return chosen if _same(op, chosen) else None
    if a == b and _same(op, a):
        return a
    test = defs.get(c)
    if test is not None and test.is_call(operator.eq) and _integer(op.result) and _same(op, b):
        return b if set(test.args[1:]) == {a, b} else None  # b if it is a, and otherwise too
    return None


def _logical(neutral: bool) -> Callable[[Op, Defs], Operand | None]:
    """Of and, or: what a constant decides."""

    def rule(op: Op, defs: Defs) -> Operand | None:
        a, b = op.args[1:]
        if type_name(op.result) != "bool":
            return None
        for x, y in ((a, b), (b, a)):
            if isinstance(y, Const) and type(y.value) is bool and _same(op, x):
                return x if y.value is neutral else y
        return a if a is b else None

    return rule


def _unit(op: Op, defs: Defs) -> Operand | None:
    return _as_result(op, op.args[1].value == 1) if isinstance(op.args[1], Const) else None


def _slice_start(op: Op, defs: Defs) -> Operand | None:
    start, step, _ = op.args[1:]
    forward = isinstance(step, Const) and (step.value is None or step.value > 0)
    return _as_result(op, 0) if forward and _is_none_or_zero(start) else None


def _is_none_or_zero(x: Operand) -> bool:
    return isinstance(x, Const) and (x.value is None or x.value == 0)


def _slice_count(op: Op, defs: Defs) -> Operand | None:
    """All of an axis."""
    start, stop, step, n = op.args[1:]
    whole = _is_none_or_zero(start) and isinstance(stop, Const) and stop.value is None
    return n if whole and _unit_step(step) and _is_length(n, defs) and _same(op, n) else None


def _unit_step(x: Operand) -> bool:
    return isinstance(x, Const) and x.value in (None, 1)


def _is_length(n: Operand, defs: Defs) -> bool:
    """Whether ``n`` cannot be negative, being the length of an axis."""
    op = defs.get(n)
    return op is not None and op.is_call(prims.dim, prims.slice_count)


def _pair(op: Op, defs: Defs) -> Operand | None:
    return op.args[1] if len(op.args) == 3 and op.args[1] is op.args[2] else None


def _compare(value: bool) -> Callable[[Op, Defs], Operand | None]:
    def rule(op: Op, defs: Defs) -> Operand | None:
        a, b = op.args[1:]
        return _as_result(op, value) if a is b and _integer(a) else None

    return rule


def _dim(op: Op, defs: Defs) -> Operand | None:
    x, axis = op.args[1:]
    assert isinstance(axis, Const)
    known = known_dim(x, axis.value, defs)
    return known if known is not None and _integer(known) else None


_IDENTITIES: dict[Any, Callable[[Op, Defs], Operand | None]] = {
    operator.add: _add,
    operator.sub: _sub,
    operator.mul: _mul,
    operator.truediv: _truediv,
    operator.floordiv: _floordiv,
    operator.pow: _pow,
    operator.neg: _twice,
    operator.invert: _twice,
    operator.not_: _twice,
    operator.pos: _itself,
    prims.real: _itself,
    prims.cast: _cast,
    prims.select: _select,
    prims.dim: _dim,
    prims.unit: _unit,
    prims.slice_start: _slice_start,
    prims.slice_count: _slice_count,
    operator.and_: _logical(True),
    operator.or_: _logical(False),
    min: _pair,
    max: _pair,
    **dict.fromkeys((operator.eq, operator.le, operator.ge), _compare(True)),
    **dict.fromkeys((operator.ne, operator.lt, operator.gt), _compare(False)),
}


# -- rewriting -------------------------------------------------------------------------------------
def offset(op: Op | None) -> tuple[Value, int] | None:
    """``x`` and ``c`` of an integer operation ``x + c``, c constant."""
    if op is None or not op.is_call(operator.add, operator.sub):
        return None
    a, b = op.args[1:]
    plus = op.callee is operator.add
    if plus and type(a) is Const:
        a, b = b, a
    if type(b) is not Const or type(b.value) is not int or type(a) is not Value:
        return None
    return (a, b.value if plus else -b.value) if _integer(op.result) and _same(op, a) else None


def _reassociate(op: Op, defs: Defs) -> bool:
    """Turn (x + c) + d into x + (c + d), for integers."""
    outer = offset(op)
    inner = None if outer is None else offset(defs.get(outer[0]))
    if outer is None or inner is None or not _same(op, inner[0]):
        return False
    total = inner[1] + outer[1]
    if abs(total) >= 2**31:
        return False
    op.args = (Const(operator.add), inner[0], Const(total))
    return True


def _trimmed(op: Op, defs: Defs) -> bool:
    """Count ``x[a:-b]`` as ``x[a + b:]``, which is as long: neighbours are then seen to agree."""
    start, stop, step, n = op.args[1:]
    if not (isinstance(start, Const) and isinstance(stop, Const) and _unit_step(step)):
        return False
    a, b = start.value or 0, stop.value
    if type(b) is not int or a < 0 or b >= 0 or not _is_length(n, defs):
        return False
    op.args = (op.fn, Const(a - b), Const(None), step, n)
    return True


def _look_through(op: Op, defs: Defs) -> bool:
    """Ask the array below a view or copy for a dimension."""
    changed = False
    while isinstance(op.args[2], Const):
        below = dim_below(defs.get(op.args[1]), op.args[2].value)
        if below is None:
            break
        op.args = (op.fn, below[0], Const(below[1]))
        changed = True
    return changed


_REWRITES: dict[Any, Callable[[Op, Defs], bool]] = {
    operator.add: _reassociate,
    operator.sub: _reassociate,
    prims.dim: _look_through,
    prims.slice_count: _trimmed,
}


def _swap_negated(ir: IR, defs: Defs) -> bool:
    """Branch on c instead of on ``not c``."""
    changed = False
    for b in ir:
        term = b.term
        while isinstance(term, Branch) and isinstance(term.cond, Value):
            op = defs.get(term.cond)
            if op is None or not op.is_call(operator.not_) or type_name(op.args[1]) != "bool":
                break
            term.cond, term.then, term.orelse = op.args[1], term.orelse, term.then
            changed = True
    return changed
