"""When values that a frame would not keep are let go.

On CPython's stack an intermediate result dies with its last use; here it may lie in a local, where
it would live until the function ends. The user sees the difference: when a generator or a context
manager is closed, and that an exception kept in its own frame is a cycle. So such locals are
cleared: after the last use, on the edges where a value is needed no more, and at the start of a
handler. In functions without handlers or suspensions this is done for the iterators of loops alone.
"""

from __future__ import annotations

from ..ir.core import FREECELL, IR, NEWCELL, SUSPENSIONS, Block, Edge, ForIter, Value
from ..ir.edit import handlers
from ..ir.liveness import values
from ..ir.releases import is_release
from .slots import Slots


class Lifetimes:
    """``whole``: whether all values that die are looked after, not only iterators; it is if there
    are handlers or suspensions."""

    def __init__(self, ir: IR, slots: Slots, portable: bool, whole: bool = False) -> None:
        self.ir, self.slots, self.live = ir, slots, slots.live
        caught = handlers(ir)
        whole = whole or bool(caught) or any(op.kind in SUSPENSIONS for op in ir.ops())
        self.whole = whole and not portable
        if portable:
            candidates: set[Value] = set()
        elif self.whole:
            candidates = {v for v in slots.of if v.name is None}
            candidates |= {p for h in caught for p in ir.blocks[h].params}
        else:
            candidates = {v for v in iterators(ir) if v.name is None}
        cells = {op.result for op in ir.ops() if op.kind in (NEWCELL, FREECELL)}
        cells |= {v for op in ir.ops() if is_release(op) for v in values(op.args)}
        self.mortal = {v for v in candidates - cells if v in slots.of and v not in slots.unbound}

    def dying(self, vs: list[Value], kept: set[int]) -> list[int]:
        """The locals of those of the values that are let go, but those in ``kept``."""
        if not self.whole:
            return []
        slots = {self.slots.of[v] for v in vs if v in self.mortal}
        return sorted(slots - kept)

    def at_end(self, block: Block) -> list[int]:
        """The locals of the values that the terminator uses and nothing behind it."""
        out = self.live.out[block.id]
        return self.dying([v for v in values(block.term.operands) if v not in out], set())

    def leaving(self, block: Block, edge: Edge) -> list[int]:
        """The locals of the values that are over when the edge is taken."""
        if not self.mortal:
            return []
        last = set(self.live.out[block.id])
        if isinstance(block.term, ForIter) or not self.whole:
            last |= set(values(block.term.operands))
        into = self.live.into[edge.target]
        gone = {self.slots.of[v] for v in self.mortal & last if v not in into}
        kept = into | set(self.ir.blocks[edge.target].params)
        return sorted(gone - {self.slots.of[v] for v in kept if v in self.slots.of})

    def caught(self, handler: Block) -> list[int]:
        """The locals that may hold what is over when the handler is entered."""
        if not self.whole:
            return []
        into = self.live.into[handler.id] | set(handler.params)
        kept = {self.slots.of[v] for v in into if v in self.slots.of}
        gone: set[Value] = set()
        for b in self.ir:
            if b.handler == handler.id:
                gone |= self.live.into[b.id] | self.live.out[b.id] | {op.result for op in b.ops}
                gone |= set(b.params)
        return sorted({self.slots.of[v] for v in gone & self.mortal} - kept)


def iterators(ir: IR) -> set[Value]:
    """The values that loops iterate over."""
    return {
        b.term.iterator
        for b in ir
        if isinstance(b.term, ForIter) and isinstance(b.term.iterator, Value)
    }
