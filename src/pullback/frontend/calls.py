"""Calls and nested functions, as the handlers of all versions share them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from ..ir import intrinsics
from ..ir.core import CALL, CLOSURE, GETCELL, GLOBAL, ClosureSpec, Const, Op, Operand, Value
from .decode import Instr
from .machine import NULL, Machine

Handler = Callable[[Machine, Instr], None]


def call(m: Machine, fn: Operand, args: list[Operand], kwnames: tuple[str, ...] = ()) -> None:
    if not args and isinstance(fn, Value):
        args = super_arguments(m, fn)
    m.push(m.op(CALL, (fn, *args), kwnames or None))


def super_arguments(m: Machine, fn: Value) -> list[Operand]:
    """``super()`` finds its arguments in the frame; here they are written out."""
    found = m.block.ops[-1] if m.block.ops else None
    if found is None or found.result is not fn or (found.kind, found.attr) != (GLOBAL, "super"):
        return []
    if "__class__" not in m.code.co_freevars or not m.code.co_argcount or "super" in m.globals:
        return []
    cell = m.read(m.local_names.index("__class__", m.first_free))
    self = m.read(0)
    if m.local_names[0] in m.code.co_cellvars:
        self = m.op(GETCELL, (self,), m.local_names[0])
    return [m.op(GETCELL, (cell,), "__class__"), self]


def call_function_ex(m: Machine, ins: Instr) -> None:
    kwargs = m.popn(ins.arg & 1)
    args = m.pop()
    a, b = m.popn(2)
    m.push(m.call(intrinsics.call_ex, a if b is NULL else b, args, *kwargs))


# -- nested functions ------------------------------------------------------------------------------
DEFAULTS, KWDEFAULTS, ANNOTATIONS, CELLS = 1, 2, 4, 8
_PART_NAMES = {DEFAULTS: "defaults", ANNOTATIONS: "annotations", CELLS: "cells"}


@dataclass
class Parts:
    """What goes into a function besides its code."""

    cells: list[Operand] = field(default_factory=list)
    defaults: list[Operand] = field(default_factory=list)
    kwnames: tuple[str, ...] = ()
    kwdefaults: list[Operand] = field(default_factory=list)
    annotations: list[Operand] | None = None

    def add(self, m: Machine, flag: int, x: Operand) -> None:
        """Take the part apart: a tuple (KWDEFAULTS: a dict) made for this use alone."""
        if flag == KWDEFAULTS:
            pairs = undo(m, x, intrinsics.build_map)
            self.kwnames = tuple(k.value for k in pairs[::2] if isinstance(k, Const))
            self.kwdefaults = list(pairs[1::2])
            return
        if isinstance(x, Const):
            items: list[Operand] = list(constant_items(x))
        else:
            items = list(undo(m, x, intrinsics.build_tuple))
        setattr(
            self, {DEFAULTS: "defaults", ANNOTATIONS: "annotations", CELLS: "cells"}[flag], items
        )


def closure(m: Machine, code: CodeType, parts: Parts) -> None:
    """Push the function made of a code object and the parts."""
    spec = ClosureSpec(
        code,
        code.co_qualname,
        len(parts.cells),
        len(parts.defaults),
        parts.kwnames,
        parts.annotations is not None,
    )
    args = (*parts.cells, *parts.defaults, *parts.kwdefaults, *(parts.annotations or ()))
    m.push(m.op(CLOSURE, args, spec))


def undo(m: Machine, x: Operand, fn: Any) -> tuple[Operand, ...]:
    """Take back the call of fn that made x: its operands."""
    for i in range(len(m.block.ops) - 1, -1, -1):
        op: Op = m.block.ops[i]
        if op.result is x and op.is_call(fn):
            del m.block.ops[i]
            return op.posargs
    raise m.refuse("a function whose defaults are not written in place")


def dict_merge(depth: int) -> Handler:
    """Collect keywords of a call: the callee lies ``depth`` entries below the dict."""

    def run(m: Machine, ins: Instr) -> None:
        items, at = m.pop(), len(m.stack) - ins.arg
        m.stack[at] = m.call(intrinsics.dict_merge, m.stack[at], items, m.stack[at - depth])

    return run


def constant_items(x: Operand) -> list[Const]:
    assert isinstance(x, Const)
    return [Const(v) for v in x.value]
