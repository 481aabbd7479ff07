"""What contextual code calls at its sites: small functions, each with the memory of its site.

A resolver takes what is called (and those arguments that matter) and returns what to call instead,
with the same arguments, from the user's frame. It remembers the last answer; memories are emptied
when the outermost run ends, so that nothing is kept alive and every redefinition is seen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from ..ir import intrinsics
from .attributes import attribute, is_plain_attribute, say_whose, write, writer
from .making import constructor, copies_of, resolver, takes_exactly
from .protocols import OPERATOR_NAMES, is_static, iterate_loop, opened, protocol
from .shortcuts import AS_IS, first_step, may_decline, reader_of

if TYPE_CHECKING:
    from .room import Room

NOTHING: Any = object()
_LASTING = (FunctionType, BuiltinFunctionType, type)
"""What a site may hold on to until the run ends: nobody waits for these to be gone."""

_HANDED = (FunctionType, MethodType, functools.partial)
EMPTY: tuple[Any, Any, Any] = (NOTHING, None, False)


def remember(room: Room, memory: list[Any], answer: tuple[Any, Any, Any]) -> None:
    if memory[0] is EMPTY:
        room.touch(memory)
    memory[0] = answer


def is_handed(x: Any) -> bool:
    """Whether an argument of plain Python code is taken for a callback."""
    return isinstance(x, _HANDED)


def call_site(
    room: Room,
    names: tuple[str, ...],
    name: str | None = None,
    exact: int | None = None,
    seen: int | None = None,
) -> Callable[..., Any]:
    """``resolve(g, *args)``; the last arguments are those of the keywords ``names``. ``name``: that
    of the attribute that ``g`` was read from, if it was one. ``exact``: the number of arguments of
    the call, if all are positional. ``seen``: how many of them ``resolve`` gets; any if None."""
    if name is None:
        return _function_site(room, names, exact, seen)
    return _method_site(room, names, name not in room.watched_names, name in OPERATOR_NAMES)


def _function_site(
    room: Room,
    names: tuple[str, ...],
    exact: int | None = None,
    seen: int | None = None,
    memory: list[Any] | None = None,
) -> Callable[..., Any]:
    memory = memory or [EMPTY]
    codes = [EMPTY]  # code objects, and what they are here
    copies: list[Any] = [EMPTY]

    def look_up(g: Any, *args: Any) -> Any:
        last, target, look = memory[0]
        if g is last and not (look and any(map(is_handed, args))):
            return target
        kind = type(g)
        if kind is FunctionType:
            last, code, cells = codes[0]
            if g.__code__ is last:
                return instantiate(g, code, cells)
        found = room.resolve(g, args, names)
        target = found.target
        if found.stable and kind in _LASTING:
            if found.init is not None and exact is not None:
                target = constructor(g, found.init, exact)
            elif exact == 1 and target is room.shared_builtin(g):
                target = single_builtin_site(room, target, g)
            if kind is not FunctionType or g.__closure__ is None:
                remember(room, memory, (g, target, found.look))
            entry = found.entry
            if entry is not None and entry.compiled and id(g.__code__) not in room.singled_out:
                code, cells = entry.compiled.code, entry.cells
                remember(room, codes, (g.__code__, code, cells))
                if takes_exactly(g.__code__, exact):
                    known = (g.__code__, g.__globals__, copies_of(g, code, cells))
                    remember(room, copies, known)
        return target

    return resolver(seen, memory, copies, look_up)


def _method_site(
    room: Room, names: tuple[str, ...], unwatched: bool, operator_name: bool
) -> Callable[..., Any]:
    memory = [EMPTY]

    def resolve(g: Any, *args: Any) -> Any:
        kind = type(g)
        if kind is MethodType:
            last, target, look = memory[0]
            if g.__func__ is last and not (look and any(map(is_handed, args))):
                return MethodType(target, g.__self__)
            found = room.resolve(g, args, names)
            if found.stable:
                remember(room, memory, (g.__func__, found.target.__func__, found.look))
            return found.target
        if kind is BuiltinFunctionType and (
            unwatched and not (operator_name and type(g.__self__) is ModuleType)
        ):
            return g
        last, target, look = memory[0]
        if g is last and not (look and any(map(is_handed, args))):
            return target
        found = room.resolve(g, args, names)
        if found.stable and kind in _LASTING:
            remember(room, memory, (g, found.target, found.look))
        return found.target

    return resolve


def spread_site(room: Room) -> Callable[..., Any]:
    """The same for ``g(*args, **kwargs)``."""
    memory = [EMPTY]
    resolve = _function_site(room, (), memory=memory)

    def spread(g: Any, args: Any, kwargs: Any = None) -> Any:
        last, target, look = memory[0]
        if g is last and not look:
            return target
        if type(args) is not tuple or type(kwargs) not in (dict, type(None)):
            return room.dispatched(g)
        if not kwargs:
            return resolve(g, *args)
        if not room.watch.by_arguments:
            return resolve(g, *args, *kwargs.values())
        return room.resolve(g, (*args, *kwargs.values()), tuple(kwargs)).target

    return spread


def instantiate(f: Any, code: CodeType, cells: tuple[CellType, ...]) -> FunctionType:
    """``f`` with other code, which has ``cells`` as further free variables."""
    closure = f.__closure__
    closure = cells if closure is None else closure + cells
    new = FunctionType(code, f.__globals__, None, f.__defaults__, closure)
    if f.__kwdefaults__ is not None:
        new.__kwdefaults__ = f.__kwdefaults__
    if f.__qualname__ != code.co_qualname:
        new.__qualname__ = f.__qualname__
    return new


def operator_site(room: Room, f: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that nobody watches: itself on plain types, else with its methods in the
    context."""
    special: Any = iterate_loop if f is iter else protocol(f)
    assert special is not None
    if f.__module__ == intrinsics.__name__:
        return functools.partial(special, room)
    plain, is_plain = room.plain, room.is_plain
    declined = NotImplemented if may_decline(f) else NOTHING
    memory: list[Any] = [EMPTY]  # the last types, and what is called first for them

    def one(x: Any) -> Any:
        t = type(x)
        if t in plain:
            return f(x)
        last, _, target = memory[0]
        if t is not last:
            if is_plain(t):
                return f(x)
            target = short_cut(room, memory, f, t)
        return special(room, x) if target is None else target(x)

    def two(x: Any, y: Any) -> Any:
        tx, ty = type(x), type(y)
        if tx in plain and ty in plain:
            return f(x, y)
        last, other, target = memory[0]
        if tx is not last or ty is not other:
            if (tx in plain or is_plain(tx)) and (ty in plain or is_plain(ty)):
                return f(x, y)
            target = short_cut(room, memory, f, tx, ty)
        if target is None:
            return special(room, x, y)
        got = target(x, y)
        return special(room, x, y, 1) if got is declined else got

    def three(x: Any, y: Any, z: Any) -> Any:
        t = type(x)
        if t in plain:
            return f(x, y, z)
        last, _, target = memory[0]
        if t is not last:
            if is_plain(t):
                return f(x, y, z)
            target = short_cut(room, memory, f, t)
        return special(room, x, y, z) if target is None else target(x, y, z)

    written: dict[int, Callable[..., Any]] = {1: one, 2: two, 3: three}
    return written[_arity(f)]


