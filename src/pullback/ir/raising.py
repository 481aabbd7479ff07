"""Which operations an exception can leave from.

Only what can never raise is listed; memory that runs out does not count. In a block that has no
other operations and leads on, a handler is never entered, but by an interrupt.
"""

from __future__ import annotations

import operator

from . import intrinsics
from .core import (
    CALL,
    CLOSURE,
    CUT,
    FREECELL,
    IR,
    NEWCELL,
    SETCELL,
    SLOTSET,
    Block,
    Jump,
    Op,
    Return,
    Undef,
)

_QUIET_KINDS = (CLOSURE, NEWCELL, FREECELL, SLOTSET, CUT)
_QUIET = (
    intrinsics.push_exc_info, intrinsics.pop_except, intrinsics.release, operator.is_,
    operator.is_not,
)  # fmt: skip


def can_raise(op: Op) -> bool:
    """Whether an exception can leave from the operation."""
    if op.kind == CALL:
        return not op.is_call(*_QUIET)
    if op.kind == SETCELL:
        return isinstance(op.args[1], Undef)
    return op.kind not in _QUIET_KINDS


def is_quiet(block: Block) -> bool:
    """Whether no operation of the block can raise, nor its end."""
    return isinstance(block.term, Jump | Return) and not any(map(can_raise, block.ops))


def quiet_start(block: Block) -> int:
    """How many operations come before the first that can raise: those are executed before an
    exception leaves the block."""
    return next((i for i, op in enumerate(block.ops) if can_raise(op)), len(block.ops))


def endless(ir: IR) -> set[int]:
    """Blocks that end in a jump back, where an interrupt comes from: those whose target comes
    before them, or is themselves, under the same handler."""
    number = {b: n for n, b in enumerate(ir.blocks)}
    return {
        b.id
        for b in ir
        for s in b.successors
        if number[s] <= number[b.id] and ir.blocks[s].handler == b.handler
    }
