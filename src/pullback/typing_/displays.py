"""Displays, unpacking, calls with stars, partial application, imports and text."""

from __future__ import annotations

import builtins
import functools
from typing import Any

from numba.core import types

from ..errors import TypingError
from ..ir import intrinsics
from ..runtime import prims
from . import growing, products, scalars
from .actions import Action, Known, Rearrange, Then, Via
from .calls import Call
from .handlers import constant_value, evaluated, handles, only_first
from .lattice import NONE, Abstract, ATuple, constant, static
from .lists import list_plus
from .products import pack, sequence
from .statements import DictOf, PartialOf


@handles(prims.pack)
def _pack(r: Any, c: Call) -> Action:
    return pack(c.args, None)


@handles(intrinsics.build_tuple)
def _build_tuple(r: Any, c: Call) -> Action:
    return pack(c.args, None)


@handles(intrinsics.build_list)
def _build_list(r: Any, c: Call) -> Action:
    array = growing.display(r, c)
    if array is not None:
        return array
    return pack(c.args, list)


@handles(intrinsics.build_map)
def _build_map(r: Any, c: Call) -> Action:
    keys = tuple(constant_value(a, dict, 0) for a in c.args[::2])
    return Rearrange(ATuple(c.args[1::2], DictOf(keys)), lambda forms: forms[2::2])


@handles(tuple, list, intrinsics.list_to_tuple)
def _to_sequence(r: Any, c: Call) -> Action:
    cls = list if c.fn.const is list else None
    if not c.args:
        return pack((), cls)
    (x,) = c.args
    if sequence(x):
        return Rearrange(ATuple(x.elements, cls), lambda forms: forms[1])
    if x.known and isinstance(x.const, (str, dict, frozenset)):
        return Known(constant(tuple(x.const)))
    n = products.known_length(x)
    if n is None:
        raise TypingError(f"a {c.fn.const.__name__} of a length not known at typing is made")
    action = r.enter(c, products.items_function(x, n))
    if action.result is None or cls is None:
        return action
    return Then(action, ATuple(action.result.elements, cls), lambda form, forms: form)


@handles(intrinsics.list_extend)
def _list_extend(r: Any, c: Call) -> Action:
    a, b = c.args
    if not (sequence(a) and sequence(b)):
        raise TypingError("compiled code does not grow lists", hint="fill an array")
    return Rearrange(ATuple(a.elements + b.elements, list), lambda forms: forms[1] + forms[2])


@handles(intrinsics.dict_merge, intrinsics.dict_update)
def _dict_merge(r: Any, c: Call) -> Action:
    a, b = c.args[:2]
    if not all(isinstance(x, ATuple) and isinstance(x.cls, DictOf) for x in (a, b)):
        raise TypingError("keyword arguments that are not known at typing")
    twice = set(a.cls.keys) & set(b.cls.keys)
    if twice:
        raise TypingError(f"got multiple values for keyword argument {min(twice)!r}")
    result = ATuple(a.elements + b.elements, DictOf(a.cls.keys + b.cls.keys))
    return Rearrange(result, lambda forms: forms[1] + forms[2])


@handles(list_plus)
def _list_plus(r: Any, c: Call) -> Action:
    items, item = c.args
    if not sequence(items):
        raise TypingError(f"{item!r} is appended to {items!r}", hint="fill an array")
    result = ATuple((*items.elements, item), list)
    return Rearrange(result, lambda forms: (*forms[1], forms[2]))


@handles(intrinsics.list_append)
def _list_append(r: Any, c: Call) -> Action:
    raise TypingError("compiled code does not grow lists", hint="fill an array in a loop")


@handles(intrinsics.unpack)
def _unpack(r: Any, c: Call) -> Action:
    x, n = c.args[0], c.args[1].const
    if sequence(x):
        if len(x.elements) != n:
            raise TypingError(f"{len(x.elements)} values are unpacked into {n} names")
        return Rearrange(ATuple(x.elements), lambda forms: forms[1])
    return r.enter(only_first(c), products.items_function(x, n))


@handles(intrinsics.unpack_ex)
def _unpack_ex(r: Any, c: Call) -> Action:
    x, before, after = c.args[0], c.args[1].const, c.args[2].const
    if not sequence(x):
        raise TypingError(f"{x!r} is unpacked with a star")
    end = len(x.elements) - after
    if end < before:
        raise TypingError(f"{len(x.elements)} values are unpacked into {before + after} names")
    es = x.elements
    middle = ATuple(es[before:end], list)
    result = ATuple((*es[:before], middle, *es[end:]))
    return Rearrange(result, lambda f: (*f[1][:before], f[1][before:end], *f[1][end:]))


