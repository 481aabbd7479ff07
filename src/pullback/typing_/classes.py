"""Questions about classes and identity, answered at typing, and calls of classes."""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..errors import TypingError
from . import products, scalars
from .actions import Action, Known
from .calls import Call
from .handlers import constant_value, handles
from .lattice import Abstract, ATuple, AVal, constant, is_array, is_scalar, static
from .numbers import to_scalar
from .products import pack, sequence
from .statements import ClosureOf, DictOf


def representative(a: Abstract) -> Any:
    """An object of the class of what the abstract value stands for."""
    if isinstance(a, ATuple):
        if a.is_tuple:
            parts = tuple(map(representative, a.elements))
            return parts if a.cls is None else a.cls(*parts)
        if a.cls is range:
            return range(0)
        if a.cls is slice:
            return slice(None)
        if a.cls is list:
            return []
        if isinstance(a.cls, DictOf):
            return {}
        if isinstance(a.cls, ClosureOf):
            return representative
        return object()
    if a.known:
        return a.const
    if is_array(a.type):
        return np.empty((0,) * a.type.ndim, numpy_support.as_dtype(a.type.dtype))
    if is_scalar(a.type):
        return scalars.sample_of(a)
    return object()


@handles(isinstance)
def _isinstance(r: Any, c: Call) -> Action:
    classes = _class_tuple(c.args[1])
    return Known(constant(isinstance(representative(c.args[0]), classes)))


def _class_tuple(a: Abstract) -> Any:
    if isinstance(a, ATuple):
        return tuple(map(_class_tuple, a.elements))
    if not a.known:
        raise TypingError("isinstance with a class that is not known at typing")
    return a.const


@handles(type)
def _type(r: Any, c: Call) -> Action:
    return Known(static(type(representative(c.args[0]))))


@handles(callable)
def _callable(r: Any, c: Call) -> Action:
    return Known(constant(callable(representative(c.args[0]))))


@handles(issubclass)
def _issubclass(r: Any, c: Call) -> Action:
    return Known(constant(issubclass(c.args[0].const, _class_tuple(c.args[1]))))


@handles(operator.is_, operator.is_not)
def _identity(r: Any, c: Call) -> Action:
    a, b = c.args
    positive = c.fn.const is operator.is_
    if isinstance(a, AVal) and isinstance(b, AVal):
        if a.known and b.known:
            same = a.const is b.const or (is_scalar(a.type) and a == b)
            return Known(constant(same == positive))
        if is_scalar(a.type) and is_scalar(b.type):
            c.fn = static(operator.eq if positive else operator.ne)
            return r.resolve(c)
    if _static_object(a) or _static_object(b):
        return Known(constant(not positive))  # a static object beside something that is not it
    raise TypingError(f"whether {a!r} is {b!r} is not known at typing")


def _static_object(a: Abstract) -> bool:
    return isinstance(a, AVal) and a.known and not is_scalar(a.type)


# -- calls of classes and methods of static objects ------------------------------------------------
def special_callable(r: Any, c: Call, f: Any) -> Action | None:
    """Classes: exceptions, namedtuples, NumPy's scalar classes; and methods of static objects."""
    if isinstance(f, type):
        if issubclass(f, BaseException):
            return pack(c.args, f)
        if issubclass(f, tuple) and hasattr(f, "_fields"):
            return products.namedtuple(c, f)
        if issubclass(f, np.generic):
            return _numpy_scalar(r, c, f)
        if issubclass(f, np.dtype) and all(a.known for a in c.args):
            return Known(static(np.dtype(*(a.const for a in c.args))))
    if isinstance(f, np.dtype):
        return None
    if f is np.dtype and all(a.known for a in c.args):
        return Known(static(np.dtype(*(a.const for a in c.args))))
    if _is_pure_static(f) and all(a.known or sequence(a) for a in c.all) and c.all:
        return _folded(c, f)
    if isinstance(f, types.NumberClass):
        return _numpy_scalar(r, c, numpy_support.as_dtype(f.instance_type).type)
    if isinstance(f, types.Number) and len(c.args) == 1:
        return _numpy_scalar(r, c, numpy_support.as_dtype(f).type)
    return None


def _numpy_scalar(r: Any, c: Call, f: Any) -> Action | None:
    if len(c.args) != 1 or not is_scalar(c.args[0].type):
        return None
    to = numpy_support.from_dtype(np.dtype(f))
    return to_scalar(r, c, c.args[0], AVal(to))


_PURE = {np.result_type, np.promote_types, np.can_cast, np.issubdtype, np.iinfo, np.finfo,
         np.isscalar, ord, chr, hash}  # fmt: skip


def _is_pure_static(f: Any) -> bool:
    if isinstance(getattr(f, "__self__", None), (str, np.dtype, dict, ModuleType)):
        return isinstance(f.__self__, (str, np.dtype, dict))
    try:
        return f in _PURE
    except TypeError:
        return False


def _folded(c: Call, f: Any) -> Action | None:
    try:
        args = [constant_value(a, f, i) for i, a in enumerate(c.args)]
        kw = {k: constant_value(a, f, 0) for k, a in c.kw.items()}
        return Known(constant(f(*args, **kw)))
    except TypingError:
        return None
    except Exception as e:
        raise TypingError(f"{type(e).__name__}: {e}") from None
