"""Types of scalar operations, as CPython and NumPy give them, and the casts that make Numba agree.

The oracle for a Python function is Python itself: the operation is run once on sample values of
the argument types, which settles weak Python numbers (NEP 50), ufunc dtypes and results of `math`
alike. Numba types generated code by rules of its own (float32 * float64 is float64 there), so
operands, or the result, are cast where the two differ.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
import warnings
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..runtime import prims
from .ask import scalar_result
from .lattice import BOOL, FLOAT, INT, NUMBERS, ATuple, AVal, constant, is_scalar, scalar_kind

ARITHMETIC = {
    getattr(operator, n)
    for n in [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and_",
        "or_",
        "xor",
        "lshift",
        "rshift",
    ]
}
COMPARISONS = {getattr(operator, n) for n in ["lt", "le", "gt", "ge", "eq", "ne"]}
UNARY = {getattr(operator, n) for n in ["neg", "pos", "abs", "not_", "truth", "invert"]}
INPLACE = {
    getattr(operator, "i" + n): getattr(operator, n + ("_" if n in ("and", "or") else ""))
    for n in [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "and",
        "or",
        "xor",
        "lshift",
        "rshift",
    ]
}
OPERATORS = ARITHMETIC | COMPARISONS | UNARY
MATH = {f for m in (math, cmath) for n, f in vars(m).items() if callable(f) and n[0] != "_"}
CONVERSIONS = {
    int: types.int64,
    float: types.float64,
    complex: types.complex128,
    bool: types.boolean,
}
CHECKED = {
    operator.truediv: prims.pydiv,
    operator.floordiv: prims.pyfloordiv,
    operator.mod: prims.pymod,
}
STANDARD = {types.int64, types.float64, types.boolean, types.complex128}


class Plan(NamedTuple):
    """How a scalar call becomes a leaf: the callee, what each operand is cast to (or None), the
    type the leaf then has, and the result's abstract value, cast to it if that differs."""

    callee: Any
    casts: tuple[Any, ...]
    type: Any
    result: Any


def is_scalar_callee(f: Any) -> bool:
    """Whether ``f`` is a builtin function of numbers."""
    try:
        return f in OPERATORS or f in MATH or f in _BUILTIN or is_scalar_ufunc(f)
    except TypeError:
        return False


_BUILTIN = {builtins.abs, builtins.round, builtins.pow}
_SPECIAL = {getattr(prims, n) for n in ("pydiv", "pyfloordiv", "pymod")}


def is_scalar_ufunc(f: Any) -> bool:
    return isinstance(f, np.ufunc) and f.signature is None


def plan(callee: Any, args: tuple[AVal, ...], numba: bool, checked: bool) -> Plan | None:
    """How to call ``callee`` on numbers, or None if it takes no such arguments.

    ``numba``: by Numba's rules instead of NumPy's. ``checked``: division raises ZeroDivisionError
    whatever the operands (Numba's "python" error model)."""
    if callee is operator.not_ or callee is operator.truth:
        return _truth(callee, args)
    if callee is operator.invert and args[0].type is types.boolean and not args[0].py:
        return Plan(operator.not_, (None,), types.boolean, AVal(types.boolean))
    if callee is builtins.pow:
        callee = operator.pow
    if callee is builtins.abs:
        callee = operator.abs
    if numba:
        return _numba_plan(callee, args, checked)
    result = sample_result(callee, args)
    if not isinstance(result, AVal) or result.type is None:
        return None if result is None else Plan(callee, (None,) * len(args), result.type, result)
    if callee in CHECKED and all(a.py for a in args):
        callee = CHECKED[callee]
    return _with_casts(callee, args, result)


def _truth(callee: Any, args: tuple[AVal, ...]) -> Plan:
    (a,) = args
    if scalar_kind(a.type) == "b":
        if callee is operator.truth:
            return Plan(None, (None,), a.type, BOOL)
        return Plan(callee, (None,), types.boolean, BOOL)
    test = operator.ne if callee is operator.truth else operator.eq
    return Plan(test, (None,), types.boolean, BOOL)


# -- by Python's and NumPy's rules -----------------------------------------------------------------
_samples: dict[Any, Any] = {}


def sample_result(callee: Any, args: tuple[AVal, ...]) -> Any:
    """The abstract value of ``callee(*args)``, found by calling it on samples; None if it
    refuses."""
    key = (callee, args)
    if key not in _samples:
        _samples[key] = _sample(callee, args)
    return _samples[key]


def _sample(callee: Any, args: tuple[AVal, ...]) -> Any:
    if callee is operator.pow and not args[1].known:
        args = tuple(AVal(a.type, py=a.py) for a in args)
    for seed in (1, 0.5, 2, 0):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return _abstract(callee(*[sample_of(a, seed) for a in args]))
        except (ValueError, ArithmeticError):
            continue
        except TypeError:
            return None
    if any(a.known for a in args):  # outside the domain, which is for the call to say: log(0.0)
        return _sample(callee, tuple(AVal(a.type, py=a.py) for a in args))
    return None


def sample_of(a: AVal, seed: Any = 1) -> Any:
    """A value of an abstract scalar: the constant itself if there is one, else ``seed``."""
    if a.known:
        return a.const if a.py else numpy_support.as_dtype(a.type).type(a.const)
    kind = scalar_kind(a.type)
    if kind == "b":
        seed = bool(seed)
    elif kind == "i":
        seed = int(seed)
    if a.py:
        return {"b": bool, "i": int, "f": float, "c": complex}[kind](seed)
    return numpy_support.as_dtype(a.type).type(seed)


