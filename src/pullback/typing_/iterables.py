"""Lengths, ranges, slices and iterators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numba.core import types

from ..errors import TypingError
from ..ir import intrinsics
from ..ir.core import Const
from . import iteration, products
from .actions import Action, Known, Rearrange, Then, Via
from .calls import Call
from .handlers import evaluated, handles, part_action
from .lattice import INT, ATuple, AVal, constant, is_array
from .products import sequence
from .statements import DictOf


@handles(len, intrinsics.get_len)
def _len(r: Any, c: Call) -> Action:
    (x,) = c.args
    if sequence(x):
        return Known(constant(len(x.elements)))
    if isinstance(x, ATuple) and isinstance(x.cls, DictOf):
        return Known(constant(len(x.cls.keys)))
    if x.known:
        return Known(constant(evaluated(len, x.const)))
    if is_array(x.type) and not x.type.ndim:
        raise TypingError("len() of an array without axes")
    return r.enter(c, iteration.count_function(x))


@handles(range, prange)  # in the order of a range: sums are rounded as there
def _range(r: Any, c: Call) -> Action:
    ends = {1: (0, None, 1), 2: (None, None, 1), 3: (None, None, None)}.get(len(c.args))
    if ends is None:
        raise TypingError(f"range takes 1 to 3 arguments, not {len(c.args)}")
    given = iter(zip(c.sources, c.args))
    parts = [(constant(e),) * 2 if e is not None else next(given) for e in ends]
    for _, a in parts:
        if not isinstance(a.type, (types.Integer, types.Boolean)):
            raise TypingError(f"range over {a!r}", hint="its arguments must be integers")
    if parts[2][1].known and parts[2][1].const == 0:
        return r.enter(c, _without_step)
    elements = tuple(a if a.type is types.int64 and a.py else _as_int(a) for _, a in parts)
    return products.Pack(ATuple(elements, range), parts)


def _without_step(*ends: int) -> Any:
    raise ValueError("range() arg 3 must not be zero")


def _as_int(a: Any) -> AVal:
    return INT if not a.known else AVal(types.int64, int(a.const), True)


@handles(slice)
def _slice(r: Any, c: Call) -> Action:
    ends = {1: (None, 0, None), 2: (0, 1, None), 3: (0, 1, 2)}[len(c.args)]
    given = [(constant(None),) * 2 if k is None else (1 + k, c.args[k]) for k in ends]
    return products.Pack(ATuple(tuple(a for _, a in given), slice), given)


@handles(iter)
def _iter(r: Any, c: Call) -> Action:
    (x,) = c.args
    if isinstance(x, ATuple) and x.cls is iteration.Iterator:
        return Rearrange(x, lambda forms: forms[1])
    if isinstance(x, ATuple) and isinstance(x.cls, DictOf):
        keys = constant(x.cls.keys)
        count = constant(len(x.cls.keys))
        form = (tuple(map(Const, x.cls.keys)), Const(count.const))
        return Rearrange(ATuple((keys, count), iteration.Iterator), lambda forms: form)
    if iteration.counts_by_itself(x):
        zero = constant(0)
        return Rearrange(ATuple((x, zero), iteration.Iterator), lambda forms: (forms[1], Const(0)))
    count = r.enter(c, iteration.count_function(x))
    if count.result is None:
        return count
    return Then(
        count,
        ATuple((x, count.result), iteration.Iterator),
        lambda n, forms: (forms[1], n),
    )


@handles(iteration.count_of)
def _count_of(r: Any, c: Call) -> Action:
    (it,) = c.args
    assert isinstance(it, ATuple)
    return part_action(it, 1)


@handles(iteration.item_at)
def _item_at(r: Any, c: Call) -> Action:
    it, k = c.args
    assert isinstance(it, ATuple)
    source = it.elements[0]
    inner = Call(c.spec, c.fn, (source, k), {}, c.op, c.sweep)
    action = r.enter(inner, iteration.item_function(source))
    return Via(action, lambda forms: (forms[0], forms[1][0], forms[2]))


@handles(enumerate)
def _enumerate(r: Any, c: Call) -> Action:
    start = c.kw.get("start") or (c.args[1] if len(c.args) > 1 else constant(0))
    source = c.kw_sources.get("start", 2 if len(c.args) > 1 else start)
    parts = [(1, c.args[0]), (source, start)]
    return products.Pack(ATuple((c.args[0], start), enumerate), parts)


@handles(zip)
def _zip(r: Any, c: Call) -> Action:
    return products.Pack(ATuple(c.args, zip), list(zip(c.sources, c.args)))


@handles(reversed)
def _reversed(r: Any, c: Call) -> Action:
    (x,) = c.args
    if isinstance(x, ATuple) and x.cls is range:
        step = x.elements[2]
        unit = step.known and step.const == 1
        return r.enter(c, iteration.reversed_unit_range if unit else iteration.reversed_range)
    return Rearrange(ATuple((x,), reversed), lambda forms: (forms[1],))


def _any(xs: Any) -> bool:
    for x in xs:  # noqa: SIM110
        if x:
            return True
    return False


def _all(xs: Any) -> bool:
    for x in xs:  # noqa: SIM110
        if not x:
            return False
    return True


@handles(any, all)
def _any_all(r: Any, c: Call) -> Action:
    return r.enter(c, _any if c.fn.const is any else _all)


@handles(np.ndindex, np.ndenumerate, np.nditer)
def _positions(r: Any, c: Call) -> Action:
    f, args = c.fn.const, c.args
    if c.kw or (f is not np.ndindex and (len(args) != 1 or not is_array(args[0].type))):
        raise TypingError(f"{f.__name__} with options")
    if f is np.ndindex and len(args) == 1 and sequence(args[0]):
        return Rearrange(ATuple(args[0].elements, f), lambda forms: forms[1])
    return Rearrange(ATuple(args, f), lambda forms: forms[1:])
