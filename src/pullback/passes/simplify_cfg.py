"""Simplify the control-flow graph, to a fixpoint:

- branches on constants become jumps, blocks that nothing reaches go;
- blocks that only jump on are skipped;
- a block and its only successor, if that has no other predecessor, become one;
- parameters of blocks that are always the same value, or that nobody reads, go.
"""

from __future__ import annotations

from ..ir.core import CALL, IR, Block, Branch, Const, Edge, Jump, Op, Operand, Terminator, Value
from ..ir.dominators import reverse_postorder
from ..ir.edit import handlers, implicit, incoming, use_counts
from .copy_prop import copy_prop, keep_name
from .dce import dead_params
from .scalars import fits, is_number, type_name


def simplify_cfg(ir: IR) -> bool:
    """Simplify until nothing changes."""
    changed = False
    while True:
        now = fold_branches(ir)
        now |= remove_unreachable(ir)
        now |= thread_jumps(ir)
        now |= merge_blocks(ir)
        now |= copy_prop(ir)
        now |= dead_params(ir)
        if not now:
            return changed
        changed = True


def remove_unreachable(ir: IR) -> bool:
    """Remove the blocks that no path from the entry reaches."""
    reached = set(reverse_postorder(ir))
    gone = [b for b in ir.blocks if b not in reached]
    for b in gone:
        del ir.blocks[b]
    return bool(gone)


def fold_branches(ir: IR) -> bool:
    """Turn branches whose way is known into jumps."""
    changed = False
    for b in ir:
        edge = _only_way(b.term)
        if edge is not None:
            b.term = Jump(edge, b.term.loc)
            changed = True
    return changed


def _only_way(term: Terminator) -> Edge | None:
    if not isinstance(term, Branch):
        return None
    if isinstance(term.cond, Const) and _plain(term.cond):
        return term.then if term.cond.value else term.orelse
    same = term.then.target == term.orelse.target and term.then.args == term.orelse.args
    # The truth test of an object may raise; that of a number does not.
    return term.then if same and is_number(getattr(term.cond, "type", None)) else None


def _plain(x: Const) -> bool:
    return type_name(x) is not None or isinstance(x.value, str | tuple | None)


def thread_jumps(ir: IR) -> bool:
    """Lead the edges to blocks without operations straight to where those jump."""
    skips = _skippable(ir)
    changed = False
    for b in ir:
        for e in b.edges:
            while e.target in skips and not implicit(b.term, e):
                middle = ir.blocks[e.target]
                if not all(map(fits, middle.params, e.args)):
                    break
                bound: dict[Operand, Operand] = dict(zip(middle.params, e.args))
                onward = skips[e.target]
                e.target, e.args = onward.target, tuple(bound.get(x, x) for x in onward.args)
                changed = True
    return changed and (remove_unreachable(ir) or changed)


def _skippable(ir: IR) -> dict[int, Edge]:
    """The blocks that only jump on, with the edge they jump along. Of a cycle of such blocks one
    stays: an endless loop is not skipped."""
    fixed = {ir.entry.id} | handlers(ir)
    empty = [b for b in ir if not b.ops and type(b.term) is Jump and b.id not in fixed]
    if not empty:
        return {}
    uses = use_counts(ir) if any(b.params for b in empty) else {}
    skips = {b.id: b.edges[0] for b in empty if _only_jumps(ir, b, uses)}
    for id in list(skips):
        target, passed = skips[id].target, set()
        while target in skips and target != id and target not in passed:
            passed.add(target)
            target = skips[target].target
        if target == id:
            del skips[id]
    return skips


def _only_jumps(ir: IR, block: Block, uses: dict[Value, int]) -> bool:
    """Whether the parameters of a block without operations are read by its own jump alone, and no
    conversion happens on the way to them."""
    (edge,) = block.edges
    if edge.target == block.id:
        return False
    own = edge.args
    if any(uses.get(p, 0) != sum(x is p for x in own) for p in block.params):
        return False
    targets = ir.blocks[edge.target].params
    return all(p not in block.params or fits(q, p) for q, p in zip(targets, own))


def merge_blocks(ir: IR) -> bool:
    """Append to each block that jumps to a block which nothing else reaches that block."""
    edges_to = incoming(ir)
    fixed = {ir.entry.id} | handlers(ir)
    copies: dict[Value, Operand] = {}
    for id in list(ir.blocks):
        block = ir.blocks.get(id)
        while block is not None and isinstance(block.term, Jump):
            last = ir.blocks[block.term.edge.target]
            alone = len(edges_to[last.id]) == 1 and last.id not in fixed and last is not block
            if not alone or last.handler != block.handler:
                break
            copies.update(_append(block, last, block.term.edge))
            del ir.blocks[last.id]
    ir.substitute(copies)
    return len(ir.blocks) != len(edges_to)


def _append(block: Block, last: Block, edge: Edge) -> dict[Value, Operand]:
    """Make ``last`` the end of ``block``. Returns what stands for its parameters."""
    copies: dict[Value, Operand] = {}
    for p, x in zip(last.params, edge.args):
        if fits(p, x):
            copies[p] = x
            keep_name(x, p)
        else:
            block.ops.append(_conversion(p, x, block))
    block.ops += last.ops
    block.term = last.term
    return copies


def _conversion(param: Value, x: Operand, block: Block) -> Op:
    """What an edge does on which ``param`` takes ``x`` of another type."""
    from ..runtime import prims

    return Op(CALL, param, (Const(prims.cast), Const(param.type), x), None, block.term.loc)
