"""Make one loop of neighbours that run over the same range, and scalars of the arrays between them.

A whole-array expression comes as one loop an operation, each with an array of its own for the
result. Two neighbouring loops may be run as one if no iteration of the second meets memory that a
*later* iteration of the first touches (one of them writing). Then what the first stored and the
second loads is forwarded as a scalar, and an array that nobody loads any more is not made at all.
Differentiating what is left is the better part of differentiating array code fast.
"""

from __future__ import annotations

from ...ir.core import CALL, IR, Block, Branch, Edge, Jump, Op, Value
from ...ir.loops import CountedLoop, Loop, counted, loop_forest
from ...passes import effects
from ...passes.dce import dce
from ...passes.manager import optimize
from ...passes.roots import Roots
from ...passes.simplify_cfg import simplify_cfg
from ...runtime import prims
from ..structure import Structure, normalise
from .dependence import Dependence
from .forwarding import drop_dead_arrays, forward_single_stores, forward_stores
from .once import run_once

LIMIT = 64  # operations that touch memory, in both bodies together


def fuse(ir: IR) -> bool:
    """Fuse loops, forward stores, drop dead arrays, until nothing changes. Whether the function is
    another now."""
    changed = run_once(ir)
    if changed:
        optimize(ir)
    if not _has_neighbours(ir):
        return changed
    while _fuse_all(ir):
        forward_single_stores(ir)
        drop_dead_arrays(ir)
        dce(ir)
    simplify_cfg(ir)
    return True


def _has_neighbours(ir: IR) -> bool:
    """Whether any loop has another one beside it."""
    forest = loop_forest(ir)
    return len({id(loop.parent) for loop in forest}) < len(list(forest))


def _fuse_all(ir: IR) -> bool:
    changed = False
    while _fuse_once(ir):
        changed = True
        simplify_cfg(ir)
        forward_stores(ir)
    return changed


def _fuse_once(ir: IR) -> bool:
    normalise(ir)
    s = Structure(ir)
    roots = Roots(ir)
    found = {loop: c for loop in s.loops if (c := counted(ir, loop)) is not None and not c.breaks}
    dependence = Dependence(ir, s, roots, found)
    for first in s.loops:
        for second in s.loops:
            if first in found and second in found and first.parent is second.parent:
                between = _between(ir, s, first, second)
                if between is None:
                    continue
                pair = Candidate(ir, s, roots, dependence, found[first], found[second], between)
                if pair.allowed():
                    pair.merge()
                    return True
    return False


def _between(ir: IR, s: Structure, first: Loop, second: Loop) -> list[Block] | None:
    """The straight line of blocks from where the first loop is left to where the second begins."""
    landings = [z for z, (_, left) in s.landing.items() if first in left]
    if len(landings) != 1:
        return None
    out, at = [], landings[0]
    while len(s.preds[at]) == 1 and isinstance(ir.blocks[at].term, Jump):
        out.append(ir.blocks[at])
        at = ir.blocks[at].successors[0]
        if at == second.header:
            return out
    return None


