"""Machine code for the primitives of scalars, indices and array elements.

Importing this module completes the registry of `native_core`. A loop over `load` and `store` of an
array whose layout is known is bare address arithmetic, so LLVM vectorises it.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing import signature
from numba.np.arrayobj import load_item, store_item
from numba.np.numpy_support import from_dtype

from . import (  # noqa: F401  (they register theirs)
    native_arrays,
    native_decompositions,
    native_linalg,
    native_tape,
)
from . import prims as p
from .native_core import I64, arr_of, element_pointer, native, plain

INT = types.int64


def ints(n: int) -> Any:
    """The typer of n integers to an integer."""
    return lambda context, *args: signature(INT, *[INT] * n)


# -- indices ---------------------------------------------------------------------------------------
def _wrapped(b: Any, i: Any, n: Any) -> Any:
    return b.select(b.icmp_signed("<", i, I64(0)), b.add(i, n, flags=["nsw"]), i)


@native(p.index, 2, fails=True)
def _index(n: int, axis: int = 0) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        k = _wrapped(b, *args)
        frame.fail_if(b.icmp_unsigned(">=", k, args[1]))
        return k

    return ints(2), codegen


@native(p.wrap)
def _wrap(n: int) -> Any:
    return ints(2), lambda cx, b, sig, args: _wrapped(b, *args)


def _bounds(b: Any, step: Any, n: Any) -> tuple[Any, Any, Any]:
    """Of a slice: whether it goes down, and the least and greatest clipped ends."""
    down = b.icmp_signed("<", step, I64(0))
    low = b.select(down, I64(-1), I64(0))
    return down, low, b.add(n, low)


def _clipped(b: Any, i: Any, n: Any, low: Any, high: Any) -> Any:
    k = _wrapped(b, i, n)
    k = b.select(b.icmp_signed("<", k, low), low, k)
    return b.select(b.icmp_signed(">", k, high), high, k)


@native(p.slice_start, fails=True)
def _slice_start(n: int, none: frozenset[int] = frozenset()) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        step, size = (I64(1) if 1 in none else args[-2]), args[-1]
        frame.fail_if(b.icmp_signed("==", step, I64(0)))
        down, low, high = _bounds(b, step, size)
        if 0 in none:
            return b.select(down, high, low)
        return _clipped(b, args[0], size, low, high)

    return ints(n), codegen


@native(p.slice_count, fails=True)
def _slice_count(n: int, none: frozenset[int] = frozenset()) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        rest = iter(args)
        start, stop, step, size = (None if k in none else next(rest) for k in range(4))
        step = I64(1) if step is None else step
        frame.fail_if(b.icmp_signed("==", step, I64(0)))
        down, low, high = _bounds(b, step, size)
        first = b.select(down, high, low) if start is None else _clipped(b, start, size, low, high)
        last = b.select(down, low, high) if stop is None else _clipped(b, stop, size, low, high)
        span = b.select(down, b.sub(first, last), b.sub(last, first))
        size_of_step = b.select(down, b.neg(step), step)
        count = b.add(b.sdiv(b.sub(span, I64(1)), size_of_step), I64(1))
        return b.select(b.icmp_signed(">", span, I64(0)), count, I64(0))

    return ints(n), codegen


@native(p.unit)
def _unit(n: int) -> Any:
    typer = lambda context, size: signature(types.boolean, INT)  # noqa: E731
    return typer, lambda cx, b, sig, args: cx.get_constant(types.boolean, False)


@native(p.likely)
def _likely(n: int) -> Any:
    typer = lambda context, c: signature(types.boolean, types.boolean)  # noqa: E731
    return typer, lambda cx, b, sig, args: args[0]


# -- elements --------------------------------------------------------------------------------------
@native(p.dim, 1)
def _dim(n: int, axis: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        return arr_of(cx, b, sig.args[0], args[0]).shape[axis]

    return lambda context, x: signature(INT, x), codegen


@native(p.load)
def _load(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        x = arr_of(cx, b, sig.args[0], args[0])
        return load_item(cx, b, x.type, element_pointer(cx, b, x, args[1:]))

    def typer(context: Any, x: Any, *idx: Any) -> Any:
        return signature(x.dtype, x, *[INT] * len(idx)) if x.ndim == len(idx) else None

    return typer, codegen


@native(p.store)
def _store(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        x = arr_of(cx, b, sig.args[0], args[0])
        store_item(cx, b, x.type, args[1], element_pointer(cx, b, x, args[2:]))
        return cx.get_dummy_value()

    def typer(context: Any, x: Any, v: Any, *idx: Any) -> Any:
        if x.ndim != len(idx) or not x.mutable or not context.can_convert(plain(v), x.dtype):
            return None
        return signature(types.none, x, x.dtype, *[INT] * len(idx))

    return typer, codegen


# -- scalars ---------------------------------------------------------------------------------------
def _part(k: int) -> Any:
    def make(n: int) -> Any:
        def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
            if isinstance(sig.args[0], types.Complex):
                return b.extract_value(args[0], k)
            return args[0] if k == 0 else ir.Constant(args[0].type, 0)

        def typer(context: Any, x: Any) -> Any:
            x = plain(x)
            return signature(x.underlying_float if isinstance(x, types.Complex) else x, x)

        return typer, codegen

    return make


native(p.real)(_part(0))
native(p.imag)(_part(1))


@native(p.plus)
def _plus(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        if isinstance(sig.return_type, types.Float):
            return b.fadd(*args, flags=["reassoc"])
        return cx.get_function(operator.add, sig)(b, args)

    def typer(context: Any, s: Any, x: Any) -> Any:
        return signature(plain(s), plain(s), plain(s)) if plain(s) == plain(x) else None

    return typer, codegen


def _division(op: Any) -> Any:
    """Numba's own operation of two numbers, after a check that the second is not zero."""

    def make(n: int) -> Any:
        def resolved(context: Any, *args: Any) -> Any:
            found = context.resolve_function_type(op, tuple(map(plain, args)), {})
            return signature(found.return_type, *found.args)

        def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
            zero = frame.cx.get_constant_null(sig.args[1])
            kind = sig.args[1]
            frame.fail_if(frame.cx.get_function(operator.eq, signature(types.boolean, kind, kind))(
                b, (args[1], zero)
            ))  # fmt: skip
            return frame.cx.get_function(op, sig)(b, args)

        return resolved, codegen

    return make


native(p.pydiv, fails=True)(_division(operator.truediv))
native(p.pyfloordiv, fails=True)(_division(operator.floordiv))
native(p.pymod, fails=True)(_division(operator.mod))


@native(p.select)
def _select(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        return b.select(args[0], args[1], args[2])

    def typer(context: Any, c: Any, x: Any, y: Any) -> Any:
        both = context.unify_types(plain(x), plain(y))
        return None if both is None else signature(both, types.boolean, both, both)

    return typer, codegen


@native(p.cast, 0)
def _cast(n: int, type: Any) -> Any:
    to = type if isinstance(type, types.Type) else from_dtype(np.dtype(type))

    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        return cx.cast(b, args[0], sig.args[0], to)

    def typer(context: Any, x: Any) -> Any:
        lossy = isinstance(plain(x), types.Complex) and not isinstance(to, types.Complex)
        return None if lossy else signature(to, plain(x))

    return typer, codegen


@native(p.pack)
def _pack(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        return impl_ret_borrowed(
            cx, b, sig.return_type, cx.make_tuple(b, sig.return_type, list(args))
        )

    def typer(context: Any, *xs: Any) -> Any:
        xs = tuple(map(plain, xs))
        return signature(types.Tuple(xs), *xs)

    return typer, codegen
