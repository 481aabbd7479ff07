"""Make what reversed control flow must remember into values: trip counters, the predecessors that
were taken; and find where nothing has a reverse, so that nothing need be remembered."""

from __future__ import annotations

import operator

from ...ir.core import IR, Const, Edge
from ..kinds import TAPE as INT
from ..kinds import is_array
from .plan import Plan


def find_effects(ir: IR, plan: Plan) -> None:
    """The blocks whose reverse does anything."""
    for b in ir:
        if b.id not in plan.structure.returning:
            continue
        if any(plan.primal.reversed(op) for op in b.ops) or any(
            plan.primal.activity.active(p) and not is_array(p.type) for p in b.params
        ):
            plan.effective.add(b.id)


def remember(ir: IR, plan: Plan) -> None:
    """Make what control flow must remember into values: trip counters and taken predecessors."""
    s = plan.structure
    for loop in s.loops:
        if not plan.is_effective(loop):
            continue
        header = ir.blocks[loop.header]
        n = ir.value("trip", INT)
        header.params.append(n)
        plan.counter[loop] = n
        _edge_to(ir, s.preheader(loop), loop.header).args += (Const(0),)
        latch = ir.blocks[s.latch(loop)]
        up = ir.call(operator.add, n, 1, type=INT, loc=latch.term.loc)
        latch.ops.append(up)
        _edge_to(ir, latch.id, loop.header).args += (up.result,)
    for landing, (exiting, left) in s.landing.items():
        if landing not in s.returning:
            continue
        for loop in left:
            if plan.is_effective(loop):
                t = ir.value("trips", INT)
                ir.blocks[landing].params.append(t)
                _edge_to(ir, exiting, landing).args += (plan.counter[loop],)
                plan.trips[landing, loop.header] = t
    headers = {loop.header for loop in s.loops}
    for b in list(ir):
        preds = [p for p in s.preds[b.id] if p in s.returning]
        if b.id not in s.returning or len(preds) < 2 or b.id in headers:
            continue
        loop = s.forest.innermost(b.id)
        passed_by = loop is not None and not plan.is_effective(loop)
        around = s.tree.idom[b.id] if passed_by else _inert(b.id, plan)
        if around is not None:
            plan.skipped[b.id] = around
            continue
        w = ir.value("which", INT)
        b.params.append(w)
        plan.which[b.id] = w
        for i, p in enumerate(s.preds[b.id]):
            _edge_to(ir, p, b.id).args += (Const(i),)


def _inert(join: int, plan: Plan) -> int | None:
    """The dominator of a join if nothing between the two has a reverse."""
    s = plan.structure
    d = s.tree.idom[join]
    if d is None or s.forest.innermost(d) is not s.forest.innermost(join):
        return None
    if any(
        plan.primal.activity.active(p) and not is_array(p.type) for p in s.ir.blocks[join].params
    ):
        return None
    stack, seen = list(s.preds[join]), {d, join}
    while stack:
        b = stack.pop()
        if b in seen:
            continue
        seen.add(b)
        if b in plan.effective:
            return None
        stack += s.preds[b]
    return d


def _edge_to(ir: IR, block: int, target: int) -> Edge:
    (edge,) = [e for e in ir.blocks[block].edges if e.target == target]
    return edge
