"""``vmap`` over no lanes: the result is as empty as its type says, where types tell enough."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import LanesMismatch, PullbackError
from ..frontend import lift
from ..typing_ import abstract_of, flat
from ..typing_.lattice import ATuple

_NUMBERS = {"float64": float, "int64": int, "bool": bool, "complex128": complex}


def empty_result(f: Callable[..., Any], items: Sequence[Any]) -> Any:
    """What a map of ``f`` over no lanes would give, from an example item for each argument: an
    empty array if ``f`` returns a number, or a tuple of these. LanesMismatch (PB507) if the type of
    the result does not say its shape."""
    try:
        bound = inspect.signature(f, follow_wrapped=False).bind(*items)
        bound.apply_defaults()
        ir = lift(f)
        given = [bound.arguments[name] for name in ir.info.argnames]
        return _empty(flat(ir, [abstract_of(x) for x in given]).result)
    except (PullbackError, TypeError) as e:
        raise LanesMismatch(
            "there are no lanes, and what the result would be is not known",
            hint="Only for functions that return numbers do their types tell.",
        ) from e


def _empty(result: Any) -> Any:
    if isinstance(result, ATuple) and result.cls is None:
        return tuple(map(_empty, result.elements))
    if str(result) not in _NUMBERS:
        raise TypeError(f"the shape of {result}")
    return np.empty(0, _NUMBERS[str(result)])


def example(x: np.ndarray, axis: int) -> Any:
    """What an item along the axis is like."""
    shape = np.moveaxis(x, axis, 0).shape[1:]
    if not shape and str(x.dtype) in _NUMBERS:
        return _NUMBERS[str(x.dtype)](1)
    return np.ones(shape, x.dtype)
