"""Loop-invariant code motion: what is the same in every iteration is computed before the loop.

Out of the header, which runs at least once, go all pure operations; out of the rest of the loop
only those that are harmless to run in vain (`effects.speculable`). Division is not: it may raise
on CPython; compiled code has it hoisted by LLVM.
"""

from __future__ import annotations

from ..ir.core import IR, Block, Op, Value
from ..ir.dominators import dominators
from ..ir.liveness import values
from ..ir.loops import Loop, loop_forest, preheader
from .effects import pure, speculable
from .loop_canonical import add_preheader


def licm(ir: IR) -> bool:
    """Hoist out of all natural loops, inner before outer."""
    tree = dominators(ir)
    number: dict[int, float] = {b: float(i) for i, b in enumerate(tree.order)}
    changed = False
    for loop in loop_forest(ir, tree).inside_out():
        blocks = [ir.blocks[b] for b in sorted(loop.blocks, key=number.__getitem__)]
        hoisted = _hoistable(loop, blocks)
        if not hoisted:
            continue
        ahead = preheader(ir, loop)
        if ahead is None:
            ahead = add_preheader(ir, loop)
            number[ahead.id] = number[loop.header] - 0.5
        ahead.ops += hoisted
        gone = {op.result for op in hoisted}
        for b in blocks:
            b.ops = [op for op in b.ops if op.result not in gone]
        changed = True
    return changed


def _hoistable(loop: Loop, blocks: list[Block]) -> list[Op]:
    """The invariant operations of ``blocks``, each after those it needs."""
    varies: set[Value] = set()
    found = []
    for b in blocks:
        varies.update(b.params)
        may_move = pure if b.id == loop.header else speculable
        for op in b.ops:
            if may_move(op) and not any(x in varies for x in values(op.args)):
                found.append(op)
            else:
                varies.add(op.result)
    return found
