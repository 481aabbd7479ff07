"""Flat typed IR to LLVM: the body of one function.

Blocks become blocks, block parameters phis. A primitive is emitted by its own code generator, any
other call by Numba's implementation for the operand types. Counts of memory are given up where
`ownership` says, also on the way out of a failure, so that nothing leaks.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError

from ..errors import InvalidIR, TypingError
from ..ir.core import (
    CALL,
    CUT,
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Branch,
    Const,
    Edge,
    Jump,
    Op,
    Operand,
    Raise,
    Return,
    Slot,
    Undef,
    Value,
)
from ..runtime import frame as words
from ..runtime import prims, vmath
from ..runtime.native_core import (
    I32,
    I64,
    LEFT_BY_FAILURE,
    PRIMITIVES,
    VIEWS,
    Frame,
    arr_of,
    operand_type,
    plain,
    specialise,
    value_type,
)
from .ownership import Ownership
from .parallel import elementary
from .scopes import Builder, Memory
from .sites import Sites

Typed = tuple[Any, Any]  # a Numba type and an LLVM value of it

CONVERSIONS = {
    builtins.int: types.int64,
    builtins.float: types.float64,
    builtins.bool: types.boolean,
    builtins.complex: types.complex128,
}
NUMBA_NAMES = {
    operator.abs: builtins.abs,
    builtins.pow: operator.pow,
    math.cbrt: np.cbrt,
    math.fmod: np.fmod,
}
_signatures: dict[Any, Any] = {}


def whole(op: Op) -> Operand | None:
    """The operand that the result is part of, uncounted; None if there is none. (A cast of an array
    changes what is known of its layout.)"""
    if op.callee in VIEWS or op.is_call(operator.getitem):
        return op.args[1]
    return op.args[2] if op.is_call(prims.cast) else None


class Body:
    """Emits ``ir`` into an LLVM function whose entry block ``builder`` is at.

    ``frame`` is the address of the call's frame; ``args`` are the values of the parameters, None
    for the tape, which is the frame. ``call`` emits the call of another function of the same unit.
    ``kernels`` are the names of the elementary functions that are called for many numbers at once.
    ``apart``: whether arrays that are parameters share no memory.
    """

    def __init__(
        self,
        ir: IR,
        cx: Any,
        builder: Builder,
        frame: Any,
        args: Sequence[Any],
        restype: Any,
        sites: Sites,
        call: Callable[..., Typed],
        kernels: Collection[str] = (),
        apart: bool = False,
    ) -> None:
        self.ir, self.cx, self.b, self.frame, self.restype = ir, cx, builder, frame, restype
        self.call = call
        self.env: dict[Value, Typed] = {}
        for p, a in zip(ir.args, args, strict=True):
            self.env[p] = (types.int64, frame) if a is None else (value_type(p), a)
        self.sites = sites
        self.kernels, self.used_kernels = kernels, False
        self.ownership = Ownership(ir, self.holds, whole)
        self.alive: set[Value] = set()
        self.slots: dict[Slot, Any] = {}
        self.exits: dict[frozenset[Value], Any] = {}
        self.memory = Memory(ir, builder.function, apart)

    def holds(self, type: Any) -> bool:
        """Whether values of ``type`` hold counts of memory."""
        if type is None or isinstance(type, types.Number | types.Boolean):
            return False
        return bool(self.cx.data_model_manager[plain(type)].contains_nrt_meminfo())

    # -- blocks --------------------------------------------------------------------------------
    def emit(self) -> None:
        function = self.b.function
        order = self.ownership.order
        self.blocks = {n: function.append_basic_block(f"b{n}") for n in order}
        self.phis: dict[int, list[Any]] = {n: [] for n in order}
        self._make_slots()
        self.b.branch(self.blocks[order[0]])
        for n in order[1:]:
            self.b.position_at_end(self.blocks[n])
            for p in self.ir.blocks[n].params:
                phi = self.b.phi(self.cx.get_value_type(value_type(p)))
                self.phis[n].append(phi)
                self.env[p] = value_type(p), phi
        for n in order:
            self.b.position_at_end(self.blocks[n])
            self._block(self.ir.blocks[n])

    def _make_slots(self) -> None:
        for op in self.ir.ops():
            if op.kind in (SLOTGET, SLOTSET) and op.attr not in self.slots:
                kind = plain(op.attr.type)
                place = cgutils.alloca_once(self.b, self.cx.get_value_type(kind))
                self.b.store(self.cx.get_constant_null(kind), place)
                self.slots[op.attr] = place

    def _block(self, block: Block) -> None:
        for p in block.params:
            self._take_apart(p)
        for p in self.ownership.unused(block):
            self.decref(p)
        before = self.ownership.before(block)
        for k, op in enumerate(block.ops):
            if op in self.sites.unread:
                continue
            self.alive = before[k]
            self.op(op)
            self._take_apart(op.result)
            own = self.ownership.owner.get(op.result) is op.result
            ending = before[k] | ({op.result} if own else set())
            for v in sorted(ending - before[k + 1], key=lambda v: v.id):
                self.decref(v)
        self.alive = before[-1]
        self._terminator(block)

    def _take_apart(self, v: Value) -> None:
        """Extract the fields of an array once, where it is defined."""
        kind, value = self.env.get(v, (None, None))
        if isinstance(kind, types.Array):
            arr_of(self.cx, self.b, kind, value)

    def _terminator(self, block: Block) -> None:
        term = block.term
        if isinstance(term, Jump):
            self._cross(block, term.edge)
        elif isinstance(term, Branch):
            kind, cond = self.operand(term.cond)
            then, orelse = (self.b.function.append_basic_block("edge") for _ in range(2))
            self.b.cbranch(self.cx.is_true(self.b, kind, cond), then, orelse)
            for place, edge in ((then, term.then), (orelse, term.orelse)):
                self.b.position_at_end(place)
                self._cross(block, edge)
        elif isinstance(term, Return):
            self._return(term)
        elif isinstance(term, Raise):
            operands = [self.operand(x) for x in self.sites.recipes[term].operands]
            self.failing(self.sites.number[term], operands).fail()
        else:
            raise InvalidIR(f"no machine code for the terminator {term}", loc=term.loc)

    def _cross(self, block: Block, edge: Edge) -> None:
        """Bind the target's parameters, adjust counts, jump."""
        more, ending = self.ownership.crossing(block, edge)
        params = self.ir.blocks[edge.target].params
        values = [
            self.as_type(self.operand(x, value_type(p)), value_type(p))
            for p, x in zip(params, edge.args, strict=True)
        ]
        for k in more:
            self.cx.nrt.incref(self.b, value_type(params[k]), values[k])
        for v in ending:
            self.decref(v)
        for phi, value in zip(self.phis[edge.target], values, strict=True):
            phi.add_incoming(value, self.b.block)
        self.b.branch(self.blocks[edge.target])

    def _return(self, term: Return) -> None:
        value = self.as_type(self.operand(term.value, self.restype), self.restype)
        v = term.value
        own = isinstance(v, Value) and self.ownership.owner.get(v) is v
        if self.holds(self.restype) and not own:
            self.cx.nrt.incref(self.b, self.restype, value)
        self.release(self.alive - ({v} if own else set()))
        result = self.cx.get_return_value(self.b, self.restype, value)
        self.cx.call_conv.return_value(self.b, result)

    # -- operands ------------------------------------------------------------------------------
    def operand(self, x: Operand, expected: Any = None) -> Typed:
        if isinstance(x, Value):
            return self.env[x]
        kind = operand_type(x, expected)
        if kind is types.none:
            return kind, self.cx.get_dummy_value()
        if isinstance(x, Undef):
            return kind, self.cx.get_constant_null(kind)
        return kind, self.cx.get_constant_generic(self.b, kind, x.value)

    def as_type(self, typed: Typed, to: Any) -> Any:
        kind, value = typed
        return value if kind == to else self.cx.cast(self.b, value, kind, to)

    def decref(self, v: Value) -> None:
        self.cx.nrt.decref(self.b, *self.env[v])

    def release(self, values: Iterable[Value]) -> None:
        """Give up what ``values`` and the slots hold, on the way out."""
        for v in sorted(values, key=lambda v: v.id):
            self.decref(v)
        for slot, place in self.slots.items():
            if self.holds(slot.type):
                self.cx.nrt.decref(self.b, plain(slot.type), self.b.load(place))

    # -- operations ----------------------------------------------------------------------------
    def op(self, op: Op) -> None:
        if op.kind == CALL:
            kind, value = self._call(op)
            wanted = value_type(op.result)
            if op.result.type is not None and wanted != kind:
                value = self.as_type((kind, value), wanted)
                kind = wanted
            self.env[op.result] = kind, value
        elif op.kind in (SLOTGET, SLOTSET):
            self._slot(op)
        elif op.kind == CUT:
            self._note_usage()
        else:
            raise InvalidIR(f"no machine code for {op.kind}", loc=op.loc)

    def _slot(self, op: Op) -> None:
        """Read or write a slot, which holds a count of its own."""
        kind, place = plain(op.attr.type), self.slots[op.attr]
        value = old = self.b.load(place)
        if op.kind == SLOTSET:
            value = self.as_type(self.operand(op.args[0], kind), kind)
            self.b.store(value, place)
        else:
            self.env[op.result] = kind, value
        if self.holds(kind):
            self.cx.nrt.incref(self.b, kind, value)
            if op.kind == SLOTSET:
                self.cx.nrt.decref(self.b, kind, old)

    def _call(self, op: Op) -> Typed:
        callee = op.callee
        if callee in PRIMITIVES:
            return self._primitive(op)
        typed = [self.operand(x) for x in op.posargs]
        if hasattr(callee, "flat"):
            return self.call(self, callee, typed)
        if callee is operator.getitem and isinstance(typed[0][0], types.BaseTuple):
            k = op.posargs[1].value  # type: ignore[union-attr]
            return typed[0][0][k], self.b.extract_value(typed[0][1], k)
        if callee in CONVERSIONS and len(typed) == 1:
            return self._convert(CONVERSIONS[callee], typed[0])
        if elementary(op) in self.kernels:
            kind = vmath.width(callee, [t for t, _ in typed], value_type(op.result))
            if kind is not None:
                self.used_kernels = True
                values = [self.as_type(x, kind) for x in typed]
                return kind, vmath.call(self.b, callee, kind, values)
        return self._numba(op, typed)

    def _convert(self, to: Any, typed: Typed) -> Typed:
        if to is types.boolean:
            return to, self.cx.is_true(self.b, *typed)
        return to, self.as_type(typed, to)

    def _primitive(self, op: Op) -> Typed:
        made = specialise(op.callee, op.posargs)
        typed = [self.operand(op.posargs[k]) for k in made.kept]
        sig = made.typer(self.cx.typing_context, *(t for t, _ in typed))
        if sig is None:
            raise self._untyped(op, [t for t, _ in typed])
        values = [self.as_type(x, t) for x, t in zip(typed, sig.args, strict=True)]
        cx = self.cx
        if made.fails:
            operands = list(zip(sig.args, values, strict=True))
            cx = self.failing(self.sites.number[op], operands)
        with self.b.marking(self.memory.of(op)):
            return sig.return_type, made.codegen(cx, self.b, sig, values)

    def failing(self, site: int, operands: Sequence[Typed]) -> Frame:
        alive = frozenset(self.alive)
        return Frame(self.cx, self.b, self.frame, site, operands, lambda: self.leave(alive))

    def leave(self, alive: frozenset[Value]) -> None:
        """Go where the function is left with ``alive`` given up; sites with the same share it."""
        if alive not in self.exits:
            self.exits[alive] = self.b.function.append_basic_block("failed")
            with self.b.goto_block(self.exits[alive]):
                self.release(alive)
                self.b.ret(I32(LEFT_BY_FAILURE))
        self.b.branch(self.exits[alive])

    def _numba(self, op: Op, typed: Sequence[Typed]) -> Typed:
        """A call of something that Numba knows, by its own implementation."""
        callee = NUMBA_NAMES.get(op.callee, op.callee)
        kinds = [t for t, _ in typed]
        if callee is operator.pow and isinstance(op.posargs[1], Const):
            exponent = op.posargs[1].value
            if type(exponent) is int:
                kinds[1] = types.literal(exponent)
        fnty, sig = self._resolve(op, callee, tuple(kinds))
        rest = sig.args[-1] if sig.args else None
        if isinstance(rest, types.StarArgTuple | types.StarArgUniTuple):  # f(first, *rest)
            first = len(sig.args) - 1
            parts = [self.as_type(x, t) for x, t in zip(typed[first:], rest, strict=True)]
            typed = [*typed[:first], (rest, self.cx.make_tuple(self.b, rest, parts))]
        values = [self.as_type(x, plain(t)) for x, t in zip(typed, sig.args)]
        values += [self.cx.get_dummy_value()] * (len(sig.args) - len(values))  # literal defaults
        result = self.cx.get_function(fnty, sig)(self.b, values)
        return plain(sig.return_type), result

    def _resolve(self, op: Op, callee: Any, kinds: tuple[Any, ...]) -> tuple[Any, Any]:
        key = callee, kinds
        if key not in _signatures:
            typing = self.cx.typing_context
            try:
                fnty = typing.resolve_value_type(callee)
                sig = typing.resolve_function_type(fnty, kinds, {})
            except (NumbaError, ValueError) as e:
                raise self._untyped(op, kinds) from e
            if sig is None:
                raise self._untyped(op, kinds)
            if not isinstance(callee, type(operator.add)):  # only builtins are sure to last
                return fnty, sig
            _signatures[key] = fnty, sig
        return _signatures[key]

    def _untyped(self, op: Op, kinds: Sequence[Any]) -> TypingError:
        name = getattr(op.callee, "__name__", repr(op.callee))
        listed = ", ".join(map(str, kinds))
        return TypingError(f"no machine code for {name}({listed})", loc=op.loc)

    def _note_usage(self) -> None:
        """Note how much is on the tape at the cut."""
        b = self.b
        slots = b.inttoptr(self.frame, I64.as_pointer())

        def at(k: int) -> Any:
            return b.gep(slots, [I64(k)], inbounds=True)

        top, begin, below = (b.load(at(k)) for k in NOTED)
        b.store(b.add(b.sub(top, begin), below), at(words.PEAK))


NOTED = (words.TAPE_TOP, words.TAPE_BEGIN, words.TAPE_BELOW)
