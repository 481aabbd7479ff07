"""Operators on objects of the user's classes: the special methods behind them stay in the context.

Python decides in C which special method an operator runs. Here the decision is made in Python where
a class defines that method in Python; everything else is left to C. A class whose special methods
are all of C is *plain*, and after one look at its type an operator on it is what it always is.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

from ..ir import intrinsics
from ..ir.operators import BINARY, COMPARE, INPLACE

if TYPE_CHECKING:
    from .room import Room

BINARY_NAMES = {f: f.__name__.strip("_") for f in BINARY}
"""``operator.and_`` is behind ``__and__`` and ``__rand__``."""

INPLACE_NAMES: dict[Any, Any] = dict(zip(INPLACE, BINARY))
SYMBOLS = dict(
    zip(BINARY, ("+", "&", "//", "<<", "@", "*", "%", "|", "** or pow()", ">>", "-", "/", "^"))
)
COMPARE_NAMES = {f: f"__{f.__name__}__" for f in COMPARE.values()}
REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
COMPARE_SYMBOLS = {f: symbol for symbol, f in COMPARE.items()}

UNARY_NAMES = {
    operator.neg: "__neg__", operator.pos: "__pos__", operator.invert: "__invert__",
    operator.getitem: "__getitem__", operator.setitem: "__setitem__",
    operator.delitem: "__delitem__", builtins.abs: "__abs__", builtins.next: "__next__",
}  # fmt: skip
"""Operations that just call the method of their first operand."""

OPERATOR_NAMES = frozenset(
    f.__name__ for f in (*BINARY, *INPLACE, *COMPARE_NAMES, *UNARY_NAMES)
) | {"truth", "not_", "contains"}
"""Functions of the module ``operator``; methods of C have some of these names too."""

CALLED_BY_NAME = frozenset(
    (builtins.abs, builtins.next, builtins.iter, builtins.len, builtins.bool)
)
"""Builtins whose methods are looked for when the user calls them."""

BUILTIN = BuiltinFunctionType
_HEAP = 1 << 9  # Py_TPFLAGS_HEAPTYPE: only such a class can have methods in Python
_NUMBERS = (int, float, complex, bool)
NOTHING: Any = object()

Way = tuple[Any, bool]
"""A method of one operand, and whether it is the second one's."""


def is_static(t: type) -> bool:
    return not t.__flags__ & _HEAP


def lookup(t: type, name: str) -> Any:
    """What a class defines under a special name, None if nothing (or None)."""
    for c in t.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    return None


def in_python(method: Any) -> bool:
    return type(method) is FunctionType


def special_methods(t: type) -> Iterator[FunctionType]:
    """The special methods of a class that are written in Python."""
    for c in t.__mro__:
        if not is_static(c):
            for k, v in c.__dict__.items():
                if type(v) is FunctionType and k[:2] == "__":
                    yield v


def has_special_methods(t: type) -> bool:
    return any(True for _ in special_methods(t))


def protocol(f: Any) -> Callable[..., Any] | None:
    """How ``f`` is done on objects with methods in Python: ``(room, *operands) -> result``; None
    if there is nothing special."""
    for names, how in ((BINARY_NAMES, binary), (INPLACE_NAMES, inplace), (COMPARE_NAMES, compare),
                       (UNARY_NAMES, unary)):  # fmt: skip
        if f in names:
            return functools.partial(how, f)
    return OTHERS.get(f)


# -- each operator ---------------------------------------------------------------------------------
def unary(f: Any, room: Room, x: Any, *rest: Any) -> Any:
    method = lookup(type(x), UNARY_NAMES[f])
    if in_python(method):
        return room.call(method, x, *rest)
    return f(x, *rest)


def binary_ways(f: Any, ta: type, tb: type) -> list[Way] | None:
    """``__add__``, then ``__radd__``; the other way round if b's class derives from a's and has a
    ``__radd__`` of its own. None if C code decides."""
    name = BINARY_NAMES[f]
    left, right = lookup(ta, f"__{name}__"), lookup(tb, f"__r{name}__")
    if not (in_python(left) or (in_python(right) and (left is None or ta in _NUMBERS))):
        return None
    if ta is tb:
        right = None
    ways = [(left, False), (right, True)]
    if ta is not tb and issubclass(tb, ta) and right is not lookup(ta, f"__r{name}__"):
        ways.reverse()
    return [way for way in ways if way[0] is not None]


def binary(f: Any, room: Room, a: Any, b: Any, declined: int = 0, symbol: str | None = None) -> Any:
    """``declined``: how many of the ways have been gone, in vain."""
    ta, tb = type(a), type(b)
    ways = binary_ways(f, ta, tb)
    if ways is None:
        return f(a, b)
    for method, swapped in ways[declined:]:
        x, y = (b, a) if swapped else (a, b)
        got = room.call(method, x, y) if in_python(method) else method(x, y)
        if got is not NotImplemented:
            return got
    names = f"{ta.__name__!r} and {tb.__name__!r}"
    raise TypeError(f"unsupported operand type(s) for {symbol or SYMBOLS[f]}: {names}")


