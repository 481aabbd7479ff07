"""Which values are still needed at a point.

A block's parameters are bound at its start, so they are not live into it; the arguments of an edge
are used at the edge, so they are live out of the block it leaves. What a handler needs is live
throughout the blocks that it guards, or from where they define it, before anything can raise.

The sets are not ordered: sort by ``id`` wherever the order could be seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .core import IR, Block, Operand, Value
from .dominators import depth_first, flow
from .raising import quiet_start


@dataclass(frozen=True)
class Liveness:
    """``into[b]``: the values live at the start of block b; ``out[b]``: those needed on its edges
    or behind them."""

    into: dict[int, set[Value]]
    out: dict[int, set[Value]]

    def before(self, block: Block, index: int) -> set[Value]:
        """The values live right before the operation at ``index`` (``len(block.ops)``: before the
        terminator), parameters of the block included."""
        live = self.out[block.id] | set(values(block.term.operands))
        for op in reversed(block.ops[index:]):
            live.discard(op.result)
            live.update(values(op.args))
        return live


def values(operands: Iterable[Operand]) -> Iterable[Value]:
    """The operands that are values."""
    return (x for x in operands if isinstance(x, Value))


def liveness(ir: IR) -> Liveness:
    """The values live into and out of each block."""
    needs, defines, edges, early = {}, {}, {}, {}
    for b in ir:
        needs[b.id], defines[b.id] = _summary(b)
        edges[b.id] = {v for e in b.edges for v in values(e.args)}
        if b.handler is not None:
            early[b.id] = {*b.params, *(op.result for op in b.ops[: quiet_start(b)])}
    into: dict[int, set[Value]] = {b: set() for b in ir.blocks}
    out: dict[int, set[Value]] = {b: set() for b in ir.blocks}
    graph = flow(ir)
    order = depth_first(graph, ir.entry.id)
    order += [b for b in ir.blocks if b not in set(order)]
    changed = True
    while changed:
        changed = False
        for b in order:
            live = edges[b].union(*(into[s] for s in graph[b]))
            out[b] = live
            live = (live - defines[b]) | needs[b]
            handler = ir.blocks[b].handler
            if handler is not None:
                live |= into[handler] - early[b]
            if live != into[b]:
                into[b] = live
                changed = True
    return Liveness(into, out)


def _summary(block: Block) -> tuple[set[Value], set[Value]]:
    """What the block reads before it defines it, and what it defines."""
    needed: set[Value] = set()
    defined = set(block.params)
    for op in block.ops:
        needed.update(v for v in values(op.args) if v not in defined)
        defined.add(op.result)
    needed.update(v for v in values(block.term.operands) if v not in defined)
    return needed, defined