def _abstract(value: Any) -> Any:
    if isinstance(value, tuple):
        parts = tuple(_abstract(v) for v in value)
        return None if any(p is None for p in parts) else ATuple(parts)
    if not isinstance(value, (*NUMBERS, np.generic)):
        return None
    a = constant(value)
    return AVal(a.type, py=a.py)


def _with_casts(callee: Any, args: tuple[AVal, ...], result: AVal) -> Plan:
    """Casts of operands, or of the result, so that Numba's type is NumPy's."""
    want = result.type
    given = tuple(a.type for a in args)
    none = (None,) * len(args)
    usual = want in STANDARD and all(t in STANDARD for t in given)
    logical = callee in ARITHMETIC and scalar_kind(want) == "b"
    if usual and not logical and not isinstance(callee, np.ufunc):
        return Plan(callee, none, want, result)
    if callee in COMPARISONS:
        return Plan(callee, _comparison_casts(args), types.boolean, result)
    if callee not in ARITHMETIC and _numba_type(callee, given) == want:
        return Plan(callee, none, want, result)
    casts = tuple(None if _keeps(callee, i, a, want) else want for i, a in enumerate(args))
    cast_types = tuple(c or a.type for c, a in zip(casts, args))
    found = _numba_type(callee, cast_types)
    if found is None or scalar_kind(want) == "b":
        casts, found = none, _numba_type(callee, given)
    return Plan(callee, casts, found if found is not None else want, result)


def _keeps(callee: Any, i: int, a: AVal, want: Any) -> bool:
    """Whether operand ``i`` stays as it is: of the right type, of types that any host promotes
    alike, or a known integer exponent."""
    if a.type == want or (a.type in STANDARD and want in STANDARD and callee in ARITHMETIC):
        return True
    return callee is operator.pow and i == 1 and a.known and scalar_kind(a.type) == "i"


def _comparison_casts(args: tuple[AVal, ...]) -> tuple[Any, ...]:
    """A weak Python number is compared in the precision of the NumPy number beside it."""
    if len(args) != 2 or args[0].py == args[1].py:
        return (None,) * len(args)
    strong = args[1] if args[0].py else args[0]
    if strong.type in STANDARD:
        return (None, None)
    order = "bifc"
    weak = args[0] if args[0].py else args[1]
    if order.index(scalar_kind(weak.type)) > order.index(scalar_kind(strong.type)):
        return (None, None)
    return tuple(strong.type if a.py else None for a in args)


def _numba_type(callee: Any, given: tuple[Any, ...]) -> Any:
    if callee in _SPECIAL:
        callee = {v: k for k, v in CHECKED.items()}[callee]
    if callee is operator.abs:
        callee = builtins.abs
    return scalar_result(callee, given)


# -- by Numba's rules ------------------------------------------------------------------------------
def _numba_plan(callee: Any, args: tuple[AVal, ...], checked: bool) -> Plan | None:
    given = tuple(a.type for a in args)
    if callee is operator.pow and args[1].known and scalar_kind(args[1].type) == "i":
        given = (given[0], types.int64)
    found = scalar_result(builtins.abs if callee is operator.abs else callee, given)
    if found is None or not is_scalar(found):
        result = sample_result(callee, args)
        if result is None:
            return None
        return Plan(callee, (None,) * len(args), result.type, result)
    casts: tuple[Any, ...] = (None,) * len(args)
    if callee in ARITHMETIC or callee in UNARY:  # said openly, for hosts with other rules
        casts = tuple(None if _keeps(callee, i, a, found) else found for i, a in enumerate(args))
    elif callee in COMPARISONS:
        casts = _numba_comparison(args)
    if checked and callee in CHECKED:
        callee = CHECKED[callee]
    return Plan(callee, casts, found, AVal(found, py=found in STANDARD))


def _numba_comparison(args: tuple[AVal, ...]) -> tuple[Any, ...]:
    """Single precision beside a double is compared as a double."""
    wide = {a.type for a in args} & {types.float64, types.complex128}
    narrow = {types.float32: types.float64, types.complex64: types.complex128}
    return tuple(narrow.get(a.type) if wide else None for a in args)


# -- constants -------------------------------------------------------------------------------------
def convert_constant(value: Any, to: Any) -> Any:
    """A number as a constant of a Numba scalar type: Python's own where Numba types it so."""
    if to in STANDARD:
        kind = {"b": bool, "i": int, "f": float, "c": complex}[scalar_kind(to)]
        if kind is int and isinstance(value, (float, np.floating)):
            return int(value)
        return kind(value)
    return numpy_support.as_dtype(to).type(value)


def typed_constant(a: AVal) -> Any:
    """The constant of a known scalar, such that Numba types it as ``a.type``."""
    return convert_constant(a.const, a.type)


def fold(callee: Any, args: tuple[AVal, ...]) -> AVal | None:
    """The result on known constants, or None if it raises or overflows 64 bits."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = callee(*map(sample_of, args))
    except Exception:
        return None
    if isinstance(value, tuple):
        return None
    found = constant(value)
    return found if isinstance(found, AVal) and found.type is not None else None


def round_type(args: tuple[AVal, ...]) -> AVal:
    """round(x) is an int, round(x, n) a number of x's type."""
    a = args[0]
    if len(args) == 1 and scalar_kind(a.type) == "f":
        return INT
    return FLOAT if scalar_kind(a.type) == "f" and a.py else AVal(a.type, py=a.py)
