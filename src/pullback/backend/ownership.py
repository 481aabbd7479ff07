"""Who holds the counts of arrays, and where each is given up.

Machine code counts references to memory that it allocated. A value is *counted* if it holds a count
of its own: a fresh array, a block parameter. A view holds none: it keeps the value it was made from
alive instead, its *owner*. Arguments, arrays on the heap of the tape and what is made from them
have no owner at all: they outlive the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..ir.core import IR, Block, Edge, Op, Operand, Value
from ..ir.dominators import depth_first, flow
from ..runtime import prims

OUTLIVING = {
    prims.peek, prims.null,
    prims.heap_empty, prims.heap_zeros, prims.heap_zeros_like, prims.heap_own,
}  # fmt: skip


class Ownership:
    """``holds(type)``: whether values of a type hold counts; ``whole(op)``: the operand that the
    result of an operation is part of, uncounted; None if it is of its own."""

    def __init__(
        self, ir: IR, holds: Callable[[Any], bool], whole: Callable[[Op], Operand | None]
    ) -> None:
        self.ir = ir
        self.graph = flow(ir)
        self.order = depth_first(self.graph, ir.entry.id)[::-1]
        self.holds, self.whole = holds, whole
        self.owner: dict[Value, Value] = {}
        self._find_owners()
        self.into: dict[int, set[Value]] = {b: set() for b in self.order}
        self.out: dict[int, set[Value]] = {b: set() for b in self.order}
        self._flow()

    # -- owners --------------------------------------------------------------------------------
    def _find_owners(self) -> None:
        """Parameters are counted if something counted flows into one of them, which is found by
        starting from none and adding until nothing changes."""
        incoming = self._incoming()
        counted: set[Value] = set()
        changed = True
        while changed:
            changed = False
            self.owner = self._owners(counted)
            for p, operands in incoming.items():
                if p not in counted and any(x in self.owner for x in operands):
                    counted.add(p)
                    changed = True

    def _incoming(self) -> dict[Value, list[Operand]]:
        found: dict[Value, list[Operand]] = {}
        for n in self.order:
            for e in self.ir.blocks[n].edges:
                for p, x in zip(self.ir.blocks[e.target].params, e.args, strict=True):
                    if self.holds(p.type):
                        found.setdefault(p, []).append(x)
        return found

    def _owners(self, counted: set[Value]) -> dict[Value, Value]:
        owner = {p: p for p in counted}
        for n in self.order:
            for op in self.ir.blocks[n].ops:
                v = op.result
                if not self.holds(v.type) or op.callee in OUTLIVING:
                    continue
                x = self.whole(op)
                if x is None:
                    owner[v] = v
                elif x in owner:
                    owner[v] = owner[x]  # type: ignore[index]
        return owner

    def owners(self, operands: Iterable[Operand]) -> set[Value]:
        return {self.owner[x] for x in operands if isinstance(x, Value) and x in self.owner}

    # -- liveness ------------------------------------------------------------------------------
    def _flow(self) -> None:
        changed = True
        while changed:
            changed = False
            for n in reversed(self.order):
                block = self.ir.blocks[n]
                out = self.owners(a for e in block.edges for a in e.args)
                out = out.union(*(self.into[s] for s in self.graph[n]))
                into = self._before(block, out)[0] - set(block.params)
                if (into, out) != (self.into[n], self.out[n]):
                    self.into[n], self.out[n] = into, out
                    changed = True

    def _before(self, block: Block, out: set[Value]) -> list[set[Value]]:
        """The counted values alive before each operation, and last before the terminator."""
        alive = out | self.owners(block.term.operands)
        found = [alive]
        for op in reversed(block.ops):
            alive = (alive - {op.result}) | self.owners(op.args)
            found.append(alive)
        return found[::-1]

    def before(self, block: Block) -> list[set[Value]]:
        """The counted values alive before each operation of a block, and before its terminator."""
        return self._before(block, self.out[block.id])

    def unused(self, block: Block) -> list[Value]:
        """The counted parameters of a block that nothing reads."""
        alive = self.before(block)[0]
        return [p for p in block.params if p in self.owner and p not in alive]

    # -- edges ---------------------------------------------------------------------------------
    def crossing(self, block: Block, edge: Edge) -> tuple[list[int], list[Value]]:
        """What happens on an edge: the positions of arguments that need another count, because the
        value that they come from lives on or is none of ours, and the values that die on it."""
        alive = self.into[edge.target]
        more: list[int] = []
        moved: set[Value] = set()
        for k, (p, x) in enumerate(zip(self.ir.blocks[edge.target].params, edge.args, strict=True)):
            if p not in self.owner:
                continue
            own = isinstance(x, Value) and self.owner.get(x) is x
            if own and x not in alive and x not in moved:
                moved.add(x)  # type: ignore[arg-type]
            else:
                more.append(k)
        ending = self.before(block)[-1]
        return more, sorted(ending - alive - moved, key=lambda v: v.id)
