"""Proofs that two elements of an array are never the same, from the loops around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from ...ir.core import IR, Const, Op, Operand
from ...ir.loops import CountedLoop, LoopForest, counted, loop_forest
from .affine import Linear, impossible
from .line import ARITHMETIC, combined


class Distinct:
    """Answers for one function; to be made anew when its operations have changed."""

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.counts: dict[int, CountedLoop | None] = {}

    @cached_property
    def forest(self) -> LoopForest:
        return loop_forest(self.ir)

    @cached_property
    def definition(self) -> dict[Operand, Op]:
        return {op.result: op for op in self.ir.ops()}

    def never(self, a: Sequence[Operand], b: Sequence[Operand], block: int) -> bool:
        """Whether the subscripts differ whenever the block is executed."""
        if len(a) != len(b):
            return False
        equal = [self.form(x) - self.form(y) for x, y in zip(a, b)]
        return impossible(equal, self.facts(block))

    def form(self, x: Operand) -> Linear:
        """The subscript as a linear form in what is not arithmetic."""
        if isinstance(x, Const) and type(x.value) is int:
            return Linear(constant=x.value)
        op = self.definition.get(x)
        if op is not None and op.is_call(*ARITHMETIC):
            form = combined(op, *map(self.form, op.args[1:]))
            if form is not None:
                return form
        return Linear.of(x)

    def facts(self, block: int) -> list[Linear]:
        """What is not negative: the distances of counters from their bounds."""
        found = []
        for c in self._around(block):
            var, start, stop = Linear.of(c.var), self.form(c.start), self.form(c.stop)
            passed, left = (var - start, stop - var) if c.up else (start - var, var - stop)
            found.append(passed)
            if block != c.header:  # the test has come out true
                found.append(left + -1)
        return found

    def _around(self, block: int) -> Iterator[CountedLoop]:
        loop = self.forest.innermost(block)
        while loop is not None:
            if loop.header not in self.counts:
                self.counts[loop.header] = counted(self.ir, loop)
            c = self.counts[loop.header]
            if c is not None:
                yield c
            loop = loop.parent
