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
    NEWCELL,
    SETCELL,
    SLOTSET,
    Block,
    Const,
    Jump,
    Op,
    Return,
    Undef,
)

_QUIET_KINDS = (CLOSURE, NEWCELL, FREECELL, SLOTSET, CUT)
_QUIET = (
    intrinsics.push_exc_info, intrinsics.pop_except, intrinsics.release, intrinsics.build_tuple,
    operator.is_, operator.is_not,
)  # fmt: skip


def can_raise(op: Op) -> bool:
    """Whether an exception can leave from the operation."""
    if op.kind == CALL:
        return not (op.is_call(*_QUIET) or _names_things(op))
    if op.kind == SETCELL:
        return isinstance(op.args[1], Undef)
    return op.kind not in _QUIET_KINDS


def _names_things(op: Op) -> bool:
    """A dict of names, as keyword defaults are."""
    return op.is_call(intrinsics.build_map) and all(
        isinstance(k, Const) and type(k.value) is str for k in op.args[1::2]
    )


def is_quiet(block: Block) -> bool:
    """Whether no operation of the block can raise, nor its end."""
    return isinstance(block.term, Jump | Return) and not any(map(can_raise, block.ops))


def quiet_start(block: Block) -> int:
    """How many operations come before the first that can raise: those are executed before an
    exception leaves the block."""
    return next((i for i, op in enumerate(block.ops) if can_raise(op)), len(block.ops))


def spins(block: Block) -> bool:
    """Whether the block does nothing but jump to itself: where an interrupt comes from."""
    return isinstance(block.term, Jump) and block.term.edge.target == block.id
