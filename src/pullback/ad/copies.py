"""Copies that stand where NumPy has a view, and when that may be seen.

A body that copies what NumPy only looks at (``diagonal``, ``broadcast_to``, ``reshape`` of a
strided array) ends in ``instead_of_view(copy, base)``. As long as nobody writes to either, the copy
is as good as the view. `settle` refuses functions that write to one and read the other afterwards,
and takes the marks away.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import CopiedView
from ..ir.core import IR, Block, Loc, Op, Operand, Value
from ..passes.roots import Root, Roots, is_view
from ..runtime import prims
from ..typing_ import Flat
from .writes import written_roots

Place = tuple[Block, int]


class Mark(NamedTuple):
    """Where a copy was made: before position ``at`` of ``block``."""

    copy: Operand
    base: Operand
    block: Block
    at: int
    loc: Loc


def settle(flat: Flat) -> None:
    """Check a flat function and those that it calls, and take the marks away. CopiedView if the
    difference from NumPy may be seen."""
    for part in (flat, *(s.flat for s in flat.specialised)):
        marks = drop_marks(part.ir)
        if marks:
            _check(part.ir, marks)
            if part is not flat:
                _stays_inside(part.ir, marks)


def drop_marks(ir: IR) -> list[Mark]:
    """Let each copy stand for itself; returns where they were made."""
    marks: list[Mark] = []
    gone: dict[Value, Operand] = {}
    for b in ir:
        kept: list[Op] = []
        for op in b.ops:
            if op.is_call(prims.instead_of_view):
                gone[op.result] = op.args[1]
                marks.append(Mark(op.args[1], op.args[2], b, len(kept), op.loc))
            else:
                kept.append(op)
        b.ops = kept
    ir.substitute(gone)
    return [m._replace(copy=_now(m.copy, gone), base=_now(m.base, gone)) for m in marks]


def _now(x: Operand, gone: dict[Value, Operand]) -> Operand:
    while isinstance(x, Value) and x in gone:
        x = gone[x]
    return x


def _check(ir: IR, marks: list[Mark]) -> None:
    roots = Roots(ir)
    written = written_roots(ir, roots)
    given = set(roots.args)
    made = {op.result: (b, k) for b in ir for k, op in enumerate(b.ops)}
    for m in marks:
        copy, base = roots[m.copy], roots[m.base]
        anew = made.get(next(iter(copy))) if len(copy) == 1 else None
        for block, at, op in _after(ir, m.block, m.at, anew):
            hit = written.get(op, frozenset())
            if hit & base and _read(ir, roots, copy, block, at, anew):
                raise _seen(m, op, "what it was made of")
            if hit & copy and (base & given or _read(ir, roots, base, block, at)):
                raise _seen(m, op, "it")


def _stays_inside(ir: IR, marks: list[Mark]) -> None:
    """A function that stays a call may not hand such a copy to its caller, who may write."""
    roots = Roots(ir)
    results = (x for b in ir for op in b.ops if op.is_call(prims.pack) for x in op.args[1:])
    returned = {r for x in results for r in roots[x]}
    for m in marks:
        if roots[m.copy] & returned:
            raise CopiedView(
                f"{ir.info.name} stays a call, and returns a copy of what would be a view in NumPy",
                loc=m.loc,
                hint="Say .copy() if a copy is meant.",
            )


def _seen(m: Mark, write: Op, what: str) -> CopiedView:
    return CopiedView(
        f"compiled code has a copy where NumPy has a view, and {what} is written to afterwards, in "
        f"line {write.loc.line}",
        loc=m.loc,
        hint="Say .copy() if a copy is meant; else index the array itself, or make it contiguous.",
    )


def _read(
    ir: IR, roots: Roots, wanted: frozenset[Root], block: Block, at: int, until: Place | None = None
) -> bool:
    """Whether memory of the roots may be read after a place, before ``until``."""
    return any(_reads(op, roots, wanted) for _, _, op in _after(ir, block, at + 1, until))


def _reads(op: Op, roots: Roots, wanted: frozenset[Root]) -> bool:
    if is_view(op) or op.is_call(prims.dim):
        return False
    operands = op.args[2:] if op.is_call(prims.store) else op.args[1:]
    return any(roots[x] & wanted for x in operands)


def _after(
    ir: IR, block: Block, at: int, until: Place | None = None
) -> Iterator[tuple[Block, int, Op]]:
    """The operations that may run after a place, on ways that do not pass ``until``: there the copy
    is made anew."""
    waiting, seen = [(block, at)], set()
    while waiting:
        b, start = waiting.pop()
        stops = until is not None and b is until[0] and start <= until[1]
        end = until[1] if stops and until is not None else len(b.ops)
        for k in range(start, end):
            yield b, k, b.ops[k]
        if not stops:
            for t in b.successors:
                if t not in seen:
                    seen.add(t)
                    waiting.append((ir.blocks[t], 0))
