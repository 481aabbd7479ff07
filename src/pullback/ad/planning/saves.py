"""Save the elements that stores overwrite; which ones must be, whatever the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...errors import NoDerivativeError
from ...ir.core import CALL, IR, Op
from ...passes.roots import Root, Roots
from ...runtime import prims
from ..adjoint import Primal, needs
from ..kinds import is_array, type_of
from ..structure import Structure

Point = tuple[int, int]  # block, and position in it


def reaches(s: Structure, a: Point, b: Point) -> bool:
    """Whether ``b`` may run after ``a``."""
    return (a[0] == b[0] and a[1] < b[1]) or b[0] in s.reach(a[0], None)


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
        if read & roots[op.args[1]] and reaches(s, point, (b.id, i))
    }


def _whole_reads(
    ir: IR, primal: Primal, roots: Roots, s: Structure
) -> Iterator[tuple[frozenset[Root], Point]]:
    """The roots whose elements the reverse of an operation reads, and where the operation is."""
    for b in ir:
        if b.id in s.returning:
            for i, op in enumerate(b.ops):
                if op.is_call(prims.load, prims.store) or not _has_arrays(op):
                    continue
                for x in needs(op, primal).contents:
                    yield roots[x], (b.id, i)


def _has_arrays(op: Op) -> bool:
    return op.kind == CALL and any(is_array(type_of(x)) for x in op.args)


def check_calls(ir: IR, primal: Primal, roots: Roots, s: Structure) -> None:
    """NoDerivativeError if a call that is not reversed may write to what was read as a whole before
    and is read again in reverse."""
    calls = [
        (op, hit, (b.id, i))
        for b in ir
        if b.id in s.returning
        for i, op in enumerate(b.ops)
        if (hit := primal.writes.get(op)) and not primal.puts_back(op, hit)
    ]
    for read, point in _whole_reads(ir, primal, roots, s) if calls else ():
        for op, hit, at in calls:
            if read & hit and reaches(s, point, at):
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
