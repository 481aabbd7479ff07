"""``Trace``: the tree of calls, with the shapes of what goes in and out, as text and as HTML."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir.core import Loc
from ..context import Context
from ..frames import here


@dataclass
class Call:
    """One call: ``arguments`` and ``result`` are described as text, ``seconds`` is its time with
    all that it called."""

    name: str
    arguments: list[str]
    loc: Loc
    result: str = ""
    seconds: float = 0.0
    below: list[Call] = field(default_factory=list)

    def lines(self, depth: int = 0) -> Iterator[str]:
        yield f"{'  ' * depth}{self.name}({', '.join(self.arguments)}) -> {self.result}"
        for call in self.below:
            yield from call.lines(depth + 1)


class Trace(Context):
    """Records every call.

    ``language``: also operators, attributes, iteration and displays, else only what is called by
    name.

    >>> import math
    >>> t = Trace()
    >>> t.overdub(lambda x: math.hypot(x, abs(-4.0)), 3.0)
    5.0
    >>> print(t)
    abs(-4.0) -> 4.0
    hypot(3.0, 4.0) -> 5.0
    """

    def __init__(self, language: bool = False, **filters: Any) -> None:
        super().__init__(**filters)
        self.language = language
        self.calls: list[Call] = []
        self._open: list[tuple[Call, float]] = []

    def _shown(self, f: Any) -> bool:
        return self.language or not is_language(f)

    def prehook(self, f: Any, /, *args: Any, **kw: Any) -> None:
        if not self._shown(f):
            return
        given = [*map(describe, args), *(f"{k}={describe(v)}" for k, v in kw.items())]
        call = Call(name_of(f), given, here())
        (self._open[-1][0].below if self._open else self.calls).append(call)
        self._open.append((call, time.perf_counter()))

    def posthook(self, out: Any, f: Any, /, *args: Any, **kw: Any) -> None:
        if self._shown(f):
            self._close(describe(out))

    def errorhook(self, exc: BaseException, f: Any, /, *args: Any, **kw: Any) -> None:
        if self._shown(f):
            self._close(f"raised {type(exc).__name__}")

    def _close(self, result: str) -> None:
        call, start = self._open.pop()
        call.result, call.seconds = result, time.perf_counter() - start

    def __str__(self) -> str:
        return "\n".join(line for call in self.calls for line in call.lines())

    def html(self) -> str:
        """The tree as nested ``<details>``, with places and times."""
        return f'<div class="trace">{"".join(map(_html, self.calls))}</div>'


def _html(call: Call) -> str:
    text = html.escape(f"{call.name}({', '.join(call.arguments)}) → {call.result}")
    where = html.escape(f"{call.loc}, {call.seconds * 1e3:.2f} ms")
    line = f'<code title="{where}">{text}</code>'
    if not call.below:
        return f"<div>{line}</div>"
    return f"<details><summary>{line}</summary>{''.join(map(_html, call.below))}</details>"


def is_language(f: Any) -> bool:
    """Whether ``f`` is what an operator or a construct of the language calls."""
    home = getattr(f, "__module__", None)
    return home in ("_operator", "pullback.ir.intrinsics") or any(f is g for g in _CONSTRUCTS)


_CONSTRUCTS: tuple[Callable[..., Any], ...] = (getattr, setattr, delattr, iter, next, slice)


def name_of(f: Any) -> str:
    return getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__


def describe(x: Any) -> str:
    """Arrays by dtype and shape, short things as they are, the others by type."""
    if isinstance(x, np.ndarray):
        return f"{x.dtype}{list(x.shape)}"
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, int) and x.bit_length() > 100:
        return f"<int of {x.bit_length()} bits>"
    if isinstance(x, (int, float, complex, str, bytes, type(None))):
        text = repr(x)
        return text if len(text) <= 24 else f"{text[:20]}...{text[-1]}"
    if isinstance(x, (tuple, list)) and len(x) <= 4:
        inner = ", ".join(map(describe, x))
        return f"[{inner}]" if isinstance(x, list) else f"({inner}{',' * (len(x) == 1)})"
    if callable(x):
        return name_of(x)
    return f"<{type(x).__name__}>"
