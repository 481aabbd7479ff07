"""Formulas of `flops`: how many operations a call of a function does.

Products of matrices are 2mnk, as LAPACK counts; factorisations are to leading order (Golub & Van
Loan, Matrix Computations, 4th ed.). The routines of BLAS and LAPACK and what
`scipy.linalg` makes of them go by name, so that SciPy need not be there. All are counts of real
operations; `flops` multiplies by 4 for complex numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np


def _n(x: Any) -> int:
    return int(np.asarray(x).shape[-1])


def _product(a: Any, b: Any, *rest: Any, **kw: Any) -> float:
    """2mnk, batches included."""
    a, b = np.asarray(a), np.asarray(b)
    if not (a.ndim and b.ndim):
        return max(a.size, b.size)
    k = a.shape[-1]
    m = a.shape[-2] if a.ndim > 1 else 1
    n = b.shape[-1] if b.ndim > 1 else 1
    batch = math.prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    return 2 * batch * m * n * k


def _contraction(a: Any, b: Any, axes: Any = 2) -> float:
    """``tensordot``: 2mnk, where k is the size of the axes that are summed over."""
    a = np.asarray(a)
    chosen = a.shape[a.ndim - axes :] if isinstance(axes, int) else np.take(a.shape, axes[0])
    return 2 * a.size * np.size(b) / math.prod(map(int, np.atleast_1d(chosen)))


def _einsum(subscripts: Any, *operands: Any, **kw: Any) -> float:
    """By the definition: the products, and the additions to the sums."""
    if not isinstance(subscripts, str) or "." in subscripts or not operands:
        raise TypeError("not counted")
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for names, x in zip(inputs.split(","), operands):
        sizes.update(zip(names, np.shape(x)))
    if "->" not in subscripts:
        output = "".join(k for k in sizes if inputs.count(k) == 1)
    summed = bool(set(sizes) - set(output))
    return math.prod(sizes.values()) * (len(operands) - 1 + summed)


def _columns(a: Any, b: Any) -> float:
    return np.size(b) / _n(a)


def _substitution(a: Any, b: Any, *rest: Any, **kw: Any) -> float:
    """With one triangular matrix."""
    return _n(a) ** 2 * _columns(a, b)


def _both_substitutions(factors: Any, b: Any, *rest: Any, **kw: Any) -> float:
    return 2 * _substitution(factors[0], b)


def _solve(a: Any, b: Any, *rest: Any, **kw: Any) -> float:
    return 2 * _n(a) ** 3 / 3 + 2 * _n(a) ** 2 * _columns(a, b)


def _lu(a: Any, *rest: Any, **kw: Any) -> float:
    m, n = sorted(np.asarray(a).shape[-2:], reverse=True)
    return m * n**2 - n**3 / 3


def _cube(factor: float) -> Callable[..., float]:
    return lambda a, *rest, **kw: factor * _n(a) ** 3


def _qr(a: Any, *rest: Any, **kw: Any) -> float:
    m, n = np.asarray(a).shape[-2:]
    return 2 * n**2 * (m - n / 3) if m >= n else 2 * m**2 * (n - m / 3)


def _svd(a: Any, *rest: Any, **kw: Any) -> float:
    n, m = sorted(np.asarray(a).shape[-2:])
    return 4 * m**2 * n + 8 * m * n**2 + 9 * n**3


def _reduction(x: Any, *rest: Any, axis: Any = None, **kw: Any) -> float:
    """One addition less than there are elements, for each sum."""
    x = np.asarray(x)
    axis = rest[0] if rest else axis
    chosen = range(x.ndim) if axis is None else np.atleast_1d(axis)
    length = math.prod(x.shape[int(k)] for k in chosen)
    return x.size - x.size // length if length else 0


def _each(factor: float) -> Callable[..., float]:
    """So many for each element of the first argument."""
    return lambda x, *rest, **kw: factor * np.size(x)


def _pairs(factor: float) -> Callable[..., float]:
    """So many for each pair of elements."""
    return lambda x, y, *rest, **kw: factor * np.size(x) * np.size(y)


FORMULAS: dict[Any, Callable[..., float]] = {
    **dict.fromkeys((operator.matmul, operator.imatmul, np.matmul, np.dot), _product),
    np.tensordot: _contraction, np.einsum: _einsum, np.kron: _pairs(1), np.vdot: _each(2),
    np.inner: lambda a, b: 2 * np.size(a) * np.size(b) / _n(a), np.outer: _pairs(1),
    np.linalg.solve: _solve, np.linalg.inv: _cube(2), np.linalg.det: _cube(2 / 3),
    np.linalg.slogdet: _cube(2 / 3), np.linalg.cholesky: _cube(1 / 3), np.linalg.qr: _qr,
    np.linalg.svd: _svd, np.linalg.eigh: _cube(9), np.linalg.eig: _cube(25),
    np.sum: _reduction, np.prod: _reduction, np.cumsum: _reduction, np.cumprod: _reduction,
    np.mean: _each(1), np.var: _each(4), np.std: _each(4),
    np.trace: lambda a, **kw: min(np.shape(a)) - 1,
    sum: lambda xs, *start: max(len(xs) - 1 + len(start), 0) if hasattr(xs, "__len__") else 0,
}  # fmt: skip

SCIPY: dict[str, Callable[..., float]] = {
    "solve": _solve, "inv": _cube(2), "det": _cube(2 / 3), "lu": _lu, "lu_factor": _lu,
    "lu_solve": _both_substitutions, "cholesky": _cube(1 / 3), "cho_factor": _cube(1 / 3),
    "cho_solve": _both_substitutions, "solve_triangular": _substitution, "qr": _qr, "svd": _svd,
    "eigh": _cube(9), "eig": _cube(25),
}  # fmt: skip
"""Functions of ``scipy.linalg``."""

ROUTINES: dict[str, Callable[..., float]] = {
    "axpy": _each(2), "dot": _each(2), "dotu": _each(2), "dotc": _each(2), "nrm2": _each(2),
    "asum": _each(1), "scal": lambda a, x, *r, **kw: np.size(x),
    "gemv": lambda alpha, a, *r, **kw: 2 * np.size(a),
    "symv": lambda alpha, a, *r, **kw: 2 * np.size(a),
    "trsv": lambda a, *r, **kw: np.size(a), "trmv": lambda a, *r, **kw: np.size(a),
    "ger": lambda alpha, x, y, *r, **kw: 2 * np.size(x) * np.size(y),
    "gemm": lambda alpha, a, b, *r, **kw: 2 * np.size(a) * _free(b, r, kw),
    "syrk": lambda alpha, a, *r, **kw: np.size(a) * np.shape(a)[1 if kw.get("trans") else 0],
    "trsm": lambda alpha, a, b, *r, **kw: np.size(b) * np.shape(a)[0],
    "getrf": _lu, "potrf": _cube(1 / 3), "geqrf": _qr, "gesv": _solve,
    "getrs": lambda lu, piv, b, *r, **kw: 2 * _substitution(lu, b),
    "potrs": lambda c, b, *r, **kw: 2 * _substitution(c, b),
}  # fmt: skip
"""Routines of BLAS and LAPACK in ``scipy.linalg``, without the letter of their type."""


def _free(b: Any, rest: tuple[Any, ...], kw: dict[str, Any]) -> int:
    """The number of columns of ``op(b)``: ``rest`` is beta, c, trans_a, trans_b."""
    transposed = rest[3] if len(rest) > 3 else kw.get("trans_b", 0)
    return int(np.atleast_2d(b).shape[0 if transposed else 1])


def formula_of(f: Any) -> Callable[..., float] | None:
    """The formula for a callable, if there is one."""
    found = FORMULAS.get(f)
    if found is not None:
        return found
    if type(f).__name__ == "fortran":  # a routine that f2py wrapped: "function daxpy"
        return ROUTINES.get(f.__name__.rpartition(" ")[2][1:])
    if (getattr(f, "__module__", None) or "").startswith("scipy.linalg"):
        return SCIPY.get(f.__name__)
    return None
