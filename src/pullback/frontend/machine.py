"""The abstract stack machine: instructions act on it as on CPython's, but values are operands.

The handlers of instructions (`opcodes`) push, pop, emit operations and end blocks; the machine
keeps the current state and records every edge with the state that leaves along it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

from ..errors import LiftError
from ..ir import intrinsics
from ..ir.core import (
    CALL,
    FREECELL,
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Branch,
    Const,
    Edge,
    Jump,
    Loc,
    Op,
    Operand,
    Slot,
    Undef,
    Value,
)
from ..ir.raising import can_raise
from .decode import Handler, Instr, local_names


class _Null:
    """What PUSH_NULL leaves on the stack."""

    def __repr__(self) -> str:
        return "NULL"


NULL: Any = _Null()


class _Lasti:
    """The place of an exception, which some handlers find below it on the stack."""

    def __repr__(self) -> str:
        return "LASTI"


LASTI: Any = _Lasti()


class Saved:
    """What a comprehension puts on the stack to restore ``local``, if that is in a slot: there it
    stays, and until it is restored the local is another variable."""

    def __init__(self, local: int) -> None:
        self.local = local


MARKERS = (_Null, _Lasti, Saved)
"""Entries of the stack that are no operands."""


class Pending(NamedTuple):
    """An edge made, and the state that leaves along it; its arguments are filled in at the end.
    Where an exception may leave, no block has the edge."""

    edge: Edge
    locals: list[Operand]
    stack: list[Operand]


@dataclass
class Join:
    """An IR block and what its parameters stand for: locals by index, stack entries by depth.
    ``inside``: the values of the locals at its start; ``exc``: the exception, if it is a handler"""

    block: Block
    locals: list[int]
    stack: list[int]
    inside: list[Operand]
    exc: Value | None = None


class Machine:
    """``locals`` and ``stack`` are the current state, ``block`` is where operations go. ``done``
    once the block has its terminator. ``edges``: by target offset, the edges made so far. ``guard``
    is what the exception table says of the current instructions, ``handled`` what it said of each
    block. ``slots``: the locals that live in slots."""

    def __init__(self, ir: IR, code: CodeType, slots: dict[int, Slot] | None = None) -> None:
        self.ir, self.code, self.globals = ir, code, ir.info.globals
        self.names, self.consts = code.co_names, code.co_consts
        self.local_names = local_names(code)
        self.value_names = tuple(map(user_name, self.local_names))
        self.first_free = len(self.local_names) - len(code.co_freevars)
        self.locals: list[Operand] = []
        self.stack: list[Operand] = []
        self.block = ir.block()
        self.bound = 0
        self.restored = 0  # the locals that may be given back an unbound value
        self.loc = Loc()
        self.done = False
        self.kwnames: tuple[str, ...] = ()
        self.edges: dict[int, list[Pending]] = {}
        self.parts: dict[Value, Any] = {}  # of nested functions under construction (3.13)
        self.slots = slots or {}
        self.guard: Handler | None = None
        self.handled: dict[int, int] = {}
        self.interrupts: dict[int, list[Pending]] = {}  # edges that interrupts alone take
        self._left: tuple[list[Operand], list[Operand]] | None = None  # the state at the last

    def enter(
        self,
        block: Block,
        locals: list[Operand],
        stack: list[Operand],
        bound: int,
        guard: Handler | None = None,
    ) -> None:
        self.locals, self.stack, self.bound, self.guard = locals, stack, bound, guard
        self._left = None
        self.go_on(block)

    def go_on(self, block: Block) -> None:
        """Continue in another block, in the same state."""
        self.block, self.done = block, False
        if self.guard is not None:
            self.handled[block.id] = self.guard.target

    # -- stack ---------------------------------------------------------------------------------
    def push(self, x: Operand) -> None:
        self.stack.append(x)

    def pop(self) -> Operand:
        return self.stack.pop()

    def popn(self, n: int) -> list[Operand]:
        if n == 0:
            return []
        out = self.stack[-n:]
        del self.stack[-n:]
        return out

    def plain_name(self, i: int) -> str:
        """The name of local i as the user knows it, if there is one."""
        return self.value_names[i] or self.local_names[i]

    # -- locals --------------------------------------------------------------------------------
    def read(self, i: int) -> Operand:
        """The value of local i, after a check wherever it may be unbound. (The temporaries of
        lowered code are bound wherever they are read.)"""
        if self.in_slot(i):
            return self.op(SLOTGET, (), self.slots[i])
        x = self.locals[i]
        if not self.bound >> i & 1:
            if not isinstance(x, Const) and self.value_names[i] is not None:
                x = self.call(intrinsics.check_bound, x, Const(self.plain_name(i)))
                x.name = self.value_names[i]
                self.locals[i] = x
            self.bound |= 1 << i
        return x

    def write(self, i: int, x: Operand) -> None:
        """Give local i a value, and the value the name of the first local that holds it."""
        if isinstance(x, Saved):
            self.locals[i] = Undef(self.local_names[i])
            return
        if self.in_slot(i):
            self.op(SLOTSET, (x,), self.slots[i])
            return
        if isinstance(x, Value) and x.name is None:
            x.name = self.value_names[i]
        self.locals[i] = x
        self.bound |= (1 << i) & ~self.restored

    def take(self, i: int) -> Operand:
        """The value of local i, bound or not, which is then unbound."""
        if self.in_slot(i):
            self.bound &= ~(1 << i)
            return Saved(i)  # type: ignore[return-value]
        x = self.locals[i]
        self.clear(i)
        return x

    def clear(self, i: int) -> None:
        if self.in_slot(i):
            self.op(SLOTSET, (Undef(self.slots[i].name),), self.slots[i])
            return
        self.locals[i] = Undef(self.plain_name(i))
        self.bound &= ~(1 << i)

    def in_slot(self, i: int) -> bool:
        """Whether local i is in its slot: it has one, and is not another variable for now."""
        return i in self.slots and i not in saved(self.stack)

    # -- operations ----------------------------------------------------------------------------
    def op(self, kind: str, args: tuple[Operand, ...], attr: Any = None) -> Value:
        result = self.ir.value()
        op = Op(kind, result, args, attr, self.loc)
        self.block.ops.append(op)
        if self.guard is not None and can_raise(op):
            self.may_leave()
        return result

    def call(self, fn: Any, *args: Operand, kwnames: tuple[str, ...] = ()) -> Value:
        """Call of a constant callee."""
        return self.op(CALL, (Const(fn), *args), kwnames or None)

    def free_cells(self) -> None:
        """The cells that the function closes over, at its start."""
        for i in range(self.first_free, len(self.local_names)):
            self.write(i, self.op(FREECELL, (), self.local_names[i]))

    # -- leaving the block ---------------------------------------------------------------------
    def may_leave(self) -> None:
        """An exception may leave here for the handler, if there is one, with the state as it is."""
        if self.guard is None:
            return
        locals, stack = self.locals, self.stack[: self.guard.depth]
        if self._left is not None and _same(self._left[0], locals) and _same(self._left[1], stack):
            return
        self._left = list(locals), stack
        pending = Pending(Edge(self.guard.target), *self._left)
        self.edges.setdefault(self.guard.target, []).append(pending)

    def may_be_interrupted(self) -> None:
        """The same for an interrupt, which leads to a handler that nothing else leads to."""
        if self.guard is not None:
            stack = self.stack[: self.guard.depth]
            pending = Pending(Edge(self.guard.target), list(self.locals), stack)
            self.interrupts.setdefault(self.guard.target, []).append(pending)

    def edge(self, target: int) -> Edge:
        """An edge to the block at an offset, with the state as it is now."""
        edge = Edge(target)
        pending = Pending(edge, list(self.locals), list(self.stack))
        self.edges.setdefault(target, []).append(pending)
        return edge

    def jump(self, target: int) -> None:
        self.block.term = Jump(self.edge(target), self.loc)
        self.done = True

    def branch(self, cond: Operand, then: Edge, orelse: Edge) -> None:
        self.may_leave()
        self.block.term = Branch(cond, then, orelse, self.loc)
        self.done = True

    def refuse(self, construct: str, ins: Instr | None = None) -> LiftError:
        loc = ins.loc if ins is not None else self.loc
        return LiftError(f"{construct} cannot be lifted in {self.code.co_qualname}", loc=loc)


def saved(stack: list[Operand]) -> set[int]:
    """The locals in slots that are other variables for now."""
    return {x.local for x in stack if isinstance(x, Saved)}


def _same(a: list[Operand], b: list[Operand]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def user_name(slot: str) -> str | None:
    """The user's name for a local slot: ``x`` for the ``x`` and ``x.1`` of lowered code, none for
    the temporaries (``%1``) of lowered code and of comprehensions (``.0``)."""
    name = slot.partition(".")[0]
    return None if not name or name[0] == "%" else name
