"""Slots become values: each read of a slot is replaced by what was written last, with parameters of
blocks where different writes meet (only where the slot is read again).

A slot that is read before it is written is undefined there. Slots that a handler reads stay: an
exception can leave in the middle of a block.
"""

from __future__ import annotations

from ..ir.core import IR, SLOTGET, SLOTSET, Block, Op, Operand, Slot, Undef, Value
from ..ir.dominators import dominators, reverse
from ..ir.edit import handlers
from .scalars import convert, fits
from .simplify_cfg import remove_unreachable


def mem2reg(ir: IR) -> bool:
    """Replace all slots that no handler reads by values."""
    if not any(op.kind in (SLOTGET, SLOTSET) for op in ir.ops()):
        return False
    remove_unreachable(ir)
    return _Promotion(ir).run()


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
        preds = reverse({n: self.tree.graph[n] for n in self.tree.order})
        guarded = handlers(self.ir)
        sets, exposed = _summary(self.ir)
        for slot in dict.fromkeys((*sets, *exposed)):
            written = sets.get(slot, {})
            live = _live_into(exposed.get(slot, {}), written, preds)
            if not guarded.isdisjoint(live):
                continue
            self.current[slot] = [Undef(None if slot.type else slot.name, slot.type)]
            for b in self.tree.joins((self.ir.entry.id, *written), frontier):
                if b in live:
                    self.placed[b][slot] = param = self.ir.value(slot.name, slot.type)
                    self.ir.blocks[b].params.append(param)

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


def _summary(ir: IR) -> tuple[dict[Slot, dict[int, None]], dict[Slot, dict[int, None]]]:
    """For each slot the blocks that write it, and those that read it before they write it."""
    sets: dict[Slot, dict[int, None]] = {}
    exposed: dict[Slot, dict[int, None]] = {}
    for b in ir:
        for op in b.ops:
            if op.kind == SLOTSET:
                sets.setdefault(op.attr, {})[b.id] = None
            elif op.kind == SLOTGET and b.id not in sets.get(op.attr, ()):
                exposed.setdefault(op.attr, {})[b.id] = None
    return sets, exposed


def _live_into(
    exposed: dict[int, None], written: dict[int, None], preds: dict[int, list[int]]
) -> set[int]:
    """The blocks from whose start a read is reached before a write."""
    live: set[int] = set()
    work = list(exposed)
    while work:
        b = work.pop()
        if b not in live:
            live.add(b)
            work.extend(p for p in preds[b] if p not in written)
    return live
