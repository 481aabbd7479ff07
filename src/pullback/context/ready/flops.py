"""``Flops``: floating-point operations counted by formula, and the bytes they move.

Conventions: an addition, multiplication or division of real numbers is one, and so is a power or a
function such as ``exp``; comparisons are none. A complex addition is 2, a multiplication 6, a
division 11. What has a formula of its own is in `formulas`; what has none and got floating-point
arrays is listed in ``uncounted``, so that a count is known to be whole.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from typing import Any

import numpy as np

from ..context import Context
from .formulas import formula_of, of_complex
from .trace import name_of

ARITHMETIC: dict[Any, str] = {
    **dict.fromkeys((operator.add, operator.iadd, operator.sub, operator.isub), "add"),
    **dict.fromkeys((np.add, np.subtract), "add"),
    **dict.fromkeys((operator.mul, operator.imul, np.multiply), "mul"),
    **dict.fromkeys((operator.truediv, operator.itruediv, np.divide), "div"),
}
ONE_EACH = {operator.neg, abs, operator.pow, operator.ipow, operator.floordiv, operator.mod,
            operator.ifloordiv, operator.imod, np.negative, np.absolute, np.maximum,
            np.minimum, np.power, np.square}  # fmt: skip
FREE = {np.isnan, np.isfinite, np.isinf, np.sign, np.floor, np.ceil, np.rint, np.trunc, math.floor,
        np.conjugate, np.positive, np.copysign,
        math.copysign, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite}  # fmt: skip
COMPLEX = {"add": 2, "mul": 6, "div": 11}


class Flops(Context):
    """Counts. ``total`` flops, ``by_function``, ``bytes`` read and written by the operations that
    were counted (of arrays; scalars are in registers), ``intensity`` = flops per byte, and
    ``uncounted``: calls that compute with arrays and have no formula.

    >>> count = Flops()
    >>> x, y = np.ones(100), np.ones(100)
    >>> _ = count.overdub(lambda a, x, y: a * x + y, 2.0, x, y)
    >>> count.total, count.bytes
    (200.0, 4000)
    """

    def __init__(self, **filters: Any) -> None:
        super().__init__(**filters)
        self.by_function: Counter[str] = Counter()
        self.uncounted: Counter[str] = Counter()
        self.bytes = 0

    @property
    def total(self) -> float:
        return float(sum(self.by_function.values()))

    @property
    def intensity(self) -> float:
        return self.total / self.bytes if self.bytes else math.inf

    def posthook(self, out: Any, f: Any, /, *args: Any, **kw: Any) -> None:
        if any(f is g for g in FOLDS):
            return  # counted as it runs
        f, args, kw = function_and_inputs(f, args, kw)
        try:
            flops = count(out, f, args, kw)
        except (TypeError, ValueError, IndexError):
            flops = None  # a call that has no formula, or a callable that cannot be looked up
        if flops is None:
            floats = any(isinstance(x, np.ndarray) and x.dtype.kind in "fc" for x in args)
            if floats and not self.can_recurse(f):
                self.uncounted[name_of(f)] += 1
        elif flops:
            self.add(name_of(f), flops, (*args, *kw.values(), out))

    def add(self, name: str, flops: float, moved: tuple[Any, ...]) -> None:
        self.by_function[name] += flops  # type: ignore[assignment]
        self.bytes += sum(x.nbytes for x in moved if isinstance(x, np.ndarray))

    def __str__(self) -> str:
        rows = [f"{n:14.6g}  {name}" for name, n in self.by_function.most_common()]
        return "\n".join([*rows, f"{self.total:14.6g}  flops, {self.bytes} bytes"])


def _folded(f: Any, kind: str) -> None:
    """Have the items counted that ``f`` adds or multiplies, before an iterator of them is gone."""

    @Flops.primitive(f)
    def _(ctx: Flops, xs: Any, /, *args: Any, **kw: Any) -> Any:
        xs = xs if hasattr(xs, "__len__") else list(xs)
        out = ctx.recurse(f, xs, *args, **kw)
        dtype = np.asarray(out).dtype.kind if isinstance(out, _NUMERIC) else ""
        if dtype in ("f", "c"):
            steps = max(len(xs) - 1 + bool(args or kw), 0) * np.size(out)
            moved = tuple(xs) if np.ndim(out) else (xs,)
            ctx.add(f.__name__, steps * (COMPLEX[kind] if dtype == "c" else 1), moved)
        return out


def function_and_inputs(f: Any, args: Any, kw: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """``x.sum()`` as ``np.sum(x)``, and without the array that the result is written to."""
    owner = getattr(f, "__self__", None)
    if isinstance(owner, np.ndarray):
        name = f.__name__
        function = getattr(operator if name.startswith("__") else np, name, None)
        f, args = (f if function is None else function), (owner, *args)
    if isinstance(f, np.ufunc):
        args = args[: f.nin]
    return f, args, {k: v for k, v in kw.items() if k != "out"}


def count(out: Any, f: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> float | None:
    """The flops of one call; 0 for what does not compute with floating-point numbers, None for what
    is not known."""
    values = (*out, *args) if isinstance(out, tuple) else (out, *args)
    kinds = {np.asarray(x).dtype.kind for x in values if isinstance(x, _NUMERIC)}
    formula = formula_of(f)
    if formula is not None:
        real = formula(*args, **kw)
        return real * (of_complex(f) if "c" in kinds else 1) if kinds & {"f", "c"} else 0
    if isinstance(getattr(f, "__self__", None), np.ufunc):
        return _of_method(out, f, args, kw, "c" in kinds) if kinds & {"f", "c"} else 0
    if not kinds & {"f", "c"} or f in FREE or not isinstance(out, _NUMERIC):
        return None if _computes(f) else 0
    if np.asarray(out).dtype.kind not in "fc":
        return None if _computes(f) else 0  # a comparison
    size = np.size(out)
    if "where" in kw:
        size = int(np.count_nonzero(np.broadcast_to(kw["where"], np.shape(out))))
    if f in ARITHMETIC:
        return size * (COMPLEX[ARITHMETIC[f]] if "c" in kinds else 1)
    if isinstance(f, np.ufunc) and f.signature is not None:
        return None
    if f in ONE_EACH or isinstance(f, np.ufunc) or getattr(f, "__module__", "") == "math":
        return size
    return None if _computes(f) else 0


def _of_method(out: Any, f: Any, args: Any, kw: dict[str, Any], complex: bool) -> float | None:
    """``np.add.reduce`` and its like."""
    one = COMPLEX.get(ARITHMETIC.get(f.__self__, ""), 1) if complex else 1
    if f.__name__ == "outer":
        return np.size(out) * one
    if f.__name__ not in ("reduce", "accumulate"):
        return None
    x, axis = np.asarray(args[0]), args[1] if len(args) > 1 else kw.get("axis", 0)
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    length = math.prod(x.shape[int(k)] for k in axes)
    return (x.size - x.size // length) * one if length else 0


_COMPUTING = ("numpy.linalg", "numpy.fft", "scipy")
_COMPUTING_NAMES = (
    "convolve", "correlate", "cross", "diff", "gradient", "interp", "trapz", "trapezoid", "cov",
    "corrcoef", "polyfit", "polyval", "average", "median", "percentile", "quantile", "nansum",
    "nanmean", "nanvar", "nanstd", "ediff1d", "divmod",
)  # fmt: skip


def _computes(f: Any) -> bool:
    """Whether a function that has no formula does arithmetic."""
    module = getattr(f, "__module__", None) or ""
    if module.startswith(_COMPUTING) or type(f).__name__ == "fortran":
        return True
    return module.startswith("numpy") and getattr(f, "__name__", "") in _COMPUTING_NAMES


_NUMERIC = (float, complex, np.generic, np.ndarray)

FOLDS: dict[Any, str] = {sum: "add", math.fsum: "add", math.prod: "mul"}
for _f, _kind in FOLDS.items():
    _folded(_f, _kind)
