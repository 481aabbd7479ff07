"""Tuples, namedtuples, lists of known length and text: what becomes of products."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from numba.core import types

from ..errors import TypingError
from ..ir.core import Const
from ..rules.source import function
from .actions import Action, Form, Forms, Known, Leaf, Rearrange, source_form
from .calls import Call
from .iteration import _count, _item, part
from .lattice import (
    Abstract,
    ATuple,
    AVal,
    constant,
    is_array,
    is_scalar,
    scalar_kind,
    static,
)
from .lists import ListArray
from .statements import ClosureOf, DictOf, MethodOf


@dataclass(frozen=True)
class Text:
    """The class of a string that is put together at run time: what ``maker`` makes of the parts."""

    maker: Any

    @property
    def __name__(self) -> str:
        return "<text>"


def sequence(x: Abstract) -> bool:
    """Whether this is a tuple, a namedtuple or a list display."""
    return isinstance(x, ATuple) and (x.is_tuple or x.cls is list)


def position(i: int, n: int) -> int:
    if not -n <= i < n:
        raise TypingError(f"index {i} of a tuple of {n} items")
    return i % n


def pack(args: tuple[Abstract, ...], cls: Any) -> Rearrange:
    return Rearrange(ATuple(args, cls), lambda forms: forms[1:])


class Pack(Action):
    """A product of given (source, abstract value) pairs, converted to the result's elements."""

    size = 0

    def __init__(self, result: ATuple, given: list[Any]) -> None:
        self.result, self.given = result, given

    def emit(self, em: Any, args: Forms) -> Form:
        return tuple(
            em.cast(source_form(em, s, args), a, to)
            for (s, a), to in zip(self.given, self.result.elements)
        )


class Convert(Action):
    """An action whose result is cast."""

    def __init__(self, inner: Action, result: Abstract) -> None:
        self.inner, self.result = inner, result
        self.size = inner.size

    def emit(self, em: Any, args: Forms) -> Form:
        return em.cast(self.inner.emit(em, args), self.inner.result, self.result)


class FlatLeaf(Leaf):
    """A leaf whose operands, after the callee, are flattened; text gives its template first."""

    def emit(self, em: Any, args: Forms) -> Form:
        operands = [x for a, f in zip(self.args, args[1:]) for x in em.visible(f, a)]
        return em.call(self.plan.callee, operands, self.plan.type)


def boxed(a: Abstract) -> Abstract:
    """The abstract value after a trip through CPython's numbers."""
    if isinstance(a, ATuple):
        return ATuple(tuple(map(boxed, a.elements)), a.cls)
    if is_scalar(a.type) and not a.known:
        wide = {"b": types.boolean, "i": types.int64, "f": types.float64, "c": types.complex128}
        return AVal(wide[scalar_kind(a.type)], py=True)
    return a


# -- getting at items ------------------------------------------------------------------------------
def tuple_getitem(r: Any, c: Call) -> Action:
    x, i = c.args
    assert isinstance(x, ATuple)
    n = len(x.elements)
    if isinstance(i, ATuple) and i.cls is slice:
        ends = [e.const if e.known else _unknown() for e in i.elements]
        cut = slice(*ends)
        cls = list if x.cls is list else None
        return Rearrange(ATuple(x.elements[cut], cls), lambda forms: forms[1][cut])
    if i.known and isinstance(i.const, (int, bool)):
        k = position(int(i.const), n)
        return Rearrange(x.elements[k], lambda forms: forms[1][k])
    if not isinstance(i.type, types.Integer):
        raise TypingError(f"a tuple is indexed by {i!r}")
    return r.enter(c, _pick(n))


def _unknown() -> Any:
    raise TypingError("a tuple is sliced at places not known at typing")


def _pick(n: int) -> Any:
    """The function that picks an item by an index known only at run time."""
    lines = ["def pick(x, i):", f"    if i < -{n} or i >= {n}:"]
    lines.append("        raise IndexError('tuple index out of range')")
    lines.append(f"    k = i + {n} if i < 0 else i")
    for k in range(n - 1):
        lines.append(f"    if k == {k}:\n        return part(x, {k})")
    lines.append(f"    return part(x, {n - 1})" if n else "    raise IndexError")
    return function("pick", "\n".join(lines) + "\n", part=part)


def known_length(x: Abstract) -> int | None:
    """The length of what is iterated over, if typing knows it."""
    if isinstance(x, ATuple):
        if sequence(x):
            return len(x.elements)
        if x.cls is range and all(e.known for e in x.elements):
            return len(range(*(e.const for e in x.elements)))
        if x.cls in (enumerate, reversed):
            return known_length(x.elements[0])
        if x.cls is zip:
            lengths = [known_length(e) for e in x.elements]
            return (
                None if None in lengths else min((n for n in lengths if n is not None), default=0)
            )
    return None


