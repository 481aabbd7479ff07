"""Inlining: the blocks of the callee take the place of the call.

The block is cut behind the call; the callee's copy jumps to the rest where it returned. The call's
result becomes a parameter there, so nobody who uses it has to change.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.core import (
    FREECELL,
    GLOBAL,
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Edge,
    Jump,
    Op,
    Operand,
    Return,
    Slot,
)
from ..ir.edit import clone_blocks, split_block
from ..ir.printer import kind_of


def inline_call(ir: IR, op: Op, callee: IR, args: Iterable[Operand]) -> Block:
    """Replace the call ``op`` by the body of ``callee``, its parameters bound to ``args``.

    ``callee`` is copied, with its places in the source, and left as it is; it may have loops,
    several returns, or none. Returns the block that continues behind the call. ValueError if the
    number of arguments differs, if the callee is a generator or a coroutine, or if it reads globals
    or cells that mean something else here."""
    operands = tuple(args)
    if len(operands) != len(callee.args):
        raise ValueError(f"{callee.info.qualname} takes {len(callee.args)} arguments")
    if kind_of(callee.info) != "function":
        raise ValueError(f"{callee.info.qualname} is no function but a {kind_of(callee.info)}")
    if _reads_elsewhere(ir, callee):
        raise ValueError(f"{callee.info.qualname} reads globals or cells of its own")
    block, at = ir.where(op.result)
    rest = split_block(ir, block, at + 1)
    block.ops.pop()
    rest.params = [op.result]
    copies, _ = clone_blocks(ir, callee)
    _rename_slots(copies.values())
    for copy in copies.values():
        if copy.handler is None:
            copy.handler = block.handler
        if isinstance(copy.term, Return):
            copy.term = Jump(Edge(rest.id, [copy.term.value]), copy.term.loc)
    block.term = Jump(Edge(copies[callee.entry.id].id, operands), op.loc)
    return rest


def _reads_elsewhere(ir: IR, callee: IR) -> bool:
    same = callee.info.globals is ir.info.globals
    return any(op.kind == FREECELL or (op.kind == GLOBAL and not same) for op in callee.ops())


def _rename_slots(blocks: Iterable[Block]) -> None:
    """Give the copy slots of its own: the callee may be inlined twice."""
    twins: dict[Slot, Slot] = {}
    for b in blocks:
        for op in b.ops:
            if op.kind in (SLOTGET, SLOTSET):
                op.attr = twins.setdefault(op.attr, Slot(op.attr.name, op.attr.type))
