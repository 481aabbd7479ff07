"""Append operations to a block, one call a line: what passes and transforms write code with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .core import (
    CUT,
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Branch,
    Edge,
    Jump,
    Loc,
    Op,
    Operand,
    Raise,
    Return,
    Slot,
    Value,
    as_operand,
)


class Builder:
    """Writes at the end of ``block``; ``loc`` is given to each operation until it is changed."""

    def __init__(self, ir: IR, block: Block | None = None, loc: Loc = Loc()) -> None:
        self.ir = ir
        self.block = block or ir.block()
        self.loc = loc

    def at(self, block: Block) -> Builder:
        """Continue at the end of ``block``."""
        self.block = block
        return self

    def append(self, op: Op) -> Value:
        self.block.ops.append(op)
        return op.result

    def call(
        self,
        fn: Any,
        *args: Any,
        kwnames: tuple[str, ...] = (),
        name: str | None = None,
        type: Any = None,
    ) -> Value:
        """``fn(*args)``; anything that is not an operand becomes a constant."""
        return self.append(
            self.ir.call(fn, *args, kwnames=kwnames, name=name, type=type, loc=self.loc)
        )

    def op(self, kind: str, *args: Any, attr: Any = None, type: Any = None) -> Value:
        operands = tuple(as_operand(a) for a in args)
        return self.append(Op(kind, self.ir.value(None, type), operands, attr, self.loc))

    def get(self, slot: Slot) -> Value:
        return self.op(SLOTGET, attr=slot, type=slot.type)

    def set(self, slot: Slot, content: Any) -> None:
        self.op(SLOTSET, content, attr=slot)

    def cut(self) -> None:
        self.op(CUT)

    # -- terminators ---------------------------------------------------------------------------
    def jump(self, target: Block, args: Iterable[Any] = ()) -> None:
        self.block.term = Jump(self.edge(target, args), self.loc)

    def branch(
        self,
        cond: Any,
        then: Block,
        orelse: Block,
        then_args: Iterable[Any] = (),
        else_args: Iterable[Any] = (),
    ) -> None:
        self.block.term = Branch(
            as_operand(cond), self.edge(then, then_args), self.edge(orelse, else_args), self.loc
        )

    def ret(self, value: Any) -> None:
        self.block.term = Return(as_operand(value), self.loc)

    def raise_(self, exc: Operand | None, cause: Operand | None = None) -> None:
        self.block.term = Raise(exc, cause, self.loc)

    @staticmethod
    def edge(target: Block, args: Iterable[Any] = ()) -> Edge:
        return Edge(target.id, [as_operand(a) for a in args])
