"""Metadata of values, per context: carried by shadows, not by wrapping.

The shadow of an object is an entry beside it, found by its identity. References keep identity
through variables, containers, attributes, arguments and globals, so nothing has to be told how
metadata moves, and foreign code sees the value itself. What makes a new object makes an untagged
one: an operation without a rule drops metadata.

Two things need care. An object that many values share (a constant, a cached int) must not be
tagged, for all would be: numbers, strings and tuples are copied first (the copy keeps what other
contexts know of them), and what has only one copy in the process is refused. And ids are used
again: an entry holds its object, and entries of objects that nobody else holds are swept away now
and then.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

import numpy as np

from ..errors import CannotTag, NoContext
from .context import Context

_FIRST_SWEEP = 1024
_ONLY_HERE = 3  # references to an object that only its entry holds, as `sys.getrefcount` counts
_SINGLE = (bool, type(None), type(Ellipsis), type(NotImplemented))
_ATOMS = (int, float, complex, str, bytes, tuple, frozenset)


class Shadows:
    """The metadata that one context gave, by the identity of the object."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Any, Any]] = {}
        self._limit = _FIRST_SWEEP

    def get(self, x: Any) -> Any:
        found = self._entries.get(id(x))
        return None if found is None else found[1]

    def set(self, x: Any, meta: Any) -> None:
        if len(self._entries) >= self._limit:
            self._sweep()
        self._entries[id(x)] = (x, meta)

    def remove(self, x: Any) -> None:
        self._entries.pop(id(x), None)

    def __contains__(self, x: Any) -> bool:
        return id(x) in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def _sweep(self) -> None:
        """Forget the objects that nobody else refers to."""
        for key in list(self._entries):
            x = self._entries[key][0]
            if sys.getrefcount(x) <= _ONLY_HERE:
                del self._entries[key]
        self._limit = max(_FIRST_SWEEP, 2 * len(self._entries))


_ALL: weakref.WeakSet[Shadows] = weakref.WeakSet()


def shadows(ctx: Context) -> Shadows:
    if not isinstance(ctx, Context):
        raise NoContext(
            f"{ctx!r} is no context",
            hint="Metadata belongs to an instance of pb.Context: pb.tag(x, ctx, meta).",
        )
    found: Shadows | None = getattr(ctx, "_shadows", None)
    if found is None:
        found = ctx._shadows = Shadows()
        _ALL.add(found)
    return found


def is_atom(x: Any) -> bool:
    """Whether equal objects of the type stand for each other."""
    return type(x) in _ATOMS or isinstance(x, np.generic)


def tag(x: Any, ctx: Context, meta: Any) -> Any:
    """``x`` with metadata under ``ctx``: the same object, or for numbers, strings and tuples an
    equal one of its own. None, bools, small ints and the like are refused (CannotTag, PB505).

    >>> ctx = Context()
    >>> x = tag(2.0, ctx, "an input")
    >>> x, metadata(x, ctx), metadata(2.0, ctx)
    (2.0, 'an input', None)
    """
    table = shadows(ctx)
    if is_atom(x):
        x = alone(x, table)
    elif isinstance(x, _SINGLE):
        raise _refusal(x)
    table.set(x, meta)
    return x


def untag(x: Any, ctx: Context) -> Any:
    """``x`` without metadata under ``ctx``: an equal number, string or tuple that has none; of any
    other object the metadata is removed."""
    table = shadows(ctx)
    if x not in table:
        return x
    if is_atom(x):
        return alone(x, table)
    table.remove(x)
    return x


def metadata(x: Any, ctx: Context) -> Any:
    """The metadata of ``x`` under ``ctx``, None if it has none."""
    return shadows(ctx).get(x)


def alone(x: Any, but: Shadows) -> Any:
    """An equal object of the same type that nothing else refers to, with the metadata of ``x``
    under all contexts but one."""
    copy = _copy(x)
    if copy is x:
        raise _refusal(x)
    for table in list(_ALL):
        if table is not but and x in table:
            table.set(copy, table.get(x))
    return copy


def _copy(x: Any) -> Any:
    kind = type(x)
    if kind is float:
        return x * 1.0
    if kind is complex:
        return complex(x.real, x.imag)
    if kind is int:
        return x + (1 << 64) - (1 << 64)
    if kind in (str, bytes):
        return x[:1] + x[1:] if len(x) > 1 else x
    if kind is tuple:
        return tuple([*x])
    return frozenset([*x]) if kind is frozenset else x.copy()


def _refusal(x: Any) -> CannotTag:
    return CannotTag(
        f"the {type(x).__name__} {x!r} is one object for the whole process and cannot be tagged",
        hint="Tag a float or a NumPy scalar instead: pb.tag(3.0, ...), pb.tag(np.int64(3), ...).",
    )
