"""Every bound that is proven is true: random expressions, evaluated on all arguments allowed."""

import operator
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR, Const
from pullback.passes.ranges import Place, Prover
from pullback.runtime import prims
from tests.ir.interp import Interpreter

I, B = types.int64, types.boolean


def guarded(limits):
    """A function whose arguments are within ``limits``, and where to go on."""
    ir = IR()
    args = [ir.value(None, I) for _ in limits]
    at = Builder(ir, ir.block(args))
    out = ir.block()
    Builder(ir, out).ret(None)
    for x, (low, high) in zip(args, limits):
        for test in (operator.ge, low), (operator.le, high):
            inside = ir.block()
            at.branch(at.call(test[0], x, test[1], type=B), inside, out)
            at.at(inside)
    return ir, args, at


PURE = [min, max, prims.wrap, operator.add, operator.sub]
SHIFTS = [operator.add, operator.sub]


@st.composite
def expressions(draw):
    limits = [(-3, 2), (0, 4), draw(st.tuples(st.integers(-2, 1), st.integers(2, 3)))]
    ir, values, at = guarded(limits)

    def pick(*more):
        return draw(st.sampled_from([*values, *more]))

    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["pure", "shift", "div", "check", "slice", "select", "test"]))
        if kind == "pure":
            new = at.call(draw(st.sampled_from(PURE)), pick(Const(1)), pick(Const(2)), type=I)
        elif kind == "shift":
            c = draw(st.integers(-3, 3))
            new = at.call(draw(st.sampled_from(SHIFTS)), pick(), c, type=I)
        elif kind == "div":
            f = draw(st.sampled_from(["floordiv", "mod"]))
            f = draw(st.sampled_from([getattr(operator, f), getattr(prims, f"py{f}")]))
            new = at.call(f, pick(), pick(Const(2), Const(3)), type=I)
        elif kind == "check":
            new = at.call(prims.index, pick(), pick(Const(3)), type=I)
        elif kind == "slice":
            step = draw(st.sampled_from([1, 2, -1]))
            if draw(st.booleans()):
                new = at.call(prims.slice_start, pick(Const(None)), step, pick(), type=I)
            else:
                start, stop = pick(Const(None)), pick(Const(None))
                new = at.call(prims.slice_count, start, stop, step, pick(), type=I)
        elif kind == "select":
            test = at.call(operator.lt, pick(), pick(), type=B)
            new = at.call(prims.select, test, pick(), pick(), type=I)
        else:
            inside, outside = ir.block(), ir.block()
            tests = [operator.lt, operator.le, operator.eq, operator.ne]
            test = at.call(draw(st.sampled_from(tests)), pick(), pick(Const(1)), type=B)
            if draw(st.booleans()):
                test = at.call(operator.not_, test, type=B)
            at.branch(test, inside, outside)
            Builder(ir, outside).ret(None)
            at.at(inside)
            continue
        values.append(new)
    at.ret(0)
    return ir, limits, values, Place(at.block.id, len(at.block.ops))


def reached(ir, limits):
    """What all values are, for each choice of arguments with which the end is reached."""
    for args in product(*(range(low, high + 1) for low, high in limits)):
        interpreter = Interpreter(ir)
        try:
            if interpreter.run(*args) == 0:
                yield interpreter.env
        except (IndexError, ValueError, ZeroDivisionError):
            pass


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions())
def test_what_is_proven_is_true(program):
    ir, limits, values, place = program
    prover = Prover(ir)
    found = list(reached(ir, limits))
    for x in values:
        for k in range(-9, 10):
            if prover.at_least(x, k, place):
                assert all(env[x] >= k for env in found), f"{x} >= {k}\n{ir}"
            if prover.at_most(x, Const(0), k, place):
                assert all(env[x] <= k for env in found), f"{x} <= {k}\n{ir}"
        for y in values:
            for c in range(-3, 4):
                if prover.at_most(x, y, c, place):
                    assert all(env[x] <= env[y] + c for env in found), f"{x} <= {y} + {c}\n{ir}"


@pytest.mark.parametrize(
    "f, operands, least, most",
    [
        (operator.add, ("a", 2), -1, 4),  # arguments: -3 <= a <= 2 and 1 <= n <= 4
        (operator.sub, ("n", 2), -1, 2),
        (min, ("a", "n"), -3, 2),
        (max, ("a", 0), 0, 2),
        (operator.mod, ("a", "n"), 0, 3),
        (prims.pymod, ("a", 3), 0, 2),
        (operator.floordiv, ("n", 2), 0, 4),
        (prims.index, ("a", "n"), 0, 3),
        (prims.slice_count, ("a", None, 2, "n"), 0, 4),
        (prims.slice_start, ("a", 1, "n"), 0, 4),
        (operator.sub, ("n", 1), 0, 3),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_bounds_by_construction(f, operands, least, most):
    ir, (a, n), at = guarded([(-3, 2), (1, 4)])
    names = {"a": a, "n": n}
    x = at.call(f, *(names.get(o, o) for o in operands), type=I)
    at.ret(x)
    prover, place = Prover(ir), Place(at.block.id, len(at.block.ops))
    assert prover.at_least(x, least, place) and not prover.at_least(x, least + 1, place)
    assert prover.at_most(x, Const(0), most, place)
    assert not prover.at_most(x, Const(0), most - 1, place)
