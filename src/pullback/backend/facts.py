"""What is known of a function before it is lowered: which locals may be unbound where it is seen,
which have been stored to, and which checks need no instruction."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ..ir.core import IR, SLOTGET, SLOTSET, Block, Op, Undef, Value
from ..ir.intrinsics import check_bound
from ..ir.releases import is_release
from .slots import Slots


def deletions(block: Block, uses: dict[Value, int]) -> set[Op]:
    """The checks whose value is deleted by the next operation and not used otherwise: the
    instruction that deletes checks by itself."""
    found: set[Op] = set()
    for op, after in itertools.pairwise(block.ops):
        checks = op.is_call(check_bound) and uses.get(op.result) == 1
        if checks and is_release(after) and after.args[1] is op.result:
            found.add(op)
        reads = op.kind == SLOTGET and not uses.get(op.result)
        empties = after.kind == SLOTSET and isinstance(after.args[0], Undef)
        if reads and empties and op.attr is after.attr:
            found.add(op)
    return found


def checked_params(ir: IR) -> set[Value]:
    """The parameters whose being unbound is seen: by a check, or by a cell."""
    work = [op.args[1] for op in ir.ops() if op.is_call(check_bound)]
    work += [op.args[0] for op in ir.ops() if op.kind == "newcell"]
    feeds: dict[Value, list[Any]] = {}
    for p, x in _copies_of(ir):
        feeds.setdefault(p, []).append(x)
    seen: set[Value] = set()
    while work:
        x = work.pop()
        if isinstance(x, Value) and x not in seen:
            seen.add(x)
            work += feeds.get(x, ())
    return seen


def _copies_of(ir: IR) -> Iterator[tuple[Value, Any]]:
    for b in ir:
        for e in b.term.edges:
            params = ir.blocks[e.target].params
            yield from zip(params[len(params) - len(e.args) :], e.args)


def stored_before(ir: IR, slots: Slots) -> dict[int, set[int]]:
    """The slots that may have been stored to before each block."""
    of = slots.of
    before: dict[int, set[int]] = {b: set() for b in ir.blocks}
    before[ir.entry.id] = {of[p] for p in ir.entry.params}
    own = {b.id: {of[op.result] for op in b.ops if op.result in of} for b in ir}
    changed = True
    while changed:
        changed = False
        for b in ir:
            out = before[b.id] | own[b.id]
            for e in b.term.edges:
                params = ir.blocks[e.target].params
                into = before[e.target]
                size = len(into)
                into |= out
                n = len(params) - len(e.args)
                into.update(of[p] for p in params[:n] if p in of)
                into.update(of[p] for p, x in zip(params[n:], e.args) if not isinstance(x, Undef))
                changed |= len(into) != size
            if b.handler is not None and not out <= before[b.handler]:
                before[b.handler] |= out
                changed = True
    return before


def guarded_heads(ir: IR, order: list[int]) -> set[int]:
    """The blocks to which others under the same handler, laid out behind them, lead back."""
    place = {b: i for i, b in enumerate(order)}
    return {
        s
        for b in ir
        if b.handler is not None
        for s in b.successors
        if ir.blocks[s].handler == b.handler and place[s] <= place[b.id]
    }
