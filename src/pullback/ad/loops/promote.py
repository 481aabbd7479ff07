"""Cotangents that a loop adds up in one place of memory are added up in a scalar.

``dx[i] += v`` in a loop over ``j`` loads and stores the same element each time, and nobody can tell
that ``dx[j] += w`` beside it is another one: the loop waits for its own stores. But sums may be
made in any order. So the sum is kept in a variable of the loop and added once, behind it.

Sound if the subscripts are the same in every iteration, the addition is made in every iteration,
and the loop does nothing else with that element than to add to it: then nobody sees the sum before
it is complete. Other elements of the array may be read and written if they are proven to be others.
The element exists only if the loop runs at all: that is tested. As sums are reordered, only loops
of the reverse half are changed.
"""

from __future__ import annotations

import operator

from ...ir.builder import Builder
from ...ir.core import CALL, IR, Block, Const, Op, Operand, Value
from ...ir.dominators import DomTree, dominators
from ...ir.edit import split_edge, use_counts
from ...ir.loops import CountedLoop, Loop, counted, loop_forest
from ...passes import effects
from ...passes.roots import Root, Roots
from ...runtime import prims
from .. import kinds
from .dependence import subscripts
from .distinct import Distinct
from .line import ran, reversed_loops

Place = tuple[Operand, ...]  # an array and subscripts


class Addition:
    """``place += value`` as three operations of one block."""

    def __init__(self, load: Op, add: Op, store: Op, value: Operand) -> None:
        self.load, self.add, self.store, self.value = load, add, store, value
        self.place: Place = load.args[1:]


def promote(ir: IR) -> bool:
    """Keep sums in scalars in all loops of the reverse half where it is sound; whether any was."""
    headers = [loop.header for loop in reversed_loops(ir)][::-1]  # inner before outer
    roots = Roots(ir)  # no array is made or handed on below
    changed = False
    loops: dict[int, Loop] = {}
    for header in headers:
        if not loops:  # rewritten
            loops, uses = {x.header: x for x in loop_forest(ir)}, use_counts(ir)
            distinct = Distinct(ir)
        c = counted(ir, loops[header])
        if c is None or c.breaks:
            continue
        found = _sums(ir, c, roots, uses, distinct)
        for block, additions in found.items():
            _rewrite(ir, c, block, additions)
            changed, loops = True, {}
    return changed


# -- what may be promoted --------------------------------------------------------------------------
def _sums(
    ir: IR, c: CountedLoop, roots: Roots, uses: dict[Value, int], distinct: Distinct
) -> dict[Block, list[Addition]]:
    """The additions to places that do not move, by block."""
    loop, tree = c.loop, dominators(ir)
    inside = {x for b in loop.blocks for x in _defined(ir.blocks[b])}
    touched: list[tuple[Op, int]] = []  # with the block
    candidates: dict[Block, list[Addition]] = {}
    for id in sorted(loop.blocks):
        block = ir.blocks[id]
        additions = {a.store: a for a in additions_of(block, uses)}
        own = {op for a in additions.values() for op in (a.load, a.store)}
        for op in block.ops:
            hit = _memory(op, roots)
            if hit is None:
                return {}
            if hit and op not in own:
                touched.append((op, id))
        if _every_time(loop, id, tree):
            fixed = [a for a in additions.values() if inside.isdisjoint(a.place)]
            candidates[block] = fixed

    def alone(a: Addition) -> bool:
        """Whether the loop does nothing else with the element than to add to it."""
        mine, (array, *index) = roots[a.place[0]], a.place
        for op, block in touched:
            if mine & roots[op.args[1]] and not (
                op.args[1] is array and distinct.never(index, subscripts(op), block)
            ):
                return False
        return True

    kept = {b: [a for a in found if alone(a)] for b, found in candidates.items()}
    return {b: found for b, found in kept.items() if found}


def _defined(block: Block) -> list[Value]:
    return [*block.params, *(op.result for op in block.ops)]


