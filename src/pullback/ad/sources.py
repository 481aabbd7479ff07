"""Choose where each needed value comes from: users before what they use, so that all points at
which a value is wanted are known when its turn comes."""

from __future__ import annotations

import math
import operator
from collections import defaultdict

import numpy as np

from ..ir.core import CALL, IR, Const, Op, Operand, Value
from ..passes import effects
from ..rules import registry
from ..runtime import prims
from .adjoint import needs
from .dependence import Dependence
from .kinds import is_array
from .plan import BEGIN, Plan, Point, Source, innermost_common, reaches, weight
from .roots import Root, Roots, is_view


class Chooser:
    """Chooses the source of every needed value: users before what they use, so that all points at
    which a value is wanted are known when its turn comes. A trial, before control flow remembers
    anything, takes counters as given; it shares what is known of ``dependence`` with others."""

    def __init__(
        self, ir: IR, plan: Plan, roots: Roots, dependence: Dependence | None = None
    ) -> None:
        self.ir, self.plan, self.roots, self.s = ir, plan, roots, plan.structure
        self.trial = dependence is not None
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
        self.dependence = dependence or Dependence(ir, plan.structure, roots, plan.counted)
        self.place: dict[Value, Point] = {}
        self.stores: list[tuple[Op, Point]] = []
        self.calls: list[tuple[Op, Point]] = []  # those that write
        for b in self.s.order:
            for p in ir.blocks[b].params:
                self.order[p] = len(self.order)
                self.place[p] = Point(b, BEGIN)
            for i, op in enumerate(ir.blocks[b].ops):
                self.order[op.result] = len(self.order)
                self.place[op.result] = Point(b, i)
                if op.is_call(prims.store):
                    self.stores.append((op, Point(b, i)))
                elif op in plan.primal.writes:
                    self.calls.append((op, Point(b, i)))
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
        return not any(self._call_shows(read, start, call, at, points) for call, at in self.calls)

    def _call_shows(
        self, read: frozenset[Root], start: Point, call: Op, at: Point, points: list[Point]
    ) -> bool:
        """Whether what a call writes may show when a load is evaluated again."""
        hit = read & self.plan.primal.writes[call]
        if not hit:
            return False
        region = self.s.forest.innermost(start.block)
        between = any(at == p or reaches(self.s, at, p, region) for p in points)
        if between and reaches(self.s, start, at, region):
            return True
        back = self.plan.primal.puts_back(call, hit)
        return not back and any(reaches(self.s, p, at, None) for p in points)

    def shows(self, load: Op, store: Op, points: list[Point]) -> bool:
        """Whether a store that is not rolled back may show when the load is evaluated again at the
        mirror of one of the points: it may run later and hit the element."""
        at = self.place[store.result]
        home = self.s.forest.innermost(at.block)
        inner = self.s.forest.innermost(self.place[load.result].block)
        shared = innermost_common(inner, home)
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
            return self.taped(v)
        return min(self.taped(v), sum(self._price(a, budget) for a in op.args[1:]))

    def taped(self, v: Value) -> float:
        return prims.nbytes_of(v.type) * weight(self.s, self.s.home[v])

    def _pays(self, v: Value, operands: tuple[Operand, ...]) -> bool:
        """Whether computing ``v`` from these asks for less than storing it."""
        if self.plan.policy == "recompute":
            return True
        budget = [12]
        return sum(self._price(x, budget) for x in operands) < self.taped(v)


EXPENSIVE_MODULES = ("math", "cmath", "numpy")
QUICK = (
    *(math.sqrt, math.fabs, math.floor, math.ceil, math.trunc),
    *(np.sqrt, np.absolute, np.floor, np.ceil),
)
"""One instruction each: no dearer than a trip to the tape and back, which leaves the cache."""


def repeatable(op: Op) -> bool:
    """Whether the result depends on the operands alone. That it may raise is no matter: it did not
    the first time."""
    return not effects.effects(op) & ~effects.Effect.RAISE


def cheap(op: Op) -> bool:
    """Whether computing the scalar again costs no more than storing and reading it."""
    f = op.callee
    if f in (operator.pow, operator.truediv, operator.mod, operator.floordiv):
        return f is not operator.pow or isinstance(op.args[2], Const)
    if registry.scalar(f) is None or f in QUICK:
        return True
    return getattr(f, "__module__", None) not in EXPENSIVE_MODULES and not isinstance(f, _ufunc())


def _ufunc() -> type:
    import numpy as np

    return np.ufunc
