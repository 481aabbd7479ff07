"""Unroll loops that rotate array handles (``u, v = v, u``) by the period of the rotation.

One turn of the new loop is so many of the old one, each with the exit test of its own, that every
handle is back where it was: inside the loop the handles no longer change, each copy of the body
names its arrays outright, and neither dependence tests nor a reversal need to know which turn it
is. Only behind the loop it matters by which copy's exit it was left, which is an ordinary join.
"""

from __future__ import annotations

from math import lcm

from ..ir.core import IR, Block, Edge
from ..ir.edit import clone_blocks
from ..ir.loops import Loop, loop_forest
from .lcssa import lcssa
from .loop_canonical import loop_canonical
from .scalars import is_a

PERIOD = 6  # unroll by this at most
SIZE = 900  # operations in the unrolled loop at most


def rotate(ir: IR) -> bool:
    """Unroll, inner loops first; whether any was. Loops and exits are left in canonical form."""
    if not any(_times(ir, loop) > 1 for loop in loop_forest(ir)):
        return False
    loop_canonical(ir)
    done: set[int] = set()
    while True:
        lcssa(ir)
        waiting = [x for x in loop_forest(ir).inside_out() if x.header not in done]
        found = next((x for x in waiting if _times(ir, x) > 1), None)
        if found is None:
            return bool(done)
        done.add(found.header)
        done.update(unroll(ir, found, _times(ir, found)))


def _times(ir: IR, loop: Loop) -> int:
    """How often to have the body: the period, or 1 if that is too much."""
    times = period(ir, loop)
    return times if times * sum(len(ir.blocks[b].ops) + 1 for b in loop.blocks) <= SIZE else 1


def period(ir: IR, loop: Loop) -> int:
    """After how many turns the array handles that the loop permutes are all back; 1 if none is
    permuted, or if that takes too long."""
    if len(loop.latches) != 1:
        return 1
    header = ir.blocks[loop.header]
    backs = [e for e in ir.blocks[loop.latches[0]].edges if e.target == loop.header]
    if len(backs) != 1:
        return 1
    source: dict[object, object] = {
        p: _origin(ir, x)
        for p, x in zip(header.params, backs[0].args, strict=True)
        if is_a(p.type, "Array")
    }
    turns = 1
    for p in source:
        turns = lcm(turns, _cycle(p, source))
    return turns if turns <= PERIOD else 1


def _cycle(p: object, source: dict[object, object]) -> int:
    """The length of the cycle that ``p`` is on, 1 if it is on none."""
    x = p
    for n in range(1, len(source) + 1):
        x = source.get(x)
        if x is p:
            return n
        if x is None:
            return 1
    return 1


def _origin(ir: IR, x: object) -> object:
    """``x``, or what it is a copy of: the parameter of a block that is always entered with it."""
    seen = set()
    while x not in seen:
        seen.add(x)
        home = next((b for b in ir if any(p is x for p in b.params)), None)
        if home is None:
            break
        at = next(i for i, p in enumerate(home.params) if p is x)
        given = {e.args[at] for b in ir for e in b.edges if e.target == home.id} - {x}
        if len(given) != 1:
            break
        x = given.pop()
    return x


def unroll(ir: IR, loop: Loop, times: int) -> list[int]:
    """Put ``times - 1`` copies of the loop's body behind its end, the last of which jumps back to
    the header. The loop must be closed (`lcssa`). Returns the headers of the copies."""
    blocks = [ir.blocks[b] for b in ir.blocks if b in loop.blocks]
    copies = [clone_blocks(ir, blocks)[0] for _ in range(times - 1)]
    heads = [loop.header, *(c[loop.header].id for c in copies)]
    latches = [ir.blocks[loop.latches[0]], *(c[loop.latches[0]] for c in copies)]
    for k, latch in enumerate(latches):
        back = _edge(latch, heads[k])
        back.target = heads[(k + 1) % times]
    return heads[1:]


def _edge(block: Block, target: int) -> Edge:
    (edge,) = [e for e in block.edges if e.target == target]
    return edge
