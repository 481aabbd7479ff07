"""Elementwise functions that are no ufuncs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..registry import body, method_is
from ..source import function
from ..types import dtype, is_array, is_none, is_scalar, is_tuple, known, ndim
from .assign import calling, zero_d
from .loops import Elementwise
from .ufuncs import order_of


def _sliced(k: int, part: str) -> str:
    return "[" + ":, " * k + part + "]"


# -- elementwise -----------------------------------------------------------------------------------
def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x != x:
        return nan
    if x == math.inf:
        return posinf
    return neginf if x == -math.inf else x


@body.typed(np.nan_to_num)
def _(x: Any, copy: Any = None, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    signature = "x, copy=True, nan=0.0, posinf=None, neginf=None"
    if is_tuple(x):
        return calling(np.nan_to_num, signature, "array(x), copy, nan, posinf, neginf",
                       array=np.array)  # fmt: skip
    if not known(copy, True) or dtype(x) is None or dtype(x).kind == "c":
        return None
    if dtype(x).kind != "f":
        return calling(np.copy, signature, "x") if is_array(x) else calling(_same, signature, "x")
    largest = float(np.finfo(dtype(x)).max)
    ends = ["LARGE" if is_none(posinf) else "posinf", "-LARGE" if is_none(neginf) else "neginf"]
    return Elementwise(
        name="nan_to_num",
        expr=f"f({{0}}, nan, {ends[0]}, {ends[1]})",
        parameters=("x",),
        ndims=(ndim(x),),
        dtype=dtype(x),
        order=order_of([x]) if is_array(x) else "C",
        scope=(("f", _nan_to_num), ("LARGE", largest)),
        signature=signature,
        zero_d=zero_d(x),
    ).build()


def _same(x: Any) -> Any:
    return x


@body.typed(np.round, np.around)
def _(a: Any, decimals: Any = None, out: Any = None) -> Any:
    signature = "a, decimals=0, out=None"
    if is_tuple(a):
        return calling(np.round, signature, "array(a), decimals", array=np.array)
    if not is_none(out) or not is_array(a):
        return None
    if dtype(a).kind in "iu":
        return calling(np.copy, signature, "a") if known(decimals, 0) >= 0 else None
    places = known(decimals, 0)
    scaled = "rint(a)" if places == 0 else "rint(a * P) / P" if places > 0 else "rint(a / P) * P"
    source = f"def round({signature}):\n    return {scaled}\n"
    return function("round", source, rint=np.rint, P=float(10 ** abs(places)))


@body(np.fix)
def fix(x: Any) -> Any:
    return np.trunc(x)


@body(np.isposinf)
def isposinf(x: Any) -> Any:
    return np.equal(x, math.inf)


@body(np.isneginf)
def isneginf(x: Any) -> Any:
    return np.equal(x, -math.inf)


@body.typed(np.angle)
def _(z: Any, deg: Any = None) -> Any:
    """Of arrays; a number goes to the scalar rule unless degrees are wanted."""
    if is_scalar(z) and deg is None:
        return None
    if dtype(z) is None:
        return None
    scale = " * SCALE" if known(deg, False) else ""
    kernel = "arctan2(imag({0}), real({0}))" if dtype(z).kind == "c" else "arctan2(0.0, {0})"
    to = np.empty(0, dtype(z)).real.dtype if dtype(z).kind in "fc" else np.dtype(float)
    return Elementwise(
        name="angle",
        expr=kernel + scale,
        parameters=("z",),
        ndims=(ndim(z),),
        dtype=to,
        order=order_of([z]) if is_array(z) else "C",
        scope=(("arctan2", np.arctan2), ("SCALE", 180.0 / math.pi)),
        signature="z, deg=False",
        zero_d=zero_d(z),
    ).build()


@body.typed(np.sinc)
def _(x: Any) -> Any:
    if is_tuple(x):
        return calling(np.sinc, "x", "array(x)", array=np.array)
    if not is_array(x):
        return None
    return Elementwise(
        name="sinc",
        expr="f({0})",
        parameters=("x",),
        ndims=(ndim(x),),
        dtype=dtype(x) if dtype(x).kind in "fc" else np.dtype(float),
        order=order_of([x]),
        scope=(("f", np.sinc),),
        zero_d=zero_d(x),
    ).build()


@body.typed(np.select)
def _(condlist: Any, choicelist: Any, default: Any = None) -> Any:
    if not (is_tuple(condlist) and is_tuple(choicelist)):
        return None
    text = "default"
    for k in reversed(range(len(condlist.elements))):
        text = f"where(condlist[{k}], choicelist[{k}], {text})"
    source = f"def select(condlist, choicelist, default=0):\n    return {text}\n"
    return function("select", source, where=np.where)


@body.typed(np.unwrap)
def _(p: Any, discont: Any = None, axis: Any = None, *, period: Any = None) -> Any:
    return _unwrap if ndim(p) == 1 and is_none(discont) else None


def _unwrap(p: Any, discont: Any = None, axis: int = -1, period: float = 2 * math.pi) -> Any:
    out = p * 1.0
    shift = 0.0
    for i in range(1, p.shape[0]):
        d = p[i] - p[i - 1]
        turned = (d + period / 2) % period - period / 2
        if turned == -period / 2 and d > 0:
            turned = period / 2
        if abs(d) >= period / 2:
            shift += turned - d
        out[i] = p[i] + shift
    return out


# -- closeness -------------------------------------------------------------------------------------
def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> bool:
    if a == b:
        return True
    if a != a or b != b:
        return bool(equal_nan and a != a and b != b)
    size = abs(b)
    return bool(size != math.inf and abs(a - b) <= atol + rtol * size)


@body.typed(np.isclose)
def _(a: Any, b: Any, rtol: Any = None, atol: Any = None, equal_nan: Any = None) -> Any:
    signature = "a, b, rtol=1e-05, atol=1e-08, equal_nan=False"
    if is_tuple(a) or is_tuple(b):
        arguments = "asarray(a), asarray(b), rtol, atol, equal_nan"
        return calling(np.isclose, signature, arguments, asarray=np.asarray)
    if dtype(a) is None or dtype(b) is None:
        return None
    return Elementwise(
        name="isclose",
        expr="f({0}, {1}, rtol, atol, equal_nan)",
        parameters=("a", "b"),
        ndims=(ndim(a), ndim(b)),
        dtype=np.dtype(bool),
        order=order_of([x for x in (a, b) if is_array(x)]),
        scope=(("f", _close),),
        signature=signature,
        zero_d=zero_d(a, b),
    ).build()


@body(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
             ) -> bool:  # fmt: skip
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@body.typed(np.array_equal)
def _(a1: Any, a2: Any, equal_nan: Any = None) -> Any:
    if not (is_array(a1) and is_array(a2)) or known(equal_nan, False):
        return None
    return _array_equal if ndim(a1) == ndim(a2) else _never


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    return a1.shape == a2.shape and bool(np.all(a1 == a2))


def _never(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    return False


method_is(round=np.round, searchsorted=np.searchsorted)
