"""Where captured things are found again at each call: globals, cells, attributes, defaults.

A place is a tuple of steps. The first is ``("self",)``, the function that was flattened, or
``("object", Ref(x))``; the others go on from there: ``("cell", name)``, ``("global", name)``,
``("attr", name)``, ``("item", i)``, ``("default", name)``, ``("func",)``. Cells are reached from
the function, so that a new closure of the same code is read where it keeps its own values.
"""

from __future__ import annotations

import builtins
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

Place = tuple[Any, ...]
SELF: Place = (("self",),)


class Ref:
    """An object, equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)

    def __repr__(self) -> str:
        return f"<{type(self.value).__name__} {getattr(self.value, '__name__', '')}>"


def place_of(obj: Any) -> Place:
    """The place of an object that is reached in no other way."""
    return (("object", Ref(obj)),)


def fetch(place: Place, function: Any = None) -> Any:
    """What is at a place now; ``function`` is what ``("self",)`` stands for."""
    root = place[0]
    value = function if root[0] == "self" else root[1].value
    for kind, *name in place[1:]:
        value = _STEPS[kind](value, *name)
    return value


def _cell(f: Any, name: str) -> Any:
    f = python_function(f)
    return f.__closure__[f.__code__.co_freevars.index(name)].cell_contents


def _global(scope: Any, name: str) -> Any:
    scope = scope if isinstance(scope, dict) else python_function(scope).__globals__
    return scope[name] if name in scope else getattr(builtins, name)


def _default(f: Any, name: str) -> Any:
    f = python_function(f)
    if f.__kwdefaults__ and name in f.__kwdefaults__:
        return f.__kwdefaults__[name]
    code = f.__code__
    position = code.co_varnames.index(name) - code.co_argcount
    return f.__defaults__[position]


def python_function(f: Any) -> Any:
    """The plain function behind a dispatcher or a bound method."""
    f = getattr(f, "__func__", f)
    return getattr(f, "py_func", f)


_STEPS: dict[str, Any] = {
    "cell": _cell,
    "global": _global,
    "attr": getattr,
    "item": lambda value, i: value[i],
    "default": _default,
    "func": python_function,
}


@dataclass(frozen=True)
class Hidden:
    """A captured number or array: passed as an argument, read at each call."""

    place: Place
    type: Any

    @property
    def kind(self) -> str:
        """The last step: "global", "cell", "attr", "item" or "default"."""
        return str(self.place[-1][0])

    @property
    def name(self) -> Any:
        return self.place[-1][-1]

    @property
    def owner(self) -> Place:
        """The place of what holds it."""
        return self.place[:-1]

    def read(self, function: Any = None) -> Any:
        """The value now. ``function``: the one flattened, or another of the same code."""
        return fetch(self.place, function)


def contents(value: Any) -> Any:
    """What a container that may change holds, as something to compare; None for anything else."""
    if isinstance(value, dict) or type(value).__name__ == "Dict":
        return [(_item(k), _item(v)) for k, v in value.items()]
    if isinstance(value, (list, set, deque, bytearray)) or type(value).__name__ == "List":
        return [_item(v) for v in value]
    return None


def _item(value: Any) -> Any:
    """An item by value if it is a number or a string, by what it holds if it is a container, else
    by identity."""
    if isinstance(value, (int, float, complex, str, bytes, np.generic)):
        return type(value), repr(value)
    if isinstance(value, tuple):
        return type(value), tuple(map(_item, value))
    inner = contents(value)
    return Ref(value) if inner is None else inner


@dataclass(frozen=True)
class Static:
    """A captured object taken by value: to be found unchanged at each call."""

    place: Place
    value: Ref
    content: Any = None  # of a container that may change: what it held

    @staticmethod
    def of(place: Place, value: Any) -> Static:
        return Static(place, Ref(value), contents(value))

    def holds(self, function: Any = None) -> bool:
        """Whether it is still what it was: the same object, an equal number, string or tuple, or,
        reached through a cell of ``function``, a function of the same code."""
        try:
            now = fetch(self.place, function)
        except (AttributeError, KeyError, ValueError, IndexError):
            return False
        was = self.value.value
        if self.content is not None:
            return type(now) is type(was) and bool(contents(now) == self.content)
        if now is was:
            return True
        if isinstance(was, (int, float, complex, str, tuple)):
            return type(now) is type(was) and bool(_item(now) == _item(was))
        return _same_function(now, was)


def _same_function(now: Any, was: Any) -> bool:
    """Whether two functions, methods or dispatchers compute the same with the same captured
    values: those are looked at each on its own."""
    code = getattr(was, "__code__", None)
    return (
        code is not None
        and type(now) is type(was)
        and getattr(now, "__code__", None) is code
        and python_function(now).__globals__ is python_function(was).__globals__
        and getattr(now, "__self__", None) is getattr(was, "__self__", None)
        and getattr(now, "targetoptions", None) == getattr(was, "targetoptions", None)
    )
