"""How a primitive gets machine code: the registry, failure, and array values taken apart.

A primitive's maker is called with the number of its operands and with those that are constants; it
returns a typer (argument types -> signature, None if it takes no such arguments) and a code
generator, Numba's two halves of a function. What can fail is given a `Frame` in place of Numba's
context. To fail is to write the site's number and the operands at the call's frame and to leave;
the caller re-raises what the Python primitive raises for these operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.np.numpy_support import from_dtype

from ..ir.core import Const, Operand, Undef, Value, const_key
from .frame import OPERANDS, SITE

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
    """A primitive specialised to its constants; ``kept``: the positions of its other operands."""

    typer: Typer
    codegen: Codegen
    kept: tuple[int, ...]
    fails: bool


PRIMITIVES: dict[Any, Primitive] = {}
VIEWS: set[Any] = set()
"""Primitives whose result shares the memory of their first operand without counting it."""
_made: dict[tuple[Any, ...], Native] = {}


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
    """``prim`` for these IR operands."""
    make, statics, fails = PRIMITIVES[prim]
    constants = tuple(operands[i].value for i in statics if i < len(operands))
    none = frozenset(
        i
        for i, x in enumerate(operands)
        if i not in statics and isinstance(x, Const) and x.value is None
    )
    kept = tuple(i for i in range(len(operands)) if i not in statics and i not in none)
    key = (prim, len(operands), tuple(map(_constant_key, constants)), none)
    if key not in _made:
        extra = {"none": none} if none else {}
        _made[key] = Native(*make(len(kept), *constants, **extra), kept, fails)
    return _made[key]


def _constant_key(c: Any) -> Any:
    return ("hash", c) if isinstance(c, np.dtype | types.Type) else const_key(c)


class Frame:
    """The context of a primitive that can fail: Numba's own as ``cx``, and how to fail.

    ``operands`` are what is left behind, pairs of type and value; ``leave`` ends the block, going
    where the function returns `LEFT_BY_FAILURE`."""

    def __init__(
        self,
        cx: Any,
        builder: Any,
        address: Any,
        site: int,
        operands: Sequence[tuple[Any, Any]],
        leave: Callable[[], None],
    ) -> None:
        self.cx, self.builder, self.address, self.site = cx, builder, address, site
        self.operands, self.leave = operands, leave

    def fail_if(self, condition: Any) -> None:
        """Leave the compiled function if ``condition``."""
        with self.builder.if_then(condition, likely=False):
            self.fail()

    def fail(self) -> None:
        """Leave the compiled function; nothing can be emitted after it in this block."""
        b = self.builder
        words = [I64(self.site)]
        words += [w for t, v in self.operands for w in encode(self.cx, b, t, v)]
        slots = b.inttoptr(self.address, I64.as_pointer())
        for k, word in enumerate(words[: 1 + OPERANDS]):
            b.store(word, b.gep(slots, [I64(SITE + k)], inbounds=True))
        self.leave()


def encode(cx: Any, builder: Any, type: Any, value: Any) -> list[Any]:
    """The operand of a failure as 64-bit words, an array as its shape. Read by `backend.sites`."""
    if isinstance(type, types.Array):
        return arr_of(cx, builder, type, value).shape
    if isinstance(type, types.Complex):
        part = type.underlying_float
        return [encode(cx, builder, part, builder.extract_value(value, k))[0] for k in (0, 1)]
    if isinstance(type, types.Float):
        wide = value if type == types.float64 else builder.fpext(value, ir.DoubleType())
        return [builder.bitcast(wide, I64)]
    if value.type == I64:
        return [value]
    signed = isinstance(type, types.Integer) and type.signed
    return [(builder.sext if signed else builder.zext)(value, I64)]


# -- array values ----------------------------------------------------------------------------------
class Arr(NamedTuple):
    """The fields of an array value: ``data`` a typed pointer, strides in bytes."""

    type: Any
    value: Any
    meminfo: Any
    data: Any
    shape: list[Any]
    strides: list[Any]


def arr_of(cx: Any, builder: Any, type: Any, value: Any) -> Arr:
    """An array value taken apart: where it was made, or else here. Done right after the value's
    definition (`emit` does), it serves all later uses."""
    if not hasattr(value, "taken_apart"):
        model = cx.data_model_manager[type]

        def field(name: str) -> Any:
            return builder.extract_value(value, model.get_field_position(name))

        shape, strides = field("shape"), field("strides")
        value.taken_apart = Arr(
            type,
            value,
            field("meminfo"),
            field("data"),
            [builder.extract_value(shape, k) for k in range(type.ndim)],
            [builder.extract_value(strides, k) for k in range(type.ndim)],
        )
    return value.taken_apart._replace(type=type)


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
    value.taken_apart = Arr(
        type, value, fields["meminfo"], fields["data"], list(shape), list(strides)
    )
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
    """The address of an element; the innermost step is the itemsize where the layout says so.

    A constant added to the innermost subscript moves the array's begin instead: neighbours in a
    loop (``x[i - 1]``, ``x[i]``) then have nothing in common that would tempt LLVM to carry an
    element from one iteration to the next, which costs vector code more than a load."""
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
    innermost, shift = _without_constant(outer[-1][0])
    outer[-1] = innermost, outer[-1][1]
    offset = outer[0][0]
    for k, n in outer[1:]:
        offset = builder.add(builder.mul(offset, n, flags=["nsw"]), k, flags=["nsw"])
    if not shift:
        return builder.gep(arr.data, [offset], inbounds=True)
    return builder.gep(builder.gep(arr.data, [I64(shift)]), [offset])  # maybe outside, halfway


def _without_constant(x: Any) -> tuple[Any, int]:
    """``(y, k)`` where ``x`` is an addition ``y + k`` of a constant, else ``(x, 0)``."""
    name = getattr(x, "opname", None)
    if name in ("add", "sub") and isinstance(x.operands[1], ir.Constant):
        k = x.operands[1].constant
        return (x.operands[0], k if name == "add" else -k) if isinstance(k, int) else (x, 0)
    return x, 0


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


def value_type(v: Value) -> Any:
    """The Numba type of a value; what has none (a store, say) is None."""
    return types.none if v.type is None else plain(v.type)


def operand_type(x: Operand, expected: Any = None) -> Any:
    """The Numba type of an operand, where ``expected`` says what an undefined one would be."""
    if isinstance(x, Value):
        return value_type(x)
    if isinstance(x, Undef):
        return plain(next(t for t in (x.type, expected, types.none) if t is not None))
    return types.none if x.value is None else plain(typeof(x.value))


def plain(type: Any) -> Any:
    """``type`` without what Numba knows of its value."""
    return types.unliteral(type)
