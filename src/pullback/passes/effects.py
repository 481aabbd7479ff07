"""What an operation does besides computing its result.

On typed IR the operands' types are consulted: arithmetic on numbers is pure. On untyped IR nearly
everything may run arbitrary code. Typed scalar functions have the meaning of compiled code:
``math.log(-1.0)`` is nan there and does not raise.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from collections.abc import Iterable
from typing import Any

from ..ir.core import (
    CALL,
    CLOSURE,
    CUT,
    FREECELL,
    GETCELL,
    GLOBAL,
    NEWCELL,
    SETCELL,
    SLOTGET,
    SLOTSET,
    SUSPENSIONS,
    Const,
    Op,
    Operand,
    Value,
)
from ..rules import registry
from ..runtime import prims
from .scalars import is_a, is_number

Effects = int
"""A set of effects, as bits. Plain numbers, for every pass asks: an `enum.Flag` takes ten times as
long to combine."""

NONE: Effects = 0  #   the result depends on the operands alone, and nothing else happens
READ: Effects = 1  #   the result depends on memory
WRITE: Effects = 2  #  memory changes
ALLOC: Effects = 4  #  the result is a new mutable object: two calls are not one
RAISE: Effects = 8  #  it may raise
OTHER: Effects = 16  # input, output, random state, anything
ANY: Effects = READ | WRITE | ALLOC | RAISE | OTHER

_STRUCTURAL = {
    GLOBAL: READ | RAISE,
    CLOSURE: ALLOC,
    NEWCELL: ALLOC,
    FREECELL: NONE,
    GETCELL: READ | RAISE,
    SETCELL: WRITE,
    SLOTGET: READ,
    SLOTSET: WRITE,
    CUT: ANY,
    **dict.fromkeys(SUSPENSIONS, ANY),
}


def _named(module: Any, names: str) -> list[Any]:
    return [getattr(module, n) for n in names.split()]


def _prims(effect: Effects, names: str) -> dict[Any, Effects]:
    return dict.fromkeys(_named(prims, names), effect)


_PRIMS: dict[Any, Effects] = {
    **_prims(NONE, "wrap dim unit likely subview transpose real_view imag_view instead_of_view"),
    **_prims(NONE, "real imag plus select cast pack nbytes_of null"),
    **_prims(RAISE, "index slice_start slice_count reshape pydiv pyfloordiv pymod"),
    **_prims(READ, "load peek contiguous overlap_copy"),
    **_prims(READ | ALLOC, "own heap_own matmul eig eigh svd svd_full qr lstsq pinv"),
    **_prims(READ | ALLOC | RAISE, "solve inv cholesky"),
    **_prims(READ | RAISE, "det slogdet logabsdet detsign"),
    **_prims(READ | WRITE, "assign accumulate"),
    **_prims(READ | WRITE | RAISE, "product add_product"),
    **_prims(WRITE, "store poke record unrecord"),
    **_prims(ALLOC, "empty zeros same_layout_zeros heap_empty heap_zeros heap_zeros_like"),
}

_SCALAR_FUNCTIONS = {
    *_named(operator, "add sub mul truediv floordiv mod pow neg pos abs invert not_ truth"),
    *_named(operator, "lt le eq ne gt ge is_ is_not and_ or_ xor lshift rshift"),
    *_named(operator, "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"),
    *_named(builtins, "abs min max int float bool complex round pow divmod"),
    *(f for m in (math, cmath) for n, f in vars(m).items() if callable(f) and n[0] != "_"),
}
"""Pure when all their arguments are numbers of known type."""


def effects(op: Op) -> Effects:
    """What ``op`` may do. Allocation of an array counts as not raising; whoever wants to remove one
    sees to it that its dimensions are not negative. Remembered until it gets other operands."""
    known = op.known
    if known is None or known[0] is not op.args:
        known = op.known = (op.args, _found(op))
    effect: Effects = known[1]
    return effect


def _found(op: Op) -> Effects:
    if op.kind != CALL:
        if op.kind == SLOTGET and getattr(op.attr, "type", None) is None:
            return READ | RAISE  # a variable, which may be unbound
        return _STRUCTURAL[op.kind]
    fn = op.args[0]
    if type(fn) is not Const or op.attr:
        return ANY
    callee = fn.value
    try:
        known = _PRIMS.get(callee)
    except TypeError:  # the callee is not hashable
        return ANY
    if known is not None:
        return NONE if known == RAISE and _cannot_raise(op) else known
    if _is_scalar_function(callee) and _numbers(op.args[1:]):
        return NONE
    return ANY


def pure(op: Op) -> bool:
    """Whether equal operands give equal results, nothing else happens, and nothing is raised."""
    return effects(op) == NONE


def removable(op: Op) -> bool:
    """Whether the operation does nothing that is seen if its result is not used."""
    return not effects(op) & (WRITE | RAISE | OTHER)


def deterministic(op: Op) -> bool:
    """Whether a second call with the same operands does and gives what the first did: of two, one
    can go. It may raise."""
    return not effects(op) & ~RAISE


def speculable(op: Op) -> bool:
    """Whether the operation may be run where the program would not have run it: it is pure, and
    does not raise even in CPython, where ``1.0 / 0.0`` and ``math.sin(inf)`` do."""
    if op.kind == FREECELL:
        return True
    callee = op.callee
    return callee is not None and pure(op) and (callee in _TOTAL or is_a(callee, "ufunc"))


_TOTAL = {
    *_named(operator, "add sub mul neg pos not_ lt le eq ne gt ge iadd isub imul"),
    *_named(prims, "wrap dim unit likely transpose real_view imag_view real imag plus select"),
    *_named(prims, "slice_start slice_count"),
}
"""Never raises on numbers, whatever they are, if it is pure."""


def _numbers(operands: Iterable[Operand]) -> bool:
    """Whether all operands are numbers, and one at least is typed (constants alone may raise)."""
    typed = False
    for x in operands:
        if type(x) is Value:
            if not is_number(x.type):
                return False
            typed = True
        elif not isinstance(x, Const) or not _constant_number(x.value):
            return False
    return typed


def _constant_number(x: Any) -> bool:
    return type(x) in (float, int, bool, complex) or _numpy_scalar(x)


def _numpy_scalar(x: Any) -> bool:
    return is_a(x, "number", "bool", "bool_", "int", "float", "complex")


def _is_scalar_function(f: Any) -> bool:
    if f in _SCALAR_FUNCTIONS or is_a(f, "ufunc"):
        return True
    if isinstance(f, type):
        return _is_numpy_scalar_class(f)
    return registry.is_pure(f)


def _is_numpy_scalar_class(cls: type) -> bool:
    return any(c.__name__ in ("number", "bool", "bool_") for c in cls.__mro__) and (
        cls.__module__ == "numpy"
    )


def _cannot_raise(op: Op) -> bool:
    """Whether the operands show that a primitive that may raise does not."""
    step = {prims.slice_start: 2, prims.slice_count: 3}.get(op.callee)
    if step is not None:
        return _nonzero(op.args[step])
    if op.is_call(prims.pydiv, prims.pyfloordiv, prims.pymod):
        return _nonzero(op.args[2])
    return False


def _nonzero(x: Operand) -> bool:
    return isinstance(x, Const) and bool(x.value != 0)
