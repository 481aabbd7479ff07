"""What is known of functions by name (for `sparsity`): which describe, which move references, which
call back."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
import warnings
from types import BuiltinFunctionType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from ...ir import intrinsics
from ..protocols import (
    BINARY_NAMES,
    COMPARE_NAMES,
    INPLACE_NAMES,
    UNARY_NAMES,
    has_special_methods,
    in_python,
    lookup,
    protocol,
)
from ..shortcuts import AS_IS, first_step

OPERATORS = {*BINARY_NAMES, *INPLACE_NAMES, *COMPARE_NAMES, *UNARY_NAMES}

DESCRIBE = frozenset(
    (
        len, isinstance, issubclass, type, id, np.shape, np.ndim, np.size, operator.is_,
        operator.is_not, np.zeros_like, np.ones_like, np.empty_like, callable, hasattr, print,
        warnings.warn, super, staticmethod, classmethod, property, vars,
    )
)  # fmt: skip
"""Their results do not depend on values."""

ADDS = frozenset((max, min, sum, math.fsum))
COMBINES = ADDS | {builtins.any, builtins.all, math.prod}
_STEPS = {list, tuple, iter, enumerate, zip, reversed, map}
TAKES_ITEMS = _STEPS | {
    list.extend, intrinsics.unpack, intrinsics.spread, intrinsics.unpack_ex,
    intrinsics.list_extend, functools.reduce, itertools.chain, itertools.islice, itertools.cycle,
    itertools.zip_longest, itertools.starmap, itertools.product, itertools.pairwise, itertools.tee,
}  # fmt: skip
"""What they get of an array is its items; what they call is called in the context."""

_COMPUTE = ("format_value", "convert_value", "build_set", "set_add", "set_update", "build_string")
_LANGUAGE = {
    f for k, f in vars(intrinsics).items()
    if getattr(f, "__module__", None) == intrinsics.__name__ and k not in _COMPUTE
}  # fmt: skip

MOVES_REFERENCES = _LANGUAGE | {
    next, operator.getitem, operator.delitem, setattr, delattr, list.append, list.insert,
    list.extend, list.pop, list.reverse, list.copy, list.clear, dict, dict.get, dict.items,
    dict.values, dict.keys, dict.setdefault, dict.update, dict.pop, dict.popitem, dict.copy,
    dict.clear, slice, tuple.__new__, object.__setattr__, object.__delattr__,
    object.__getattribute__, object.__new__, object.__init__, functools.partial, itertools.repeat,
}  # fmt: skip
"""What they put or find in containers, or pass on, are the very objects."""

SAFE = MOVES_REFERENCES | DESCRIBE | TAKES_ITEMS | {getattr, operator.setitem}
"""What they are given that leads to numbers does not compute with these unseen."""

COMPARES = frozenset(
    (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
     operator.contains)
)  # fmt: skip
SHAPES = frozenset(("shape", "ndim", "size", "dtype", "strides", "nbytes", "itemsize", "flags"))
IN_PLACE = frozenset(
    (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow,
     operator.ifloordiv, operator.imod, operator.imatmul)
)  # fmt: skip
VIEWS = frozenset(
    (
        operator.getitem, np.reshape, np.transpose, np.ravel, np.swapaxes, np.moveaxis, np.rollaxis,
        np.squeeze, np.expand_dims, np.broadcast_to, np.asarray, np.asanyarray, np.atleast_1d,
        np.atleast_2d, np.atleast_3d, np.diagonal, np.diag, np.flip, np.flipud, np.fliplr, np.rot90,
        np.real, np.ascontiguousarray, np.asfortranarray, np.lib.stride_tricks.as_strided,
        np.lib.stride_tricks.sliding_window_view,
    )
)  # fmt: skip
"""If their result shares the memory of an argument, it was not written to."""

JOINS_LISTS = (operator.add, operator.iadd, operator.mul, operator.imul)
_SIZED = (list, tuple, dict, set, frozenset, str)
_OTHERWISE = ("sort", "partition", "resize", "compress", "astype")
"""Methods of arrays that do something else than the function of their name."""


def unbound(
    f: Any, args: tuple[Any, ...], kw: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """``x.sum()`` as ``np.sum(x)``; other methods of C with their object first; a partial as what
    it calls."""
    while type(f) is functools.partial:
        outer: functools.partial[Any] = f
        f, args, kw = outer.func, (*outer.args, *args), {**outer.keywords, **kw}
    owner = getattr(f, "__self__", None)
    if isinstance(owner, (np.ndarray, float)) and not isinstance(owner, type):
        name = f.__name__
        alike = isinstance(owner, np.ndarray) and name not in _OTHERWISE
        found = getattr(np, name, None) if alike else None
        if name in ("reshape", "transpose") and len(args) > 1:
            args = (args,)  # x.reshape(2, 3)
        return (found or getattr(type(owner), name)), (owner, *args), kw
    if isinstance(f, BuiltinFunctionType) and isinstance(owner, (list, dict, tuple)):
        return getattr(type(owner), f.__name__), (owner, *args), kw
    if isinstance(f, MethodWrapperType):
        return getattr(f.__objclass__, f.__name__), (owner, *args), kw
    return f, args, kw


def is_of_context(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether it is an operation whose methods are called in the context."""
    if in_(f, COMBINES) or not args or protocol(f) is None:
        return False
    if in_(f, OPERATORS):
        return first_step(f, *map(type, args)) is not AS_IS
    return has_special_methods(type(args[0]))


