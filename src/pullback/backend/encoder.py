"""Operations -> instructions: operands on the stack, constants and names in their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.core import (
    AWAIT,
    CLOSURE,
    CUT,
    DELEGATE,
    FREECELL,
    GETCELL,
    GLOBAL,
    IR,
    NEWCELL,
    SETCELL,
    SLOTGET,
    SLOTSET,
    YIELD,
    Const,
    Loc,
    Op,
    Operand,
    Undef,
    Value,
    const_key,
)
from ..ir.intrinsics import check_bound
from ..ir.unbound import may_be_empty
from .assembler import Assembler
from .exception_table import Guard
from .flow_forms import write_delegation, write_yield
from .forms import BOOLEAN, SYMBOLS, Form, form_of
from .slots import Slots
from .stacking import Stacking
from .target import target
from .unpackings import write_items

_PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), np.generic)


class Encoder:
    """Writes the instructions of one function. With ``portable``, constants that Numba does not
    take from a code object are loaded as globals; ``constants`` maps their names to them."""

    def __init__(self, ir: IR, stacking: Stacking, slots: Slots, portable: bool) -> None:
        self.ir, self.stacking, self.slots, self.portable = ir, stacking, slots, portable
        self.asm = Assembler(ir.info.line)
        self.target = target(self.asm)
        self.consts: list[Any] = [ir.info.doc]
        self._const_index: dict[tuple[Any, ...], int] = {const_key(ir.info.doc): 0}
        self.names: dict[str, int] = {}
        self.stored: set[int] = set()  # the slots that may have been stored to before
        self.empty = set() if portable else may_be_empty(ir)
        self.later: list[tuple[int, int, Guard | None, Loc]] = []  # what is out of the way
        self.constants: dict[str, Any] = {}
        self._constant_names: dict[int, str] = {}
        self._global_names = {op.attr for op in ir.ops() if op.kind == GLOBAL}

    # -- tables -----------------------------------------------------------------------------------
    def name(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))

    def const_index(self, value: Any) -> int:
        key = const_key(value)
        if key not in self._const_index:
            self._const_index[key] = len(self.consts)
            self.consts.append(value)
        return self._const_index[key]

    def constant_name(self, value: Any) -> str:
        """The global under which a constant is found."""
        if id(value) not in self._constant_names:
            base = getattr(value, "__name__", None) or type(value).__name__
            base = base if base.isidentifier() else "constant"
            name, n = base, 0
            while name in self.constants or name in self._global_names:
                n += 1
                name = f"{base}_{n}"
            self.constants[name] = value
            self._constant_names[id(value)] = name
        return self._constant_names[id(value)]

    # -- operands ---------------------------------------------------------------------------------
    def on_stack(self, x: Operand) -> Op | None:
        """The operation whose result x is, if it is to be written right here."""
        return self.stacking.inline.get(x) if isinstance(x, Value) else None

    def push(self, xs: Sequence[Operand]) -> None:
        loc = self.asm.loc
        for x in xs:
            self.operand(x)
            self.asm.loc = loc

    def operand(self, x: Operand) -> None:
        if isinstance(x, Const):
            self.constant(x.value)
        elif isinstance(x, Undef):
            self.constant(None)
        else:
            op = self.stacking.inline.get(x)
            if op is not None:
                self.write(op, keep=True)
            elif x in self.stacking.cells:
                self.target.load_cell(self.slots.of[x])
            else:
                self.asm.emit("LOAD_FAST", self.slots.of[x])

    def constant(self, value: Any) -> None:
        if value is AssertionError:
            self.asm.emit("LOAD_ASSERTION_ERROR")
        elif self.portable and not _is_plain(value):
            self.target.load_global(self.name(self.constant_name(value)), False)
        else:
            self.asm.emit("LOAD_CONST", self.const_index(value))

    def callable(self, fn: Operand) -> None:
        """What is called, and the NULL that goes with it."""
        if self.portable and isinstance(fn, Const) and not _is_plain(fn.value):
            self.target.load_global(self.name(self.constant_name(fn.value)), True)
            return
        if self.target.null_first:
            self.asm.emit("PUSH_NULL")
        self.push([fn])
        if not self.target.null_first:
            self.asm.emit("PUSH_NULL")

    def condition(self, x: Operand) -> None:
        """Something to jump on."""
        op = self.on_stack(x)
        callee = op.callee if op is not None and op.attr is None else None
        if op is not None and len(op.args) == 3 and _is_in(callee, SYMBOLS):
            self.push(op.args[1:])
            self.asm.loc = op.loc
            if not self.target.compare(SYMBOLS[callee], True):
                self.target.to_bool()
            return
        self.push([x])
        if not _is_in(callee, BOOLEAN):
            self.target.to_bool()

    def drop_below(self, n: int) -> None:
        """Drop the n entries below the top."""
        self.asm.emit("SWAP", n + 1)
        for _ in range(n):
            self.asm.emit("POP_TOP")

    # -- operations -------------------------------------------------------------------------------
    def statement(self, op: Op) -> None:
        """An operation whose result goes to its slot, or nowhere."""
        if op in self.stacking.unpackings:
            self.unpacking(op)
            return
        slot = self.slots.of.get(op.result)
        keep = slot is not None and op.kind not in (NEWCELL, FREECELL) and not self._stays(op, slot)
        self.write(op, keep)
        if keep:
            self.store(slot)

    def _stays(self, op: Op, slot: int) -> bool:
        """A check may leave the value where it is."""
        x = op.args[1] if op.is_call(check_bound) else None
        return isinstance(x, Value) and self.slots.of.get(x) == slot

    # -- slots ------------------------------------------------------------------------------------
    def store(self, slot: int | None) -> None:
        """Pop the top of the stack into a slot, or away."""
        if slot is None:
            self.asm.emit("POP_TOP")
        else:
            self.asm.emit("STORE_FAST", slot)
            self.stored.add(slot)

    def clear(self, slot: int) -> None:
        """Make a slot unbound."""
        if slot in self.stored:
            self.constant(None)
            self.asm.emit("STORE_FAST", slot)
            self.asm.emit("DELETE_FAST", slot)

    def write(self, op: Op, keep: bool) -> None:
        """The instructions of one operation; its result is on the stack afterwards if ``keep``."""
        self.asm.loc = op.loc
        form: Form | None = form_of(op)
        if form is not None:
            form.write(self, op)
            result = form.result
        else:
            result = _STRUCTURAL[op.kind](self, op)
        self.asm.loc = op.loc
        if result and not keep:
            self.asm.emit("POP_TOP")
        elif keep and not result and op.kind not in (NEWCELL, FREECELL):
            self.constant(None)

    def unpacking(self, op: Op) -> None:
        """Unpack to the slots of the items."""
        self.asm.loc = op.loc
        write_items(self, op)
        for item in self.stacking.unpackings[op]:
            self.store(None if item is None else self.slots.of.get(item))


def _is_in(callee: Any, table: Any) -> bool:
    try:
        return callee is not None and callee in table
    except TypeError:
        return False


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _PLAIN)


# -- operations that are no calls ----------------------------------------------------------------
def _global(e: Encoder, op: Op) -> bool:
    if op.attr == "__build_class__":
        e.asm.emit("LOAD_BUILD_CLASS")
    else:
        e.target.load_global(e.name(op.attr), False)
    return True


def _closure(e: Encoder, op: Op) -> bool:
    spec = op.attr
    ends = (spec.ncells, spec.ndefaults, len(spec.kwdefaults))
    cells, rest = op.args[: ends[0]], op.args[ends[0] :]
    defaults, rest = rest[: ends[1]], rest[ends[1] :]
    kwdefaults, annotations = rest[: ends[2]], rest[ends[2] :]
    flags = 0
    if defaults:
        flags |= 1
        _tuple(e, defaults)
    if kwdefaults:
        flags |= 2
        e.push([x for k, v in zip(spec.kwdefaults, kwdefaults) for x in (Const(k), v)])
        e.asm.emit("BUILD_MAP", len(kwdefaults))
    if spec.annotations:
        flags |= 4
        _tuple(e, annotations)
    if cells:
        flags |= 8
        e.push(cells)
        e.asm.emit("BUILD_TUPLE", len(cells))
    e.asm.emit("LOAD_CONST", e.const_index(spec.code))
    e.target.make_function(flags)
    return True


def _tuple(e: Encoder, xs: Sequence[Operand]) -> None:
    if all(isinstance(x, Const) for x in xs):
        e.constant(tuple(x.value for x in xs if isinstance(x, Const)))
    else:
        e.push(xs)
        e.asm.emit("BUILD_TUPLE", len(xs))


def _new_cell(e: Encoder, op: Op) -> bool:
    slot, content = e.slots.of[op.result], op.args[0]
    if isinstance(content, Undef):
        e.clear(slot)
    elif not isinstance(content, Value) or e.slots.of.get(content) != slot:
        e.push([content])
        e.store(slot)
    e.asm.emit("MAKE_CELL", slot)
    e.stored.add(slot)
    return False


def _get_cell(e: Encoder, op: Op) -> bool:
    e.asm.emit("LOAD_DEREF", e.slots.of[op.args[0]])  # type: ignore[index]
    return True


def _set_cell(e: Encoder, op: Op) -> bool:
    cell, content = op.args
    slot = e.slots.of[cell]  # type: ignore[index]
    if isinstance(content, Undef):
        e.asm.emit("DELETE_DEREF", slot)
    else:
        e.push([content])
        e.asm.emit("STORE_DEREF", slot)
    return False


def _slot_get(e: Encoder, op: Op) -> bool:
    slot = e.slots.mutable(op.attr)
    if op in e.empty:
        e.target.load_checked(slot)
    else:
        e.asm.emit("LOAD_FAST", slot)
    return True


def _slot_set(e: Encoder, op: Op) -> bool:
    slot, content = e.slots.mutable(op.attr), op.args[0]
    if isinstance(content, Undef):
        if op in e.empty:
            e.constant(None)
            e.asm.emit("STORE_FAST", slot)
        e.asm.emit("DELETE_FAST", slot)
    elif not isinstance(content, Value) or e.slots.of.get(content) != slot:
        e.push(op.args)
        e.asm.emit("STORE_FAST", slot)
    return False


def _nothing(e: Encoder, op: Op) -> bool:
    return False


_STRUCTURAL = {
    GLOBAL: _global,
    CLOSURE: _closure,
    NEWCELL: _new_cell,
    FREECELL: _nothing,
    GETCELL: _get_cell,
    SETCELL: _set_cell,
    SLOTGET: _slot_get,
    SLOTSET: _slot_set,
    CUT: _nothing,
    YIELD: write_yield,
    DELEGATE: write_delegation,
    AWAIT: write_delegation,
}
