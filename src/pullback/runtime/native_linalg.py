"""Machine code for the linear algebra leaves: BLAS and LAPACK, called without detours.

Numba compiles NumPy's functions for these from Python (seconds for a first `solve`); here each is a
copy, a call of the wrapper that Numba ships, and a check of what it says.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing import signature
from numba.np.linalg import (
    F_INT_nbtype,
    call_xxdot,
    check_blas_return,
    ensure_blas,
    ensure_lapack,
    get_blas_kind,
    make_constant_slot,
)

from . import prims as p
from .native_arrays import allocate, checked_nbytes, clear, copy_elements, nbytes_of
from .native_core import (
    I8,
    I32,
    I64,
    Arr,
    arr_of,
    array_type,
    element_pointer,
    itemsize,
    native,
    plain,
)

VOID_P = I8.as_pointer()
PIVOT = types.Array(F_INT_nbtype, 1, "C")


def inexact(*xs: Any) -> bool:
    return all(isinstance(x.dtype, types.Float | types.Complex) for x in xs)


def copied(cx: Any, b: Any, x: Arr, order: str) -> Arr:
    """A fresh copy in the given order, to be given back with `free` unless it is the result."""
    type = array_type(x.type.dtype, x.type.ndim, order)
    fresh = arr_of(cx, b, type, allocate(cx, b, type, x.shape, order, nbytes_of(cx, b, x)))
    copy_elements(cx, b, x, fresh)
    return fresh


def free(cx: Any, b: Any, *arrays: Arr) -> None:
    for x in arrays:
        cx.nrt.decref(b, x.type, x.value)


def lapack(cx: Any, b: Any, name: str, dtype: Any, *args: Any) -> Any:
    """Call one of Numba's wrappers: characters are strings, arrays `Arr`, sizes LLVM integers.

    The result is LAPACK's info: 0, or positive if the matrix will not do."""
    ensure_lapack()
    values = [I8(ord(get_blas_kind(dtype)))]
    for a in args:
        if isinstance(a, str):
            values.append(I8(ord(a)))
        else:
            values.append(b.bitcast(a.data, VOID_P) if isinstance(a, Arr) else a)
    fnty = ir.FunctionType(I32, [v.type for v in values])
    return b.call(cgutils.get_or_insert_function(b.module, fnty, name), values)


def nonzero(b: Any, info: Any) -> Any:
    return b.icmp_signed("!=", info, I32(0))


def differ(b: Any, m: Any, n: Any) -> Any:
    return b.icmp_signed("!=", m, n)


