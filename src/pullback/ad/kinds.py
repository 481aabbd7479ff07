"""Which types carry a derivative, and of which of its two parts: by value or with identity."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import types

from ..ir.core import Operand, Value
from ..typing_.lattice import is_array as is_array

TAPE = types.int64  # a tape is the address of its memory


@cache
def _is_scalar(kind: type) -> bool:
    return issubclass(kind, (types.Float, types.Complex))


def is_scalar(t: Any) -> bool:
    """A float or complex number: its cotangent flows by value."""
    return _is_scalar(type(t))  # type: ignore[arg-type]


def is_active_array(t: Any) -> bool:
    """An array of floats or complex numbers: its shadow has identity."""
    return is_array(t) and is_scalar(t.dtype)


def carries(t: Any) -> bool:
    """Whether a value of this type can be active at all."""
    return is_scalar(t) or is_active_array(t)


def type_of(x: Operand) -> Any:
    """The type of an operand, None for constants (which are never active)."""
    return x.type if isinstance(x, Value) else None


def zero(t: Any) -> Any:
    """The typed zero that a cotangent slot begins with: ``0.0`` joined with float32 would widen."""
    from numba.np.numpy_support import as_dtype

    if t == types.float64:
        return 0.0
    if t == types.complex128:
        return 0j
    if t in (types.intp, types.int64):
        return 0
    return as_dtype(t).type(0)
