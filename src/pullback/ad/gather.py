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
from dataclasses import dataclass, field
from typing import Any

from ..ir.builder import Builder
from ..ir.core import CUT, IR, Block, Const, Op, Operand, Value
from ..ir.dominators import dominators
from ..ir.edit import use_counts
from ..ir.loops import CountedLoop, Loop, counted, loop_forest, preheader
from ..passes import effects
from ..passes.loop_canonical import add_preheader
from ..runtime import prims
from .affine import Linear
from .roots import Roots
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


@dataclass
class Scatter:
    """A loop whose ``additions`` can be collected. ``line`` is the body, ``definition`` has its
    operations by result, ``anywhere`` those of the whole function."""

    c: CountedLoop
    line: list[Op]
    definition: dict[Value, Op]
    anywhere: dict[Value, Op]
    additions: list[Addition] = field(default_factory=list)


def gather(ir: IR) -> bool:
    """Turn round all loops of the reverse half where it is sound and of use; whether any was."""
    roots, found = Roots(ir), []
    for loop in _reversed_loops(ir):
        s = scatter(ir, loop, roots)
        if s is not None:
            found.append(s)
    for s in found:
        Writer(ir, s).write()
    return bool(found)


def _reversed_loops(ir: IR) -> list[Loop]:
    """The loops behind the cut; all, if there is none. (In the forward half sums keep their order:
    the value is the very one that the function returns.)"""
    tree = dominators(ir)
    cut = [b.id for b in ir if any(op.kind == CUT for op in b.ops)]
    return [x for x in loop_forest(ir, tree) if all(tree.dominates(b, x.header) for b in cut)]


# -- what may be turned round ----------------------------------------------------------------------
def scatter(ir: IR, loop: Loop, roots: Roots) -> Scatter | None:
    """The loop as a scatter, None if it is none or nothing is known of what it does."""
    c = counted(ir, loop)
    if c is None or c.breaks or loop.children or abs(c.step) != 1 or len(loop.blocks) != 2:
        return None
    header, body = ir.blocks[loop.header], ir.blocks[c.latch]
    if len(header.ops) != 1 or not all(map(_known, body.ops)):
        return None
    own = {op.result: op for op in body.ops}
    s = Scatter(c, body.ops, own, {op.result: op for op in ir.ops()})
    s.additions = _of_use(_affine(s, header, _alone(s, ir, roots)))
    return s if s.additions and _reads_agree(s, header, roots) else None


def _known(op: Op) -> bool:
    return (
        op.is_call(prims.load, prims.store, prims.peek) or not effects.effects(op) & ~effects.RAISE
    )


def _alone(s: Scatter, ir: IR, roots: Roots) -> list[Addition]:
    """The additions to arrays that the loop touches in no other way."""
    found = _additions(s, use_counts(ir))
    own = {op for a in found for op in (a.load, a.store)}
    by_root: dict[Any, set[Value]] = {}
    for a in found:
        for r in roots[a.load.args[1]]:
            by_root.setdefault(r, set()).add(a.load.args[1])  # type: ignore[arg-type]
    spoilt = {r for r, arrays in by_root.items() if len(arrays) > 1}
    for op in s.line:
        if op.is_call(prims.load, prims.store) and op not in own:
            if not roots[op.args[1]]:
                return []  # it may be any array
            spoilt |= roots[op.args[1]]
    return [a for a in found if (r := roots[a.load.args[1]]) and not r & spoilt]


def _additions(s: Scatter, uses: dict[Value, int]) -> list[Addition]:
    at = {op.result: i for i, op in enumerate(s.line)}
    found = []
    for store in s.line:
        add = s.definition.get(store.args[2]) if store.is_call(prims.store) else None  # type: ignore[arg-type]
        if add is None or not add.is_call(operator.add) or uses[add.result] != 1:
            continue
        x, _, *idx = store.args[1:]
        for old, value in (add.args[1:], add.args[:0:-1]):
            load = s.definition.get(old)  # type: ignore[arg-type]
            if load is None or load.args[1:] != (x, *idx) or not load.is_call(prims.load):
                continue
            between = s.line[at[load.result] : at[store.result]]
            if uses[load.result] == 1 and not any(op.is_call(prims.store) for op in between):
                found.append(Addition(load, add, store, value))
                break
    return found


