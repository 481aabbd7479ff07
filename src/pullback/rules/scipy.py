"""SciPy's special functions of numbers, as ufuncs on arrays too.

They are told by the ufunc objects of ``scipy.special``; that is imported by who uses them, so they
are registered when it is.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import register
from .numpy.loops import Elementwise
from .numpy.ufuncs import casts_to, order_of, resolve_dtypes
from .registry import body, once_imported, pure
from .types import is_array, ndim

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_PI = math.sqrt(2.0 * math.pi)


def expit(x: Any) -> Any:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def ndtr(x: Any) -> Any:
    """The distribution function of the standard normal distribution."""
    return 0.5 * math.erfc(-x * ROOT_HALF)


def _density(y: Any, x: Any) -> Any:
    return np.exp(-0.5 * x * x) / ROOT_TWO_PI


register((expit,), lambda y, x: y / (1.0 + np.exp(x)))
register((ndtr,), _density)
pure(expit, ndtr)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "erf": math.erf,
    "erfc": math.erfc,
    "expit": expit,
    "gammaln": math.lgamma,
    "ndtr": ndtr,
}


def _resolver(ufunc: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    def resolve(x: Any) -> Any:
        dtypes = resolve_dtypes(ufunc, [x])
        if dtypes is None or dtypes[-1].kind != "f":
            return None
        return Elementwise(
            name=ufunc.__name__,
            expr="cast(DTYPE, f({0}))" if dtypes[-1] != np.float64 else "f({0})",
            parameters=("x",),
            ndims=(ndim(x),),
            dtype=dtypes[-1],
            order=order_of([x]) if is_array(x) else "C",
            casts=(casts_to(dtypes[0], x),),
            scope=(("f", f),),
            zero_d=(0,) if is_array(x) and not ndim(x) else (),
        ).build()

    return resolve


def _register() -> None:
    special = sys.modules["scipy.special"]
    for name, f in FUNCTIONS.items():
        ufunc = getattr(special, name)
        body.typed(ufunc)(_resolver(ufunc, f))


once_imported("scipy.special", _register)
