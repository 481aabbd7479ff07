"""Which values never leave the stack.

A value that is used once, in the block that makes it, is left on the stack where the operations
that push the operands of its use come right before it in the same order: then no operation changes
its place. Going backwards through a block, each operation takes from its operands, last one first,
those that the operation just before makes, and these take theirs; what is not taken is loaded from
its slot. A value with a user's name always goes to its slot.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ..ir.core import (
    CALL,
    CLOSURE,
    FREECELL,
    GETCELL,
    GLOBAL,
    IR,
    NEWCELL,
    SLOTGET,
    YIELD,
    Block,
    Const,
    Jump,
    Op,
    Operand,
    Value,
)
from ..ir.edit import use_counts
from .forms import order_of
from .unpackings import item_count

_STACKABLE = (CALL, CLOSURE, GETCELL, GLOBAL, SLOTGET, YIELD)
_DEEPEST = 100  # nested operands: deeper ones go through slots


class Stacking:
    """``inline``: for each value that stays on the stack, its operation. ``unpackings``: for each
    unpacking that is written as one instruction, the values that get its items (None: dropped).
    ``held``: all values that live in no slot. ``cells``: the values that are cells."""

    def __init__(self, ir: IR) -> None:
        self.inline: dict[Value, Op] = {}
        self.unpackings: dict[Op, list[Value | None]] = {}
        self.items: set[Op] = set()
        self.cells: set[Value] = {op.result for op in ir.ops() if op.kind in (NEWCELL, FREECELL)}
        self.uses = use_counts(ir)
        for block in ir:
            self._find_unpackings(block)
        for block in ir:
            self._plan(block)
        self.held = set(self.inline) | {op.result for op in self.unpackings}
        self.held.update(
            op.result
            for op in ir.ops()
            if op.result.name is None and not self.uses.get(op.result) and op.kind != NEWCELL
        )

    def _find_unpackings(self, block: Block) -> None:
        ops = block.ops
        for k, op in enumerate(ops):
            n = item_count(op)
            if n is None:
                continue
            followers = _items_of(op, ops[k + 1 : k + 1 + n])
            if self.uses.get(op.result, 0) != len(followers):
                continue
            items: list[Value | None] = [None] * n
            for follower in followers:
                items[follower.args[2].value] = follower.result  # type: ignore[union-attr]
            self.unpackings[op] = items
            self.items.update(followers)

    def _plan(self, block: Block) -> None:
        ops = block.ops
        at = len(ops) - 1

        def take(operands: Sequence[Operand], depth: int) -> None:
            nonlocal at
            for x in reversed(operands):
                if at >= 0 and ops[at].result is x and depth < _DEEPEST and self._fits(ops[at]):
                    op = ops[at]
                    at -= 1
                    self.inline[op.result] = op
                    take(order_of(op), depth + 1)

        term = block.term
        take(term.edge.args if isinstance(term, Jump) else term.operands, 0)
        while at >= 0:
            op = ops[at]
            at -= 1
            take(order_of(op), 0)

    def _fits(self, op: Op) -> bool:
        return (
            op.kind in _STACKABLE
            and op.result.name is None
            and self.uses.get(op.result) == 1
            and op not in self.items
            and op not in self.unpackings
        )


def _items_of(unpacking: Op, followers: Sequence[Op]) -> list[Op]:
    """The operations right behind an unpacking that take its items in order."""
    out: list[Op] = []
    last = -1
    for op in followers:
        if not op.is_call(operator.getitem) or op.args[1] is not unpacking.result:
            break
        index = op.args[2]
        if not isinstance(index, Const) or type(index.value) is not int or index.value <= last:
            break
        last = index.value
        out.append(op)
    return out
