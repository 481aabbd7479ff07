"""Functions from source text: what is generic over the rank or the number of arguments is written
out for each, so that only plain loops are left.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


def function(name: str, source: str, **scope: Any) -> Callable[..., Any]:
    """The function ``name`` that ``source`` defines, with ``scope`` as its globals.

    Equal source and scope give the same function object, so that what is keyed by function is
    found again. Tracebacks show the text."""
    return _function(name, source, tuple(sorted(scope.items(), key=lambda kv: kv[0])))


@cache
def _function(name: str, source: str, scope: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    filename = f"<pullback {name} {abs(hash(source)):x}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"__name__": __name__, **dict(scope)}
    exec(compile(source, filename, "exec"), namespace)
    made: Callable[..., Any] = namespace[name]
    return made


class Writer:
    """Source text, a line at a time: ``with w("for i in range(n):"): w("...")``."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def __call__(self, line: str) -> Writer:
        self.lines.append("    " * self.depth + line)
        return self

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exc: object) -> None:
        self.depth -= 1

    @contextmanager
    def nest(self, loops: list[tuple[str, str]]) -> Iterator[None]:
        """Loops from the outermost: each a variable and its bound."""
        for variable, bound in loops:
            self(f"for {variable} in range({bound}):")
            self.depth += 1
        yield
        self.depth -= len(loops)

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"
