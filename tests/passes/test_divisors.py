"""Checks of divisors that cannot be zero go; others stay."""

import math
import operator

import numpy as np
import pytest
from numba import types

import pullback as pb
from pullback.ir.builder import Builder
from pullback.ir.core import IR
from pullback.passes.divisors import divisors
from pullback.runtime import prims
from tests.passes.checks import preserves

I, F = types.int64, types.float64


def quotient(divisor, kind=F):
    """1.0 / divisor(builder, x)."""
    ir = IR()
    x = ir.value("x", kind)
    at = Builder(ir, ir.block([x]))
    at.ret(at.call(prims.pydiv, 1.0, divisor(at, x), type=F))
    return ir


def call(f, *args):
    return lambda at, x: at.call(f, *(a(at, x) if callable(a) else a for a in args), type=F)


def itself(at, x):
    return x


EXP = call(math.exp, itself)
SQUARE = call(operator.mul, itself, itself)
NEVER_ZERO = {
    "logistic": call(operator.add, 1.0, EXP),
    "the other way round": call(operator.add, EXP, 1),
    "square": call(operator.add, SQUARE, 0.5),
    "power": call(operator.add, call(operator.pow, itself, 2), 0.5),
    "sums of sums": call(operator.add, call(operator.add, 1.0, SQUARE), EXP),
}
PERHAPS_ZERO = {
    "alone": EXP,
    "a number": itself,
    "nothing added": call(operator.add, 0.0, SQUARE),
    "taken away": call(operator.sub, 1.0, EXP),
    "negative": call(operator.add, -1.0, EXP),
    "a product": call(operator.mul, EXP, EXP),
    "added to a number": call(operator.add, 1.0, itself),
    "a cube": call(operator.add, 1.0, call(operator.pow, itself, 3)),
}


@pytest.mark.parametrize("divisor", NEVER_ZERO.values(), ids=NEVER_ZERO)
def test_what_is_never_zero_is_not_checked(divisor):
    for x in (-1.5, 0.0, -800.0, math.nan):
        ir = preserves(divisors, quotient(divisor), (x,))
        assert not any(op.is_call(prims.pydiv) for op in ir.ops())


@pytest.mark.parametrize("divisor", PERHAPS_ZERO.values(), ids=PERHAPS_ZERO)
def test_what_may_be_zero_is_checked(divisor):
    assert not divisors(quotient(divisor))


def test_squares_of_integers_wrap_around():
    def divisor(at, n):
        square = at.call(operator.mul, n, n, type=I)
        return at.call(operator.add, 1.0, square, type=F)

    assert not divisors(quotient(divisor, I))


def logistic(x):
    s = 0.0
    for i in range(x.size):
        s += 1 / (1 + math.exp(-x[i]))
    return s


def inverse(x):
    s = 0.0
    for i in range(x.size):
        s += 1 / math.sin(x[i])
    return s


def test_through_a_gradient():
    x = np.linspace(-3, 3, 9)
    p = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(pb.grad(logistic)(x), p * (1 - p), rtol=1e-14)
    with pytest.raises(ZeroDivisionError):
        pb.grad(inverse)(x)
