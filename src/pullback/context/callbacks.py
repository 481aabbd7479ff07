"""Callables that are handed to code without IR stay in the context.

What is handed over is a `Handed`: it calls the function in the context it came from, in whatever
thread and whenever. It equals the function, has its attributes, and pickles as it; only ``is`` and
``type`` tell them apart, which is why code that keeps functions rather than calling them
(decorators, ``inspect``, ``pickle``, ...) gets the function itself.
"""

from __future__ import annotations

import bisect
import builtins
import collections
import contextvars
import functools
import itertools
import re
from types import BuiltinFunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import sites
from .primitives import C_METHOD

if TYPE_CHECKING:
    from .room import Room

CALLERS: dict[Any, int | None] = {
    builtins.sorted: None, builtins.min: None, builtins.max: None, bisect.bisect: None,
    bisect.bisect_left: None, bisect.bisect_right: None, bisect.insort: None,
    bisect.insort_left: None, bisect.insort_right: None, builtins.map: 0, builtins.filter: 0,
    functools.reduce: 0, functools.cmp_to_key: 0, itertools.starmap: 0, itertools.takewhile: 0,
    itertools.dropwhile: 0, itertools.filterfalse: 0, itertools.accumulate: 1,
    itertools.groupby: 1, np.frompyfunc: 0,
    collections.defaultdict: 0,
}  # fmt: skip
"""Functions and types of C that call an argument: its position, None if it has a keyword alone."""

CALLING_METHODS: dict[str, tuple[type, int | None]] = {
    "sort": (list, None), "sub": (re.Pattern, 0), "subn": (re.Pattern, 0),
    "run": (contextvars.Context, 0),
}  # fmt: skip
_KEYWORDS = ("key", "func", "function", "repl")

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


def called_argument(g: Any) -> int | None:
    """Which argument ``g``, of C, calls: its position, -1 if it has a keyword alone, or None."""
    kind = type(g)
    position: int | None
    if kind in (BuiltinFunctionType, C_METHOD) and g.__name__ in CALLING_METHODS:
        owner, position = CALLING_METHODS[g.__name__]
        if not isinstance(g.__self__, owner):
            return None
    elif kind in (type, BuiltinFunctionType) and g in CALLERS:
        position = CALLERS[g]
    else:
        return None
    return -1 if position is None else position


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


def call_with_handed(room: Room, g: Any, /, *args: Any, **kw: Any) -> Any:
    """Call ``g``, which is in Python or of a library, with its callbacks handed over."""
    handed = [hand_over(room, x, False) for x in args]
    return g(*handed, **{k: hand_over(room, x, False) for k, x in kw.items()})


def call_calling(room: Room, position: int, g: Any, /, *args: Any, **kw: Any) -> Any:
    """Call ``g``, of C, which calls its argument at a position or of a keyword."""
    just_called = g is not collections.defaultdict  # which shows what it was given
    handed = [hand_over(room, x, just_called) if k == position else x for k, x in enumerate(args)]
    for k in _KEYWORDS:
        if k in kw:
            kw[k] = hand_over(room, kw[k], True)
    return g(*handed, **kw)
