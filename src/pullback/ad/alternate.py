"""Two arrays in turn, where each iteration makes a new one from that of the iteration before.

``u = u + h * f(u)`` makes an array in each iteration, of which the next one reads, and nobody ever
after. Written as ``v[:] = u + h * f(u); u, v = v, u`` with two arrays it does the same: the array
that was read before last is free to be written. What the reverse half needs is then saved and the
rest forgotten, where otherwise all would be kept, with a shadow each, until the call ends.

The first ``u`` may be anybody's, so one of the two arrays begins as its copy. Sound if

- the array is made once in each iteration, of lengths that do not change and are those of ``u``;
- among what goes around the loop only ``u`` is such an array, and it is that of this iteration
  which goes on to the next: so nobody knows the one before last;
- from the loop on nobody writes to ``u`` as such, nor to what it was at first (whoever writes to
  the new array before it goes on writes to nothing else): so a copy shows no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..ir.builder import Builder
from ..ir.core import IR, Block, Const, Op, Operand, Value
from ..ir.dominators import dominators
from ..ir.edit import split_block
from ..ir.loops import Loop, loop_forest, preheader
from ..passes.loop_canonical import add_preheader
from ..passes.roots import Root, Roots
from ..passes.shapes import known_dim
from ..runtime import prims
from ..typing_.specialised import is_outlined
from .loops.line import count_up
from .reuse import clear, defined_in
from .writes import written_roots


class Carried(NamedTuple):
    """``made``, in ``block``, goes on to the next iteration as ``param``, which is ``first``
    before."""

    loop: Loop
    block: Block
    made: Op
    param: Value
    first: Value


def alternate(ir: IR) -> bool:
    """Use two arrays in turn wherever it is sound; whether there was any such place."""
    changed = False
    while (found := next(_found(ir), None)) is not None:
        _rewrite(ir, found)
        changed = True
    return changed


# -- where it is sound -----------------------------------------------------------------------------
def _found(ir: IR) -> Iterator[Carried]:
    roots, tree = Roots(ir), dominators(ir)
    for loop in loop_forest(ir, tree).inside_out():
        if len(loop.latches) != 1 or len(loop.entries) != 1:
            continue
        (latch,) = loop.latches
        backs = [e for e in ir.blocks[latch].edges if e.target == loop.header]
        if len(backs) != 1:
            continue
        for k, (param, x) in enumerate(zip(ir.blocks[loop.header].params, backs[0].args)):
            first = loop.entries[0][1].args[k]
            for id in loop.blocks:
                block = ir.blocks[id]
                made = next((op for op in block.ops if op.result is x), None)
                if made is None or not made.is_call(prims.empty, prims.zeros):
                    continue
                once = tree.dominates(id, latch) and _innermost(loop, id)
                if once and isinstance(first, Value):
                    found = Carried(loop, block, made, param, first)
                    if _alike(ir, found) and _unknown(ir, found, roots) and _kept(ir, found, roots):
                        yield found


def _innermost(loop: Loop, block: int) -> bool:
    return not any(block in child.blocks for child in loop.children)


def _alike(ir: IR, c: Carried) -> bool:
    """Whether all three have one type, and lengths that are known before the loop."""
    t = c.made.result.type
    if c.param.type != t or c.first.type != t:
        return False
    lengths = c.made.args[3:]
    if not defined_in(ir, c.loop).isdisjoint(lengths):
        return False
    defs: dict[Operand, Op] = {op.result: op for op in ir.ops()}
    return all(_is_length(n, c.first, k, defs) for k, n in enumerate(lengths))


def _is_length(n: Operand, x: Value, axis: int, defs: dict[Operand, Op]) -> bool:
    """Whether ``n`` is the length of the array's axis."""
    if known_dim(x, axis, defs) == n:
        return True
    op = defs.get(n)
    return op is not None and op.is_call(prims.dim) and op.args[1:] == (x, Const(axis))


def _unknown(ir: IR, c: Carried, roots: Roots) -> bool:
    """Whether nothing but ``param`` carries such an array to the next iteration."""
    made: Root = c.made.result
    if any(made in found for found in roots.slots.values()) or made in roots[c.first]:
        return False
    if any(made in roots[p] for p in ir.blocks[c.loop.header].params if p is not c.param):
        return False
    around = {x for x in roots.of if made in roots[x]}
    return not any(is_outlined(op) and not around.isdisjoint(op.args) for op in ir.ops())


def _kept(ir: IR, c: Carried, roots: Roots) -> bool:
    """Whether nobody from the loop on writes to the array under other names than its own, or to
    what ``param`` is at first."""
    made = c.made.result
    written = written_roots(ir, roots)
    for id in _reachable(ir, c.loop.header):
        for op in ir.blocks[id].ops:
            hit = written.get(op, frozenset())
            if hit & roots[c.first] or (made in hit and hit != {made}):
                return False
    return True


def _reachable(ir: IR, start: int) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        for t in ir.blocks[waiting.pop()].successors:
            if t not in seen:
                seen.add(t)
                waiting.append(t)
    return seen


# -- rewriting -------------------------------------------------------------------------------------
def _rewrite(ir: IR, c: Carried) -> None:
    """Make both arrays before the loop; one goes around as ``param``, the other beside it."""
    made, lengths = c.made, list(c.made.args[3:])
    ahead = preheader(ir, c.loop) or add_preheader(ir, c.loop)
    into = ahead.edges[0]
    position = ir.blocks[c.loop.header].params.index(c.param)
    onward = ahead.term
    b = Builder(ir, ahead, made.loc)
    args = (prims.empty, *made.args[1:])
    one, other = (b.call(*args, type=made.result.type) for _ in range(2))
    _copy(b, c.first, one, lengths, [])
    b.block.term = onward
    spare = ir.value(c.param.name, made.result.type)
    ir.blocks[c.loop.header].params.append(spare)
    into.args = (*into.args[:position], one, *into.args[position + 1 :], other)
    (back,) = [e for e in ir.blocks[c.loop.latches[0]].edges if e.target == c.loop.header]
    back.args += (c.param,)
    at = c.block.ops.index(made)
    if made.is_call(prims.zeros):
        split_block(ir, c.block, at).ops.remove(made)
        onward = c.block.term
        b = Builder(ir, c.block, made.loc)
        clear(b, spare, lengths, [])
        b.block.term = onward
    else:
        del c.block.ops[at]
    ir.substitute({made.result: spare})


def _copy(b: Builder, x: Value, y: Value, lengths: list[Operand], at: list[Operand]) -> None:
    if len(at) == len(lengths):
        b.call(prims.store, y, b.call(prims.load, x, *at, type=x.type.dtype), *at)
        return
    count_up(b, Const(0), lengths[len(at)], lambda j: _copy(b, x, y, lengths, [*at, j]))
