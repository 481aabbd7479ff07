"""One array for all iterations, where each iteration makes its own and none outlives it.

Memory of the function that is differentiated lives until the call ends, with a shadow beside it: a
loop that makes arrays would use more of it with each trip, whether what is in them is needed again
or not. An array that is made in front of the loop instead is like any other that is overwritten:
what the reverse half needs of it is saved, element by element, and nothing else is kept.

Sound if no value that may be the array, or a view of it, is known outside the iteration: it is no
parameter of the loop's header, and not defined or used outside the loop; then nobody can tell two
of these arrays from one. The lengths must be the same in all iterations, and not negative, for the
array is now made even if the loop does not run. ``np.zeros`` leaves the zeros to be written where
it was.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.core import IR, Block, Const, Op, Operand, Value
from ..ir.dominators import dominators
from ..ir.edit import split_block
from ..ir.loops import Loop, loop_forest, preheader
from ..passes.loop_canonical import add_preheader
from ..passes.ranges import Place, Prover
from ..passes.roots import Roots
from ..runtime import prims
from ..typing_.specialised import is_outlined
from . import kinds
from .loops.line import count_up


def reuse(ir: IR) -> bool:
    """Make such arrays in front of their loops, and of those around them; whether there were
    any."""
    changed = False
    while _once(ir):
        changed = True
    return changed


def _once(ir: IR) -> bool:
    roots = Roots(ir)
    tree = dominators(ir)
    prover = Prover(ir, tree)
    forest = loop_forest(ir, tree)
    for b in list(ir):
        loop = forest.innermost(b.id)
        if loop is None or b.id == loop.header:
            continue
        for k, op in enumerate(b.ops):
            if not op.is_call(prims.empty, prims.zeros) or not _local(ir, op.result, loop, roots):
                continue
            if _made_anywhere(ir, op, loop, prover):
                _hoist(ir, loop, b, k)
                return True
    return False


def _local(ir: IR, made: Value, loop: Loop, roots: Roots) -> bool:
    """Whether nothing that may be the array is known beyond the iteration that makes it."""
    if any(made in found for found in roots.slots.values()):
        return False
    names = {v for v, found in roots.of.items() if made in found}
    if not names.isdisjoint(ir.blocks[loop.header].params):
        return False
    for b in ir:
        inside = b.id in loop.blocks
        for op in b.ops:
            if is_outlined(op) and not names.isdisjoint(op.args):
                return False
        if not inside and not names.isdisjoint((*b.params, *(op.result for op in b.ops))):
            return False
        if not inside and any(x in names for op in b.ops for x in op.args):
            return False
    return True


def _made_anywhere(ir: IR, op: Op, loop: Loop, prover: Prover) -> bool:
    """Whether the lengths are known in front of the loop, and none is negative."""
    lengths, begin = op.args[3:], Place(loop.header, 0)
    outside = defined_in(ir, loop).isdisjoint(lengths)
    return outside and all(prover.at_least(x, 0, begin) for x in lengths)


def defined_in(ir: IR, loop: Loop) -> set[Operand]:
    """All values that the loop defines."""
    blocks = [ir.blocks[b] for b in loop.blocks]
    return {v for b in blocks for v in (*b.params, *(op.result for op in b.ops))}


def _hoist(ir: IR, loop: Loop, block: Block, at: int) -> None:
    op = block.ops[at]
    ahead = preheader(ir, loop) or add_preheader(ir, loop)
    rest = split_block(ir, block, at)
    rest.ops.remove(op)
    ahead.ops.append(op)
    if op.is_call(prims.zeros):
        op.args = (Const(prims.empty), *op.args[1:])
        onward = block.term
        b = Builder(ir, block, op.loc)
        clear(b, op.result, list(op.args[3:]), [])
        b.block.term = onward


def clear(b: Builder, x: Value, lengths: list[Operand], at: list[Operand]) -> None:
    """Write loops that set the elements whose first subscripts are ``at`` to zero."""
    if len(at) == len(lengths):
        b.call(prims.store, x, Const(kinds.zero(x.type.dtype)), *at)
        return
    count_up(b, Const(0), lengths[len(at)], lambda j: clear(b, x, lengths, [*at, j]))
