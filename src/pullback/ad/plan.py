"""Where the reverse half gets each value it needs: the plan.

A value is needed if a reversed operation reads it. Its source is

- ``LOCAL``: a variable of the forward half, still there (outside loops, combined mode);
- ``COUNT``: an induction variable, computed from the trip that is being reversed;
- ``AGAIN``: its operation is evaluated again from values that have a source;
- ``TAPE``: stored once per iteration of the loop that defines it.

Evaluating a load again is sound only if memory agrees: no store that may write the element lies on
a path from the load to the point whose mirror evaluates it. And a store that a later evaluation
would miss must be saved: the element it overwrites becomes a needed value of its own, and the
reverse half puts it back. ``plan="naive"`` tapes every needed value and saves every store; it is
the oracle for all others.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ..ir.core import CALL, IR, Const, Edge, Op, Operand, Value
from ..ir.loops import CountedLoop, Loop, counted
from ..passes import effects
from ..rules import registry
from ..runtime import prims
from .adjoint import Primal, needs
from .dependence import Dependence
from .kinds import is_array, type_of
from .roots import Root, Roots, is_view
from .structure import Structure


class Source(Enum):
    LOCAL = "local"
    COUNT = "count"
    AGAIN = "again"
    TAPE = "tape"


class Point(NamedTuple):
    """A place in the forward program: position in a block, -1 its beginning."""

    block: int
    at: int


BEGIN = -1


@dataclass
class Plan:
    """``sources``: how each needed value is had; ``trips[(landing, loop)]``: how often the loop
    went round when it was left there; ``which[join]``: which predecessor was taken."""

    structure: Structure
    primal: Primal
    split: bool
    policy: str
    outputs: list[Value] = field(default_factory=list)  # shadows of results, needed from the start
    sources: dict[Value, Source] = field(default_factory=dict)
    counted: dict[Loop, CountedLoop] = field(default_factory=dict)
    counter: dict[Loop, Value] = field(default_factory=dict)  # header parameter: trips so far
    trips: dict[tuple[int, int], Value] = field(default_factory=dict)
    which: dict[int, Value] = field(default_factory=dict)
    effective: set[int] = field(default_factory=set)
    skipped: dict[int, int] = field(default_factory=dict)  # join -> the dominator to go on with

    def taped(self, region: Loop | None) -> list[Value]:
        """The values of a record, in the order of their definition."""
        return self._records.get(region, [])

    def tape_at_all(self, loop: Loop) -> bool:
        return bool(self._records.get(loop))

    _records: dict[Loop | None, list[Value]] = field(default_factory=dict)

    def is_effective(self, loop: Loop) -> bool:
        return not self.effective.isdisjoint(loop.blocks)


def make_plan(
    ir: IR, primal: Primal, roots: Roots, outputs: list[Value], *, split: bool, policy: str
) -> Plan:
    structure = Structure(ir)
    stores = _stores(ir, structure)
    if policy == "full":
        saves = choose_saves(ir, primal, roots, structure, split)
    elif policy == "store":
        saves = _forced_saves(ir, primal, roots, structure)
    else:
        saves = stores
    _save(ir, primal, saves)
    plan = Plan(Structure(ir), primal, split, policy, outputs)
    _effects(ir, plan)
    _control(ir, plan)
    plan.counter = _again_by_header(Structure(ir), plan)
    _count_loops(ir, plan)
    chooser = Chooser(ir, plan, roots)
    plan.sources = chooser.sources
    for v in sorted(plan.sources, key=chooser.rank):
        if plan.sources[v] is Source.TAPE:
            plan._records.setdefault(plan.structure.region(v), []).append(v)
    return plan


def _again_by_header(structure: Structure, plan: Plan) -> dict[Loop, Value]:
    """Control flow has new parameters: look at the function anew, and find the loops again."""
    plan.structure = structure
    old = {loop.header: n for loop, n in plan.counter.items()}
    return {loop: old[loop.header] for loop in structure.loops if loop.header in old}


def _count_loops(ir: IR, plan: Plan) -> None:
    for loop in plan.structure.loops:
        c = counted(ir, loop)
        if c is not None:
            plan.counted[loop] = c


def _stores(ir: IR, structure: Structure) -> list[Op]:
    return [
        op for b in ir if b.id in structure.returning for op in b.ops if op.is_call(prims.store)
    ]


def _save(ir: IR, primal: Primal, stores: Collection[Op]) -> None:
    """Before each of the stores, load the element that it overwrites."""
    primal.saved.clear()
    stores = set(stores)
    for b in ir:
        if not any(op in stores for op in b.ops):
            continue
        ops: list[Op] = []
        for op in b.ops:
            if op in stores and op not in primal.saved:
                x, _, *idx = op.args[1:]
                element = type_of(x).dtype
                old = ir.call(prims.load, x, *idx, name="old", type=element, loc=op.loc)
                primal.saved[op] = old.result
                ops.append(old)
            ops.append(op)
        b.ops = ops


def _effects(ir: IR, plan: Plan) -> None:
    """The blocks whose reverse does anything."""
    for b in ir:
        if b.id not in plan.structure.returning:
            continue
        if any(plan.primal.reversed(op) for op in b.ops) or any(
            plan.primal.activity.active(p) and not is_array(p.type) for p in b.params
        ):
            plan.effective.add(b.id)


def _control(ir: IR, plan: Plan) -> None:
    """Make what control flow must remember into values: trip counters and taken predecessors."""
    s = plan.structure
    for loop in s.loops:
        if not plan.is_effective(loop):
            continue
        header = ir.blocks[loop.header]
        n = ir.value("trip", _intp())
        header.params.append(n)
        plan.counter[loop] = n
        _edge_to(ir, s.preheader(loop), loop.header).args += (Const(0),)
        latch = ir.blocks[s.latch(loop)]
        up = ir.call(operator.add, n, 1, type=_intp(), loc=latch.term.loc)
        latch.ops.append(up)
        _edge_to(ir, latch.id, loop.header).args += (up.result,)
    for landing, (exiting, left) in s.landing.items():
        if landing not in s.returning:
            continue
        for loop in left:
            if plan.is_effective(loop):
                t = ir.value("trips", _intp())
                ir.blocks[landing].params.append(t)
                _edge_to(ir, exiting, landing).args += (plan.counter[loop],)
                plan.trips[landing, loop.header] = t
    headers = {loop.header for loop in s.loops}
    for b in list(ir):
        preds = [p for p in s.preds[b.id] if p in s.returning]
        if b.id not in s.returning or len(preds) < 2 or b.id in headers:
            continue
        around = _inert(b.id, plan)
        if around is not None:
            plan.skipped[b.id] = around
            continue
        w = ir.value("which", _intp())
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


def _intp():
    from numba import types

    return types.intp


# -- saves -----------------------------------------------------------------------------------------
def choose_saves(ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool) -> Collection[Op]:
    """The stores to save: those that reads of the reverse half would miss.

    Arrays read as a whole (by a matrix product, say) leave no choice. For the others, root by root:
    either its loads are taped, or they are evaluated again, which asks for saves. Whichever
    handles fewer values is taken, weighted by how deep in loops they are."""
    must = _forced_saves(ir, primal, roots, s)
    best, cost = must, _cost(ir, primal, roots, s, split, must)
    for root in sorted(_written_roots(ir, roots), key=lambda r: r.id):
        stores = [op for op in _stores(ir, s) if root in roots[op.args[1]]]
        trial, kept = _pruned(ir, primal, roots, s, split, {*best, *stores}, must)
        if kept < cost:
            best, cost = trial, kept
    return best


def _written_roots(ir: IR, roots: Roots) -> set[Root]:
    return {r for op in ir.ops() if op.is_call(prims.store) for r in roots[op.args[1]]}


def _pruned(
    ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool, saves: set[Op], must: set[Op]
) -> tuple[set[Op], float]:
    """Of the saves those that some evaluated load asks for, and the cost of the plan with them."""
    chooser = _trial(ir, primal, roots, s, split, saves)
    again = [
        chooser.definition[v]
        for v, source in chooser.sources.items()
        if source is Source.AGAIN and chooser.definition[v].is_call(prims.load)
    ]
    kept = {
        op
        for op, _ in chooser.stores
        if op in saves
        and any(
            roots[load.args[1]] & roots[op.args[1]]
            and chooser.shows(load, op, chooser.points[load.result])
            for load in again
        )
    }
    kept |= must
    return kept, _cost(ir, primal, roots, s, split, kept)


def _trial(
    ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool, saves: Collection[Op]
) -> Chooser:
    """What would be chosen with these saves; nothing is changed."""
    primal.saved = dict.fromkeys(saves)
    plan = Plan(s, primal, split, "full")
    _count_loops(ir, plan)
    return Chooser(ir, plan, roots, trial=True)


def _cost(
    ir: IR, primal: Primal, roots: Roots, s: Structure, split: bool, saves: Collection[Op]
) -> float:
    chooser = _trial(ir, primal, roots, s, split, saves)
    taped = sum(chooser._taped(v) for v, how in chooser.sources.items() if how is Source.TAPE)
    return taped + sum(8 * _weight(s, s.home[op.result]) for op in saves)


def _weight(s: Structure, block: int) -> float:
    return 16.0 ** s.forest.depth(block)


def _forced_saves(ir: IR, primal: Primal, roots: Roots, s: Structure) -> set[Op]:
    """The stores that may change an array between an operation that reads it whole and the end."""
    reads = [
        (roots[x], Point(b.id, i))
        for b in ir
        if b.id in s.returning
        for i, op in enumerate(b.ops)
        for x in needs(op, primal).contents
    ]
    return {
        op
        for b in ir
        if b.id in s.returning
        for i, op in enumerate(b.ops)
        if op.is_call(prims.store)
        for read, point in reads
        if read & roots[op.args[1]] and reaches(s, point, Point(b.id, i), None)
    }


def _common(a: Loop | None, b: Loop | None) -> Loop | None:
    """The innermost loop that holds both."""
    around = set()
    while a is not None:
        around.add(a.header)
        a = a.parent
    while b is not None and b.header not in around:
        b = b.parent
    return b


def reaches(s: Structure, a: Point, b: Point, region: Loop | None) -> bool:
    """Whether ``b`` may run after ``a`` in the same iteration of ``region`` (ever, if None)."""
    if a.block == b.block and a.at < b.at:
        return True
    return b.block in s.reach(a.block, region)


# -- sources ---------------------------------------------------------------------------------------
class Chooser:
    """Chooses the source of every needed value: users before what they use, so that all points at
    which a value is wanted are known when its turn comes."""

    def __init__(self, ir: IR, plan: Plan, roots: Roots, trial: bool = False) -> None:
        self.ir, self.plan, self.roots, self.s = ir, plan, roots, plan.structure
        self.trial = trial  # before control flow remembers anything: take counters as given
        self.sources: dict[Value, Source] = {}
        self.points: dict[Value, list[Point]] = defaultdict(list)
        self.definition: dict[Value, Op] = {op.result: op for op in ir.ops()}
        self.order: dict[Value, int] = {}
        self.inductions = {c.var: loop for loop, c in plan.counted.items()}
        self.counters = {n: loop for loop, n in plan.counter.items()}
        self.formulas = {
            t: c
            for (_, header), t in plan.trips.items()
            for c in plan.counted.values()
            if c.header == header and not c.breaks
        }
        self.dependence = Dependence(ir, plan.structure, roots, plan.counted)
        self.place: dict[Value, Point] = {}
        self.stores: list[tuple[Op, Point]] = []
        for b in self.s.order:
            for p in ir.blocks[b].params:
                self.order[p] = len(self.order)
                self.place[p] = Point(b, BEGIN)
            for i, op in enumerate(ir.blocks[b].ops):
                self.order[op.result] = len(self.order)
                self.place[op.result] = Point(b, i)
                if op.is_call(prims.store):
                    self.stores.append((op, Point(b, i)))
        self._ask()
        while self.pending:
            v = max(self.pending, key=self.rank)
            self.pending.discard(v)
            self._choose(v)

    def rank(self, v: Value) -> int:
        return self.order[v]

    def want(self, x: Operand, point: Point) -> None:
        if isinstance(x, Value):
            self.points[x].append(point)
            if x not in self.sources:
                self.pending.add(x)

    def _ask(self) -> None:
        """The demands of the reversed operations and of reversed control flow."""
        self.pending: set[Value] = set()
        self.direct: set[Value] = set()
        plan, s = self.plan, self.s
        for b in self.s.order:
            if b not in s.returning:
                continue
            for i, op in enumerate(self.ir.blocks[b].ops):
                for v in needs(op, plan.primal).values:
                    self.direct.add(v)
                    self.want(v, Point(b, i))
        for v in plan.outputs:
            assert s.exit is not None
            self.want(v, Point(s.exit, len(self.ir.blocks[s.exit].ops)))
        for (landing, _), t in plan.trips.items():
            self.want(t, Point(landing, BEGIN))
        for join, w in plan.which.items():
            self.want(w, Point(join, BEGIN))

    def _choose(self, v: Value) -> None:
        source = self._source(v)
        self.sources[v] = source
        if source is Source.AGAIN:
            for x in self.definition[v].args:
                for point in self.points[v]:
                    self.want(x, point)
        elif source is Source.COUNT:
            for x in self._bounds(v):
                for point in self.points[v]:
                    self.want(x, point)

    def _bounds(self, v: Value) -> tuple[Operand, ...]:
        """What an induction variable or a trip count is computed from."""
        if v in self.formulas:
            return self.formulas[v].start, self.formulas[v].stop
        return (self.plan.counted[self.inductions[v]].start,) if v in self.inductions else ()

    def _source(self, v: Value) -> Source:
        region = self.s.region(v)
        if region is None and not self.plan.split:
            return Source.LOCAL
        if v in self.s.ir.args and is_array(v.type):
            return Source.LOCAL  # split mode hands the arrays over again
        if v in self.counters:
            return Source.COUNT
        if self.plan.policy == "naive":
            return Source.TAPE
        if self._induction(v):
            return Source.COUNT
        if v in self.formulas and self._pays(v, self._bounds(v)):
            return Source.COUNT
        if self.plan.policy == "store" and not is_array(v.type):
            return Source.TAPE
        op = self.definition.get(v)
        if op is None or not self.evaluable(op, self.points[v]):
            return Source.TAPE
        return Source.AGAIN if self._pays(v, op.args[1:]) else Source.TAPE

    def evaluable(self, op: Op, points: list[Point]) -> bool:
        """Whether the operation itself may be evaluated again at the mirrors of the points."""
        if op.kind != CALL:
            return False
        if op.is_call(prims.load):
            return self._memory_agrees(op, points)
        return is_view(op) or (repeatable(op) and not is_array(op.result.type) and cheap(op))

    def _memory_agrees(self, load: Op, points: list[Point]) -> bool:
        read = self.roots[load.args[1]]
        region = self.s.region(load.result)
        start = self.place[load.result]
        for store, at in self.stores:
            if not (read & self.roots[store.args[1]]):
                continue
            if reaches(self.s, start, at, region) and self.dependence.same_iteration(load, store):
                for p in points:
                    if at == p or reaches(self.s, at, p, region):
                        return False  # (a reversed store reads before it puts anything back)
            if store not in self.plan.primal.saved and self.shows(load, store, points):
                return False
        return True

    def shows(self, load: Op, store: Op, points: list[Point]) -> bool:
        """Whether a store that is not rolled back may show when the load is evaluated again at the
        mirror of one of the points: it may run later and hit the element."""
        at = self.place[store.result]
        home = self.s.forest.innermost(at.block)
        inner = self.s.forest.innermost(self.place[load.result].block)
        shared = _common(inner, home)
        for p in points:
            if reaches(self.s, p, at, None):
                now = reaches(self.s, p, at, shared)
                if self.dependence.later(load, store, now):
                    return True
        return False

    def _induction(self, v: Value) -> bool:
        return v in self.inductions and (self.trial or self.inductions[v] in self.plan.counter)

    def _price(self, v: Operand, budget: list[int]) -> float:
        """What it takes to have ``v`` as well: bytes to be taped, times how often."""
        if not isinstance(v, Value) or v in self.direct or v in self.sources:
            return 0.0
        if self.s.region(v) is None and not self.plan.split:
            return 0.0
        if v in self.s.ir.args and is_array(v.type):
            return 0.0
        if v in self.counters or self._induction(v):
            return 0.0
        op = self.definition.get(v)
        budget[0] -= 1
        if op is None or budget[0] < 0 or not self.evaluable(op, self.points[v]):
            return self._taped(v)
        return min(self._taped(v), sum(self._price(a, budget) for a in op.args[1:]))

    def _taped(self, v: Value) -> float:
        return prims.nbytes_of(v.type) * _weight(self.s, self.s.home[v])

    def _pays(self, v: Value, operands: tuple[Operand, ...]) -> bool:
        """Whether computing ``v`` from these asks for less than storing it."""
        if self.plan.policy == "recompute":
            return True
        budget = [12]
        return sum(self._price(x, budget) for x in operands) < self._taped(v)


EXPENSIVE_MODULES = ("math", "cmath", "numpy")


def repeatable(op: Op) -> bool:
    """Whether the result depends on the operands alone. That it may raise is no matter: it did not
    the first time."""
    return not effects.effects(op) & ~effects.Effect.RAISE


def cheap(op: Op) -> bool:
    """Whether computing the scalar again costs no more than storing and reading it."""
    f = op.callee
    if f in (operator.pow, operator.truediv, operator.mod, operator.floordiv):
        return f is not operator.pow or isinstance(op.args[2], Const)
    if registry.scalar(f) is None:
        return True
    return getattr(f, "__module__", None) not in EXPENSIVE_MODULES and not isinstance(f, _ufunc())


def _ufunc() -> type:
    import numpy as np

    return np.ufunc
