"""Formulas of `flops`: how many operations a call of a function does.

Products of matrices are 2mnk, as LAPACK counts; factorisations are to leading order (Golub & Van
Loan, Matrix Computations, 4th ed.). The routines of BLAS and LAPACK and what
`scipy.linalg` makes of them go by name, so that SciPy need not be there. All are counts of real
operations; what one is for complex numbers is said by `of_complex`.
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


def _dot(a: Any, b: Any, *rest: Any, **kw: Any) -> float:
    """Over the last axis of ``a`` and the last but one of ``b``, for each of the others."""
    a, b = np.asarray(a), np.asarray(b)
    if not (a.ndim and b.ndim):
        return max(a.size, b.size)
    return 2 * a.size * b.size / a.shape[-1]


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


def _batch(a: Any) -> int:
    """How many matrices there are."""
    return math.prod(np.asarray(a).shape[:-2])


def _columns(a: Any, b: Any) -> float:
    """The right-hand sides of one matrix."""
    return 1 if np.ndim(b) == 1 else np.shape(b)[-1]


def _substitution(a: Any, b: Any, *rest: Any, **kw: Any) -> float:
    """With one triangular matrix."""
    return _batch(a) * _n(a) ** 2 * _columns(a, b)


def _both_substitutions(factors: Any, b: Any, *rest: Any, **kw: Any) -> float:
    return 2 * _substitution(factors[0], b)


def _solve(a: Any, b: Any, *rest: Any, **kw: Any) -> float:
    several = max(_batch(a), _batch(b) if np.ndim(b) > 2 else 1)
    return _batch(a) * 2 * _n(a) ** 3 / 3 + several * 2 * _n(a) ** 2 * _columns(a, b)


def _lu(a: Any, *rest: Any, **kw: Any) -> float:
    m, n = sorted(np.asarray(a).shape[-2:], reverse=True)
    return _batch(a) * (m * n**2 - n**3 / 3)


def _cube(factor: float) -> Callable[..., float]:
    return lambda a, *rest, **kw: factor * _batch(a) * _n(a) ** 3


def _qr(a: Any, *rest: Any, **kw: Any) -> float:
    m, n = np.asarray(a).shape[-2:]
    return _batch(a) * (2 * n**2 * (m - n / 3) if m >= n else 2 * m**2 * (n - m / 3))


def _svd(a: Any, *rest: Any, **kw: Any) -> float:
    n, m = sorted(np.asarray(a).shape[-2:])
    return _batch(a) * (4 * m**2 * n + 8 * m * n**2 + 9 * n**3)


def _reduction(x: Any, *rest: Any, axis: Any = None, **kw: Any) -> float:
    """One addition less than there are elements, for each sum."""
    if kw.get("where", True) is not True:
        raise TypeError("not counted")
    x = np.asarray(x)
    axis = rest[0] if rest else axis
    chosen = range(x.ndim) if axis is None else np.atleast_1d(axis)
    length = math.prod(x.shape[int(k)] for k in chosen)
    return x.size - x.size // length if length else 0


def _norm(x: Any, ord: Any = None, *rest: Any, **kw: Any) -> float:
    if ord is not None:
        raise TypeError("not counted")
    return 2 * np.size(x)


def _between(factor: float, ends: int) -> Callable[..., float]:
    """So many for each item of a list, but for the ends."""
    return lambda xs, *rest, **kw: max(factor * len(xs) - ends, 0)


def _each(factor: float) -> Callable[..., float]:
    """So many for each element of the first argument."""
    return lambda x, *rest, **kw: factor * np.size(x)


def _pairs(factor: float) -> Callable[..., float]:
    """So many for each pair of elements."""
    return lambda x, y, *rest, **kw: factor * np.size(x) * np.size(y)


FORMULAS: dict[Any, Callable[..., float]] = {
    **dict.fromkeys((operator.matmul, operator.imatmul, np.matmul), _product),
    np.dot: _dot, np.linalg.norm: _norm, math.dist: _between(3, 0),
    np.tensordot: _contraction, np.einsum: _einsum, np.kron: _pairs(1), np.vdot: _each(2),
    np.inner: lambda a, b: 2 * np.size(a) * np.size(b) / _n(a), np.outer: _pairs(1),
    np.linalg.solve: _solve, np.linalg.inv: _cube(2), np.linalg.det: _cube(2 / 3),
    np.linalg.slogdet: _cube(2 / 3), np.linalg.cholesky: _cube(1 / 3), np.linalg.qr: _qr,
    np.linalg.svd: _svd, np.linalg.eigh: _cube(9), np.linalg.eig: _cube(25),
    np.sum: _reduction, np.prod: _reduction, np.cumsum: _reduction, np.cumprod: _reduction,
    np.mean: _each(1), np.var: _each(4), np.std: _each(4),
    np.trace: lambda a, **kw: min(np.shape(a)) - 1,
}  # fmt: skip

if hasattr(math, "sumprod"):
    FORMULAS[math.sumprod] = _between(2, 1)
if hasattr(np, "vecdot"):
    FORMULAS[np.vecdot] = lambda a, b, *r, **kw: (
        2 * math.prod(np.broadcast_shapes(np.shape(a), np.shape(b)))
    )

_ADDS = (np.sum, np.cumsum, np.mean, np.trace, np.var, np.std)
_MULTIPLIES = (np.prod, np.cumprod, np.outer, np.kron)


def of_complex(f: Any) -> int:
    """How many real operations one of the formula is, for complex numbers: 4 where there are as
    many additions as multiplications."""
    name = getattr(f, "__name__", "")
    if f in _MULTIPLIES or name.endswith("scal"):
        return 6
    return 2 if f in _ADDS or name.endswith("asum") else 4


SCIPY: dict[str, Callable[..., float]] = {
    "solve": _solve, "inv": _cube(2), "det": _cube(2 / 3), "lu": _lu, "lu_factor": _lu,
    "lu_solve": _both_substitutions, "cholesky": _cube(1 / 3), "cho_factor": _cube(1 / 3),
    "cho_solve": _both_substitutions, "solve_triangular": _substitution, "qr": _qr, "svd": _svd,
    "eigh": _cube(9), "eig": _cube(25), "norm": _norm,
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
