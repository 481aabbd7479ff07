"""Running sums and products, along an axis or over all elements in C order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import body, method_is
from ..source import Writer
from ..types import as_dtype, dtype, is_array, is_none, is_tuple, known, ndim
from .assign import calling
from .loops import dims, make, subscript
from .reduce import Plan, normalized, number, result_dtype
from .ufuncs import fails_as

SCAN = "a, axis=None, dtype=None, out=None"


def _scan(f: Any, op: str, neutral: int, nan: bool) -> None:
    name = f.__name__

    @body.typed(f)
    def resolve(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if is_tuple(a):
            return calling(f, SCAN, "array(a), axis, dtype", array=np.array)
        if not is_array(a) or not is_none(out):
            return None
        along, to = known(axis), as_dtype(known(dtype))
        try:
            result = result_dtype(f, a, dtype=to)
            axes = normalized(along, ndim(a))
        except ValueError as error:
            return fails_as(name, SCAN, error)
        plan = Plan(a, axes, False, result)
        return _scan_body(name, plan, op, result.type(neutral), nan, along is None)


def _scan_body(name: str, p: Plan, op: str, one: Any, nan: bool, flat: bool) -> Callable[..., Any]:
    w = Writer()
    with w(f"def {name}({SCAN}):"):
        dims(w, "a", p.ndim)
        if flat:
            w(f'out = empty(RES, "C", {p.count})')
            w("at = 0")
        else:
            w(f'out = empty(RES, "{p.order}"{"".join(f", n{k}" for k in range(p.ndim))})')
        with w.nest(p.ordered(p.kept)):
            w("s = ONE")
            with w.nest([(f"i{k}", f"n{k}") for k in p.reduced]):
                element = p.element() if dtype(p.a) == p.result else f"cast(RES, {p.element()})"
                w(f"v = {element}")
                valid = "select(v == v, v, ONE)" if nan and p.result.kind in "fc" else "v"
                w(f"s = s {op} {valid}")
                w("store(out, s, at)" if flat else f"store(out, s{subscript(p.ndim)})")
                if flat:
                    w("at = at + 1")
        w("return out")
    return make(name, w, RES=p.result, ONE=number(one))


_scan(np.cumsum, "+", 0, False)
_scan(np.cumprod, "*", 1, False)
_scan(np.nancumsum, "+", 0, True)
_scan(np.nancumprod, "*", 1, True)
method_is(cumsum=np.cumsum, cumprod=np.cumprod)
