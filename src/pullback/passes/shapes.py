"""The dimensions of arrays as their construction shows them."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.core import Const, Op, Operand, Value
from ..runtime import prims

_SAME = (
    *(prims.real_view, prims.imag_view, prims.own, prims.contiguous),
    *(prims.overlap_copy, prims.same_layout_zeros),
)


def known_dim(x: Operand, axis: int, defs: Mapping[Value, Op]) -> Operand | None:
    """The operand that is the length of ``axis`` of the array ``x``, or None if only ``prims.dim``
    of it says so. Views and copies are looked through."""
    op = defs.get(x) if isinstance(x, Value) else None
    if op is None:
        return None
    if op.is_call(prims.empty, prims.zeros):
        return op.args[3:][axis]
    if op.is_call(prims.heap_empty, prims.heap_zeros):
        return op.args[4:][axis]
    if op.is_call(prims.reshape):
        return op.args[2:][axis]
    if op.is_call(prims.subview):
        return _of_subview(op, axis, defs)
    below = dim_below(op, axis)
    return None if below is None else known_dim(*below, defs)


def dim_below(op: Op | None, axis: int) -> tuple[Operand, int] | None:
    """The array and axis that ``axis`` of the result of ``op`` has its length from."""
    if op is None:
        return None
    if op.is_call(*_SAME):
        return op.args[1], axis
    if op.is_call(prims.transpose) and isinstance(op.args[2], Const):
        return op.args[1], op.args[2].value[axis]
    if op.is_call(prims.subview):
        kept = _kept_axis(op, axis)
        return None if kept is None else (op.args[1], kept)
    return None


def _steps(op: Op) -> list[tuple[str, tuple[Operand, ...], int]]:
    """The steps of a subview: (character, integers, the axis they index)."""
    assert isinstance(op.args[2], Const)
    found, at, axis = [], 3, 0
    for step in op.args[2].value:
        n = prims.SPEC_INTS[step]
        found.append((step, op.args[at : at + n], axis))
        at += n
        axis += step != "n"
    return found


def _kept_axis(op: Op, axis: int) -> int | None:
    """The axis of the array that is wholly axis ``axis`` of its subview."""
    steps = _steps(op)
    kept = [s for s in steps if s[0] != "i"]
    if axis < len(kept):
        step, _, below = kept[axis]
        return below if step == ":" else None
    used = sum(s[0] != "n" for s in steps)
    return used + axis - len(kept)


def _of_subview(op: Op, axis: int, defs: Mapping[Value, Op]) -> Operand | None:
    kept = [s for s in _steps(op) if s[0] != "i"]
    if axis < len(kept):
        step, ints, _ = kept[axis]
        if step == "n":
            return Const(1)
        if step in "us":
            return ints[1]
    below = _kept_axis(op, axis)
    return None if below is None else known_dim(op.args[1], below, defs)
