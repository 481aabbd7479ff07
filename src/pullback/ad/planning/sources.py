"""Where each needed value comes from, given which stores are saved.

A value that is wanted at some points is taped, or computed again from others that are then wanted
at the same points: `Program` knows what has a choice, `spread` follows the wants from users to what
they use, so that all points at which a value is wanted are known when its turn comes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

from ...ir.core import CALL, IR, Op, Operand, Value
from ...passes import effects
from ...passes.roots import Roots, is_view
from ...runtime import prims
from ..adjoint import needs
from ..kinds import is_array
from ..loops.dependence import Dependence
from .memory import Memory
from .plan import Plan, Source
from .points import Places, Points


class Program:
    """What is to be planned: what the reverse half wants, and what could be computed again."""

    def __init__(self, ir: IR, plan: Plan, roots: Roots) -> None:
        self.ir, self.plan, self.s, self.roots = ir, plan, plan.structure, roots
        self.places = Places(ir, self.s, plan.primal)
        dependence = Dependence(ir, self.s, roots, plan.counted)
        self.memory = Memory(plan.primal, roots, dependence, self.places)
        self.inductions = {c.var: loop for loop, c in plan.counted.items()}
        self.given = {a for a in ir.args if is_array(a.type)} if plan.split else set()
        self.copies: dict[Value, Value] = {}  # element -> copy of the array from which it is read
        self.content: dict[Value, float] = {}  # copy -> its bytes, times how often it is made
        self._needs: dict[Op, list[Value]] = {}
        self.remembered = False
        self._look()

    def remember(self) -> None:
        """Look again: elements are saved, and control flow remembers what it must."""
        self.remembered = True
        for op in self.plan.primal.saved:
            self._needs.pop(op, None)
        self.look()

    def look(self) -> None:
        """Look at the operations again: there are others."""
        self.s.locate()
        self.places.look()
        self._look()

    def _look(self) -> None:
        plan = self.plan
        self.definition = {op.result: op for op in self.ir.ops()}
        self.counters = {n: loop for loop, n in plan.counter.items()}
        heads = {c.header: c for c in plan.counted.values() if not c.breaks}
        self.formulas = {t: heads[h] for (_, h), t in plan.trips.items() if h in heads}
        self._source: dict[Value, Source | None] = {}
        self._parts: dict[Value, tuple[Operand, ...] | None] = {}

    def demands(self) -> Iterator[tuple[Value, Points]]:
        """What the reversed operations and reversed control flow read, and where."""
        plan, s, p = self.plan, self.s, self.places
        for b in s.order:
            if b not in s.returning:
                continue
            for op in self.ir.blocks[b].ops:
                if op.kind == CALL:
                    if op not in self._needs:
                        self._needs[op] = needs(op, plan.primal).values
                    for v in self._needs[op]:
                        yield v, 1 << p.at[op.result]
        for v in plan.outputs:
            assert s.exit is not None
            yield v, 1 << p.end[s.exit]
        for (landing, _), t in plan.trips.items():
            yield t, 1 << p.first[landing]
        for join, w in plan.which.items():
            yield w, 1 << p.first[join]

    def to_save(self, store: Op) -> Iterator[tuple[Value, Points]]:
        """What is wanted, and where, if a store is saved: its address."""
        for x in (store.args[1], *store.args[3:]):
            if isinstance(x, Value):
                yield x, 1 << self.places.at[store.result]

    def without_choice(self, v: Value) -> Source | None:
        """The source of a value for which there is only one."""
        if v not in self._source:
            self._source[v] = self._only(v)
        return self._source[v]

    def _only(self, v: Value) -> Source | None:
        if v in self.given or (self.s.region(v) is None and not self.plan.split):
            return Source.LOCAL  # split mode hands the arrays over again
        if v in self.counters:
            return Source.COUNT
        if self.plan.policy == "naive":
            return Source.TAPE
        if v in self.inductions and not self._uncounted(v):
            return Source.COUNT
        return None if self.parts(v) is not None else Source.TAPE

    def _uncounted(self, v: Value) -> bool:
        return self.remembered and self.inductions[v] not in self.plan.counter

    def parts(self, v: Value) -> tuple[Operand, ...] | None:
        """What ``v`` can be computed from, None if it cannot: for a load if memory agrees."""
        if v not in self._parts:
            self._parts[v] = self._made_of(v)
        return self._parts[v]

    def _made_of(self, v: Value) -> tuple[Operand, ...] | None:
        if v in self.counters:
            return ()
        if v in self.formulas:
            return self.formulas[v].start, self.formulas[v].stop
        if v in self.inductions:
            return None if self._uncounted(v) else (self.plan.counted[self.inductions[v]].start,)
        op = self.definition.get(v)
        if op is None or op.kind != CALL:
            return None
        if v in self.copies:
            return self.copies[v], *op.args[2:]
        if op.is_call(prims.load) or is_view(op):
            return op.args[1:]
        return op.args[1:] if repeatable(op) and not is_array(v.type) else None

    def load(self, v: Value) -> Op | None:
        """The operation if the value is an element of an array."""
        op = self.definition.get(v)
        return op if op is not None and op.is_call(prims.load) else None

    def asks(self, load: Op, at: Points) -> tuple[Op, ...] | None:
        """The stores that must be saved if the load is evaluated again at these points; None if it
        may not be."""
        if load.result in self.copies:
            return ()
        memory = self.memory
        return None if memory.spoilt(load, at) else tuple(memory.missed(load, at))

    def taped(self, v: Value) -> float:
        """Bytes on the tape, times how often."""
        handle = prims.nbytes_of(v.type) * self.plan.rounds(self.s.home[v])
        return handle + self.content.get(v, 0.0)


Asked = dict[Value, tuple[Op, ...] | None]
"""For each load the stores that must be saved if it is evaluated again where it is wanted; None if
it may not be."""


@dataclass
class Spread:
    """``points``: where each value is wanted; ``saves``: the stores that are saved; ``asked``: by
    which loads."""

    saves: dict[Op, None]
    sources: dict[Value, Source] = field(default_factory=dict)
    points: dict[Value, Points] = field(default_factory=dict)
    asked: Asked = field(default_factory=dict)


def spread(
    program: Program,
    saves: Iterable[Op],
    tape: Callable[[Value], bool],
    *,
    on_demand: Container[Op] = (),
) -> Spread:
    """Choose the tape for what it is said of, and for loads if memory does not agree; for all else
    to compute it again. Stores ``on_demand`` are saved when a load asks for it."""
    made = Spread(dict.fromkeys(saves))
    points, order = made.points, program.places.order
    queue: list[tuple[int, Value]] = []
    spread_: dict[Value, Points] = {}

    def want(x: Operand, at: Points) -> None:
        if isinstance(x, Value):
            old = points.get(x, 0)
            if old | at != old:
                points[x] = old | at
                if old == spread_.get(x, 0):  # it is not in the queue
                    heappush(queue, (-order[x], x))

    def agrees(load: Op, at: Points) -> bool:
        asked = made.asked[load.result] = program.asks(load, at)
        if asked is None:
            return False
        new = [store for store in asked if store not in made.saves]
        if any(store not in on_demand for store in new):
            return False
        for store in new:
            made.saves[store] = None
            for x, there in program.to_save(store):
                want(x, there)
        return True

    for v, at in program.demands():
        want(v, at)
    for store in made.saves:
        for v, at in program.to_save(store):
            want(v, at)
    while queue:
        _, v = heappop(queue)
        at = spread_[v] = points[v]
        source = program.without_choice(v)
        if source is None:
            load = program.load(v)
            again = load is None or agrees(load, at)
            if tape(v) or not again:
                source = Source.TAPE
            else:
                source = Source.COUNT if v in program.formulas else Source.AGAIN
        made.sources[v] = source
        if source is Source.AGAIN or source is Source.COUNT:
            for x in program.parts(v) or ():
                want(x, at)
    return made


def repeatable(op: Op) -> bool:
    """Whether the result depends on the operands alone. That it may raise is no matter: it did not
    the first time."""
    return not effects.effects(op) & ~effects.RAISE