def inplace_method(f: Any, t: type) -> Any:
    return lookup(t, f"__{f.__name__.strip('_')}__")


def inplace(f: Any, room: Room, a: Any, b: Any, declined: int = 0) -> Any:
    plain = INPLACE_NAMES[f]
    method = inplace_method(f, type(a))
    if in_python(method):
        got = NotImplemented if declined else room.call(method, a, b)
        declined = 0
        if got is not NotImplemented:
            return got
    elif method is not None:
        return f(a, b)
    if not has_special_methods(type(a)) and not has_special_methods(type(b)):
        return f(a, b)
    symbol = SYMBOLS[plain]
    symbol = "**=" if plain is operator.pow else f"{symbol}="
    return binary(plain, room, a, b, declined, symbol)


def compare_ways(f: Any, ta: type, tb: type, differs: Any) -> list[Way] | None:
    """``__lt__``, then the other's ``__gt__``; the other way round if b's class derives from a's.
    None if C code decides. ``differs``: what stands for ``object.__ne__``."""
    name = f.__name__
    left, right = lookup(ta, f"__{name}__"), lookup(tb, f"__{REFLECTED[name]}__")
    if f is operator.ne and left is object.__ne__ and in_python(lookup(ta, "__eq__")):
        left = differs
    if f is operator.ne and right is object.__ne__ and in_python(lookup(tb, "__eq__")):
        right = differs
    if not (in_python(left) or in_python(right)):
        return None
    ways = [(left, False), (right, True)]
    if ta is not tb and issubclass(tb, ta) and right is not None:
        ways.reverse()
    return [way for way in ways if way[0] is not None]


def compare(f: Any, room: Room, a: Any, b: Any, declined: int = 0) -> Any:
    ta, tb = type(a), type(b)
    differs = _not_equal(room)
    ways = compare_ways(f, ta, tb, differs)
    if ways is None:
        return f(a, b)
    for method, swapped in ways[declined:]:
        x, y = (b, a) if swapped else (a, b)
        known = in_python(method) and method is not differs
        got = room.call(method, x, y) if known else method(x, y)
        if got is not NotImplemented:
            return got
    if f is operator.eq or f is operator.ne:
        return (a is b) is (f is operator.eq)
    names = f"{ta.__name__!r} and {tb.__name__!r}"
    raise TypeError(f"{COMPARE_SYMBOLS[f]!r} not supported between instances of {names}")


def _not_equal(room: Room) -> Callable[[Any, Any], Any]:
    """``object.__ne__``: what ``__eq__`` says, inverted."""

    def differs(a: Any, b: Any) -> Any:
        got = room.call(lookup(type(a), "__eq__"), a, b)
        return got if got is NotImplemented else not truth(room, got)

    return differs


def truth(room: Room, x: Any) -> bool:
    method = lookup(type(x), "__bool__")
    if in_python(method):
        got = room.call(method, x)
        if type(got) is not bool:
            name = type(got).__name__
            raise TypeError(f"__bool__ should return bool, returned {name}")
        return got
    size = lookup(type(x), "__len__")
    if method is None and in_python(size):
        return length(room, x) != 0
    return bool(x)


def length(room: Room, x: Any) -> int:
    size = lookup(type(x), "__len__")
    if not in_python(size):
        return len(x)
    got = operator.index(room.call(size, x))
    if got < 0:
        raise ValueError("__len__() should return >= 0")
    return got


def contains(room: Room, container: Any, x: Any) -> bool:
    method = lookup(type(container), "__contains__")
    if in_python(method):
        return truth(room, room.call(method, container, x))
    return operator.contains(container, x)


def iterate(room: Room, x: Any, *sentinel: Any) -> Any:
    """``iter(x)``."""
    t = type(x)
    method = lookup(t, "__iter__")
    watched = not sentinel and room.watch.watches(builtins.iter)
    if watched and not hasattr(t, "__iter__") and in_python(item := lookup(t, "__getitem__")):
        return items(room, x, item)  # a loop steps through what a watched call returned
    if sentinel or not in_python(method):
        return iter(x, *sentinel)
    it = room.call(method, x)
    if lookup(type(it), "__next__") is None:
        raise TypeError(f"iter() returned non-iterator of type {type(it).__name__!r}")
    return it


def iterate_loop(room: Room, x: Any) -> Any:
    """An iterator for a loop: one that steps through the context if its steps are in Python."""
    t = type(x)
    if not hasattr(t, "__iter__") and in_python(item := lookup(t, "__getitem__")):
        return items(room, x, item)
    it = iterate(room, x)
    return steps(room, it) if in_python(lookup(type(it), "__next__")) else it


