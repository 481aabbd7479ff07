"""Decompositions of a matrix as leaves: one array each, the factors stacked on each other.

As `linalg`'s, they take real or complex arrays of any layout, write to none, and give a fresh array
of the operand's dtype in C order. What does not converge (a NaN among the elements) is NaN
throughout: the bodies of NumPy's functions make an error of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _nan_unless_convergent(shape: Callable[..., tuple[int, int]]) -> Any:
    """The result is NaN, of that shape, where NumPy says that nothing converged."""

    def decorate(f: Callable[..., Array]) -> Callable[..., Array]:
        @wraps(f)
        def convergent(a: Array, *rest: Any) -> Array:
            try:
                return f(a, *rest)
            except np.linalg.LinAlgError:
                return np.full(shape(a, *rest), np.nan, a.dtype)

        return convergent

    return decorate


def _stacked(a: Array, *parts: Array) -> Array:
    """The parts on each other, to the left, zeros elsewhere."""
    out = np.zeros((sum(len(p) for p in parts), max(p.shape[1] for p in parts)), a.dtype)
    start = 0
    for p in parts:
        out[start : start + len(p), : p.shape[1]] = p
        start += len(p)
    return out


@_nan_unless_convergent(lambda a: (a.shape[0] + 1, a.shape[0]))
def eigh(a: Array) -> Array:
    """Eigenvalues and eigenvectors of the Hermitian matrix with the lower triangle of a (n, n):
    an array (1 + n, n), the eigenvalues, ascending, and below each its vector, a column."""
    w, v = np.linalg.eigh(a)
    return _stacked(a, w[np.newaxis], v)


@_nan_unless_convergent(lambda a: (a.shape[0] + 1, a.shape[0]))
def eig(a: Array) -> Array:
    """Eigenvalues and right eigenvectors of a complex a (n, n): an array (1 + n, n), the
    eigenvalues in no order, and below each its vector, a column of length one."""
    w, v = np.linalg.eig(a)
    return _stacked(a, w[np.newaxis], v)


@_nan_unless_convergent(lambda a: (sum(a.shape) + 1, min(a.shape)))
def svd(a: Array) -> Array:
    """The factors of ``a = U @ diag(s) @ V.conj().T``, a (m, n), k = min(m, n): an array
    (m + 1 + n, k) of U (m, k), s (k), descending, and V (n, k)."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return _stacked(a, u, s[np.newaxis], np.conjugate(vh.T))


@_nan_unless_convergent(lambda a: (sum(a.shape) + 1, max(a.shape)))
def svd_full(a: Array) -> Array:
    """`svd` with unitary U (m, m) and V (n, n): an array (m + 1 + n, max(m, n)), zeros where the
    parts are narrower."""
    u, s, vh = np.linalg.svd(a)
    return _stacked(a, u, s[np.newaxis], np.conjugate(vh.T))


def qr(a: Array) -> Array:
    """The factors of ``a = Q @ R``, a (m, n), k = min(m, n): an array (m + n, k) of Q (m, k) with
    orthonormal columns and the transpose of the upper triangular R (k, n)."""
    q, r = np.linalg.qr(a)
    return _stacked(a, q, r.T)


@_nan_unless_convergent(lambda a, b, rcond: (a.shape[1], b.shape[1]))
def lstsq(a: Array, b: Array, rcond: float) -> Array:
    """The shortest of the x (n, k) for which ``|a @ x - b|`` is least; a (m, n), b (m, k).

    Singular values below ``rcond`` times the largest count as zero; a negative ``rcond`` means the
    rounding unit."""
    return np.ascontiguousarray(np.linalg.lstsq(a, b, rcond)[0])


@_nan_unless_convergent(lambda a, rcond: a.shape[::-1])
def pinv(a: Array, rcond: float) -> Array:
    """The pseudo-inverse (n, m) of a (m, n), ``lstsq(a, eye(m), rcond)``."""
    return np.ascontiguousarray(np.linalg.lstsq(a, np.eye(len(a), dtype=a.dtype), rcond)[0])
