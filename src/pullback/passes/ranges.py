"""Proofs of inequalities between integers, on demand (after Bodík, Gupta and Sarkar's ABCD, 2000).

What is known of a value comes from how it is made (``i + 1``, ``min``, ``dim``), from the branches
and checks that every path to the place in question has passed, and, for block parameters, by
induction: a bound holds if it does on every way into the block, taken for granted for the
parameter's own earlier values.

Integers are those of the machine: a sum may wrap around. ``x + 1 <= x + 1`` holds nonetheless as an
upper bound of the sum, since a sum that wraps is small; as a lower bound only if x is known not to
be close to the end. Only int64 values are reasoned about.
"""

from __future__ import annotations

import operator
from typing import NamedTuple

from ..ir.core import IR, Block, Branch, Const, Edge, Op, Operand, Value
from ..ir.dominators import DomTree, dominators
from ..ir.edit import definitions, handlers, implicit, incoming
from ..runtime import prims
from .scalars import type_name

MAX = 2**63 - 1
MAX_SIZE = 2**62  # of an axis: more elements have no addresses
BUDGET = 150  # steps a question may take


class Place(NamedTuple):
    """Before the operation at a position of a block."""

    block: int
    position: int


class Fact(NamedTuple):
    """The subject is at most (or at least) ``other + offset`` from ``place`` on; ``other`` None
    is zero."""

    other: Value | None
    offset: int
    place: Place


