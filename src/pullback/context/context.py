"""``Context``: its instances run functions, each call in them going through the context."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, ClassVar

from . import frames, hooks, protocols
from .primitives import Lookup, Registry, primitive_of
from .room import Room
from .run import ENTRIES, RESUME, Place


class Context:
    """Run functions under rules of your own: derive a class, give it primitives, hooks, passes.

    >>> import math
    >>> class Halved(Context): ...
    >>> @Halved.primitive(math.sqrt)
    ... def _(ctx, x):
    ...     return math.sqrt(x) / 2
    >>> Halved().overdub(lambda x: 1 + math.sqrt(x), 16.0)
    3.0

    State lives on the instance; ``recurse_into``, ``exclude`` and ``depth`` may be given to the
    constructor or be attributes of the class. The rules are in ``docs/contexts.md``.
    """

    __slots__ = ("_room", "_shadows", "__dict__", "__weakref__")

    passes: ClassVar[Sequence[Callable[..., Any]]] = ()
    recurse_into: Any = ()
    exclude: Any = ()
    depth: int | None = None

    _room: Room | None
    _shadows: Any
    _registry: ClassVar[Registry] = Registry()
    _tables: ClassVar[dict[Any, Any]] = {}

    def __init_subclass__(cls, **kw: Any) -> None:
        for name in ("recurse_into", "exclude", "depth", "passes"):
            if name in kw:
                setattr(cls, name, kw.pop(name))
        super().__init_subclass__(**kw)
        cls._registry, cls._tables = Registry(), {}

    def __init__(self, *, recurse_into: Any = None, exclude: Any = None, depth: Any = None) -> None:
        for name, given in (("recurse_into", recurse_into), ("exclude", exclude), ("depth", depth)):
            if given is not None:
                setattr(self, name, given)

    # -- running -------------------------------------------------------------------------------
    def overdub(
        self, f: Callable[..., Any], /, *args: Any, _room: Room | None = None, **kw: Any
    ) -> Any:
        """``f(*args, **kw)`` with every call in it going through the context. A primitive for ``f``
        runs instead of it. No filter applies to ``f`` itself, and no hook sees this call."""
        try:
            return self._enter(f, args, kw, _room, None)
        except BaseException as e:
            frames.clean(e)
            raise

    def recurse(
        self, f: Callable[..., Any], /, *args: Any, _room: Room | None = None, **kw: Any
    ) -> Any:
        """The same, but the body of ``f`` is entered even if there is a primitive for it."""
        try:
            return self._enter(f, args, kw, _room, self)
        except BaseException as e:
            frames.clean(e)
            raise

    def can_recurse(self, f: Callable[..., Any], /) -> bool:
        """Whether a call of ``f`` under this context finds Python code that is entered."""
        found = function_of(f)
        return found is not None and bool(room_of(self).entry(found, ()).compiled)

    def _enter(self, f: Any, args: Any, kw: Any, room: Room | None, skip: Context | None) -> Any:
        room = room or RESUME.get().get(id(self)) or room_of(self)
        with room.run:
            given = (*args, *kw.values())
            target = room.resolve(f, given, tuple(kw), skip, force=True).target
            return target(*args, **kw)

    # -- hooks ---------------------------------------------------------------------------------
    def prehook(self, f: Any, /, *args: Any, **kw: Any) -> None:
        """Called before each call in a body, with what is called and its arguments."""

    def posthook(self, out: Any, f: Any, /, *args: Any, **kw: Any) -> None:
        """Called after each call that returned, with its result."""

    def errorhook(self, exc: BaseException, f: Any, /, *args: Any, **kw: Any) -> None:
        """Called after each call that raised, with the exception, which goes on."""

    # -- primitives ----------------------------------------------------------------------------
    @classmethod
    def primitive(
        cls, f: Any = None, /, *types: type, when: Callable[..., Any] | None = None
    ) -> Callable[[Any], Any]:
        """Decorate what runs instead of ``f(*args, **kw)``: ``body(ctx, *args, **kw)``.

        ``types`` are classes that the first arguments must be instances of; ``when(ctx, *args,
        **kw)`` must be true. Without ``f`` it stands for any callable, which ``when`` and the body
        get behind ``ctx``. BadPrimitive (PB504) if it could never apply."""

        def register(body: Any) -> Any:
            p = primitive_of(f, types, when, body, f is None, cls.__name__)
            cls._registry.add(p)
            return body

        return register

    # -- of the class --------------------------------------------------------------------------
    @classmethod
    def _registries(cls) -> list[Registry]:
        return [c.__dict__["_registry"] for c in cls.__mro__ if "_registry" in c.__dict__]

    @classmethod
    def _lookup(cls) -> Lookup:
        return Lookup(cls._registries())

    @classmethod
    def _stamp(cls) -> tuple[Any, ...]:
        """What the compiled code of the class depends on."""
        return (*(r.version for r in cls._registries()), *cls.passes)

    def __getstate__(self) -> Any:
        return self.__dict__.copy()


def room_of(ctx: Context) -> Room:
    """The room of the context by itself, made anew if the class has changed since."""
    room: Room | None = getattr(ctx, "_room", None)
    if room is not None and room.run.active:
        return room
    stamp = _state(ctx)
    if room is None or room.stamp != stamp:
        room = Room([Place(ctx, ctx.depth)])
        room.stamp = stamp
        ctx._room = room
    return room


def _state(ctx: Context) -> tuple[Any, ...]:
    cls = type(ctx)
    found = [getattr(cls, name) for name in hooks.NONE]
    own = [ctx.__dict__.get(name) for name in hooks.NONE]
    filters = [_frozen(ctx.recurse_into), _frozen(ctx.exclude), ctx.depth]
    return (*cls._stamp(), *found, *own, *filters)


def _frozen(names: Any) -> Any:
    return tuple(names) if isinstance(names, (list, set)) else names


ENTRIES |= {Context.overdub, Context.recurse}
hooks.NONE.update({name: getattr(Context, name) for name in hooks.NONE})


def function_of(f: Any) -> FunctionType | None:
    """The Python function that a call of ``f`` runs, if there is one."""
    while isinstance(f, (MethodType, functools.partial)):
        f = f.__func__ if isinstance(f, MethodType) else f.func
    if isinstance(f, FunctionType):
        return f
    if isinstance(f, type):
        own = (f.__new__, protocols.lookup(f, "__init__"))
        if not protocols.is_constructed(f):
            return None
        return next((m for m in reversed(own) if isinstance(m, FunctionType)), None)
    method = protocols.lookup(type(f), "__call__")
    return method if isinstance(method, FunctionType) else None


__all__ = ["Context", "function_of", "room_of"]