# -- products --------------------------------------------------------------------------------------
@native(p.matmul, fails=True)
def _matmul(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        ensure_blas()
        cx = frame.cx
        x, y = (arr_of(cx, b, t, v) for t, v in zip(sig.args, args, strict=True))
        frame.fail_if(differ(b, x.shape[-1], y.shape[0]))
        out_shape = x.shape[:-1] + y.shape[1:]
        if out_shape:
            nbytes = checked_nbytes(frame, b, out_shape, itemsize(cx, sig.return_type))
            out = allocate(cx, b, sig.return_type, out_shape, "C", nbytes)
            _multiply(cx, b, x, y, arr_of(cx, b, sig.return_type, out), 0.0)
            return out
        slot = cgutils.alloca_once_value(b, cx.get_constant_null(sig.return_type))
        with b.if_then(nonzero(b, x.shape[0])), _dense(cx, b, x, y) as (left, right):
            n = x.shape[0]
            call_xxdot(cx, b, False, sig.return_type, n, left.data, right.data, slot)
        return b.load(slot)

    def typer(context: Any, x: Any, y: Any) -> Any:
        if x.dtype != y.dtype or not inexact(x) or not {x.ndim, y.ndim} <= {1, 2}:
            return None
        ndim = x.ndim + y.ndim - 2
        return signature(array_type(x.dtype, ndim, "C") if ndim else x.dtype, x, y)

    return typer, codegen


def _product(b: Any, xs: Sequence[Any]) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = b.mul(total, x)
    return total


@contextmanager
def _dense(cx: Any, b: Any, *arrays: Arr) -> Iterator[list[Arr]]:
    """The arrays, or copies of those that are not contiguous."""
    scratch = [x.type.layout == "A" for x in arrays]
    dense = [copied(cx, b, x, "C") if s else x for x, s in zip(arrays, scratch, strict=True)]
    yield dense
    free(cx, b, *(d for d, s in zip(dense, scratch, strict=True) if s))


def _multiply(cx: Any, b: Any, x: Arr, y: Arr, out: Arr, beta: float) -> None:
    """``out = x @ y + beta * out``, not of two vectors; out in C order. BLAS takes no empty
    matrices: an empty sum is zero."""
    some = nonzero(b, _product(b, [*out.shape, x.shape[-1]]))
    with b.if_else(some) as (then, otherwise):
        with then, _dense(cx, b, x, y) as (left, right):
            if x.type.ndim == y.type.ndim == 2:
                _gemm(cx, b, left, right, out, beta)
            else:
                _gemv(cx, b, left, right, out, beta)
        with otherwise:
            if not beta:
                clear(b, out.data, nbytes_of(cx, b, out))


def _blas(cx: Any, b: Any, name: str, dtype: Any, *args: Any) -> None:
    """Call one of Numba's wrappers: characters are strings, numbers are passed by address."""
    values = [I8(ord(get_blas_kind(dtype)))]
    for a in args:
        if isinstance(a, str):
            values.append(I8(ord(a)))
        elif isinstance(a, float):
            values.append(b.bitcast(make_constant_slot(cx, b, dtype, a), VOID_P))
        else:
            values.append(b.bitcast(a.data, VOID_P) if isinstance(a, Arr) else a)
    fnty = ir.FunctionType(I32, [v.type for v in values])
    function = cgutils.get_or_insert_function(b.module, fnty, name)
    check_blas_return(cx, b, b.call(function, values))


def _gemm(cx: Any, b: Any, x: Arr, y: Arr, out: Arr, beta: float) -> None:
    """BLAS counts columns first, in which order ``out`` is the product of y and x."""
    (m, n), k = out.shape, y.shape[0]
    factors = [(_transposed(z), z, z.shape[1] if z.type.layout == "C" else z.shape[0])
               for z in (y, x)]  # fmt: skip
    (ty, y, ldy), (tx, x, ldx) = factors
    _blas(cx, b, "numba_xxgemm", x.type.dtype, ty, tx, n, m, k, 1.0, y, ldy, x, ldx, beta, out, n)


def _transposed(x: Arr) -> str:
    return "n" if x.type.layout == "C" else "t"


def _gemv(cx: Any, b: Any, x: Arr, y: Arr, out: Arr, beta: float) -> None:
    matrix, vector = (x, y) if x.type.ndim == 2 else (y, x)
    rows, columns = matrix.shape if matrix.type.layout == "F" else matrix.shape[::-1]
    t = "t" if (matrix.type.layout == "C") == (matrix is x) else "n"
    _blas(cx, b, "numba_xxgemv", out.type.dtype, t, rows, columns, 1.0, matrix, rows, vector, beta,
          out)  # fmt: skip


def _into(beta: float) -> Any:
    def make(n: int) -> Any:
        def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
            ensure_blas()
            out, x, y = (arr_of(frame.cx, b, t, v) for t, v in zip(sig.args, args, strict=True))
            shape = (*x.shape[:-1], *y.shape[1:], x.shape[-1])
            for a, c in zip(shape, (*out.shape, y.shape[0]), strict=True):
                frame.fail_if(differ(b, a, c))
            _multiply(frame.cx, b, x, y, out, beta)
            return frame.cx.get_dummy_value()

        def typer(context: Any, out: Any, x: Any, y: Any) -> Any:
            if x.dtype != y.dtype or x.dtype != out.dtype or not inexact(x) or out.layout != "C":
                return None
            fits = out.ndim == x.ndim + y.ndim - 2 and out.ndim > 0 and {x.ndim, y.ndim} <= {1, 2}
            return signature(types.none, out, x, y) if fits and out.mutable else None

        return typer, codegen

    return make


native(p.product, fails=True)(_into(0.0))
native(p.add_product, fails=True)(_into(1.0))


# -- systems ---------------------------------------------------------------------------------------
def pivots(cx: Any, b: Any, n: Any) -> Arr:
    nbytes = b.mul(n, I64(itemsize(cx, PIVOT)))
    return arr_of(cx, b, PIVOT, allocate(cx, b, PIVOT, [n], "C", nbytes))


@native(p.solve, fails=True)
def _solve(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        cx = frame.cx
        a, rhs = (arr_of(cx, b, t, v) for t, v in zip(sig.args, args, strict=True))
        size = a.shape[0]
        frame.fail_if(b.or_(differ(b, size, a.shape[1]), differ(b, size, rhs.shape[0])))
        matrix, x, pivot = copied(cx, b, a, "F"), copied(cx, b, rhs, "F"), pivots(cx, b, size)
        columns = rhs.shape[1] if rhs.type.ndim == 2 else I64(1)
        ld = _at_least_one(b, size)
        info = lapack(cx, b, "numba_xgesv", a.type.dtype, size, columns, matrix, ld, pivot, x, ld)
        free(cx, b, matrix, pivot)
        with b.if_then(nonzero(b, info), likely=False):
            free(cx, b, x)
            frame.fail()
        if rhs.type.ndim == 1:
            return x.value
        result = copied(cx, b, x, "C")
        free(cx, b, x)
        return result.value

    def typer(context: Any, a: Any, rhs: Any) -> Any:
        if a.dtype != rhs.dtype or not inexact(a) or a.ndim != 2 or rhs.ndim not in (1, 2):
            return None
        return signature(array_type(a.dtype, rhs.ndim, "C"), a, rhs)

    return typer, codegen


def _at_least_one(b: Any, n: Any) -> Any:
    return b.select(b.icmp_signed("<", n, I64(1)), I64(1), n)


def square_typer(result: Any) -> Any:
    """The typer of functions of one square matrix; ``result`` maps its dtype to their result."""

    def typer(context: Any, a: Any) -> Any:
        return signature(result(a.dtype), a) if a.ndim == 2 and inexact(a) else None

    return typer


def square_copy(frame: Any, b: Any, sig: Any, args: Any) -> tuple[Arr, Any, Any]:
    """A fresh C-order copy of the square argument, its size, and its leading dimension."""
    a = arr_of(frame.cx, b, sig.args[0], args[0])
    frame.fail_if(differ(b, a.shape[0], a.shape[1]))
    return copied(frame.cx, b, a, "C"), a.shape[0], _at_least_one(b, a.shape[0])


@native(p.inv, fails=True)
def _inv(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        cx, dtype = frame.cx, sig.return_type.dtype
        out, size, ld = square_copy(frame, b, sig, args)  # inv(a.T) is inv(a).T: C order will do
        pivot = pivots(cx, b, size)
        info = lapack(cx, b, "numba_xxgetrf", dtype, size, size, out, ld, pivot)
        status = cgutils.alloca_once_value(b, info)
        with b.if_then(b.not_(nonzero(b, info))):
            b.store(lapack(cx, b, "numba_ez_xxgetri", dtype, size, out, ld, pivot), status)
        free(cx, b, pivot)
        with b.if_then(nonzero(b, b.load(status)), likely=False):
            free(cx, b, out)
            frame.fail()
        return out.value

    return square_typer(lambda dtype: array_type(dtype, 2, "C")), codegen


@native(p.cholesky, fails=True)
def _cholesky(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        cx = frame.cx
        out, size, ld = square_copy(frame, b, sig, args)  # lower in C order is upper for LAPACK
        info = lapack(cx, b, "numba_xxpotrf", out.type.dtype, "U", size, out, ld)
        with b.if_then(nonzero(b, info), likely=False):
            free(cx, b, out)
            frame.fail()
        zero = ir.Constant(out.data.type.pointee, None)
        with cgutils.loop_nest(b, [size, size], I64) as at:
            place = element_pointer(cx, b, out, at)
            b.store(b.select(b.icmp_signed("<", *at), zero, b.load(place)), place)
        return out.value

    return square_typer(lambda dtype: array_type(dtype, 2, "C")), codegen


# -- determinants ----------------------------------------------------------------------------------
class Scalars:
    """Numba's implementations of scalar operations, by the Python function."""

    def __init__(self, cx: Any, b: Any) -> None:
        self.cx, self.b = cx, b

    def __call__(self, fn: Any, result: Any, *typed: tuple[Any, Any]) -> tuple[Any, Any]:
        sig = signature(result, *(t for t, _ in typed))
        return result, self.cx.get_function(fn, sig)(self.b, [v for _, v in typed])

    def cast(self, typed: tuple[Any, Any], to: Any) -> tuple[Any, Any]:
        return to, self.cx.cast(self.b, typed[1], typed[0], to)


def sign_and_log(frame: Any, b: Any, sig: Any, args: Any, dtype: Any) -> tuple[Any, Any]:
    """(sign, log |det|) by the factors L and U: (0, -inf) if one on the diagonal is zero."""
    cx = frame.cx
    size_type = getattr(dtype, "underlying_float", dtype)
    op = Scalars(cx, b)
    lu, size, ld = square_copy(frame, b, sig, args)  # det(a.T) is det(a)
    pivot = pivots(cx, b, size)
    info = lapack(cx, b, "numba_xxgetrf", dtype, size, size, lu, ld, pivot)
    sign = cgutils.alloca_once_value(b, cx.get_constant_generic(b, dtype, 1.0))
    log = cgutils.alloca_once_value(b, cx.get_constant(size_type, 0.0))
    with b.if_else(nonzero(b, info)) as (singular, regular):
        with singular:
            b.store(cx.get_constant_null(dtype), sign)
            b.store(cx.get_constant(size_type, -math.inf), log)
        with regular, cgutils.for_range(b, size) as loop:
            k = loop.index
            entry = dtype, cx.unpack_value(b, dtype, element_pointer(cx, b, lu, [k, k]))
            size_of = op(abs, size_type, entry)
            unit = op(operator.truediv, dtype, entry, op.cast(size_of, dtype))
            other = b.sext(b.load(element_pointer(cx, b, pivot, [k])), I64)
            swapped = b.icmp_signed("!=", other, b.add(k, I64(1)))
            flipped = b.select(swapped, op(operator.neg, dtype, unit)[1], unit[1])
            b.store(op(operator.mul, dtype, (dtype, b.load(sign)), (dtype, flipped))[1], sign)
            more = op(math.log, size_type, size_of)
            b.store(op(operator.add, size_type, (size_type, b.load(log)), more)[1], log)
    free(cx, b, lu, pivot)
    return b.load(sign), b.load(log)


@native(p.det, fails=True)
def _det(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        dtype = sig.return_type
        sign, log = sign_and_log(frame, b, sig, args, dtype)
        size_type = getattr(dtype, "underlying_float", dtype)
        op = Scalars(frame.cx, b)
        size = op.cast(op(math.exp, size_type, (size_type, log)), dtype)
        return op(operator.mul, dtype, (dtype, sign), size)[1]

    return square_typer(plain), codegen


@native(p.slogdet, fails=True)
def _slogdet(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        parts = sign_and_log(frame, b, sig, args, sig.return_type[0])
        return frame.cx.make_tuple(b, sig.return_type, parts)

    def pair(dtype: Any) -> Any:
        return types.Tuple((dtype, getattr(dtype, "underlying_float", dtype)))

    return square_typer(pair), codegen


@native(p.logabsdet, fails=True)
def _logabsdet(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        return sign_and_log(frame, b, sig, args, sig.args[0].dtype)[1]

    return square_typer(lambda dtype: getattr(dtype, "underlying_float", dtype)), codegen


@native(p.detsign, fails=True)
def _detsign(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        return sign_and_log(frame, b, sig, args, sig.return_type)[0]

    return square_typer(plain), codegen
