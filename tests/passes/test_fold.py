"""Folding on single operations: what folds, to what, and above all what does not."""

import math
import operator

import numpy as np
import pytest
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR, Branch, Const, Undef, Value
from pullback.passes.fold import fold
from pullback.runtime import prims
from tests.ir.interp import run

I, F, C, B = types.int64, types.float64, types.complex128, types.boolean
F4, ARRAY = types.float32, types.float64[:, ::1]


def folded(make, *arg_types, type=None):
    """What the function that returns ``make(at, *args)`` returns after folding."""
    ir = IR()
    args = [ir.value(None, t) for t in arg_types]
    at = Builder(ir, ir.block(args))
    at.ret(make(at, *args))
    fold(ir)
    return ir.entry.term.value, args, ir


def call(f, *operands, type):
    """A maker of one call; an integer n among ``operands`` given as Arg(n) is an argument."""
    return lambda at, *args: at.call(
        f, *(args[x.n] if isinstance(x, Arg) else x for x in operands), type=type
    )


class Arg:
    def __init__(self, n):
        self.n = n


X = Arg(0)


@pytest.mark.parametrize(
    "f, operands, type",
    [
        (operator.add, (X, 0), I),
        (operator.add, (0, X), I),
        (operator.add, (X, -0.0), F),
        (operator.sub, (X, 0), I),
        (operator.sub, (X, 0.0), F),
        (operator.mul, (X, 1), I),
        (operator.mul, (1.0, X), F),
        (operator.mul, (X, 1), F),
        (operator.truediv, (X, 1.0), F),
        (operator.floordiv, (X, 1), I),
        (operator.pow, (X, 1), F),
        (operator.pos, (X,), F),
        (prims.real, (X,), F),
        (prims.cast, (Const(I), X), I),
        (prims.select, (True, X, 0.0), F),
        (prims.select, (False, 0.0, X), F),
        (prims.select, (True, X, X), F),
        (min, (X, X), F),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_equal_to_its_operand(f, operands, type):
    result, (x,), _ = folded(call(f, *operands, type=type), type)
    assert result is x


@pytest.mark.parametrize(
    "f, operands, argument, type",
    [
        (operator.add, (X, 0.0), F, F),  # -0.0 + 0.0 is 0.0
        (operator.add, (X, 0), F, F),
        (operator.add, (X, -0.0), C, C),  # the imaginary part gets 0.0 added
        (operator.sub, (X, -0.0), F, F),
        (operator.sub, (X, X), F, F),  # nan, inf
        (operator.mul, (X, 0.0), F, F),
        (operator.mul, (X, 1.0), C, C),
        (operator.mul, (X, 1.0), F4, F),  # converts
        (operator.add, (X, 0), B, I),
        (operator.truediv, (X, 1), I, F),
        (operator.floordiv, (X, 1.0), F, F),
        (operator.pow, (X, 1.0), I, F),
        (operator.pos, (X,), B, I),
        (operator.mul, (X, 1), None, None),  # untyped: it may be anything
        (operator.eq, (X, X), F, B),
        (operator.le, (X, X), F, B),
        (prims.cast, (Const(F), X), F, F),
        (prims.select, (True, X, 0.0), F4, F),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_not_equal_to_its_operand(f, operands, argument, type):
    result, (x,), ir = folded(call(f, *operands, type=type), argument)
    assert isinstance(result, Value) and result is not x and len(ir) == 1


def constant(f, *values, type=None):
    result, _, _ = folded(lambda at: at.call(f, *values, type=type))
    return result.value if isinstance(result, Const) else None


@pytest.mark.parametrize(
    "f, values, type, expected",
    [
        (operator.add, (2, 3), I, 5),
        (operator.truediv, (1, 4), F, 0.25),
        (operator.mul, (2, 3), F, 6.0),
        (operator.neg, (0.0,), F, -0.0),
        (operator.lt, (1, 2), B, True),
        (operator.not_, (0,), B, True),
        (math.sqrt, (4.0,), F, 2.0),
        (prims.wrap, (-1, 5), I, 4),
        (prims.index, (-2, 5), I, 3),
        (prims.slice_count, (1, None, 2, 6), I, 3),
        (prims.cast, (Const(F), 3), F, 3.0),
        (operator.add, (1, 2), F4, np.float32(3)),
        (operator.add, (2, 3), None, 5),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_constants_fold_to_the_type_of_the_result(f, values, type, expected):
    found = constant(f, *values, type=type)
    assert repr(found) == repr(expected) or (found == expected and isinstance(found, np.generic))


@pytest.mark.parametrize(
    "f, values, type",
    [
        (operator.truediv, (1.0, 0.0), F),  # raises, or is inf: at run time
        (prims.index, (5, 5), I),
        (math.log, (-1.0,), F),
        (operator.add, (2**62, 2**62), I),  # wraps natively
        (operator.pow, (10, 4000), I),
        (operator.lshift, (1, 4000), None),
        (operator.add, ("a", 1), None),
        (operator.add, ([], []), None),  # a new list every time
        (print, (1,), None),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_what_is_left_to_run_time(f, values, type):
    assert constant(f, *values, type=type) is None


def test_integers_of_zero_and_of_themselves():
    for f, operands, expected in [
        (operator.mul, (X, 0), 0),
        (operator.sub, (X, X), 0),
        (operator.eq, (X, X), True),
        (operator.lt, (X, X), False),
    ]:
        type = B if isinstance(expected, bool) else I
        result, _, _ = folded(call(f, *operands, type=type), I)
        assert result == Const(expected)


def test_twice_is_not_at_all():
    for f, type in [(operator.neg, F), (operator.not_, B), (operator.invert, I)]:
        result, (x,), _ = folded(
            lambda at, x: at.call(f, at.call(f, x, type=type), type=type), type
        )
        assert result is x
    result, (x,), _ = folded(
        lambda at, x: at.call(operator.not_, at.call(operator.not_, x, type=B), type=B), F
    )
    assert result is not x  # the truth of a float is no float


def test_offsets_add_up():
    def make(at, x):
        y = at.call(operator.add, x, 2, type=I)
        return at.call(operator.sub, y, 5, type=I)

    result, (x,), ir = folded(make, I)
    assert ir[result].args == (Const(operator.add), x, Const(-3))

    def back(at, x):
        return at.call(operator.sub, at.call(operator.add, 2, x, type=I), 2, type=I)

    result, (x,), _ = folded(back, I)
    assert result is x


def test_branch_on_a_negation_is_a_branch_the_other_way():
    ir = IR()
    c = ir.value("c", B)
    at = Builder(ir, ir.block([c]))
    then, orelse = ir.block(), ir.block()
    at.branch(at.call(operator.not_, c, type=B), then, orelse)
    at.at(then).ret(1)
    at.at(orelse).ret(2)
    assert fold(ir)
    term = ir.entry.term
    assert isinstance(term, Branch) and term.cond is c and term.then.target == orelse.id
    assert (run(ir, True), run(ir, False)) == (2, 1)


# -- lengths ---------------------------------------------------------------------------------------
def length(make, axis):
    """The length of an axis of ``make(at, a, n)``, a 2-D and n an integer."""
    return folded(lambda at, a, n: at.call(prims.dim, make(at, a, n), axis, type=I), ARRAY, I)


def array(at, f, *args):
    return at.call(f, *args, type=ARRAY)


DTYPE = Const(np.dtype(float))


def test_an_allocation_is_as_long_as_it_was_asked_to_be():
    result, (_, n), _ = length(lambda at, a, n: array(at, prims.zeros, DTYPE, "C", 3, n), 1)
    assert result is n
    result, _, _ = length(lambda at, a, n: array(at, prims.zeros, DTYPE, "C", 3, n), 0)
    assert result == Const(3)
    result, (_, n), _ = length(
        lambda at, a, n: array(at, prims.heap_zeros, Undef(), DTYPE, "C", 3, n), 1
    )
    assert result is n
    result, (_, n), _ = length(lambda at, a, n: array(at, prims.reshape, a, n, 4), 0)
    assert result is n


VIEWS = [
    (lambda at, a, n: array(at, prims.transpose, a, (1, 0)), 0, ("a", 1)),
    (lambda at, a, n: array(at, prims.own, a), 1, ("a", 1)),
    (lambda at, a, n: array(at, prims.subview, a, "i", n), 0, ("a", 1)),
    (lambda at, a, n: array(at, prims.subview, a, ":u", 1, n), 0, ("a", 0)),
    (lambda at, a, n: array(at, prims.subview, a, "n:i", n), 1, ("a", 0)),
    (lambda at, a, n: array(at, prims.subview, a, "u", 1, n), 1, ("a", 1)),
    (lambda at, a, n: array(at, prims.subview, a, ":u", 1, n), 1, "n"),
    (lambda at, a, n: array(at, prims.subview, a, "s", 1, n, -1), 0, "n"),
    (lambda at, a, n: array(at, prims.subview, a, "n"), 0, 1),
]


@pytest.mark.parametrize("make, axis, expected", VIEWS)
def test_views_are_looked_through(make, axis, expected):
    result, (a, n), ir = length(make, axis)
    if expected == "n":
        assert result is n
    elif isinstance(expected, int):
        assert result == Const(expected)
    else:
        assert ir[result].args == (Const(prims.dim), a, Const(expected[1]))


@pytest.mark.parametrize("make, axis, expected", VIEWS)
def test_lengths_are_those_of_numpy(make, axis, expected):
    def program(at, a, n):
        return at.call(prims.dim, make(at, a, n), axis, type=I)

    before = IR()
    args = [before.value(None, ARRAY), before.value(None, I)]
    at = Builder(before, before.block(args))
    at.ret(program(at, *args))
    _, _, after = folded(program, ARRAY, I)
    assert run(before, np.zeros((3, 4)), 2) == run(after, np.zeros((3, 4)), 2)


# -- lengths and conditions ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f, operands, result",
    [
        (operator.and_, (X, True), X),
        (operator.and_, (X, False), Const(False)),
        (operator.or_, (False, X), X),
        (operator.or_, (X, True), Const(True)),
        (operator.and_, (X, X), X),
    ],
)
def test_conditions(f, operands, result):
    found, (c,), _ = folded(call(f, *operands, type=B), B)
    assert found == (c if result is X else result)
    number, _, ir = folded(call(f, *operands, type=I), I)  # bits of integers are another matter
    assert isinstance(number, Value) and (operands == (X, X) or len(list(ir.ops())) == 1)


def test_what_is_known_to_be_one():
    assert folded(call(prims.unit, Const(1), type=B))[0] == Const(True)
    assert folded(call(prims.unit, Const(3), type=B))[0] == Const(False)
    assert isinstance(folded(call(prims.unit, X, type=B), I)[0], Value)
    assert folded(call(prims.likely, Const(True), type=B))[0] == Const(True)


def test_a_choice_between_equals():
    def length(at, n, m):
        one = at.call(operator.eq, n, 1, type=B)
        return at.call(prims.select, one, 1, n, type=I)

    result, (n, _), _ = folded(length, I, I)
    assert result is n
    result, _, ir = folded(
        lambda at, n, m: at.call(
            prims.select, at.call(operator.eq, n, 1, type=B), m, n, type=I
        ), I, I,
    )  # fmt: skip
    assert ir[result].is_call(prims.select)


@pytest.mark.parametrize("start", [None, 0, 1, 3, -1, -3])
@pytest.mark.parametrize("stop", [None, -1, -3, 0, 2])
@pytest.mark.parametrize("step", [None, 1, 2, -1])
def test_slices_are_as_long_as_before(start, stop, step):
    def count(at, x):
        n = at.call(prims.dim, x, 0, type=I)
        return at.call(prims.slice_count, start, stop, step, n, type=I)

    def first(at, x):
        return at.call(prims.slice_start, start, step, at.call(prims.dim, x, 0, type=I), type=I)

    for n in range(6):
        x = np.zeros((n, 2))
        for make, plain in ((count, prims.slice_count), (first, prims.slice_start)):
            _, _, ir = folded(make, ARRAY)
            operands = (start, stop, step) if make is count else (start, step)
            assert run(ir, x) == plain(*operands, n)


def test_neighbours_are_seen_to_be_as_long():
    def lengths(at, x):
        n = at.call(prims.dim, x, 0, type=I)
        inner = at.call(prims.slice_count, 1, -1, 1, n, type=I)
        right = at.call(prims.slice_count, 2, None, 1, n, type=I)
        left = at.call(prims.slice_count, None, -2, 1, n, type=I)
        return at.call(prims.pack, inner, right, left, type=None)

    result, _, ir = folded(lengths, ARRAY)
    operands = {tuple(ir[x].args[1:]) for x in ir[result].args[1:]}
    assert len(operands) == 1
