"""Choose which stores save the element that they overwrite."""

from __future__ import annotations

from collections.abc import Collection

from ..ir.core import IR, Op
from ..runtime import prims
from .adjoint import Primal, needs
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
    must = forced_saves(ir, primal, roots, s)
    best, cost = must, _cost(ir, primal, roots, s, split, must)
    for root in sorted(_written_roots(ir, roots), key=lambda r: r.id):
        stores = [op for op in all_stores(ir, s) if root in roots[op.args[1]]]
        trial, kept = _pruned(ir, primal, roots, s, split, {*best, *stores}, must)
        if kept < cost:
            best, cost = trial, kept
    return best


def _written_roots(ir: IR, roots: Roots) -> set[Root]:
    return {r for op in ir.ops() if op.is_call(prims.store) for r in roots[op.args[1]]}


def _pruned(
    ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool, saves: set[Op], must: set[Op]
) -> tuple[set[Op], float]:
    """Of the saves those that some evaluated load asks for, and the cost of the plan with them."""
    chooser = _trial(ir, primal, roots, s, split, saves)
    again = [
        chooser.definition[v]
        for v, source in chooser.sources.items()
        if source is Source.AGAIN and chooser.definition[v].is_call(prims.load)
    ]
    kept = {
        op
        for op, _ in chooser.stores
        if op in saves
        and any(
            roots[load.args[1]] & roots[op.args[1]]
            and chooser.shows(load, op, chooser.points[load.result])
            for load in again
        )
    }
    kept |= must
    return kept, _cost(ir, primal, roots, s, split, kept)


def _trial(
    ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool, saves: Collection[Op]
) -> Chooser:
    """What would be chosen with these saves; nothing is changed."""
    primal.saved = dict.fromkeys(saves)
    plan = Plan(s, primal, split, "full")
    count_loops(ir, plan)
    return Chooser(ir, plan, roots, trial=True)


def _cost(
    ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool, saves: Collection[Op]
) -> float:
    chooser = _trial(ir, primal, roots, s, split, saves)
    taped = sum(chooser.taped(v) for v, how in chooser.sources.items() if how is Source.TAPE)
    return taped + sum(8 * weight(s, s.home[op.result]) for op in saves)


def forced_saves(ir: IR, primal: Primal, roots: Roots, s: Structure) -> set[Op]:
    """The stores that may change an array between an operation that reads it whole and the end."""
    reads = [
        (roots[x], Point(b.id, i))
        for b in ir
        if b.id in s.returning
        for i, op in enumerate(b.ops)
        for x in needs(op, primal).contents
    ]
    return {
        op
        for b in ir
        if b.id in s.returning
        for i, op in enumerate(b.ops)
        if op.is_call(prims.store)
        for read, point in reads
        if read & roots[op.args[1]] and reaches(s, point, Point(b.id, i), None)
    }


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
