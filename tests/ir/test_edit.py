import math
import operator

from hypothesis import HealthCheck, given, settings

from pullback.ir.builder import Builder
from pullback.ir.core import GLOBAL, IR, Const, ForIter, Info, Value
from pullback.ir.edit import (
    bindings,
    call_sites,
    callees,
    clone_blocks,
    definitions,
    diff,
    implicit,
    incoming,
    replace_calls,
    split_block,
    split_edge,
    use_counts,
)
from pullback.ir.verify import verify

from .interp import run
from .programs import agree, arguments, structured, unstructured

programs = structured() | unstructured()
thorough = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@thorough
@given(programs, arguments)
def test_splitting_every_edge_and_block_changes_nothing(ir, args):
    before = ir.copy()
    for b in list(ir):
        for e in b.edges:
            split_edge(ir, b, e)
    for b in list(ir):
        if b.ops:
            rest = split_block(ir, b, len(b.ops) // 2)
            assert rest.ops and b.successors == (rest.id,)
    verify(ir)
    agree(before, ir, args)


@thorough
@given(programs, arguments)
def test_a_cloned_function_does_the_same(ir, args):
    other = IR()
    copies, values = clone_blocks(other, ir)
    verify(other)
    agree(ir, other, args)
    assert list(copies) == list(ir.blocks)
    assert not {v for v in values} & {v for v in values.values() if isinstance(v, Value)}
    assert len(set(values.values())) == len(values)


def test_clones_keep_edges_out_and_take_stand_ins():
    ir = IR()
    x = ir.value("x")
    entry, end = ir.block([x]), ir.block()
    Builder(ir, end).ret(x)
    at = Builder(ir, entry)
    y = at.call(operator.neg, x)
    at.jump(end)
    middle = split_block(ir, entry, 0)
    copies, _ = clone_blocks(ir, [middle], {x: Const(5)})
    (copy,) = copies.values()
    assert copy.ops[0].args == (Const(operator.neg), Const(5)) and copy.ops[0].result is not y
    assert copy.successors == (end.id,) and len(ir.blocks) == 4


@thorough
@given(programs)
def test_finders_agree_with_the_program(ir):
    defined = definitions(ir)
    for b in ir:
        assert all(defined[p] == (b, None) for p in b.params)
        assert all(defined[op.result] == (b, op) for op in b.ops)
        for e in b.edges:
            assert (b, e) in incoming(ir)[e.target]
            bound = [(p, x) for f, p, x in bindings(ir, b) if f is e]
            assert [p for p, _ in bound] == ir.blocks[e.target].params
            assert tuple(x for _, x in bound)[implicit(b.term, e) :] == e.args
    assert sum(map(len, incoming(ir).values())) == sum(len(b.edges) for b in ir)
    counts = use_counts(ir)
    unused = [v for v in defined if v not in counts]
    ir.substitute({v: Const(0) for v in unused})
    assert use_counts(ir) == counts


def test_the_item_of_an_iteration_is_implicit():
    ir = IR()
    xs, item = ir.value("xs"), ir.value("item")
    entry, body, end = ir.block([xs]), ir.block([item]), ir.block()
    entry.term = ForIter(xs, Builder.edge(body), Builder.edge(end))
    Builder(ir, body).ret(item)
    Builder(ir, end).ret(None)
    assert [(p, x) for _, p, x in bindings(ir, entry)] == [(item, None)]
    middle = split_edge(ir, entry, entry.term.body)
    verify(ir)
    assert middle.params[0].name == "item" and run(ir, iter([7])) == 7


def sines():
    """``math.sin(x) + sin(x)``, sin a global."""
    ir = IR(Info(globals={"math": math, "sin": math.sin}))
    x = ir.value("x")
    at = Builder(ir, ir.block([x]))
    module = at.op(GLOBAL, attr="math")
    a = at.call(at.call(getattr, module, "sin"), x)
    b = at.call(at.op(GLOBAL, attr="sin"), x)
    at.ret(at.call(operator.add, a, b))
    return ir


def test_calls_are_found_and_replaced_however_they_are_named():
    ir = sines()
    assert [op.callee for _, op in call_sites(ir)] == [getattr, None, None, operator.add]
    assert set(map(id, callees(ir).values())) == {id(math), id(math.sin)}
    assert replace_calls(ir, {math.sin: math.cos})
    assert run(ir, 0.0) == 2.0
    assert not replace_calls(ir, {math.sin: math.cos})
    assert replace_calls(ir, {operator.add: operator.sub}) and run(ir, 0.0) == 0.0


def test_unhashable_callees_are_compared_by_identity():
    def f(): ...

    f.__hash__ = None
    ir = IR()
    at = Builder(ir, ir.block())
    at.ret(at.call([].append, 1))
    assert not replace_calls(ir, {f: print})


def test_diff():
    ir = sines()
    after = ir.copy()
    assert diff(ir, after) == ""
    replace_calls(after, {operator.add: operator.sub})
    lines = diff(ir, after, context=0).splitlines()
    assert [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")] == [
        "-  %5 = add(%2, %4)",
        "+  %5 = sub(%2, %4)",
    ] or len(lines) == 5
