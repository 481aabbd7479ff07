"""Points of the forward program as far as memory is concerned.

Between two writes of a block all places are the same to a load that is evaluated again there. So a
*point* is one of the writes, or a stretch between two of them; it has a number, and a set of points
is the bits of an integer. Saving elements and counting trips writes no memory: the numbers stay.
"""

from __future__ import annotations

from ...ir.core import IR, Op, Value
from ...ir.loops import Loop
from ...runtime import prims
from ..adjoint import Primal
from ..structure import Structure

Points = int


class Places:
    """``at[v]`` is the point at which a value is defined, ``end[block]`` that where a block ends;
    ``stores`` and ``calls`` are what writes to memory."""

    def __init__(self, ir: IR, s: Structure, primal: Primal) -> None:
        self.ir, self.s, self.primal = ir, s, primal
        self.order: dict[Value, int] = {}
        self.at: dict[Value, int] = {}
        self.first: dict[int, int] = {}
        self.end: dict[int, int] = {}
        self.stores: list[Op] = []
        self.calls: list[Op] = []
        self._blocks: dict[int, Points] = {}
        self._leading: dict[tuple[int, Loop | None], Points] = {}
        self.look()

    def look(self) -> None:
        """Number the points and the values, in the order in which they come."""
        order, at, n = self.order, self.at, 0
        order.clear()
        self.stores.clear()
        self.calls.clear()
        for id in self.s.order:
            block = self.ir.blocks[id]
            self.first[id] = n
            for p in block.params:
                order[p], at[p] = len(order), n
            for op in block.ops:
                order[op.result], at[op.result] = len(order), n
                if op.is_call(prims.store):
                    self.stores.append(op)
                elif op in self.primal.writes:
                    self.calls.append(op)
                else:
                    continue
                at[op.result] = n + 1
                n += 2
            self.end[id] = n
            n += 1
        for id in self.s.order:
            self._blocks[id] = _bits(self.first[id], self.end[id] + 1)

    def from_(self, write: Op, region: Loop | None) -> Points:
        """The write, and all points that may come after it in the same iteration of ``region``
        (ever, if None)."""
        block, k = self.s.home[write.result], self.at[write.result]
        after = _bits(k, self.end[block] + 1)
        for id in self.s.reach(block, region):
            after |= self._blocks.get(id, 0)
        return after

    def before(self, write: Op, region: Loop | None) -> Points:
        """The points after which the write may come in the same iteration of ``region``."""
        block, k = self.s.home[write.result], self.at[write.result]
        return self._to(block, region) | _bits(self.first[block], k)

    def follows(self, v: Value, write: Op, region: Loop | None) -> bool:
        """Whether the write may come after ``v``, in the same iteration of ``region``."""
        home, block = self.s.home[v], self.s.home[write.result]
        if home == block and self.order[v] < self.order[write.result]:
            return True
        return block in self.s.reach(home, region)

    def _to(self, block: int, region: Loop | None) -> Points:
        """All points of blocks from which one may come to ``block``."""
        key = (block, region)
        if key not in self._leading:
            found = 0
            for id in self.s.leading(block, region):
                found |= self._blocks.get(id, 0)
            self._leading[key] = found
        return self._leading[key]


def _bits(start: int, stop: int) -> Points:
    return (1 << stop) - (1 << start)
