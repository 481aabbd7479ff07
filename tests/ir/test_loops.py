import operator

import pytest
from hypothesis import given

from pullback.ir.builder import Builder
from pullback.ir.core import IR, Const
from pullback.ir.dominators import dominators, flow, reverse
from pullback.ir.loops import counted, loop_forest, preheader

from .graphs import cfg, cfgs, reachable


@given(cfgs())
def test_loops_are_what_leads_back_to_a_dominating_header(ir):
    tree, forest = dominators(ir), loop_forest(ir)
    graph = flow(ir)
    turned = reverse({n: graph[n] for n in tree.order})
    found = {lp.header: lp for lp in forest}
    for h in tree.order:
        latches = [p for p in turned[h] if tree.dominates(h, p)]
        assert bool(latches) == (h in found)
        if latches:
            body = {h}.union(*(reachable(turned, p, without=h) for p in latches))
            assert found[h].blocks == body
            assert sorted(found[h].latches) == sorted(latches)


@given(cfgs())
def test_nesting_is_inclusion(ir):
    forest = loop_forest(ir)
    loops = list(forest)
    for lp in loops:
        around = [o for o in loops if o is not lp and lp.blocks < o.blocks]
        assert lp.depth == len(around) + 1
        assert lp.parent is (min(around, key=lambda o: len(o.blocks)) if around else None)
        assert all(c.parent is lp for c in lp.children)
    for b in ir.blocks:
        inside = [lp for lp in loops if b in lp]
        assert forest.depth(b) == len(inside)
        innermost = min(inside, key=lambda o: len(o.blocks)) if inside else None
        assert forest.innermost(b) is innermost
    assert forest.inside_out() == loops[::-1]


@given(cfgs())
def test_entries_and_exits_cross_the_boundary(ir):
    tree = dominators(ir)
    for lp in loop_forest(ir):
        edges = [(b, e) for b in tree.order for e in ir.blocks[b].edges]
        exits = [(b, e) for b, e in edges if b in lp and e.target not in lp]
        entries = [(b, e) for b, e in edges if b not in lp and e.target in lp]
        assert sorted(map(repr, lp.exits)) == sorted(map(repr, exits))
        assert sorted(map(repr, lp.entries)) == sorted(map(repr, entries))
        assert all(e.target == lp.header for _, e in lp.entries) or not loop_forest(ir).reducible


@given(cfgs())
def test_irreducible_means_a_cycle_remains_without_the_back_edges(ir):
    tree, forest = dominators(ir), loop_forest(ir)
    graph = flow(ir)
    rest = {n: [t for t in graph[n] if not tree.dominates(t, n)] for n in tree.order}
    cyclic = any(n in reachable(rest, t) for n in rest for t in rest[n])
    assert forest.reducible == (not cyclic)


def test_preheader():
    ir = cfg([[1], [2, 3], [1], []])
    (loop,) = loop_forest(ir)
    assert preheader(ir, loop) is ir.blocks[0]
    ir = cfg([[1, 3], [2, 3], [1], []])
    (loop,) = loop_forest(ir)
    assert preheader(ir, loop) is None


def counting(test=operator.lt, step=1, start=0, advance=operator.add, stop=None, leave=False):
    """``for i in range(start, n, step): [if i: break]``."""
    ir = IR()
    n = ir.value("n")
    entry = ir.block([n])
    i, k = ir.value("i"), ir.value("k")
    head, body, latch, out = ir.block([i, k]), ir.block(), ir.block(), ir.block()
    Builder(ir, entry).jump(head, [start, n])
    at = Builder(ir, head)
    at.branch(at.call(test, i, {None: n, "k": k}.get(stop, stop)), body, out)
    Builder(ir, body).branch(i, out if leave else latch, latch)
    at = Builder(ir, latch)
    at.jump(head, [at.call(advance, i, step), k])
    Builder(ir, out).ret(i)
    return ir


def recognise(ir):
    (loop,) = loop_forest(ir)
    return counted(ir, loop)


def test_counted_loop():
    ir = counting(start=2, step=3)
    c = recognise(ir)
    assert c.var is ir.blocks[1].params[0]
    assert (c.start, c.step, c.up) == (Const(2), 3, True)
    assert c.stop is ir.args[0]
    assert c.test is ir.blocks[1].ops[0].result and c.next is ir.blocks[3].ops[0].result
    assert (c.header, c.latch, c.body.target, c.exit.target) == (1, 3, 2, 4)
    assert c.breaks == () and c.trips is None


def test_trips_of_constant_bounds():
    assert recognise(counting(start=2, stop=Const(9), step=3)).trips == 3
    assert recognise(counting(start=9, stop=Const(2), step=3)).trips == 0
    assert recognise(counting(operator.gt, start=9, stop=Const(2), step=-3)).trips == 3


def test_counting_down():
    for ir in (counting(operator.gt, -2), counting(operator.gt, 2, advance=operator.sub)):
        c = recognise(ir)
        assert c.step == -2 and not c.up


def test_a_break_is_flagged():
    c = recognise(counting(leave=True))
    assert [(b, e.target) for b, e in c.breaks] == [(2, 4)]


@pytest.mark.parametrize(
    "change",
    [
        dict(step=0),
        dict(step=-1),
        dict(test=operator.gt),
        dict(test=operator.le),
        dict(step=1.0),
        dict(step=True),
        dict(start=0.0),
        dict(advance=operator.mul),
        dict(stop="k"),
        dict(stop=Const(3.5)),
        dict(advance=operator.sub),
    ],
    ids=str,
)
def test_not_counted(change):
    assert recognise(counting(**change)) is None


class Float:
    """A type that is not an integer one."""


def test_typed_variables_must_be_integers():
    ir = counting()
    ir.blocks[1].params[0].type = Float()
    assert recognise(ir) is None
