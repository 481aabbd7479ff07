"""Indexing with arrays: integers (with repetitions) and masks, read and written, and assignment to
views.

An index is taken apart into a view, for what is basic in it, and a gather or scatter over the axes
that arrays index. Masks become the positions of their true elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..registry import body, method_is
from ..source import Writer, function
from ..types import dtype, is_array, is_integer, is_known, is_slice, is_tuple, known, ndim
from .assign import assign, assign_part, cast_expr
from .loops import dims, make, shape_text, subscript


@dataclass(frozen=True)
class Axis:
    """One step of an index: ``kind`` is "array" (integers), "mask", "int", "slice", "new" or
    "rest" (an ellipsis); ``text`` is the expression for it; ``a`` its abstract value."""

    kind: str
    text: str
    a: Any

    @property
    def consumes(self) -> int:
        """How many axes of the indexed array it takes."""
        if self.kind == "mask":
            return ndim(self.a)
        return 0 if self.kind in ("new", "rest") else 1


def _axis(a: Any, text: str) -> Axis | None:
    if is_array(a):
        if dtype(a).kind == "b":
            return Axis("mask", text, a) if ndim(a) else None
        return Axis("array", text, a) if ndim(a) else Axis("int", f"int({text})", a)
    if is_tuple(a):
        return Axis("list", text, a)
    if is_slice(a):
        return Axis("slice", text, a)
    if is_known(a) and a.const is Ellipsis:
        return Axis("rest", text, a)
    if is_known(a) and a.const is None:
        return Axis("new", text, a)
    return Axis("int", text, a) if is_integer(a) else None


def parse(index: Any, name: str = "i") -> list[Axis] | None:
    """The steps of an index argument, ``None`` if it is of a kind that is not taken."""
    if is_tuple(index) and getattr(index, "cls", None) is None:
        axes = [_axis(e, f"{name}[{k}]") for k, e in enumerate(index.elements)]
    else:
        axes = [_axis(index, name)]
    return None if any(a is None for a in axes) else [a for a in axes if a is not None]


def is_basic(axes: list[Axis]) -> bool:
    return all(a.kind in ("int", "slice", "new", "rest") for a in axes)


@dataclass(frozen=True)
class Plan:
    """``view``: what is basic, as text after x, with whole axes where arrays index. ``arrays``: the
    (axis of the view, expression, rank) of each array, ``masks`` the (axis of the view, expression,
    axis) of each axis of a mask. ``rank``: of the view. ``first``: the axis of the result where the
    indexed ones are, 0 if something stands between the arrays."""

    view: str
    setup: tuple[str, ...]
    arrays: tuple[tuple[int, str, int], ...]
    masks: tuple[tuple[int, str, int], ...]
    rank: int
    first: int

    @property
    def index_rank(self) -> int:
        return max(r for _, _, r in self.arrays)

    @property
    def kept(self) -> list[int]:
        indexed = {axis for axis, _, _ in self.arrays}
        return [k for k in range(self.rank) if k not in indexed]

    def result(self, lead: list[str], rest: list[str]) -> list[str]:
        """Dimensions (or indices) of the result: those of the index among those of kept axes."""
        before = sum(k < self.first for k in self.kept)
        return rest[:before] + lead + rest[before:]


def plan(axes: list[Axis], rank: int) -> Plan | None:
    """How to index an array of that rank. ``None`` if there are too many steps."""
    missing = rank - sum(a.consumes for a in axes)
    if missing < 0 or sum(a.kind == "rest" for a in axes) > 1:
        return None
    if not any(a.kind == "rest" for a in axes):
        axes = [*axes, Axis("rest", "...", None)]
    setup: list[str] = []
    view: list[str] = []
    arrays: list[tuple[int, str, int]] = []
    masks: list[tuple[int, str, int]] = []
    advanced: list[int] = []
    at = 0
    for step, a in enumerate(axes):
        if a.kind == "rest":
            view += [":"] * missing
            at += missing
        elif a.kind in ("slice", "new"):
            view.append("None" if a.kind == "new" else a.text)
            at += 1
        elif a.kind == "int":  # among arrays it broadcasts with them, and counts as one of them
            advanced.append(step)
            view.append(a.text)
        else:
            advanced.append(step)
            count = a.consumes
            name = f"p{step}"
            if a.kind == "mask":
                setup.append(f"{name} = nonzero({a.text})")
                masks += [(at + j, a.text, j) for j in range(count)]
                arrays += [(at + j, f"{name}[{j}]", 1) for j in range(count)]
            elif a.kind == "list":
                setup.append(f"{name} = array({a.text})")
                arrays.append((at, name, 1))
            else:
                arrays.append((at, a.text, ndim(a.a)))
            view += [":"] * count
            at += count
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    first = min(k for k, _, _ in arrays) if together else 0
    text = "" if set(view) <= {":"} else f"[{', '.join(view)}]"
    return Plan(text, tuple(setup), tuple(arrays), tuple(masks), at, first)


def _prepare(w: Writer, p: Plan) -> None:
    """Bind the view, the index arrays, the dimensions of the index (m) and of the view (n)."""
    for line in p.setup:
        w(line)
    w(f"y = x{p.view}")
    dims(w, "y", p.rank)
    for axis, mask, k in p.masks:
        _fitting(w, mask, k, axis)
    arrays = list(enumerate(p.arrays))
    for q, (_, text, _) in arrays:
        w(f"q{q} = {text}")
    bound = set()
    for q, (_, _, r) in arrays:
        for j in range(r):
            m, d = f"m{j + p.index_rank - r}", f"dim(q{q}, {j})"
            w(f"{m} = select({m} == 1, {d}, {m})" if m in bound else f"{m} = {d}")
            bound.add(m)
    if len(arrays) == 1:
        return
    for q, (_, _, r) in arrays:
        for j in range(r):
            m, d = f"m{j + p.index_rank - r}", f"dim(q{q}, {j})"
            with w(f"if ({d} != {m}) & ({d} != 1):"):
                w('raise IndexError("shape mismatch: indexing arrays could not be broadcast")')
            w(f"s{q}_{j} = select({d} == 1, 0, 1)")


def _fitting(w: Writer, mask: str, k: int, axis: int) -> None:
    """Axis ``k`` of a mask is as long as that of the indexed array."""
    with w(f"if dim({mask}, {k}) != n{axis}:"):
        text = (
            f"boolean index did not match indexed array along axis {axis}; size of axis is "
            f"{{n{axis}}} but size of corresponding boolean axis is {{dim({mask}, {k})}}"
        )
        w(f'raise IndexError(f"{text}")')


def _unassignable(sizes: list[str], rank: int) -> str:
    """The statement that ``v`` does not fit into what the index gives, of these lengths."""
    result = ",".join(f"{{{n}}}" for n in sizes) + "," * (len(sizes) == 1)
    text = f"shape mismatch: value array of shape {shape_text('v', rank)} could not be broadcast "
    return f'raise ValueError(f"{text}to indexing result of shape ({result})")'


def _positions(w: Writer, p: Plan) -> None:
    """Inside the loops over the index (j): bind k, the position along each indexed axis."""
    for q, (axis, _, r) in enumerate(p.arrays):
        idx = ""
        for j in range(r):
            variable = f"j{j + p.index_rank - r}"
            idx += f", {variable}" if len(p.arrays) == 1 else f", {variable} * s{q}_{j}"
        w(f"k{axis} = index(load(q{q}{idx}), n{axis})")


def _loops(p: Plan) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    lead = [(f"j{k}", f"m{k}") for k in range(p.index_rank)]
    return lead, [(f"i{k}", f"n{k}") for k in p.kept]


def _element(p: Plan) -> str:
    indexed = {axis for axis, _, _ in p.arrays}
    return "".join(f", k{k}" if k in indexed else f", i{k}" for k in range(p.rank))


def gather(p: Plan, to: Any) -> Callable[..., Any]:
    """``x[i]`` as a fresh array."""
    lead, rest = _loops(p)
    w = Writer()
    with w("def getitem(x, i):"):
        _prepare(w, p)
        sizes = p.result([m for _, m in lead], [n for _, n in rest])
        w(f'out = empty(TO, "C"{"".join(f", {n}" for n in sizes)})')
        with w.nest(lead):
            _positions(w, p)
            with w.nest(rest):
                target = p.result([j for j, _ in lead], [i for i, _ in rest])
                w(f"store(out, load(y{_element(p)}){''.join(f', {t}' for t in target)})")
        w("return out")
    return make("getitem", w, TO=to, nonzero=np.nonzero, array=np.array)


def scatter(p: Plan, x: Any, v: Any, update: str = "{v}") -> Callable[..., Any]:
    """``x[i] = v``; of repeated positions the last one stays. ``update`` may use the old element,
    ``{old}``."""
    lead, rest = _loops(p)
    sizes = p.result([m for _, m in lead], [n for _, n in rest])
    target = p.result([j for j, _ in lead], [i for i, _ in rest])
    shift = len(sizes) - ndim(v)
    w = Writer()
    with w("def setitem(x, i, v):"):
        _prepare(w, p)
        if is_array(v):
            w("v = overlap_copy(v, x)")
        for j in range(ndim(v)):
            d, n = f"dim(v, {j})", sizes[j + shift] if j + shift >= 0 else "1"
            with w(f"if ({d} != {n}) & ({d} != 1):"):
                w(_unassignable(sizes, ndim(v)))
            w(f"t{j} = select({d} == 1, 0, 1)")
        at = "".join(f", {target[j + shift]} * t{j}" if j + shift >= 0 else ", 0"
                     for j in range(ndim(v)))  # fmt: skip
        value = cast_expr(dtype(v), dtype(x), f"load(v{at})" if is_array(v) else "v")
        with w.nest(lead):
            _positions(w, p)
            with w.nest(rest):
                new = update.format(v=value, old=f"load(y{_element(p)})")
                w(f"store(y, {new}{_element(p)})")
    return make("setitem", w, TO=dtype(x), nonzero=np.nonzero, array=np.array)


# -- x[i] and x[i] = v -----------------------------------------------------------------------------
@body.typed(operator.getitem)
def getitem_body(x: Any, i: Any) -> Any:
    """Only what holds arrays: the rest is a view, or one element."""
    axes = parse(i) if is_array(x) else None
    if axes is None or is_basic(axes):
        return None
    p = plan(axes, ndim(x))
    return None if p is None else gather(p, dtype(x))


@body.typed(operator.setitem)
def setitem_body(x: Any, i: Any, v: Any) -> Any:
    """All but one element set to a number, which is a store."""
    axes = parse(i) if is_array(x) else None
    if axes is None:
        return None
    if is_tuple(v):
        return _set_tuple
    if dtype(v) is None:
        return None
    if is_basic(axes):
        one = sum(a.kind == "int" for a in axes) == ndim(x) and len(axes) == ndim(x)
        if not one:
            return assign_part
        return _set_element if is_array(v) else None
    if len(axes) == 1 and axes[0].kind == "mask" and ndim(i) == ndim(x) and not is_array(v):
        return _masked(x, v)
    p = plan(axes, ndim(x))
    return None if p is None else scatter(p, x, v)


def _set_tuple(x: Any, i: Any, v: Any) -> None:
    x[i] = np.array(v)


def _set_element(x: Any, i: Any, v: Any) -> None:
    x[i] = v.item()


def _masked(x: Any, v: Any) -> Callable[..., Any]:
    """``x[mask] = number``, without positions."""
    w = Writer()
    with w("def setitem(x, i, v):"):
        dims(w, "x", ndim(x))
        for k in range(ndim(x)):
            _fitting(w, "i", k, k)
        w(f"v = {cast_expr(dtype(v), dtype(x), 'v')}")
        at = subscript(ndim(x))
        with w.nest([(f"i{k}", f"n{k}") for k in range(ndim(x))]), w(f"if load(i{at}):"):
            w(f"store(x, v{at})")
    return make("setitem", w, TO=dtype(x))


# -- positions -------------------------------------------------------------------------------------
@body.typed(np.nonzero)
def _(a: Any) -> Any:
    if not is_array(a) or not ndim(a):
        return function("nonzero", "def nonzero(a):\n    return f(a1(a))\n",
                        f=np.nonzero, a1=np.atleast_1d)  # fmt: skip
    rank = ndim(a)
    loops = [(f"i{k}", f"n{k}") for k in range(rank)]
    w = Writer()
    with w("def nonzero(a):"):
        dims(w, "a", rank)
        w("count = 0")
        with w.nest(loops), w(f"if load(a{subscript(rank)}) != 0:"):
            w("count = count + 1")
        for k in range(rank):
            w(f'p{k} = empty(INT, "C", count)')
        w("at = 0")
        with w.nest(loops), w(f"if load(a{subscript(rank)}) != 0:"):
            for k in range(rank):
                w(f"store(p{k}, i{k}, at)")
            w("at = at + 1")
        w(f"return ({', '.join(f'p{k}' for k in range(rank))},)")
    return make("nonzero", w, INT=np.dtype(np.int64))


@body(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return np.nonzero(np.ravel(a))[0]


@body(np.argwhere)
def argwhere(a: Any) -> Any:
    return np.stack(np.nonzero(a), 1)


# -- take, put, and unbuffered updates -------------------------------------------------------------
@body.typed(np.take)
def _(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = None) -> Any:
    if out is not None or known(mode, "raise") != "raise":
        return None
    along = known(axis)
    if along is None:
        return _take_flat
    lead = ":, " * (int(along) % max(1, ndim(a)))
    converted = "array(indices)" if is_tuple(indices) else "indices"
    source = f"def take(a, indices, axis=None):\n    return a[{lead}{converted}]\n"
    return function("take", source, array=np.array)


def _take_flat(a: Any, indices: Any, axis: Any = None) -> Any:
    return np.ravel(a)[indices]


@body(np.compress)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    return np.take(a, np.flatnonzero(condition), axis)


@body(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return np.ravel(arr)[np.flatnonzero(condition)]


@body(np.put)
def put(a: Any, ind: Any, v: Any) -> None:
    np.ravel(a)[ind] = v


def _unbuffered(f: Any, update: str) -> None:
    """``np.add.at(x, i, v)`` and its like: repeated positions all count."""

    @body.typed(f.at)
    def resolve(a: Any, indices: Any, b: Any) -> Any:
        axes = parse(indices) if is_array(a) else None
        if axes is None or is_basic(axes) or dtype(b) is None:
            return None
        p = plan(axes, ndim(a))
        return None if p is None else scatter(p, a, b, update)


_unbuffered(np.add, "{old} + {v}")
_unbuffered(np.subtract, "{old} - {v}")
_unbuffered(np.multiply, "{old} * {v}")
_unbuffered(np.divide, "{old} / {v}")

method_is(take=np.take, nonzero=np.nonzero, put=np.put, compress=np.compress)
__all__ = ["assign", "gather", "scatter"]
