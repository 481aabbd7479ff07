"""Choose which stores save the element that they overwrite."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..errors import NoDerivativeError
from ..ir.core import IR, Op
from ..runtime import prims
from .adjoint import Primal, needs
from .dependence import Dependence
from .kinds import type_of
from .plan import Plan, Point, Source, count_loops, reaches, weight
from .roots import Root, Roots
from .sources import Chooser
from .structure import Structure


def choose_saves(ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool) -> Collection[Op]:
    """The stores to save: those that reads of the reverse half would miss.

    Arrays read as a whole (by a matrix product, say) leave no choice. For the others, root by root:
    either its loads are taped, or they are evaluated again, which asks for saves. Whichever
    handles fewer values is taken, weighted by how deep in loops they are."""
    return Trials(ir, primal, roots, s, split).best()


class Trials:
    """Plans tried with one set of saves or another; nothing is changed."""

    def __init__(self, ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool) -> None:
        self.ir, self.primal, self.roots, self.s = ir, primal, roots, s
        self.plan = Plan(s, primal, split, "full")
        count_loops(ir, self.plan)
        self.dependence = Dependence(ir, s, roots, self.plan.counted)
        self.must = forced_saves(ir, primal, roots, s)

    def best(self) -> Collection[Op]:
        best = self.must
        _, cost = self.tried(best)
        for root in sorted(self._written_roots(), key=lambda r: r.id):
            stores = {op for op in all_stores(self.ir, self.s) if root in self.roots[op.args[1]]}
            if stores <= best:
                continue
            chooser, _ = self.tried({*best, *stores})
            trial = self.asked_for(chooser, {*best, *stores})
            _, kept = self.tried(trial)
            if kept < cost:
                best, cost = trial, kept
        return best

    def tried(self, saves: Collection[Op]) -> tuple[Chooser, float]:
        """What would be chosen with these saves, and what it would cost."""
        self.primal.saved = dict.fromkeys(saves)
        chooser = Chooser(self.ir, self.plan, self.roots, self.dependence)
        taped = sum(chooser.taped(v) for v, how in chooser.sources.items() if how is Source.TAPE)
        return chooser, taped + sum(8 * weight(self.s, self.s.home[op.result]) for op in saves)

    def asked_for(self, chooser: Chooser, saves: set[Op]) -> set[Op]:
        """Of the saves those that some load which is evaluated again asks for."""
        again = [
            chooser.definition[v]
            for v, source in chooser.sources.items()
            if source is Source.AGAIN and chooser.definition[v].is_call(prims.load)
        ]
        roots = self.roots
        return self.must | {
            op
            for op, _ in chooser.stores
            if op in saves
            and any(
                roots[load.args[1]] & roots[op.args[1]]
                and chooser.shows(load, op, chooser.points[load.result])
                for load in again
            )
        }

    def _written_roots(self) -> set[Root]:
        written = (op.args[1] for op in self.ir.ops() if op.is_call(prims.store))
        return {r for x in written for r in self.roots[x]}


def forced_saves(ir: IR, primal: Primal, roots: Roots, s: Structure) -> set[Op]:
    """The stores that may change an array between an operation that reads it whole and the end."""
    reads = list(_whole_reads(ir, primal, roots, s))
    return {
        op
        for b in ir
        if b.id in s.returning
        for i, op in enumerate(b.ops)
        if op.is_call(prims.store)
        for read, point in reads
        if read & roots[op.args[1]] and reaches(s, point, Point(b.id, i), None)
    }


def _whole_reads(
    ir: IR, primal: Primal, roots: Roots, s: Structure
) -> Iterator[tuple[frozenset[Root], Point]]:
    """The roots whose elements the reverse of an operation reads, and where the operation is."""
    for b in ir:
        if b.id in s.returning:
            for i, op in enumerate(b.ops):
                for x in needs(op, primal).contents:
                    yield roots[x], Point(b.id, i)


def check_calls(ir: IR, primal: Primal, roots: Roots, s: Structure) -> None:
    """NoDerivativeError if a call that is not reversed may write to what was read as a whole before
    and is read again in reverse."""
    calls = [
        (op, hit, Point(b.id, i))
        for b in ir
        if b.id in s.returning
        for i, op in enumerate(b.ops)
        if (hit := primal.writes.get(op)) and not primal.puts_back(op, hit)
    ]
    for read, point in _whole_reads(ir, primal, roots, s) if calls else ():
        for op, hit, at in calls:
            if read & hit and reaches(s, point, at, None):
                raise NoDerivativeError(
                    f"{op.callee.__name__}() overwrites an array whose elements the derivative of "
                    "an earlier operation needs",
                    loc=op.loc,
                    hint="Let it write to a copy of the array.",
                )


def all_stores(ir: IR, structure: Structure) -> list[Op]:
    return [
        op for b in ir if b.id in structure.returning for op in b.ops if op.is_call(prims.store)
    ]


def save(ir: IR, primal: Primal, stores: Collection[Op]) -> None:
    """Before each of the stores, load the element that it overwrites."""
    primal.saved.clear()
    stores = set(stores)
    for b in ir:
        if not any(op in stores for op in b.ops):
            continue
        ops: list[Op] = []
        for op in b.ops:
            if op in stores and op not in primal.saved:
                x, _, *idx = op.args[1:]
                element = type_of(x).dtype
                old = ir.call(prims.load, x, *idx, name="old", type=element, loc=op.loc)
                primal.saved[op] = old.result
                ops.append(old)
            ops.append(op)
        b.ops = ops
