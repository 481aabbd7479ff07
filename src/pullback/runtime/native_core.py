"""How a primitive gets machine code: the registry, failure, and array values taken apart.

A primitive's maker is called with its constant operands and the number of the others; it returns a
typer (argument types -> signature) and a code generator, Numba's two halves of an intrinsic. What
can fail takes two operands more, before the others: the frame (address of the call's
`memory.Memory` header) and a site number. To fail is to write the site and the operands there and
to leave: the caller re-raises what the Python primitive raises for these operands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from ..ir.core import Const, const_key
from .frame import SITE

Typer = Callable[..., Any]
Codegen = Callable[[Any, Any, Any, Sequence[Any]], Any]
Maker = Callable[..., tuple[Typer, Codegen]]

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
LEFT_BY_FAILURE = -7  # an error code that Numba's own calling convention does not use


class Primitive(NamedTuple):
    """The maker of a primitive, which operand positions are constants, and whether it can fail."""

    make: Maker
    statics: tuple[int, ...]
    fails: bool


class Native(NamedTuple):
    """A primitive specialised to its constants: what Numba calls, and the operands left."""

    fn: Any
    operands: tuple[Any, ...]
    fails: bool


PRIMITIVES: dict[Any, Primitive] = {}
_made: dict[tuple[Any, ...], tuple[Any, Typer]] = {}


def native(prim: Any, *statics: int, fails: bool = False) -> Callable[[Maker], Maker]:
    """Register the maker of ``prim``; ``statics`` are the positions of its constant operands.

    A maker takes the number of the other operands, then the constants. An operand that is None is
    always constant: it is passed by keyword ``none``, the set of such positions, if there are any.
    """

    def register(make: Maker) -> Maker:
        PRIMITIVES[prim] = Primitive(make, statics, fails)
        return make

    return register


def specialise(prim: Any, operands: Sequence[Any]) -> Native:
    """``prim`` for these IR operands: the intrinsic, and the operands it still takes."""
    entry, key, kept = _split(prim, operands)
    return Native(_make(key, entry)[0], tuple(operands[i] for i in kept), entry.fails)


def result_type(context: Any, prim: Any, operands: Sequence[Any], argtypes: Sequence[Any]) -> Any:
    """The Numba type of a primitive's result, from its operands (for constants) and their types."""
    entry, key, kept = _split(prim, operands)
    sig = _make(key, entry)[1](context, *(argtypes[i] for i in kept))
    return None if sig is None else sig.return_type


def _split(prim: Any, operands: Sequence[Any]) -> tuple[Primitive, tuple[Any, ...], list[int]]:
    entry = PRIMITIVES[prim]
    none = tuple(
        i
        for i, x in enumerate(operands)
        if isinstance(x, Const) and x.value is None and i not in entry.statics
    )
    kept = [i for i in range(len(operands)) if i not in entry.statics and i not in none]
    constants = tuple(operands[i].value for i in entry.statics if i < len(operands))
    return entry, (prim, len(kept), constants, none), kept


def _make(key: tuple[Any, ...], entry: Primitive) -> tuple[Any, Typer]:
    prim, n, constants, none = key
    memo = (prim, n, tuple(_constant_key(c) for c in constants), none)
    if memo not in _made:
        extra = {"none": frozenset(none)} if none else {}
        typer, codegen = entry.make(n, *constants, **extra)
        _made[memo] = (make_intrinsic(prim.__name__, n, typer, codegen, entry.fails), typer)
    return _made[memo]


def _constant_key(c: Any) -> Any:
    return ("hash", c) if isinstance(c, np.dtype | types.Type) else const_key(c)


def make_intrinsic(name: str, n: int, typer: Typer, codegen: Codegen, fails: bool) -> Any:
    """A Numba intrinsic of n operands; of two more before them, frame and site, if it can fail."""

    def resolve(context: Any, *argtypes: Any) -> Any:
        sig = typer(context, *(argtypes[2:] if fails else argtypes))
        if sig is None:
            return None
        if not fails:
            return sig, codegen
        full = signature(sig.return_type, types.int64, types.int64, *sig.args)

        def fallible(cx: Any, builder: Any, full: Any, args: Sequence[Any]) -> Any:
            frame = Frame(cx, builder, args[0], args[1], sig.args, args[2:])
            return codegen(frame, builder, sig, args[2:])

        return full, fallible

    count = n + 2 if fails else n
    resolve.__name__ = resolve.__qualname__ = name
    names = ["context", *(f"a{i}" for i in range(count))]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    resolve.__signature__ = inspect.Signature([inspect.Parameter(p, kind) for p in names])  # type: ignore[attr-defined]
    return intrinsic(resolve)


class Frame:
    """The context of a primitive that can fail: Numba's target context, and how to fail."""

    def __init__(self, cx: Any, builder: Any, address: Any, site: Any, argtypes: Any, args: Any):
        self.cx, self.builder, self.address, self.site = cx, builder, address, site
        self.operands = list(zip(argtypes, args, strict=True))

    def fail_if(self, condition: Any) -> None:
        """Leave the compiled function if ``condition``, with the operands left at the frame."""
        with self.builder.if_then(condition, likely=False):
            self.fail()

    def fail(self) -> None:
        b = self.builder
        slots = b.inttoptr(self.address, I64.as_pointer())
        words = [w for t, v in self.operands for w in encode(b, t, v)]
        for k, word in enumerate([self.site, *words]):
            b.store(word, b.gep(slots, [I64(SITE + k)]))
        b.ret(I32(LEFT_BY_FAILURE))


