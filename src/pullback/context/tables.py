"""Contextual code objects, cached by the classes of the stack and the original code object.

The cache lives on the innermost class and refers to original code objects weakly: an entry goes
when its code object or a class of its signature does.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

from .rewrite import Need


class Compiled:
    """The contextual code of a function, and what its additional free variables hold."""

    __slots__ = ("code", "needs")

    def __init__(self, code: CodeType, needs: list[Need]) -> None:
        self.code, self.needs = code, needs


class Table:
    """By (code object, signature): what it was compiled to, None if it has no IR."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, Any], tuple[weakref.ref[CodeType], Compiled | None]] = {}

    def get(
        self, code: CodeType, signature: Any, compile: Callable[[], Compiled | None]
    ) -> Compiled | None:
        key = (id(code), weakly(signature))
        found = self._entries.get(key)
        if found is not None and found[0]() is code:
            return found[1]
        compiled = compile()
        entries = self._entries
        for old in [k for k in entries if is_dead(k[1])]:
            entries.pop(old, None)
        self._entries[key] = (weakref.ref(code, lambda _: entries.pop(key, None)), compiled)
        return compiled

    def __len__(self) -> int:
        return len(self._entries)


_MOST = 8  # versions of a stack of classes that are kept


def table_for(owner: type, key: Any) -> Table:
    """The table of a stack of classes in one state; ``owner`` is the innermost class."""
    tables: dict[Any, Table] = owner.__dict__["_tables"]
    if key not in tables:
        while len(tables) >= _MOST:
            del tables[next(iter(tables))]
        tables[key] = Table()
    return tables[key]


def weakly(signature: Any) -> tuple[Any, ...]:
    """A signature as a key that keeps no class alive."""
    ref = weakref.ref
    return tuple(ref(t) if isinstance(t, type) else (t[0], ref(t[1])) for t in signature)


def is_dead(weak: tuple[Any, ...]) -> bool:
    """Whether a class of such a key is gone."""
    return any((t if isinstance(t, weakref.ref) else t[1])() is None for t in weak)