class Prover:
    """Answers for one function; to be made anew when it has changed."""

    def __init__(self, ir: IR, tree: DomTree | None = None) -> None:
        self.ir = ir
        self.tree = tree or dominators(ir)
        self.defs = definitions(ir)
        self.edges_to = incoming(ir)
        self.fixed = {ir.entry.id} | handlers(ir)
        self.above: dict[Value, list[Fact]] = {}  # subject <= other + offset
        self.below: dict[Value, list[Fact]] = {}  # subject >= other + offset
        self.sizes: dict[Value, list[Place]] = {}  # where values are known to be lengths
        self.assumed_most: dict[tuple[Value, Value | None], int] = {}
        self.assumed_least: dict[Value, int] = {}
        self.source: dict[int, int] = {}  # a place on an edge: the block that the edge leaves
        self.on_edge: dict[Edge, Place] = {}
        self.steps = 0
        for b in self.tree.order:
            self._note_entry(ir.blocks[b])
            self._note_edges(ir.blocks[b])
            for i, op in enumerate(ir.blocks[b].ops):
                self._note_op(op, Place(b, i + 1))

    # -- questions -----------------------------------------------------------------------------
    def at_least(self, x: Operand, k: int, place: Place) -> bool:
        """Whether ``x >= k`` is certain at the place."""
        self.steps = 0
        return self._least(x, k, place)

    def at_most(self, x: Operand, bound: Operand, offset: int, place: Place) -> bool:
        """Whether ``x <= bound + offset`` is certain at the place."""
        self.steps = 0
        return _is_int(bound) and self._most_of_operand(x, bound, offset, place)

    # -- facts ---------------------------------------------------------------------------------
    def _note_entry(self, block: Block) -> None:
        """What the only way into the block says, ways back to a loop's header not counted: those
        change nothing that was known before the loop."""
        edges = [w for w in self.edges_to[block.id] if not self.tree.dominates(block.id, w[0].id)]
        if len(edges) != 1 or block.id in self.fixed:
            return
        source, edge = edges[0]
        term = source.term
        if isinstance(term, Branch) and term.then.target != term.orelse.target:
            self._note_condition(term.cond, edge is term.then, Place(block.id, 0))

    def _note_edges(self, block: Block) -> None:
        """What each edge out of the block says, at a place of its own."""
        term = block.term
        if isinstance(term, Branch):
            for edge in term.edges:
                place = Place(-2 - len(self.source), 0)
                self.source[place.block] = block.id
                self.on_edge[edge] = place
                self._note_condition(term.cond, edge is term.then, place)

    def _note_condition(self, cond: Operand, holds: bool, place: Place) -> None:
        op = self._made(cond)
        if op is None:
            return
        if op.is_call(operator.not_):
            self._note_condition(op.args[1], not holds, place)
        elif op.is_call(operator.and_, operator.or_):
            if holds == op.is_call(operator.and_):  # both hold, or neither
                for x in op.args[1:]:
                    self._note_condition(x, holds, place)
        elif op.is_call(*_ORDER) and all(_is_int(x) for x in op.args[1:]):
            a, b = op.args[1:]
            for low, high, gap in _ORDER[op.callee if holds else _NEGATED[op.callee]]:
                pair = (a, b)
                self._note(pair[low], pair[high], -gap, place)

    def _note(self, x: Operand, y: Operand, offset: int, place: Place) -> None:
        """x <= y + offset from the place on."""
        if isinstance(x, Value):
            base, c = _based(y, offset)
            self.above.setdefault(x, []).append(Fact(base, c, place))
        if isinstance(y, Value):
            base, c = _based(x, -offset)
            self.below.setdefault(y, []).append(Fact(base, c, place))

    def _note_op(self, op: Op, place: Place) -> None:
        """What is known once ``op`` has not raised."""
        if op.is_call(prims.index):
            _, i, n, *_ = op.args
            if _is_int(i) and _is_int(n):
                self._note(i, n, -1, place)
        lengths: tuple[Operand, ...] = ()
        if op.is_call(prims.dim):
            lengths = (op.result,)
        elif op.is_call(prims.empty, prims.zeros):
            lengths = op.args[3:]  # or it has raised; see `dce` for why it stays
        for n in lengths:
            if isinstance(n, Value):
                self.sizes.setdefault(n, []).append(place)

    def _holds(self, fact: Place, at: Place) -> bool:
        """Whether every path to ``at`` has passed the place of the fact."""
        if fact.block == at.block:
            return fact.position <= at.position
        block = self.source.get(at.block, at.block)
        if fact.block == block:
            return True  # the place is on an edge out of the block
        return self.tree.strictly_dominates(fact.block, block)

    def _is_size(self, x: Value, at: Place) -> bool:
        return any(self._holds(p, at) for p in self.sizes.get(x, ()))

    def _made(self, x: Operand) -> Op | None:
        return self.defs[x][1] if isinstance(x, Value) and x in self.defs else None

    def _spent(self) -> bool:
        self.steps += 1
        return self.steps > BUDGET

    # -- lower bounds --------------------------------------------------------------------------
    def _least(self, x: Operand, k: int, at: Place) -> bool:
        """x >= k."""
        if isinstance(x, Const):
            return type(x.value) is int and x.value >= k
        if not isinstance(x, Value) or not _is_int(x) or self._spent():
            return False
        if k <= -MAX - 1 or (k <= 0 and self._is_size(x, at)):
            return True
        assumed = self.assumed_least.get(x)
        if assumed is not None and k <= assumed:
            return True
        for fact in self.below.get(x, ()):
            if self._holds(fact.place, at):
                if fact.other is None:
                    if fact.offset >= k:
                        return True
                elif self._least(fact.other, k - fact.offset, at):
                    return True
        op = self._made(x)
        if op is not None:
            return self._least_of(op, k, at)
        return assumed is None and self._least_of_param(x, k)

    def _least_of(self, op: Op, k: int, at: Place) -> bool:
        args = op.args[1:]
        shifted = _shift(op)
        if shifted is not None:
            y, c = shifted
            exact = c <= 0 or self._most(y, None, MAX - c, at)
            return exact and self._least(y, k - c, at)
        if op.is_call(operator.sub) and _is_int(args[0]):
            return self._is_exact(op, at) and self._most_of_operand(args[1], args[0], -k, at)
        if op.is_call(operator.add) and len(args) == 2:
            signs = any(
                self._least(x, max(k, 0), at) and self._least(y, 0, at) for x, y in _both(args)
            )
            return signs and all(self._most(x, None, MAX_SIZE, at) for x in args)
        if op.is_call(max) and len(args) == 2:
            return any(self._least(y, k, at) for y in args)
        if op.is_call(min) and len(args) == 2:
            return all(self._least(y, k, at) for y in args)
        if op.is_call(prims.select):
            return all(self._least(y, k, at) for y in args[1:])
        if op.is_call(prims.index, prims.slice_count):
            return k <= 0
        if op.is_call(prims.slice_start):
            return k <= (0 if _positive(args[1]) else -1)
        if op.is_call(operator.floordiv, prims.pyfloordiv):
            return k <= 0 and _positive(args[1]) and self._least(args[0], 0, at)
        if op.is_call(operator.mod, prims.pymod):
            return k <= 0 and self._is_modulus(op, at)
        return False

    def _least_of_param(self, x: Value, k: int) -> bool:
        block = self.defs[x][0]
        ways = self._ways(block, x)
        if ways is None:
            return False
        self.assumed_least[x] = k
        try:
            return all(self._least(y, k, end) for y, end in ways)
        finally:
            del self.assumed_least[x]

    # -- upper bounds --------------------------------------------------------------------------
    def _most(self, x: Operand, bound: Value | None, c: int, at: Place) -> bool:
        """x <= bound + c."""
        if isinstance(x, Const):
            if type(x.value) is not int:
                return False
            return x.value <= c if bound is None else self._least(bound, x.value - c, at)
        if not isinstance(x, Value) or not _is_int(x) or self._spent():
            return False
        if x is bound:
            return c >= 0
        if bound is None and c >= (MAX_SIZE if self._is_size(x, at) else MAX):
            return True
        assumed = self.assumed_most.get((x, bound))
        if assumed is not None and c >= assumed:
            return True
        for fact in self.above.get(x, ()):
            if self._holds(fact.place, at):
                if fact.other is None:
                    if self._most(Const(fact.offset), bound, c, at):
                        return True
                elif self._most(fact.other, bound, c - fact.offset, at):
                    return True
        op = self._made(x)
        if op is not None:
            found = self._most_of(op, bound, c, at)
        else:
            found = assumed is None and self._most_of_param(x, bound, c)
        return found or self._most_below(x, bound, c, at)

    def _most_below(self, x: Value, bound: Value | None, c: int, at: Place) -> bool:
        """By what the bound itself is made of."""
        op = self._made(bound) if bound is not None else None
        shifted = None if op is None else _shift(op)
        if op is None or shifted is None:
            return False
        y, d = shifted
        # A sum that wraps is negative.
        exact = d <= 0 or self._least(op.result, 0, at) or self._most(y, None, MAX - d, at)
        return exact and self._most(x, y, c + d, at)

    def _most_of(self, op: Op, bound: Value | None, c: int, at: Place) -> bool:
        args = op.args[1:]
        shifted = _shift(op)
        if shifted is not None:
            y, d = shifted
            exact = d >= 0 or self._least(y, -MAX - 1 - d, at)
            return exact and self._most(y, bound, c - d, at)
        if op.is_call(operator.sub):
            return self._is_exact(op, at) and self._most(args[0], bound, c, at)
        if op.is_call(min) and len(args) == 2:
            return any(self._most(y, bound, c, at) for y in args)
        if op.is_call(max) and len(args) == 2:
            return all(self._most(y, bound, c, at) for y in args)
        if op.is_call(prims.select):
            return all(self._most(y, bound, c, at) for y in args[1:])
        if op.is_call(prims.index):
            return self._most(args[1], bound, c + 1, at)
        if op.is_call(prims.slice_count):
            return self._least(args[3], 0, at) and self._most(args[3], bound, c, at)
        if op.is_call(prims.slice_start):
            return self._least(args[2], 0, at) and self._most(args[2], bound, c, at)
        if op.is_call(operator.floordiv, prims.pyfloordiv):
            positive = _positive(args[1]) and self._least(args[0], 0, at)
            return positive and self._most(args[0], bound, c, at)
        if op.is_call(operator.mod, prims.pymod):
            return self._is_modulus(op, at) and self._most(args[1], bound, c + 1, at)
        return False

    def _most_of_param(self, x: Value, bound: Value | None, c: int) -> bool:
        block = self.defs[x][0]
        if bound is not None:
            home = self.defs[bound][0] if bound in self.defs else None
            if home is None or not self.tree.strictly_dominates(home.id, block.id):
                return False  # the bound may change from one way in to the next
        ways = self._ways(block, x)
        if ways is None:
            return False
        if bound is None and c >= MAX_SIZE and all(_counts(x, y, self._made(y)) for y, _ in ways):
            return True
        self.assumed_most[x, bound] = c
        try:
            return all(self._most(y, bound, c, end) for y, end in ways)
        finally:
            del self.assumed_most[x, bound]

    # -- shared --------------------------------------------------------------------------------
    def _ways(self, block: Block, x: Value) -> list[tuple[Operand, Place]] | None:
        """What a block parameter is bound to on each way into its block, and where."""
        if block.id in self.fixed:
            return None
        position = block.params.index(x)
        ways = []
        for source, edge in self.edges_to[block.id]:
            if source.id not in self.tree.idom:
                continue  # nothing reaches it
            at = position - _items(source, edge)
            if at < 0:
                return None
            end = self.on_edge.get(edge, Place(source.id, len(source.ops)))
            ways.append((edge.args[at], end))
        return ways

    def _is_exact(self, op: Op, at: Place) -> bool:
        """Whether a difference does not wrap: 0 <= subtrahend, and -1 <= minuend or both of a size
        that leaves room."""
        _, x, y = op.args
        if not self._least(y, 0, at):
            return False
        roomy = self._least(x, -MAX_SIZE, at) and self._most(y, None, MAX_SIZE, at)
        return roomy or self._least(x, -1, at)

    def _most_of_operand(self, x: Operand, bound: Operand, offset: int, at: Place) -> bool:
        base, c = _based(bound, offset)
        return self._most(x, base, c, at)

    def _is_modulus(self, op: Op, at: Place) -> bool:
        """Whether the divisor is positive, so that 0 <= result < divisor."""
        least = 0 if op.is_call(prims.pymod) else 1  # the primitive has raised on 0
        return self._least(op.args[2], least, at)


