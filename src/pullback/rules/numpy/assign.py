"""Assignment to arrays as a whole, copies and casts, choice between arrays.

`assign` is what every assignment to part of an array ends in: the part is a view, which is
overwritten element by element, with broadcasting and NumPy's meaning of overlap.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import prims
from ..registry import body, method_is
from ..source import Writer, function
from ..types import (
    as_dtype,
    dtype,
    is_array,
    is_none,
    is_scalar,
    is_tuple,
    known,
    ndim,
    promoted,
    value_class,
)
from .loops import Elementwise, make
from .ufuncs import order_of


def assign(dst: Any, src: Any) -> Any:
    """``dst[...] = src``; returns ``dst``."""
    dst[...] = src
    return dst


@body.typed(assign)
def assign_body(dst: Any, src: Any) -> Any:
    if is_tuple(src):
        return _assign_tuple
    if not is_array(dst) or dtype(src) is None:
        return None
    return Elementwise(
        name="assign",
        expr=cast_expr(dtype(src), dtype(dst), "{1}"),
        parameters=("dst", "src"),
        ndims=(ndim(dst), ndim(src)),
        order=order_of([dst]),
        into=0,
        reads=(1,),
        scope=(("TO", dtype(dst)),),
        zero_d=zero_d(dst, src),
    ).build()


def _assign_tuple(dst: Any, src: Any) -> Any:
    return assign(dst, np.array(src))


def zero_d(*operands: Any) -> tuple[int, ...]:
    """Which operands are arrays without axes."""
    return tuple(k for k, a in enumerate(operands) if is_array(a) and not ndim(a))


def cast_expr(source: Any, to: Any, x: str) -> str:
    """``x`` cast as assignment casts it: complex to real takes the real part."""
    if source == to:
        return x
    if source.kind == "c" and to.kind != "c":
        return f"cast(TO, real({x}))"
    return f"cast(TO, {x})"


def rounded_expr(source: Any, to: Any, x: str) -> str:
    """``x`` cast as the user asks for it. No derivative flows into integers, and none is lost: what
    is cast is a truncated number."""
    if source.kind in "fc" and to.kind == "b":
        return f"{x} != 0"
    if source.kind in "fc" and to.kind in "iu":
        return f"cast(TO, trunc({f'real({x})' if source.kind == 'c' else x}))"
    return cast_expr(source, to, x)


def fill(x: Any, value: Any) -> None:
    assign(x, value)


@body(np.copyto)
def copyto(dst: Any, src: Any) -> None:
    assign(dst, src)


@body.typed(np.fill_diagonal)
def _(a: Any, val: Any) -> Any:
    return _fill_diagonal if ndim(a) == 2 and is_scalar(val) else None


def _fill_diagonal(a: Any, val: Any) -> None:
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val


# -- copies and casts ------------------------------------------------------------------------------
def copied(x: Any, to: Any = None, order: str = "K", name: str = "copy") -> Callable[..., Any]:
    """A function of ``x`` alone: a fresh array of dtype ``to`` in memory order ``order``."""
    to = dtype(x) if to is None else to
    if order not in ("C", "F"):
        order = order_of([x])
    if ndim(x) == 0:
        expr = rounded_expr(dtype(x), to, "load(x)")
        w = Writer()
        with w(f"def {name}(x):"):
            w('out = empty(TO, "C")')
            w(f"store(out, {expr})")
            w("return out")
        return make(name, w, TO=to, trunc=np.trunc)
    return Elementwise(
        name=name,
        expr=rounded_expr(dtype(x), to, "{0}"),
        parameters=("x",),
        ndims=(ndim(x),),
        dtype=to,
        order=order,
        scope=(("TO", to), ("trunc", np.trunc)),
    ).build()


def calling(f: Any, signature: str, arguments: str = "x", **scope: Any) -> Callable[..., Any]:
    """A function of that signature that calls ``f`` with fewer arguments."""
    return function("call", f"def call({signature}):\n    return f({arguments})\n", f=f, **scope)


def _method_copy(x: Any, order: str = "C") -> Any:
    return x.copy(order)


@body.typed(_method_copy)
def _(x: Any, order: Any = None) -> Any:
    return calling(copied(x, None, known(order, "C")), "x, order='C'") if is_array(x) else None


@body.typed(np.copy)
def _(a: Any, order: Any = None, subok: Any = None) -> Any:
    if is_array(a):
        return calling(copied(a, None, known(order, "K")), "a, order='K', subok=False", "a")
    return calling(np.array, "a, order='K', subok=False", "a") if is_tuple(a) else None


def astype(x: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
           copy: bool = True) -> Any:  # fmt: skip
    return x.astype(dtype, order, casting, subok, copy)


SIGNATURE = "x, dtype, order='K', casting='unsafe', subok=True, copy=True"


@body.typed(astype)
def _(x: Any, dtype: Any, order: Any = None, casting: Any = None, subok: Any = None,
      copy: Any = None) -> Any:  # fmt: skip
    to = as_dtype(known(dtype))
    if to is None or not is_array(x):
        return None
    if to == value_class(x) and not known(copy, True):
        return function("astype", f"def astype({SIGNATURE}):\n    return x\n")
    return calling(copied(x, to, known(order, "K"), "astype"), SIGNATURE)


if hasattr(np, "astype"):  # from NumPy 2.1 on

    @body(np.astype)
    def numpy_astype(x: Any, dtype: Any, copy: bool = True) -> Any:
        return astype(x, dtype, copy=copy)


# -- choice ----------------------------------------------------------------------------------------
def common_dtype(*operands: Any) -> Any:
    """The dtype that operands have in common, Python numbers being weak; ``None`` if none."""
    weak = {bool: True, int: 1, float: 1.0, complex: 1j}
    try:
        found = np.result_type(*(weak.get(p, p) for p in map(promoted, operands)))
    except TypeError:
        return None
    return None if found.char in "egGO" else found


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if is_tuple(condition):
        condition, wrap = None, True
    else:
        wrap = is_tuple(x) or is_tuple(y)
    if wrap:
        return _where_of_tuples if x is not None else None
    if x is None:
        return calling(np.nonzero, "condition", "condition")
    to = common_dtype(x, y)
    if to is None:
        return None
    test = "{0}" if dtype(condition).kind == "b" else "{0} != 0"
    return Elementwise(
        name="where",
        expr=f"select({test}, {{1}}, {{2}})",
        parameters=("condition", "x", "y"),
        ndims=(ndim(condition), ndim(x), ndim(y)),
        dtype=to,
        order=order_of([a for a in (condition, x, y) if is_array(a)]),
        casts=(None, *(None if dtype(a) == to else to for a in (x, y))),
        zero_d=zero_d(condition, x, y),
    ).build()


body.typed(np.where)(_where)


def _where_of_tuples(condition: Any, x: Any, y: Any) -> Any:
    return np.where(np.asarray(condition), np.asarray(x), np.asarray(y))


def _clip(x: Any, lo: Any, hi: Any) -> Any:
    return _clip_high(_clip_low(x, lo), hi)


def _clip_low(x: Any, lo: Any) -> Any:
    return prims.select((x < lo) | (lo != lo), lo, x)


def _clip_high(x: Any, hi: Any) -> Any:
    return prims.select((x > hi) | (hi != hi), hi, x)


#: NumPy 2.1 gave `clip` these names of its bounds
CLIP_KEYWORDS = "min" in inspect.signature(np.clip).parameters


@body.typed(np.clip)
def _(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None,
      max: Any = None) -> Any:  # fmt: skip
    if not CLIP_KEYWORDS and not (min is None and max is None):
        return None
    lo, hi = (a_min if min is None else min), (a_max if max is None else max)
    if is_tuple(a) or is_tuple(lo) or is_tuple(hi):
        return None
    bounds = [b for b in (lo, hi) if not is_none(b)]
    kernel = {(0, 0): None, (1, 0): _clip_low, (0, 1): _clip_high, (1, 1): _clip}[
        (not is_none(lo), not is_none(hi))
    ]
    operands = [a, *bounds]
    to = common_dtype(*operands)
    if kernel is None or to is None or to.kind in "bc":
        return None
    names = ["a"]
    names += [] if is_none(lo) else ["a_min" if min is None else "min"]
    names += [] if is_none(hi) else ["a_max" if max is None else "max"]
    keywords = "" if min is None and max is None else ", *, min=None, max=None"
    into = None
    if not is_none(out):
        into = len(names)
        names.append("out")
        operands.append(out)
    places = ", ".join(f"{{{k}}}" for k in range(1 + len(bounds)))
    return Elementwise(
        name="clip",
        expr=f"f({places})",
        parameters=tuple(names),
        ndims=tuple(map(ndim, operands)),
        dtype=to,
        order=order_of(operands),
        casts=tuple(None if dtype(b) == to else to for b in (a, *bounds)),
        into=into,
        reads=tuple(range(1 + len(bounds))),
        scope=(("f", kernel),),
        signature=f"a, a_min=None, a_max=None, out=None{keywords}",
        zero_d=zero_d(*operands),
    ).build()


def clip_method(x: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
    return np.clip(x, min, max, out)


def _item(x: Any, *index: int) -> Any:
    return x.item(*index)


@body.typed(_item)
def _(x: Any, *index: Any) -> Any:
    if index or not is_array(x):
        return None
    zeros = "".join(", 0" for _ in range(ndim(x)))
    check = "    if x.size != 1:\n        raise ValueError('can only convert an array of size 1')\n"
    source = f"def item(x):\n{check if ndim(x) else ''}    return load(x{zeros})\n"
    return function("item", source, load=prims.load)


method_is(fill=fill, copy=_method_copy, astype=astype, clip=clip_method, item=_item)


# -- assignment to parts ---------------------------------------------------------------------------
def assign_part(x: Any, i: Any, v: Any) -> None:
    """``x[i] = v`` where ``x[i]`` is a view."""
    assign(x[i], v)


SETITEM = operator.setitem
