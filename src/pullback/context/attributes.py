"""Attributes of objects of the user's classes: properties, descriptors and the methods that stand
for reading, writing and deleting stay in the context."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .protocols import OTHERS, in_python, is_static, lookup

if TYPE_CHECKING:
    from .room import Room


def attribute(room: Room, x: Any, name: str) -> Any:
    """``x.name``, with properties, ``__getattribute__`` and ``__getattr__`` in the context."""
    try:
        return _read(room, x, name)
    except AttributeError as e:
        say_whose(e, x, name)
        raise


def say_whose(e: AttributeError, x: Any, name: str) -> None:
    """Reading an attribute tells the error what was read, if nobody has."""
    if e.name is None and e.obj is None:
        e.name, e.obj = name, x


def _read(room: Room, x: Any, name: str) -> Any:
    t = type(x)
    getattribute, missing = lookup(t, "__getattribute__"), lookup(t, "__getattr__")
    try:
        if in_python(getattribute):
            return room.call(getattribute, x, name)
        found = lookup(t, name)
        if type(found) is property and in_python(found.fget):
            return room.call(found.fget, x)
        get = lookup(type(found), "__get__")
        if in_python(get) and (_is_data(found) or not _has_own(x, name)):
            return _described(room, x, t, name, found, get)
        return getattr(x, name) if missing is None else getattribute(x, name)
    except AttributeError:
        if not in_python(missing):
            raise
        return room.call(missing, x, name)


def _described(room: Room, x: Any, t: type, name: str, found: Any, get: Any) -> Any:
    if type(found) is not functools.cached_property:
        return room.call(get, found, x, t)
    known = _variables(x)
    if found.attrname != name or type(known) is not dict:
        return get(found, x, t)
    known[name] = out = room.call(found.func, x)
    return out


def _is_data(descriptor: Any) -> bool:
    """Whether a descriptor goes before the object's own variables."""
    kind = type(descriptor)
    return lookup(kind, "__set__") is not None or lookup(kind, "__delete__") is not None


def _has_own(x: Any, name: str) -> bool:
    """Whether the object's own variables go before a descriptor; a class has those of its bases."""
    return isinstance(x, type) or name in _variables(x)


def _variables(x: Any) -> Any:
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}


def is_plain_attribute(t: type, name: str) -> bool:
    """Whether reading the attribute runs nothing in Python."""
    if is_static(t):
        return True
    special = (lookup(t, "__getattribute__"), lookup(t, "__getattr__"))
    found = lookup(t, name)
    if any(map(in_python, special)) or type(found) is property:
        return False
    return not in_python(lookup(type(found), "__get__"))


def by_name(room: Room, x: Any, name: Any, *default: Any) -> Any:
    """``getattr(x, name)``, called by that name."""
    key = (type(x), name)
    if key in room.plain_names:
        return getattr(x, name, *default)
    if type(name) is not str or is_plain_attribute(type(x), name):
        if not room.plain_names:
            room.touch(room.plain_names)
        room.plain_names.add(key)
        return getattr(x, name, *default)
    try:
        return attribute(room, x, name)
    except AttributeError:
        if not default:
            raise
        return default[0]


def has(room: Room, x: Any, name: Any) -> bool:
    """``hasattr(x, name)``."""
    missing = object()
    return by_name(room, x, name, missing) is not missing


# -- writing ---------------------------------------------------------------------------------------
_STORE = ("__setattr__", "fset", "__set__")
_DELETE = ("__delattr__", "fdel", "__delete__")


def writer(t: type, name: str, value: bool) -> Any:
    """What is called in Python to write (``value``) or delete the attribute: a function, and what
    goes before and after the object in its arguments; None if nothing is."""
    method, function, slot = _STORE if value else _DELETE
    special = lookup(t, method)
    if in_python(special):
        return special, (), (name,)
    found = lookup(t, name)
    if special is not getattr(object, method):
        return None
    if type(found) is property and in_python(f := getattr(found, function)):
        return f, (), ()
    if in_python(f := lookup(type(found), slot)):
        return f, (found,), ()
    return None


def write(room: Room, name: str, x: Any, *value: Any) -> None:
    """``x.name = value``, or ``del x.name``."""
    found = writer(type(x), name, bool(value))
    if found is None:
        (setattr if value else delattr)(x, name, *value)
    else:
        f, before, after = found
        room.call(f, *before, x, *after, *value)


def put_by_name(room: Room, x: Any, name: Any, value: Any) -> None:
    """``setattr(x, name, value)``."""
    write(room, name, x, value)


def delete_by_name(room: Room, x: Any, name: Any) -> None:
    """``delattr(x, name)``."""
    write(room, name, x)


OTHERS.update({getattr: by_name, hasattr: has, setattr: put_by_name, delattr: delete_by_name})
