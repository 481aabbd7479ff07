"""``Flops``: floating-point operations counted by formula, and the bytes they move.

Conventions: an addition, multiplication or division of real numbers is one, and so is a power or a
function such as ``exp``; comparisons are none. A complex addition is 2, a multiplication 6, a
division 11. Products of matrices are 2mnk, as LAPACK counts; factorisations are to leading order
(Golub & Van Loan, Matrix Computations, 4th ed.).
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import Context
from .trace import name_of

ARITHMETIC: dict[Any, str] = {
    **dict.fromkeys((operator.add, operator.iadd, operator.sub, operator.isub), "add"),
    **dict.fromkeys((np.add, np.subtract), "add"),
    **dict.fromkeys((operator.mul, operator.imul, np.multiply), "mul"),
    **dict.fromkeys((operator.truediv, operator.itruediv, np.divide), "div"),
}
ONE_EACH = {operator.neg, abs, operator.pow, operator.ipow, np.negative, np.absolute, np.maximum,
            np.minimum, np.power, np.square}  # fmt: skip
FREE = {np.isnan, np.isfinite, np.isinf, np.sign, np.floor, np.ceil, np.rint, np.trunc, math.floor,
        math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite}  # fmt: skip
COMPLEX = {"add": 2, "mul": 6, "div": 11}


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


def _solve(a: Any, b: Any, *rest: Any, **kw: Any) -> float:
    n, columns = _n(a), np.asarray(b).size / _n(a)
    return 2 * n**3 / 3 + 2 * n**2 * columns


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


FORMULAS: dict[Any, Callable[..., float]] = {
    **dict.fromkeys((operator.matmul, operator.imatmul, np.matmul, np.dot), _product),
    np.vdot: lambda a, b: 2 * np.size(a),
    np.inner: lambda a, b: 2 * np.size(a) * np.size(b) / _n(a),
    np.outer: lambda a, b, **kw: np.size(a) * np.size(b),
    np.linalg.solve: _solve,
    np.linalg.inv: lambda a: 2 * _n(a) ** 3,
    np.linalg.det: lambda a: 2 * _n(a) ** 3 / 3,
    np.linalg.slogdet: lambda a: 2 * _n(a) ** 3 / 3,
    np.linalg.cholesky: lambda a, **kw: _n(a) ** 3 / 3,
    np.linalg.qr: _qr,
    np.linalg.svd: _svd,
    np.linalg.eigh: lambda a, *r: 9 * _n(a) ** 3,
    np.linalg.eig: lambda a: 25 * _n(a) ** 3,
    np.sum: _reduction,
    np.prod: _reduction,
    np.mean: lambda x, *r, **kw: np.size(x),
    np.cumsum: _reduction,
    sum: lambda xs, *start: max(len(xs) - 1 + len(start), 0) if hasattr(xs, "__len__") else 0,
}


class Flops(Context):
    """Counts. ``total`` flops, ``by_function``, ``bytes`` read and written by the operations that
    were counted (of arrays; scalars are in registers), ``intensity`` = flops per byte.

    >>> count = Flops()
    >>> x, y = np.ones(100), np.ones(100)
    >>> _ = count.overdub(lambda a, x, y: a * x + y, 2.0, x, y)
    >>> count.total, count.bytes
    (200.0, 4000)
    """

    def __init__(self, **filters: Any) -> None:
        super().__init__(**filters)
        self.by_function: Counter[str] = Counter()
        self.bytes = 0

    @property
    def total(self) -> float:
        return float(sum(self.by_function.values()))

    @property
    def intensity(self) -> float:
        return self.total / self.bytes if self.bytes else math.inf

    def posthook(self, out: Any, f: Any, /, *args: Any, **kw: Any) -> None:
        try:
            flops = count(out, f, args, kw)
        except TypeError:  # a callable that cannot be looked up
            return
        if not flops:
            return
        self.by_function[name_of(f)] += flops  # type: ignore[assignment]
        arrays = [x for x in (*args, *kw.values()) if isinstance(x, np.ndarray)]
        if isinstance(out, np.ndarray):
            arrays.append(out)
        self.bytes += sum(x.nbytes for x in arrays)

    def __str__(self) -> str:
        rows = [f"{n:14.6g}  {name}" for name, n in self.by_function.most_common()]
        return "\n".join([*rows, f"{self.total:14.6g}  flops, {self.bytes} bytes"])


def count(out: Any, f: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> float:
    """The flops of one call; 0 for what does not compute with floating-point numbers."""
    owner = getattr(f, "__self__", None)
    if isinstance(owner, np.ndarray):  # x.sum() is np.sum(x)
        f, args = getattr(np, f.__name__, None), (owner, *args)
    kinds = {np.asarray(x).dtype.kind for x in (out, *args) if isinstance(x, _NUMERIC)}
    if f in FORMULAS:
        real = FORMULAS[f](*args, **kw)
        return real * (4 if "c" in kinds else 1) if kinds & {"f", "c"} or f is sum else 0
    if not kinds & {"f", "c"} or f in FREE or not isinstance(out, _NUMERIC):
        return 0
    if np.asarray(out).dtype.kind not in "fc":
        return 0  # a comparison
    size = np.size(out)
    if f in ARITHMETIC:
        return size * (COMPLEX[ARITHMETIC[f]] if "c" in kinds else 1)
    if f in ONE_EACH or isinstance(f, np.ufunc) or getattr(f, "__module__", "") == "math":
        return size
    return 0


_NUMERIC = (float, complex, np.generic, np.ndarray)