def words_of(type: Any) -> int:
    """How many words of the frame an operand takes when a primitive fails; arrays take none."""
    if isinstance(type, types.Complex):
        return 2
    return 0 if isinstance(type, types.Array) else 1


def encode(builder: Any, type: Any, value: Any) -> list[Any]:
    """The operand of a failure as 64-bit words."""
    if isinstance(type, types.Array):
        return []
    if isinstance(type, types.Complex):
        part = type.underlying_float
        return [encode(builder, part, builder.extract_value(value, k))[0] for k in (0, 1)]
    if isinstance(type, types.Float):
        wide = value if type == types.float64 else builder.fpext(value, ir.DoubleType())
        return [builder.bitcast(wide, I64)]
    if value.type == I64:
        return [value]
    signed = isinstance(type, types.Integer) and type.signed
    return [(builder.sext if signed else builder.zext)(value, I64)]


# -- array values ----------------------------------------------------------------------------------
class Arr:
    """The fields of an array value: ``data`` a typed pointer, ``shape`` and ``strides`` lists."""

    def __init__(self, cx: Any, builder: Any, type: Any, value: Any) -> None:
        model = cx.data_model_manager[type]

        def field(name: str) -> Any:
            return builder.extract_value(value, model.get_field_position(name))

        self.type, self.value = type, value
        self.meminfo, self.data = field("meminfo"), field("data")
        shape, strides = field("shape"), field("strides")
        self.shape = [builder.extract_value(shape, k) for k in range(type.ndim)]
        self.strides = [builder.extract_value(strides, k) for k in range(type.ndim)]


def make_arr(
    cx: Any,
    builder: Any,
    type: Any,
    data: Any,
    shape: Sequence[Any],
    strides: Sequence[Any],
    meminfo: Any = None,
) -> Any:
    """An array value. Without ``meminfo`` it is not counted: somebody else owns the memory."""
    model = cx.data_model_manager[type]
    nitems = I64(1)
    for n in shape:
        nitems = builder.mul(nitems, n, flags=["nsw"])
    null = ir.Constant(I8.as_pointer(), None)
    fields = dict(
        meminfo=null if meminfo is None else meminfo,
        parent=null,
        nitems=nitems,
        itemsize=I64(itemsize(cx, type)),
        data=builder.bitcast(data, cx.get_data_type(type.dtype).as_pointer()),
        shape=cgutils.pack_array(builder, list(shape), I64),
        strides=cgutils.pack_array(builder, list(strides), I64),
    )
    value = ir.Constant(model.get_value_type(), ir.Undefined)
    for name, content in fields.items():
        value = builder.insert_value(value, content, model.get_field_position(name))
    return value


def itemsize(cx: Any, type: Any) -> int:
    return int(cx.get_abi_sizeof(cx.get_data_type(type.dtype)))


def dense_strides(cx: Any, builder: Any, type: Any, shape: Sequence[Any], order: str) -> list[Any]:
    """Strides in bytes of a contiguous array."""
    steps = [I64(itemsize(cx, type))]
    for n in shape[:0:-1] if order == "C" else shape[:-1]:
        steps.append(builder.mul(steps[-1], n, flags=["nsw"]))
    steps = steps[: len(shape)]
    return steps[::-1] if order == "C" else steps


def element_pointer(cx: Any, builder: Any, arr: Arr, idx: Sequence[Any]) -> Any:
    """The address of an element; the innermost step is the itemsize where the layout says so."""
    if not idx:
        return arr.data
    if arr.type.layout == "A":
        offset = I64(0)
        for k, stride in zip(idx, arr.strides, strict=True):
            offset = builder.add(offset, builder.mul(k, stride, flags=["nsw"]), flags=["nsw"])
        base = builder.bitcast(arr.data, I8.as_pointer())
        return builder.bitcast(builder.gep(base, [offset], inbounds=True), arr.data.type)
    outer = list(zip(idx, arr.shape, strict=True))
    if arr.type.layout == "F":
        outer.reverse()
    offset = outer[0][0]
    for k, n in outer[1:]:
        offset = builder.add(builder.mul(offset, n, flags=["nsw"]), k, flags=["nsw"])
    return builder.gep(arr.data, [offset], inbounds=True)


def array_type(dtype: Any, ndim: int, order: str) -> Any:
    """The type of a fresh array; dtype a NumPy or Numba one."""
    scalar = dtype if isinstance(dtype, types.Type) else from_dtype(np.dtype(dtype))
    return types.Array(scalar, ndim, "C" if ndim < 2 else order)


def like(type: Any, ndim: int, layout: str, dtype: Any = None) -> Any:
    """The type of a view of an array of ``type``."""
    return types.Array(
        type.dtype if dtype is None else dtype,
        ndim,
        layout,
        readonly=not type.mutable,
        aligned=type.aligned,
    )


def plain(type: Any) -> Any:
    """``type`` without what Numba knows of its value."""
    return types.unliteral(type)
