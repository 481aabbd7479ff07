"""Nests of loops over a box: one in another, with bounds that do not change in the nest, and one
block of arithmetic, loads and stores innermost (a `Line`).

A nest of depth one is a line. What is known of a nest is which iteration a subscript belongs to,
level by level, and whether a load may be moved in front of the nest or a store behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...ir.builder import Builder
from ...ir.core import IR, Jump, Op, Operand, Value
from ...ir.loops import CountedLoop, Loop, counted
from ...passes import effects
from ...passes.roots import Roots
from ...runtime import prims
from .affine import Linear
from .line import Line, plus

DEPTH = 3


@dataclass
class Nest:
    """``levels`` from the outermost in; ``outer`` is what the bodies around the line compute."""

    line: Line
    levels: list[CountedLoop]
    outer: list[Op]
    inside: set[Value] = field(init=False)  # all that the nest defines

    def __post_init__(self) -> None:
        blocks = [self.ir.blocks[b] for b in self.loop.blocks]
        self.inside = {p for b in blocks for p in b.params}
        self.inside.update(op.result for b in blocks for op in b.ops)

    @property
    def ir(self) -> IR:
        return self.line.ir

    @property
    def roots(self) -> Roots:
        return self.line.roots

    @property
    def loop(self) -> Loop:
        """The outermost loop."""
        return self.levels[0].loop

    @property
    def ops(self) -> list[Op]:
        return [*self.outer, *self.line.ops]

    @property
    def definition(self) -> dict[Value, Op]:
        return {op.result: op for op in self.ops}

    def fixed(self, x: Operand) -> bool:
        """Whether the operand is the same in every iteration."""
        return x not in self.inside

    def level(self, x: object) -> int | None:
        """Which level's counter it is."""
        return next((k for k, c in enumerate(self.levels) if c.var is x), None)

    def linear(self, x: Operand) -> Linear | None:
        """A subscript as a linear form in the counters and what is fixed; None if it is not one."""
        form = self.line.linear(x)
        if form is None:
            return None
        known = all(self.level(n) is not None or self.fixed(n) for n in form.terms)  # type: ignore[arg-type]
        return form if known else None

    def moving(self, form: Linear) -> list[int]:
        """The levels whose counters are in the form."""
        return [k for k, c in enumerate(self.levels) if c.var in form.terms]

    def slice_of(self, values: Iterable[Operand]) -> list[Op]:
        """The operations of the nest that compute the values, in order."""
        wanted: set[Operand] = set(values)
        found = []
        for op in reversed(self.ops):
            if op.result in wanted:
                wanted.update(op.args)
                found.append(op)
        return found[::-1]

    def again_at_will(self, values: Iterable[Operand]) -> bool:
        """Whether the counters tell all that goes into the values: nothing that the loops carry
        along, and no place on the tape that they take as they go."""
        values = list(values)
        found = self.slice_of(values)
        if any(op.is_call(prims.unrecord, prims.record) for op in found):
            return False
        used = {x for op in found for x in op.args}.union(values)
        params = {p for c in self.levels for p in self.ir.blocks[c.header].params}
        return used.isdisjoint(params - {c.var for c in self.levels} - set(self.line.beside))

    def again(self, v: Operand, env: dict[Operand, Operand], b: Builder) -> Operand:
        """Write ``v`` as it is computed in an iteration, of which ``env`` has the counters."""
        for op in self.slice_of([v]):
            if op.result not in env:
                twin = op.copy(self.ir.value(op.result.name, op.result.type))
                twin.map(lambda a: env.get(a, a))
                env[op.result] = b.append(twin)
        return env.get(v, v)

    def iteration(self, counters: list[Operand], b: Builder) -> dict[Operand, Operand]:
        """What stands for the counters, and what counts beside them, in one iteration."""
        env = self.line.iteration(counters[-1], b)
        return env | {c.var: x for c, x in zip(self.levels, counters, strict=True)}

    def written_before(self, read: Op, write: Op) -> bool:
        """Whether the store may write what the load reads before it does."""
        if not self.roots[read.args[1]] & self.roots[write.args[1]]:
            return False
        if read.args[1] is not write.args[1] or not self.fixed(read.args[1]):
            return True
        later: dict[int, int] = {}  # by level: how many iterations after the load the store is
        for x, y in zip(read.args[2:], write.args[3:], strict=True):
            a, b = self.linear(x), self.linear(y)
            if a is None or b is None or (a - b).terms:
                return True
            levels, distance = self.moving(a), (a - b).constant
            if not levels:
                if distance:
                    return False  # in different lines
                continue
            c = self.levels[levels[0]]
            sign = a.terms[c.var]
            if len(levels) > 1 or abs(sign) > 1:
                return True
            here = sign * distance * c.step
            if later.setdefault(levels[0], here) != here:
                return False
        for k in range(len(self.levels)):
            if k not in later or later[k] < 0:
                return True
            if later[k] > 0:
                return False
        return self.line.ops.index(write) < self.line.ops.index(read)


def bounds(c: CountedLoop, b: Builder) -> tuple[Operand, Operand]:
    """The least counter and the end of the counters, whichever way they are gone through."""
    if c.step > 0:
        return c.start, c.stop
    return plus(b, c.stop, 1, c.var.type), plus(b, c.start, 1, c.var.type)


def nests_of(line: Line) -> list[Nest]:
    """The nests around the line, the deepest first, the line itself last."""
    found = [Nest(line, [line.c], [])]
    while len(found) < DEPTH:
        around = _around(found[-1])
        if around is None:
            break
        found.append(around)
    return found[::-1]


def _around(nest: Nest) -> Nest | None:
    """The nest with one more loop around it."""
    ir, loop = nest.ir, nest.loop.parent
    c = None if loop is None else counted(ir, loop)
    if loop is None or c is None or c.breaks or abs(c.step) != 1 or loop.children != [nest.loop]:
        return None
    if len(ir.blocks[c.header].ops) != 1:
        return None
    others = [ir.blocks[b] for b in loop.blocks - nest.loop.blocks - {c.header}]
    if len(others) > 2 or not all(isinstance(b.term, Jump) for b in others):
        return None
    others.sort(key=lambda b: nest.loop.header not in b.successors)  # the way in comes first
    ops = [op for b in others for op in b.ops]
    if not all(op.is_call(prims.unrecord) or _harmless(op) for op in ops):
        return None
    wider = Nest(nest.line, [c, *nest.levels], [*ops, *nest.outer])
    box = [x for level in wider.levels for x in (level.start, level.stop)]
    return wider if all(map(wider.fixed, box)) else None


def _harmless(op: Op) -> bool:
    return not effects.effects(op) & ~effects.RAISE
