import operator

from hypothesis import given
from hypothesis import strategies as st

from pullback.ir.builder import Builder
from pullback.ir.core import Value
from pullback.ir.dominators import flow
from pullback.ir.liveness import liveness

from .graphs import cfg, cfgs


@st.composite
def programs(draw):
    """Graphs whose operations and edges use values at random, bound on the way or not."""
    ir = draw(cfgs())
    defined = [ir.args[0]]
    for b in ir:
        if b.id:
            b.params = [ir.value() for _ in range(draw(st.integers(0, 2)))]
        at = Builder(ir, b)
        defined += b.params
        for _ in range(draw(st.integers(0, 2))):
            defined.append(at.call(operator.neg, draw(st.sampled_from(defined))))
    for b in ir:
        b.term.map(lambda _: draw(st.sampled_from(defined)))
        for e in b.edges:
            target = ir.blocks[e.target]
            e.args = tuple(draw(st.sampled_from(defined)) for _ in target.params)
    return ir


def uses(operands):
    return [x for x in operands if isinstance(x, Value)]


def events(block):
    """What happens in the block in order: (reads, binds)."""
    yield [], block.params
    for op in block.ops:
        yield uses(op.args), [op.result]
    yield uses(block.term.operands), []


def needed_from(ir, value, block, start):
    """Whether some path from event ``start`` of ``block`` reads ``value`` before binding it."""
    seen, stack = set(), [(block, start)]
    while stack:
        at, start = stack.pop()
        for reads, binds in list(events(at))[start:]:
            if value in reads:
                return True
            if value in binds:
                break
        else:
            if any(value in uses(e.args) for e in at.edges):
                return True
            for s in flow(ir)[at.id]:
                if s not in seen:
                    seen.add(s)
                    stack.append((ir.blocks[s], 0))
    return False


@given(programs())
def test_live_is_read_on_some_path_before_it_is_bound(ir):
    live = liveness(ir)
    everything = [p for b in ir for p in b.params] + [op.result for op in ir.ops()]
    for b in ir:
        last = len(b.ops) + 2
        assert live.into[b.id] == {v for v in everything if needed_from(ir, v, b, 0)}
        assert live.out[b.id] == {v for v in everything if needed_from(ir, v, b, last)}
        for i in range(len(b.ops) + 1):
            expected = {v for v in everything if needed_from(ir, v, b, i + 1)}
            assert live.before(b, i) == expected


def test_what_a_handler_needs_lives_through_the_blocks_it_guards():
    ir = cfg([[1], [2], [2], []])  # b1 falls into an endless loop, or raises: b3 returns c
    (c,) = ir.args
    assert c not in liveness(ir).into[1]
    ir.blocks[1].handler = 3
    live = liveness(ir)
    assert c in live.into[1] and c in live.out[1] and c not in live.into[2]
