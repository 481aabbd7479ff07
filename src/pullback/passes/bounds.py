"""Bounds checks that cannot fail are dropped: ``prims.index(i, n)`` is i where that is proven to be
at least 0 and less than n.

A store outside an array must never become possible, so a check goes only on a proof (`ranges`);
what is not proven stays checked. ``prims.wrap(i, n)`` is i where i >= 0.
"""

from __future__ import annotations

from ..ir.core import CALL, IR, Operand, Value
from ..ir.dominators import dominators
from ..ir.edit import handlers
from ..runtime import prims
from .ranges import Place, Prover


def bounds(ir: IR) -> bool:
    """Replace index checks that are proven to pass by the index."""
    if handlers(ir) or not any(op.is_call(prims.index, prims.wrap) for op in ir.ops()):
        return False  # with handlers, that a block is passed does not say that its checks were
    tree = dominators(ir)
    prover = Prover(ir, tree)
    proven: dict[Value, Operand] = {}
    for b in tree.order:
        for i, op in enumerate(ir.blocks[b].ops):
            if op.kind == CALL and op.callee in (prims.index, prims.wrap):
                checked, n = op.args[1:3]
                place = Place(b, i)
                low = prover.at_least(checked, 0, place)
                wrapped = op.is_call(prims.wrap)
                if low and (wrapped or prover.at_most(checked, n, -1, place)):
                    proven[op.result] = checked
    if not proven:
        return False
    for b in tree.order:
        block = ir.blocks[b]
        block.ops = [op for op in block.ops if op.result not in proven]
    ir.substitute(proven)
    return True
