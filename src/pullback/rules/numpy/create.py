"""Arrays from nothing, from numbers, and from tuples of numbers and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import body
from ..source import Writer, function
from ..types import (
    as_dtype,
    dtype,
    is_array,
    is_known,
    is_none,
    is_scalar,
    is_tuple,
    known,
    ndim,
    value_class,
)
from .assign import assign, calling, common_dtype, copied
from .loops import make
from .ufuncs import order_of


def lengths(shape: Any, name: str = "shape") -> list[str] | None:
    """Expressions for the dimensions in a shape argument, ``None`` if it is neither an integer nor
    a tuple of integers."""
    if is_tuple(shape):
        return [f"{name}[{k}]" for k in range(len(shape.elements))]
    return [name] if is_scalar(shape) else None


def order_argument(order: Any) -> str:
    return "F" if known(order, "C") == "F" else "C"


def _allocation(name: str, signature: str, allocate: str, fill: str, to: Any, order: str,
                sizes: list[str]) -> Callable[..., Any]:  # fmt: skip
    w = Writer()
    with w(f"def new_{name}({signature}):"):
        made = f'{allocate}(TO, "{order}"{"".join(f", {n}" for n in sizes)})'
        if fill:
            w(f"out = {made}")
            w(f"assign(out, {fill})")
            w("return out")
        else:
            w(f"return {made}")
    return make(f"new_{name}", w, TO=to, assign=assign)


def _filled(f: Any, allocate: str, fill: str) -> None:
    """zeros, ones and empty."""
    name, signature = f.__name__, "shape, dtype=float, order='C'"

    @body.typed(f)
    def resolve(shape: Any, dtype: Any = None, order: Any = None, **unused: Any) -> Any:
        sizes, to = lengths(shape), as_dtype(known(dtype, float) or float)
        if sizes is None or to is None:
            return None
        return _allocation(name, signature, allocate, fill, to, order_argument(order), sizes)


_filled(np.zeros, "zeros", "")
_filled(np.empty, "empty", "")
_filled(np.ones, "empty", "1")


@body.typed(np.full)
def _(shape: Any, fill_value: Any, dtype: Any = None, order: Any = None) -> Any:
    sizes = lengths(shape)
    to = as_dtype(known(dtype)) or common_dtype_of(fill_value)
    if sizes is None or to is None:
        return None
    signature = "shape, fill_value, dtype=None, order='C'"
    order = order_argument(order)
    return _allocation("full", signature, "empty", "fill_value", to, order, sizes)


def common_dtype_of(a: Any) -> Any:
    """The dtype of a number, an array, or of an array made of a nested tuple."""
    if not is_tuple(a):
        return dtype(a)
    leaves = list(_leaves(a))
    if not leaves:
        return np.dtype(float)
    if any(dtype(x) is None for x in leaves):
        return None
    return np.result_type(*map(dtype, leaves))


def _leaves(a: Any) -> Any:
    if is_tuple(a):
        for e in a.elements:
            yield from _leaves(e)
    else:
        yield a


def _like(f: Any, allocate: str, fill: str, first: str = "a") -> None:
    """zeros_like, ones_like, empty_like and full_like."""
    name = f.__name__
    value = "fill_value, " if fill == "fill_value" else ""
    signature = f"{first}, {value}dtype=None, order='K', subok=True, shape=None"

    def resolve(a: Any, to: Any, order: Any, shape: Any) -> Any:
        if is_tuple(a):
            return calling(f, signature, f"array({first}), {value}dtype, order, subok, shape",
                           array=np.array)  # fmt: skip
        to = as_dtype(known(to)) or dtype(a)
        if to is None:
            return None
        if is_none(shape):
            sizes: Any = [f"dim({first}, {k})" for k in range(ndim(a))]
        else:
            sizes = lengths(shape)
        wanted = known(order, "K")
        made = wanted if wanted in ("C", "F") else order_of([a]) if is_array(a) else "C"
        return _allocation(name, signature, allocate, fill, to, made, sizes)

    if value:

        @body.typed(f)
        def _(a: Any, fill_value: Any, dtype: Any = None, order: Any = None, subok: Any = None,
              shape: Any = None) -> Any:  # fmt: skip
            return resolve(a, dtype, order, shape)
    elif first == "prototype":

        @body.typed(f)
        def _(prototype: Any, dtype: Any = None, order: Any = None, subok: Any = None,
              shape: Any = None) -> Any:  # fmt: skip
            return resolve(prototype, dtype, order, shape)
    else:

        @body.typed(f)
        def _(a: Any, dtype: Any = None, order: Any = None, subok: Any = None,
              shape: Any = None) -> Any:  # fmt: skip
            return resolve(a, dtype, order, shape)


_like(np.zeros_like, "zeros", "")
_like(np.empty_like, "empty", "", "prototype")
_like(np.ones_like, "empty", "1")
_like(np.full_like, "empty", "fill_value")


# -- ranges ----------------------------------------------------------------------------------------
@body.typed(np.arange)
def _(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    signature = "start, stop=None, step=None, dtype=None"
    given = [a for a in (start, stop, step) if not is_none(a)]
    if not all(map(is_scalar, given)):
        return None
    natural = np.result_type(np.int64, *map(value_class, given))
    to = as_dtype(known(dtype)) or natural
    first, last = ("0", "start") if is_none(stop) else ("start", "stop")
    by = "1" if is_none(step) else "step"
    w = Writer()
    with w(f"def arange({signature}):"):
        if natural.kind in "iu":
            w(f"n = max(0, -((({first}) - ({last})) // ({by})))")
        else:
            w(f"n = max(0, int(ceil((({last}) - ({first})) / ({by}))))")
        w('out = empty(TO, "C", n)')
        w(f"delta = (({first}) + ({by})) - ({first})")
        with w("for i in range(n):"):
            w(f"store(out, cast(TO, ({first}) + i * delta), i)")
        w("return out")
    return make("arange", w, TO=to, ceil=math.ceil)


@body.typed(np.linspace)
def _(start: Any, stop: Any, num: Any = None, endpoint: Any = None, retstep: Any = None,
      dtype: Any = None, axis: Any = None) -> Any:  # fmt: skip
    if not (is_scalar(start) and is_scalar(stop)) or known(retstep, False):
        return None
    to = as_dtype(known(dtype)) or common_dtype(start, stop, FLOAT)
    signature = "start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0"
    w = Writer()
    with w(f"def linspace({signature}):"):
        w('out = empty(TO, "C", num)')
        w("parts = num - 1" if known(endpoint, True) else "parts = num")
        w("step = (stop - start) / (parts if parts > 0 else 1)")
        with w("for i in range(num):"):
            w("store(out, cast(TO, start + i * step), i)")
        if known(endpoint, True):
            with w("if num > 1:"):
                w("store(out, cast(TO, stop), num - 1)")
        w("return out")
    return make("linspace", w, TO=to)


class FLOAT:
    """The abstract argument of a Python float."""

    type = "float64"
    py = True


@body(np.logspace)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0
) -> Any:
    return base ** np.linspace(start, stop, num, endpoint)


@body(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    out = start * (stop / start) ** np.linspace(0.0, 1.0, num, endpoint)
    if num > 0:
        out[0] = start
    if endpoint and num > 1:
        out[num - 1] = stop
    return out


# -- from tuples and other arrays ------------------------------------------------------------------
def _nested_shape(a: Any) -> tuple[Any, ...]:
    """Lengths of nested tuples, then the axes of the arrays in them as names of expressions."""
    if is_tuple(a):
        if not a.elements:
            return (0,)
        return (len(a.elements), *_nested_shape(a.elements[0]))
    return (None,) * ndim(a)


def _from_tuple(a: Any, to: Any) -> Callable[..., Any] | None:
    """The array of a nested tuple whose leaves are numbers or arrays of one rank."""
    shape = _nested_shape(a)
    first, at = "object", a
    while is_tuple(at) and at.elements:
        first, at = f"{first}[0]", at.elements[0]
    rank = shape.count(None)
    sizes = [str(n) for n in shape if n is not None] + [f"dim({first}, {k})" for k in range(rank)]
    w = Writer()
    with w("def array(object):"):
        w(f'out = empty(TO, "C"{"".join(f", {n}" for n in sizes)})')
        if not _write_items(w, a, "object", "", shape, rank):
            return None
        w("return out")
    return make("array", w, TO=to, assign=assign)


def _write_items(w: Writer, a: Any, item: str, index: str, shape: Any, rank: int) -> bool:
    if is_tuple(a):
        if _nested_shape(a) != shape:
            return False
        return all(
            _write_items(w, e, f"{item}[{k}]", f"{index}, {k}", shape[1:], rank)
            for k, e in enumerate(a.elements)
        )
    if _nested_shape(a) != shape:
        return False
    if rank == 0:
        w(f"store(out, {f'load({item})' if is_array(a) else item}{index})")
        return True
    with w("if " + " or ".join(_unequal(item, index, k) for k in range(rank)) + ":"):
        w('raise ValueError("setting an array element with a sequence")')
    w(f"assign(out[{index[2:]}], {item})")
    return True


def _unequal(item: str, index: str, k: int) -> str:
    return f"dim({item}, {k}) != dim(out, {index.count(',') + k})"


ARRAY = "object, dtype=None, copy=True, order='K', subok=False, ndmin=0"


def _array(a: Any, to: Any, order: Any, fresh: bool, signature: str, name: str) -> Any:
    to = as_dtype(known(to)) or common_dtype_of(a)
    if to is None:
        return None
    if is_tuple(a):
        made = _from_tuple(a, to)
        return None if made is None else calling(made, signature, name)
    if is_array(a):
        wanted = known(order, "K")
        kept = wanted not in ("C", "F") or wanted == a.type.layout or ndim(a) < 2
        if not fresh and to == dtype(a) and kept:
            return function("asarray", f"def asarray({signature}):\n    return {name}\n")
        return calling(copied(a, to, wanted), signature, name)
    if is_scalar(a):
        w = Writer()
        with w(f"def array({signature}):"):
            w('out = empty(TO, "C")')
            w(f"store(out, {name})")
            w("return out")
        return make("array", w, TO=to)
    return None


@body.typed(np.array)
def _(object: Any, dtype: Any = None, copy: Any = None, order: Any = None, subok: Any = None,
      ndmin: Any = None) -> Any:  # fmt: skip
    if known(ndmin, 0):
        return None
    fresh = is_none(copy) or not is_known(copy) or bool(copy.const)
    return _array(object, dtype, order, fresh, ARRAY, "object")


def _as_array(f: Any, order: str, signature: str = "a, dtype=None, order=None") -> None:
    @body.typed(f)
    def resolve(a: Any, dtype: Any = None, order_: Any = None) -> Any:
        return _array(a, dtype, order_ if order == "K" else _Order(order), False, signature, "a")


class _Order:
    """The abstract argument of a memory order."""

    known = True

    def __init__(self, order: str) -> None:
        self.const = order


_as_array(np.asarray, "K")
_as_array(np.asanyarray, "K")
_as_array(np.ascontiguousarray, "C", "a, dtype=None")
_as_array(np.asfortranarray, "F", "a, dtype=None")