def _affine(s: Scatter, header: Block, additions: Iterable[Addition]) -> list[Addition]:
    """Those whose subscripts are fixed but for one, which is the counter plus or minus something;
    arrays with others are left alone altogether."""
    found, odd = [], set()
    for a in additions:
        lines = [linear(x, s) for x in a.load.args[2:]]
        moving = [k for k, x in enumerate(lines) if x is not None and s.c.var in x.terms]
        known = [x for x in lines if x is not None]
        if len(moving) != 1 or len(known) != len(lines) or not _fixed(known, s, header):
            odd.add(a.load.args[1])
            continue
        x = lines[moving[0]]
        assert x is not None
        sign = x.terms[s.c.var]
        if abs(sign) != 1:
            odd.add(a.load.args[1])
            continue
        a.shift = sign * x.constant
        rest = [y.key() if k != moving[0] else (x - x.constant).key() for k, y in enumerate(known)]
        a.group = (a.load.args[1], *rest)
        found.append(a)
    return [a for a in found if a.load.args[1] not in odd and not _varies(a, s, header)]


def _fixed(lines: Iterable[Linear], s: Scatter, header: Block) -> bool:
    names = {n for x in lines for n in x.terms} - {s.c.var}
    return not any(n in s.definition or n in header.params for n in names)


def _varies(a: Addition, s: Scatter, header: Block) -> bool:
    """Whether what is added depends on what the loop carries along."""
    carried = {p for p in header.params if p is not s.c.var}
    return any(x in carried for op in slice_of([a.value], s) for x in op.args) or a.value in carried


def _of_use(additions: list[Addition]) -> list[Addition]:
    """Those to arrays to which several neighbours add, if there are not too many."""
    shifts: dict[Any, set[int]] = {}
    for a in additions:
        shifts.setdefault(a.group, set()).add(a.shift)
    chosen = {g[0] for g, k in shifts.items() if len(k) > 1 and max(k) - min(k) <= SPAN}
    chosen -= {g[0] for g, k in shifts.items() if max(k) - min(k) > SPAN}
    kept = [a for a in additions if a.load.args[1] in chosen]
    return kept if len(kept) <= PARTS else []


def _reads_agree(s: Scatter, header: Block, roots: Roots) -> bool:
    """Whether what the additions read is, before the loop, what it is when they read it."""
    moved = {a.store for a in s.additions}
    at = {op: i for i, op in enumerate(s.line)}
    stores = [op for op in s.line if op.is_call(prims.store) and op not in moved]
    reads = [op for op in slice_of([a.value for a in s.additions], s) if op.is_call(prims.load)]
    return not any(
        roots[r.args[1]] & roots[w.args[1]] and _written_before(r, w, at[w] < at[r], s, header)
        for r in reads
        for w in stores
    )


def _written_before(read: Op, write: Op, first: bool, s: Scatter, header: Block) -> bool:
    """Whether the store may write what the load reads before it does; ``first`` if it is ahead of
    it in the body."""
    if read.args[1] is not write.args[1]:
        return True
    apart: int | None = None  # how many iterations on the store meets it; None: every one may
    for x, y in zip(read.args[2:], write.args[3:], strict=True):
        a, b = linear(x, s), linear(y, s)
        if a is None or b is None or not _fixed([a, b], s, header):
            return True
        sign, distance = a.terms.get(s.c.var, 0), a - b
        if distance.terms or abs(sign) > 1:
            return True
        if sign == 0:
            if distance.constant:
                return False  # in different lines
            continue
        here = sign * distance.constant * s.c.step
        if apart is not None and apart != here:
            return False
        apart = here
    return apart is None or apart < 0 or (apart == 0 and first)


def linear(x: Operand, s: Scatter) -> Linear | None:
    """A subscript as a linear form in the counter and what is fixed in the loop."""
    if isinstance(x, Const):
        return Linear(constant=x.value) if type(x.value) is int else None
    if not isinstance(x, Value):
        return None
    op = s.anywhere.get(x)
    unknown = None if x in s.definition else Linear.of(x)
    if op is None or not op.is_call(*ARITHMETIC):
        return unknown
    parts = [linear(a, s) for a in op.args[1:]]
    if any(p is None for p in parts):
        return unknown
    form = _combined(op, *parts)  # type: ignore[arg-type]
    return unknown if form is None else form


ARITHMETIC = (operator.add, operator.sub, operator.neg, operator.mul)


def _combined(op: Op, x: Linear, y: Linear | None = None) -> Linear | None:
    if y is None:
        return -x
    if op.is_call(operator.add):
        return x + y
    if op.is_call(operator.sub):
        return x - y
    if not x.terms:
        return y * x.constant
    return None if y.terms else x * y.constant


