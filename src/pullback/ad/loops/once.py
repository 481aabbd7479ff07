"""Loops that run once, as those over an axis of length 1 (``keepdims=True``), are no loops."""

from __future__ import annotations

from ...ir.core import IR, Edge, Jump, Operand, Value
from ...ir.loops import CountedLoop, counted, loop_forest
from ...passes.simplify_cfg import simplify_cfg


def run_once(ir: IR) -> bool:
    """Let loops of one trip be straight lines; whether there were any."""
    changed = False
    while any(_open(ir, c) for loop in loop_forest(ir) if (c := counted(ir, loop)) is not None):
        changed = True
    if changed:
        simplify_cfg(ir)
    return changed


def _open(ir: IR, c: CountedLoop) -> bool:
    """Lead the latch out of the loop. Behind it the header's parameters are what the latch would
    have passed to it."""
    header, latch = ir.blocks[c.header], ir.blocks[c.latch]
    if c.trips != 1 or c.breaks or len(header.ops) != 1 or len(latch.edges) != 1:
        return False
    last: dict[Operand, Operand] = dict(zip(header.params, latch.edges[0].args))

    def behind(x: Operand) -> Operand:
        return last.get(x, x) if isinstance(x, Value) else x

    for block in ir:
        if block.id not in c.loop.blocks:
            for op in block.ops:
                op.map(behind)
            block.term.map(behind)
    leave = Edge(c.exit.target, tuple(map(behind, c.exit.args)))
    latch.term = Jump(leave, latch.term.loc)
    header.term = Jump(Edge(c.body.target, c.body.args), header.term.loc)
    return True
