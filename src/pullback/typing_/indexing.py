"""Subscripts of arrays: basic indices become primitives, through a Python function written for the
rank and the kinds of the indices; anything else is a body's.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba.core import types

from ..errors import TypingError
from ..rules.source import function
from ..runtime import prims
from . import growing, iteration
from .access import place_of
from .actions import Action, Known
from .calls import Call, body_of
from .capture import captured
from .handlers import evaluated, handles, part_action
from .iteration import part
from .lattice import NONE, Abstract, ATuple, AVal, constant, is_array, is_scalar
from .products import sequence, tuple_getitem
from .statements import DictOf

_SCOPE = dict(
    part=part,
    load=prims.load,
    store=prims.store,
    subview=prims.subview,
    dim=prims.dim,
    index=prims.index,
    wrap=prims.wrap,
    slice_start=prims.slice_start,
    slice_count=prims.slice_count,
)


class Step:
    """One step of a basic index: ``kind`` "i", "u", "s", ":" or "n", and the expression of the
    index."""

    def __init__(self, kind: str, expr: str) -> None:
        self.kind, self.expr = kind, expr


def basic_steps(ndim: int, index: Abstract) -> list[Step] | None:
    """The steps of a basic index of an array of that rank, or None if it is not basic."""
    if isinstance(index, ATuple) and index.is_tuple:
        items = [(a, f"part(i, {k})") for k, a in enumerate(index.elements)]
    else:
        items = [(index, "i")]
    steps: list[Step | None] = []
    for a, expr in items:
        if isinstance(a, ATuple) and a.cls is slice:
            steps.append(Step(_slice_kind(a), expr))
        elif isinstance(a, AVal) and a.known and a.const is None:
            steps.append(Step("n", expr))
        elif isinstance(a, AVal) and a.known and a.const is Ellipsis:
            steps.append(None)
        elif isinstance(a, AVal) and isinstance(a.type, types.Integer):
            steps.append(Step("i", expr))
        elif isinstance(a, AVal) and isinstance(a.type, types.Float):
            raise TypingError("an array is indexed by a float", hint="convert it with int(i)")
        else:
            return None
    return _without_ellipsis(ndim, steps)


def _slice_kind(a: ATuple) -> str:
    start, stop, step = a.elements
    unit = step.known and step.const in (None, 1)
    whole = all(x.known and x.const is None for x in (start, stop))
    return ":" if unit and whole else "u" if unit else "s"


def _without_ellipsis(ndim: int, steps: list[Step | None]) -> list[Step]:
    used = sum(s is not None and s.kind != "n" for s in steps)
    if used > ndim:
        raise TypingError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    found: list[Step] = []
    for s in steps:
        if s is None:
            found += [Step(":", "")] * (ndim - used)
        else:
            found.append(s)
    return found


def element_index(steps: list[Step], ndim: int) -> bool:
    return len(steps) == ndim and all(s.kind == "i" for s in steps)


def _indices(steps: list[Step], checked: bool) -> list[str]:
    """The integer operands of a subview with these steps, or the indices of an element."""
    found, axis = [], 0
    for s in steps:
        n = f"dim(x, {axis})"
        if s.kind == "i":
            found.append(f"index({s.expr}, {n}, {axis})" if checked else f"wrap({s.expr}, {n})")
        elif s.kind in "us":
            start, stop = f"part({s.expr}, 0)", f"part({s.expr}, 1)"
            step = "1" if s.kind == "u" else f"part({s.expr}, 2)"
            found.append(f"slice_start({start}, {step}, {n})")
            found.append(f"slice_count({start}, {stop}, {step}, {n})")
            if s.kind == "s":
                found.append(step)
        axis += s.kind != "n"
    return found


def _call(name: str, *operands: str) -> str:
    return f"{name}({', '.join(operands)})"


def getter(ndim: int, steps: list[Step], checked: bool) -> Any:
    """The function ``(x, i) -> x[i]``."""
    if element_index(steps, ndim):
        value = _call("load", "x", *_indices(steps, checked))
    else:
        spec = "".join(s.kind for s in steps)
        value = _call("subview", "x", repr(spec), *_indices(steps, checked))
    return function("getitem", f"def getitem(x, i):\n    return {value}\n", **_SCOPE)


def setter(steps: list[Step], checked: bool) -> Any:
    """The function that stores the element ``v`` at ``x[i]``."""
    call = _call("store", "x", "v", *_indices(steps, checked))
    return function("setitem", f"def setitem(x, i, v):\n    {call}\n", **_SCOPE)


def _checked(c: Call) -> bool:
    return bool(c.spec.semantics.boundscheck or not c.spec.semantics.numba)


def array_getitem(r: Any, c: Call) -> Action:
    x, i = c.args
    assert isinstance(x, AVal)
    steps = basic_steps(x.type.ndim, i)
    if steps is None:
        body = body_of(operator.getitem, c.args)
        if body is None:
            raise TypingError(f"an array is indexed by {i!r}")
        return r.enter(c, body)
    if not steps and x.type.ndim == 0 and not _is_ellipsis(i):
        return r.enter(c, getter(0, steps, True))
    return r.enter(c, getter(x.type.ndim, steps, _checked(c)))


def _is_ellipsis(i: Any) -> bool:
    return i.known and i.const is Ellipsis


def array_setitem(r: Any, c: Call) -> Action:
    x, i, v = c.args
    assert isinstance(x, AVal)
    if not x.type.mutable:
        raise TypingError("a read-only array is written to", hint="pass a copy of it")
    steps = basic_steps(x.type.ndim, i)
    if steps is not None and is_array(v.type) and v.type.ndim and is_update(c):
        return Known(NONE)  # with an index that holds arrays, the update went to a copy
    if steps is not None and element_index(steps, x.type.ndim) and is_scalar(v.type):
        return r.enter(c, setter(steps, _checked(c)))
    body = body_of(operator.setitem, c.args)
    if body is None and steps is not None:
        from ..rules.numpy.assign import assign_part

        body = assign_part
    if body is None:
        raise TypingError(f"an array is indexed by {i!r} to be assigned to")
    return r.enter(c, body)


def is_update(c: Call) -> bool:
    """Whether the call is the last part of ``x[i] op= y`` on a view: the update has happened, and
    what is stored is the view itself."""
    r_value = c.sweep and c.sweep.definition(c.op.args[3])
    if r_value is None or r_value.callee not in _UPDATES or len(r_value.args) < 2:
        return False
    view = c.sweep.definition(r_value.args[1])
    return view is not None and view.is_call(operator.getitem) and view.args[1:] == c.op.args[1:3]


_UPDATES = {
    getattr(operator, "i" + n)
    for n in [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
        "matmul",
    ]
}


# -- the operations --------------------------------------------------------------------------------
@handles(operator.getitem)
def _getitem(r: Any, c: Call) -> Action | None:
    x, i = c.args
    if is_array(x.type):
        return array_getitem(r, c)
    if growing.is_list_array(x):
        return growing.list_getitem(r, c)
    if sequence(x):
        return tuple_getitem(r, c)
    if isinstance(x, ATuple) and isinstance(x.cls, DictOf) and i.known:
        if i.const not in x.cls.keys:
            raise TypingError(f"there is no key {i.const!r}")
        return part_action(x, x.cls.keys.index(i.const))
    if isinstance(x, ATuple) and x.cls is range:
        return r.enter(c, _range_item)
    if x.known and i.known:
        return _static_item(r, x, i.const)
    if x.type is not None and not x.known:
        return None
    raise TypingError(f"{x!r} is indexed by {i!r}")


def _static_item(r: Any, x: AVal, key: Any) -> Action:
    """An item of a static object; an array in it is read again at each call."""
    value = evaluated(operator.getitem, x.const, key)
    if not isinstance(value, np.ndarray):
        return Known(constant(value))
    r.stable = False
    return Known(captured(r.engine, value, (*(x.src or place_of(x.const)), ("item", key))))


def _range_item(r: Any, i: int) -> int:
    n = iteration.range_count(iteration.part(r, 0), iteration.part(r, 1), iteration.part(r, 2))
    k = prims.index(i, n)
    return iteration.part(r, 0) + k * iteration.part(r, 2)


@handles(operator.setitem)
def _setitem(r: Any, c: Call) -> Action:
    x = c.args[0]
    if growing.is_list_array(x):
        return growing.list_setitem(r, c)
    if is_array(x.type):
        if is_array(c.args[2].type):
            r.stable = False  # whether it is the end of an update is seen from the operation
        return array_setitem(r, c)
    raise TypingError(f"an item of {x!r} is assigned", hint="use an array")


@handles(iteration.part)
def _part(r: Any, c: Call) -> Action:
    x, i = c.args
    if isinstance(x, ATuple) and i.known:
        return part_action(x, i.const)
    return tuple_getitem(r, c)
