"""Where the reverse half gets each value it needs: the plan.

A value is needed if a reversed operation reads it. Its source is

- ``LOCAL``: a variable of the forward half, still there (outside loops, combined mode);
- ``COUNT``: an induction variable, computed from the trip that is being reversed;
- ``AGAIN``: its operation is evaluated again from values that have a source;
- ``TAPE``: stored once per iteration of the loop that defines it.

Evaluating a load again is sound only if memory agrees: no store that may write the element lies on
a path from the load to the point whose mirror evaluates it. And a store that a later evaluation
would miss must be saved: the element it overwrites becomes a needed value of its own, and the
reverse half puts it back. Or the whole array is copied, and the load evaluated again on the copy.
``plan="naive"`` tapes every needed value and saves every store; it is the oracle for all others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ...ir.core import IR, Op, Operand, Value
from ...ir.loops import CountedLoop, Loop, counted
from ..adjoint import Primal
from ..structure import Structure


class Source(Enum):
    LOCAL = "local"
    COUNT = "count"
    AGAIN = "again"
    TAPE = "tape"


GUESS = 16.0
"""How often a loop goes round of which nothing is known."""


@dataclass
class Plan:
    """``sources``: how each needed value is had; ``trips[(landing, loop)]``: how often the loop
    went round when it was left there; ``which[join]``: which predecessor was taken."""

    structure: Structure
    primal: Primal
    split: bool
    policy: str
    outputs: list[Value] = field(default_factory=list)  # shadows of results, needed from the start
    sources: dict[Value, Source] = field(default_factory=dict)
    counted: dict[Loop, CountedLoop] = field(default_factory=dict)
    counter: dict[Loop, Value] = field(default_factory=dict)  # header parameter: trips so far
    trips: dict[tuple[int, int], Value] = field(default_factory=dict)
    which: dict[int, Value] = field(default_factory=dict)
    effective: set[int] = field(default_factory=set)
    skipped: dict[int, int] = field(default_factory=dict)  # join -> the dominator to go on with
    copies: dict[Value, Value] = field(default_factory=dict)  # load -> the copy that it reads again

    def taped(self, region: Loop | None) -> list[Value]:
        """The values of a record, in the order of their definition."""
        return self._records.get(region, [])

    def tape_at_all(self, loop: Loop) -> bool:
        return bool(self._records.get(loop))

    _records: dict[Loop | None, list[Value]] = field(default_factory=dict)

    def is_effective(self, loop: Loop) -> bool:
        return not self.effective.isdisjoint(loop.blocks)

    def operands(self, op: Op) -> tuple[Operand, ...]:
        """What the operation is evaluated again on."""
        copy = self.copies.get(op.result)
        return op.args if copy is None else (op.args[0], copy, *op.args[2:])

    def rounds(self, block: int) -> float:
        """How often a block runs, as far as can be guessed."""
        return self._rounds(self.structure.forest.innermost(block))

    def _rounds(self, loop: Loop | None) -> float:
        return 1.0 if loop is None else self.turns(loop) * self._rounds(loop.parent)

    def turns(self, loop: Loop) -> float:
        """How often the loop goes round, as far as can be guessed."""
        c = self.counted.get(loop)
        return GUESS if c is None or c.trips is None else max(c.trips, 1)


def count_loops(ir: IR, plan: Plan) -> None:
    for loop in plan.structure.loops:
        c = counted(ir, loop)
        if c is not None:
            plan.counted[loop] = c


def innermost_common(a: Loop | None, b: Loop | None) -> Loop | None:
    """The innermost loop that holds both."""
    around = set()
    while a is not None:
        around.add(a.header)
        a = a.parent
    while b is not None and b.header not in around:
        b = b.parent
    return b
