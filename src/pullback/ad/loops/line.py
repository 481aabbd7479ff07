"""Loops that run straight through: counted by ones, with one block of arithmetic, loads and stores.

What is known of them is exact enough to take them apart: which iteration a subscript belongs to,
and whether a load may be moved in front of the loop or a store behind it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ...ir.builder import Builder
from ...ir.core import CUT, IR, Block, Const, Op, Operand, Value
from ...ir.dominators import dominators
from ...ir.edit import use_counts
from ...ir.loops import CountedLoop, Loop, counted, loop_forest
from ...passes import effects
from ...passes.roots import Roots
from ...runtime import prims
from .affine import Linear


@dataclass
class Line:
    """``ops`` is the body; ``definition`` has its operations by result, ``anywhere`` those of the
    whole function."""

    ir: IR
    roots: Roots
    c: CountedLoop
    header: Block
    ops: list[Op]
    definition: dict[Value, Op] = field(init=False)
    beside: dict[Value, tuple[Operand, int]] = field(init=False)  # others that count: start, step

    def __post_init__(self) -> None:
        self.definition = {op.result: op for op in self.ops}
        self.beside = dict(self._counting())

    @cached_property
    def anywhere(self) -> dict[Value, Op]:
        return {op.result: op for op in self.ir.ops()}

    @cached_property
    def uses(self) -> dict[Value, int]:
        return use_counts(self.ir)

    def _counting(self) -> Iterator[tuple[Value, tuple[Operand, int]]]:
        """The other parameters of the header that a constant is added to in each iteration."""
        back = self.ir.blocks[self.c.latch].edges[0].args
        starts = [e.args for _, e in self.c.loop.entries]
        for k, p in enumerate(self.header.params):
            op = self.definition.get(back[k])  # type: ignore[arg-type]
            if p is self.c.var or op is None or not op.is_call(operator.add):
                continue
            x, step = op.args[1:]
            if x is not p or p.type != self.c.var.type or any(s[k] != starts[0][k] for s in starts):
                continue
            if isinstance(step, Const) and type(step.value) is int:
                yield p, (starts[0][k], step.value)

    def iteration(self, counter: Operand, b: Builder) -> dict[Operand, Operand]:
        """What stands for the header's parameters that count in the iteration of ``counter``."""
        env: dict[Operand, Operand] = {self.c.var: counter}
        type = self.c.var.type
        for p, (start, step) in self.beside.items():
            passed = b.call(operator.sub, counter, self.c.start, type=type)
            if step * self.c.step != 1:
                passed = b.call(operator.mul, passed, step * self.c.step, type=type)
            env[p] = passed if start == Const(0) else b.call(operator.add, passed, start, type=type)
        return env

    def fixed(self, x: Operand) -> bool:
        """Whether the operand is the same in every iteration."""
        return x not in self.definition and x not in self.header.params

    def fixed_form(self, x: Linear) -> bool:
        """Whether all of the form but the counter is the same in every iteration."""
        return all(n is self.c.var or self.fixed(n) for n in x.terms)  # type: ignore[arg-type]

    def linear(self, x: Operand) -> Linear | None:
        """A subscript as a linear form in the counter and what is fixed; None if it is not one."""
        form = self._form(x)
        return form if form is not None and self.fixed_form(form) else None

    def _form(self, x: Operand) -> Linear | None:
        if isinstance(x, Const):
            return Linear(constant=x.value) if type(x.value) is int else None
        if not isinstance(x, Value):
            return None
        if x in self.beside:
            start, step = self.beside[x]
            passed = Linear.of(self.c.var) - _outside(self._form(self.c.start), self.c.start)
            return passed * (step * self.c.step) + _outside(self._form(start), start)
        op = self.anywhere.get(x)
        unknown = None if x in self.definition else Linear.of(x)
        if op is None or not op.is_call(*ARITHMETIC):
            return unknown
        parts = [self._form(a) for a in op.args[1:]]
        if any(p is None for p in parts):
            return unknown
        form = combined(op, *parts)  # type: ignore[arg-type]
        return unknown if form is None else form

    def slice_of(self, values: Iterable[Operand]) -> list[Op]:
        """The operations of the body that compute the values, in order."""
        wanted: set[Operand] = set(values)
        found = []
        for op in reversed(self.ops):
            if op.result in wanted:
                wanted.update(op.args)
                found.append(op)
        return found[::-1]

    def carries_into(self, values: Iterable[Operand]) -> bool:
        """Whether what the loop carries along, counters apart, goes into the values."""
        values = list(values)
        carried = set(self.header.params) - {self.c.var, *self.beside}
        used = {x for op in self.slice_of(values) for x in op.args}
        return not carried.isdisjoint(used) or not carried.isdisjoint(values)

    def written_before(self, read: Op, write: Op) -> bool:
        """Whether the store may write what the load reads before it does."""
        if not self.roots[read.args[1]] & self.roots[write.args[1]]:
            return False
        if read.args[1] is not write.args[1] or not self.fixed(read.args[1]):
            return True
        apart: int | None = None  # how many iterations on the store meets it; None: any number
        for x, y in zip(read.args[2:], write.args[3:], strict=True):
            a, b = self.linear(x), self.linear(y)
            if a is None or b is None:
                return True
            sign, distance = a.terms.get(self.c.var, 0), a - b
            if distance.terms or abs(sign) > 1:
                return True
            if sign == 0:
                if distance.constant:
                    return False  # in different lines
                continue
            here = sign * distance.constant * self.c.step
            if apart is not None and apart != here:
                return False
            apart = here
        first = self.ops.index(write) < self.ops.index(read)
        return apart is None or apart < 0 or (apart == 0 and first)

    def again(self, v: Operand, env: dict[Operand, Operand], b: Builder) -> Operand:
        """Write ``v`` as it is computed in an iteration, of which ``env`` has the counters."""
        for op in self.slice_of([v]):
            if op.result not in env:
                twin = op.copy(self.ir.value(op.result.name, op.result.type))
                twin.map(lambda a: env.get(a, a))
                env[op.result] = b.append(twin)
        return env.get(v, v)

    def bounds(self, b: Builder) -> tuple[Operand, Operand]:
        """The least counter and the end of the counters, whichever way they are gone through."""
        c, type = self.c, self.c.var.type
        if c.step > 0:
            return c.start, c.stop
        return plus(b, c.stop, 1, type), plus(b, c.start, 1, type)


