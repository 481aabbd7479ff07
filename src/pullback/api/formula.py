"""How often a loop runs and what it keeps, as a formula in what the user has named."""

from __future__ import annotations

import operator
from collections.abc import Callable

from ..ad.loops.affine import Linear
from ..ad.planning.plan import Plan
from ..ir.core import Const, Loc, Op, Operand, Value
from ..ir.loops import CountedLoop, Loop
from ..runtime import prims

UNKNOWN = "…"


class Formula:
    """Spells trip counts of the loops that a plan is about. ``users``: whether a place is in the
    user's code; names from elsewhere say nothing to the user."""

    def __init__(self, plan: Plan, users: Callable[[Loc], bool]) -> None:
        self.plan, self.users = plan, users
        ir = plan.structure.ir
        self.definition: dict[Value, Op] = {op.result: op for op in ir.ops()}
        self.blocks, self.given = ir.blocks, ir.args

    def times(self, loop: Loop | None) -> str:
        """What the bytes of a record are to be multiplied with: " × steps × (n - 2)"."""
        if loop is None:
            return ""
        return f"{self.times(loop.parent)} × {self.trips(loop)}"

    def trips(self, loop: Loop) -> str:
        """How often the loop goes round."""
        c = self.plan.counted.get(loop)
        return f"(rounds of line {self.line(loop)})" if c is None else self.count(c)

    def line(self, loop: Loop) -> int:
        """The source line of a loop."""
        return self.blocks[loop.header].term.loc.line

    def count(self, c: CountedLoop) -> str:
        far = self.linear(c.stop) - self.linear(c.start)
        text = spelled(far if c.step > 0 else -far)
        if abs(c.step) != 1:
            return f"({text}) / {abs(c.step)}" if " " in text else f"{text} / {abs(c.step)}"
        return f"({text})" if " " in text else text

    def size(self, x: Operand) -> str:
        """The bytes of an array: "8 B × n × (n + 1)"."""
        assert isinstance(x, Value)
        lengths = (spelled(n) for n in self._shape(x))
        factors = (f" × ({n})" if " " in n else f" × {n}" for n in lengths)
        return f"{prims.nbytes_of(x.type.dtype)} B{''.join(factors)}"

    def _shape(self, x: Value) -> list[Linear]:
        op = self.definition.get(x)
        if op is not None and op.is_call(prims.heap_own, prims.cast):
            return self._shape(op.args[2])  # type: ignore[arg-type]
        if op is not None and op.is_call(prims.heap_empty, prims.heap_zeros):
            return [self.linear(n) for n in op.args[4:]]
        known = x in self.given
        axes = range(x.type.ndim)
        return [Linear.of(f"{_name(x)}.shape[{k}]" if known else UNKNOWN) for k in axes]

    def linear(self, x: Operand) -> Linear:
        """An integer, in terms of names."""
        if isinstance(x, Const):
            return Linear(constant=int(x.value))
        op = self.definition.get(x) if isinstance(x, Value) else None
        name = _name(x)
        if op is None:
            return Linear.of(name)
        args = op.args[1:]
        if op.is_call(prims.dim) and args[0] in self.given:
            return Linear.of(f"{_name(args[0])}.shape[{args[1].value}]")  # type: ignore[union-attr]
        if name != UNKNOWN and self.users(op.loc):
            return Linear.of(name)
        if op.is_call(operator.add):
            return self.linear(args[0]) + self.linear(args[1])
        if op.is_call(operator.sub):
            return self.linear(args[0]) - self.linear(args[1])
        return Linear.of(name)


def _name(x: Operand) -> str:
    name = x.name if isinstance(x, Value) else None
    return UNKNOWN if not name or name.startswith("%") else name


def spelled(x: Linear) -> str:
    """``n - k - 1``."""
    terms = [(c, "" if abs(c) == 1 else f"{abs(c)} ", str(n)) for n, c in x.terms.items()]
    terms.sort(key=lambda term: term[0] < 0)
    parts = [("- " if c < 0 else "+ ") + times + name for c, times, name in terms]
    if x.constant or not parts:
        parts.append(f"{'- ' if x.constant < 0 else '+ '}{abs(x.constant)}")
    return " ".join(parts).removeprefix("+ ")
