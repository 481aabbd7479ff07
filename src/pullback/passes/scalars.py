"""Questions about Numba types, asked without importing Numba."""

from __future__ import annotations

from functools import cache
from typing import Any

from ..ir.core import CALL, IR, Const, Loc, Op, Operand, Value


@cache
def _kinds(cls: Any) -> frozenset[str]:
    return frozenset(c.__name__ for c in cls.__mro__)


def is_a(type_: Any, *names: str) -> bool:
    """Whether ``type_`` is of one of the classes of Numba types with these names."""
    return type_ is not None and not _kinds(type(type_)).isdisjoint(names)  # type: ignore[arg-type]


def is_number(type_: Any) -> bool:
    """Whether it is a scalar type: a number or a boolean."""
    return _scalar_name(type_) is not None


def _scalar_name(type_: Any) -> str | None:
    """Remembered by identity: types are few, shared, and slow to hash."""
    key = id(type_)
    if key not in _known:
        name = str(getattr(type_, "literal_type", type_)).replace("boolean", "bool")
        _known[key] = name if is_a(type_, "Number", "Boolean") else None
        _kept.append(type_)
    return _known[key]


_known: dict[int, str | None] = {}
_kept: list[Any] = []  # the types, so that their ids stay their own


def type_name(x: Operand) -> str | None:
    """The name of the scalar type of an operand, as NumPy spells it ("float64"), or None."""
    if type(x) is Value:
        key = id(x.type)
        return _known[key] if key in _known else _scalar_name(x.type)
    if type(x) is Const:
        return _NAMES.get(type(x.value)) or _numpy_name(x.value)
    return None


_NAMES = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}


def _numpy_name(value: Any) -> str | None:
    dtype = getattr(value, "dtype", None)
    if dtype is None or getattr(value, "shape", None) != () or not hasattr(value, "item"):
        return None
    if type(value).__name__ == "ndarray":
        return None
    return str(dtype)


def fits(param: Value, x: Operand) -> bool:
    """Whether ``x`` may stand wherever ``param`` does, as far as types go: passing it on an edge
    converts nothing."""
    if param.type is None or (type(x) is Value and x.type is param.type):
        return True
    if isinstance(x, Const):
        return is_number(param.type) and type_name(x) == type_name(param)
    return x.type is None or bool(x.type == param.type)


def convert(ir: IR, x: Operand, type_: Any, loc: Loc) -> Operand | Op:
    """``x`` as a scalar of ``type_``: a constant converted now, else the operation that converts
    it. Anything but a number is returned as it is: edges convert arrays."""
    from ..runtime import prims

    if not is_number(type_) or not (isinstance(x, Const) or is_number(getattr(x, "type", None))):
        return x
    if not isinstance(x, Const):
        return Op(CALL, ir.value(None, type_), (Const(prims.cast), Const(type_), x), None, loc)
    return Const(constant(type_, x.value))


def constant(type_: Any, value: Any) -> Any:
    """A number as the constant of scalar ``type_``: a Python number for the types that Python has,
    so that 0 as float64 is 0.0."""
    name = type_name(Value(-1, None, type_))
    for kind, spelled in _NAMES.items():
        if spelled == name:
            return kind(value)
    import numpy as np

    return np.dtype(name).type(value)
