"""The loops of a function: which blocks, where left, how nested, and which of them count.

A natural loop is a header and all blocks that lead back to it without passing it; loops that
share a header are one. Returns and raises belong to no loop: the edge to them is an exit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field

from .core import IR, Block, Branch, Const, Edge, Op, Operand, Value
from .dominators import DomTree, dominators, reverse


@dataclass(eq=False)
class Loop:
    """``latches`` are the blocks that jump back to ``header``; ``blocks`` includes the blocks of
    the loops inside; ``entries`` are (block outside, edge to the header), ``exits`` (block inside,
    edge out)."""

    header: int
    latches: list[int] = field(default_factory=list)
    blocks: set[int] = field(default_factory=set)
    entries: list[tuple[int, Edge]] = field(default_factory=list)
    exits: list[tuple[int, Edge]] = field(default_factory=list)
    parent: Loop | None = None
    children: list[Loop] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """1 for a loop in no other."""
        return 1 if self.parent is None else 1 + self.parent.depth

    def __contains__(self, block_id: int) -> bool:
        return block_id in self.blocks

    def __repr__(self) -> str:
        return f"<loop b{self.header}: {', '.join(f'b{b}' for b in sorted(self.blocks))}>"


class LoopForest:
    """``roots`` are the outermost loops in reverse postorder of their headers; ``irreducible`` the
    retreating edges (from, to) that enter a cycle beside its header: cycles made by them are not
    in the forest."""

    def __init__(
        self,
        loops: dict[int, Loop],
        innermost: dict[int, Loop],
        irreducible: list[tuple[int, int]],
    ) -> None:
        self.irreducible = irreducible
        self.roots = [lp for lp in loops.values() if lp.parent is None]
        self._innermost = innermost

    @property
    def reducible(self) -> bool:
        return not self.irreducible

    def innermost(self, block_id: int) -> Loop | None:
        """The smallest loop around the block."""
        return self._innermost.get(block_id)

    def depth(self, block_id: int) -> int:
        """How many loops are around the block."""
        lp = self.innermost(block_id)
        return 0 if lp is None else lp.depth

    def __iter__(self) -> Iterator[Loop]:
        """All loops, outer before inner."""
        stack = self.roots[::-1]
        while stack:
            lp = stack.pop()
            yield lp
            stack.extend(reversed(lp.children))

    def inside_out(self) -> list[Loop]:
        """All loops, inner before outer."""
        return list(self)[::-1]


def loop_forest(ir: IR, tree: DomTree | None = None) -> LoopForest:
    """The natural loops of ``ir``."""
    tree = tree or dominators(ir)
    latches, irreducible = _back_edges(tree)
    preds = reverse({n: tree.graph[n] for n in tree.order})
    loops: dict[int, Loop] = {}
    for header in tree.order:
        if header in latches:
            blocks = _body(header, latches[header], preds)
            loops[header] = Loop(header, latches[header], blocks)
    number = {b: i for i, b in enumerate(tree.order)}
    innermost: dict[int, Loop] = {}
    for lp in loops.values():  # outer before inner
        inside = sorted(lp.blocks, key=number.__getitem__)
        outside = [b for b in preds[lp.header] if b not in lp.blocks]
        lp.entries = [(b, e) for b in outside for e in ir.blocks[b].edges if e.target == lp.header]
        lp.exits = [(b, e) for b in inside for e in ir.blocks[b].edges if e.target not in lp.blocks]
        lp.parent = innermost.get(lp.header)
        if lp.parent is not None:
            lp.parent.children.append(lp)
        innermost.update(dict.fromkeys(lp.blocks, lp))
    return LoopForest(loops, innermost, irreducible)


def preheader(ir: IR, loop: Loop) -> Block | None:
    """The block outside that does nothing but enter the loop, if there is one."""
    if len(loop.entries) != 1:
        return None
    block = ir.blocks[loop.entries[0][0]]
    return block if len(block.edges) == 1 and block.handler is None else None


@dataclass(frozen=True, eq=False)
class CountedLoop:
    """``for var in range(start, stop, step)``: the header begins with ``test = var < stop`` (``>``
    for negative steps) and branches on it to ``body`` or along ``exit``; the latch passes
    ``next = var + step``. ``breaks`` are the other ways out: without them the trip count is
    max(0, ceil((stop - start) / step))."""

    loop: Loop
    var: Value
    start: Operand
    stop: Operand
    step: int
    test: Value
    next: Value
    body: Edge
    exit: Edge
    breaks: tuple[tuple[int, Edge], ...] = ()

    @property
    def header(self) -> int:
        return self.loop.header

    @property
    def latch(self) -> int:
        return self.loop.latches[0]

    @property
    def up(self) -> bool:
        return self.step > 0

    @property
    def trips(self) -> int | None:
        """The trip count if start and stop are constants (an upper bound if it breaks)."""
        if isinstance(self.start, Const) and isinstance(self.stop, Const):
            return len(range(self.start.value, self.stop.value, self.step))
        return None


def counted(ir: IR, loop: Loop) -> CountedLoop | None:
    """``loop`` as a counted loop, or None if it is not one.

    The stop must not change in the loop, the step must be a constant integer that leads towards the
    stop, all ways into the loop must start from the same operand."""
    header = ir.blocks[loop.header]
    term = header.term
    if len(loop.latches) != 1 or not header.ops or not isinstance(term, Branch):
        return None
    test = header.ops[0]
    if not test.is_call(operator.lt, operator.gt) or term.cond is not test.result:
        return None
    if term.then.target not in loop.blocks or term.orelse.target in loop.blocks:
        return None
    var, stop = test.args[1], test.args[2]
    if not isinstance(var, Value) or var not in header.params or not is_integer(var):
        return None
    if not is_integer(stop) or not _invariant(ir, loop, stop):
        return None
    position = header.params.index(var)
    starts = [e.args[position] for _, e in loop.entries]
    backs = [e.args[position] for e in ir.blocks[loop.latches[0]].edges if e.target == loop.header]
    if any(s != starts[0] for s in starts) or not is_integer(starts[0]) or len(backs) != 1:
        return None
    advance = _definition(ir, loop, backs[0])
    step = None if advance is None else _step(advance, var)
    if advance is None or not step or (step > 0) != test.is_call(operator.lt):
        return None
    breaks = tuple((b, e) for b, e in loop.exits if e is not term.orelse)
    return CountedLoop(
        loop,
        var,
        starts[0],
        stop,
        step,
        test.result,
        advance.result,
        term.then,
        term.orelse,
        breaks,
    )


def is_integer(x: Operand) -> bool:
    """Whether the operand may be an integer: a constant one, or a value whose type is integer or
    not known. (Numba's integer types, and they alone, say whether they are ``signed``.)"""
    if isinstance(x, Const):
        return type(x.value) is int
    return isinstance(x, Value) and (x.type is None or hasattr(x.type, "signed"))


def _back_edges(tree: DomTree) -> tuple[dict[int, list[int]], list[tuple[int, int]]]:
    """For each header its latches; and the retreating edges whose target does not dominate."""
    number = {n: i for i, n in enumerate(tree.order)}
    latches: dict[int, list[int]] = {}
    irreducible = []
    for n in tree.order:
        for t in tree.graph[n]:
            if number[t] > number[n]:
                continue
            if tree.dominates(t, n):
                latches.setdefault(t, []).append(n)
            else:
                irreducible.append((n, t))
    return latches, irreducible


def _body(header: int, latches: list[int], preds: dict[int, list[int]]) -> set[int]:
    blocks = {header}
    stack = list(latches)
    while stack:
        b = stack.pop()
        if b not in blocks:
            blocks.add(b)
            stack.extend(preds[b])
    return blocks


def _invariant(ir: IR, loop: Loop, x: Operand) -> bool:
    """Whether the operand is defined outside the loop."""
    return isinstance(x, Const) or (isinstance(x, Value) and not _defined_in(ir, loop, x))


def _defined_in(ir: IR, loop: Loop, v: Value) -> bool:
    return any(
        any(p is v for p in b.params) or any(op.result is v for op in b.ops)
        for b in (ir.blocks[i] for i in loop.blocks)
    )


def _definition(ir: IR, loop: Loop, x: Operand) -> Op | None:
    for i in loop.blocks:
        for op in ir.blocks[i].ops:
            if op.result is x:
                return op
    return None


def _step(op: Op, var: Value) -> int | None:
    """The constant that ``op`` adds to ``var``."""
    if op.is_call(operator.add, operator.iadd):
        a, b = op.args[1:]
        if b is var:
            a, b = b, a
        if a is var and isinstance(b, Const) and type(b.value) is int:
            return b.value
    if op.is_call(operator.sub, operator.isub):
        a, b = op.args[1:]
        if a is var and isinstance(b, Const) and type(b.value) is int:
            return -b.value
    return None
