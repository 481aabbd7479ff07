"""Attributes and methods of arrays, numbers, products and static objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..errors import TypingError
from ..ir.core import Const
from ..rules import registry
from ..rules.source import function
from ..runtime import prims
from . import capture, products, scalars
from .actions import Action, Cast, Known, Leaf, Rearrange, Via
from .calls import Call
from .classes import representative
from .handlers import handles, is_complex, only_first
from .lattice import ATuple, AVal, constant, is_array, is_scalar, scalar_kind, static
from .statements import MethodOf


@handles(getattr)
def _getattr(r: Any, c: Call) -> Action:
    x, name = c.args[0], c.args[1].const
    if isinstance(x, ATuple):
        return products.attribute(r, c, x, name)
    if is_array(x.type):
        return _array_attribute(r, c, x, name)
    if is_scalar(x.type):
        return _scalar_attribute(c, x, name)
    if not x.known:
        raise TypingError(f"a value of type {x.type} has no attribute {name!r}")
    if len(c.args) > 2 and not hasattr(x.const, name):
        return Rearrange(c.args[2], lambda forms: forms[3])
    if not capture.has_constant_attributes(x.const):
        r.stable = False
    return Known(capture.read_attribute(r.engine, x.const, name, x.src))


def _dims(ndim: int) -> list[str]:
    return [f"dim(x, {k})" for k in range(ndim)]


def _array_attribute(r: Any, c: Call, x: AVal, name: str) -> Action:
    t = x.type
    if name == "ndim":
        return Known(constant(t.ndim))
    if name == "dtype":
        return Known(static(numpy_support.as_dtype(t.dtype)))
    if name == "itemsize":
        return Known(constant(numpy_support.as_dtype(t.dtype).itemsize))
    if (name == "T" and t.ndim < 2) or (name == "real" and not is_complex(t.dtype)):
        return Rearrange(x, lambda forms: forms[1])
    source = {
        "shape": f"({''.join(d + ', ' for d in _dims(t.ndim))})",
        "size": " * ".join(_dims(t.ndim)) or "1",
        "nbytes": " * ".join([*_dims(t.ndim), str(numpy_support.as_dtype(t.dtype).itemsize)]),
        "T": f"transpose(x, {tuple(range(t.ndim))[::-1]})",
        "real": "real_view(x)",
        "imag": "imag_view(x)" if is_complex(t.dtype) else None,
        "flat": "x.ravel()",
    }.get(name)
    if source is not None:
        return r.enter(only_first(c), _attribute_function(name, source))
    if registry.method(name) is not None or hasattr(np.ndarray, name):
        if name in ("strides", "flags", "data", "base", "ctypes", "imag"):
            raise TypingError(f"the attribute {name!r} of an array is not known to compiled code")
        return Rearrange(ATuple((x,), MethodOf(name)), lambda forms: (forms[1],))
    raise TypingError(f"an array has no attribute {name!r}")


def _attribute_function(name: str, source: str) -> Any:

    return function(
        name,
        f"def {name}(x):\n    return {source}\n",
        dim=prims.dim,
        transpose=prims.transpose,
        real_view=prims.real_view,
        imag_view=prims.imag_view,
    )


def _scalar_attribute(c: Call, x: AVal, name: str) -> Action:
    if name in ("real", "imag"):
        if is_complex(x.type):
            part = AVal(x.type.underlying_float, py=x.py)
            plan = scalars.Plan(getattr(prims, name), (None,), part.type, part)
            return Leaf(plan, (x,))
        if name == "real":
            return Rearrange(x, lambda forms: forms[1])
        return Known(constant(scalars.convert_constant(0, x.type)))
    sample = scalars.sample_of(AVal(x.type) if c.spec.trusted else x)
    if name in ("ndim", "size", "shape", "dtype", "itemsize") and hasattr(sample, name):
        return Known(constant(getattr(sample, name)))
    if not hasattr(sample, name):
        raise TypingError(f"a number of type {x.type} has no attribute {name!r}")
    return Rearrange(ATuple((x,), MethodOf(name)), lambda forms: (forms[1],))


def method(r: Any, c: Call) -> Action:
    """A call of a bound method: the function form, with the object first."""
    assert isinstance(c.fn, ATuple)
    (this,), name = c.fn.elements, c.fn.cls.name
    inner = Call(c.spec, static(None), (this, *c.args), c.kw, c.op, c.sweep)

    def with_object(action: Action) -> Action:
        return Via(action, lambda forms: (Const(None), forms[0][0], *forms[1:]))

    if isinstance(this, ATuple):
        return with_object(products.method(r, inner, name))
    if is_scalar(this.type):
        return with_object(_scalar_method(r, inner, name))
    if is_array(this.type):
        f = registry.method(name) or (None if name in _IN_PLACE else getattr(np, name, None))
        if f is not None:
            inner.fn = static(f)
            return with_object(r.resolve(inner))
        raise TypingError(f"the method {name!r} of an array is not known to compiled code")
    raise TypingError(f"{this!r} has no method {name!r}")


_IN_PLACE = {"sort", "partition", "resize", "put", "byteswap"}
"""Methods that change the array, unlike the functions of the same name."""


def _scalar_method(r: Any, c: Call, name: str) -> Action:
    (x, *rest) = c.args
    if name in ("conjugate", "conj"):
        if not is_complex(x.type):
            return Rearrange(x, lambda forms: forms[1])
        c.fn = static(np.conjugate)
        return r.resolve(c)
    if name == "item" and not rest:
        python = AVal({"b": types.boolean, "i": types.int64, "f": types.float64,
                       "c": types.complex128}[scalar_kind(x.type)], py=True)  # fmt: skip
        return Cast(x, python, 1)
    if name == "is_integer" and not rest:
        return r.enter(c, _is_integer)
    if name == "copy" and not rest:
        return Rearrange(x, lambda forms: forms[1])
    if name == "astype" and len(rest) == 1:
        f = rest[0].const
        c.fn, c.args = static(getattr(f, "type", f)), (x,)
        return r.resolve(c)
    f = registry.method(name) or getattr(np, name, None)
    if f is None:
        raise TypingError(f"the method {name!r} of a number is not known to compiled code")
    c.fn = static(f)
    return r.resolve(c)


def _is_integer(x: float) -> bool:
    return x == x // 1.0


@handles(setattr)
def _setattr(r: Any, c: Call) -> Action:
    raise TypingError(
        f"the attribute {c.args[1].const!r} is assigned", hint="return the new value instead"
    )


@handles(hasattr)
def _hasattr(r: Any, c: Call) -> Action:
    return Known(constant(hasattr(representative(c.args[0]), c.args[1].const)))