def _every_time(loop: Loop, block: int, tree: DomTree) -> bool:
    """Whether the block runs exactly once in each iteration, and in no inner loop."""
    deeper = any(block in child.blocks for child in loop.children)
    return block != loop.header and not deeper and tree.dominates(block, loop.latches[0])


def _memory(op: Op, roots: Roots) -> frozenset[Root] | None:
    """The roots whose elements the operation reads or writes; None if that is not known."""
    if op.kind != CALL:
        return None
    if op.is_call(prims.load, prims.store):
        return roots[op.args[1]] or None
    if op.is_call(prims.peek, prims.poke, prims.record, prims.unrecord):
        return frozenset()
    seen = effects.READ | effects.WRITE | effects.OTHER
    if not effects.effects(op) & seen:
        return frozenset()
    return None


def additions_of(block: Block, uses: dict[Value, int]) -> list[Addition]:
    """All ``place += value`` of a block between whose load and store nothing else is stored."""
    at = {op.result: k for k, op in enumerate(block.ops)}
    found = []
    for k, store in enumerate(block.ops):
        if not store.is_call(prims.store):
            continue
        add = _defining(store.args[2], block, at)
        if add is None or not add.is_call(operator.add) or uses[add.result] != 1:
            continue
        place = (store.args[1], *store.args[3:])
        for old, value in (add.args[1:], add.args[:0:-1]):
            load = _defining(old, block, at)
            if load is None or not load.is_call(prims.load) or load.args[1:] != place:
                continue
            between = block.ops[at[load.result] : k]
            quiet = not any(op.is_call(prims.store) for op in between)
            if uses[load.result] == 1 and quiet and _keeps_type(load, add):
                found.append(Addition(load, add, store, value))
                break
    return found


def _defining(x: Operand, block: Block, at: dict[Value, int]) -> Op | None:
    return block.ops[at[x]] if isinstance(x, Value) and x in at else None


def _keeps_type(load: Op, add: Op) -> bool:
    """Whether the sum is made in the type of the element."""
    return kinds.is_scalar(load.result.type) and load.result.type == add.result.type


# -- rewriting -------------------------------------------------------------------------------------
def _rewrite(ir: IR, c: CountedLoop, block: Block, additions: list[Addition]) -> None:
    groups: dict[Place, list[Addition]] = {}
    for a in additions:
        groups.setdefault(a.place, []).append(a)
    header = ir.blocks[c.header]
    sums = {place: _in_scalar(ir, c, block, group) for place, group in groups.items()}
    gone = {op for a in additions for op in (a.load, a.store)}
    block.ops = [op for op in block.ops if op not in gone]
    _behind(ir, c, header, sums)


def _in_scalar(ir: IR, c: CountedLoop, block: Block, group: list[Addition]) -> Value:
    """Add to a parameter of the header instead: the parameter."""
    t = group[0].load.result.type
    total = ir.value("sum", t)
    ir.blocks[c.header].params.append(total)
    now: Operand = total
    for a in group:
        a.add.args = (a.add.fn, now, a.value)
        now = a.add.result
    for source, edge in c.loop.entries:
        assert edge.target == c.header and source not in c.loop.blocks
        edge.args += (Const(kinds.zero(t)),)
    (back,) = [e for e in ir.blocks[c.latch].edges if e.target == c.header]
    back.args += (now,)
    return total


def _behind(ir: IR, c: CountedLoop, header: Block, sums: dict[Place, Value]) -> None:
    """Behind the loop, if it ran at all, add the sums to memory."""
    landing, some, after = split_edge(ir, header, c.exit), ir.block(), ir.block()
    after.term = landing.term
    b = Builder(ir, landing, landing.term.loc)
    b.branch(ran(b, c), some, after)
    b.at(some)
    for (x, *idx), total in sums.items():
        old = b.call(prims.load, x, *idx, type=total.type)
        b.call(prims.store, x, b.call(operator.add, old, total, type=total.type), *idx)
    b.jump(after)
