"""Abstract values: what typing knows about a value, and how two such facts join.

A value is an `AVal`, a type with perhaps a known constant, or an `ATuple`, a product of abstract
values with the kind of thing that it makes up (tuple, namedtuple, range, slice, iterator, ...).
Products exist only here: flattening takes them apart.
"""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Union

import numpy as np
from numba import typeof
from numba.core import types
from numba.np import numpy_support

from ..errors import UnsupportedArgument
from ..ir.core import const_key


class _NoConst:
    def __repr__(self) -> str:
        return "NOCONST"


NOCONST: Any = _NoConst()
"""The constant of a value that is not known before it runs."""


class AVal:
    """One value: its Numba type (None for a static object without one), its constant if known,
    and whether a scalar is certain to be a Python number (``py``) rather than a NumPy one.

    ``src`` says where a static came from (see `access`), ``example`` what an integer argument was
    and where it is found; they take no part in equality."""

    __slots__ = ("type", "const", "py", "src", "example", "_key", "_hash")

    def __init__(self, type: Any, const: Any = NOCONST, py: bool = False, src: Any = None) -> None:
        self.type = type
        self.const = const
        self.py = py
        self.src = src
        self.example: Any = None
        self._key: Any = None
        self._hash: int | None = None

    @property
    def known(self) -> bool:
        """Whether the value is a known constant."""
        return self.const is not NOCONST

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, AVal) or self.py != other.py:
            return False
        if self.type is not other.type and self.type != other.type:
            return False
        if self.const is other.const:
            return True
        return self.key() == other.key()

    def key(self) -> Any:
        """What stands for the constant in comparisons."""
        if self._key is None and self.const is not NOCONST:
            self._key = const_key(self.const)
        return self._key

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.type, self.key(), self.py))
        return self._hash

    def __repr__(self) -> str:
        if self.type is None or (self.known and not is_scalar(self.type)):
            return f"static {self.const!r}"
        name = str(self.type)
        return f"{name}={self.const!r}" if self.known else name


class ATuple:
    """A product. ``cls`` is None for a plain tuple, the class of a namedtuple, or what else is made
    of parts: `range`, `slice`, `enumerate`, `zip`, `reversed`, `list`, a closure, ..."""

    __slots__ = ("elements", "cls", "src", "_hash", "_type")

    const = NOCONST
    known = False
    py = False

    def __init__(self, elements: tuple[Any, ...], cls: Any = None, src: Any = None) -> None:
        self.elements = elements
        self.cls = cls
        self.src = src
        self._hash = hash((cls, elements))
        self._type: Any = None

    @property
    def is_tuple(self) -> bool:
        """Whether this is a tuple or a namedtuple."""
        cls = self.cls
        return cls is None or (isinstance(cls, type) and issubclass(cls, tuple))

    @property
    def type(self) -> Any:
        """The Numba tuple type, or None if this is no tuple or a part has no type."""
        if self._type is None and self.is_tuple:
            parts = [e.type for e in self.elements]
            if all(p is not None for p in parts):
                self._type = types.BaseTuple.from_types(parts, self.cls)
        return self._type

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, ATuple)
            and self._hash == other._hash
            and self.cls == other.cls
            and self.elements == other.elements
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.elements))
        if self.cls is None:
            return f"({inner},)" if len(self.elements) == 1 else f"({inner})"
        return f"{getattr(self.cls, '__name__', self.cls)}({inner})"


Abstract = Union[AVal, ATuple]

INT = AVal(types.int64, py=True)
FLOAT = AVal(types.float64, py=True)
BOOL = AVal(types.boolean, py=True)
COMPLEX = AVal(types.complex128, py=True)
NONE = AVal(types.none, None)
NUMBERS = (bool, int, float, complex)
_OPAQUE = (pytypes.FunctionType, pytypes.BuiltinFunctionType, str, type)
_PYTHON = {bool: types.boolean, int: types.int64, float: types.float64, complex: types.complex128}


def is_scalar(t: Any) -> bool:
    """Whether a Numba type is a number or a bool."""
    return isinstance(t, (types.Number, types.Boolean))


@cache
def _is_array(kind: type) -> bool:
    return issubclass(kind, types.Array)


def is_array(t: Any) -> bool:
    return _is_array(type(t))  # type: ignore[arg-type]


def scalar(type: Any, py: bool = False) -> AVal:
    return AVal(type, NOCONST, py)


def static(value: Any, src: Any = None) -> AVal:
    """A static object: known, without a type of interest."""
    return AVal(types.none if value is None else None, value, src=src)


