"""Lists kept in arrays, on abstract values: made, filled, read with Python's meaning."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..errors import TypingError
from ..rules.source import function
from ..runtime import prims
from . import iteration
from .actions import Action, Then, Via
from .calls import Call
from .handlers import handles
from .lattice import Abstract, ATuple, AVal, NoJoin, is_array, is_scalar, join, static, widen
from .lists import ListArray, list_prefix, list_store, new_list
from .specialised import Cell

_SCOPE = dict(
    dim=prims.dim, load=prims.load, store=prims.store, empty=prims.empty,
    subview=prims.subview, cast=prims.cast,
)  # fmt: skip


def is_list_array(a: Abstract) -> bool:
    return isinstance(a, ATuple) and a.cls is ListArray


def unwrapped(c: Call) -> Call | None:
    """The call with the arrays in place of such lists, None if there are none."""
    if not any(map(is_list_array, c.all)):
        return None
    args = tuple(a.elements[0] if is_list_array(a) else a for a in c.args)
    kw = {k: a.elements[0] if is_list_array(a) else a for k, a in c.kw.items()}
    return Call(c.spec, c.fn, args, kw, c.op, c.sweep)


def on_arrays(action: Action, c: Call) -> Action:
    """An action of the unwrapped call, for the operands of the call."""
    lists = [is_list_array(a) for a in (c.fn, *c.all)]
    return Via(action, lambda fs: tuple(f[0] if at else f for f, at in zip(fs, lists)))


def may_be_the_list(f: Any, c: Call, result: Abstract | None) -> bool:
    """Whether the result of a NumPy function may be the array that a list is kept in, or a view of
    it. (Of a list, NumPy makes an array of its own first.)"""
    if isinstance(f, np.ufunc) or (f is np.array and "copy" not in c.kw):
        return False
    parts = result.elements if isinstance(result, ATuple) else (result,)
    return any(isinstance(a, ATuple) or (a is not None and is_array(a.type)) for a in parts)


def of_copies(f: Any, c: Call) -> Any:
    """``f`` of copies of the lists among the arguments of the call."""
    args = [(f"x{k}", a) for k, a in enumerate(c.args)]
    given = [(x, f"copy({x})" if is_list_array(a) else x) for x, a in args]
    named = [(k, f"copy({k})" if is_list_array(a) else k) for k, a in c.kw.items()]
    takes = ", ".join(x for x, _ in (*given, *named))
    gives = ", ".join([*(v for _, v in given), *(f"{k}={v}" for k, v in named)])
    source = f"def of_copies({takes}):\n    return f({gives})\n"
    return function("of_copies", source, f=f, copy=np.copy)


def as_list(action: Action) -> Action:
    if action.result is None:
        return action
    return Then(action, ATuple((action.result,), ListArray), lambda form, forms: (form,))


def make_list(r: Any, c: Call, dtype: Any, room: str, extra: tuple[Any, ...] = ()) -> Action:
    """The list of the arguments after the first, and ``room`` for more."""
    names = [f"x{k}" for k in range(len(c.args) - 1)]
    lines = [f"def new_list({', '.join(['s', *names])}):"]
    lines.append(f"    out = empty(TO, 'C', {len(names)} + {room})")
    lines += [f"    store(out, {x}, {k})" for k, x in enumerate(names)]
    lines.append("    return out")
    f = function("new_list", "\n".join(lines) + "\n", TO=dtype, count=count_items, **_SCOPE)
    return as_list(r.enter(c, f))


def count_items(iterator: Any) -> int:
    """How many items an iterator over something countable gives; in generated code only."""
    raise NotImplementedError


@handles(count_items)
def _count_items(r: Any, c: Call) -> Action:
    source = c.args[0].elements[0]
    inner = Call(c.spec, c.fn, (source,), {}, c.op, c.sweep)
    action = r.enter(inner, iteration.count_function(source))
    return Via(action, lambda fs: (fs[0], fs[1][0]))


@handles(new_list)
def _new_list(r: Any, c: Call) -> Action:
    r.stable = False
    cell = c.sweep.spec.made_cells.setdefault(c.op, Cell("list"))
    for a in c.args[1:]:
        widen_content(cell, a)
    content = cell.content or AVal(types.float64)
    return make_list(r, c, numpy_support.as_dtype(content.type), "count(s)")


def widen_content(cell: Cell, item: Abstract) -> None:
    if not is_scalar(item.type):
        raise TypingError(
            f"a list that grows has {item!r} as an item, and only numbers can be",
            hint="fill an array, np.empty(...), which may have a row for each",
        )
    try:
        new = widen(item) if cell.content is None else join(cell.content, widen(item))
    except NoJoin:
        raise TypingError(f"items of a list are {cell.content!r} and {item!r}") from None
    if new != cell.content:
        cell.content = new
        cell.version += 1


@handles(list_store)
def _list_store(r: Any, c: Call) -> Action:
    r.stable = False
    target, k, item = c.args
    cell = c.sweep.spec.made_cells[c.sweep.definition(c.op.args[1])]
    widen_content(cell, item)
    f = function("put", "def put(x, k, v):\n    store(x, v, k)\n", **_SCOPE)
    inner = Call(c.spec, c.fn, (target.elements[0], k, item), {}, c.op, c.sweep)
    return Via(r.enter(inner, f), lambda fs: (fs[0], fs[1][0], *fs[2:]))


@handles(list_prefix)
def _list_prefix(r: Any, c: Call) -> Action:
    f = function("prefix", "def prefix(x, n):\n    return subview(x, 'u', 0, n)\n", **_SCOPE)
    inner = unwrapped(c)
    assert inner is not None
    return as_list(on_arrays(r.enter(inner, f), c))


ITEM = """\
def item(x, i):
    n = dim(x, 0)
    if i < -n or i >= n:
        raise IndexError("list index out of range")
    return load(x, i + n if i < 0 else i)