def items_function(x: Abstract, n: int) -> Any:
    """The function that gives the ``n`` items of an iterable as a tuple, or raises ValueError."""
    from .iteration import _SCOPE

    items = "".join(f"{_item(x, 's', str(k))}, " for k in range(n))
    lines = ["def items(s):"]
    if known_length(x) != n:
        lines.append(f"    n = {_count(x, 's')}")
        lines.append(f"    if n > {n}:")
        lines.append(f"        raise ValueError('too many values to unpack (expected {n})')")
        lines.append(f"    if n < {n}:")
        lines.append(f"        raise ValueError('not enough values to unpack (expected {n})')")
    lines.append(f"    return ({items})")
    return function("items", "\n".join(lines) + "\n", **_SCOPE)


# -- attributes and methods ------------------------------------------------------------------------
def attribute(r: Any, c: Call, x: ATuple, name: str) -> Action:
    fields = getattr(x.cls, "_fields", None)
    if x.cls in (range, slice):
        fields = ("start", "stop", "step")
    if fields is not None and name in fields:
        k = fields.index(name)
        return Rearrange(x.elements[k], lambda forms: forms[1][k])
    if isinstance(x.cls, ClosureOf) and name == "__name__":
        return Known(constant(x.cls.code.co_name))
    if x.is_tuple and x.cls is not None and name not in ("_replace", "_asdict"):
        found = getattr(x.cls, name, None)
        if isinstance(found, property):
            return r.call(c.spec, static(found.fget), (x,), (), c.sweep, c.op)
        if hasattr(found, "__code__"):
            return Rearrange(ATuple((x,), MethodOf(name)), lambda forms: (forms[1],))
        if found is not None and name in vars(x.cls) and not callable(found):
            return Known(constant(found))
    return Rearrange(ATuple((x,), MethodOf(name)), lambda forms: (forms[1],))


_ARRAY = "make an array first, np.empty(...), and count how much of it is filled"
_HINTS = {
    "append": "a list grows by at most one append an iteration of a for loop over something "
    "countable, is used behind its start, and goes in no tuple or function of yours while it "
    f"grows; else {_ARRAY}",
    "pop": f"read the last item by s[-1]; {_ARRAY}: n -= 1 takes one off",
    "sort": "write np.sort(np.array(s)), which makes an array",
    **dict.fromkeys(("extend", "insert", "remove", "clear", "reverse"), _ARRAY),
}


def no_list_method(name: str) -> TypingError:
    """The error for a method of lists that compiled code does not have."""
    return TypingError(f"a list has no method {name!r} in compiled code", hint=_HINTS.get(name))


def method(r: Any, c: Call, name: str) -> Action:
    x = c.args[0]
    assert isinstance(x, ATuple)
    if isinstance(x.cls, DictOf):
        return _dict_method(c, x, name)
    if name == "_replace" and hasattr(x.cls, "_fields"):
        return _replace(c, x)
    if (name == "index" and len(c.args) == 2) or (name == "count" and len(c.args) == 2):
        lines = _search(len(x.elements), name)
        return r.enter(c, function(name, lines, part=part))
    found = getattr(x.cls, name, None)
    if x.is_tuple and hasattr(found, "__code__"):
        c.fn = static(found)
        return r.resolve(c)
    if x.cls in (list, ListArray):
        raise no_list_method(name)
    raise TypingError(f"{x!r} has no method {name!r} in compiled code")


def _search(n: int, name: str) -> str:
    lines = [f"def {name}(x, v):"]
    if name == "count":
        lines.append("    n = 0")
        lines += [f"    n += part(x, {k}) == v" for k in range(n)]
        lines.append("    return n")
    else:
        lines += [f"    if part(x, {k}) == v:\n        return {k}" for k in range(n)]
        lines.append("    raise ValueError('tuple.index(x): x not in tuple')")
    return "\n".join(lines) + "\n"


def _dict_method(c: Call, x: ATuple, name: str) -> Action:
    keys = x.cls.keys
    if name == "keys":
        return Known(constant(keys))
    if name == "values":
        return Rearrange(ATuple(x.elements), lambda forms: forms[1])
    if name == "items":
        pairs = tuple(ATuple((constant(k), v)) for k, v in zip(keys, x.elements))
        return Rearrange(
            ATuple(pairs), lambda forms: tuple((Const(k), v) for k, v in zip(keys, forms[1]))
        )
    if name == "get" and c.args[1].known:
        if c.args[1].const in keys:
            k = keys.index(c.args[1].const)
            return Rearrange(x.elements[k], lambda forms: forms[1][k])
        if len(c.args) == 2:
            return Known(constant(None))
        return Rearrange(c.args[2], lambda forms: forms[3])
    raise TypingError(f"a dict has no method {name!r} in compiled code")


