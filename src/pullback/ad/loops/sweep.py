"""One sweep instead of two: the reverse of a loop runs in the loop itself.

The loss of many programs is a sum over elements that have nothing to do with each other. The
cotangent of the sum is known beforehand, so each iteration of the forward loop may be followed by
its own reverse at once: what the reverse needs is still in registers, and nothing goes to the tape.

Sound if the reverse loop needs nothing that comes out of the forward loop but what iteration ``i``
left for its own reverse; if neither the forward loop nor anything between the two touches the
shadows that the reverse loop adds to; and if its iterations are independent but for sums, which are
only reordered.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from numba import types

from ...ir.core import CALL, CUT, IR, Block, Const, Edge, Jump, Op, Operand, Raise, Value
from ...ir.dominators import dominators, postdominators
from ...ir.edit import use_counts
from ...ir.loops import loop_forest, preheader
from ...passes import effects
from ...passes.roots import Roots
from ...passes.simplify_cfg import simplify_cfg
from ...runtime import prims
from ..kinds import is_array, type_of
from .forwarding import forward_stores
from .line import Line, line_of, reversed_loops

TAPE_OPS = (prims.record, prims.unrecord)
MADE = effects.ALLOC
MEMORY = effects.READ | effects.WRITE


def one_sweep(ir: IR) -> bool:
    """Merge what can be merged; whether anything was."""
    changed = False
    while _merge_once(ir):
        simplify_cfg(ir)
        changed = True
    if changed:
        forward_stores(ir)
    return changed


def _merge_once(ir: IR) -> bool:
    if not any(op.kind == CUT for op in ir.ops()):
        return False
    roots, backward = Roots(ir), [x for x in reversed_loops(ir) if x.parent is None]
    behind = [r for loop in backward if (r := line_of(ir, loop, roots)) is not None]
    if not behind:
        return False
    headers = {loop.header for loop in backward}
    for loop in loop_forest(ir):
        if loop.parent is None and loop.header not in headers:
            line = line_of(ir, loop, roots)
            for r in behind if line is not None else ():
                sweep = Sweep(ir, roots, line, r)  # type: ignore[arg-type]
                if sweep.allowed():
                    sweep.merge()
                    return True
    return False


class Cell(NamedTuple):
    """A place on the tape, relative to the record of a loop: in multiples of the loop's trips, and
    of the iteration."""

    base: int
    offset: int


@dataclass
class Sweep:
    """A loop, and a reversed loop that may be its reverse."""

    ir: IR
    roots: Roots
    there: Line
    back: Line
    peeks: dict[Op, Op] = field(default_factory=dict)  # with the poke of the same cell
    hoisted: list[Op] = field(default_factory=list)
    sums: dict[Value, Op] = field(default_factory=dict)  # carried by the reverse, and what adds
    addresses: list[Op] = field(default_factory=list)  # of the record

    def allowed(self) -> bool:
        return (
            self._mirrored()
            and self._same_cells()
            and self._independent()
            and self._in_line()
            and self._known_before()
        )

    # -- the same iterations -------------------------------------------------------------------
    def _mirrored(self) -> bool:
        """Whether the reverse counts down from the trips of the loop."""
        a, b = self.there.c, self.back.c
        if a.step != 1 or a.start != Const(0) or b.step != -1 or b.stop != Const(0):
            return False
        trips = {v for v, at in self.there.beside.items() if at == (Const(0), 1)} | {a.var}
        return b.start in trips and not self.back.beside and self._sums_alone()

    def _sums_alone(self) -> bool:
        """Whether all else that the reverse carries along is added to, and not looked at."""
        self.uses, c = use_counts(self.ir), self.back.c
        inside = [op for op in self.back.ops]
        again = self.ir.blocks[c.latch].edges[0].args
        for p, x in zip(self.back.header.params, again):
            if p is c.var:
                continue
            op = self.back.definition.get(x)  # type: ignore[arg-type]
            alone = sum(p in o.args for o in inside) == 1 and p not in again
            if op is None or not op.is_call(operator.add) or p not in op.args[1:]:
                return False
            if not alone or op.args[1] is op.args[2] or self.uses[op.result] != 1:
                return False
            self.sums[p] = op
        return True

    # -- the tape ------------------------------------------------------------------------------
    def _same_cells(self) -> bool:
        """Whether all that the reverse takes from the tape, and all of the record it takes it from,
        is what the loop put there. A record of as many parts as the loop has trips is the loop's
        own."""
        trips = self.back.c.start
        pokes: dict[Cell, Op] = {}
        self.record = self.unrecord = None
        for op in self.there.ops:
            if op.is_call(prims.poke):
                found = self._cell(self.there, op, prims.record)
                if found is None or found[1] in pokes:
                    return False
                self.record, pokes[found[1]] = found[0], op
        for op in self.back.ops:
            if op.is_call(prims.peek):
                found = self._cell(self.back, op, prims.unrecord)
                if found is None or found[1] not in pokes:
                    return False
                if not self._sized(found[0], trips):
                    return False
                self.unrecord, self.peeks[op] = found[0], pokes[found[1]]
        return (self.record is None) == (self.unrecord is None) and self._nobody_else()

    def _cell(self, line: Line, op: Op, maker: object) -> tuple[Op, Cell] | None:
        base, factor = line.anywhere.get(op.args[1]), 0  # type: ignore[arg-type]
        if base is not None and base.is_call(operator.add):
            shift = line.anywhere.get(base.args[2])  # type: ignore[arg-type]
            if shift is None or not shift.is_call(operator.mul):
                return None
            if not isinstance(shift.args[2], Const):
                return None
            base, factor = line.anywhere.get(base.args[1]), shift.args[2].value  # type: ignore[arg-type]
        known = self.record if maker is prims.record else self.unrecord
        form = line.linear(op.args[2])
        if base is None or not base.is_call(maker) or (known is not None and base is not known):
            return None
        if form is None or set(form.terms) != {line.c.var}:
            return None
        scale = form.terms[line.c.var]
        here = 0 if line is self.there else -scale  # the reverse of iteration i counts i + 1
        return (base, Cell(factor, scale)) if form.constant == here else None

    def _sized(self, unrecord: Op, trips: Operand) -> bool:
        size = self.back.anywhere.get(unrecord.args[2])  # type: ignore[arg-type]
        return size is not None and size.is_call(operator.mul) and size.args[1] is trips

    def _nobody_else(self) -> bool:
        """Whether the record is of use to these two loops alone, and neither address is shifted by
        anything but multiples of the trips."""
        mine = {
            op for op in (*self.there.ops, *self.back.ops) if op.is_call(prims.poke, prims.peek)
        }
        for made in (self.record, self.unrecord):
            if made is None:
                continue
            addresses = {made.result}
            for op in self.ir.ops():
                if op is made or (op.is_call(operator.add) and op.args[1] is made.result):
                    self.addresses.append(op)
                    addresses.add(op.result)
            for b in self.ir:
                for op in b.ops:
                    used = not addresses.isdisjoint(op.args)
                    if used and op not in mine and op.result not in addresses:
                        return False
                if any(x in addresses for e in b.edges for x in e.args):
                    return False
        return True

    # -- memory --------------------------------------------------------------------------------
    def _independent(self) -> bool:
        """Whether the loop stores nothing, does not read what the reverse writes, and no iteration
        of the reverse meets memory that another one writes."""
        if any(op.is_call(prims.store) for op in self.there.ops):
            return False
        self.written = self._of(op for op in self.back.ops if op.is_call(prims.store))
        self.read = self._of(op for op in self.back.ops if op.is_call(prims.load))
        if self.written & self._of(op for op in self.there.ops if op.is_call(prims.load)):
            return False
        places: dict[object, set[tuple[Operand, ...]]] = {}
        for op in self.back.ops:
            if op.is_call(prims.load, prims.store) and self.roots[op.args[1]] & self.written:
                idx = op.args[2:] if op.is_call(prims.load) else op.args[3:]
                for r in self.roots[op.args[1]]:
                    places.setdefault(r, set()).add((op.args[1], *idx))
        return all(self._one_each(p) for p in places.values())

    def _one_each(self, places: set[tuple[Operand, ...]]) -> bool:
        """Whether each iteration has an element of its own."""
        if len({p[0] for p in places}) != 1 or not self.back.fixed(next(iter(places))[0]):
            return False
        forms = {
            tuple(f.key() if (f := self.back.linear(x)) else None for x in p[1:]) for p in places
        }
        moving = [f for x in next(iter(places))[1:] if (f := self.back.linear(x)) is not None]
        return len(forms) == 1 and any(self.back.c.var in f.terms for f in moving)

    def _of(self, ops: Iterable[Op]) -> frozenset[Value]:
        return frozenset().union(*(self.roots[op.args[1]] for op in ops))

    # -- what stands between -------------------------------------------------------------------
    def _in_line(self) -> bool:
        """Whether the reverse follows the loop for certain, and nothing between the two has to do
        with what it writes, or writes what it reads."""
        a, b = self.there.c.header, self.back.c.header
        if not dominators(self.ir).dominates(a, b) or not postdominators(self.ir).dominates(b, a):
            return False
        for block in self._between():
            if isinstance(block.term, Raise):
                return False
            for op in block.ops:
                if op.kind == CUT or op.is_call(*TAPE_OPS, prims.dim):
                    continue
                does = effects.effects(op)
                if does & effects.RAISE and does & ~effects.RAISE:
                    return False
                arrays = [x for x in op.args if is_array(type_of(x))]
                touched = frozenset().union(*(self.roots[x] for x in arrays))
                if does & effects.OTHER:
                    return False
                met = touched & self.written if does & MEMORY else frozenset()
                if met and not self._added(block, met):
                    return False
                if does & effects.WRITE and touched & (self.read - self.written):
                    return False
        return True

    def _added(self, block: Block, shared: frozenset[Value]) -> bool:
        """Whether the block only adds to these, as the reverse does: sums in another order."""
        return all(
            only_adds(ops, self.roots, shared, self.uses) for ops in (block.ops, self.back.ops)
        )

    def _between(self) -> Iterator[Block]:
        mine = self.there.c.loop.blocks | self.back.c.loop.blocks
        seen, waiting = set(mine), [self.there.c.exit.target]
        while waiting:
            b = waiting.pop()
            if b not in seen:
                seen.add(b)
                yield self.ir.blocks[b]
                waiting += self.ir.blocks[b].successors

    def _known_before(self) -> bool:
        """Whether all that the reverse needs from outside can be had before the loop."""
        tree, ahead = dominators(self.ir), preheader(self.ir, self.there.c.loop)
        if ahead is None:
            return False
        self.ahead = ahead
        home = {p: b.id for b in self.ir for p in b.params}
        home.update({op.result: b.id for b in self.ir for op in b.ops})
        self.home = home
        entries = [e for _, e in self.back.c.loop.entries]
        if len(entries) != 1:
            return False
        position = self.back.header.params.index(self.back.c.var)
        self.starts = [x for k, x in enumerate(entries[0].args) if k != position]
        wanted = [x for op in self.back.ops if op not in self.peeks for x in op.args] + self.starts
        own = set(self.back.header.params) | set(self.back.definition)
        done: set[Operand] = set()

        def have(x: Operand) -> bool:
            if not isinstance(x, Value) or x in own or x in done:
                return True
            if home[x] not in self.there.c.loop.blocks and tree.dominates(home[x], ahead.id):
                return True
            op = self.there.anywhere.get(x)
            if op is None or home[x] in self.there.c.loop.blocks or op.kind != CALL:
                return False
            if effects.effects(op) & ~MADE or not all(map(have, op.args)):
                return False
            done.add(x)
            self.hoisted.append(op)
            return True

        return all(map(have, wanted))

    # -- merging -------------------------------------------------------------------------------
    def merge(self) -> None:
        ir, a, b = self.ir, self.there.c, self.back.c
        gone = {*self.hoisted, *self.addresses}
        for block in ir:
            block.ops = [op for op in block.ops if op not in gone]
        self.ahead.ops += self.hoisted
        taken = {peek.result: poke.args[3] for peek, poke in self.peeks.items()}
        body, gone_body = ir.blocks[a.latch], ir.blocks[b.latch]
        body.ops = [op for op in body.ops if not op.is_call(prims.poke)]
        body.ops += [op for op in gone_body.ops if op not in self.peeks]
        carried = [p for p in self.back.header.params if p is not b.var]
        self._carry(carried)
        (entry,) = (e for _, e in b.loop.entries)
        entry.args = ()
        header = ir.blocks[b.header]
        header.params, header.ops = [], []
        header.term = Jump(Edge(b.exit.target, b.exit.args), header.term.loc)
        del ir.blocks[gone_body.id]
        ir.substitute({**taken, b.var: a.next})

    def _carry(self, carried: list[Value]) -> None:
        """The sums of the reverse go round with the loop."""
        ir, a = self.ir, self.there.c
        self.there.header.params += carried
        for _, e in a.loop.entries:
            e.args = (*e.args, *self.starts)
        (back,) = ir.blocks[a.latch].edges
        back.args = (*back.args, *(self.sums[p].result for p in carried))
        for op in self.sums.values():
            if isinstance(op.result.type, types.Float):
                op.args = (Const(prims.plus), *op.args[1:])


def only_adds(
    ops: list[Op], roots: Roots, shared: frozenset[Value], uses: dict[Value, int]
) -> bool:
    """Whether the operations of a block meet the roots in ``x[i] += v`` alone."""
    defined = {op.result: op for op in ops}
    loads = set()
    for op in ops:
        if op.is_call(prims.store) and roots[op.args[1]] & shared:
            add = defined.get(op.args[2])  # type: ignore[arg-type]
            if add is None or not add.is_call(operator.add) or uses[add.result] != 1:
                return False
            old = [
                load
                for x in add.args[1:]
                if (load := defined.get(x)) is not None  # type: ignore[arg-type]
                and load.is_call(prims.load)
                and load.args[1:] == (op.args[1], *op.args[3:])
                and uses[load.result] == 1
            ]
            if len(old) != 1:
                return False
            loads.add(old[0])
        elif op.is_call(prims.load):
            continue
        elif not op.is_call(prims.store) and op.kind == CALL:
            arrays = [x for x in op.args if is_array(type_of(x))]
            if any(roots[x] & shared for x in arrays) and not op.is_call(prims.dim):
                return False
    met = {op for op in ops if op.is_call(prims.load) and roots[op.args[1]] & shared}
    return met <= loads
