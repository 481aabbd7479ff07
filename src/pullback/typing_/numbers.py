"""Conversions, truth, operators on what is not all numbers, and the choices between numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba.core import types

from ..errors import TypingError
from ..ir.core import Const
from ..rules.source import function
from ..runtime import prims
from . import growing, products, scalars
from .actions import Action, Cast, Form, Forms, Known, Leaf, Rearrange, Via
from .calls import Call
from .handlers import LANGUAGE, Handler, evaluated, handles, is_complex
from .lattice import BOOL, Abstract, ATuple, AVal, constant, is_array, is_scalar, join, static


def _conversion(kind: type) -> Handler:
    t = scalars.CONVERSIONS[kind]

    def convert(r: Any, c: Call) -> Action | None:
        if c.kw or len(c.args) != 1:
            return _complex_of_parts(r, c) if kind is complex and len(c.args) == 2 else None
        a = c.args[0]
        if is_array(a.type) and a.type.ndim == 0:
            return r.enter(c, _of_zero_dim(kind))
        if isinstance(a, ATuple) or (a.known and not is_scalar(a.type)):
            if kind is bool:
                return Known(constant(bool(r.truth(a))))
            if a.known:
                return Known(constant(kind(a.const)))
        if not is_scalar(a.type):
            return None
        return to_scalar(r, c, a, AVal(t, py=True))

    return convert


def _of_zero_dim(kind: Any) -> Any:

    return function(
        "convert", "def convert(x):\n    return kind(load(x))\n", kind=kind, load=prims.load
    )


def _complex_of_parts(r: Any, c: Call) -> Action | None:
    if not all(is_scalar(a.type) for a in c.args):
        return None
    if all(a.known for a in c.args):
        return Known(constant(complex(*(a.const for a in c.args))))
    result = AVal(types.complex128, py=True)
    casts = tuple(None if a.type == types.float64 else types.float64 for a in c.args)
    plan = scalars.Plan(complex, casts, types.complex128, result)
    return Leaf(plan, c.args)


def to_scalar(r: Any, c: Call, a: AVal, to: AVal) -> Action:
    """A number as a number of another type."""
    if is_complex(a.type) and not is_complex(to.type) and to.type is not types.boolean:
        raise TypingError(f"a complex number is converted to {to.type}")
    if a.known:
        return Known(_converted(a, to))
    if to.type is types.boolean and a.type is not types.boolean:
        plan = scalars._truth(operator.truth, (a,))
        zero = constant(scalars.convert_constant(0, a.type))
        leaf = Leaf(scalars.Plan(plan.callee, (None, None), types.boolean, BOOL), (a, zero))
        form = Const(zero.const)
        return Via(leaf, lambda forms: (forms[0], forms[1], form))
    if isinstance(a.type, types.Float) and isinstance(to.type, types.Integer):
        return Truncation(a, to)
    return Cast(a, to, 1)


class Truncation(Action):
    """A float made an integer because the user says so: no derivative is lost, as none flows
    through what is cast. (Where assignment does it unasked, one is.)"""

    size = 2

    def __init__(self, a: AVal, to: AVal) -> None:
        self.a, self.result = a, to

    def emit(self, em: Any, args: Forms) -> Form:
        whole = em.call(np.trunc, (args[1],), self.a.type)
        return em.call(prims.cast, (Const(self.result.type), whole), self.result.type)


def _converted(a: AVal, to: AVal) -> Abstract:
    value = scalars.convert_constant(a.const, to.type)
    return constant(value) if to.py else AVal(to.type, value)


for _kind in scalars.CONVERSIONS:
    LANGUAGE[_kind] = _conversion(_kind)


@handles(min, max)
def _extremum(r: Any, c: Call) -> Action | None:
    args = c.args
    if c.kw or len(args) != 2 or not all(is_scalar(a.type) for a in args):
        return None
    f = c.fn.const
    if all(a.known for a in args):
        return Known(constant(f(args[0].const, args[1].const)))
    wide = join(*(AVal(a.type, py=a.py) for a in args))
    casts = tuple(None if a.type == wide.type else wide.type for a in args)
    plan = scalars.Plan(f, casts, wide.type, wide)
    return Leaf(plan, args)


def _inplace(plain: Any) -> Handler:
    def update(r: Any, c: Call) -> Action | None:
        if is_array(c.args[0].type):
            return None
        c.fn = static(plain)
        return r.resolve(c)

    return update


for _update, _plain in scalars.INPLACE.items():
    LANGUAGE[_update] = _inplace(_plain)


@handles(operator.not_)
def _not(r: Any, c: Call) -> Action | None:
    truth = r.truth(c.args[0])
    if truth is not None:
        return Known(constant(not truth))
    return _truth_test(r, c, operator.eq)


@handles(operator.truth)
def _truth(r: Any, c: Call) -> Action | None:
    truth = r.truth(c.args[0])
    if truth is not None:
        return Known(constant(truth))
    if c.args[0].type is types.boolean:
        return Rearrange(c.args[0], lambda forms: forms[1])
    return _truth_test(r, c, operator.ne)


def _truth_test(r: Any, c: Call, f: Any) -> Action | None:
    """``x == 0`` or ``x != 0``; None for a bool, which has a negation of its own."""
    (a,) = c.args
    if not is_scalar(a.type) or a.type is types.boolean:
        return None
    zero = constant(scalars.convert_constant(0, a.type))
    plan = scalars.Plan(f, (None, None), types.boolean, BOOL)
    form = Const(zero.const)
    leaf = Leaf(plan, (a, zero))
    return Via(leaf, lambda forms: (forms[0], forms[1], form))


def _arithmetic(f: Any) -> Handler:
    """Operators on tuples, strings and other statics; numbers and arrays are not its affair."""

    def operate(r: Any, c: Call) -> Action | None:
        args = c.args
        if f is operator.mul and isinstance(args[0], ATuple):
            array = growing.repeated(r, c)
            if array is not None:
                return array
        if any(isinstance(a, ATuple) for a in args):
            return products.operate(r, c, f)
        if all(a.known for a in args) and not all(is_scalar(a.type) for a in args):
            return Known(constant(evaluated(f, *(a.const for a in args))))
        if f in (operator.eq, operator.ne) and _of_different_kinds(args):
            return Known(constant(f is operator.ne))
        if f is operator.pow and _integer_power(args):
            return r.enter(c, _int_pow)
        return None

    return operate


def _of_different_kinds(args: tuple[Any, ...]) -> bool:
    """Whether one is a static object and the other is not, nor an array."""
    if not any(a.type is None or a.known for a in args):
        return False
    return not all(is_scalar(a.type) for a in args) and not any(is_array(a.type) for a in args)


def _integer_power(args: tuple[Abstract, ...]) -> bool:
    return all(isinstance(a.type, types.Integer) for a in args) and not args[1].known


def _int_pow(a: int, b: int) -> int:
    if b < 0:
        raise ValueError("an integer to a negative integer power; make the base a float")
    y = 1
    for _ in range(b):
        y *= a
    return y


for _f in scalars.ARITHMETIC | scalars.COMPARISONS | {operator.contains}:
    LANGUAGE[_f] = _arithmetic(_f)


@handles(prims.select)
def _select(r: Any, c: Call) -> Action:
    test, *choices = c.args
    if not all(is_scalar(a.type) for a in c.args):
        raise TypingError(f"select of {choices[0]!r} and {choices[1]!r}")
    if test.known:
        k = 2 if test.const else 3
        return Rearrange(c.args[k - 1], lambda forms: forms[k])
    wide = join(*(AVal(a.type, py=a.py) for a in choices))
    casts = (None, *(None if a.type == wide.type else wide.type for a in choices))
    return Leaf(scalars.Plan(prims.select, casts, wide.type, wide), c.args)
