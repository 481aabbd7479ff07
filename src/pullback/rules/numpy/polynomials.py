"""Polynomials by their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from ..registry import body
from ..types import ndim


def _sliced(k: int, part: str) -> str:
    return "[" + ":, " * k + part + "]"


@body(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    y = x * 0 + p[0]
    for i in range(1, len(p)):
        y = y * x + p[i]
    return y


@body(polynomial.polyval)
def polynomial_polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    y = x * 0 + c[len(c) - 1]
    for i in range(len(c) - 2, -1, -1):
        y = c[i] + y * x
    return y


def _trimmed(c: Any) -> Any:
    """Without zeros at the end, but one coefficient at least."""
    n = len(c)
    while n > 1 and c[n - 1] == 0:
        n -= 1
    return c[:n]


@body(polynomial.polyadd)
def polyadd(c1: Any, c2: Any) -> Any:
    a, b = _trimmed(np.asarray(c1)), _trimmed(np.asarray(c2))
    out = np.zeros(max(len(a), len(b)), (a[:1] * b[:1] * 1.0).dtype)
    out[: len(a)] += a
    out[: len(b)] += b
    return _trimmed(out)


@body(polynomial.polysub)
def polysub(c1: Any, c2: Any) -> Any:
    return polyadd(c1, -np.asarray(c2))


@body(polynomial.polymul)
def polymul(c1: Any, c2: Any) -> Any:
    return np.convolve(c1, c2)


@body.typed(np.vander)
def _(x: Any, N: Any = None, increasing: Any = None) -> Any:
    return _vander if ndim(x) == 1 else None


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    n = x.shape[0] if N is None else N
    out = np.empty((x.shape[0], n), x.dtype)
    for i in range(x.shape[0]):
        power = x.dtype.type(1)
        for j in range(n):
            out[i, j if increasing else n - 1 - j] = power
            power = power * x[i]
    return out
