"""Whether memory agrees: what a load would find if it were evaluated again in the reverse half.

A load may be evaluated again at the mirror of a point only if no store that may hit its element
lies between the two. And of the stores that come after the point each must be put back by then that
may hit the element: `missed` says which. Neither depends on which stores are saved, so that what
was found holds for every plan.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.core import Op, Value
from ...passes.roots import Roots
from ..adjoint import Primal
from ..loops.dependence import Dependence
from .plan import innermost_common
from .points import Places, Points


class Write(NamedTuple):
    """A store to what a load may read from. ``between``: the points up to which it may have hit the
    element since the load, in the same iteration of what is around the load; ``ever``: the points
    after which it may come at all, ``now``: in the same iteration of the loops around both."""

    store: Op
    between: Points
    ever: Points
    now: Points


class Memory:
    def __init__(
        self, primal: Primal, roots: Roots, dependence: Dependence, places: Places
    ) -> None:
        self.primal, self.roots, self.dependence, self.places = primal, roots, dependence, places
        self.s = dependence.s
        self._writes: dict[Value, list[Write]] = {}
        self._spoilt_by_calls: dict[Value, Points] = {}

    def spoilt(self, load: Op, points: Points) -> bool:
        """Whether, at the mirror of one of the points, the element may be another than it was,
        whatever is saved."""
        if points & self._called(load):
            return True
        return any(
            w.between & points and self.dependence.same_iteration(load, w.store)
            for w in self._to(load)
        )

    def missed(self, load: Op, points: Points) -> list[Op]:
        """The stores that would show at the mirror of one of the points if they were not put back:
        they may run later and hit the element."""
        return [
            w.store
            for w in self._to(load)
            if w.ever & points and self.dependence.later(load, w.store, bool(w.now & points))
        ]

    def _to(self, load: Op) -> list[Write]:
        """The stores that may hit what the load reads."""
        found = self._writes.get(load.result)
        if found is None:
            read, v, p = self.roots[load.args[1]], load.result, self.places
            region = self.s.region(v)
            found = self._writes[v] = []
            for store in p.stores:
                if read.isdisjoint(self.roots[store.args[1]]):
                    continue
                between = p.from_(store, region) if p.follows(v, store, region) else 0
                shared = innermost_common(region, self.s.region(store.result))
                found.append(Write(store, between, p.before(store, None), p.before(store, shared)))
        return found

    def _called(self, load: Op) -> Points:
        """The points at which what calls write may show."""
        v = load.result
        if v not in self._spoilt_by_calls:
            self._spoilt_by_calls[v] = self._calls(load)
        return self._spoilt_by_calls[v]

    def _calls(self, load: Op) -> Points:
        read, v, p, found = self.roots[load.args[1]], load.result, self.places, 0
        region = self.s.region(v)
        for call in p.calls:
            hit = read & self.primal.writes[call]
            if not hit:
                continue
            if p.follows(v, call, region):
                found |= p.from_(call, region)
            if not self.primal.puts_back(call, hit):
                found |= p.before(call, None)
        return found
