"""Canonical loops, and closed ones: the properties that they are named for."""

import operator

from hypothesis import HealthCheck, given, settings
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR, Return, Value
from pullback.ir.dominators import dominators
from pullback.ir.edit import incoming
from pullback.ir.loops import counted, loop_forest, preheader
from pullback.passes.lcssa import lcssa
from pullback.passes.loop_canonical import loop_canonical
from pullback.runtime import prims
from tests.ir.interp import run
from tests.ir.programs import structured, unstructured

thorough = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@thorough
@given(structured() | unstructured())
def test_canonical_loops(ir):
    loop_canonical(ir)
    edges_to = incoming(ir)
    for loop in loop_forest(ir):
        assert preheader(ir, loop) is not None
        assert len(loop.latches) == 1
        for _, e in loop.exits:
            assert all(b.id in loop for b, _ in edges_to[e.target])
    assert sum(isinstance(b.term, Return) for b in ir) <= 1


@thorough
@given(structured() | unstructured())
def test_closed_loops_are_left_through_parameters_of_exits_alone(ir):
    loop_canonical(ir)
    lcssa(ir)
    for loop in loop_forest(ir):
        inside = {p for b in loop.blocks for p in ir.blocks[b].params}
        inside |= {op.result for b in loop.blocks for op in ir.blocks[b].ops}
        for b in dominators(ir).order:
            if b not in loop:
                block = ir.blocks[b]
                used = [x for op in block.ops for x in op.args]
                used += [*block.term.operands, *(x for e in block.edges for x in e.args)]
                assert not any(isinstance(x, Value) and x in inside for x in used)


def test_exits_that_meet_again_hand_the_value_on():
    """while i < n: [if i == 3: break]; then i, whichever way the loop was left"""
    ir = IR()
    n, i = ir.value("n", types.int64), ir.value("i", types.int64)
    entry, head, body, latch, broken, over, end = (
        ir.block(p) for p in ([n], [i], [], [], [], [], [])
    )
    Builder(ir, entry).jump(head, [0])
    at = Builder(ir, head)
    at.branch(at.call(operator.lt, i, n, type=types.boolean), body, over)
    at.at(body).branch(at.call(operator.eq, i, 3, type=types.boolean), broken, latch)
    at.at(latch).jump(head, [at.call(operator.add, i, 1, type=types.int64)])
    at.at(broken).jump(end)
    at.at(over).jump(end)
    at.at(end).ret(i)
    assert lcssa(ir)
    (a,), (b,), (c,) = broken.params, over.params, end.params
    assert broken.edges[0].args == (a,) and over.edges[0].args == (b,)
    assert end.term.value is c
    assert [run(ir, k) for k in (0, 2, 9)] == [0, 2, 3]


def two_returns(make):
    ir = IR()
    c, x = ir.value("c", types.boolean), ir.value("x", types.float64)
    then, orelse = ir.block([c, x]), ir.block()
    Builder(ir, then).branch(c, out := ir.block(), orelse)
    for block, content in ((out, x), (orelse, 2.0)):
        at = Builder(ir, block)
        at.ret(make(at, content))
    return ir


def test_what_is_returned_meets():
    ir = two_returns(lambda at, content: content)
    assert loop_canonical(ir)
    (last,) = [b for b in ir if isinstance(b.term, Return)]
    assert last.params[0].type == types.float64
    assert run(ir, True, 1.0) == 1.0 and run(ir, False, 1.0) == 2.0


def test_packed_results_meet_in_parts():
    pair = types.Tuple((types.float64, types.int64))
    ir = two_returns(lambda at, content: at.call(prims.pack, content, 7, type=pair))
    assert loop_canonical(ir)
    (last,) = [b for b in ir if isinstance(b.term, Return)]
    assert [p.type for p in last.params] == [types.float64, types.int64]
    assert last.ops[0].is_call(prims.pack) and last.ops[0].result.type == pair
    assert run(ir, True, 1.0) == (1.0, 7) and run(ir, False, 1.0) == (2.0, 7)


def test_a_loop_with_continue_counts_once_it_has_one_latch():
    ir = IR()
    n = ir.value("n", types.int64)
    i = ir.value("i", types.int64)
    entry, head, body, go, on, end = (ir.block(p) for p in ([n], [i], [], [], [], []))
    Builder(ir, entry).jump(head, [0])
    at = Builder(ir, head)
    at.branch(at.call(operator.lt, i, n, type=types.boolean), body, end)
    at.at(body)
    following = at.call(operator.add, i, 1, type=types.int64)
    at.branch(at.call(operator.eq, i, 3, type=types.boolean), go, on)
    at.at(go).jump(head, [following])
    at.at(on).jump(head, [following])
    at.at(end).ret(i)
    (loop,) = loop_forest(ir)
    assert counted(ir, loop) is None
    loop_canonical(ir)
    (loop,) = loop_forest(ir)
    assert counted(ir, loop).next is following
