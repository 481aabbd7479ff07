from hypothesis import given

from pullback.ir.dominators import (
    EXIT,
    dominators,
    executed_before,
    flow,
    postdominators,
    postorder,
    reverse,
    reverse_postorder,
)

from .graphs import cfg, cfgs, reachable


def by_removal(graph, root):
    """a dominates b if removing a cuts b off."""
    nodes = reachable(graph, root)
    return {(a, b) for a in nodes for b in nodes - reachable(graph, root, without=a)}


@given(cfgs())
def test_dominance_is_what_removing_a_block_cuts_off(ir):
    tree, graph = dominators(ir), flow(ir)
    pairs = by_removal(graph, 0)
    assert {(a, b) for a in tree.order for b in tree.order if tree.dominates(a, b)} == pairs


@given(cfgs())
def test_immediate_dominator_is_the_nearest_strict_one(ir):
    tree = dominators(ir)
    for b in tree.order:
        strict = [a for a in tree.order if tree.strictly_dominates(a, b)]
        nearest = [a for a in strict if all(tree.dominates(o, a) for o in strict)]
        assert [tree.idom[b]] == (nearest or [None])


@given(cfgs())
def test_frontier_is_where_dominance_ends(ir):
    tree, graph = dominators(ir), flow(ir)
    frontier = tree.frontier()
    preds = reverse({n: graph[n] for n in tree.order})
    for a in tree.order:
        expected = {
            b
            for b in tree.order
            if any(tree.dominates(a, p) for p in preds[b]) and not tree.strictly_dominates(a, b)
        }
        assert set(frontier[a]) == expected
        assert len(frontier[a]) == len(expected)


@given(cfgs())
def test_postdominance_is_dominance_in_the_reversed_graph(ir):
    tree, graph = postdominators(ir), flow(ir)
    turned = {**reverse(graph), EXIT: [n for n in graph if not graph[n]]}
    pairs = by_removal(turned, EXIT)
    assert {(a, b) for a in tree.order for b in tree.order if tree.dominates(a, b)} == pairs


@given(cfgs())
def test_orders_hold_each_reachable_block_once(ir):
    nodes = reachable(flow(ir), 0)
    assert sorted(postorder(ir)) == sorted(nodes)
    assert reverse_postorder(ir) == postorder(ir)[::-1]
    assert reverse_postorder(ir)[0] == 0


@given(cfgs())
def test_dominators_come_first_in_reverse_postorder_and_preorder(ir):
    tree = dominators(ir)
    for order in (tree.order, tree.preorder()):
        assert sorted(order) == sorted(tree.order)
        place = {b: i for i, b in enumerate(order)}
        assert all(place[tree.idom[b]] < place[b] for b in order if b != 0)


@given(cfgs())
def test_common_is_the_lowest_block_above_both(ir):
    tree = dominators(ir)
    for a in tree.order:
        for b in tree.order:
            c = tree.common(a, b)
            both = [x for x in tree.order if tree.dominates(x, a) and tree.dominates(x, b)]
            assert c in both and all(tree.dominates(x, c) for x in both)


def test_reverse_postorder_of_a_diamond():
    assert reverse_postorder(cfg([[1, 2], [3], [3], []])) in ([0, 1, 2, 3], [0, 2, 1, 3])


def test_all_dominate_an_unreachable_block_and_it_dominates_none():
    tree = dominators(cfg([[1], [], [1]]))
    assert tree.dominates(0, 2) and tree.dominates(1, 2)
    assert not tree.dominates(2, 1)


def test_the_handler_is_a_successor():
    ir = cfg([[1], [2], [], []])
    ir.blocks[1].handler = 3
    assert dominators(ir).idom[3] == 1
    assert postdominators(ir).idom[1] == EXIT


def test_what_an_exception_leaves_behind_is_not_executed():
    ir = cfg([[1], [2], [3], [4], []])
    assert executed_before(ir)(1, 2) and not executed_before(ir)(2, 1)
    ir.blocks[1].handler = 3
    before = executed_before(ir)
    assert dominators(ir).dominates(1, 3)
    assert before(1, 2) and not before(1, 3) and not before(1, 4) and before(0, 4) and before(3, 4)