def short_cut(room: Room, memory: list[Any], f: Any, *types: type) -> Any:
    """What is called first for ``f`` on the types, None if that depends; it is remembered."""
    first, target = first_step(f, *types), None
    if first is AS_IS:
        target = f
    elif first is not None and not room.hooked:
        target = room.lasting(first.method)
        if target is not None and first.swapped:
            target = swapped(target)
    if target is not None:
        remember(room, memory, (types[0], types[-1], target))
    return target


def swapped(target: Any) -> Any:
    return lambda x, y: target(y, x)


def _arity(f: Any) -> int:
    return {"neg": 1, "pos": 1, "invert": 1, "not_": 1, "truth": 1, "iter": 1, "setitem": 3}.get(
        f.__name__, 2
    )


def single_builtin_site(room: Room, call: Any, f: Any) -> Callable[[Any], Any]:
    """The same at a call with one argument."""
    plain = room.plain
    return lambda x: f(x) if type(x) in plain else call(x)


def opening_site(room: Room, sized: bool) -> Callable[[Any], Any]:
    """What is unpacked, or spread into a list."""
    plain = room.plain

    def iterable(x: Any) -> Any:
        return x if type(x) in plain or room.is_plain(type(x)) else opened(room, x, sized)

    return iterable


def writing_site(room: Room, name: str, value: bool) -> Callable[..., None]:
    """``x.name = v`` (``value``) or ``del x.name`` where nobody watches."""
    plain: set[type] = set()

    def look(x: Any, *v: Any) -> None:
        t = type(x)
        if writer(t, name, value) is None:
            if not plain:
                room.touch(plain)
            plain.add(t)
        write(room, name, x, *v)

    def put(x: Any, v: Any) -> None:
        if type(x) in plain:
            setattr(x, name, v)
        else:
            look(x, v)

    return put if value else look


def attribute_site(room: Room, name: str) -> Callable[[Any], Any]:
    """``x.name`` where nobody watches ``getattr``."""
    plain: set[type] = set()
    static: set[type] = set()
    memory: list[Any] = [EMPTY]  # the last class with a property, and what reads it

    def read(x: Any) -> Any:
        t = type(x)
        if t in static or t in plain:
            return getattr(x, name)
        last, target, _ = memory[0]
        if t is last:
            try:
                return target(x)
            except AttributeError as e:
                say_whose(e, x, name)
                raise
        if is_static(t):
            static.add(t)
        elif is_plain_attribute(t, name):
            plain.add(t)
            room.touch(plain)
        else:
            reader = None if room.hooked else reader_of(t, name)
            target = None if reader is None else room.lasting(reader)
            if target is not None:
                remember(room, memory, (t, target, False))
                return read(x)
            return attribute(room, x, name)
        return getattr(x, name)

    return read
