"""Matrices of a pattern: identities, diagonals, triangles, grids of coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime import prims
from ..registry import body
from ..source import Writer
from ..types import (
    as_dtype,
    dtype,
    is_tuple,
    known,
    ndim,
)
from .assign import assign, calling
from .create import lengths
from .loops import loops, make, subscript


@body(np.eye)
def eye(N: int, M: Any = None, k: int = 0, dtype: Any = float, order: Any = "C") -> Any:
    columns = N if M is None else M
    out = np.zeros((N, columns), dtype, order)
    for i in range(max(0, -k), min(N, columns - k)):
        out[i, i + k] = 1
    return out


@body(np.identity)
def identity(n: int, dtype: Any = float) -> Any:
    return eye(n, None, 0, dtype)


def _diagonal(v: Any, k: int = 0) -> Any:
    """A diagonal of a matrix: a copy where NumPy has a view."""
    n = max(0, min(v.shape[0] - max(0, -k), v.shape[1] - max(0, k)))
    out = np.empty(n, v.dtype)
    for i in range(n):
        out[i] = v[i + max(0, -k), i + max(0, k)]
    return prims.instead_of_view(out, v)


def _matrix_with_diagonal(v: Any, k: int = 0) -> Any:
    n = v.shape[0] + abs(k)
    out = np.zeros((n, n), v.dtype)
    for i in range(v.shape[0]):
        out[i + max(0, -k), i + max(0, k)] = v[i]
    return out


def _diag_of_array(v: Any, k: int = 0) -> Any:
    return np.diag(np.array(v), k)


@body.typed(np.diag)
def _(v: Any, k: Any = None) -> Any:
    if is_tuple(v):
        return _diag_of_array
    return {1: _matrix_with_diagonal, 2: _diagonal}.get(ndim(v))


@body.typed(np.diagonal)
def _(a: Any, offset: Any = None) -> Any:
    return calling(_diagonal, "a, offset=0", "a, offset") if ndim(a) == 2 else None


@body(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return _matrix_with_diagonal(np.ravel(v), k)


@body.typed(np.trace)
def _(a: Any, offset: Any = None) -> Any:
    return _trace if ndim(a) == 2 else None


def _trace(a: Any, offset: int = 0) -> Any:
    return np.sum(_diagonal(a, offset))


@body(np.tri)
def tri(N: int, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    columns = N if M is None else M
    out = np.zeros((N, columns), dtype)
    for i in range(N):
        for j in range(min(columns, max(0, i + k + 1))):
            out[i, j] = 1
    return out


def _tril(m: Any, k: int = 0) -> Any:
    out = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(min(m.shape[1], max(0, i + k + 1))):
            out[i, j] = m[i, j]
    return out


def _triu(m: Any, k: int = 0) -> Any:
    out = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(max(0, i + k), m.shape[1]):
            out[i, j] = m[i, j]
    return out


@body.typed(np.tril)
def _(m: Any, k: Any = None) -> Any:
    return _tril if ndim(m) == 2 else None


@body.typed(np.triu)
def _(m: Any, k: Any = None) -> Any:
    return _triu if ndim(m) == 2 else None


@body.typed(np.meshgrid)
def _(*xi: Any, indexing: Any = None, sparse: Any = None, copy: Any = None) -> Any:
    if known(sparse, False) or any(ndim(x) != 1 for x in xi):
        return None
    names = [f"x{k}" for k in range(len(xi))]
    axes = list(range(len(xi)))
    if known(indexing, "xy") == "xy" and len(axes) > 1:
        axes[:2] = [1, 0]
    sizes = "".join(f", dim(x{k}, 0)" for k in axes)
    w = Writer()
    with w(f"def meshgrid({', '.join(names)}, indexing='xy', sparse=False, copy=True):"):
        for k in range(len(xi)):
            w(f'y{k} = empty(T{k}, "C"{sizes})')
            column = "".join(", None" for _ in axes[axes.index(k) + 1 :])
            w(f"assign(y{k}, x{k}[:{column}])")
        w(f"return ({', '.join(f'y{k}' for k in range(len(xi)))},)")
    return make("meshgrid", w, assign=assign, **{f"T{k}": dtype(x) for k, x in enumerate(xi)})


@body.typed(np.indices)
def _(dimensions: Any, dtype: Any = None, sparse: Any = None) -> Any:
    sizes, to = lengths(dimensions, "dimensions"), as_dtype(known(dtype, int))
    if sizes is None or to is None or known(sparse, False):
        return None
    rank = len(sizes)
    w = Writer()
    with w("def indices(dimensions, dtype=int, sparse=False):"):
        for k, size in enumerate(sizes):
            w(f"n{k} = {size}")
        w(f'out = empty(TO, "C", {rank}{subscript(rank, "n")})')
        with w.nest(loops(rank)):
            for k in range(rank):
                w(f"store(out, i{k}, {k}{subscript(rank)})")
        w("return out")
    return make("indices", w, TO=to)
