"""Machine code for the decompositions: LAPACK's routines, their results stacked in one array."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.typing import signature

from . import prims as p
from .native_arrays import allocate, clear, nbytes_of
from .native_core import (
    I32,
    I64,
    Arr,
    arr_of,
    array_type,
    dense_strides,
    element_pointer,
    itemsize,
    make_arr,
    native,
)
from .native_linalg import copied, free, inexact, lapack, nonzero


# -- parts -----------------------------------------------------------------------------------------
def _scratch(cx: Any, b: Any, dtype: Any, *shape: Any) -> Arr:
    """Fresh memory in LAPACK's order, to be given back with `free`."""
    return _fresh(cx, b, array_type(dtype, len(shape), "F"), shape, "F")


def _fresh(cx: Any, b: Any, type: Any, shape: Sequence[Any], order: str) -> Arr:
    nbytes = I64(itemsize(cx, type))
    for n in shape:
        nbytes = b.mul(nbytes, n)
    return arr_of(cx, b, type, allocate(cx, b, type, list(shape), order, nbytes))


def _result(cx: Any, b: Any, type: Any, *shape: Any) -> Arr:
    """A fresh array of zeros in C order."""
    out = _fresh(cx, b, type, shape, "C")
    clear(b, out.data, nbytes_of(cx, b, out))
    return out


def _window(cx: Any, b: Any, x: Arr, shape: Sequence[Any], strides: Sequence[int]) -> Arr:
    """The elements of ``x`` from its begin on, its axes in the order that ``strides`` names."""
    type = types.Array(x.type.dtype, len(shape), "A")
    moved = make_arr(cx, b, type, x.data, shape, [x.strides[k] for k in strides])
    return arr_of(cx, b, type, moved)


def _place(
    cx: Any, b: Any, src: Arr, out: Arr, row: Any, *, conj: bool = False, upper: bool = False
) -> None:
    """Copy the matrix ``src`` to ``out`` from this row on: its conjugate, or its part where the
    row index is not below the column index. A real one may go to a complex array."""
    dtype, of = out.type.dtype, src.type.dtype
    with cgutils.loop_nest(b, src.shape, I64) as (i, j):
        value = cx.unpack_value(b, of, element_pointer(cx, b, src, [i, j]))
        if isinstance(dtype, types.Complex):
            number = cx.make_complex(b, dtype, None if of != dtype else value)
            if of != dtype:
                number.real = value
                number.imag = cx.get_constant(dtype.underlying_float, 0.0)
            elif conj:
                number.imag = b.fneg(number.imag)
            value = number._getvalue()
        place = element_pointer(cx, b, out, [b.add(row, i), j])
        if upper:
            zero = cx.get_constant_null(dtype)
            value = b.select(b.icmp_signed("<", i, j), zero, value)
        cx.pack_value(b, dtype, value, place)


def _fill_if(cx: Any, b: Any, condition: Any, out: Arr, number: float) -> None:
    with b.if_then(condition, likely=False), cgutils.loop_nest(b, out.shape, I64) as at:
        value = cx.get_constant_generic(b, out.type.dtype, number)
        cx.pack_value(b, out.type.dtype, value, element_pointer(cx, b, out, at))


def _if_finite(cx: Any, b: Any, x: Arr, routine: Callable[[], Any]) -> Any:
    """LAPACK's info, or 1 without a call where an element is infinite or NaN: some routines say
    then that an argument is illegal, which Numba's wrappers make a Python error of."""
    part = _real(x.type.dtype)
    total = cgutils.alloca_once_value(b, cx.get_constant(part, 0.0))
    status = cgutils.alloca_once_value(b, I32(1))
    with cgutils.loop_nest(b, x.shape, I64) as at:
        value = cx.unpack_value(b, x.type.dtype, element_pointer(cx, b, x, at))
        parts = [value]
        if isinstance(x.type.dtype, types.Complex):
            parts = [b.extract_value(value, k) for k in (0, 1)]
        for v in parts:
            b.store(b.fadd(b.load(total), b.fsub(v, v)), total)
    with b.if_then(b.fcmp_ordered("==", b.load(total), cx.get_constant(part, 0.0))):
        b.store(routine(), status)
    return b.load(status)


