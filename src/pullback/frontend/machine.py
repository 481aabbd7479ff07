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
    Block,
    Branch,
    Const,
    Edge,
    Jump,
    Loc,
    Op,
    Operand,
    Undef,
    Value,
)
from .decode import Instr, local_names


class _Null:
    """What PUSH_NULL leaves on the stack."""

    def __repr__(self) -> str:
        return "NULL"


NULL: Any = _Null()


class Pending(NamedTuple):
    """An edge made, and the state that leaves along it; its arguments are filled in at the end."""

    edge: Edge
    locals: list[Operand]
    stack: list[Operand]


@dataclass
class Join:
    """An IR block and what its parameters stand for: locals by index, stack entries by depth."""

    block: Block
    locals: list[int]
    stack: list[int]


class Machine:
    """``locals`` and ``stack`` are the current state, ``block`` is where operations go. ``done``
    once the block has its terminator. ``edges``: by target offset, the edges made so far."""

    def __init__(self, ir: IR, code: CodeType) -> None:
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

    def enter(self, block: Block, locals: list[Operand], stack: list[Operand], bound: int) -> None:
        self.block, self.locals, self.stack, self.bound = block, locals, stack, bound
        self.done = False

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

    # -- locals --------------------------------------------------------------------------------
    def read(self, i: int) -> Operand:
        """The value of local i, after a check wherever it may be unbound."""
        x = self.locals[i]
        if not self.bound >> i & 1:
            if not isinstance(x, Const):
                x = self.call(intrinsics.check_bound, x, Const(self.local_names[i]))
                x.name = self.value_names[i]
                self.locals[i] = x
            self.bound |= 1 << i
        return x

    def write(self, i: int, x: Operand) -> None:
        """Give local i a value, and the value the name of the first local that holds it."""
        if isinstance(x, Value) and x.name is None:
            x.name = self.value_names[i]
        self.locals[i] = x
        self.bound |= (1 << i) & ~self.restored

    def take(self, i: int) -> Operand:
        """The value of local i, bound or not, which is then unbound."""
        x = self.locals[i]
        self.clear(i)
        return x

    def clear(self, i: int) -> None:
        self.locals[i] = Undef(self.local_names[i])
        self.bound &= ~(1 << i)

    # -- operations ----------------------------------------------------------------------------
    def op(self, kind: str, args: tuple[Operand, ...], attr: Any = None) -> Value:
        result = self.ir.value()
        self.block.ops.append(Op(kind, result, args, attr, self.loc))
        return result

    def call(self, fn: Any, *args: Operand, kwnames: tuple[str, ...] = ()) -> Value:
        """Call of a constant callee."""
        return self.op(CALL, (Const(fn), *args), kwnames or None)

    def free_cells(self) -> None:
        """The cells that the function closes over, at its start."""
        for i in range(self.first_free, len(self.local_names)):
            self.write(i, self.op(FREECELL, (), self.local_names[i]))

    # -- leaving the block ---------------------------------------------------------------------
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
        self.block.term = Branch(cond, then, orelse, self.loc)
        self.done = True

    def refuse(self, construct: str, ins: Instr | None = None) -> LiftError:
        loc = ins.loc if ins is not None else self.loc
        return LiftError(f"{construct} cannot be lifted in {self.code.co_qualname}", loc=loc)


def user_name(slot: str) -> str | None:
    """The user's name for a local slot: ``x`` for the ``x`` and ``x.1`` of lowered code, none for
    the temporaries (``%1``) of lowered code and of comprehensions (``.0``)."""
    name = slot.partition(".")[0]
    return None if not name or name[0] == "%" else name