class Candidate:
    """Two neighbouring counted loops, and the blocks between them."""

    def __init__(
        self,
        ir: IR,
        s: Structure,
        roots: Roots,
        dependence: Dependence,
        first: CountedLoop,
        second: CountedLoop,
        between: list[Block],
    ) -> None:
        self.ir, self.s, self.roots, self.dependence = ir, s, roots, dependence
        self.first, self.second, self.between = first, second, between

    def allowed(self) -> bool:
        a, b = self.first, self.second
        if (a.step, a.start, a.stop) != (b.step, b.start, b.stop):
            return False
        if any(len(self.ir.blocks[c.header].ops) != 1 for c in (a, b)):
            return False
        return self._line_moves() and self._order_free()

    # -- what stands between -------------------------------------------------------------------
    def _line_moves(self) -> bool:
        """Whether what stands between the loops can be done before both, or after if it needs a
        final value of the first; the second may need none."""
        late: set[Value] = {v for v, b in self.s.home.items() if b in self.first.loop.blocks}
        self.after: set[Op] = set()
        for block in self.between:
            late.update(block.params)
            for op in block.ops:
                if any(x in late for x in op.args):
                    if not effects.pure(op):
                        return False
                    late.add(op.result)
                    self.after.add(op)
                elif not _movable(op):
                    return False
        if any(x in late for x in _only_edge(self.between[-1]).args):
            return False
        return not any(self._reads(self.ir.blocks[b], late) for b in self.second.loop.blocks)

    @staticmethod
    def _reads(block: Block, late: set[Value]) -> bool:
        if any(x in late for op in block.ops for x in op.args):
            return True
        return any(
            x in late for x in (*block.term.operands, *(a for e in block.edges for a in e.args))
        )

    # -- memory --------------------------------------------------------------------------------
    def _order_free(self) -> bool:
        one, two = (self._touches(c.loop) for c in (self.first, self.second))
        if one is None or two is None or len(one) + len(two) > LIMIT:
            return False
        raises = [self._may_raise(c.loop) for c in (self.first, self.second)]
        if all(raises):  # which of the two comes first is for the program to say
            return False
        if any(r and self._writes_outside(there) for r, there in zip(raises, (two, one))):
            return False
        return not any(
            (a.is_call(prims.store) or b.is_call(prims.store))
            and self.roots[a.args[1]] & self.roots[b.args[1]]
            and self.dependence.out_of_order(a, b, self.first, self.second)
            for a in one
            for b in two
        )

    def _touches(self, loop: Loop) -> list[Op] | None:
        """The loads and stores of a loop; None if it does anything else that others could see."""
        out = []
        for block in sorted(loop.blocks):
            for op in self.ir.blocks[block].ops:
                if op.is_call(prims.load, prims.store):
                    out.append(op)
                elif op.kind != CALL or effects.effects(op) & ~effects.RAISE:
                    return None
        return out

    def _may_raise(self, loop: Loop) -> bool:
        ops = (op for b in loop.blocks for op in self.ir.blocks[b].ops)
        left = any(not self.s.returning >= {b} for b in loop.blocks)
        return left or any(effects.effects(op) & effects.RAISE for op in ops)

    def _writes_outside(self, touched: list[Op]) -> bool:
        """Whether memory is written that is seen after an exception."""
        mine = set(self.roots.args)
        return any(op.is_call(prims.store) and self.roots[op.args[1]] & mine for op in touched)

    # -- merging -------------------------------------------------------------------------------
    def merge(self) -> None:
        """The second loop's parameters and body join the first's; its header is gone."""
        ir, a, b = self.ir, self.first, self.second
        head, gone = ir.blocks[a.header], ir.blocks[b.header]
        before = ir.blocks[self.s.preheader(a.loop)]
        for block in self.between:
            before.ops += [op for op in block.ops if op not in self.after]
            block.ops = [op for op in block.ops if op in self.after]
        into = self.between[-1].term.edges[0]
        position = gone.params.index(b.var)
        extra = [k for k in range(len(gone.params)) if k != position]
        _only_edge(before).args += tuple(into.args[k] for k in extra)
        tail, last = ir.blocks[a.latch], ir.blocks[b.latch]
        back, again = _only_edge(tail), _only_edge(last)
        last.term = Jump(
            Edge(head.id, (*back.args, *(again.args[k] for k in extra))), last.term.loc
        )
        tail.term = Jump(Edge(b.body.target, b.body.args), tail.term.loc)
        head.params += [gone.params[k] for k in extra]
        assert isinstance(head.term, Branch)
        self._leave(head, gone, b)
        ir.substitute({b.var: a.var})
        del ir.blocks[gone.id]

    def _leave(self, head: Block, gone: Block, b: CountedLoop) -> None:
        """From the header by the line between the loops to where the second one is left."""
        end = self.between[-1]
        end.term = Jump(Edge(b.exit.target, b.exit.args), end.term.loc)


def _movable(op: Op) -> bool:
    allowed = effects.ALLOC
    return op.kind == CALL and not effects.effects(op) & ~allowed


def _only_edge(block: Block) -> Edge:
    (edge,) = block.edges
    return edge