def _replace(c: Call, x: ATuple) -> Action:
    fields = x.cls._fields
    given: list[Any] = [(Part(1, k), e) for k, e in enumerate(x.elements)]
    for key, a in c.kw.items():
        if key not in fields:
            raise TypingError(f"there is no field {key!r}")
        given[fields.index(key)] = (c.kw_sources[key], a)

    def form(forms: Forms) -> Form:
        return tuple(forms[s.k][s.i] if isinstance(s, Part) else forms[s] for s, _ in given)

    return Rearrange(ATuple(tuple(a for _, a in given), x.cls), form)


class Part:
    """Part ``i`` of operand ``k``."""

    def __init__(self, k: int, i: int) -> None:
        self.k, self.i = k, i


def namedtuple(c: Call, cls: Any) -> Action:
    fields, defaults = cls._fields, cls._field_defaults
    sources: dict[str, Any] = dict(zip(fields, zip(c.sources, c.args)))
    sources.update({k: (c.kw_sources[k], a) for k, a in c.kw.items()})
    given = []
    for name in fields:
        if name not in sources and name not in defaults:
            raise TypingError(f"{cls.__name__}() misses {name!r}")
        given.append(sources.get(name) or (constant(defaults[name]),) * 2)
    return Pack(ATuple(tuple(a for _, a in given), cls), given)


# -- operators -------------------------------------------------------------------------------------
def operate(r: Any, c: Call, f: Any) -> Action | None:
    a, b = c.args
    if f is operator.contains:
        return _contains(r, c, a, b)
    if any(is_array(x.type) for x in c.args):
        return None  # an array operator converts the tuple
    if f is operator.add and sequence(a) and sequence(b):
        return Rearrange(
            ATuple(a.elements + b.elements, a.cls if a.cls is list else None),
            lambda forms: forms[1] + forms[2],
        )
    if f is operator.mul and (sequence(a) or sequence(b)):
        return _repeat(a, b)
    if f in (operator.eq, operator.ne) and sequence(a) and sequence(b):
        return _equal(r, c, a, b, f)
    if f in (operator.lt, operator.le, operator.gt, operator.ge) and sequence(a) and sequence(b):
        return r.enter(c, _ordering(f, len(a.elements), len(b.elements)))
    if f in (operator.eq, operator.ne):
        return Known(constant((a == b) == (f is operator.eq)))
    if f is operator.mod and ((isinstance(a, ATuple) and isinstance(a.cls, Text)) or a.known):
        return text(c)
    raise TypingError(f"{f.__name__} of {a!r} and {b!r}")


def _repeat(a: Any, b: Any) -> Action:
    items, n, k = (a, b, 1) if sequence(a) else (b, a, 2)
    if not n.known:
        raise TypingError("a tuple or list is repeated a number of times not known at typing",
                          hint="use np.full or np.zeros")  # fmt: skip
    count = n.const
    return Rearrange(ATuple(items.elements * count, items.cls), lambda forms: forms[k] * count)


def _equal(r: Any, c: Call, a: Any, b: Any, f: Any) -> Action:
    if len(a.elements) != len(b.elements):
        return Known(constant(f is operator.ne))
    terms = [f"part(a, {k}) == part(b, {k})" for k in range(len(a.elements))]
    both = " and ".join(terms) or "True"
    value = both if f is operator.eq else f"not ({both})"
    return r.enter(c, function("equal", f"def equal(a, b):\n    return {value}\n", part=part))


def _ordering(f: Any, n: int, m: int) -> Any:
    lines = ["def order(a, b):"]
    for k in range(min(n, m)):
        lines.append(f"    if part(a, {k}) != part(b, {k}):")
        lines.append(f"        return f(part(a, {k}), part(b, {k}))")
    lines.append(f"    return {f(n, m)}")
    return function("order", "\n".join(lines) + "\n", part=part, f=f)


def _contains(r: Any, c: Call, a: Any, b: Any) -> Action | None:
    if isinstance(a, ATuple) and isinstance(a.cls, DictOf) and b.known:
        return Known(constant(b.const in a.cls.keys))
    if isinstance(a, ATuple) and a.cls is range:
        return r.enter(c, _in_range)
    if sequence(a):
        terms = [f"part(a, {k}) == b" for k in range(len(a.elements))]
        source = f"def contains(a, b):\n    return {' or '.join(terms) or 'False'}\n"
        return r.enter(c, function("contains", source, part=part))
    return None


def _in_range(r: Any, v: int) -> bool:
    start, stop, step = part(r, 0), part(r, 1), part(r, 2)
    if step > 0:
        return start <= v < stop and (v - start) % step == 0
    return stop < v <= start and (v - start) % step == 0


# -- text ------------------------------------------------------------------------------------------
def text(c: Call) -> Action:
    """A string put together at run time: it is kept in parts, for exceptions and print."""
    return Rearrange(ATuple(c.args, Text(c.fn.const)), lambda forms: forms[1:])


def from_numba(action: Any, c: Call) -> Action:
    """What a compiled function returns to Python: numbers come back as Python numbers."""
    if c.spec.semantics.numba or action.result is None:
        return action
    wide = boxed(action.result)
    return action if wide == action.result else Convert(action, wide)
