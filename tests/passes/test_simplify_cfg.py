import operator

from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR, Branch, Jump
from pullback.passes.copy_prop import copy_prop
from pullback.passes.dce import dce
from pullback.passes.simplify_cfg import simplify_cfg
from pullback.runtime import prims
from tests.ir.graphs import cfg
from tests.ir.interp import run

I, F, B = types.int64, types.float64, types.boolean


def shape(ir):
    return {b.id: list(b.successors) for b in ir}


def test_straight_line_becomes_one_block():
    ir = cfg([[1], [2], [3], []])
    assert simplify_cfg(ir) and shape(ir) == {0: []}


def test_blocks_that_only_jump_are_skipped_but_an_endless_loop_stays():
    ir = cfg([[1, 2], [3], [3], []])
    ir.args[0].type = B
    assert simplify_cfg(ir) and shape(ir) == {0: []}
    ir = cfg([[1, 4], [2], [3], [1], []])
    simplify_cfg(ir)
    (loop,) = set(ir.blocks) - {0, 4}
    assert shape(ir) == {0: [loop, 4], loop: [loop], 4: []}


def test_both_ways_alike_are_one_unless_the_test_may_raise():
    ir = cfg([[1, 1], []])
    simplify_cfg(ir)
    assert isinstance(ir.entry.term, Branch)  # an array has no truth
    ir.args[0].type = F
    simplify_cfg(ir)
    assert not ir.entry.edges


def test_known_branches_become_jumps():
    for content, kept in [(True, 1), (0, 2), (0.5, 1), ("", 2), (None, 2)]:
        ir = cfg([[1, 2], [], []])
        Builder(ir, ir.entry).branch(content, ir.blocks[1], ir.blocks[2])
        Builder(ir, ir.blocks[1]).ret(1)
        Builder(ir, ir.blocks[2]).ret(2)
        assert simplify_cfg(ir) and len(ir.blocks) == 1 and run(ir, 0) == kept
    ir = cfg([[1, 2], [], []])
    Builder(ir, ir.entry).branch([], ir.blocks[1], ir.blocks[2])  # a list may yet change
    assert not simplify_cfg(ir)


def test_blocks_under_different_handlers_are_not_merged():
    ir = cfg([[1], [], []])
    ir.blocks[1].handler = 2
    assert not simplify_cfg(ir)


def carried(param_type, arg_type):
    """x goes through a parameter of another block to the return."""
    ir = IR()
    x, p = ir.value("x", arg_type), ir.value("p", param_type)
    entry, end = ir.block([x]), ir.block([p])
    Builder(ir, entry).jump(end, [x])
    Builder(ir, end).ret(p)
    return ir, x, p


def test_merging_keeps_the_conversion_of_an_edge():
    ir, x, p = carried(F, F)
    simplify_cfg(ir)
    assert ir.entry.term.value is x
    ir, x, p = carried(F, I)
    simplify_cfg(ir)
    (op,) = ir.ops()
    assert op.is_call(prims.cast) and op.result is p and ir.entry.term.value is p


def around(start, back):
    """while c: a, b, ... = back(a, b, ...); return (a, b, ...)"""
    ir = IR()
    c, x, y = ir.value("c", B), ir.value("x", F), ir.value("y", F)
    params = [ir.value(None, F) for _ in start]
    entry, head, end = ir.block([c, x, y]), ir.block(params), ir.block()
    Builder(ir, entry).jump(head, [{"x": x, "y": y}[s] for s in start])
    Builder(ir, head).branch(c, head, end, [params[i] for i in back])
    at = Builder(ir, end)
    at.ret(at.call(prims.pack, *params))
    return ir, x, y, end


def test_parameters_that_hand_each_other_one_value_are_that_value():
    ir, x, _, end = around("xx", [1, 0])
    assert copy_prop(ir)
    assert end.ops[0].args[1:] == (x, x) and ir.blocks[1].params == []


def test_parameters_that_swap_two_values_are_neither():
    ir, *_ = around("xy", [1, 0])
    assert not copy_prop(ir)


def test_a_copy_among_parameters_that_vary():
    ir, x, _, end = around("xyx", [1, 0, 2])
    assert copy_prop(ir)
    p, q = ir.blocks[1].params
    assert end.ops[0].args[1:] == (p, q, x)


def test_values_that_only_feed_each_other_are_dead():
    ir = IR()
    c = ir.value("c", B)
    i, s = ir.value("i", I), ir.value("s", F)
    entry, head, end = ir.block([c]), ir.block([i, s]), ir.block()
    Builder(ir, entry).jump(head, [0, 0.0])
    at = Builder(ir, head)
    following = [at.call(operator.add, i, 1, type=I), at.call(operator.mul, s, 2.0, type=F)]
    at.branch(c, head, end, following)
    Builder(ir, end).ret(i)
    assert dce(ir)
    assert head.params == [i] and len(head.ops) == 1 and isinstance(entry.term, Jump)


def test_what_may_raise_or_is_seen_is_not_dead():
    ir = IR()
    x, n = ir.value("x", types.float64[::1]), ir.value("n", I)
    at = Builder(ir, ir.block([x, n]))
    at.call(prims.index, n, 3, type=I)
    at.call(prims.pydiv, 1.0, n, type=F)
    at.call(prims.store, x, 1.0, 0)
    at.call(print, n)
    at.call(prims.zeros, "float64", "C", n, type=types.float64[::1])  # n may be negative
    assert not dce(at.ir) if at.ret(0) is None else None
    assert len(ir) == 5


def test_what_is_only_computed_is_dead():
    ir = IR()
    x, n = ir.value("x", types.float64[::1]), ir.value("n", I)
    at = Builder(ir, ir.block([x, n]))
    at.call(prims.pydiv, n, 2, type=F)
    at.call(prims.load, x, 0, type=F)
    length = at.call(prims.dim, x, 0, type=I)
    at.call(prims.zeros, "float64", "C", length, 3, type=types.float64[:, ::1])
    at.ret(0)
    assert dce(ir) and len(ir) == 0
