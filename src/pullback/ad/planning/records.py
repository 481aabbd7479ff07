"""The forward half's side of the tape: what each iteration of a loop writes down, and where.

At the end of an iteration (at its latch, and on each edge that leaves the loop) the values with
source ``TAPE`` defined in it go into one record. In a counted loop without breaks the records lie
side by side, each value in a column of its own: room for all trips is made before the loop.
Otherwise each record is put on the stack by itself. A split function has one record for itself.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

from ...ir.builder import Builder
from ...ir.core import IR, SLOTSET, Block, Op, Operand, Slot, Value
from ...ir.loops import Loop
from ...runtime import prims
from .plan import Plan


@dataclass
class Layout:
    """A record: its values with their offsets; ``columns`` if side by side."""

    values: list[Value]
    offsets: list[int]
    nbytes: int
    columns: bool

    @staticmethod
    def of(values: list[Value], columns: bool) -> Layout:
        offsets, at = [], 0
        for v in values:
            offsets.append(at)
            at += width(v)
        return Layout(values, offsets, at, columns)


def width(v: Value) -> int:
    """Bytes of a value in a record, a multiple of eight so that every value is aligned."""
    return -(-prims.nbytes_of(v.type) // 8) * 8


@dataclass
class Records:
    """Writes the records; ``keep`` holds what is read where its definition does not dominate."""

    ir: IR
    plan: Plan
    tape: Value
    layouts: dict[int | None, Layout] = field(default_factory=dict)  # by header
    keep: dict[Value, Slot] = field(default_factory=dict)

    def write(self) -> None:
        s = self.plan.structure
        for loop in s.loops:
            values = self.plan.taped(loop)
            if not values:
                continue
            layout = Layout.of(values, self._side_by_side(loop))
            self.layouts[loop.header] = layout
            if layout.columns:
                self._columns(loop, layout)
            else:
                self._at_end(self.ir.blocks[s.latch(loop)], layout)
        for landing, (_, left) in s.landing.items():
            if landing not in s.returning:
                continue
            for loop in left:
                layout_ = self.layouts.get(loop.header)
                if layout_ and not layout_.columns and not self.top_tested(loop):
                    self._at_end(self.ir.blocks[landing], layout_)
        if self.plan.split:
            layout = self.layouts[None] = Layout.of(self.plan.taped(None), False)
            assert s.exit is not None
            self._at_end(self.ir.blocks[s.exit], layout, before_pack=True)

    # -- which layout --------------------------------------------------------------------------
    def top_tested(self, loop: Loop) -> bool:
        """Whether the loop is only left at its header, where nothing is reversed or written down:
        its last, partial iteration then needs no record."""
        s = self.plan.structure
        ways = [z for z, (_, left) in s.landing.items() if loop in left and z in s.returning]
        if len(ways) != 1 or s.landing[ways[0]][0] != loop.header:
            return False
        if loop.header in self.plan.effective and any(
            self.plan.primal.reversed(op) for op in self.ir.blocks[loop.header].ops
        ):
            return False
        return all(s.home[v] != loop.header or self._phi(v, loop) for v in self.plan.taped(loop))

    def _phi(self, v: Value, loop: Loop) -> bool:
        return v in self.ir.blocks[loop.header].params

    def _side_by_side(self, loop: Loop) -> bool:
        c = self.plan.counted.get(loop)
        if c is None or c.breaks or not self.top_tested(loop):
            return False
        if any(self.plan.taped(child) for child in _below(loop)):
            return False
        return not any(self._writes(b) for b in loop.blocks)

    def _writes(self, block: int) -> bool:
        from ...typing_.specialised import is_outlined

        return any(is_outlined(op) for op in self.ir.blocks[block].ops)

    # -- writing -------------------------------------------------------------------------------
    def _at_end(self, block: Block, layout: Layout, before_pack: bool = False) -> None:
        tail: list[Op] = []
        if before_pack:
            tail = [op for op in block.ops if op.is_call(prims.pack)]
            block.ops = [op for op in block.ops if not op.is_call(prims.pack)]
        if layout.nbytes:
            b = Builder(self.ir, block, block.term.loc)
            address = b.call(prims.record, self.tape, layout.nbytes, type=_intp())
            for v, at in zip(layout.values, layout.offsets):
                b.call(prims.poke, address, at, self.here(v, block, b))
        block.ops += tail

    def _columns(self, loop: Loop, layout: Layout) -> None:
        s = self.plan.structure
        c = self.plan.counted[loop]
        b = Builder(
            self.ir, self.ir.blocks[s.preheader(loop)], self.ir.blocks[loop.header].term.loc
        )
        trips = trip_count(b, c.start, c.stop, c.step)
        base = b.call(
            prims.record,
            self.tape,
            b.call(operator.mul, trips, layout.nbytes, type=_intp()),
            type=_intp(),
        )
        starts = column_starts(b, base, trips, layout)
        latch = self.ir.blocks[s.latch(loop)]
        b.at(latch)
        for v, start in zip(layout.values, starts):
            b.call(prims.poke, start, place(b, self.plan.counter[loop], v), self.here(v, latch, b))

    def here(self, v: Value, block: Block, b: Builder) -> Operand:
        """The value in ``block``: itself, or from a slot where it may not have been defined."""
        if self.plan.structure.tree.dominates(self.plan.structure.home[v], block.id):
            return v
        return b.get(self.slot(v))

    def slot(self, v: Value) -> Slot:
        """The slot that keeps ``v``: null at the entry, set at its definition."""
        if v not in self.keep:
            slot = self.keep[v] = Slot(f"keep{v.id}", v.type)
            home = self.ir.blocks[self.plan.structure.home[v]]
            put = Op(SLOTSET, self.ir.value(), (v,), slot)
            at = 0
            for i, op in enumerate(home.ops):
                if op.result is v:
                    at = i + 1
                    put.loc = op.loc
            home.ops.insert(at, put)
            null = self.ir.call(prims.null, v.type, type=v.type)
            self.ir.entry.ops[:0] = [null, Op(SLOTSET, self.ir.value(), (null.result,), slot)]
        return self.keep[v]


def _below(loop: Loop) -> list[Loop]:
    out: list[Loop] = []
    for child in loop.children:
        out += [child, *_below(child)]
    return out


def trip_count(b: Builder, start: Operand, stop: Operand, step: int) -> Operand:
    """max(0, ceil((stop - start) / step)) without a branch."""
    ends = (stop, start) if step != -1 else (start, stop)
    n = b.call(operator.sub, *ends, type=_intp())
    if abs(step) != 1:
        up = b.call(operator.add, n, step - 1 if step > 0 else step + 1, type=_intp())
        n = b.call(operator.floordiv, up, step, type=_intp())
    return b.call(prims.select, b.call(operator.gt, n, 0), n, 0, type=_intp())


def column_starts(b: Builder, base: Operand, trips: Operand, layout: Layout) -> list[Operand]:
    starts: list[Operand] = []
    for at in layout.offsets:
        if at == 0:
            starts.append(base)
        else:
            room = b.call(operator.mul, trips, at, type=_intp())
            starts.append(b.call(operator.add, base, room, type=_intp()))
    return starts


def place(b: Builder, trip: Operand, v: Value) -> Operand:
    """Where in its column a value is in the given trip."""
    return b.call(operator.mul, trip, width(v), type=_intp())


def _intp():
    from numba import types

    return types.intp
