"""Scatter to gather: a loop that adds to several neighbours becomes one that collects from all.

The reverse of a stencil adds to ``du[i-1]``, ``du[i]``, ``du[i+1]`` in iteration ``i``: each
element is loaded and stored three times, by iterations that depend on each other, one after the
other. Turned round, the loop runs over the elements and collects what the neighbouring iterations
have for each: one load and store an element, no dependence, vector instructions. Where all
iterations that an element collects from are in range (the interior) nothing is tested; the few
elements at both ends (the ring) are done apart, with a test for each contribution.

Only the additions move, to loops in front of the old one, which keeps all else it does. That is
sound if what is added depends on the counter and on memory that the loop has not yet written when
it is read, and if the loop touches the array in no other way; sums are only reordered.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..ir.builder import Builder
from ..ir.core import IR, Const, Op, Operand, Value
from ..ir.edit import use_counts
from ..ir.loops import preheader
from ..passes.loop_canonical import add_preheader
from ..runtime import prims
from .line import Line, count_up, lines_of, plus, reversed_loops
from .terms import Coefficient, coefficient, collected, terms

SPAN = 16  # the ring is this wide at most
PARTS = 32  # contributions at most


@dataclass(eq=False)
class Addition:
    """``x[...] += value`` in three operations. Iteration ``c`` adds to what belongs to output ``c +
    shift``; ``group`` says which line of which array that is."""

    load: Op
    add: Op
    store: Op
    value: Operand
    group: Any = None
    shift: int = 0

    @property
    def array(self) -> Value:
        x = self.load.args[1]
        assert isinstance(x, Value)
        return x


def gather(ir: IR) -> bool:
    """Turn round all loops of the reverse half where it is sound and of use; whether any was."""
    changed = False
    for line in lines_of(ir, reversed_loops(ir)):
        additions = scattered(line)
        if additions:
            Writer(line, additions).write()
            changed = True
    return changed


# -- what may be turned round ----------------------------------------------------------------------
def scattered(line: Line) -> list[Addition]:
    """The additions that may be collected, none if there are none or it is not worth it."""
    if any(op.is_call(prims.poke) for op in line.ops):
        return []
    found = _of_use(_affine(line, _alone(line)))
    moved = {a.store for a in found}
    stores = [op for op in line.ops if op.is_call(prims.store) and op not in moved]
    reads = [op for op in line.slice_of(a.value for a in found) if op.is_call(prims.load)]
    return [] if any(line.written_before(r, w) for r in reads for w in stores) else found


def _alone(line: Line) -> list[Addition]:
    """The additions to arrays that the loop touches in no other way."""
    found, roots = _additions(line), line.roots
    own = {op for a in found for op in (a.load, a.store)}
    by_root: dict[Any, set[Value]] = {}
    for a in found:
        for r in roots[a.array]:
            by_root.setdefault(r, set()).add(a.array)
    spoilt = {r for r, arrays in by_root.items() if len(arrays) > 1}
    for op in line.ops:
        if op.is_call(prims.load, prims.store) and op not in own:
            spoilt |= roots[op.args[1]]
    return [a for a in found if line.fixed(a.array) and not roots[a.array] & spoilt]


def _additions(line: Line) -> list[Addition]:
    uses = use_counts(line.ir)
    at = {op.result: i for i, op in enumerate(line.ops)}
    found = []
    for store in line.ops:
        add = line.definition.get(store.args[2]) if store.is_call(prims.store) else None  # type: ignore[arg-type]
        if add is None or not add.is_call(operator.add) or uses[add.result] != 1:
            continue
        x, _, *idx = store.args[1:]
        for old, value in (add.args[1:], add.args[:0:-1]):
            load = line.definition.get(old)  # type: ignore[arg-type]
            if load is None or load.args[1:] != (x, *idx) or not load.is_call(prims.load):
                continue
            between = line.ops[at[load.result] : at[store.result]]
            if uses[load.result] == 1 and not any(op.is_call(prims.store) for op in between):
                found.append(Addition(load, add, store, value))
                break
    return found


def _affine(line: Line, additions: Iterable[Addition]) -> list[Addition]:
    """Those whose subscripts are fixed but for one, which is the counter plus or minus something;
    arrays with others are left alone altogether."""
    found, odd, var = [], set(), line.c.var
    for a in additions:
        forms = [line.linear(x) for x in a.load.args[2:]]
        known = [x for x in forms if x is not None]
        moving = [k for k, x in enumerate(known) if var in x.terms]
        if len(known) < len(forms) or len(moving) != 1 or abs(known[moving[0]].terms[var]) != 1:
            odd.add(a.array)
            continue
        x = known[moving[0]]
        a.shift = x.terms[var] * x.constant
        known[moving[0]] = x + -x.constant
        a.group = (a.array, *(y.key() for y in known))
        found.append(a)
    return [a for a in found if a.array not in odd and not line.carries_into([a.value])]


def _of_use(additions: list[Addition]) -> list[Addition]:
    """All, if several neighbours add to one of the arrays, and if it is not too much."""
    shifts: dict[Any, set[int]] = {}
    for a in additions:
        shifts.setdefault(a.group, set()).add(a.shift)
    wide = {g[0] for g, k in shifts.items() if max(k) - min(k) > SPAN}
    of_use = any(len(k) > 1 and g[0] not in wide for g, k in shifts.items())
    kept = [a for a in additions if a.array not in wide]
    return kept if of_use and len(kept) <= PARTS else []


# -- turning it round ------------------------------------------------------------------------------
class Writer:
    """Writes the interior and the ring of one scatter in front of it."""

    def __init__(self, line: Line, additions: list[Addition]) -> None:
        self.ir, self.line, self.additions = line.ir, line, additions
        self.type = line.c.var.type
        self.groups: dict[Any, list[Addition]] = {}
        for a in additions:
            self.groups.setdefault(a.group, []).append(a)
        for parts in self.groups.values():
            middle = (min(a.shift for a in parts) + max(a.shift for a in parts)) // 2
            for a in parts:
                a.shift -= middle
        self.shifts = sorted({a.shift for a in additions})
        self.made: dict[Coefficient, Operand] = {}

    def write(self) -> None:
        loop, loc = self.line.c.loop, self.additions[0].store.loc
        ahead = preheader(self.ir, loop) or add_preheader(self.ir, loop)
        onward = ahead.term
        b = self.b = Builder(self.ir, ahead, loc)
        self.before = Builder(self.ir, ahead, loc)
        low, high = self.shifts[0], self.shifts[-1]
        self.start, self.end = self.line.bounds(b)
        begin, end = self.plus(self.start, high), self.plus(self.end, low)
        end = self.select(b.call(operator.lt, begin, end, type=_bool()), end, begin)
        right = self.minus(self.plus(self.end, high), end)
        self.first, self.second = self.plus(self.start, low), self.plus(end, low - high)
        count = self.plus(right, high - low)
        count_up(b, begin, end, self.inside)
        if high > low:
            count_up(b, Const(0), count, self.ring)
        b.block.term = onward
        gone = {op for a in self.additions for op in (a.load, a.add, a.store)}
        self.line.ops[:] = [op for op in self.line.ops if op not in gone]

    def inside(self, j: Value) -> None:
        """An element with all its contributions."""
        env = {k: self.environment(j, k) for k in self.shifts}
        for parts in self.groups.values():
            self.collect(parts, env)

    def ring(self, r: Value) -> None:
        """An element at one of the ends, with those of its contributions that there are."""
        b, span = self.b, self.shifts[-1] - self.shifts[0]
        left = b.call(operator.lt, r, span, type=_bool())
        base = self.select(left, self.first, self.second)
        j = b.call(operator.add, base, r, type=self.type)
        for k in self.shifts:
            env = self.environment(j, k)
            c = env[self.line.c.var]
            some, further, after = self.ir.block(), self.ir.block(), self.ir.block()
            b.branch(b.call(operator.le, self.start, c, type=_bool()), further, after)
            b.at(further)
            b.branch(b.call(operator.lt, c, self.end, type=_bool()), some, after)
            b.at(some)
            for parts in self.groups.values():
                here = [a for a in parts if a.shift == k]
                if here:
                    self.collect(here, {k: env})
            b.jump(after)
            b.at(after)

    def environment(self, j: Value, shift: int) -> dict[Operand, Operand]:
        """What stands for the counter in the iteration that adds to ``j`` with this shift."""
        return self.line.iteration(self.plus(j, -shift), self.b)

    def collect(self, parts: list[Addition], env: dict[int, dict[Operand, Operand]]) -> None:
        """Add what the iterations have for one element."""
        t = parts[0].add.result.type
        found = [
            (scale, (a.shift, x))
            for a in parts
            for scale, x in terms(a.value, self.line.definition, self.line.fixed, t)
        ]
        total: Operand | None = None
        for key, things in collected(found).items():
            share: Operand | None = None
            for shift, part in things:
                share = self.sum(share, self.line.again(part, env[shift], self.b), t)
            assert share is not None
            c = self.coefficient(key, t)
            if c != Const(1.0):
                share = self.b.call(operator.mul, share, c, type=t)
            total = self.sum(total, share, t)
        first = parts[0]
        x, *idx = (self.line.again(v, env[first.shift], self.b) for v in first.load.args[1:])
        old = self.b.call(prims.load, x, *idx, type=first.load.result.type)
        self.b.call(prims.store, x, self.sum(old, total, t), *idx)

    def sum(self, x: Operand | None, y: Operand | None, type: Any) -> Operand:
        assert y is not None
        return y if x is None else self.b.call(operator.add, x, y, type=type)

    def coefficient(self, key: Coefficient, type: Any) -> Operand:
        """A coefficient, made before the loops."""
        if key not in self.made:
            self.made[key] = coefficient(key, self.before, type)
        return self.made[key]

    def plus(self, x: Operand, k: int) -> Operand:
        return plus(self.b, x, k, self.type)

    def minus(self, x: Operand, y: Operand) -> Operand:
        return self.b.call(operator.sub, x, y, type=self.type)

    def select(self, c: Operand, x: Operand, y: Operand) -> Operand:
        return self.b.call(prims.select, c, x, y, type=self.type)


def _bool() -> Any:
    from numba import types

    return types.boolean