def slice_of(values: Iterable[Operand], s: Scatter) -> list[Op]:
    """The operations of the body that compute the values, in order."""
    wanted: set[Operand] = set(values)
    found = []
    for op in reversed(s.line):
        if op.result in wanted:
            wanted.update(op.args)
            found.append(op)
    return found[::-1]


# -- turning it round ------------------------------------------------------------------------------
class Writer:
    """Writes the ring and the interior of one scatter in front of it."""

    def __init__(self, ir: IR, s: Scatter) -> None:
        self.ir, self.s = ir, s
        self.type = s.c.var.type
        self.groups: dict[Any, list[Addition]] = {}
        for a in s.additions:
            self.groups.setdefault(a.group, []).append(a)
        for parts in self.groups.values():
            middle = (min(a.shift for a in parts) + max(a.shift for a in parts)) // 2
            for a in parts:
                a.shift -= middle
        self.shifts = sorted({a.shift for a in s.additions})

    def write(self) -> None:
        ir, s = self.ir, self.s
        loc = s.additions[0].store.loc
        ahead = preheader(ir, s.c.loop) or add_preheader(ir, s.c.loop)
        onward = ahead.term
        b = self.b = Builder(ir, ahead, loc)
        self.before = Builder(ir, ahead, loc)
        self.made: dict[Coefficient, Operand] = {}
        low, high = self.shifts[0], self.shifts[-1]
        if s.c.step > 0:
            self.start, self.end = s.c.start, s.c.stop
        else:
            self.start, self.end = self.plus(s.c.stop, 1), self.plus(s.c.start, 1)
        begin = self.plus(self.start, high)
        end = self.plus(self.end, low)
        end = self.select(b.call(operator.lt, begin, end, type=_bool()), end, begin)
        self.loop(begin, end, self.inside)
        right = b.call(operator.sub, self.plus(self.end, high), end, type=self.type)
        self.first, self.second = (
            self.plus(self.start, low),
            b.call(operator.sub, end, high - low, type=self.type),
        )
        self.loop(Const(0), self.plus(right, high - low), self.ring)
        b.block.term = onward
        gone = {op for a in s.additions for op in (a.load, a.add, a.store)}
        s.line[:] = [op for op in s.line if op not in gone]

    def loop(self, start: Operand, stop: Operand, write: Any) -> None:
        """``for j in range(start, stop)``."""
        b = self.b
        j = self.ir.value("j", self.type)
        header, body, after = self.ir.block([j]), self.ir.block(), self.ir.block()
        b.jump(header, [start])
        b.at(header)
        b.branch(b.call(operator.lt, j, stop, type=_bool()), body, after)
        b.at(body)
        write(j)
        b.jump(header, [self.plus(j, 1)])
        b.at(after)

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
            c = env[self.s.c.var]
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
        return {self.s.c.var: self.plus(j, -shift)}

    def collect(self, parts: list[Addition], env: dict[int, dict[Operand, Operand]]) -> None:
        """Add what the iterations have for one element."""
        t = parts[0].add.result.type
        found = [
            (scale, (a.shift, x))
            for a in parts
            for scale, x in terms(a.value, self.s.definition, self.fixed, t)
        ]
        total: Operand | None = None
        for key, things in collected(found).items():
            share: Operand | None = None
            for shift, part in things:
                share = self.sum(share, self.again(part, env[shift]), t)
            assert share is not None
            c = self.coefficient(key, t)
            if c != Const(1.0):
                share = self.b.call(operator.mul, share, c, type=t)
            total = self.sum(total, share, t)
        first = parts[0]
        x, *idx = (self.again(v, env[first.shift]) for v in first.load.args[1:])
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

    def fixed(self, x: Operand) -> bool:
        header = self.ir.blocks[self.s.c.header]
        return x not in self.s.definition and x not in header.params

    def again(self, v: Operand, env: dict[Operand, Operand]) -> Operand:
        """``v`` as computed in the iteration of ``env``."""
        for op in slice_of([v], self.s):
            if op.result not in env:
                twin = op.copy(self.ir.value(op.result.name, op.result.type))
                twin.map(lambda a: env.get(a, a))
                env[op.result] = self.b.append(twin)
        return env.get(v, v)

    def plus(self, x: Operand, k: int) -> Operand:
        if isinstance(x, Const):
            return Const(x.value + k)
        return self.b.call(operator.add, x, k, type=self.type) if k else x

    def select(self, c: Operand, x: Operand, y: Operand) -> Operand:
        return self.b.call(prims.select, c, x, y, type=self.type)


def _bool() -> Any:
    from numba import types

    return types.boolean
