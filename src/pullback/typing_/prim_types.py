"""Result types of the primitives: one small function each, from the abstract arguments.

Operands cast to a fixed type (indices, dimensions, stored elements) say so in `OPERANDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..runtime import prims
from .lattice import BOOL, COMPLEX, FLOAT, INT, NONE, ATuple, AVal, scalar_kind

Args = tuple[Any, ...]


def as_type(const: Any) -> Any:
    """The Numba type that a constant names: a Numba type, a dtype, a scalar class or a name."""
    if isinstance(const, types.Type):
        return const
    return numpy_support.from_dtype(np.dtype(const))


def array(dtype: Any, ndim: int, layout: str) -> AVal:
    return AVal(types.Array(dtype, ndim, "C" if ndim == 0 else layout))


def _like(t: Any, ndim: int, layout: str, dtype: Any = None) -> AVal:
    """A view of an array of type ``t``."""
    return AVal(
        types.Array(dtype or t.dtype, ndim, layout, readonly=not t.mutable, aligned=t.aligned)
    )


def _allocated(a: Args) -> AVal:
    ndim = len(a) - 2
    return array(as_type(a[0].const), ndim, a[1].const if ndim > 1 else "C")


def _heap_allocated(a: Args) -> AVal:
    return _allocated(a[1:])


def _own(a: Args) -> AVal:
    t = a[0].type
    return array(t.dtype, t.ndim, "F" if t.layout == "F" else "C")


def _same_layout(a: Args) -> AVal:
    t = a[0].type
    return AVal(types.Array(t.dtype, t.ndim, t.layout, aligned=t.aligned))


def _contiguous(a: Args) -> AVal:
    t = a[0].type
    return AVal(t) if t.layout == "C" else array(t.dtype, t.ndim, "C")


def _subview(a: Args) -> AVal:
    t, spec = a[0].type, a[1].const
    layout = prims.subview_layout(t.layout, t.ndim, spec)
    return _like(t, prims.subview_ndim(t.ndim, spec), layout)


def _transpose(a: Args) -> AVal:
    t = a[0].type
    return _like(t, t.ndim, prims.transpose_layout(t.layout, tuple(a[1].const)))


def _part_view(a: Args) -> AVal:
    t = a[0].type
    return _like(t, t.ndim, "A", _part_type(t.dtype))


def _part_type(t: Any) -> Any:
    return getattr(t, "underlying_float", t)


def _part(a: Args) -> AVal:
    t = _part_type(a[0].type)
    return AVal(t, py=a[0].py)


def _division(a: Args) -> AVal:
    kinds = {scalar_kind(x.type) for x in a}
    return COMPLEX if "c" in kinds else FLOAT


def _floor_division(a: Args) -> AVal:
    kinds = {scalar_kind(x.type) for x in a}
    return FLOAT if "f" in kinds else INT


def _matmul(a: Args) -> AVal:
    x, y = a[0].type, a[1].type
    ndim = x.ndim + y.ndim - 2
    return AVal(x.dtype) if ndim == 0 else array(x.dtype, ndim, "C")


def _matrix(a: Args) -> AVal:
    return array(a[0].type.dtype, 2, "C")


def _solve(a: Args) -> AVal:
    return array(a[0].type.dtype, a[1].type.ndim, "C")


def _scalar_of(a: Args) -> AVal:
    return AVal(a[0].type.dtype)


def _slogdet(a: Args) -> ATuple:
    dtype = a[0].type.dtype
    return ATuple((AVal(dtype), AVal(_part_type(dtype))))


def _cast(a: Args) -> AVal:
    return AVal(as_type(a[0].const), py=a[1].py)


def _constant_int(_: Args) -> AVal:
    return INT


PRIM_TYPES: dict[Any, Callable[[Args], Any]] = {
    prims.index: _constant_int,
    prims.wrap: _constant_int,
    prims.slice_start: _constant_int,
    prims.slice_count: _constant_int,
    prims.dim: _constant_int,
    prims.unit: lambda a: BOOL,
    prims.likely: lambda a: BOOL,
    prims.empty: _allocated,
    prims.zeros: _allocated,
    prims.load: lambda a: AVal(a[0].type.dtype),
    prims.store: lambda a: NONE,
    prims.subview: _subview,
    prims.transpose: _transpose,
    prims.reshape: lambda a: _like(a[0].type, len(a) - 1, "C"),
    prims.real_view: _part_view,
    prims.imag_view: _part_view,
    prims.same_layout_zeros: _same_layout,
    prims.contiguous: _contiguous,
    prims.overlap_copy: lambda a: AVal(a[0].type),
    prims.own: _own,
    prims.instead_of_view: lambda a: AVal(a[0].type),
    prims.real: _part,
    prims.imag: _part,
    prims.plus: lambda a: AVal(a[0].type),
    prims.pydiv: _division,
    prims.pyfloordiv: _floor_division,
    prims.pymod: _floor_division,
    prims.cast: _cast,
    prims.record: _constant_int,
    prims.unrecord: _constant_int,
    prims.poke: lambda a: NONE,
    prims.peek: lambda a: AVal(as_type(a[2].const)),
    prims.nbytes_of: _constant_int,
    prims.heap_empty: _heap_allocated,
    prims.heap_zeros: _heap_allocated,
    prims.heap_zeros_like: lambda a: _same_layout(a[1:]),
    prims.heap_own: lambda a: _same_layout(a[1:]),
    prims.assign: lambda a: NONE,
    prims.accumulate: lambda a: NONE,
    prims.product: lambda a: NONE,
    prims.add_product: lambda a: NONE,
    prims.null: lambda a: AVal(as_type(a[0].const)),
    prims.matmul: _matmul,
    prims.solve: _solve,
    prims.inv: _matrix,
    prims.det: _scalar_of,
    prims.slogdet: _slogdet,
    prims.logabsdet: lambda a: AVal(_part_type(a[0].type.dtype)),
    prims.detsign: _scalar_of,
    prims.cholesky: _matrix,
    prims.eig: _matrix,
    prims.eigh: _matrix,
    prims.svd: _matrix,
    prims.svd_full: _matrix,
    prims.qr: _matrix,
    prims.lstsq: _matrix,
    prims.pinv: _matrix,
}

INTEGERS: dict[Any, int] = {
    prims.index: 0,
    prims.wrap: 0,
    prims.slice_start: 0,
    prims.slice_count: 0,
    prims.unit: 0,
    prims.empty: 2,
    prims.zeros: 2,
    prims.load: 1,
    prims.store: 2,
    prims.subview: 2,
    prims.reshape: 1,
    prims.heap_empty: 3,
    prims.heap_zeros: 3,
}
"""Primitives whose operands from this position on are integers, and must be."""

STATIC: dict[Any, tuple[int, ...]] = {
    prims.empty: (0, 1),
    prims.zeros: (0, 1),
    prims.dim: (1,),
    prims.subview: (1,),
    prims.transpose: (1,),
    prims.cast: (0,),
    prims.peek: (2,),
    prims.nbytes_of: (0,),
    prims.heap_empty: (1, 2),
    prims.heap_zeros: (1, 2),
}
"""Operands that must be constants."""

PRIMS = set(PRIM_TYPES) | {prims.pack, prims.select}
TRUE_OR_FALSE = BOOL
