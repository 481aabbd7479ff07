"""Builtins and operators that are called by name, or where every call is watched.

What they run first is called from here, hooks included, so that recursion through special methods
and properties takes one frame of the context at each step and not one for each layer of deciding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import protocols
from .attributes import say_whose
from .protocols import protocol
from .shortcuts import First, first_step, may_decline, reader_of

if TYPE_CHECKING:
    from .room import Room

_OPERATORS = {**protocols.BINARY_NAMES, **protocols.INPLACE_NAMES, **protocols.COMPARE_NAMES}
_ATTRIBUTES = {getattr: (2, 3), hasattr: (2,), setattr: (3,), delattr: (2,)}
"""How many arguments the builtins of attributes take."""


def builtin_site(room: Room, f: Any) -> Callable[..., Any]:
    """``f``, which runs methods of its operands."""
    if f in _ATTRIBUTES:
        return _attribute_site(room, f)
    special: Any = protocol(f)
    plain, is_plain, hooks = room.plain, room.is_plain, room.hooks
    declined = NotImplemented if may_decline(f) else special
    takes = 2 if f in _OPERATORS else 0
    known: dict[Any, Any] = {}  # by the types of the operands: what is called first

    def call(*xs: Any, **kw: Any) -> Any:
        for x in xs:
            if type(x) not in plain and not is_plain(type(x)):
                break
        else:
            return f(*xs, **kw)
        types = tuple(map(type, xs))
        if types not in known:
            look = (not kw and len(xs) == takes) or (f in protocols.UNARY_NAMES and xs)
            _remember(room, known, types, first_step(f, *types) if look else None)
        found = known[types]
        if found is None:
            return special(room, *xs, **kw)
        method, target, swapped = found
        if swapped:
            xs = xs[::-1]
        hooks.prehook(method, *xs)
        if target is None:
            target = room.resolve(method, xs, ()).target
        try:
            out = target(*xs)
        except BaseException as e:
            hooks.errorhook(e, method, *xs)
            raise
        hooks.posthook(out, method, *xs)
        if out is declined:
            return special(room, *(xs[::-1] if swapped else xs), 1)
        return out

    return call


def _remember(room: Room, known: dict[Any, Any], key: Any, first: Any) -> None:
    """Until the run ends: the method that is called first, what it is here (None if that depends on
    the arguments), and whether the operands are swapped; None if that takes more to decide."""
    if not known:
        room.touch(known)
    known[key] = None
    if isinstance(first, First):
        known[key] = (first.method, room.lasting(first.method), first.swapped)


def _attribute_site(room: Room, f: Any) -> Callable[..., Any]:
    """Whatever special methods the class has: a property is none."""
    special: Any = protocol(f)
    takes, hooks = _ATTRIBUTES[f], room.hooks
    known: dict[Any, Any] = {}

    def call(*xs: Any, **kw: Any) -> Any:
        if kw or len(xs) not in takes:
            return f(*xs, **kw)
        if f is not getattr or len(xs) > 2 or type(xs[1]) is not str:
            return special(room, *xs)
        key = (type(xs[0]), xs[1])
        if key not in known:
            reader = reader_of(*key)
            _remember(room, known, key, None if reader is None else First(reader))
        found = known[key]
        if found is None:
            return special(room, *xs)
        method, target, _ = found
        hooks.prehook(method, xs[0])
        if target is None:
            target = room.resolve(method, xs[:1], ()).target
        try:
            out = target(xs[0])
        except BaseException as e:
            if isinstance(e, AttributeError):
                say_whose(e, *xs)
            hooks.errorhook(e, method, xs[0])
            raise
        hooks.posthook(out, method, xs[0])
        return out

    return call
