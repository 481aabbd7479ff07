"""Primitives: what a context does instead of a call.

They are found by the callable. A bound method, of Python or of C, is found as itself first, then as
the function it binds, which then gets the object as its first argument. Among the primitives of one
callable the one with the most specific argument types comes first, and of equal types one with a
predicate before one without. Those for any callable come last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, MethodType, MethodWrapperType, ModuleType
from typing import Any

from ..errors import BadPrimitive, PullbackError
from .frames import here

C_METHOD: Any = type(re.compile("").sub)
"""Methods of C that know the class that defines them are of a type of their own."""

Key = Any
_BOUND = (BuiltinFunctionType, C_METHOD, MethodWrapperType)
ANY: Key = None
"""The key of primitives for any callable."""


@dataclass(frozen=True)
class Primitive:
    """``body(ctx, *args, **kw)``; one for any callable is ``body(ctx, f, *args, **kw)``."""

    body: Callable[..., Any]
    callee: Any
    types: tuple[type, ...] = ()
    when: Callable[..., Any] | None = None
    general: bool = False

    @property
    def conditional(self) -> bool:
        return bool(self.types) or self.when is not None

    def accepts(self, ctx: Any, args: Sequence[Any], kw: dict[str, Any]) -> bool:
        """Whether it stands for a call with these arguments (those of ``body`` behind ``ctx``)."""
        typed = args[1:] if self.general else args
        if len(typed) < len(self.types):
            return False
        if not all(map(isinstance, typed, self.types)):
            return False
        if self.when is None:
            return True
        try:
            return bool(self.when(ctx, *args, **kw))
        except PullbackError:
            raise
        except Exception as e:
            callee = args[0] if self.general else self.callee
            name = getattr(callee, "__qualname__", None) or repr(callee)
            raise BadPrimitive(
                f"the predicate of {type(ctx).__name__}.primitive raised {type(e).__name__}: {e}, "
                f"at a call of {name}",
                loc=here(),
                hint="when= gets the arguments as the call wrote them: when(ctx, *args, **kw).",
            ) from e


def key_of(f: Any) -> Key:
    """What a primitive for ``f`` is entered under. The registry keeps ``f``, and so its id."""
    kind = type(f)
    if kind is MethodType:
        return (id(f.__func__), id(f.__self__))
    if kind in _BOUND and bound_to(f) is not None:
        return (f.__name__, id(f.__self__))
    return id(f)


def bound_to(f: Any) -> Any:
    """The object that a method of C is bound to; None for a function of a module."""
    owner = getattr(f, "__self__", None)
    return None if isinstance(owner, ModuleType) else owner


def keys_of(g: Any) -> Iterable[tuple[Key, tuple[Any, ...]]]:
    """Under which keys a call of ``g`` is looked up, with the arguments that come first."""
    yield key_of(g), ()
    kind = type(g)
    if kind is MethodType:
        yield id(g.__func__), (g.__self__,)
    elif kind in _BOUND:
        owner = bound_to(g)
        if owner is not None:
            yield id(getattr(type(owner), g.__name__, None)), (owner,)


class Registry:
    """The primitives that one class registers itself."""

    def __init__(self) -> None:
        self.by_key: dict[Key, list[Primitive]] = {}
        self.version = 0

    def add(self, p: Primitive) -> None:
        known = self.by_key.setdefault(ANY if p.general else key_of(p.callee), [])
        known[:] = [p, *(q for q in known if (q.types, q.when) != (p.types, p.when))]
        self.version += 1


class Lookup:
    """The primitives of a class and its bases, most specific first."""

    def __init__(self, registries: Iterable[Registry]) -> None:
        """``registries``: that of the class first, then of its bases."""
        self.by_key: dict[Key, list[Primitive]] = {}
        for registry in registries:
            for key, own in registry.by_key.items():
                known = self.by_key.setdefault(key, [])
                seen = {(p.types, p.when) for p in known}
                known += [p for p in own if (p.types, p.when) not in seen]
        for key, known in self.by_key.items():
            self.by_key[key] = by_specificity(known)
        self.general = self.by_key.pop(ANY, [])
        self.names = {
            name
            for known in self.by_key.values()
            if isinstance(name := getattr(known[0].callee, "__name__", None), str)
        }
        self.conditional = any(p.conditional for known in self.by_key.values() for p in known)

    def __bool__(self) -> bool:
        return bool(self.by_key or self.general)

    def of(self, g: Any) -> Iterable[tuple[Primitive, tuple[Any, ...]]]:
        """The candidates for a call of ``g``, with the arguments that come before its own."""
        for key, before in keys_of(g):
            for p in self.by_key.get(key, ()):
                yield p, before
        for p in self.general:
            yield p, (g,)


def by_specificity(primitives: list[Primitive]) -> list[Primitive]:
    """In order; of two that are not comparable, the later registered and the derived class's
    first."""
    rest, out = list(primitives), []
    while rest:
        best = next(p for p in rest if not any(more_specific(q, p) for q in rest if q is not p))
        rest.remove(best)
        out.append(best)
    return out


def more_specific(p: Primitive, q: Primitive) -> bool:
    if p.types == q.types:
        return p.when is not None and q.when is None
    if len(p.types) < len(q.types):
        return False
    return all(map(issubclass, p.types, q.types))


def primitive_of(
    f: Any, types: tuple[Any, ...], when: Any, body: Any, general: bool, owner: str
) -> Primitive:
    """A checked primitive. BadPrimitive (PB504) if it could never be called."""
    if not (general or callable(f)):
        raise BadPrimitive(f"{owner}.primitive({f!r}): only a callable can have a primitive")
    if general and when is None:
        raise BadPrimitive(
            f"{owner}.primitive(): a primitive for any callable needs when=",
            hint="Name the callable, or give a predicate (ctx, f, *args, **kw).",
        )
    if not all(isinstance(t, type) for t in types):
        raise BadPrimitive(f"{owner}.primitive: {types!r} are not types")
    if not callable(body) or not (when is None or callable(when)):
        raise BadPrimitive(f"{owner}.primitive: {body!r} cannot be called")
    return Primitive(body, f, types, when, general)
