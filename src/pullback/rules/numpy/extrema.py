"""Maxima and minima, whole and along axes, and their positions.

The result is the element at the place that a search has found, so its derivative goes to that one
element at no cost. Where several elements tie, each gets an equal share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import body, method_is
from ..source import Writer
from ..types import dtype
from .reduce import OUT, Plan, build, register

UFUNCS = {"max": "maximum", "min": "minimum", "nanmax": "fmax", "nanmin": "fmin"}


def _search(w: Writer, p: Plan, name: str) -> None:
    """Leaves the extreme value in ``m``, its (first) place in ``k0``, ``k1``, ... and in ``c`` how
    many elements equal it. A nan wins, or loses in the nan-functions."""
    sign = ">" if name.endswith("max") else "<"
    nan = "(v == v) & (m != m)" if name.startswith("nan") else "(v != v) & (m == m)"
    floating = dtype(p.a).kind == "f"
    for k in p.reduced:
        w(f"k{k} = 0")
    w("c = 0")
    w(f"m = {p.element(**{f'i{k}': '0' for k in p.reduced})}")
    with w.nest([(f"i{k}", f"n{k}") for k in p.reduced]):
        w(f"v = {p.element()}")
        with w(f"if (v {sign} m) | ({nan}):" if floating else f"if v {sign} m:"):
            w("m = v")
            for k in p.reduced:
                w(f"k{k} = i{k}")
            w("c = 1")
        with w("elif v == m:"):
            w("c = c + 1")


def _extremum(name: str, signature: str, p: Plan) -> Callable[..., Any] | None:
    """The element at the place of the extreme value. Ties add zero, (v - y) / c for each of the
    others, so that each has an equal share of the derivative and the value stays what it is."""
    if dtype(p.a).kind == "c":
        return None

    def cell(w: Writer, p: Plan) -> str:
        _search(w, p, name)
        w(f"y = {p.element(**{f'i{k}': f'k{k}' for k in p.reduced})}")
        if dtype(p.a).kind == "f":
            with w("if (c > 1) & (m - m == 0):"):
                w("first = y")
                with w.nest([(f"i{k}", f"n{k}") for k in p.reduced]):
                    w(f"v = {p.element()}")
                    with w("if v == m:"):
                        w("y = y + (v - first) / c")
        return "y"

    ufunc = UFUNCS.get(name.replace("a", "", 1) if name.startswith("am") else name, name)
    empty = f"zero-size array to reduction operation {ufunc} which has no identity"
    return build(name, signature, p, cell, empty)


def _position(name: str, signature: str, p: Plan) -> Callable[..., Any] | None:
    if dtype(p.a).kind == "c":
        return None

    def cell(w: Writer, p: Plan) -> str:
        _search(w, p, name.replace("arg", ""))
        place = "0"
        for k in p.reduced:
            place = f"k{k}" if place == "0" else f"({place}) * n{k} + k{k}"
        return place

    return build(name, signature, p, cell, f"attempt to get {name} of an empty sequence")


EXTREMA: dict[Any, Any] = {
    **{f: (OUT, _extremum) for f in (np.max, np.min, np.nanmax, np.nanmin)},
    **{f: (OUT, _position) for f in (np.argmax, np.argmin)},
}
if np.amax is not np.max:
    EXTREMA |= {np.amax: (OUT, _extremum), np.amin: (OUT, _extremum)}
register(EXTREMA)


@body(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


method_is(max=np.max, min=np.min, argmax=np.argmax, argmin=np.argmin)
