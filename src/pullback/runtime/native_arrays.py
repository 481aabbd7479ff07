"""Machine code for the primitives that make arrays: fresh ones, views, copies."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing import signature
from numba.np.arrayobj import load_item, store_item

from . import prims as p
from .native_core import (
    I8,
    I64,
    VIEWS,
    Arr,
    arr_of,
    array_type,
    dense_strides,
    element_pointer,
    itemsize,
    like,
    make_arr,
    native,
)

INT = types.int64
ALIGNMENT = 64


# -- fresh arrays ----------------------------------------------------------------------------------
def checked_nbytes(frame: Any, b: Any, shape: Sequence[Any], size: int) -> Any:
    """The bytes of an array of ``shape``; fails on negative dimensions and on overflow."""
    total, bad = I64(size), ir.Constant(ir.IntType(1), 0)
    for n in shape:
        product = b.smul_with_overflow(total, n)
        total = b.extract_value(product, 0)
        bad = b.or_(bad, b.extract_value(product, 1))
        bad = b.or_(bad, b.icmp_signed("<", n, I64(0)))
    frame.fail_if(bad)
    return total


def allocate(cx: Any, b: Any, type: Any, shape: Sequence[Any], order: str, nbytes: Any) -> Any:
    """A counted array with undefined elements."""
    meminfo = cx.nrt.meminfo_alloc_aligned(b, nbytes, ALIGNMENT)
    data = cx.nrt.meminfo_data(b, meminfo)
    strides = dense_strides(cx, b, type, shape, order)
    return make_arr(cx, b, type, data, shape, strides, meminfo)


def nbytes_of(cx: Any, b: Any, arr: Arr) -> Any:
    """The bytes that a contiguous array of this shape takes."""
    size = I64(itemsize(cx, arr.type))
    return reduce(lambda m, n: b.mul(m, n, flags=["nsw"]), arr.shape, size)


def clear(b: Any, data: Any, nbytes: Any) -> None:
    cgutils.memset(b, b.bitcast(data, I8.as_pointer()), nbytes, 0)


def fresh_typer(dtype: Any, order: str) -> Any:
    return lambda context, *dims: signature(array_type(dtype, len(dims), order), *[INT] * len(dims))


def _fresh(zero: bool) -> Any:
    def make(n: int, dtype: Any, order: str) -> Any:
        def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
            cx, type = frame.cx, sig.return_type
            nbytes = checked_nbytes(frame, b, args, itemsize(cx, type))
            value = allocate(cx, b, type, args, order, nbytes)
            if zero:
                clear(b, arr_of(cx, b, type, value).data, nbytes)
            return value

        return fresh_typer(dtype, order), codegen

    return make


native(p.empty, 0, 1, fails=True)(_fresh(False))
native(p.zeros, 0, 1, fails=True)(_fresh(True))


# -- views -----------------------------------------------------------------------------------------
def view(
    cx: Any, b: Any, sig: Any, arr: Arr, data: Any, shape: Sequence[Any], strides: Sequence[Any]
) -> Any:
    """An array value that shares ``arr``'s memory; who keeps it counts it."""
    return make_arr(cx, b, sig.return_type, data, shape, strides, arr.meminfo)


VIEWS.update((p.subview, p.transpose, p.reshape, p.real_view, p.imag_view))


@native(p.subview, 1)
def _subview(n: int, spec: str) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        x = arr_of(cx, b, sig.args[0], args[0])
        ints, axis = iter(args[1:]), 0
        start, shape, strides = [I64(0)] * x.type.ndim, [], []
        for step in spec:
            if step == "n":
                shape.append(I64(1))
                strides.append(I64(itemsize(cx, x.type)))
                continue
            stride = x.strides[axis]
            if step == ":":
                shape.append(x.shape[axis])
            else:
                start[axis] = next(ints)
            if step in "us":
                shape.append(next(ints))
            if step == "s":
                stride = b.mul(stride, next(ints), flags=["nsw"])
            if step != "i":
                strides.append(stride)
            axis += 1
        data = element_pointer(cx, b, x, start)
        return view(cx, b, sig, x, data, shape + x.shape[axis:], strides + x.strides[axis:])

    def typer(context: Any, x: Any, *ints: Any) -> Any:
        layout = p.subview_layout(x.layout, x.ndim, spec)
        result = like(x, p.subview_ndim(x.ndim, spec), layout)
        return signature(result, x, *[INT] * len(ints))

    return typer, codegen


