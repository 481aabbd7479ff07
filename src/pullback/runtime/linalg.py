"""Linear algebra leaves: what `rules` gives derivatives as a whole instead of entering loops.

Arguments are real or complex arrays of one dtype, of any layout; none is written to and each result
is fresh. Failures raise ``numpy.linalg.LinAlgError`` with NumPy's message.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def matmul(a: Array, b: Array) -> Any:
    """``a @ b`` of vectors and matrices: a scalar for (n)·(n), else an array in C order.

    ValueError unless the inner dimensions agree."""
    return np.matmul(a, b)


def product(out: Array, a: Array, b: Array) -> None:
    """``out[...] = a @ b`` of vectors and matrices, not both vectors. ``out`` is in C order, of the
    product's shape, and apart from a and b.

    ValueError unless the inner dimensions agree."""
    np.matmul(a, b, out=out)


def add_product(out: Array, a: Array, b: Array) -> None:
    """``out += a @ b``, as `product`."""
    out += np.matmul(a, b)


def solve(a: Array, b: Array) -> Array:
    """``x`` with ``a @ x == b``; a (n, n), b (n) or (n, k), x of b's shape, in C order."""
    if b.ndim == 1:
        return np.linalg.solve(a, b[:, np.newaxis])[:, 0].copy()
    return np.ascontiguousarray(np.linalg.solve(a, b))


def inv(a: Array) -> Array:
    """The inverse of a (n, n), in C order."""
    return np.ascontiguousarray(np.linalg.inv(a))


def det(a: Array) -> Any:
    """The determinant of a (n, n), a scalar; zero if a is singular, never an error."""
    return np.linalg.det(a)


def slogdet(a: Array) -> tuple[Any, Any]:
    """(sign, log |det|) of a (n, n): two scalars; (0, -inf) if a is singular."""
    sign, logdet = np.linalg.slogdet(a)
    return sign, logdet


def logabsdet(a: Array) -> Any:
    """log |det| of a (n, n), a scalar: the second part of `slogdet`; -inf if a is singular."""
    return np.linalg.slogdet(a)[1]


def detsign(a: Array) -> Any:
    """det / |det| of a (n, n): the first part of `slogdet`; zero if a is singular."""
    return np.linalg.slogdet(a)[0]


def cholesky(a: Array) -> Array:
    """The lower triangular L (n, n) with ``L @ L.conj().T == a``, zeros above, in C order. Only the
    lower triangle of a is read. LinAlgError unless a is positive definite."""
    return np.ascontiguousarray(np.linalg.cholesky(a))
