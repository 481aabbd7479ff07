import operator

from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR
from pullback.passes.cse import cse
from pullback.runtime import prims

I, F = types.int64, types.float64


def diamond():
    """entry -> left | right -> end, and a builder at each."""
    ir = IR()
    c, a, b = ir.value("c", types.boolean), ir.value("a", F), ir.value("b", F)
    blocks = [ir.block([c, a, b]), ir.block(), ir.block(), ir.block()]
    Builder(ir, blocks[0]).branch(c, blocks[1], blocks[2])
    Builder(ir, blocks[1]).jump(blocks[3])
    Builder(ir, blocks[2]).jump(blocks[3])
    return ir, a, b, [Builder(ir, b) for b in blocks]


def product(at, a, b):
    return at.call(operator.mul, a, b, type=F)


def test_the_dominating_call_stands_for_both():
    ir, a, b, (entry, left, _, end) = diamond()
    first = product(entry, a, b)
    product(left, a, b)
    end.ret(product(end, a, b))
    assert cse(ir)
    assert len(ir) == 1 and end.block.term.value is first


def test_calls_on_sister_branches_are_not_shared():
    ir, a, b, (_, left, right, end) = diamond()
    product(left, a, b)
    product(right, a, b)
    end.ret(product(end, a, b))
    assert not cse(ir) and len(ir) == 3


def test_what_follows_from_sharing_is_shared():
    ir, a, b, (entry, _, _, end) = diamond()
    x = entry.call(operator.neg, product(entry, a, b), type=F)
    y = end.call(operator.neg, product(end, a, b), type=F)
    end.ret(end.call(operator.sub, x, y, type=F))
    assert cse(ir) and len(ir) == 3


def test_commutative_operations_of_numbers():
    for f, shared in [(operator.add, True), (operator.sub, False), (min, False)]:
        ir, a, b, (entry, _, _, end) = diamond()
        entry.call(f, a, b, type=F)
        end.ret(end.call(f, b, a, type=F))
        assert cse(ir) == shared


def test_results_of_different_type_are_different():
    ir, a, _, (entry, _, _, end) = diamond()
    entry.call(prims.cast, I, a, type=I)
    end.ret(end.call(prims.cast, types.int32, a, type=types.int32))
    assert not cse(ir)


def test_zeros_of_both_signs_are_different():
    ir, a, _, (entry, _, _, end) = diamond()
    product(entry, a, 0.0)
    end.ret(product(end, a, -0.0))
    assert not cse(ir)


def test_memory_and_unknown_calls_are_not_shared():
    for f, args in [(prims.load, (0,)), (prims.zeros, ("C", 3)), (print, ()), (input, ())]:
        ir, a, _, (entry, _, _, end) = diamond()
        entry.call(f, a, *args, type=F)
        end.ret(end.call(f, a, *args, type=F))
        assert not cse(ir)


def test_untyped_operations_may_do_anything():
    ir, a, b, (entry, _, _, end) = diamond()
    a.type = b.type = None
    entry.call(operator.add, a, b)
    end.ret(end.call(operator.add, a, b))
    assert not cse(ir)


def test_a_check_that_passed_passes_again():
    ir, *_, (entry, _, _, end) = diamond()
    i = ir.value("i", I)
    ir.entry.params.append(i)
    first = entry.call(prims.index, i, 4, type=I)
    end.ret(end.call(prims.index, i, 4, type=I))
    assert cse(ir) and end.block.term.value is first


def test_a_handler_cannot_rely_on_what_it_guards():
    ir, a, b, (_, left, _, end) = diamond()
    product(left, a, b)
    handler = Builder(ir, ir.block([ir.value()]))
    handler.ret(product(handler, a, b))
    left.block.handler = handler.block.id
    end.ret(a)
    assert not cse(ir)


def test_nor_can_what_follows_the_handler():
    """The block dominates the end, which is reached without its operations all the same."""
    ir, a, b, (entry, *_, end) = diamond()
    handler = Builder(ir, ir.block([ir.value()]))
    handler.jump(end.block)
    product(entry, a, b)
    entry.block.handler = handler.block.id
    end.ret(product(end, a, b))
    assert not cse(ir)