def constant(value: Any, src: Any = None) -> Abstract:
    """The abstract value of a constant: numbers are known, tuples go element-wise."""
    kind = type(value)
    if kind in _OPAQUE:
        return AVal(None, value, src=src)
    if kind in _PYTHON:
        if kind is int and not -(2**63) <= value < 2**64:
            return static(value, src)
        return AVal(types.uint64 if kind is int and value >= 2**63 else _PYTHON[kind], value, True)
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return AVal(numpy_support.from_dtype(value.dtype), value)
    if isinstance(value, tuple):
        parts = tuple(constant(v, _step(src, i)) for i, v in enumerate(value))
        return ATuple(parts, None if kind is tuple else kind, src)
    if kind is slice:
        return ATuple(tuple(constant(v) for v in (value.start, value.stop, value.step)), slice)
    if kind is range:
        return ATuple(tuple(constant(v) for v in (value.start, value.stop, value.step)), range)
    return static(value, src)


def _step(src: Any, i: int) -> Any:
    return None if src is None else (*src, ("item", i))


_CONVERT = {
    "O": ("an array of objects", "convert it with np.asarray(x, dtype=float)"),
    "e": ("half precision", "convert it with x.astype(np.float32)"),
    "g": ("long double", "convert it with x.astype(np.float64)"),
    "G": ("long double complex", "convert it with x.astype(np.complex128)"),
    "U": ("an array of strings", "pass what they stand for as numbers"),
    "S": ("an array of bytes", "pass what they stand for as numbers"),
    "V": ("a structured array", "pass its fields as separate arrays"),
}
"""The dtypes that are not taken: what they are, and what to do."""
_SEQUENCE = "pass a tuple or np.array(x)"
_DICT = "pass a plain dict with strings as keys, or np.array(...)"
_FOREIGN = {
    "pandas": "pass x.to_numpy()",
    "polars": "pass x.to_numpy()",
    "xarray": "pass x.to_numpy()",
    "torch": "pass x.detach().numpy()",
    "jax": "pass np.array(x)",
    "jaxlib": "pass np.array(x)",
}


def abstract_of(value: Any, src: Any = None) -> Abstract:
    """What is known of an argument at run time: numbers and arrays by type, functions, modules,
    strings and None by value. UnsupportedArgument, naming the conversion, for anything else."""
    kind = type(value)
    if kind in _PYTHON:
        number = AVal(_PYTHON[kind], py=True)
        if src is not None and kind in (int, bool):
            number.example = (value, src)
        return number
    if kind is np.ndarray:
        return _array(value)
    if isinstance(value, np.ndarray):
        return _array_subclass(value)
    if isinstance(value, np.generic):
        _check_dtype(value.dtype)
        return AVal(numpy_support.from_dtype(value.dtype))
    if isinstance(value, tuple):
        parts = tuple(abstract_of(v, _step(src, i)) for i, v in enumerate(value))
        return ATuple(parts, None if kind is tuple else kind, src)
    if isinstance(value, (list, dict, set)):
        hint = _DICT if isinstance(value, dict) else _SEQUENCE
        raise UnsupportedArgument(
            f"objects of type {kind.__name__} are not taken by compiled code", hint=hint
        )
    foreign = _FOREIGN.get(kind.__module__.split(".")[0])
    if foreign is not None:
        raise UnsupportedArgument(f"a {kind.__module__}.{kind.__name__} is not taken", hint=foreign)
    return constant(value, src)


def _array(value: Any) -> AVal:
    _check_dtype(value.dtype)
    return AVal(typeof(value))


def _array_subclass(value: Any) -> AVal:
    name = type(value).__name__
    hint = "pass x.filled(value) or x.data" if name == "MaskedArray" else "pass np.asarray(x)"
    raise UnsupportedArgument(f"an array of the class {name} is not taken", hint=hint)


def _check_dtype(dtype: Any) -> None:
    if dtype.char in _CONVERT:
        what, hint = _CONVERT[dtype.char]
        raise UnsupportedArgument(f"dtype {dtype} is {what}", hint=hint)
    if not dtype.isnative:
        raise UnsupportedArgument(
            f"dtype {dtype} has foreign byte order",
            hint="convert it with x.astype(x.dtype.newbyteorder('='))",
        )


# -- joins -----------------------------------------------------------------------------------------
class Bottom(Exception):
    """An operand has no value yet: no path to here is known to return."""


class NoJoin(Exception):
    """Two abstract values have no common one."""


_KIND = {"b": 0, "i": 1, "f": 2, "c": 3}


