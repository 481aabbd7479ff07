"""What an operator does first, by the types of its operands alone.

The decision in `protocols` is the same each time for the same classes. Here it is made once: which
method in Python is called first, or that there is none and the operator is what it always is.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any, NamedTuple

from . import protocols
from .protocols import in_python, lookup

AS_IS: Any = object()
"""No method in Python: the operator itself."""


class First(NamedTuple):
    """``method`` is called first, with the operands ``swapped`` or not."""

    method: Any
    swapped: bool = False


def first_step(f: Any, *types: type) -> Any:
    """A `First`, or `AS_IS`; None if it takes more to decide."""
    if f in protocols.BINARY_NAMES:
        return _first_way(protocols.binary_ways(f, *types))
    if f in protocols.INPLACE_NAMES:
        return _inplace(f, *types)
    if f in protocols.COMPARE_NAMES:
        return _first_way(protocols.compare_ways(f, types[0], types[1], _differs))
    if f in protocols.UNARY_NAMES:
        method = lookup(types[0], protocols.UNARY_NAMES[f])
        return First(method) if in_python(method) else AS_IS
    names = _ASKED.get(f)
    if names and not any(in_python(lookup(types[0], name)) for name in names):
        return AS_IS
    return None


_ASKED: dict[Any, tuple[str, ...]] = {
    operator.truth: ("__bool__", "__len__"), operator.not_: ("__bool__", "__len__"),
    builtins.iter: ("__iter__", "__getitem__"),
}  # fmt: skip


def may_decline(f: Any) -> bool:
    """Whether NotImplemented means that there is another way."""
    kinds = (protocols.BINARY_NAMES, protocols.INPLACE_NAMES, protocols.COMPARE_NAMES)
    return any(f in kind for kind in kinds)


def reader_of(t: type, name: str) -> Any:
    """The function of a property, if reading the attribute is just a call of it."""
    special = (lookup(t, "__getattribute__"), lookup(t, "__getattr__"))
    found = lookup(t, name)
    if any(map(in_python, special)) or type(found) is not property:
        return None
    return found.fget if in_python(found.fget) else None


def _differs(a: Any, b: Any) -> Any:
    """Stands for ``object.__ne__``, which asks ``__eq__``."""
    raise NotImplementedError


def _first_way(ways: Any) -> Any:
    if ways is None:
        return AS_IS
    if not ways or not in_python(ways[0][0]) or ways[0][0] is _differs:
        return None
    method, swapped = ways[0]
    return First(method, swapped)


def _inplace(f: Any, ta: type, tb: type) -> Any:
    method = protocols.inplace_method(f, ta)
    if in_python(method):
        return First(method)
    if method is not None:
        return AS_IS
    return _first_way(protocols.binary_ways(protocols.INPLACE_NAMES[f], ta, tb))