@handles(intrinsics.call_ex)
def _call_ex(r: Any, c: Call) -> Action:
    f, args = c.args[:2]
    kwargs = c.args[2] if len(c.args) > 2 else None
    if not sequence(args):
        raise TypingError("*args of a length not known at typing")
    names: tuple[str, ...] = ()
    values: tuple[Abstract, ...] = ()
    if isinstance(kwargs, ATuple) and isinstance(kwargs.cls, DictOf):
        names, values = kwargs.cls.keys, kwargs.elements
    action = r.call(c.spec, f, (*args.elements, *values), names)
    return Via(action, lambda fs: (fs[1], *fs[2], *(fs[3] if names else ())))


@handles(functools.partial)
def _partial(r: Any, c: Call) -> Action:
    f, *args = c.args
    kwargs = ATuple(tuple(c.kw.values()), DictOf(tuple(c.kw)))
    n = 1 + len(c.args)
    return Rearrange(
        ATuple((f, ATuple(tuple(args)), kwargs), PartialOf), lambda fs: (fs[1], fs[2:n], fs[n:])
    )


def call_partial(r: Any, c: Call) -> Action:
    """A call of what ``partial(f, ...)`` gave in the same function."""
    assert isinstance(c.fn, ATuple)
    f, fixed, named = c.fn.elements
    kept = [i for i, k in enumerate(named.cls.keys) if k not in c.kw]
    values = tuple(named.elements[i] for i in kept)
    names = tuple(named.cls.keys[i] for i in kept) + tuple(c.kw)
    args = (*fixed.elements, *c.args, *values, *c.kw.values())
    action = r.call(c.spec, f, args, names)
    n = 1 + len(c.args)

    def forms(fs: Any) -> Any:
        fn, before, after = fs[0]
        return (fn, *before, *fs[1:n], *(after[i] for i in kept), *fs[n:])

    return Via(action, forms)


@handles(intrinsics.check_bound)
def _check_bound(r: Any, c: Call) -> Action:
    return Rearrange(c.args[0], lambda forms: forms[1])


@handles(intrinsics.match_sequence)
def _match_sequence(r: Any, c: Call) -> Action:
    return Known(constant(sequence(c.args[0])))


@handles(intrinsics.import_name)
def _import(r: Any, c: Call) -> Action:
    name, fromlist = c.args[0].const, constant_value(c.args[1], intrinsics.import_name, 1)
    r.stable = False
    scope = c.spec.ir.info.globals
    level = c.args[2].const or 0
    return Known(static(builtins.__import__(name, scope, {}, fromlist, level)))


@handles(intrinsics.import_from)
def _import_from(r: Any, c: Call) -> Action:
    return Known(constant(getattr(c.args[0].const, c.args[1].const)))


# -- text ------------------------------------------------------------------------------------------
@handles(intrinsics.format_value, intrinsics.convert_value, str, repr, format)
def _format(r: Any, c: Call) -> Action:
    if all(a.known for a in c.all):
        return Known(constant(evaluated(c.fn.const, *(a.const for a in c.args))))
    return products.text(c)


@handles(intrinsics.build_string)
def _build_string(r: Any, c: Call) -> Action:
    if all(a.known for a in c.args):
        return Known(constant("".join(a.const for a in c.args)))
    return products.text(c)


@handles(print)
def _print(r: Any, c: Call) -> Action:
    args = tuple(c.args)
    if c.kw:
        raise TypingError("print with keyword arguments")
    for a in args:
        if isinstance(a, ATuple):
            raise _unprintable(a)
    plan = scalars.Plan(print, (None,) * len(args), types.none, NONE)
    return products.FlatLeaf(plan, args)


def _unprintable(a: ATuple) -> TypingError:
    """Machine code prints numbers and arrays as they are, and text that is known."""
    if isinstance(a.cls, products.Text):
        return TypingError(
            "print of text with a value in it: compiled code does not format",
            hint="Print the value as it is, print('x =', x), or print outside.",
        )
    kind = getattr(a.cls, "__name__", "tuple")
    return TypingError(
        f"print of a {kind} in compiled code", hint="Print its parts: print(x[0], x[1])."
    )
