"""Elementwise functions and operators on arrays: every ufunc with one result, out of place, in
place and with ``out=``, with the dtypes that NumPy's own type resolution gives.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import body
from ..source import function
from ..types import dtype, is_array, is_none, is_tuple, ndim, promoted
from .loops import Elementwise

OPERATORS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.floor_divide: "//",
    np.remainder: "%", np.power: "**", np.less: "<", np.less_equal: "<=", np.equal: "==",
    np.not_equal: "!=", np.greater: ">", np.greater_equal: ">=", np.bitwise_and: "&",
    np.bitwise_or: "|", np.bitwise_xor: "^", np.left_shift: "<<", np.right_shift: ">>",
}  # fmt: skip
EXPRESSIONS: dict[Any, str] = {f: f"{{0}} {op} {{1}}" for f, op in OPERATORS.items()} | {
    np.negative: "-{0}",
    np.positive: "+{0}",
    np.square: "{0} * {0}",
    np.logical_and: "({0} != 0) & ({1} != 0)",
    np.logical_or: "({0} != 0) | ({1} != 0)",
    np.logical_xor: "({0} != 0) != ({1} != 0)",
    np.logical_not: "{0} == 0",
}
UNSUPPORTED = (TypeError, np.exceptions.DTypePromotionError)
NATURAL = ("float64", "complex128", "int64", "bool")
"""Loop dtypes that operands reach by themselves, in the arithmetic of numbers."""


def order_of(operands: Any) -> str:
    """The memory order of a result: "F" if all arrays of several axes are so, else "C"."""
    layouts = {a.type.layout for a in operands if ndim(a) > 1}
    return "F" if layouts == {"F"} else "C"


def casts_to(loop_dtype: Any, a: Any) -> Any:
    """The dtype that an operand is cast to before the operation, ``None`` if it need not be."""
    if loop_dtype.name in NATURAL or dtype(a) == loop_dtype:
        return None
    return loop_dtype


def fails(name: str, signature: str, error: str, message: str) -> Callable[..., Any]:
    """A function that raises, with NumPy's words."""
    return function(name, f"def {name}({signature}):\n    raise {error}({message!r})\n")


def fails_as(name: str, signature: str, error: Exception) -> Callable[..., Any]:
    """A function that raises what NumPy raised."""
    source = f"def {name}({signature}):\n    raise Error({str(error)!r})\n"
    return function(name, source, Error=type(error))


def resolve_dtypes(f: np.ufunc, operands: Any) -> tuple[Any, ...] | None:
    """The dtypes of operands and result, ``None`` if NumPy has no loop for them."""
    try:
        found = f.resolve_dtypes((*(promoted(a) for a in operands), None))
    except UNSUPPORTED:
        return None
    return None if any(d.char in "egGOMm" for d in found) else found


def ufunc_body(f: np.ufunc, operands: Any, into: int | None = None, out: bool = False) -> Any:
    """The loops of ``f`` over these operands. ``into``: the operand that is overwritten. ``out``:
    one more parameter of that name is the last operand."""
    name = f.__name__
    count = f.nin
    names = [f"x{k}" for k in range(count)]
    signature = ", ".join(names)
    if out:
        names.append("out")
        signature += ", out"
    inputs = operands[:count]
    dtypes = resolve_dtypes(f, inputs)
    if dtypes is None:
        return fails(name, signature, "TypeError", f"ufunc '{name}' not supported for these types")
    if into is not None:
        target = operands[into]
        if not np.can_cast(dtypes[-1], dtype(target), "same_kind"):
            message = f"Cannot cast ufunc '{name}' output from {dtypes[-1]} to {dtype(target)}"
            return fails(name, signature, "TypeError", message)
        if max(map(ndim, inputs)) > ndim(target):
            return fails(name, signature, "ValueError", "non-broadcastable output operand")
    expr = EXPRESSIONS.get(f) or f"f({', '.join(f'{{{k}}}' for k in range(count))})"
    casts = [casts_to(d, a) for d, a in zip(dtypes, inputs)]
    if f is np.power and dtype(inputs[1]).kind in "iu":
        casts[1] = None  # a power with an integer exponent is a product
    shapes = inputs if into is None else [operands[into]]
    return Elementwise(
        name=name,
        expr=expr,
        parameters=tuple(names),
        ndims=tuple(map(ndim, operands)),
        dtype=dtypes[-1],
        order=order_of(shapes),
        casts=tuple(casts),
        into=into,
        reads=tuple(range(count)),
        scope=() if f in EXPRESSIONS else (("f", f),),
        signature=signature,
        zero_d=tuple(k for k, a in enumerate(operands) if is_array(a) and not ndim(a)),
    ).build()


