import operator

import pytest
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR
from pullback.ir.loops import loop_forest
from pullback.ir.verify import verify
from pullback.passes.licm import licm
from pullback.runtime import prims

I, F = types.int64, types.float64


def nest(make, in_header=False):
    """Two nested counted loops; ``make(at, x, n, i, j)`` writes into the inner one."""
    ir = IR()
    x, n = ir.value("x", F), ir.value("n", I)
    i, j = ir.value("i", I), ir.value("j", I)
    entry = ir.block([x, n])
    outer, inner = ir.block([i]), ir.block([j])
    body, latch, end = ir.block(), ir.block(), ir.block()
    at = Builder(ir, entry)
    at.jump(outer, [0])
    at.at(outer)
    at.branch(at.call(operator.lt, i, n, type=types.boolean), inner, end, [0])
    at.at(inner)
    test = at.call(operator.lt, j, n, type=types.boolean)
    if in_header:
        make(at, x, n, i, j)
    at.branch(test, body, latch)
    at.at(body)
    if not in_header:
        make(at, x, n, i, j)
    at.jump(inner, [at.call(operator.add, j, 1, type=I)])
    at.at(latch).jump(outer, [at.call(operator.add, i, 1, type=I)])
    at.at(end).ret(x)
    return ir


def depth_of(ir, callee):
    (b,) = [b for b in ir for op in b.ops if op.callee is callee]
    return loop_forest(ir).depth(b.id)


def operation(f, *names, type=F):
    def make(at, x, n, i, j):
        scope = dict(x=x, n=n, i=i, j=j)
        at.call(f, *(scope.get(a, a) for a in names), type=type)

    return make


@pytest.mark.parametrize(
    "f, names, in_header, depth",
    [
        (operator.mul, ("x", 2.0), False, 0),
        (operator.mul, ("n", "i"), False, 1),
        (operator.mul, ("i", "j"), False, 2),
        (operator.truediv, (1.0, "x"), False, 2),  # may raise, and the loop may be empty
        (operator.truediv, (1.0, "x"), True, 1),  # of the outer loop the header is not the inner
        (prims.index, ("n", "n"), True, 2),  # raises
        (prims.load, ("x", 0), True, 2),  # memory may change
        (abs, ("x",), False, 2),  # not known to be total
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_how_far_an_operation_moves(f, names, in_header, depth):
    ir = nest(operation(f, *names), in_header)
    changed = licm(ir)
    assert depth_of(ir, f) == depth
    assert changed == (depth < 2)
    verify(ir)


def test_what_needs_each_other_moves_in_order():
    def make(at, x, n, i, j):
        y = at.call(operator.mul, x, 2.0, type=F)
        at.call(operator.neg, at.call(operator.sub, y, x, type=F), type=F)

    ir = nest(make)
    assert licm(ir)
    assert [op.callee for op in ir.entry.ops] == [operator.mul, operator.sub, operator.neg]
