"""The shape of control flow that reversal builds on.

``normalise`` gives: one Return block; loops with one preheader and one latch, each ending in a
plain jump; a *landing* block of its own on every edge that leaves a loop; and no edge from a block
with several successors to one with several predecessors. So each way into a join is one block, and
there is a place for code on each edge.
"""

from __future__ import annotations

from ..ir.core import IR, Jump, Return, Value
from ..ir.dominators import dominators, reverse_postorder
from ..ir.edit import split_edge
from ..ir.loops import Loop, loop_forest
from ..passes.loop_canonical import loop_canonical


def normalise(ir: IR) -> None:
    loop_canonical(ir)
    for loop in loop_forest(ir):
        latch = ir.blocks[loop.latches[0]]
        if not isinstance(latch.term, Jump):
            for back in [e for e in latch.edges if e.target == loop.header]:
                split_edge(ir, latch, back)
    loop_canonical(ir)  # a latch that branched to the header both ways has become two
    landed: set[int] = set()
    for loop in loop_forest(ir):
        for block, edge in loop.exits:
            if edge.target not in landed:
                landed.add(split_edge(ir, ir.blocks[block], edge).id)
    preds = ir.predecessors()
    for b in list(ir):
        if len(b.edges) > 1:
            for edge in b.edges:
                if len(preds[edge.target]) > 1:
                    split_edge(ir, b, edge)
    order = reverse_postorder(ir)
    ir.blocks = {i: ir.blocks[i] for i in order}


class Structure:
    """What reversal asks of a normalised function."""

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.order = reverse_postorder(ir)
        self.number = {b: i for i, b in enumerate(self.order)}
        self.preds = ir.predecessors()
        self.forest = loop_forest(ir)
        self.loops: list[Loop] = list(self.forest)
        self.tree = dominators(ir)
        self.home: dict[Value, int] = {}  # block in which a value is defined
        self.locate()
        returns = [b.id for b in ir if isinstance(b.term, Return)]
        self.exit: int | None = returns[0] if returns else None
        self.returning = self._returning()
        self._reach: dict[tuple[int, int | None], frozenset[int]] = {}
        self.landing: dict[int, tuple[int, list[Loop]]] = {}  # block -> (exiting block, loops left)
        for b in ir:
            if len(self.preds[b.id]) == 1:
                p = self.preds[b.id][0]
                left = [loop for loop in self.around(p) if b.id not in loop.blocks]
                if left:
                    self.landing[b.id] = (p, left)

    def locate(self) -> None:
        """Note where values are defined: again when there are new ones."""
        for b in self.ir:
            for p in b.params:
                self.home[p] = b.id
            for op in b.ops:
                self.home[op.result] = b.id

    def around(self, block: int) -> list[Loop]:
        """The loops that hold the block, innermost first."""
        out, loop = [], self.forest.innermost(block)
        while loop is not None:
            out.append(loop)
            loop = loop.parent
        return out

    def region(self, v: Value) -> Loop | None:
        """The innermost loop in which ``v`` is defined, None outside loops."""
        return self.forest.innermost(self.home[v])

    def preheader(self, loop: Loop) -> int:
        (p,) = [p for p in self.preds[loop.header] if p not in loop.blocks]
        return p

    def latch(self, loop: Loop) -> int:
        return loop.latches[0]

    def _returning(self) -> set[int]:
        """The blocks from which the function may still return: the others have no reverse."""
        seen: set[int] = set()
        stack = [] if self.exit is None else [self.exit]
        while stack:
            b = stack.pop()
            if b not in seen:
                seen.add(b)
                stack += self.preds[b]
        return seen

    def reach(self, block: int, region: Loop | None) -> frozenset[int]:
        """The blocks that may run after ``block`` within one iteration of ``region`` (its back edge
        and those of the loops around it are not followed); ``block`` itself only if a cycle of an
        inner loop leads back to it."""
        key = (block, region.header if region else None)
        if key not in self._reach:
            barred = _headers(region)
            seen: set[int] = set()
            stack = list(self.ir.blocks[block].successors)
            while stack:
                b = stack.pop()
                if b not in seen and b not in barred:
                    seen.add(b)
                    stack += self.ir.blocks[b].successors
            self._reach[key] = frozenset(seen)
        return self._reach[key]

    def leading(self, block: int, region: Loop | None) -> set[int]:
        """The blocks from which ``block`` is in reach."""
        barred = _headers(region)
        seen: set[int] = set()
        stack = [] if block in barred else [block]
        while stack:
            for p in self.preds[stack.pop()]:
                if p not in seen:
                    seen.add(p)
                    if p not in barred:
                        stack.append(p)
        return seen


def _headers(loop: Loop | None) -> set[int]:
    """The headers of a loop and of those around it."""
    found = set()
    while loop is not None:
        found.add(loop.header)
        loop = loop.parent
    return found
