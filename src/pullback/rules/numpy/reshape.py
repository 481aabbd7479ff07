"""Reshapes: a view where the memory order is known to allow it, else a copy in C order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import prims
from ..registry import body, method_is
from ..source import Writer, function
from ..types import is_array, is_tuple, known, ndim
from .assign import calling, copied
from .create import lengths
from .loops import make

VIEWS = {
    "view_reshape": prims.reshape,
    "view_transpose": prims.transpose,
    "instead_of_view": prims.instead_of_view,
}


def in_c_order(a: Any) -> Callable[..., Any] | None:
    """What makes an array C-contiguous, ``None`` if it is."""
    return None if a.type.layout == "C" or ndim(a) == 0 else copied(a, None, "C")


def reshaped(a: Any, shape: Any, sizes: list[str], signature: str, x: str = "a", order: str = "C",
             fresh: bool = False) -> Callable[..., Any]:  # fmt: skip
    """A function of that signature: ``x`` with the dimensions that the expressions ``sizes`` give,
    one of which may turn out to be -1. ``shape`` are their abstract values."""
    if order == "F":
        return _reshaped_in_f_order(a, sizes, signature, x)
    rank = len(sizes)
    w = Writer()
    with w(f"def reshape({signature}):"):
        w("total = " + (" * ".join(f"dim({x}, {k})" for k in range(ndim(a))) or "1"))
        for k, n in enumerate(sizes):
            w(f"d{k} = {n}")
        unknown = [k for k, n in enumerate(shape) if not getattr(n, "known", False) or n.const < 0]
        if len(unknown) > 1:
            with w(f"if {' + '.join(f'(1 if d{k} < 0 else 0)' for k in unknown)} > 1:"):
                w('raise ValueError("can only specify one unknown dimension")')
        for k in unknown:
            rest = " * ".join(f"d{j}" for j in range(rank) if j != k) or "1"
            with w(f"if d{k} < 0:"):
                w(f"rest = {rest}")
                w(f"d{k} = total // rest if rest > 0 else total")
        with w(f"if {' * '.join(f'd{k}' for k in range(rank)) or '1'} != total:"):
            new = ",".join(f"{{d{k}}}" for k in range(rank)) + "," * (rank == 1)
            w(f'raise ValueError(f"cannot reshape array of size {{total}} into shape ({new})")')
        value = f"c({x})" if fresh or in_c_order(a) else x
        if not fresh and (a.type.layout == "A" or (a.type.layout == "F" and rank > 1)):
            value = f"instead_of_view({value}, {x})"
        w(f"return view_reshape({value}{''.join(f', d{k}' for k in range(rank))})")
    contiguous = copied(a, None, "C") if fresh else in_c_order(a)
    return make("reshape", w, c=contiguous, **VIEWS)


def _reshaped_in_f_order(a: Any, sizes: list[str], signature: str, x: str) -> Callable[..., Any]:
    back = ", ".join(sizes[::-1])
    source = f"def reshape({signature}):\n    return f(transpose({x}), ({back},)).T\n"
    return function("reshape", source, transpose=np.transpose, f=np.reshape)


def _sizes(shape: Any, name: str) -> tuple[Any, list[str]] | None:
    sizes = lengths(shape, name)
    if sizes is None:
        return None
    return (shape.elements if is_tuple(shape) else (shape,)), sizes


@body.typed(np.reshape)
def _(a: Any, shape: Any = None, order: Any = None, *, copy: Any = None) -> Any:
    signature = "a, shape, order='C'"
    if is_tuple(a):
        return calling(np.reshape, signature, "array(a), shape, order", array=np.array)
    found = _sizes(shape, "shape")
    if found is None or not is_array(a):
        return None
    return reshaped(a, *found, signature, "a", _c_or_f(a, order))


def _c_or_f(a: Any, order: Any) -> str:
    wanted = known(order, "C")
    if wanted in "AK":
        return "F" if is_array(a) and a.type.layout == "F" else "C"
    return str(wanted)


def reshape_method(x: Any, *shape: Any, order: Any = "C") -> Any:
    """``x.reshape(2, 3)`` or ``x.reshape((2, 3))``."""
    return np.reshape(x, shape[0] if len(shape) == 1 else shape, order)


@body.typed(reshape_method)
def _(x: Any, *shape: Any, order: Any = None) -> Any:
    wanted = _c_or_f(x, order)
    if len(shape) == 1 and is_tuple(shape[0]):
        elements = shape[0].elements
        sizes = [f"shape[{k}]" for k in range(len(elements))]
        return reshaped(x, elements, sizes, "x, shape, order='C'", "x", wanted)
    names = [f"d_{k}" for k in range(len(shape))]
    signature = ", ".join(["x", *names]) + ", *, order='C'"
    return reshaped(x, shape, names, signature, "x", wanted)


def _ravel(a: Any, order: Any, signature: str, x: str, fresh: bool) -> Any:
    if is_tuple(a):
        return calling(np.ravel, signature, f"array({x})", array=np.array)
    if not is_array(a):
        return None
    if _c_or_f(a, order) == "F" and ndim(a) > 1:
        source = f"def ravel({signature}):\n    return f(transpose({x}))\n"
        f = flatten if fresh else np.ravel
        return function("ravel", source, f=f, transpose=np.transpose)
    if ndim(a) == 1 and not fresh and not in_c_order(a):
        return function("ravel", f"def ravel({signature}):\n    return {x}\n")
    total = " * ".join(f"dim({x}, {k})" for k in range(ndim(a))) or "1"
    w = Writer()
    with w(f"def ravel({signature}):"):
        w(f"return view_reshape({f'c({x})' if fresh or in_c_order(a) else x}, {total})")
    return make("ravel", w, c=copied(a, None, "C") if fresh else in_c_order(a), **VIEWS)


@body.typed(np.ravel)
def _(a: Any, order: Any = None) -> Any:
    return _ravel(a, order, "a, order='C'", "a", False)


@body(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """A copy, always; Numba's own body has a view where the sizes agree."""
    elements = np.ravel(a)
    out = np.zeros(new_shape, elements.dtype)
    into = np.ravel(out)
    if elements.size > 0:
        for i in range(into.size):
            into[i] = elements[i % elements.size]
    return out


def flatten(x: Any, order: str = "C") -> Any:
    return x.flatten(order)


@body.typed(flatten)
def _(x: Any, order: Any = None) -> Any:
    return _ravel(x, order, "x, order='C'", "x", True)


method_is(reshape=reshape_method, ravel=np.ravel, flatten=flatten)