def _unit(cx: Any, b: Any, out: Arr, row: Any, size: Any) -> None:
    """Ones at ``out[row + i, i]``."""
    with cgutils.for_range(b, size) as loop:
        one = cx.get_constant_generic(b, out.type.dtype, 1.0)
        place = element_pointer(cx, b, out, [b.add(row, loop.index), loop.index])
        cx.pack_value(b, out.type.dtype, one, place)


def _smaller(b: Any, m: Any, n: Any) -> Any:
    return b.select(b.icmp_signed("<", m, n), m, n)


def _larger(b: Any, m: Any, n: Any) -> Any:
    return b.select(b.icmp_signed("<", m, n), n, m)


def _real(dtype: Any) -> Any:
    return getattr(dtype, "underlying_float", dtype)


def _typer(context: Any, a: Any, *rest: Any) -> Any:
    fits = a.ndim == 2 and inexact(a) and all(getattr(x, "ndim", 0) in (0, 2) for x in rest)
    return signature(array_type(a.dtype, 2, "C"), a, *rest) if fits else None


# -- eigenvalues, singular values ------------------------------------------------------------------
@native(p.eigh)
def _eigh(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        a = arr_of(cx, b, sig.args[0], args[0])
        dtype, size = a.type.dtype, a.shape[0]
        out = _result(cx, b, sig.return_type, b.add(size, I64(1)), size)
        with b.if_then(nonzero(b, size)):
            vectors, w = copied(cx, b, a, "F"), _scratch(cx, b, _real(dtype), size)
            info = lapack(cx, b, "numba_ez_xxxevd", dtype, "V", "L", size, vectors, size, w)
            _place(cx, b, _row(cx, b, w), out, I64(0))
            _place(cx, b, vectors, out, I64(1))
            _fill_if(cx, b, nonzero(b, info), out, math.nan)
            free(cx, b, vectors, w)
        return out.value

    return _typer, codegen


@native(p.eig)
def _eig(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        a = arr_of(cx, b, sig.args[0], args[0])
        dtype, size = a.type.dtype, a.shape[0]
        out = _result(cx, b, sig.return_type, b.add(size, I64(1)), size)
        with b.if_then(nonzero(b, size)):
            matrix, w = copied(cx, b, a, "F"), _scratch(cx, b, dtype, size)
            left, vectors = _scratch(cx, b, dtype, I64(1)), _scratch(cx, b, dtype, size, size)
            call = partial(lapack, cx, b, "numba_ez_cgeev", dtype, "N", "V", size, matrix, size)
            info = _if_finite(cx, b, matrix, partial(call, w, left, I64(1), vectors, size))
            _place(cx, b, _row(cx, b, w), out, I64(0))
            _place(cx, b, vectors, out, I64(1))
            _fill_if(cx, b, nonzero(b, info), out, math.nan)
            free(cx, b, matrix, w, left, vectors)
        return out.value

    def typer(context: Any, a: Any) -> Any:
        return _typer(context, a) if isinstance(a.dtype, types.Complex) else None

    return typer, codegen


def _row(cx: Any, b: Any, x: Arr) -> Arr:
    """A vector as a matrix of one row."""
    type = types.Array(x.type.dtype, 2, "C")
    shape = [I64(1), *x.shape]
    value = make_arr(cx, b, type, x.data, shape, dense_strides(cx, b, type, shape, "C"))
    return arr_of(cx, b, type, value)


def _svd(full: bool) -> Any:
    def make(n: int) -> Any:
        def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
            a = arr_of(cx, b, sig.args[0], args[0])
            dtype, (m, n) = a.type.dtype, a.shape
            k = _smaller(b, m, n)
            left, right = (m, n) if full else (k, k)
            below = b.add(m, I64(1))
            out = _result(cx, b, sig.return_type, b.add(below, n), _larger(b, left, right))
            with b.if_else(nonzero(b, k)) as (some, none):
                with some:
                    matrix, s = copied(cx, b, a, "F"), _scratch(cx, b, _real(dtype), k)
                    u, vh = _scratch(cx, b, dtype, m, left), _scratch(cx, b, dtype, right, n)
                    call = partial(lapack, cx, b, "numba_ez_gesdd", dtype, "A" if full else "S")
                    call = partial(call, m, n, matrix, m, s, u, m, vh, right)
                    info = _if_finite(cx, b, matrix, call)
                    _place(cx, b, u, out, I64(0))
                    _place(cx, b, _row(cx, b, s), out, m)
                    v = _window(cx, b, vh, (n, right), (1, 0))
                    _place(cx, b, v, out, below, conj=True)
                    _fill_if(cx, b, nonzero(b, info), out, math.nan)
                    free(cx, b, matrix, s, u, vh)
                with none:
                    if full:
                        _unit(cx, b, out, I64(0), m)
                        _unit(cx, b, out, below, n)
            return out.value

        return _typer, codegen

    return make


native(p.svd)(_svd(False))
native(p.svd_full)(_svd(True))


# -- orthogonal and triangular factor --------------------------------------------------------------
@native(p.qr)
def _qr(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        a = arr_of(cx, b, sig.args[0], args[0])
        dtype, (m, n) = a.type.dtype, a.shape
        k = _smaller(b, m, n)
        out = _result(cx, b, sig.return_type, b.add(m, n), k)
        with b.if_then(nonzero(b, k)):
            matrix, tau = copied(cx, b, a, "F"), _scratch(cx, b, dtype, k)
            lapack(cx, b, "numba_ez_geqrf", dtype, m, n, matrix, m, tau)
            _place(cx, b, _window(cx, b, matrix, (n, k), (1, 0)), out, m, upper=True)
            lapack(cx, b, "numba_ez_xxgqr", dtype, m, k, k, matrix, m, tau)
            _place(cx, b, _window(cx, b, matrix, (m, k), (0, 1)), out, I64(0))
            free(cx, b, matrix, tau)
        return out.value

    return _typer, codegen


# -- least squares ---------------------------------------------------------------------------------
def _least_squares(cx: Any, b: Any, out: Arr, a: Arr, right: Any, rcond: Any) -> None:
    """LAPACK's minimum norm solution; ``right`` writes the right sides."""
    dtype, (m, n), columns = a.type.dtype, a.shape, out.shape[1]
    rows = _larger(b, m, n)
    with b.if_then(nonzero(b, b.mul(b.mul(m, n), columns))):
        matrix, x = copied(cx, b, a, "F"), _scratch(cx, b, dtype, rows, columns)
        clear(b, x.data, nbytes_of(cx, b, x))
        right(x)
        s = _scratch(cx, b, _real(dtype), _smaller(b, m, n))
        rank = _scratch(cx, b, types.int64, I64(1))
        call = partial(lapack, cx, b, "numba_ez_gelsd", dtype, m, n, columns, matrix, m)
        info = _if_finite(cx, b, matrix, partial(call, x, rows, s, rcond, rank))
        _place(cx, b, _window(cx, b, x, (n, columns), (0, 1)), out, I64(0))
        _fill_if(cx, b, nonzero(b, info), out, math.nan)
        free(cx, b, matrix, x, s, rank)


def _double(cx: Any, b: Any, sig: Any, args: Any) -> Any:
    return cx.cast(b, args[-1], sig.args[-1], types.float64)


@native(p.lstsq)
def _lstsq(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        a, rhs = (arr_of(cx, b, t, v) for t, v in zip(sig.args[:2], args[:2], strict=True))
        out = _result(cx, b, sig.return_type, a.shape[1], rhs.shape[1])
        _least_squares(
            cx, b, out, a, lambda x: _place(cx, b, rhs, x, I64(0)), _double(cx, b, sig, args)
        )
        return out.value

    def typer(context: Any, a: Any, rhs: Any, rcond: Any) -> Any:
        return _typer(context, a, rhs, rcond) if a.dtype == rhs.dtype else None

    return typer, codegen


@native(p.pinv)
def _pinv(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        a = arr_of(cx, b, sig.args[0], args[0])
        m = a.shape[0]
        out = _result(cx, b, sig.return_type, a.shape[1], m)
        _least_squares(
            cx, b, out, a, lambda x: _unit(cx, b, x, I64(0), m), _double(cx, b, sig, args)
        )
        return out.value

    return _typer, codegen
