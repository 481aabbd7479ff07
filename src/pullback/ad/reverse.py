"""Write the reverse half: each block reversed, edges reversed.

A cotangent is a slot, or a plain value where definition and uses are in one block. At a value's
reversed definition its cotangent is read and set to zero, the adjoint of the operation is written,
which adds to the operands' cotangents. A loop is reversed by a loop that counts down; its
*dispatch* block takes the iteration's record from the tape and goes on to where the iteration
ended: the latch, or the edge by which the loop was left.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from numba import types

from ..ir.builder import Builder
from ..ir.core import CALL, IR, Block, Const, Op, Operand, Slot, Undef, Value
from ..ir.loops import Loop
from ..passes.roots import Roots, label
from ..runtime import prims
from . import adjoint, kinds
from .kinds import is_scalar
from .planning.plan import Plan, Source
from .planning.records import Records, column_starts, place, trip_count

LATCH = 0


class Reverse:
    """The reverse half of ``ir``, written into ``out`` (the same function in combined mode).

    ``given`` maps what a split reverse half is handed over (array arguments and their shadows);
    ``seeded`` are the results, whose cotangents come from outside. ``roots`` are those of a forward
    half whose arrays have the same roots in the reverse half: its arguments do not overlap."""

    def __init__(
        self,
        ir: IR,
        out: IR,
        plan: Plan,
        records: Records,
        tape: Value,
        given: dict[Value, Value] | None = None,
        seeded: Iterable[Operand] = (),
        roots: Roots | None = None,
    ) -> None:
        self.ir, self.out, self.plan, self.records, self.tape = ir, out, plan, records, tape
        self.primal, self.s = plan.primal, plan.structure
        self.given = given or {}
        self.roots = roots
        self.blocks: dict[int, Block] = {}
        self.dispatch: dict[int, Block] = {}
        self.count: dict[int, Slot] = {}
        self.entry: dict[int, Slot] = {}
        self.ways: dict[int, list[int]] = {}  # loop header -> landings by which it may be left
        self.slots: dict[Value, Slot] = {}
        self.peeked: dict[Value, Value] = {}
        self.column: dict[tuple[int, int], Slot] = {}
        self.definition = {op.result: op for op in ir.ops()}
        self.local = self._block_local() - {v for v in seeded if isinstance(v, Value)}
        self.inductions = {c.var: loop for loop, c in plan.counted.items()}
        self.counters = {n: loop for loop, n in plan.counter.items()}
        self.formulas = {
            t: c for (_, h), t in plan.trips.items() for c in plan.counted.values() if c.header == h
        }
        self.first = out.block()
        self.b = Builder(out, self.first)
        self.last = out.block()
        self.sums: list[Value] = []  # additions to cotangents
        self._accumulated: dict[Value, Operand] = {}
        self._memo: dict[Value, Operand] = {}

    # -- what the adjoints use -----------------------------------------------------------------
    zero = staticmethod(kinds.zero)

    def take(self, v: Value) -> Operand | None:
        """The cotangent of ``v``, which is zero from here on; None if it is zero for certain."""
        if v in self.local:
            return self._accumulated.pop(v, None)
        slot = self.slot(v)
        d = self.b.get(slot)
        self.b.set(slot, Const(kinds.zero(v.type)))
        return d

    def add(self, v: Operand, d: Operand) -> None:
        """Add to the cotangent of ``v``."""
        if not isinstance(v, Value):
            return
        if v in self.local:
            old = self._accumulated.get(v)
            self._accumulated[v] = d if old is None else self._sum(old, d, v.type)
            return
        slot = self.slot(v)
        self.b.set(slot, self._sum(self.b.get(slot), d, v.type))

    def _sum(self, a: Operand, b: Operand, type: Any) -> Value:
        self.sums.append(self.b.call(operator.add, a, b, type=type))
        return self.sums[-1]

    def project(self, d: Operand, have: Any, want: Any) -> Operand:
        """A contribution as the type of what it belongs to: real part, cast."""
        if have == want:
            return d
        if isinstance(want, types.Float) and isinstance(have, types.Float):
            return self.b.call(prims.cast, want, d, type=want)
        if isinstance(want, types.Float):
            d = self.b.call(prims.real, d)
        return self.b.call(prims.cast, want, d, type=want)

    def slot(self, v: Value) -> Slot:
        if v not in self.slots:
            self.slots[v] = Slot(f"bar{v.id}", v.type)
        return self.slots[v]

    # -- needed values -------------------------------------------------------------------------
    def recover(self, v: Operand) -> Operand:
        """The value in the reverse half, by the source that the plan has for it."""
        if not isinstance(v, Value):
            return Const(kinds.zero(v.type)) if isinstance(v, Undef) else v
        if v not in self._memo:
            self._memo[v] = self._recover(v)
        return self._memo[v]

    def _recover(self, v: Value) -> Operand:
        if v in self.given:
            return self.given[v]
        source = self.plan.sources[v]
        if source is Source.LOCAL:
            exit = self.s.exit
            assert exit is not None
            if self.s.tree.dominates(self.s.home[v], exit):
                return v
            return self.b.get(self.records.slot(v))
        if source is Source.TAPE:
            return self.peeked[v]
        if source is Source.COUNT:
            return self._counted(v)
        op = self.definition[v]
        args = tuple(self.recover(a) for a in self.plan.operands(op))
        if op.is_call(prims.index):  # it was in range the first time
            return self.b.call(prims.wrap, *args[1:3], type=v.type)
        new = Op(op.kind, self.out.value(v.name, v.type), args, op.attr, self.b.loc)
        return self.b.append(new)

    def _counted(self, v: Value) -> Operand:
        if v in self.counters:
            return self.b.get(self.count[self.counters[v].header])
        if v in self.formulas and v not in self.inductions:
            c = self.formulas[v]
            return trip_count(self.b, self.recover(c.start), self.recover(c.stop), c.step)
        loop = self.inductions[v]
        c = self.plan.counted[loop]
        trip: Operand = self.b.get(self.count[loop.header])
        if c.step == -1:  # as a difference: that it is in range is then seen
            return self.b.call(operator.sub, self.recover(c.start), trip, type=v.type)
        if c.step != 1:
            trip = self.b.call(operator.mul, trip, c.step, type=v.type)
        if c.start == Const(0):
            return trip
        return self.b.call(operator.add, self.recover(c.start), trip, type=v.type)

    # -- the whole -----------------------------------------------------------------------------
    def write(self) -> None:
        """Fill the blocks. ``first`` is the beginning (still open: seeds go there, then
        ``start()``), ``last`` the end (still open: cotangents of the arguments are read there)."""
        s = self.s
        for b in s.order:
            if b in s.returning:
                self.blocks[b] = self.out.block()
        for loop in s.loops:
            if self.plan.is_effective(loop):
                self.count[loop.header] = Slot(f"count{loop.header}", types.intp)
                self.entry[loop.header] = Slot(f"entry{loop.header}", types.intp)
                self.dispatch[loop.header] = self.out.block()
                self.ways[loop.header] = [
                    z for z, (_, left) in s.landing.items() if loop in left and z in s.returning
                ]
        if self.plan.split:
            self._peek(None, self.first)
        for loop in s.loops:
            if self.plan.is_effective(loop):
                self._dispatch(loop)
        for b in reversed(s.order):
            if b in s.returning:
                self._block(self.ir.blocks[b])

    def start(self) -> None:
        """Close ``first``: cotangents are zero, the reverse of the exit block begins."""
        s = self.s
        assert s.exit is not None
        b = Builder(self.out, self.first)
        b.jump(self.blocks[s.exit])

    def zeros(self) -> list[Op]:
        """Operations that set all cotangents and counters to zero: before the seeds."""
        b = Builder(self.out, Block(-1))
        for v, slot in self.slots.items():
            b.set(slot, Const(kinds.zero(v.type)))
        for slot in (*self.count.values(), *self.entry.values(), *self.column.values()):
            b.set(slot, 0)
        return b.block.ops

    # -- a block -------------------------------------------------------------------------------
    def _block(self, forward: Block) -> None:
        self.b.at(self.blocks[forward.id])
        self.b.loc = forward.term.loc
        self._memo.clear()
        self._accumulated.clear()
        for op in forward.ops[::-1]:  # a copy: keeping a value for the reverse half adds operations
            adjoint.emit(op, self)
        self._leave(forward)

    def _leave(self, forward: Block) -> None:
        """Go on to the predecessor that was taken."""
        s, plan = self.s, self.plan
        if forward is self.ir.entry:
            self.b.jump(self.last)
            return
        if forward.id in plan.skipped:
            self.b.jump(self.blocks[plan.skipped[forward.id]])
            return
        bars = [(k, self.take(p)) for k, p in enumerate(forward.params) if self._flows(p)]
        loop = s.forest.innermost(forward.id)
        if loop is not None and loop.header == forward.id:
            self._header(forward, loop, bars)
            return
        preds = [p for p in s.preds[forward.id] if p in s.returning]
        if forward.id in s.landing:
            exiting, left = s.landing[forward.id]
            self._edge(exiting, forward, bars)
            self._enter_loops(forward.id, exiting, left)
            return
        if len(preds) == 1:
            self._edge(preds[0], forward, bars)
            self.b.jump(self.blocks[preds[0]])
            return
        which = self.recover(plan.which[forward.id])
        targets = []
        for i, p in enumerate(s.preds[forward.id]):
            if p in s.returning:
                targets.append((i, self._edge_block(p, forward, bars)))
        self._switch(which, targets)

    def _flows(self, p: Value) -> bool:
        return is_scalar(p.type) and self.primal.activity.active(p)

    def _edge(self, pred: int, forward: Block, bars: list[tuple[int, Operand | None]]) -> None:
        """Add the cotangents of the parameters to the arguments of the edge from ``pred``."""
        (edge,) = [e for e in self.ir.blocks[pred].edges if e.target == forward.id]
        for k, d in bars:
            arg = edge.args[k]
            if d is not None and self.primal.activity.active(arg):
                p = forward.params[k]
                self.add(arg, self.project(d, p.type, kinds.type_of(arg)))

    def _edge_block(
        self, pred: int, forward: Block, bars: list[tuple[int, Operand | None]]
    ) -> Block:
        here, block = self.b.block, self.out.block()
        self.b.at(block)
        self._edge(pred, forward, bars)
        self.b.jump(self.blocks[pred])
        self.b.at(here)
        return block

    def _switch(self, which: Operand, targets: list[tuple[int, Block]]) -> None:
        """Jump to the target whose number ``which`` is."""
        for i, target in targets[:-1]:
            rest = self.out.block()
            self.b.branch(self.b.call(operator.eq, which, i, type=types.boolean), target, rest)
            self.b.at(rest)
        self.b.jump(targets[-1][1])

    # -- loops ---------------------------------------------------------------------------------
    def _header(self, forward: Block, loop: Loop, bars: list[tuple[int, Operand | None]]) -> None:
        """The mirror of a header: another iteration if any is left, else leave."""
        s, b = self.s, self.b
        pre, latch = s.preheader(loop), s.latch(loop)
        if not self.plan.is_effective(loop):
            self._edge(pre, forward, bars)
            b.jump(self.blocks[pre])
            return
        slot = self.count[loop.header]
        n = b.get(slot)
        again, done = self.out.block(), self.out.block()
        b.branch(b.call(operator.gt, n, 0, type=types.boolean), again, done)
        b.at(again)
        b.set(slot, b.call(operator.sub, n, 1, type=types.intp))
        b.set(self.entry[loop.header], LATCH)
        self._edge(latch, forward, bars)
        b.jump(self.dispatch[loop.header])
        b.at(done)
        self._edge(pre, forward, bars)
        b.jump(self.blocks[pre])

    def _enter_loops(self, landing: int, exiting: int, left: list[Loop]) -> None:
        """From a landing into the reversed loops that were left there, outermost first."""
        outside_in = [loop for loop in reversed(left)]
        for loop in outside_in:
            if not self.plan.is_effective(loop):
                break
            self.b.set(self.count[loop.header], self.recover(self.plan.trips[landing, loop.header]))
            self.b.set(self.entry[loop.header], 1 + self.ways[loop.header].index(landing))
            layout = self.records.layouts.get(loop.header)
            if layout is not None and layout.columns:
                self._columns_back(loop, layout)
        self.b.jump(self._into(outside_in, exiting))

    def _into(self, chain: list[Loop], exiting: int) -> Block:
        """Where the reversal of the loops in ``chain`` (outermost first) begins."""
        if not chain:
            return self.blocks[exiting]
        loop = chain[0]
        if not self.plan.is_effective(loop):
            return self.blocks[self.s.preheader(loop)]
        if self.records.top_tested(loop):
            return self.blocks[loop.header]
        return self.dispatch[loop.header]

    def _dispatch(self, loop: Loop) -> None:
        """Take the iteration's record, then go to where the iteration ended."""
        s = self.s
        block = self.dispatch[loop.header]
        self._memo.clear()
        self._peek(loop, block)
        self.b.at(block)
        latch = self.blocks[s.latch(loop)]
        if self.records.top_tested(loop):
            self.b.jump(latch)
            return
        targets = [(LATCH, latch)]
        for i, z in enumerate(self.ways[loop.header]):
            exiting, left = s.landing[z]
            chain = [x for x in reversed(left)]
            inner = chain[chain.index(loop) + 1 :]
            targets.append((1 + i, self._into(inner, exiting)))
        self._switch(self.b.get(self.entry[loop.header]), targets)

    # -- records -------------------------------------------------------------------------------
    def _peek(self, loop: Loop | None, block: Block) -> None:
        layout = self.records.layouts.get(loop.header if loop else None)
        if layout is None or not layout.nbytes:
            return
        self.b.at(block)
        if layout.columns:
            assert loop is not None
            trip = self.b.get(self.count[loop.header])
            for k, v in enumerate(layout.values):
                start = self.b.get(self._column(loop, k))
                at = place(self.b, trip, v)
                self.peeked[v] = self._read(start, at, v)
            return
        address = self.b.call(prims.unrecord, self.tape, layout.nbytes, type=types.intp)
        for v, at in zip(layout.values, layout.offsets):
            self.peeked[v] = self._read(address, at, v)

    def _read(self, address: Operand, at: Operand | int, v: Value) -> Value:
        """What the forward half wrote down; of an array also which allocations it may be."""
        labels: tuple[Const, ...] = ()
        if self.roots is not None and self.roots[v]:
            positions = {x: self.out.args.index(y) for x, y in self.given.items()}
            labels = (Const(tuple(sorted(label(r, positions) for r in self.roots[v]))),)
        elif v in self.plan.copies.values():  # memory that nobody writes to any more
            labels = (Const((label(v, {}),)),)
        return self.b.call(prims.peek, address, at, v.type, *labels, type=v.type)

    def _columns_back(self, loop: Loop, layout: Any) -> None:
        b = self.b
        trips = b.get(self.count[loop.header])
        room = b.call(operator.mul, trips, layout.nbytes, type=types.intp)
        base = b.call(prims.unrecord, self.tape, room, type=types.intp)
        for k, start in enumerate(column_starts(b, base, trips, layout)):
            b.set(self._column(loop, k), start)

    def _column(self, loop: Loop, k: int) -> Slot:
        return self.column.setdefault(
            (loop.header, k), Slot(f"column{loop.header}_{k}", types.intp)
        )

    # -- which cotangents need no slot ---------------------------------------------------------
    def _block_local(self) -> set[Value]:
        """Active values whose definition and uses are operations of one block."""
        home: dict[Value, int] = {}
        for b in self.ir:
            for op in b.ops:
                if op.kind == CALL:
                    home[op.result] = b.id
        for b in self.ir:
            for op in b.ops:
                for a in op.args:
                    if isinstance(a, Value) and home.get(a) != b.id:
                        home.pop(a, None)
            for edge in b.edges:
                for a in edge.args:
                    home.pop(a, None)  # type: ignore[arg-type]
            for a in b.term.operands:
                home.pop(a, None)  # type: ignore[arg-type]
        return set(home)
