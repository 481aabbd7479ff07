"""Loop-closed form: what a loop computes and code behind it uses passes through a parameter of the
block that the loop exits to.

Then the last value of a loop's variable has one place of its own, which a transform of the loop can
rewrite without looking at who uses it. Expects loops to have exits of their own
(`loop_canonical`). `copy_prop` undoes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.core import IR, Block, Edge, Op, Operand, Terminator, Value
from ..ir.dominators import DomTree, dominators, reverse
from ..ir.edit import incoming
from ..ir.loops import Loop, loop_forest

Use = tuple[Block, "Op | Terminator | Edge"]


def lcssa(ir: IR) -> bool:
    """Close all natural loops, inner before outer."""
    tree = dominators(ir)
    closer = _Closer(ir, tree)
    changed = False
    for loop in loop_forest(ir, tree).inside_out():
        for b in sorted(loop.blocks):
            block = ir.blocks[b]
            for v in [*block.params, *(op.result for op in block.ops)]:
                changed |= closer.close(loop, block, v)
    return changed


class _Closer:
    """Rewrites uses outside loops; keeps track of who uses what."""

    def __init__(self, ir: IR, tree: DomTree) -> None:
        self.ir, self.tree = ir, tree
        self.frontier: Mapping[int, Sequence[int]] = tree.frontier()
        self.preds = reverse({n: tree.graph[n] for n in tree.order})
        self.edges_to = incoming(ir)
        self.uses: dict[Value, list[Use]] = {}
        for b in ir:
            holders: list[Op | Terminator | Edge] = [*b.ops, b.term, *b.edges]
            for holder in holders:
                self.note(b, holder)

    def note(self, block: Block, holder: Op | Terminator | Edge) -> None:
        for x in dict.fromkeys(_own(holder)):
            if isinstance(x, Value):
                self.uses.setdefault(x, []).append((block, holder))

    def close(self, loop: Loop, home: Block, v: Value) -> bool:
        outside = [(b, h) for b, h in self.uses.get(v, ()) if b.id not in loop.blocks]
        if not outside:
            return False
        self.uses[v] = [(b, h) for b, h in self.uses[v] if b.id in loop.blocks]
        live = self.live_into({b.id for b, _ in outside}, loop)
        exits = dict.fromkeys(e.target for _, e in loop.exits if e.target in live)
        meets = [j for j in self.tree.joins(exits, self.frontier) if j in live and j not in exits]
        standing = {b: self.ir.value(v.name, v.type) for b in (*exits, *meets)}
        for b, param in standing.items():
            self.ir.blocks[b].params.append(param)
        for b in standing:
            for source, edge in self.edges_to[b]:
                x = v if source.id in loop.blocks else self.reaching(source.id, standing)
                edge.args = (*edge.args, x)
                self.uses.setdefault(x, []).append((source, edge))
        for b, holder in outside:
            x = self.reaching(b.id, standing)
            _replace(holder, v, x)
            self.uses.setdefault(x, []).append((b, holder))
        return True

    def live_into(self, users: set[int], loop: Loop) -> set[int]:
        """The blocks outside the loop from whose start a user is reached."""
        live: set[int] = set()
        work = sorted(users)
        while work:
            b = work.pop()
            if b not in live and b not in loop.blocks:
                live.add(b)
                work.extend(self.preds[b])
        return live

    def reaching(self, block: int, standing: Mapping[int, Value]) -> Value:
        """What stands for the value in ``block``: the nearest stand-in that dominates it."""
        at: int | None = block
        while at is not None and at not in standing:
            at = self.tree.idom[at]
        assert at is not None, "an exit of the loop is shared with other blocks"
        return standing[at]


def _own(holder: Op | Terminator | Edge) -> tuple[Operand, ...]:
    return holder.operands if isinstance(holder, Terminator) else holder.args


def _replace(holder: Op | Terminator | Edge, old: Value, new: Value) -> None:
    if isinstance(holder, Terminator):
        kept = [e.args for e in holder.edges]
        holder.map(lambda x: new if x is old else x)
        for e, args in zip(holder.edges, kept):
            e.args = args
    else:
        holder.args = tuple(new if x is old else x for x in holder.args)
