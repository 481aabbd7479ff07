"""``stop_gradient``: the value without its derivative.

In plain Python it is the identity (a copy, for arrays). In compiled code it is entered like any
function with a body: numbers pass through `held`, a leaf through which no derivative flows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from ..rules.registry import body, scalar_rule
from ..rules.source import Writer, function
from ..typing_ import ATuple
from .tree import carries, is_array


def stop_gradient(x: Any) -> Any:
    """``x``, as a constant to differentiation: a number or string is itself, an array a copy, a
    tuple a tuple of such.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    if isinstance(x, np.ndarray):
        return x.copy()
    if isinstance(x, tuple):
        parts = map(stop_gradient, x)
        return x._make(parts) if hasattr(x, "_make") else tuple(parts)
    return x


def held(x: Any) -> Any:
    """A number as it is, without derivative."""
    return x


scalar_rule(held, None)


@overload(held)
def _held(x):
    return lambda x: x


@body.typed(stop_gradient)
def _stop(x: Any) -> Any:
    """The function to enter for an argument of this kind."""
    if isinstance(x, ATuple):
        parts = "".join(f"stop(x[{i}]), " for i in range(len(x.elements)))
        source = f"def stop_tuple(x):\n    return ({parts})\n"
        return function("stop_tuple", source, stop=stop_gradient)
    if is_array(x.type):
        return _of_array(x.type.ndim) if carries(x.type) else _copy
    if carries(x.type):
        return _number
    return _same


def _of_array(ndim: int) -> Any:
    """Element by element."""
    w = Writer()
    at = ", ".join(f"i{k}" for k in range(ndim)) or "()"
    with w("def stop_array(x):"):
        w("out = np.empty_like(x)")
        with w.nest([(f"i{k}", f"x.shape[{k}]") for k in range(ndim)]):
            w(f"out[{at}] = held(x[{at}])")
        w("return out")
    return function("stop_array", str(w), np=np, held=held)


def _number(x: Any) -> Any:
    return held(x)


def _copy(x: Any) -> Any:
    return x.copy()


def _same(x: Any) -> Any:
    return x