def with_arrays(f: Any, operands: Any) -> Any:
    """The call with tuples and lists turned into arrays first."""
    names = [f"x{k}" for k in range(len(operands))]
    items = [f"array({x})" if is_tuple(a) else x for x, a in zip(names, operands)]
    source = f"def convert({', '.join(names)}):\n    return f({', '.join(items)})\n"
    return function("convert", source, array=np.array, f=f)


def _resolver(f: np.ufunc) -> Callable[..., Any]:
    def resolve(*args: Any, out: Any = None, where: Any = None, dtype: Any = None) -> Any:
        if not (is_none(where) and is_none(dtype)):
            return None
        operands = list(args)
        if any(map(is_tuple, operands)):
            return with_arrays(f, operands)
        if len(operands) == f.nin and not is_none(out):
            operands.append(out)
        if len(operands) == f.nin and any(map(is_array, operands)):
            return ufunc_body(f, operands)
        if len(operands) == f.nin + 1 and is_array(operands[-1]):
            return ufunc_body(f, operands, into=f.nin, out=True)
        return None

    return resolve


def _in_place(f: np.ufunc, name: str) -> Callable[..., Any]:
    """``x += y`` on an array is x itself, written to; on a number it is the plain operator."""
    plain = getattr(operator, name[1:] if name not in ("iand", "ior") else name[1:] + "_")

    def resolve(x: Any, y: Any) -> Any:
        if is_array(x):
            if is_tuple(y):
                return with_arrays(getattr(operator, name), (x, y))
            return ufunc_body(f, [x, y], into=0)
        return function(name, f"def {name}(x, y):\n    return f(x, y)\n", f=plain)

    return resolve


# -- which functions are which ufunc ---------------------------------------------------------------
ALIASES: dict[str, tuple[Any, ...]] = {
    "add": (operator.add,), "subtract": (operator.sub,), "multiply": (operator.mul,),
    "divide": (operator.truediv,), "floor_divide": (operator.floordiv,),
    "remainder": (operator.mod,), "power": (operator.pow, builtins.pow),
    "negative": (operator.neg,), "positive": (operator.pos,), "absolute": (operator.abs, abs),
    "less": (operator.lt,), "less_equal": (operator.le,), "equal": (operator.eq,),
    "not_equal": (operator.ne,), "greater": (operator.gt,), "greater_equal": (operator.ge,),
    "bitwise_and": (operator.and_,), "bitwise_or": (operator.or_,), "bitwise_xor": (operator.xor,),
    "left_shift": (operator.lshift,), "right_shift": (operator.rshift,),
    "invert": (operator.invert,),
}  # fmt: skip
IN_PLACE = {
    "iadd": np.add, "isub": np.subtract, "imul": np.multiply, "itruediv": np.divide,
    "ifloordiv": np.floor_divide, "imod": np.remainder, "ipow": np.power, "iand": np.bitwise_and,
    "ior": np.bitwise_or, "ixor": np.bitwise_xor, "ilshift": np.left_shift,
    "irshift": np.right_shift,
}  # fmt: skip

UFUNCS = {
    f.__name__: f
    for f in vars(np).values()
    if isinstance(f, np.ufunc) and f.nout == 1 and f.signature is None
}
for _name, _f in UFUNCS.items():
    body.typed(_f, *ALIASES.get(_name, ()))(_resolver(_f))
for _name, _f in IN_PLACE.items():
    body.typed(getattr(operator, _name))(_in_place(_f, _name))