def opened(room: Room, x: Any, sized: bool) -> Any:
    """What stands for ``x`` where code of C takes all its items, so that its methods of iteration
    are called in the context. ``sized``: that code also asks how many there are."""
    t = type(x)
    if t in room.plain:
        return x
    if sized and (in_python(lookup(t, "__len__")) or in_python(lookup(t, "__length_hint__"))):
        return x  # these would not be called any more
    found = lookup(t, "__iter__") or (None if hasattr(t, "__iter__") else lookup(t, "__getitem__"))
    return iterate_loop(room, x) if in_python(found) or in_python(lookup(t, "__next__")) else x


def _opening(f: Any, sized: bool) -> Callable[..., Any]:
    """``f``, which takes all the items of its arguments."""

    def call(room: Room, *xs: Any, **kw: Any) -> Any:
        return f(*[opened(room, x, sized) for x in xs], **kw)

    return call


def items(room: Room, x: Any, item: Any) -> Iterator[Any]:
    """The items of a sequence that only has ``__getitem__``."""
    for k in itertools.count():
        try:
            found = room.call(item, x, k)
        except (IndexError, StopIteration):
            return
        yield found


def steps(room: Room, it: Any) -> Any:
    """Each step of ``it`` as a call of ``next`` in the context."""
    method = lookup(type(it), "__next__")
    direct = in_python(method) and not room.watch.watches(next)
    step = functools.partial(room.call, method if direct else next)
    while True:
        try:
            x = step(it)
        except StopIteration:
            return
        yield x


def construct(room: Room, cls: type, /, *args: Any, **kw: Any) -> Any:
    """``cls(*args, **kw)`` as ``type`` does it."""
    made: Any
    new: Any = cls.__new__
    if new is object.__new__:
        made = object.__new__(cls)
    elif in_python(new):
        made = room.call(new, cls, *args, **kw)
    else:
        made = new(cls, *args, **kw)
    if cls in type(made).__mro__:  # isinstance may be the user's code
        init = lookup(type(made), "__init__")
        if not in_python(init):
            type(made).__init__(made, *args, **kw)
        elif (got := room.call(init, made, *args, **kw)) is not None:
            not_none(got)
    return made


def not_none(got: Any) -> None:
    raise TypeError(f"__init__() should return None, not {type(got).__name__!r}")


_READS_FRAMES = frozenset(("_getframe", "_getframemodulename", "_caller", "currentframe"))


def reads_frames(f: Any) -> bool:
    """Whether a method looks at the frame that called it: it has to be the user's."""
    return in_python(f) and not _READS_FRAMES.isdisjoint(f.__code__.co_names)


def is_constructed(cls: type) -> bool:
    """Whether calling the class runs a ``__new__`` or ``__init__`` in Python, by the rules of
    ``type``."""
    if reads_frames(cls.__new__) or reads_frames(lookup(cls, "__init__")):
        return False
    if lookup(type(cls), "__call__") is not type.__dict__["__call__"] or is_static(cls):
        return False
    return in_python(cls.__new__) or in_python(lookup(cls, "__init__"))


def _not(room: Room, x: Any) -> bool:
    return not truth(room, x)


def enter(room: Room, manager: Any) -> tuple[Any, Any]:
    """``with manager``: the value of its entry, and its exit."""
    methods: list[Any] = []
    kind = type(manager)
    for name in ("__enter__", "__exit__"):
        if lookup(kind, name) is None:
            missed = " (missed __exit__ method)" if methods else ""
            what = (
                f"{type(manager).__name__!r} object does not support the context manager protocol"
            )
            raise TypeError(what + missed)
        methods.append(getattr(kind, name).__get__(manager, kind))
    return room.call(methods[0]), methods[1]


def leave(room: Room, exit: Any, exc: BaseException) -> Any:
    """What the exit says to an exception."""
    return room.call(exit, type(exc), exc, exc.__traceback__)


def _opening_first(f: Any, sized: bool = False) -> Callable[..., Any]:
    """An intrinsic that takes all the items of its first argument."""
    return lambda room, x, *rest: f(opened(room, x, sized), *rest)


def _opening_second(f: Any, sized: bool) -> Callable[..., Any]:
    return lambda room, target, x: f(target, opened(room, x, sized))


_ENTRANCES: dict[str, Callable[..., Any]] = {"before_with": enter, "with_except_start": leave}
OTHERS: dict[Any, Callable[..., Any]] = {
    **{f: how for n, how in _ENTRANCES.items() if (f := getattr(intrinsics, n, None))},
    operator.truth: truth,
    operator.not_: _not,
    operator.contains: contains,
    builtins.bool: truth,
    builtins.len: length,
    builtins.iter: iterate,
    **{f: _opening(f, True) for f in (list, tuple)},
    **{f: _opening_first(f) for f in (intrinsics.unpack, intrinsics.unpack_ex)},
    intrinsics.spread: _opening_first(intrinsics.spread, True),
    intrinsics.list_extend: _opening_second(intrinsics.list_extend, True),
    intrinsics.set_update: _opening_second(intrinsics.set_update, False),
    **{f: _opening(f, False) for f in (set, frozenset, sum, any, all, enumerate, zip)},
}
