"""Callables that are handed to code without IR stay in the context.

What is handed over is a `Handed`: it calls the function in the context it came from, in whatever
thread and whenever. It equals the function, has its attributes, and pickles as it; only ``is`` and
``type`` tell them apart, which is why code that keeps functions rather than calling them
(decorators, ``inspect``, ``pickle``, ...) gets the function itself.
"""

from __future__ import annotations

import bisect
import builtins
import contextvars
import functools
import itertools
import re
from types import BuiltinFunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import sites

if TYPE_CHECKING:
    from .room import Room

CALLERS: frozenset[Any] = frozenset(
    (
        builtins.sorted, builtins.map, builtins.filter, builtins.min, builtins.max,
        functools.reduce, functools.cmp_to_key, itertools.accumulate, itertools.starmap,
        itertools.takewhile, itertools.dropwhile, itertools.filterfalse, itertools.groupby,
        bisect.bisect, bisect.bisect_left, bisect.bisect_right, bisect.insort, bisect.insort_left,
        bisect.insort_right, np.frompyfunc,
    )
)  # fmt: skip
"""Functions and types of C that call their arguments."""

CALLING_METHODS = {
    "sort": list, "sub": re.Pattern, "subn": re.Pattern, "run": contextvars.Context,
}  # fmt: skip

KEEPERS = frozenset(
    (
        "pullback", "numba", "inspect", "functools", "weakref", "pickle", "copy", "copyreg",
        "typing", "types", "abc", "dataclasses", "enum", "unittest", "ast", "dis", "traceback",
        "operator", "collections", "builtins", "gc", "sys",
    )
)  # fmt: skip
"""Libraries that keep, describe or decorate the functions they are given."""


class Handed:
    """A callable that stays in a room."""

    __slots__ = ("_room", "_resolve", "__wrapped__", "__weakref__")

    def __init__(self, room: Room, f: Any) -> None:
        self._room, self.__wrapped__ = room, f
        self._resolve = sites.call_site(room, ())

    def __call__(self, /, *args: Any, **kw: Any) -> Any:
        room = self._room
        if room.run.active and not room.hooked and not kw:
            return self._resolve(self.__wrapped__, *args)(*args)
        with room.run:
            return room.call(self.__wrapped__, *args, **kw)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __eq__(self, other: object) -> bool:
        return bool(self.__wrapped__ == (other.__wrapped__ if type(other) is Handed else other))

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __reduce__(self) -> Any:
        return (_itself, (self.__wrapped__,))

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _itself(x: Any) -> Any:
    return x


def calls_arguments(g: Any) -> bool:
    """Whether ``g`` is a function, type or method of C that calls what it is given."""
    kind = type(g)
    if kind is BuiltinFunctionType and g.__name__ in CALLING_METHODS:
        return isinstance(g.__self__, CALLING_METHODS[g.__name__])
    return kind in (type, BuiltinFunctionType) and g in CALLERS


def may_call_back(g: Any) -> bool:
    """Whether ``g``, which is called plainly, may call a function it is given: code in Python, and
    whatever belongs to NumPy or SciPy."""
    module = getattr(g, "__module__", None)
    if isinstance(g, MethodType):
        module = getattr(g.__func__, "__module__", None)
    elif not isinstance(module, str):
        module = type(g).__module__
    return (module or "").partition(".")[0] not in KEEPERS


def hand_over(room: Room, x: Any, any_callable: bool) -> Any:
    """``x``, or what stands for it outside of the context if calling it would mean something else
    there. Code of C that just calls it (``any_callable``) may get the contextual function."""
    kind = type(x)
    if kind is Handed or not (
        sites.is_handed(x) or kind is BuiltinFunctionType or (any_callable and callable(x))
    ):
        return x
    if room.hooked:
        return Handed(room, x)
    found = room.resolve(x, None, ())
    if found.target is x:
        return x
    return found.target if any_callable and found.stable else Handed(room, x)


def call_with_handed(room: Room, g: Any, any_callable: bool, /, *args: Any, **kw: Any) -> Any:
    """Call ``g`` plainly with its callables handed over."""
    handed = [hand_over(room, x, any_callable) for x in args]
    return g(*handed, **{k: hand_over(room, x, any_callable) for k, x in kw.items()})