"""
PUT = """\
def put(x, i, v):
    n = dim(x, 0)
    if i < -n or i >= n:
        raise IndexError("list assignment index out of range")
    store(x, v, i + n if i < 0 else i)
"""


CUT = """\
def cut(x, i):
    part = x[i]
    n = dim(part, 0)
    out = empty(TO, "C", n)
    for k in range(n):
        store(out, load(part, k), k)
    return out
"""


def list_getitem(r: Any, c: Call) -> Action:
    i = c.args[1]
    inner = unwrapped(c)
    assert inner is not None
    if isinstance(i.type, types.Integer):
        return on_arrays(r.enter(inner, function("item", ITEM, **_SCOPE)), c)
    if isinstance(i, ATuple) and i.cls is slice:
        to = numpy_support.as_dtype(inner.args[0].type.dtype)
        f = function("cut", CUT, TO=to, **_SCOPE)
        return as_list(on_arrays(r.enter(inner, f), c))
    raise TypingError(f"a list is indexed by {i!r}")


def list_setitem(r: Any, c: Call) -> Action:
    inner = unwrapped(c)
    assert inner is not None
    if not isinstance(c.args[1].type, types.Integer) or not is_scalar(c.args[2].type):
        raise TypingError(f"{c.args[2]!r} is stored in a list at {c.args[1]!r}")
    return on_arrays(r.enter(inner, function("put", PUT, **_SCOPE)), c)


def is_written_to(c: Call) -> bool:
    """Whether the list that the operation makes has its items assigned somewhere."""
    if c.sweep is None or c.op is None:
        return False
    v = c.op.result
    return any(op.callee is operator.setitem and op.args[1] is v for op in c.sweep.ir.ops())


def display(r: Any, c: Call) -> Action | None:
    """A display of numbers some of which are assigned later: an array from the start."""
    if not c.args or not is_written_to(c) or not all(is_scalar(a.type) for a in c.args):
        return None
    r.stable = False
    wide = AVal(c.args[0].type, py=c.args[0].py)
    for a in c.args[1:]:
        wide = join(wide, AVal(a.type, py=a.py))
    inner = Call(c.spec, c.fn, (static(None), *c.args), {}, c.op, c.sweep)
    action = make_list(r, inner, numpy_support.as_dtype(wide.type), "0")
    return Via(action, lambda fs: (fs[0], fs[0], *fs[1:]))


REPEAT = """\
def repeat(x, n):
    out = empty(TO, "C", max(n, 0))
    for i in range(n):
        store(out, x, i)
    return out
"""


def repeated(r: Any, c: Call) -> Action | None:
    """``[x] * n`` of a number, if n is not known or items are assigned later."""
    items, n = c.args
    if not (isinstance(items, ATuple) and items.cls is list and len(items.elements) == 1):
        return None
    if (n.known and not is_written_to(c)) or not is_scalar(items.elements[0].type):
        return None
    r.stable = False
    x = items.elements[0]
    f = function("repeat", REPEAT, TO=numpy_support.as_dtype(x.type), **_SCOPE)
    inner = Call(c.spec, c.fn, (x, n), {}, c.op, c.sweep)
    return as_list(Via(r.enter(inner, f), lambda fs: (fs[0], fs[1][0], fs[2])))