def line_of(ir: IR, loop: Loop, roots: Roots) -> Line | None:
    """The loop as a line; None if it is not one, or may touch memory of which nothing is known."""
    c = counted(ir, loop)
    if c is None or c.breaks or loop.children or abs(c.step) != 1 or len(loop.blocks) != 2:
        return None
    header, body = ir.blocks[loop.header], ir.blocks[c.latch]
    if len(header.ops) != 1 or not all(map(_known, body.ops)):
        return None
    touched = [op.args[1] for op in body.ops if op.is_call(prims.load, prims.store)]
    return Line(ir, roots, c, header, body.ops) if all(map(roots.__getitem__, touched)) else None


def reversed_loops(ir: IR) -> list[Loop]:
    """The loops behind the cut; all, if there is none. (In the forward half sums keep their order
    and stores their place: value and arguments are the very ones that a plain call leaves.)"""
    behind = behind_cut(ir)
    return [x for x in loop_forest(ir) if behind(x.header)]


def behind_cut(ir: IR) -> Callable[[int], bool]:
    """Whether a block begins behind the cut; all do, if there is none."""
    tree = dominators(ir)
    cut = [b.id for b in ir if any(op.kind == CUT for op in b.ops)]
    return lambda block: all(tree.strictly_dominates(b, block) for b in cut)


def lines_of(ir: IR, loops: Iterable[Loop], roots: Roots | None = None) -> Iterator[Line]:
    """Those of the loops that are lines. Each may be rewritten before the next is asked for, if no
    array is made or handed on."""
    roots, headers = roots or Roots(ir), [loop.header for loop in loops]
    blocks, now = -1, {}
    for header in headers:
        if len(ir.blocks) != blocks:  # rewritten
            blocks, now = len(ir.blocks), {loop.header: loop for loop in loop_forest(ir)}
        line = line_of(ir, now[header], roots)
        if line is not None:
            yield line


def _known(op: Op) -> bool:
    pure = not effects.effects(op) & ~effects.RAISE
    return pure or op.is_call(prims.load, prims.store, prims.peek, prims.poke)


def _outside(form: Linear | None, x: Operand) -> Linear:
    return Linear.of(x) if form is None else form


ARITHMETIC = (operator.add, operator.sub, operator.neg, operator.mul)


def combined(op: Op, x: Linear, y: Linear | None = None) -> Linear | None:
    """What one of ``ARITHMETIC`` makes of linear forms; None if it is not linear."""
    if y is None:
        return -x
    if op.is_call(operator.add):
        return x + y
    if op.is_call(operator.sub):
        return x - y
    if not x.terms:
        return y * x.constant
    return None if y.terms else x * y.constant


def plus(b: Builder, x: Operand, k: int, type: object) -> Operand:
    """Write ``x + k``."""
    if isinstance(x, Const):
        return Const(x.value + k)
    return b.call(operator.add, x, k, type=type) if k else x


def ran(b: Builder, c: CountedLoop) -> Operand:
    """Write whether the loop has an iteration."""
    from numba import types

    test = operator.gt if c.step < 0 else operator.lt
    return b.call(test, c.start, c.stop, type=types.boolean)


def count_up(b: Builder, start: Operand, stop: Operand, write: Callable[[Value], None]) -> None:
    """Write ``for j in range(start, stop): write(j)``; go on behind it."""
    from numba import types

    type = next((x.type for x in (start, stop) if isinstance(x, Value)), types.int64)
    j = b.ir.value("j", type)
    header, body, after = b.ir.block([j]), b.ir.block(), b.ir.block()
    b.jump(header, [start])
    b.at(header)
    b.branch(b.call(operator.lt, j, stop, type=types.boolean), body, after)
    b.at(body)
    write(j)
    b.jump(header, [plus(b, j, 1, type)])
    b.at(after)