@native(p.transpose, 1)
def _transpose(n: int, perm: tuple[int, ...]) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        x = arr_of(cx, b, sig.args[0], args[0])
        shape, strides = [x.shape[k] for k in perm], [x.strides[k] for k in perm]
        return view(cx, b, sig, x, x.data, shape, strides)

    def typer(context: Any, x: Any) -> Any:
        return signature(like(x, x.ndim, p.transpose_layout(x.layout, perm)), x)

    return typer, codegen


@native(p.reshape, fails=True)
def _reshape(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        cx, x, dims = frame.cx, arr_of(frame.cx, b, sig.args[0], args[0]), args[1:]
        size = I64(itemsize(cx, x.type))
        new = checked_nbytes(frame, b, dims, itemsize(cx, x.type))
        old = reduce(b.mul, x.shape, size)
        frame.fail_if(b.icmp_signed("!=", new, old))
        return view(cx, b, sig, x, x.data, dims, dense_strides(cx, b, sig.return_type, dims, "C"))

    def typer(context: Any, x: Any, *dims: Any) -> Any:
        if x.layout != "C":
            return None
        return signature(like(x, len(dims), "C"), x, *[INT] * len(dims))

    return typer, codegen


def _part_view(k: int) -> Any:
    def make(n: int) -> Any:
        def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
            x = arr_of(cx, b, sig.args[0], args[0])
            part = cx.get_data_type(sig.return_type.dtype).as_pointer()
            data = b.gep(b.bitcast(x.data, part), [I64(k)], inbounds=True)
            return view(cx, b, sig, x, data, x.shape, x.strides)

        def typer(context: Any, x: Any) -> Any:
            return signature(like(x, x.ndim, "A", x.dtype.underlying_float), x)

        return typer, codegen

    return make


native(p.real_view)(_part_view(0))
native(p.imag_view)(_part_view(1))


# -- copies ----------------------------------------------------------------------------------------
def copy_elements(cx: Any, b: Any, src: Arr, dst: Arr) -> None:
    """Copy each element; one block if both are contiguous in the same order."""
    order = src.type.layout
    if order == dst.type.layout and order != "A":
        cgutils.raw_memcpy(b, dst.data, src.data, nbytes_of(cx, b, src), 1)
        return
    with cgutils.loop_nest(b, src.shape, I64) as idx:
        value = b.load(element_pointer(cx, b, src, idx), align=1)
        b.store(value, element_pointer(cx, b, dst, idx), align=1)


def _elementwise(combine: Any) -> Any:
    """The primitive of two arrays of one shape that sets dst[idx] to combine(dst, src) of them."""

    def make(n: int) -> Any:
        def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
            dst, src = (arr_of(cx, b, t, v) for t, v in zip(sig.args, args, strict=True))
            combine(cx, b, dst, src)
            return cx.get_dummy_value()

        def typer(context: Any, dst: Any, src: Any) -> Any:
            alike = dst.dtype == src.dtype and dst.ndim == src.ndim and dst.mutable
            return signature(types.none, dst, src) if alike else None

        return typer, codegen

    return make


def _add_elements(cx: Any, b: Any, dst: Arr, src: Arr) -> None:
    dtype = dst.type.dtype
    add = cx.get_function(operator.add, signature(dtype, dtype, dtype))
    with cgutils.loop_nest(b, src.shape, I64) as idx:
        place = element_pointer(cx, b, dst, idx)
        more = load_item(cx, b, src.type, element_pointer(cx, b, src, idx))
        store_item(cx, b, dst.type, add(b, [load_item(cx, b, dst.type, place), more]), place)


native(p.assign)(_elementwise(lambda cx, b, dst, src: copy_elements(cx, b, src, dst)))
native(p.accumulate)(_elementwise(_add_elements))


def fresh_copy(cx: Any, b: Any, x: Arr, type: Any) -> Any:
    """A counted copy; ``type`` has x's dtype and rank, in C order unless its layout is F."""
    order = "F" if type.layout == "F" else "C"
    dense = array_type(type.dtype, type.ndim, order)
    value = allocate(cx, b, dense, x.shape, order, nbytes_of(cx, b, x))
    copy_elements(cx, b, x, arr_of(cx, b, dense, value))
    return value


@native(p.own)
def _own(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        return fresh_copy(cx, b, arr_of(cx, b, sig.args[0], args[0]), sig.return_type)

    def typer(context: Any, x: Any) -> Any:
        return signature(array_type(x.dtype, x.ndim, "F" if x.layout == "F" else "C"), x)

    return typer, codegen


@native(p.contiguous)
def _contiguous(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        x = arr_of(cx, b, sig.args[0], args[0])
        if x.type.layout == "C":
            return impl_ret_borrowed(cx, b, sig.return_type, args[0])
        return fresh_copy(cx, b, x, sig.return_type)

    def typer(context: Any, x: Any) -> Any:
        return signature(x if x.layout == "C" else array_type(x.dtype, x.ndim, "C"), x)

    return typer, codegen


@native(p.same_layout_zeros)
def _same_layout_zeros(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        x, type = arr_of(cx, b, sig.args[0], args[0]), sig.return_type
        strides = matching_strides(cx, b, x)
        nbytes = nbytes_of(cx, b, x)
        meminfo = cx.nrt.meminfo_alloc_aligned(b, nbytes, ALIGNMENT)
        data = cx.nrt.meminfo_data(b, meminfo)
        clear(b, data, nbytes)
        return make_arr(cx, b, type, data, x.shape, strides, meminfo)

    return lambda context, x: signature(like(x, x.ndim, x.layout).copy(readonly=False), x), codegen


def matching_strides(cx: Any, b: Any, x: Arr) -> list[Any]:
    """Strides of a contiguous array in x's memory order, chosen at run time if x's layout is A."""
    if x.type.layout != "A" or x.type.ndim < 2:
        order = "F" if x.type.layout == "F" else "C"
        return dense_strides(cx, b, x.type, x.shape, order)
    first, last = (_magnitude(b, x.strides[k]) for k in (0, -1))
    falling = b.icmp_signed("<", first, last)
    pairs = zip(*(dense_strides(cx, b, x.type, x.shape, o) for o in "FC"), strict=True)
    return [b.select(falling, f, c) for f, c in pairs]


def _magnitude(b: Any, n: Any) -> Any:
    return b.select(b.icmp_signed("<", n, I64(0)), b.neg(n), n)


def extent(cx: Any, b: Any, x: Arr) -> tuple[Any, Any]:
    """The addresses of x's first byte and of the one after its last; equal if it has none."""
    low = high = b.ptrtoint(x.data, I64)
    empty = ir.Constant(ir.IntType(1), 0)
    for n, stride in zip(x.shape, x.strides, strict=True):
        reach = b.mul(b.sub(n, I64(1)), stride)
        down = b.icmp_signed("<", stride, I64(0))
        low = b.add(low, b.select(down, reach, I64(0)))
        high = b.add(high, b.select(down, I64(0), reach))
        empty = b.or_(empty, b.icmp_signed("==", n, I64(0)))
    return low, b.select(empty, low, b.add(high, I64(itemsize(cx, x.type))))


@native(p.overlap_copy)
def _overlap_copy(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        src, dst = (arr_of(cx, b, t, v) for t, v in zip(sig.args, args, strict=True))
        (low1, high1), (low2, high2) = extent(cx, b, src), extent(cx, b, dst)
        apart = b.or_(b.icmp_unsigned("<=", high1, low2), b.icmp_unsigned("<=", high2, low1))
        clash = b.not_(b.or_(apart, _identical(b, src, dst)))
        result = cgutils.alloca_once_value(b, args[0])
        with b.if_else(clash, likely=False) as (overlapping, otherwise):
            with overlapping:
                copied = fresh_copy(cx, b, src, sig.return_type)
                dense = arr_of(cx, b, array_type(src.type.dtype, src.type.ndim, "C"), copied)
                parts = (dense.data, dense.shape, dense.strides, dense.meminfo)
                b.store(make_arr(cx, b, sig.return_type, *parts), result)
            with otherwise:
                cx.nrt.incref(b, src.type, args[0])
        return b.load(result)

    return lambda context, src, dst: signature(src, src, dst), codegen


def _identical(b: Any, x: Arr, y: Arr) -> Any:
    """Whether two views have the same elements at the same places."""
    if x.type.ndim != y.type.ndim:
        return ir.Constant(ir.IntType(1), 0)
    same = b.icmp_unsigned("==", b.ptrtoint(x.data, I64), b.ptrtoint(y.data, I64))
    for u, v in [*zip(x.shape, y.shape, strict=True), *zip(x.strides, y.strides, strict=True)]:
        same = b.and_(same, b.icmp_signed("==", u, v))
    return same
