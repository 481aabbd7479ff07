"""Functions from source text: what is generic over the rank or the number of arguments is written
out for each, so that only plain loops are left.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
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


def indent(lines: str, depth: int) -> str:
    """``lines`` moved to the right by ``depth`` levels."""
    return "\n".join("    " * depth + line for line in lines.splitlines())
