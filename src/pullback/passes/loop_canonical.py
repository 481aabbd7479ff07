"""Loops in the form that transforms expect, and one way out of the function:

- a preheader: one block outside the loop that jumps to its header and does nothing else after;
- one latch: one block that jumps back;
- dedicated exits: the blocks that exits lead to are reached from inside the loop alone;
- one block that returns.

Run it last: `simplify_cfg` takes the empty blocks out again.
"""

from __future__ import annotations

from ..ir.core import CALL, IR, Block, Const, Edge, Jump, Op, Operand, Return, Value
from ..ir.edit import definitions, implicit, incoming, split_edge
from ..ir.loops import Loop, loop_forest, preheader
from .simplify_cfg import remove_unreachable

Incoming = list[tuple[Block, Edge]]


def loop_canonical(ir: IR) -> bool:
    """Give every natural loop a preheader, one latch and exits of its own; return in one place."""
    changed = remove_unreachable(ir)
    changed |= one_return(ir)
    changed |= _split_items(ir)
    forest = loop_forest(ir)
    for loop in forest:
        if len(loop.latches) > 1:
            backs = [
                (ir.blocks[b], e)
                for b in loop.latches
                for e in ir.blocks[b].edges
                if e.target == loop.header
            ]
            latch = _gather(ir, ir.blocks[loop.header], backs)
            loop.latches = [latch.id]
            _join(latch, loop)
            changed = True
        if preheader(ir, loop) is None:
            add_preheader(ir, loop)
            changed = True
    edges_to = incoming(ir)
    for loop in forest.inside_out():
        changed |= _dedicate_exits(ir, loop, edges_to)
    return changed


def add_preheader(ir: IR, loop: Loop) -> Block:
    """Lead all ways into the loop through one new block, and note it in the loops around."""
    ahead = _gather(ir, ir.blocks[loop.header], [(ir.blocks[b], e) for b, e in loop.entries])
    loop.entries = [(ahead.id, ahead.edges[0])]
    _join(ahead, loop.parent)
    return ahead


def _split_items(ir: IR) -> bool:
    """Give edges that carry an item a block of their own, unless nothing else leads there."""
    edges_to = incoming(ir)
    shared = [
        (b, e)
        for b in list(ir)
        for e in b.edges
        if implicit(b.term, e) and len(edges_to[e.target]) > 1
    ]
    for b, e in shared:
        split_edge(ir, b, e)
    return bool(shared)


def _gather(ir: IR, target: Block, edges: Incoming) -> Block:
    """Lead ``edges`` to ``target`` through one new block. What they agree on is passed straight."""
    columns = list(zip(*(e.args for _, e in edges)))
    agreed = [all(x == c[0] for x in c) for c in columns]
    middle = ir.block([ir.value(p.name, p.type) for p, a in zip(target.params, agreed) if not a])
    fresh = iter(middle.params)
    args = [c[0] if a else next(fresh) for c, a in zip(columns, agreed)]
    middle.term = Jump(Edge(target.id, args), edges[0][0].term.loc)
    for _, e in edges:
        e.target = middle.id
        e.args = tuple(x for x, a in zip(e.args, agreed) if not a)
    return middle


def _join(block: Block, loop: Loop | None) -> None:
    """Note that ``block`` is in ``loop`` and those around it."""
    while loop is not None:
        loop.blocks.add(block.id)
        loop = loop.parent


def _dedicate_exits(ir: IR, loop: Loop, edges_to: dict[int, Incoming]) -> bool:
    changed = False
    for target in dict.fromkeys(e.target for _, e in loop.exits):
        inner = [(b, e) for b, e in edges_to[target] if b.id in loop.blocks]
        if len(inner) < len(edges_to[target]):
            middle = _gather(ir, ir.blocks[target], inner)
            others = [(b, e) for b, e in edges_to[target] if b.id not in loop.blocks]
            edges_to[target] = [*others, (middle, middle.edges[0])]
            edges_to[middle.id] = inner
            around = loop.parent
            while around is not None and target not in around.blocks:
                around = around.parent
            _join(middle, around)
            changed = True
    return changed


def one_return(ir: IR) -> bool:
    """Merge the blocks that return. Where all return a tuple packed on the spot, its parts are
    passed on and packed once."""
    returns = [b for b in ir if isinstance(b.term, Return)]
    if len(returns) < 2:
        return False
    values = [b.term.operands[0] for b in returns]
    packs = _packs(ir, values)
    rows = [values] if packs is None else list(zip(*(p.args[1:] for p in packs)))
    last = ir.block([_meet(ir, row) for row in rows])
    loc = returns[0].term.loc
    for b, parts in zip(returns, zip(*rows) if rows else [()] * len(returns)):
        b.term = Jump(Edge(last.id, parts), b.term.loc)
    result: Operand = last.params[0] if packs is None else ir.value(None, packs[0].result.type)
    if packs is not None and isinstance(result, Value):
        last.ops.append(Op(CALL, result, (packs[0].fn, *last.params), None, loc))
    last.term = Return(result, loc)
    return True


def _packs(ir: IR, values: list[Operand]) -> list[Op] | None:
    """The calls of ``prims.pack`` that make ``values``, if all do and have the same length."""
    from ..runtime import prims

    defined = definitions(ir)
    ops = [defined[v][1] if isinstance(v, Value) else None for v in values]
    packs = [op for op in ops if op is not None and op.is_call(prims.pack)]
    alike = len(packs) == len(values) and len({len(op.args) for op in packs}) == 1
    return packs if alike else None


def _meet(ir: IR, row: tuple[Operand, ...] | list[Operand]) -> Value:
    """A parameter for what ``row`` holds, one operand from each way."""
    name = next((x.name for x in row if isinstance(x, Value) and x.name), None)
    type_ = next((x.type for x in row if isinstance(x, Value) and x.type is not None), None)
    if type_ is None and all(isinstance(x, Const) for x in row):
        type_ = None if ir.args and all(a.type is None for a in ir.args) else _constant_type(row[0])
    return ir.value(name, type_)


def _constant_type(x: Operand) -> object:
    import numba

    try:
        return numba.typeof(x.value)  # type: ignore[union-attr]
    except ValueError:
        return None
