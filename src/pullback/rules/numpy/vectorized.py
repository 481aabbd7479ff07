"""Functions under ``@numba.vectorize``: their Python function applied to each element.

Which types the elements and the result have is Numba's to say: for a function without signatures it
compiles one for the types that come.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numba.np.ufunc.dufunc import DUFunc

from ..types import dtype, is_array, is_scalar, ndim
from .loops import Elementwise
from .ufuncs import casts_to, order_of


def vectorized_body(f: DUFunc, operands: Any) -> Callable[..., Any] | None:
    """The loops of ``f`` over these operands; ``None`` if they are more than numbers and arrays."""
    if len(operands) != f.nin or not all(is_array(a) or is_scalar(a) for a in operands):
        return None
    found = loop_dtypes(f, tuple(map(dtype, operands)))
    names = tuple(f"x{k}" for k in range(f.nin))
    return Elementwise(
        name="vectorized",
        expr=f"cast(TO, f({', '.join(f'{{{k}}}' for k in range(f.nin))}))",
        parameters=names,
        ndims=tuple(map(ndim, operands)),
        dtype=found[-1],
        order=order_of(operands),
        casts=tuple(casts_to(d, a) for d, a in zip(found, operands)),
        scope=(("f", element(f)), ("TO", found[-1])),
        signature=", ".join(names),
        zero_d=tuple(k for k, a in enumerate(operands) if is_array(a) and not ndim(a)),
    ).build()


@lru_cache(maxsize=256)
def element(f: DUFunc) -> Any:
    """The function of numbers, which divides as loops over arrays do."""
    options = {k: v for k, v in f.targetoptions.items() if k == "fastmath"}
    return njit(error_model="numpy", **options)(f._dispatcher.py_func)


def loop_dtypes(f: DUFunc, given: tuple[np.dtype[Any], ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes that the operands are cast to, and that of the result."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        f(*(np.ones(1, d) for d in given))  # has a loop afterwards
    found: tuple[np.dtype[Any], ...] = f.ufunc.resolve_dtypes((*given, None))
    return found
