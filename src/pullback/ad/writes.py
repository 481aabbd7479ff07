"""Which memory an operation writes to, and whether what is differentiated in place keeps to its
own.

Forward mode in place (`tags`) runs a function once for each element, on copies of its arguments.
What the function captured is not copied: writes to it would be seen by the next run.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import NoDerivativeError
from ..ir.core import IR, Op, Value
from ..passes.roots import Root, Roots
from ..runtime import prims
from ..typing_.specialised import Specialised, is_outlined
from .kinds import is_array

IN_PLACE = (prims.store, prims.assign, prims.accumulate, prims.product, prims.add_product)
Params = dict[Specialised, frozenset[int]]


def written_roots(ir: IR, roots: Roots) -> dict[Op, frozenset[Root]]:
    """For each operation that writes to arrays, their roots."""
    found = {op: roots[op.args[1]] for op in ir.ops() if op.is_call(*IN_PLACE)}
    calls = [op for op in ir.ops() if is_outlined(op)]
    params = _written_params(calls) if calls else {}
    for op in calls:
        found[op] = _at(op, roots, params)
    return found


def _at(op: Op, roots: Roots, params: Params) -> frozenset[Root]:
    return frozenset().union(*(roots[op.posargs[i]] for i in params[op.callee]))


def _written_params(calls: list[Op]) -> Params:
    """For all callees, and theirs, the positions of the parameters that they write to."""
    irs: dict[Specialised, IR] = {}
    waiting = [op.callee for op in calls]
    while waiting:
        callee = waiting.pop()
        if callee not in irs:
            irs[callee] = callee.flat.ir
            waiting += [op.callee for op in callee.flat.ir.ops() if is_outlined(op)]
    roots = {c: Roots(ir) for c, ir in irs.items()}
    params: Params = {c: frozenset() for c in irs}
    changed = True
    while changed:
        changed = False
        for c, ir in irs.items():
            hit: set[Root] = set()
            for op in ir.ops():
                if op.is_call(*IN_PLACE):
                    hit |= roots[c][op.args[1]]
                elif is_outlined(op):
                    hit |= _at(op, roots[c], params)
            found = frozenset(i for i, a in enumerate(ir.args) if a in hit)
            if found != params[c]:
                params[c], changed = found, True
    return params


def check_confined(ir: IR, start: Op, ends: tuple[object, ...]) -> None:
    """NoDerivativeError if what runs after ``start``, up to calls of ``ends`` for its result,
    writes to memory that was there before."""
    inside = list(_extent(ir, start, ends))
    own = {op.result for op in inside}
    written = written_roots(ir, Roots(ir))
    for op in inside:
        foreign = written.get(op, frozenset()) - own
        if foreign:
            raise NoDerivativeError(
                "a function that is differentiated inside a compiled function writes to an array "
                "that it did not make",
                loc=op.loc,
                variable=_name(op, foreign),
                hint="Pass the array as an argument, or write to a copy of it.",
            )


def _name(op: Op, foreign: frozenset[Root]) -> str | None:
    names = [r.name for r in foreign if r.name]
    written = op.posargs[0] if op.posargs else None
    if isinstance(written, Value) and is_array(written.type) and written.name:
        return written.name
    return names[0] if names else None


def _extent(ir: IR, start: Op, ends: tuple[object, ...]) -> Iterator[Op]:
    """The operations that may run after ``start`` and before ``end(start.result, ..)``."""
    block = next(b for b in ir if start in b.ops)
    waiting, seen = [(block, block.ops.index(start) + 1)], set()
    while waiting:
        block, first = waiting.pop()
        for op in block.ops[first:]:
            if op.is_call(*ends) and op.args[1] is start.result:
                break
            yield op
        else:
            for edge in block.edges:
                if edge.target not in seen:
                    seen.add(edge.target)
                    waiting.append((ir.blocks[edge.target], 0))
