import math
import operator

import numpy as np
import pytest
from numba import types

from pullback.ir.core import CUT, GLOBAL, IR, KINDS, SLOTSET, Const, Op, Value
from pullback.passes.effects import (
    ALLOC,
    ANY,
    NONE,
    RAISE,
    READ,
    WRITE,
    deterministic,
    effects,
    pure,
    removable,
    speculable,
)
from pullback.runtime import prims

F, I, C, A = types.float64, types.int64, types.complex128, types.float64[::1]


def call(f, *operands):
    """A call with arguments of the types given, constants as they are."""
    ir = IR()
    args = [ir.value(None, x) if isinstance(x, types.Type) else x for x in operands]
    return ir.call(f, *args, type=F)


@pytest.mark.parametrize(
    "op, expected",
    [
        (call(operator.add, F, 1.0), NONE),
        (call(operator.add, A, A), ANY),
        (call(operator.add, ir_any := IR().value(), ir_any), ANY),
        (call(operator.add, 1, 2), ANY),  # nothing says that it is compiled
        (call(operator.truediv, F, F), NONE),
        (call(math.log, F), NONE),
        (call(np.sin, F), NONE),
        (call(np.sin, A), ANY),
        (call(np.float32, F), NONE),
        (call(abs, C), NONE),
        (call(prims.dim, A, 0), NONE),
        (call(prims.load, A, I), READ),
        (call(prims.store, A, F, I), WRITE),
        (call(prims.zeros, Const(np.dtype(float)), "C", I), ALLOC),
        (call(prims.index, I, I), RAISE),
        (call(prims.pydiv, F, F), RAISE),
        (call(prims.pydiv, F, 2.0), NONE),
        (call(prims.pydiv, F, 0.0), RAISE),
        (call(prims.slice_count, I, I, 2, I), NONE),
        (call(prims.slice_count, I, I, I, I), RAISE),
        (call(prims.matmul, A, A), READ | ALLOC),
        (call(prims.solve, A, A), READ | ALLOC | RAISE),
        (call(print, F), ANY),
        (call([].append, F), ANY),
        (call(IR().value(), F), ANY),
    ],
    ids=str,
)
def test_effects(op, expected):
    assert effects(op) == expected


def test_keyword_arguments_are_not_known():
    ir = IR()
    op = ir.call(round, ir.value(None, F), 2, kwnames=("ndigits",))
    assert effects(op) == ANY


def test_every_structural_operation_has_effects():
    for kind in KINDS:
        if kind != "call":
            effects(Op(kind, Value(0)))
    assert not removable(Op(CUT, Value(0))) and not removable(Op(SLOTSET, Value(0)))
    assert not removable(Op(GLOBAL, Value(0)))  # NameError


def test_every_primitive_is_known():
    names = [n for n in prims.__all__ if effects(call(getattr(prims, n), F, F, F, F)) == ANY]
    assert names == []


def test_what_follows():
    check, load, new = call(prims.index, I, I), call(prims.load, A, I), call(prims.own, A)
    assert deterministic(check) and not removable(check) and not pure(check)
    assert removable(load) and not deterministic(load)
    assert removable(new) and not deterministic(new)


@pytest.mark.parametrize("f", [operator.truediv, operator.pow, math.sin, math.exp, int, abs])
def test_what_raises_in_cpython_is_not_run_in_vain(f):
    assert not speculable(call(f, F, F))
    assert speculable(call(operator.mul, F, F))
