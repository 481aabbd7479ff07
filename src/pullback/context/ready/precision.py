"""``Precision``: where digits are lost, by running in float32, float64 and longdouble side by side.

Each floating-point result carries what it would be in the two other precisions, computed from what
its operands would be. Decisions and indices are those of float64. A line loses digits where its
result agrees with longdouble's to fewer digits than all of its operands did.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ir.core import Loc
from .. import tags
from ..context import Context
from ..frames import here
from .trace import name_of

EXACT = 17.0
"""Digits of a float64 that agrees with longdouble altogether."""


@dataclass
class Loss:
    """``digits`` that were lost at a line, at worst, and how many were left."""

    loc: Loc
    function: str
    digits: float
    left: float

    def __str__(self) -> str:
        return f"{self.digits:5.1f} lost, {self.left:4.1f} left  {self.function:12} {self.loc}"


class Precision(Context):
    """Follows operators on floats and float arrays, functions of ``math``, NumPy's ufuncs, sums and
    products.

    ``losses()`` are the lines that lost most; ``of(x)`` is ``(float32, float64, longdouble)`` of a
    result. What another function makes starts anew, exact.

    >>> p = Precision()
    >>> y = p.overdub(lambda x: (x + 1.0) - x, 1e10)
    >>> round(p.losses()[0].digits) > 5
    True
    """

    def __init__(self, **filters: Any) -> None:
        super().__init__(**filters)
        self._worst: dict[tuple[str, int], Loss] = {}

    def of(self, x: Any) -> tuple[Any, Any, Any]:
        low, high, _ = self._known(x)
        return low, x, high

    def _known(self, x: Any) -> tuple[Any, Any, Any]:
        """The results in float32 and longdouble, and for an array what it held then: one that was
        changed behind our back starts anew, exact."""
        found = tags.metadata(x, self)
        if found is not None and (found[2] is None or np.array_equal(found[2], x, equal_nan=True)):
            return found
        found = narrow(x), wide(x), x.copy() if isinstance(x, np.ndarray) else None
        if isinstance(x, np.ndarray) and is_real(x):
            tags.tag(x, self, found)
        return found

    def losses(self, least: float = 1.0) -> list[Loss]:
        """Lines that lost at least so many digits, the worst first."""
        return sorted(
            (x for x in self._worst.values() if x.digits >= least), key=lambda x: -x.digits
        )

    def note(self, f: Any, out: Any, exact: Any, given: list[Any]) -> None:
        left = digits(out, exact)
        before = min([digits(x, self.of(x)[2]) for x in given if is_real(x)], default=EXACT)
        lost = before - left
        if lost <= 0:
            return
        loc = here()
        known = self._worst.get((loc.file, loc.line))
        if known is None or lost > known.digits:
            self._worst[loc.file, loc.line] = Loss(loc, name_of(f), lost, left)

    def __str__(self) -> str:
        return "\n".join(map(str, self.losses()))


def is_real(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype == np.float64
    return isinstance(x, float)


def narrow(x: Any) -> Any:
    return np.asarray(x, np.float32)[()] if is_real(x) else x


def wide(x: Any) -> Any:
    return np.asarray(x, np.longdouble)[()] if is_real(x) else x


def digits(x: Any, exact: Any) -> float:
    """How many decimal digits of ``x`` agree, at worst, relative to the largest number."""
    exact = np.asarray(exact)
    scale = float(np.max(np.abs(exact), initial=0.0))
    error = float(np.max(np.abs(np.asarray(x, np.longdouble) - exact), initial=0.0))
    if not math.isfinite(scale) or not math.isfinite(error) or error == 0.0:
        return EXACT
    return max(0.0, min(EXACT, -math.log10(error / scale) if scale else 0.0))


NUMPY: dict[str, str] = {"fabs": "abs", "pow": "power", "asin": "arcsin", "acos": "arccos",
                         "atan": "arctan", "atan2": "arctan2"}  # fmt: skip
"""The functions of ``math`` that NumPy has under another name."""


METHODS = {name: getattr(np, name) for name in ("sum", "prod", "mean", "dot", "cumsum", "cumprod")}
"""Methods of arrays that are functions of NumPy."""


def function_of(f: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """``x.sum()`` as ``np.sum(x)``."""
    owner = getattr(f, "__self__", None)
    if type(owner) is np.ndarray and f.__name__ in METHODS:
        return METHODS[f.__name__], (owner, *args)
    return f, args


def generic(f: Any) -> Callable[..., Any] | None:
    """``f`` for numbers of any precision, None if it is not followed."""
    if isinstance(f, np.ufunc) or f in (*METHODS.values(), np.outer, np.inner, np.vdot, abs, sum):
        return f
    module = getattr(f, "__module__", None)
    if module == "_operator":
        return f
    if module == "math":
        return getattr(np, NUMPY.get(f.__name__, f.__name__), None)
    return None


def _is_followed(ctx: Precision, f: Any, *args: Any, **kw: Any) -> bool:
    f, args = function_of(f, args)
    return kw.keys() <= {"axis", "keepdims"} and any(map(is_real, args)) and generic(f) is not None


@Precision.primitive(when=_is_followed)
def _(ctx: Precision, f: Any, *args: Any, **kw: Any) -> Any:
    f, args = function_of(f, args)
    triples = [ctx.of(x) for x in args]
    other = generic(f)
    assert other is not None
    if f.__name__ == "setitem":
        return _assign(ctx, f, args, triples)
    if f.__name__[0] == "i" and isinstance(args[0], np.ndarray) and f.__name__[1:] in _BINARY:
        return _in_place(ctx, f, args, triples)
    with np.errstate(all="ignore"):
        low, high = (other(*(t[k] for t in triples), **kw) for k in (0, 2))
    out = f(*args, **kw)
    if not is_real(out):
        return out
    ctx.note(f, out, high, list(args))
    seen = out.copy() if isinstance(out, np.ndarray) else None
    if isinstance(out, np.ndarray) and f.__name__ == "getitem" and out.base is not None:
        seen = ctx._known(args[0])[2][args[1]]  # a view, as the others are
    return tags.tag(out, ctx, (low, high, seen))


_BINARY = ("add", "sub", "mul", "truediv", "pow")


def _assign(ctx: Precision, f: Any, args: tuple[Any, ...], triples: list[Any]) -> None:
    target, index, _ = args
    if not is_real(target):
        f(*args)
        return
    low, high, seen = ctx._known(target)
    f(*args)
    low[index], high[index] = triples[2][0], triples[2][2]
    if isinstance(target, np.ndarray):
        seen[...] = target


def _in_place(ctx: Precision, f: Any, args: tuple[Any, ...], triples: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        high = [f(*(t[k] for t in triples)) for k in (0, 2)][1]
    seen = ctx._known(args[0])[2]
    out = f(*args)
    seen[...] = out
    ctx.note(f, out, high, [args[1]])
    return out
