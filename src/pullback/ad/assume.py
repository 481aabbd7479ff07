"""Code for shapes that agree: what is likely of lengths is asked once, at the entry.

Every whole-array operation on several arrays comes twice: for shapes that agree, and for axes of
length 1 that are stretched to fit. Where the question can be answered from the arguments' lengths
alone, `assume` asks it before anything else is done, and the rest knows the answer: each operation
is one loop nest, and lengths that agree are one value, so that neighbouring loops are seen to run
over the same range. If the answer is no, the function raises `Unlikely` at once, and the caller
takes the code that assumes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from ..ir.builder import Builder
from ..ir.core import CALL, IR, Branch, Const, Op, Operand, Value
from ..passes import effects
from ..passes.cse import cse
from ..passes.manager import optimize
from ..runtime import prims
from .kinds import is_array


class Unlikely(Exception):
    """What code was compiled for does not hold of these arguments; nothing has been done yet."""

    ours = True


class Either:
    """Compiled code for shapes that agree, and what is called if they do not: code for all shapes,
    ``made`` when first needed."""

    def __init__(self, likely: Any, made: Callable[[], Any]) -> None:
        self.likely, self.made = likely, made

    @cached_property
    def general(self) -> Any:
        return self.made()

    def __call__(self, *args: Any) -> Any:
        try:
            return self.likely(*args)
        except Unlikely:
            return self.general(*args)

    def run(self, *args: Any) -> Any:
        """See `backend.native.Compiled.run`."""
        try:
            return self.likely.run(*args)
        except Unlikely:
            return self.general.run(*args)


ROUNDS = 4  # lengths that were found to agree make more questions answerable


def assume(ir: IR) -> bool:
    """Assume what is likely and can be asked at the entry; whether anything was."""
    return any([_assume_once(ir) for _ in range(ROUNDS)])


def settle_units(ir: IR) -> bool:
    """Lengths that are not known to be 1 by now count as others; whether there were any."""
    known = {op.result: Const(False) for op in ir.ops() if op.is_call(prims.unit)}
    for b in ir:
        b.ops = [op for op in b.ops if op.result not in known]
    ir.substitute(known)
    return bool(known)


def _assume_once(ir: IR) -> bool:
    ahead = _Entry(ir)
    for op in list(ir.ops()):
        if op.is_call(prims.likely):
            for condition in ahead.parts(op.args[1]):
                ahead.ask(condition)
    if not ahead.asked:
        return False
    ahead.write()
    optimize(ir)
    return True


class _Entry:
    """A block before the entry, which computes from the arguments what is asked."""

    def __init__(self, ir: IR) -> None:
        self.ir = ir
        self.definition = {op.result: op for op in ir.ops()}
        self.ops: list[Op] = []
        self.twin: dict[Operand, Operand] = {a: a for a in ir.args}
        self.asked: dict[Value, Operand | None] = {}  # its twin, None if it is known to hold
        self.same: dict[Operand, Operand] = {}  # of lengths that agree the one that stands for both

    def parts(self, condition: Operand) -> Iterator[Value]:
        """The conditions of which ``condition`` is the conjunction."""
        op = self.definition.get(condition)  # type: ignore[arg-type]
        if op is not None and op.is_call(operator.and_):
            for x in op.args[1:]:
                yield from self.parts(x)
        elif isinstance(condition, Value):
            yield condition

    def ask(self, condition: Value) -> None:
        if condition in self.asked or not self._from_arguments(condition, set()):
            return
        op = self.definition[condition]
        if not op.is_call(operator.eq):
            self.asked[condition] = self._twin(condition)
            return
        x, y = sorted(map(self._twin, op.args[1:]), key=self._rank)
        self.asked[condition] = None
        if x != y:
            self.asked[condition] = self._write(op, (op.fn, x, y))
            self.same[y] = x

    def _rank(self, x: Operand) -> tuple[int, int]:
        """Constants before lengths of arguments before what is computed."""
        made = {op.result: k for k, op in enumerate(self.ops)}
        if not isinstance(x, Value):
            return 0, 0
        k = made.get(x, -1)
        return (1 if k < 0 or self.ops[k].is_call(prims.dim) else 2), k

    def _from_arguments(self, x: Operand, seen: set[Operand]) -> bool:
        """Whether the operand can be computed at the entry: from lengths and integers given."""
        if isinstance(x, Const) or x in self.twin or x in seen:
            return not is_array(getattr(x, "type", None)) or x in self.twin
        op = self.definition.get(x)  # type: ignore[arg-type]
        if op is None or op.kind != CALL or is_array(op.result.type):
            return False
        if not (op.is_call(prims.dim) or effects.pure(op)):
            return False
        seen.add(x)
        return all(self._from_arguments(a, seen) for a in op.args)

    def _twin(self, x: Operand) -> Operand:
        if isinstance(x, Const):
            return x
        if x not in self.twin:
            op = self.definition[x]  # type: ignore[index]
            args = tuple(self._twin(a) for a in op.args)
            chosen = op.is_call(prims.select) and args[2] == args[3]
            self.twin[x] = args[2] if chosen else self._write(op, args)
        return self._find(self.twin[x])

    def _write(self, op: Op, args: tuple[Operand, ...]) -> Value:
        """Write an operation like ``op`` with these operands."""
        made = op.copy(self.ir.value(op.result.name, op.result.type))
        made.args = args
        self.ops.append(made)
        return made.result

    def _find(self, x: Operand) -> Operand:
        while x in self.same:
            x = self.same[x]
        return x

    def write(self) -> None:
        """Ask at the entry, and put the answers in their place."""
        ir, old = self.ir, self.ir.entry
        entry = ir.block(old.params)
        old.params = []
        ir.blocks = {entry.id: ir.blocks.pop(entry.id), **ir.blocks}
        b = Builder(ir, entry, ir.blocks[old.id].term.loc)
        entry.ops = self.ops
        both: Operand = Const(True)
        for asked in self.asked.values():
            if asked is not None:
                both = b.call(operator.and_, both, asked, type=_bool())
        otherwise = ir.block()
        entry.term = Branch(both, b.edge(old), b.edge(otherwise), b.loc)
        b.at(otherwise)
        b.raise_(b.call(Unlikely, "shapes"))
        ir.substitute(dict.fromkeys(self.asked, Const(True)))
        cse(ir)  # what is computed at the entry is not computed again
        for block in ir:
            if block is not entry:
                for op in block.ops:
                    op.map(self._find)
                block.term.map(self._find)


def _bool() -> object:
    from numba import types

    return types.boolean
