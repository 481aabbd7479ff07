"""Store or compute again: the cheapest cut between what the reverse half reads and what it is
computed from.

Each wanted value is an arc that costs its bytes on the tape times how often it is defined. Behind
the arc is what it costs to compute it again, and the values that are then wanted; what nobody can
compute, and a load whose element is overwritten before it is wanted, leads to the sink at once.
A load that finds its element because a store has put it back leads to that store: saving it costs
bytes too, and makes its address wanted. The values on the arcs that the cheapest cut takes are
taped, the stores on the source's side are saved, and all else is computed again.

Where a value is wanted depends on what is computed again, and whether memory agrees depends on
where a load is wanted. So the first cut takes each load to be wanted wherever it might be; the next
ones where it is wanted by the plan so far, as long as that makes plans cheaper.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from math import inf

from ...ir.core import Op, Value
from ...runtime import prims
from ..kinds import type_of
from .costs import work
from .flow import SINK, SOURCE, Network
from .plan import Source
from .sources import Asked, Program, Spread, spread


def cheapest_saves(program: Program, must: Collection[Op], stores: Container[Op]) -> Spread:
    """A plan with the stores to save for the cheapest one, among them those that ``must`` be."""
    most = spread(program, must, lambda v: False, on_demand=stores)
    if all(asked == () for asked in most.asked.values()):
        return most  # memory agrees everywhere
    return cheapest(program, must, stores, most.asked)


def cheapest(
    program: Program, saves: Collection[Op], on_demand: Container[Op], asked: Asked
) -> Spread:
    """The cheapest plan that saves these stores, and any of those ``on_demand`` if it pays;
    ``asked``: by loads in a plan that computes more of them again."""
    best: Spread | None = None
    cost = inf
    while True:
        tape, saved = Cut(program, saves, on_demand, asked).solved()
        found = spread(program, saved, tape.__contains__)
        now = price(program, found)
        if best is not None and now >= cost:
            return best
        best, cost, before = found, now, asked
        asked = found.asked = {**before, **found.asked}
        if asked == before:
            return best


def price(program: Program, plan: Spread) -> float:
    """The bytes of the tape, and what is computed again in terms of them."""
    taped = sum(program.taped(v) for v, how in plan.sources.items() if how is Source.TAPE)
    again = sum(effort(program, v) for v, how in plan.sources.items() if how is Source.AGAIN)
    copied = sum(n for x, n in program.content.items() if plan.sources.get(x) is Source.LOCAL)
    return taped + copied + again + sum(saving(program, store) for store in plan.saves)


def effort(program: Program, v: Value) -> float:
    op = program.definition.get(v)
    return 0.0 if op is None else work(op) * program.plan.rounds(program.s.home[v])


def saving(program: Program, store: Op) -> float:
    nbytes = prims.nbytes_of(type_of(store.args[1]).dtype)
    return nbytes * program.plan.rounds(program.s.home[store.result])


class Cut:
    """The network of one program. ``into[v]`` is the node that is on the source's side if ``v`` is
    wanted, ``again[v]`` if it is computed again. What is wanted in any case is the source."""

    def __init__(
        self,
        program: Program,
        saves: Collection[Op],
        on_demand: Container[Op],
        asked: Asked,
    ) -> None:
        self.program, self.saves, self.on_demand, self.asked = program, saves, on_demand, asked
        self.net = Network()
        self.into: dict[Value, int] = {}
        self.again: dict[Value, int] = {}
        self.saved: dict[Op, int] = {}
        self.waiting: list[Value] = []
        for v, _ in program.demands():
            self._wanted(v, SOURCE)
        for store in saves:
            for v, _ in program.to_save(store):
                self._wanted(v, SOURCE)
        while self.waiting:
            self._value(self.waiting.pop())

    def solved(self) -> tuple[set[Value], list[Op]]:
        """The values to tape, among those that have a choice, and the stores to save."""
        side = set(self.net.cut())
        tape = {v for v, n in self.again.items() if n not in side}
        return tape, [*self.saves, *(op for op, n in self.saved.items() if n in side)]

    def _wanted(self, v: Value, node: int | None = None) -> int:
        if v not in self.into:
            self.into[v] = self.net.node() if node is None else node
            self.waiting.append(v)
        return self.into[v]

    def _arcs(self, node: int, operands: Iterable[object]) -> None:
        for x in operands:
            if isinstance(x, Value):
                end = self._wanted(x)
                if end != SOURCE:
                    self.net.arc(node, end)

    def _value(self, v: Value) -> None:
        program, node = self.program, self.into[v]
        source = program.without_choice(v)
        if source is Source.LOCAL:
            return
        if source is Source.COUNT:
            self._arcs(node, program.parts(v) or ())
            return
        taped = program.taped(v)
        effort_, stores = effort(program, v), self.asked.get(v, ())
        if source is Source.TAPE or stores is None or effort_ >= taped:
            self._taped(v, node, taped)
            return
        stores = tuple(store for store in stores if store not in self.saves)
        if any(store not in self.on_demand for store in stores):
            self._taped(v, node, taped)
            return
        again = self.again[v] = self.net.node()
        self.net.arc(node, again, taped)
        if effort_:
            self.net.arc(again, SINK, effort_)
        for store in stores:
            self.net.arc(again, self._save(store))
        self._arcs(again, program.parts(v) or ())

    def _taped(self, v: Value, node: int, cost: float) -> None:
        """No choice, if it is wanted at all. (What is wanted in any case need not be weighed.)"""
        self.again[v] = SINK
        if node != SOURCE:
            self.net.arc(node, SINK, cost)

    def _save(self, store: Op) -> int:
        if store not in self.saved:
            node = self.saved[store] = self.net.node()
            self.net.arc(node, SINK, saving(self.program, store))
            self._arcs(node, (x for x, _ in self.program.to_save(store)))
        return self.saved[store]
