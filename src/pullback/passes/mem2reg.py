"""Slots become values: each read of a slot is replaced by what was written last, with parameters of
blocks where different writes meet (only where the slot is read again).

A typed slot that is read before it is written is undefined there; one without a type is a variable,
and stays if its being unbound is seen. Slots that a handler reads stay: an exception can leave in
the middle of a block.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import reduce

from ..ir.core import IR, SLOTGET, SLOTSET, Block, Op, Operand, Slot, Undef, Value
from ..ir.dominators import dominators
from ..ir.edit import handlers
from ..ir.unbound import may_be_empty
from .scalars import convert, fits
from .simplify_cfg import remove_unreachable


def mem2reg(ir: IR) -> bool:
    """Replace all slots that no handler reads by values."""
    if not any(op.kind in (SLOTGET, SLOTSET) for op in ir.ops()):
        return False
    remove_unreachable(ir)
    return _Promotion(ir).run()


Blocks = dict[Slot, dict[int, None]]


class _Promotion:
    """``placed`` maps each block to the slots it gets a parameter for; ``current`` holds what each
    slot is worth at the point that the walk over the dominator tree has reached, as a stack."""

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.tree = dominators(ir)
        self.placed: dict[int, dict[Slot, Value]] = {b: {} for b in ir.blocks}
        self.current: dict[Slot, list[Operand]] = {}
        self.reads: dict[Value, Operand] = {}

    def run(self) -> bool:
        self.place()
        if not self.current:
            return False
        self.rename()
        self.ir.substitute(self.reads)
        return True

    def place(self) -> None:
        frontier = self.tree.frontier()
        sets, exposed = _summary(self.ir)
        bits = {slot: 1 << i for i, slot in enumerate(dict.fromkeys((*sets, *exposed)))}
        live = self.live_into(bits, sets, exposed)
        guarded = _union(live[b] for b in handlers(self.ir))
        checked = {op.attr for op in may_be_empty(self.ir) if op.kind == SLOTGET}
        for slot, bit in bits.items():
            if bit & guarded or (slot.type is None and slot in checked):
                continue
            self.current[slot] = [Undef(None if slot.type else slot.name, slot.type)]
            work = [self.ir.entry.id, *sets.get(slot, ())]
            while work:
                for b in frontier[work.pop()]:
                    if live[b] & bit and slot not in self.placed[b]:
                        self.placed[b][slot] = param = self.ir.value(slot.name, slot.type)
                        self.ir.blocks[b].params.append(param)
                        work.append(b)

    def live_into(self, bits: dict[Slot, int], sets: Blocks, exposed: Blocks) -> dict[int, int]:
        """For each block the slots that are read after its start before they are written, as a
        set of bits."""
        written, live = dict.fromkeys(self.ir.blocks, 0), dict.fromkeys(self.ir.blocks, 0)
        for table, found in ((written, sets), (live, exposed)):
            for slot, blocks in found.items():
                for b in blocks:
                    table[b] |= bits[slot]
        changed = True
        while changed:
            changed = False
            for b in reversed(self.tree.order):
                behind = _union(live[s] for s in self.tree.graph[b])
                new = live[b] | (behind & ~written[b])
                changed |= new != live[b]
                live[b] = new
        return live

    def rename(self) -> None:
        stack: list[tuple[int, list[Slot] | None]] = [(self.tree.root, None)]
        while stack:
            id, pushed = stack.pop()
            if pushed is not None:
                for slot in pushed:
                    self.current[slot].pop()
                continue
            block = self.ir.blocks[id]
            stack.append((id, self.visit(block)))
            stack.extend((c, None) for c in reversed(self.tree.children[id]))

    def visit(self, block: Block) -> list[Slot]:
        """Rewrite one block. Returns the slots it wrote, once for each write."""
        written = []
        for slot, param in self.placed[block.id].items():
            self.current[slot].append(param)
            written.append(slot)
        ops: list[Op] = []
        for op in block.ops:
            slot = op.attr if op.kind in (SLOTGET, SLOTSET) else None
            if slot not in self.current:
                ops.append(op)
            elif op.kind == SLOTGET:
                self.reads[op.result] = self.current[slot][-1]
            else:
                self.current[slot].append(self.content(op, ops))
                written.append(slot)
        block.ops = ops
        for e in block.edges:
            e.args += tuple(self.current[slot][-1] for slot in self.placed[e.target])
        return written

    def content(self, op: Op, ops: list[Op]) -> Operand:
        """What the write puts into the slot, converted to the slot's type if that is scalar."""
        x, type_ = op.args[0], op.attr.type
        if isinstance(x, Undef) or fits(Value(-1, None, type_), x):
            return x
        made = convert(self.ir, x, type_, op.loc)
        if isinstance(made, Op):
            ops.append(made)
            return made.result
        return made


def _summary(ir: IR) -> tuple[Blocks, Blocks]:
    """For each slot the blocks that write it, and those that read it before they write it."""
    sets: Blocks = {}
    exposed: Blocks = {}
    for b in ir:
        for op in b.ops:
            if op.kind == SLOTSET:
                sets.setdefault(op.attr, {})[b.id] = None
            elif op.kind == SLOTGET and b.id not in sets.get(op.attr, ()):
                exposed.setdefault(op.attr, {})[b.id] = None
    return sets, exposed


def _union(sets: Iterable[int]) -> int:
    """The union of sets of bits."""
    return reduce(operator.or_, sets, 0)