def is_of_size(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether it asks a container only how many there are, or for a key."""
    asks = in_(f, (operator.truth, operator.not_, bool)) and len(args) == 1
    looks = f is operator.contains and isinstance(args[0], dict)
    return (asks and isinstance(args[0], _SIZED)) or looks


def is_nobody(owner: Any) -> bool:
    """Whether a callable belongs to no object that could keep what it is given."""
    return owner is None or isinstance(owner, (ModuleType, type, np.ufunc))


def is_safe(f: Any, args: tuple[Any, ...]) -> bool:
    """Whether it does not compute, unseen, with what its arguments lead to."""
    if f is iter and len(args) > 1:
        return False  # it compares with the sentinel
    if in_(f, _SIZES) and any(map(_has_length, args)):
        return False  # C code iterates
    return keeps(f) or in_(f, SAFE) or is_of_size(f, args) or joins_lists(f, args)


_SIZES = (list, tuple, list.extend, intrinsics.list_extend, intrinsics.spread)


def _has_length(x: Any) -> bool:
    return any(in_python(lookup(type(x), name)) for name in ("__len__", "__length_hint__"))


def keeps(f: Any) -> bool:
    """Whether it is a class whose instances just hold what they are made of."""
    if not isinstance(f, type):
        return False
    bare = all(getattr(f, k) is getattr(object, k) for k in ("__init__", "__new__"))
    return bare or issubclass(f, BaseException) or (issubclass(f, tuple) and hasattr(f, "_fields"))


def joins_lists(f: Any, args: tuple[Any, ...]) -> bool:
    return in_(f, JOINS_LISTS) and isinstance(args[0], (list, tuple)) and _has_no_array(args)


def _has_no_array(args: tuple[Any, ...]) -> bool:
    return not any(isinstance(x, (np.ndarray, np.generic)) for x in args)


def in_(f: Any, functions: Any) -> bool:
    """Whether ``f`` is one of the functions, by identity or an equality of C."""
    try:
        return f in functions
    except TypeError:
        return False


def is_opaque(x: Any) -> bool:
    """Whether numbers may come out of ``x`` that nothing is known of."""
    known = (list, tuple, str, bytes, np.ndarray, np.generic, range, dict, type)
    return hasattr(x, "__iter__") and not isinstance(x, known)


def may_raise(f: Any) -> bool:
    """Whether it depends on the values if it fails."""
    module = getattr(f, "__module__", None) or ""
    divides = (operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod)
    computes = isinstance(f, np.ufunc) or in_(f, OPERATORS)
    strict = computes and "raise" in np.geterr().values()
    return strict or module in ("math", "numpy.linalg", "scipy.linalg") or in_(f, divides)