def scalar_kind(t: Any) -> str:
    """ "b", "i", "f" or "c" for a scalar type."""
    if isinstance(t, types.Boolean):
        return "b"
    if isinstance(t, types.Integer):
        return "i"
    return "f" if isinstance(t, types.Float) else "c"


def join(a: Abstract, b: Abstract) -> Abstract:
    """The least abstract value that both are. NoJoin if there is none."""
    if a is b or a == b:
        return a
    if isinstance(a, ATuple) and isinstance(b, ATuple):
        if a.cls == b.cls and len(a.elements) == len(b.elements):
            return ATuple(tuple(map(join, a.elements, b.elements)), a.cls)
        raise NoJoin
    if isinstance(a, ATuple) or isinstance(b, ATuple) or a.type is None or b.type is None:
        return _join_static(a, b)
    if a.type == b.type:
        if a.type is types.none:
            return a
        return AVal(a.type, py=a.py and b.py)
    if is_scalar(a.type) and is_scalar(b.type):
        return _join_scalars(a, b)
    if is_array(a.type) and is_array(b.type):
        return _join_arrays(a.type, b.type)
    raise NoJoin


def _join_static(a: Any, b: Any) -> AVal:
    both = [getattr(x, "const", NOCONST) for x in (a, b)]
    if all(isinstance(c, str) for c in both):
        return AVal(types.unicode_type)
    if any(x.type == types.unicode_type for x in (a, b)) and any(isinstance(c, str) for c in both):
        return AVal(types.unicode_type)
    raise NoJoin


def _join_scalars(a: AVal, b: AVal) -> AVal:
    py = a.py and b.py
    for weak, strong in ((a, b), (b, a)):
        if weak.py and not strong.py and _exact(weak, strong.type):
            return AVal(strong.type)
    if a.py != b.py and "f" in (scalar_kind(a.type), scalar_kind(b.type)):
        # a Python float beside a float32: wide enough for both, and still weak in what follows
        py = True
    wide = np.result_type(numpy_support.as_dtype(a.type), numpy_support.as_dtype(b.type))
    return AVal(numpy_support.from_dtype(wide), py=py)


def _exact(weak: AVal, strong: Any) -> bool:
    """Whether a known Python number is a value of a NumPy type, without rounding."""
    if not weak.known or _KIND[scalar_kind(weak.type)] > _KIND[scalar_kind(strong)]:
        return False
    if isinstance(strong, types.Boolean):
        return False
    try:
        return bool(numpy_support.as_dtype(strong).type(weak.const) == weak.const)
    except (OverflowError, TypeError):
        return False


def _join_arrays(a: Any, b: Any) -> AVal:
    if a.dtype != b.dtype or a.ndim != b.ndim:
        raise NoJoin
    layout = a.layout if a.layout == b.layout else "A"
    mutable, aligned = a.mutable and b.mutable, a.aligned and b.aligned
    return AVal(types.Array(a.dtype, a.ndim, layout, readonly=not mutable, aligned=aligned))


# -- parts -----------------------------------------------------------------------------------------
def leaves(a: Abstract) -> Iterator[AVal]:
    """The run-time parts in order: scalars and arrays that are not known constants."""
    if isinstance(a, ATuple):
        for e in a.elements:
            yield from leaves(e)
    elif isinstance(a, AVal) and not a.known:
        yield a


def widen(a: Abstract) -> Abstract:
    """The same without known numbers (statics stay)."""
    if isinstance(a, ATuple):
        return ATuple(tuple(map(widen, a.elements)), a.cls, a.src)
    if isinstance(a, AVal) and a.known and is_scalar(a.type):
        return AVal(a.type, py=a.py)
    return a


def from_type(t: Any) -> Abstract:
    """The abstract value of a Numba type."""
    if isinstance(t, types.BaseTuple):
        cls = getattr(t, "instance_class", None)
        return ATuple(tuple(map(from_type, t.types)), cls)
    if isinstance(t, types.Literal):
        return constant(t.literal_value)
    if isinstance(t, types.NoneType):
        return NONE
    if isinstance(t, types.Omitted):
        return constant(t.value)
    return AVal(t)


def is_static_object(value: Any) -> bool:
    """Whether a captured object is taken by value: anything but numbers and arrays."""
    return not isinstance(value, (*NUMBERS, np.generic, np.ndarray))


FUNCTIONS: tuple[type, ...] = (pytypes.FunctionType, pytypes.BuiltinFunctionType, np.ufunc)
Callback = Callable[..., Any]
