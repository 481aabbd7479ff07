"""What resolvers ask of abstract arguments. Numba's types are looked at by attribute only, so that
rules load without Numba.

An abstract argument has ``type`` (a Numba type), ``const`` (its value if it is known) and ``py``
(whether it is a Python number, which NumPy lets take on the other operand's precision); a tuple has
``elements`` instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def is_tuple(a: Any) -> bool:
    """Whether this is a tuple or a list of known length."""
    cls = getattr(a, "cls", None)
    is_sequence = cls is None or (isinstance(cls, type) and issubclass(cls, tuple | list))
    return hasattr(a, "elements") and is_sequence


def is_slice(a: Any) -> bool:
    return getattr(a, "cls", None) is slice


def is_known(a: Any) -> bool:
    """Whether this is a known constant."""
    return bool(getattr(a, "known", False))


def is_none(a: Any) -> bool:
    return a is None or (is_known(a) and a.const is None)


def known(a: Any, default: Any = None) -> Any:
    """The Python value of an argument that must be known: constants, tuples and slices of them;
    an argument not given (``None``) is ``default``. `NotKnown` if it is not."""
    if a is None:
        return default
    if hasattr(a, "elements"):
        parts = [known(e) for e in a.elements]
        return slice(*parts) if is_slice(a) else (a.cls or tuple)(parts)
    if not is_known(a):
        raise NotKnown(a)
    return a.const


class NotKnown(Exception):
    """An argument that decides the shape of the code, ``what``, is not known before it runs."""

    def __init__(self, what: Any) -> None:
        self.what = what
        super().__init__(what)


def is_array(a: Any) -> bool:
    t = getattr(a, "type", None)
    return hasattr(t, "ndim") and hasattr(t, "layout") and hasattr(t, "dtype")


def ndim(a: Any) -> int:
    """The rank of an array; 0 of anything else."""
    return int(a.type.ndim) if is_array(a) else 0


def dtype_of_type(t: Any) -> np.dtype[Any] | None:
    """The NumPy dtype of a Numba number or array type, or ``None``."""
    t = t.dtype if hasattr(t, "layout") else t
    name = str(getattr(t, "literal_type", t))
    if name.startswith(("bool", "Literal[bool]")):
        return np.dtype(bool)
    try:
        found = np.dtype(name)
    except TypeError:
        return None
    return found if found.kind in KINDS else None


def dtype(a: Any) -> Any:
    """The NumPy dtype of an array or number, ``None`` of anything else."""
    t = getattr(a, "type", None)
    return None if t is None else dtype_of_type(t)


def is_scalar(a: Any) -> bool:
    """Whether this is a number or bool."""
    return not is_array(a) and not is_tuple(a) and dtype(a) is not None


def is_complex(a: Any) -> bool:
    d = dtype(a)
    return d is not None and d.kind == "c"


def is_integer(a: Any) -> bool:
    """Whether this is an integer number (not a bool)."""
    return bool(is_scalar(a) and dtype(a).kind in "iu")


def promoted(a: Any) -> Any:
    """What NumPy promotes by: the dtype, or the Python class of a Python number."""
    d = dtype(a)
    if d is None:
        return None
    return KINDS[d.kind] if is_scalar(a) and getattr(a, "py", False) and d.kind != "b" else d


def value_class(a: Any) -> Any:
    """The dtype of an array or number: `dtype` under a name that parameters do not hide."""
    return dtype(a)


def as_dtype(spec: Any) -> Any:
    """The dtype that a dtype argument names: a dtype, a class, a string or a Numba type."""
    if spec is None:
        return None
    try:
        found = np.dtype(spec)
    except TypeError:
        return dtype_of_type(spec)
    return found if found.kind in KINDS and found.char not in "egG" else None
