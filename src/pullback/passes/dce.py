"""Dead code elimination: what nobody uses and nobody sees goes, parameters of blocks included.

Uses are counted backwards from what is seen (stores, returns, branches, what may raise), so values
that only keep each other alive around a loop go too. An unused array whose dimensions might be
negative stays: its allocation raises then, and what follows may have been proven on the grounds
that it did not.
"""

from __future__ import annotations

from ..ir.core import IR, Const, Edge, Operand, Value
from ..ir.edit import bindings, definitions, handlers, implicit
from ..runtime import prims
from .effects import removable


def dce(ir: IR) -> bool:
    """Remove operations and block parameters that do not influence anything."""
    may_go = _may_go(ir)
    live = _live(ir, may_go)
    changed = _sweep_params(ir, {p for b in ir for p in b.params if p not in live})
    for b in ir:
        kept = [op for op in b.ops if op.result in live or op.result not in may_go]
        changed |= len(kept) != len(b.ops)
        b.ops = kept
    return changed


def dead_params(ir: IR) -> bool:
    """Remove block parameters that no operation or terminator reads, and the edges' arguments."""
    dead = _unread(ir)
    return bool(dead) and _sweep_params(ir, dead)


def _unread(ir: IR) -> set[Value]:
    """The block parameters that at most hand each other on."""
    unread = {p for b in ir for p in b.params}
    for b in ir if unread else ():
        for op in b.ops:
            unread.difference_update([x for x in op.args if type(x) is Value])
        unread.difference_update([x for x in b.term.operands if type(x) is Value])
    if not unread:
        return unread
    feeds: dict[Operand, list[Operand]] = {}
    for b in ir:
        for _, p, x in bindings(ir, b):
            if x in unread:
                feeds.setdefault(p, []).append(x)
    work = [x for p, xs in feeds.items() if p not in unread for x in xs]
    while work:
        x = work.pop()
        if x in unread:
            unread.discard(x)
            work += feeds.get(x, ())
    return unread


def _may_go(ir: IR) -> set[Value]:
    """The results of the operations that do nothing that is seen if they are not used."""
    found = {op.result: op for op in ir.ops() if removable(op)}
    arrays = [op for op in found.values() if op.is_call(prims.empty, prims.zeros)]
    if arrays:
        lengths = {op.result for op in ir.ops() if op.is_call(prims.dim)}
        for op in arrays:
            if not all(_length(n) or n in lengths for n in op.args[3:]):
                del found[op.result]
    return set(found)


def _length(n: Operand) -> bool:
    return isinstance(n, Const) and n.value >= 0


def _live(ir: IR, may_go: set[Value]) -> set[Value]:
    """The values that what must stay depends on."""
    feeds: dict[Value, list[Operand]] = {}  # a block's parameter: what the edges bind it to
    for b in ir:
        for _, p, x in bindings(ir, b):
            if x is not None:
                feeds.setdefault(p, []).append(x)
    defined = definitions(ir)
    live: set[Value] = set()
    work: list[Operand] = []
    for b in ir:
        work.extend(b.term.operands)
        for op in b.ops:
            if op.result not in may_go:
                work.extend(op.args)
    while work:
        x = work.pop()
        if type(x) is Value and x not in live:
            live.add(x)
            _, op = defined[x]
            work += feeds.get(x, ()) if op is None else op.args
    return live


def _sweep_params(ir: IR, dead: set[Value]) -> bool:
    fixed = {ir.entry.id} | handlers(ir)
    found: dict[int, list[int]] = {}
    for b in ir if dead else ():
        if b.id not in fixed:
            positions = [i for i, p in enumerate(b.params) if p in dead]
            if positions:
                found[b.id] = positions
    return bool(found) and drop_params(ir, found)


def drop_params(ir: IR, positions: dict[int, list[int]]) -> bool:
    """Remove the parameters at ``positions`` of each block, and what the edges pass to them. The
    item of an iteration stays."""
    edges: dict[int, list[tuple[Edge, int]]] = {b: [] for b in positions}
    for b in ir:
        for e in b.edges:
            if e.target in edges:
                edges[e.target].append((e, implicit(b.term, e)))
    changed = False
    for id, dropped in positions.items():
        first = max((skip for _, skip in edges[id]), default=0)
        gone = {i for i in dropped if i >= first}
        block = ir.blocks[id]
        block.params = [p for i, p in enumerate(block.params) if i not in gone]
        for e, skip in edges[id]:
            e.args = tuple(x for i, x in enumerate(e.args) if i + skip not in gone)
        changed |= bool(gone)
    return changed
