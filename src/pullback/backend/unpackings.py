"""Instructions that leave several items on the stack: unpackings, the start of ``with``, the match
of exception groups. In the IR they are a call and the `getitem`s that follow it; they are written
as one instruction where all the items are taken right behind it, otherwise they make a tuple."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import intrinsics as i
from ..ir.core import Const, Op
from .forms import TABLE, Form, positional

if TYPE_CHECKING:
    from .encoder import Encoder

_PAIRS = {
    i.before_with: "BEFORE_WITH",
    i.before_async_with: "BEFORE_ASYNC_WITH",
    i.group_match: "CHECK_EG_MATCH",
}
"""The instructions that leave two items."""

_COUNTS = {i.unpack: 2, i.unpack_ex: 3}
"""Number of arguments of those that say how many items they leave; alone, they are plain calls."""


def item_count(op: Op) -> int | None:
    """How many items the operation leaves, if it is one of these."""
    callee = op.callee
    if callee in (*_PAIRS,):
        return 2
    if callee not in (*_COUNTS,) or len(op.args) - 1 != _COUNTS[callee]:
        return None
    counts = [x.value for x in op.args[2:] if isinstance(x, Const)]
    if len(counts) != len(op.args) - 2:
        return None
    return counts[0] if len(counts) == 1 else sum(counts) + 1


def order(op: Op) -> tuple[object, ...]:
    return op.args[1:] if op.callee in _PAIRS else op.args[1:2]


def write_items(e: Encoder, op: Op) -> None:
    """Leave the items on the stack, the first on top."""
    if op.callee in _PAIRS:
        e.push(op.args[1:])
        e.asm.emit(_PAIRS[op.callee])
        return
    e.push(op.args[1:2])
    counts = [x.value for x in op.args[2:] if isinstance(x, Const)]
    if len(counts) == 1:
        e.asm.emit("UNPACK_SEQUENCE", counts[0])
    else:
        e.asm.emit("UNPACK_EX", counts[0] | counts[1] << 8)


def _write_pair(e: Encoder, op: Op) -> None:
    write_items(e, op)
    e.asm.emit("SWAP", 2)
    e.asm.emit("BUILD_TUPLE", 2)


TABLE |= {fn: (None, Form(positional, _write_pair)) for fn in _PAIRS}
