"""``NonFinite``: the first operation that made a NaN or an infinity out of finite numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import NonFiniteResult
from ...ir.core import Loc
from ..context import Context
from .places import here
from .trace import describe, name_of


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
    """Looks at the result of every operation. ``found`` is the first `Origin`, None if all is
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

    def posthook(self, out: Any, f: Any, /, *args: Any, **kw: Any) -> None:
        if self.found is not None or not self._bad(out).any():
            return
        given = [*args, *kw.values()]
        if any(self._bad(x).any() for x in given) or _copies(f):
            return
        self.found = self._origin(out, f, given)
        if self.stop:
            raise NonFiniteResult(str(self.found).splitlines()[0], loc=self.found.loc)

    def _bad(self, x: Any) -> np.ndarray:
        """Which elements are not finite."""
        if not isinstance(x, (float, complex, np.inexact, np.ndarray)):
            return np.zeros((), bool)
        x = np.asarray(x)
        if x.dtype.kind not in "fc":
            return np.zeros((), bool)
        return ~np.isfinite(x) if self.infinities else np.isnan(x)

    def _origin(self, out: Any, f: Any, given: list[Any]) -> Origin:
        if not isinstance(out, np.ndarray) or not out.ndim:
            return Origin(name_of(f), here(), describe(out), [*map(describe, given)])
        index = tuple(map(int, np.argwhere(self._bad(out))[0]))
        inputs = [describe(_element(x, index, out.shape)) for x in given]
        return Origin(name_of(f), here(), describe(out[index].item()), inputs, index)


def _element(x: Any, index: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """What of an operand went into the element, if it broadcasts to the result."""
    try:
        return np.broadcast_to(x, shape)[index].item() if isinstance(x, np.ndarray) else x
    except ValueError:
        return x


def _copies(f: Any) -> bool:
    """Whether a result may hold what was in none of the operands by design."""
    return f in (getattr, next, np.empty, np.empty_like) or name_of(f) in ("getitem", "unpack")