_ORDER = {
    # (which operand is low, which is high, by how much at least)
    operator.lt: [(0, 1, 1)],
    operator.le: [(0, 1, 0)],
    operator.gt: [(1, 0, 1)],
    operator.ge: [(1, 0, 0)],
    operator.eq: [(0, 1, 0), (1, 0, 0)],
    operator.ne: [],
}
_NEGATED = {
    operator.lt: operator.ge,
    operator.le: operator.gt,
    operator.gt: operator.le,
    operator.ge: operator.lt,
    operator.eq: operator.ne,
    operator.ne: operator.eq,
}


def _both(pair: tuple[Operand, ...]) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The pair, and the pair the other way round."""
    return pair, pair[::-1]


def _is_int(x: Operand) -> bool:
    return type_name(x) == "int64"


def _counts(x: Value, way: Operand, made: Op | None) -> bool:
    """Whether x comes this way as a number that is not large, or as one more than it was. To count
    to `MAX_SIZE` takes a hundred years."""
    if isinstance(way, Const):
        return type(way.value) is int and way.value <= 2**32
    return made is not None and _shift(made) == (x, 1)


def _items(block: Block, edge: Edge) -> int:
    return implicit(block.term, edge)


def _positive(x: Operand) -> bool:
    return isinstance(x, Const) and type(x.value) is int and x.value > 0


def _based(x: Operand, offset: int) -> tuple[Value | None, int]:
    return (x, offset) if isinstance(x, Value) else (None, x.value + offset)  # type: ignore[union-attr]


def _shift(op: Op) -> tuple[Value, int] | None:
    """``y`` and ``c`` if the operation is ``y + c`` in int64."""
    from .fold import offset

    return offset(op) if _is_int(op.result) else None
