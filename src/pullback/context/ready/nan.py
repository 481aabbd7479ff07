"""``NonFinite``: the first operation that made a NaN or an infinity out of finite numbers."""

from __future__ import annotations

import operator
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import NonFiniteResult
from ...ir.core import Loc
from ...ir.operators import INPLACE
from ..context import Context
from ..frames import here
from .flops import function_and_inputs
from .trace import describe, is_language, name_of


@dataclass
class Origin:
    """Where the number came from. ``index`` is where in the result the first one is (of an array),
    ``inputs`` are what the operation was given there, as text."""

    function: str
    loc: Loc
    result: str
    inputs: list[str]
    index: tuple[int, ...] | None = None

    def __str__(self) -> str:
        where = "" if self.index is None else f" at {list(self.index)}"
        return f"{self.function}({', '.join(self.inputs)}) gave {self.result}{where}\n  {self.loc}"


class NonFinite(Context):
    """Looks at the result of every operation, and at the arrays that it may have written to.
    ``found`` is the first `Origin`, None if all is
    finite; with ``stop`` the run ends there, with `NonFiniteResult` (PB506).

    >>> import math
    >>> check = NonFinite()
    >>> check.overdub(lambda x: (x * 1e308) * 10 - math.inf, 1.0)
    nan
    >>> print(str(check.found).splitlines()[0])
    mul(1e+308, 10) gave inf
    """

    def __init__(self, stop: bool = False, infinities: bool = True, **filters: Any) -> None:
        super().__init__(**filters)
        self.stop, self.infinities = stop, infinities
        self.found: Origin | None = None
        self._open = threading.local()

    # -- what is called ------------------------------------------------------------------------
    def prehook(self, f: Any, /, *args: Any, **kw: Any) -> None:
        if self._may_write(f, args, kw):
            self._before().append({id(x): x.copy() for x in (*args, *kw.values(), *_owner(f))
                                   if isinstance(x, np.ndarray)})  # fmt: skip

    def posthook(self, out: Any, f: Any, /, *args: Any, **kw: Any) -> None:
        before = self._before().pop() if self._may_write(f, args, kw) else {}
        if self.found is not None or _copies(f):
            return
        results = [*out] if isinstance(out, tuple) and not is_language(f) else [out]
        results += [
            x for x in (*args, *kw.values(), *_owner(f)) if id(x) in before and x is not out
        ]
        if f is operator.setitem and isinstance(args[0], np.ndarray):
            results = [args[0][args[1]]]  # a number may be too large for the array
            args = args[2:]
        f, args, kw = function_and_inputs(f, args, kw)
        given = [before.get(id(x), x) for x in (*args, *kw.values())]
        for x in results:
            if isinstance(x, (list, tuple)):
                continue  # what is in it was seen before
            made = self._made(x, given, _is_elementwise(f))
            if made.any():
                self.found = _origin(x, made, f, given)
                if self.stop:
                    raise NonFiniteResult(str(self.found).splitlines()[0], loc=self.found.loc)
                return

    def errorhook(self, exc: BaseException, f: Any, /, *args: Any, **kw: Any) -> None:
        if self._may_write(f, args, kw):
            self._before().pop()

    def _before(self) -> list[dict[int, Any]]:
        """For each open call that may write, the arrays as they were, by their ids."""
        if not hasattr(self._open, "calls"):
            self._open.calls = []
        found: list[dict[int, Any]] = self._open.calls
        return found

    def _may_write(self, f: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> bool:
        """Whether it is no code of the user's, and may change an array that it is given."""
        if is_language(f) or getattr(f, "__module__", None) == "builtins":
            return _is_in_place(f) and isinstance(args[0], np.ndarray)
        arrays = any(isinstance(x, np.ndarray) for x in (*args, *kw.values(), *_owner(f)))
        return arrays and not self.can_recurse(f)

    # -- numbers -------------------------------------------------------------------------------
    def _made(self, x: Any, given: list[Any], elementwise: bool) -> np.ndarray:
        """Which elements are NaN and come of none, or infinite and come of finite ones."""
        nan, bad = self._state(x)
        if not bad.any():
            return bad
        for was in given:
            was_nan, was_bad = self._state(was)
            if not elementwise or not _broadcasts(was_nan, nan.shape):
                was_nan, was_bad = was_nan.any(), was_bad.any()
            nan, bad = nan & ~was_nan, bad & ~was_bad
        return nan | bad

    def _state(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        """Which elements are NaN, and which are not finite (or NaN, if infinities are fine)."""
        if isinstance(x, (list, tuple)):
            x = np.asarray(x) if all(isinstance(v, (int, float, complex)) for v in x) else None
        if isinstance(x, (float, complex, np.inexact, np.ndarray)):
            x = np.asarray(x)
            if x.dtype.kind in "fc":
                nan = np.isnan(x)
                return nan, ~np.isfinite(x) if self.infinities else nan
        return np.zeros((), bool), np.zeros((), bool)


def _origin(x: Any, made: np.ndarray, f: Any, given: list[Any]) -> Origin:
    if not made.ndim:
        return Origin(name_of(f), here(), describe(x), [*map(describe, given)])
    index = tuple(map(int, np.argwhere(made)[0]))
    inputs = [describe(_element(g, index, made.shape)) for g in given]
    return Origin(name_of(f), here(), describe(x[index].item()), inputs, index)


def _element(x: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """What of an operand went into the element, if it broadcasts to the result."""
    fits = isinstance(x, np.ndarray) and _broadcasts(x, shape)
    return np.broadcast_to(x, shape)[index].item() if fits else x


def _broadcasts(x: np.ndarray, shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(x.shape, shape) == shape
    except ValueError:
        return False


def _owner(f: Any) -> tuple[Any, ...]:
    """The array whose method ``f`` is."""
    owner = getattr(f, "__self__", None)
    return (owner,) if isinstance(owner, np.ndarray) else ()


def _is_elementwise(f: Any) -> bool:
    if isinstance(f, np.ufunc):
        return f.signature is None
    return is_language(f) and f not in (operator.matmul, operator.imatmul)


def _is_in_place(f: Any) -> bool:
    return getattr(f, "__module__", None) == "_operator" and f in INPLACE


def _copies(f: Any) -> bool:
    """Whether a result may hold what was in none of the operands by design."""
    made = any(f is g for g in (getattr, next, np.empty, np.empty_like))
    return made or name_of(f) in ("getitem", "unpack")
