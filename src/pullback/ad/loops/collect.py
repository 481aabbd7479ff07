"""Write what `gather` has found: loops over the elements, which collect what iterations add.

Level by level: where all iterations that an element collects from are in range (the interior)
nothing is tested; at both ends (the ring) each distance between iteration and element is done
apart, if that iteration exists, with the levels further in for the additions of that distance.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...ir.builder import Builder
from ...ir.core import Const, Operand, Value
from ...ir.loops import preheader
from ...passes.loop_canonical import add_preheader
from ...runtime import prims
from .line import count_up, plus
from .nest import Nest, bounds
from .terms import Coefficient, coefficient, collected, terms

if TYPE_CHECKING:
    from .gather import Addition
    from .zeros import Awaited

Range = tuple[Operand, Operand]


class Writer:
    """Writes the loops of one scatter in front of it. ``awaited`` are arrays that may be waiting to
    be set to zero: if all are, sums are stored into them in the interior."""

    def __init__(self, nest: Nest, additions: list[Addition], awaited: list[Awaited]) -> None:
        self.ir, self.nest, self.additions, self.awaited = nest.ir, nest, additions, awaited
        self.depth = len(nest.levels)
        self.groups: dict[Any, list[Addition]] = {}
        for a in additions:
            self.groups.setdefault(a.group, []).append(a)
        for group in self.groups.values():
            middle = centre(group)
            for a in group:
                a.shift = tuple(s - m for s, m in zip(a.shift, middle, strict=True))
        self.made: dict[Coefficient, Operand] = {}
        self.stored: set[Value] = set()  # the arrays that the version being written stores to

    def write(self) -> None:
        loop, loc = self.nest.loop, self.additions[0].store.loc
        ahead = preheader(self.ir, loop) or add_preheader(self.ir, loop)
        onward = ahead.term
        self.before = Builder(self.ir, ahead, loc)
        self.box: list[Range] = [bounds(c, self.before) for c in self.nest.levels]
        b = self.b = Builder(self.ir, ahead, loc)
        if self.awaited:
            self._versions()
        else:
            self.inside([])
        self.level(self.additions, [])
        b.block.term = onward
        gone = {op for a in self.additions for op in (a.load, a.add, a.store)}
        self.nest.line.ops[:] = [op for op in self.nest.line.ops if op not in gone]

    def _versions(self) -> None:
        """Sums are stored if all that is awaited is waiting, else added."""
        b, fills = self.b, [awaited.fill for awaited in self.awaited]
        waiting: Operand = Const(True)
        check, storing, adding, after = (self.ir.block() for _ in range(4))
        b.jump(check)
        b.at(check)
        for fill in fills:
            fill.consumers.add(check.id)
            flag = b.get(fill.waiting)
            if waiting != Const(True):
                flag = b.call(prims.select, waiting, flag, False, type=_bool())
            waiting = flag
        b.branch(waiting, storing, adding)
        b.at(storing)
        inner = [self._interior(self.additions, k) for k in range(self.depth)]
        for awaited in self.awaited:
            b.set(awaited.fill.waiting, False)
            awaited.fill.write_around([self._subscripts(p, inner) for p in awaited.places], b)
            self.stored.add(awaited.fill.array)
        self.inside([])
        b.jump(after)
        b.at(adding)
        self.stored.clear()
        for fill in fills:
            fill.write_if_waiting(b)
        self.inside([])
        b.jump(after)
        b.at(after)

    def _subscripts(self, place: tuple[int, int], inner: list[Range]) -> Range:
        """The interior as subscripts of the array."""
        level, middle = place
        type = self.nest.levels[level].var.type
        low, high = (plus(self.before, x, middle, type) for x in inner[level])
        return low, high

    # -- level by level ------------------------------------------------------------------------
    def inside(self, at: list[Operand]) -> None:
        """The interior of all levels, where each element gets all that it gets."""
        if len(at) == self.depth:
            for group in self.groups.values():
                self.collect(group, at, group[0].array in self.stored)
            return
        begin, end = self._interior(self.additions, len(at))
        count_up(self.b, begin, end, lambda j: self.inside([*at, j]))

    def level(self, additions: list[Addition], at: list[Operand]) -> None:
        """Collect the additions for the other elements, of those whose first subscripts are
        ``at``."""
        k = len(at)
        whole = len(additions) == len(self.additions)
        if whole and not any(len(_at_level(additions, m)) > 1 for m in range(k, self.depth)):
            return  # it is all interior
        if k == self.depth:
            for group in self.groups.values():
                here = [a for a in group if a in additions]
                if here:
                    self.collect(here, at, stored=False)
            return
        begin, end = self._interior(additions, k)
        if not (whole and k == self.depth - 1):
            count_up(self.b, begin, end, lambda j: self.level(additions, [*at, j]))
        if len(_at_level(additions, k)) > 1:
            self._ring(additions, at, end)

    def _interior(self, additions: list[Addition], k: int) -> Range:
        """From where to where all iterations that an element collects from are in range."""
        b, (start, stop) = self.before, self.box[k]
        shifts, type = _at_level(additions, k), self.nest.levels[k].var.type
        begin, end = plus(b, start, max(shifts), type), plus(b, stop, min(shifts), type)
        some = b.call(operator.lt, begin, end, type=_bool())
        return begin, b.call(prims.select, some, end, begin, type=type)

    def _ring(self, additions: list[Addition], at: list[Operand], end: Operand) -> None:
        """The elements at both ends, with those of their contributions that there are."""
        k = len(at)
        shifts = sorted(_at_level(additions, k))
        low, high = shifts[0], shifts[-1]
        b, (start, stop), type = self.before, self.box[k], self.nest.levels[k].var.type
        right = b.call(operator.sub, plus(b, stop, high, type), end, type=type)
        first, second = plus(b, start, low, type), plus(b, end, low - high, type)
        count = plus(b, right, high - low, type)

        def element(r: Value) -> None:
            b = self.b
            left = b.call(operator.lt, r, high - low, type=_bool())
            base = b.call(prims.select, left, first, second, type=type)
            j = b.call(operator.add, base, r, type=type)
            for shift in shifts:
                c = plus(b, j, -shift, type)
                some = [a for a in additions if a.shift[k] == shift]
                self._if_between(c, (start, stop), self._deeper(some, [*at, j]))

        count_up(self.b, Const(0), count, element)

    def _deeper(self, some: list[Addition], at: list[Operand]) -> Callable[[], None]:
        return lambda: self.level(some, at)

    def _if_between(self, c: Operand, box: Range, write: Callable[[], None]) -> None:
        b = self.b
        some, further, after = self.ir.block(), self.ir.block(), self.ir.block()
        b.branch(b.call(operator.le, box[0], c, type=_bool()), further, after)
        b.at(further)
        b.branch(b.call(operator.lt, c, box[1], type=_bool()), some, after)
        b.at(some)
        write()
        b.jump(after)
        b.at(after)

    # -- an element ----------------------------------------------------------------------------
    def environment(self, at: list[Operand], shift: tuple[int, ...]) -> dict[Operand, Operand]:
        """What stands for the counters in the iteration that adds to ``at`` with this shift."""
        counters = [
            plus(self.b, j, -s, c.var.type)
            for j, s, c in zip(at, shift, self.nest.levels, strict=True)
        ]
        return self.nest.iteration(counters, self.b)

    def collect(self, group: list[Addition], at: list[Operand], stored: bool) -> None:
        """Add what the iterations have for one element, or store it."""
        t = group[0].add.result.type
        env = {s: self.environment(at, s) for s in dict.fromkeys(a.shift for a in group)}
        found = [
            (scale, (a.shift, x))
            for a in group
            for scale, x in terms(a.value, self.nest.definition, self.nest.fixed, t)
        ]
        total: Operand | None = None
        for key, things in collected(found).items():
            share: Operand | None = None
            for shift, part in things:
                share = self.sum(share, self.nest.again(part, env[shift], self.b), t)
            assert share is not None
            c = self.coefficient(key, t)
            if c != Const(1.0):
                share = self.b.call(operator.mul, share, c, type=t)
            total = self.sum(total, share, t)
        first = group[0]
        x, *idx = (self.nest.again(v, env[first.shift], self.b) for v in first.load.args[1:])
        if not stored:
            old = self.b.call(prims.load, x, *idx, type=first.load.result.type)
            total = self.sum(old, total, t)
        self.b.call(prims.store, x, total, *idx)

    def sum(self, x: Operand | None, y: Operand | None, type: Any) -> Operand:
        assert y is not None
        return y if x is None else self.b.call(operator.add, x, y, type=type)

    def coefficient(self, key: Coefficient, type: Any) -> Operand:
        """A coefficient, made before the loops."""
        if key not in self.made:
            self.made[key] = coefficient(key, self.before, type)
        return self.made[key]


def _at_level(additions: list[Addition], k: int) -> set[int]:
    """The shifts that there are at a level."""
    return {a.shift[k] for a in additions}


def centre(group: list[Addition]) -> tuple[int, ...]:
    """The middle of the shifts, level by level."""
    return tuple((min(k) + max(k)) // 2 for k in zip(*(a.shift for a in group)))


def _bool() -> Any:
    from numba import types

    return types.boolean
