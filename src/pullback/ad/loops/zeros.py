"""Zeros that need not be written: what a reversed loop sets to zero, the next one adds to.

A reversed stencil reads ``dv`` and sets it to zero; then its neighbour, or the same loop in the
next iteration, adds its sums to ``dv``. If it knows that there are zeros it may store the sums, and
the zeros need not be written at all. So setting to zero is *put off*: a flag says that it is
waiting. Who collects sums (`collect`) stores them if the flag is up, and sets to zero only what is
around them; everybody else who touches the array finds the zeros *made up* for in front of it. Most
flags are known when the function is compiled, and vanish.

Sound if the zeros may be written behind the loop that asks for them (nobody there reads an element
after it was set to zero, or stores another value), if the interior of the collecting loop is within
what waits, and if on every way from where the flag goes up to any operation that may touch the
array, to a loop that does, or to the end, the zeros are made up for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...ir.builder import Builder
from ...ir.core import CALL, IR, SLOTSET, Block, Const, Edge, Op, Operand, Return, Slot, Value
from ...ir.dominators import dominators
from ...ir.edit import split_block, split_edge
from ...ir.loops import CountedLoop, Loop, LoopForest, loop_forest
from ...passes import effects
from ...passes.roots import Roots, is_view
from ...runtime import prims
from ...typing_.specialised import is_outlined
from .. import kinds
from .affine import Linear
from .collect import centre
from .line import Line, count_up, lines_of, plus
from .nest import Nest, bounds, nests_of

if TYPE_CHECKING:
    from .gather import Addition

Range = tuple[Operand, Operand]


@dataclass(eq=False)
class Fill:
    """``array[box] = 0``, put off. ``sides`` has for each subscript the loop that counts it and
    what is added to its counter; ``consumers`` are the blocks that ask whether it waits."""

    ir: IR
    store: Op
    header: int
    depth: int
    sides: list[tuple[CountedLoop, int]]
    waiting: Slot
    consumers: set[int] = field(default_factory=set)

    @property
    def array(self) -> Value:
        x = self.store.args[1]
        assert isinstance(x, Value)
        return x

    def write(self, b: Builder, box: list[Range] | None = None) -> None:
        """Set the box to zero."""
        self._level(self.box(b) if box is None else box, [], b)

    def box(self, b: Builder) -> list[Range]:
        out = []
        for c, k in self.sides:
            low, high = bounds(c, b)
            out.append((plus(b, low, k, c.var.type), plus(b, high, k, c.var.type)))
        return out

    def _level(self, box: list[Range], at: list[Operand], b: Builder) -> None:
        if len(at) == len(box):
            zero = Const(kinds.zero(self.array.type.dtype))
            b.call(prims.store, self.array, zero, *at)
            return
        count_up(b, *box[len(at)], lambda j: self._level(box, [*at, j], b))

    def write_around(self, inner: list[Range], b: Builder) -> None:
        """Set to zero what is in the box and not in ``inner``, which may be empty."""
        box = self.box(b)
        for k, ((low, high), (begin, end)) in enumerate(zip(box, inner, strict=True)):
            self.write(b, [*box[:k], (low, _least(b, begin, high)), *box[k + 1 :]])
            self.write(b, [*box[:k], (_most(b, end, low), high), *box[k + 1 :]])
            box[k] = _most(b, begin, low), _least(b, end, high)

    def write_if_waiting(self, b: Builder) -> None:
        some, after = self.ir.block(), self.ir.block()
        b.branch(b.get(self.waiting), some, after)
        b.at(some)
        self.write(b)
        b.set(self.waiting, False)
        b.jump(after)
        b.at(after)

    def is_mark(self, op: Op) -> bool:
        """Whether the operation says that it waits."""
        return op.kind == SLOTSET and op.attr is self.waiting and op.args[0] == Const(True)


@dataclass(eq=False)
class Awaited:
    """A fill, as one who collects sums sees it: ``places`` has for each subscript the level that
    counts it, and what is added to that level's element."""

    fill: Fill
    places: list[tuple[int, int]]


def _least(b: Builder, x: Operand, y: Operand) -> Operand:
    return _pick(b, x, y, min)


def _most(b: Builder, x: Operand, y: Operand) -> Operand:
    return _pick(b, x, y, max)


def _pick(b: Builder, x: Operand, y: Operand, pick: Callable[..., Any]) -> Operand:
    from numba import types

    if isinstance(x, Const) and isinstance(y, Const):
        return Const(pick(x.value, y.value))
    less = b.call(operator.lt, x, y, type=types.boolean)
    type = next(v.type for v in (x, y) if isinstance(v, Value))
    first, second = (x, y) if pick is min else (y, x)
    return b.call(prims.select, less, first, second, type=type)


class Zeros:
    """What may be put off in the ``loops``, and for which of those ``turned`` round."""

    def __init__(
        self, ir: IR, loops: list[Loop], turned: dict[int, tuple[Nest, list[Addition]]]
    ) -> None:
        self.ir = ir
        self.by_consumer: dict[int, list[Awaited]] = {}
        self.fills: dict[int, list[Fill]] = {}
        if not turned:
            return
        forest = loop_forest(ir)
        home = {v: b.id for b in ir for v in (*b.params, *(op.result for op in b.ops))}
        self.once: Callable[[Operand], bool] = lambda x: (
            not isinstance(x, Value) or forest.innermost(home[x]) is None
        )
        for line in lines_of(ir, loops):
            for fill, nest in self._fills(line):
                for header, (collector, additions) in turned.items():
                    places = self._place(fill, nest, collector, additions)
                    if places is not None:
                        self.by_consumer.setdefault(header, []).append(Awaited(fill, places))
                        known = self.fills.setdefault(line.c.header, [])
                        if fill not in known:
                            known.append(fill)

    # -- what may be put off -------------------------------------------------------------------
    def _fills(self, line: Line) -> Iterator[tuple[Fill, Nest]]:
        from numba import types

        nests = nests_of(line)
        for store in line.ops:
            if not store.is_call(prims.store) or not _is_zero(store.args[2]):
                continue
            for nest in nests:
                sides = _sides(nest, store.args[3:])
                if sides is not None and _last(nest, store) and self._single(nest, store.args[1]):
                    slot = Slot(f"waiting{store.result.id}", types.boolean)
                    yield Fill(self.ir, store, line.c.header, len(nest.levels), sides, slot), nest
                    break

    def _single(self, nest: Nest, x: Operand) -> bool:
        """Whether array and bounds are made once in the function."""
        box = (y for c in nest.levels for y in (c.start, c.stop))
        return all(map(self.once, (x, *box)))

    def _place(
        self, fill: Fill, nest: Nest, collector: Nest, additions: list[Addition]
    ) -> list[tuple[int, int]] | None:
        """Where the subscripts of the array are in the collecting nest, if all that it collects
        into in its interior is within what waits."""
        groups: dict[Any, list[Addition]] = {}
        for a in additions:
            groups.setdefault(a.group, []).append(a)
        mine = [g for g in groups.values() if g[0].array is fill.array]
        if len(mine) != 1 or not self._single(collector, fill.array):
            return None
        first = mine[0][0]
        if first.load.result.type != first.add.result.type:
            return None
        sides = _sides(collector, first.load.args[2:])
        if sides is None:
            return None
        shifts = [s for g in groups.values() for s in _centred(g)]
        places = []
        for (c, _), (filled, k) in zip(sides, fill.sides, strict=True):
            level = collector.levels.index(c)
            middle = centre(mine[0])[level]
            here = [s[level] for s in shifts]
            low, high = _linear_bounds(collector, c)
            least, most = _linear_bounds(nest, filled)
            begins = low + (max(here) + middle - k) - least
            ends = most - high + (k - min(here) - middle)
            if not (_not_negative(begins) and _not_negative(ends)):
                return None
            places.append((level, middle))
        return places

    # -- while loops are turned round ----------------------------------------------------------
    def put_off(self, line: Line) -> None:
        """Take what is put off out of the line, and note behind it that it waits."""
        for fill in self.fills.get(line.c.header, ()):
            nest = next(n for n in nests_of(line) if len(n.levels) == fill.depth)
            line.ops[:] = [op for op in line.ops if op is not fill.store]
            c = nest.levels[0]
            behind = split_edge(self.ir, self.ir.blocks[c.header], c.exit)
            Builder(self.ir, behind, fill.store.loc).set(fill.waiting, True)

    def awaited(self, header: int) -> list[Awaited]:
        return self.by_consumer.get(header, [])

    def make_up(self) -> None:
        """Write the zeros that wait in front of all that may see them."""
        fills = [fill for found in self.fills.values() for fill in found]
        for fill in fills:
            start = Op(SLOTSET, self.ir.value(), (Const(False),), fill.waiting)
            self.ir.entry.ops.insert(0, start)
        for fill in fills:
            for site in list(Sites(self.ir, fill)):
                _write_at(self.ir, fill, site)


def _is_zero(x: Operand) -> bool:
    return isinstance(x, Const) and x.value == 0


def _sides(nest: Nest, subscripts: Iterable[Operand]) -> list[tuple[CountedLoop, int]] | None:
    """For each subscript the loop whose counter it is, and what is added to it; None if it is not
    so, or if not all loops are among them."""
    sides: list[tuple[CountedLoop, int]] = []
    for x in subscripts:
        form = nest.linear(x)
        levels = [] if form is None else nest.moving(form)
        if form is None or len(levels) != 1:
            return None
        c = nest.levels[levels[0]]
        if form.terms != {c.var: 1}:
            return None
        sides.append((c, form.constant))
    return sides if {id(c) for c, _ in sides} == {id(c) for c in nest.levels} else None


def _last(nest: Nest, store: Op) -> bool:
    """Whether the nest neither reads an element after the store nor stores another value."""
    roots = nest.roots
    mine = roots[store.args[1]]
    others = [op for op in nest.line.ops if op.is_call(prims.store) and op is not store]
    if any(roots[op.args[1]] & mine for op in others):
        return False
    loads = [op for op in nest.line.ops if op.is_call(prims.load)]
    return not any(nest.written_before(read, store) for read in loads)


def _centred(group: list[Addition]) -> list[tuple[int, ...]]:
    middle = centre(group)
    return [tuple(s - m for s, m in zip(a.shift, middle, strict=True)) for a in group]


def _not_negative(form: Linear) -> bool:
    return not form.terms and form.constant >= 0


def _linear_bounds(nest: Nest, c: CountedLoop) -> tuple[Linear, Linear]:
    start, stop = (_form(nest, x) for x in (c.start, c.stop))
    return (start, stop) if c.step > 0 else (stop + 1, start + 1)


def _form(nest: Nest, x: Operand) -> Linear:
    """A bound as a linear form. Trip counts, ``select(n > 0, n, 0)``, are named by their n."""
    definition: dict[Any, Op] = nest.line.anywhere
    op = definition.get(x)
    if op is not None and op.is_call(prims.select) and op.args[3] == Const(0):
        test = definition.get(op.args[1])
        positive = test is not None and test.is_call(operator.gt)
        if test is not None and positive and test.args[1:] == (op.args[2], Const(0)):
            return Linear.of(("at least 0", _form(nest, op.args[2]).key()))
    form = nest.linear(x)
    return Linear.of(x) if form is None else form


# -- where zeros are made up for -------------------------------------------------------------------
Site = tuple[Block, int | Edge]  # before an operation, at the end if there are no more; on an edge


class Sites:
    """The places at which a fill that may be waiting has to be written, on the ways from where it
    is said to wait."""

    def __init__(self, ir: IR, fill: Fill) -> None:
        self.ir, self.fill = ir, fill
        self.roots = Roots(ir)
        self.mine = self.roots[fill.array]
        self.tree = dominators(ir)
        self.forest: LoopForest = loop_forest(ir, self.tree)
        home = {v: b.id for b in ir for v in (*b.params, *(op.result for op in b.ops))}
        box = (x for c, _ in fill.sides for x in (c.start, c.stop))
        self.homes = {home[x] for x in (fill.array, *box) if isinstance(x, Value)}
        self.seen: dict[int, bool] = {}

    def __iter__(self) -> Iterator[Site]:
        (mark,) = [(b, k) for b in self.ir for k, op in enumerate(b.ops) if self.fill.is_mark(op)]
        self.around = {id(x) for x in self._loops(mark[0].id)}
        waiting, seen = [(mark[0], mark[1] + 1)], set()
        while waiting:
            block, start = waiting.pop()
            at = self._met(block, start)
            if at is not None:
                if at >= 0:
                    yield block, at
                continue
            for edge in block.edges:
                if edge.target in self.fill.consumers:
                    continue
                if self._stops(block.id, edge.target):
                    yield block, edge
                elif edge.target not in seen:
                    seen.add(edge.target)
                    waiting.append((self.ir.blocks[edge.target], 0))

    def _met(self, block: Block, start: int) -> int | None:
        """The first operation that touches the array; -1 for the mark itself."""
        for k in range(start, len(block.ops)):
            if self.fill.is_mark(block.ops[k]):
                return -1
            if self._touches(block.ops[k]):
                return k
        return len(block.ops) if isinstance(block.term, Return) else None

    def _stops(self, source: int, target: int) -> bool:
        """Whether the way into the target is the last place to write: because the array or its
        bounds are not known there, or because a loop begins that touches it."""
        if not all(self.tree.dominates(h, target) for h in self.homes):
            return True
        entered = [
            x for x in self._loops(target) if source not in x.blocks and id(x) not in self.around
        ]
        return any(self._loop_touches(x) for x in entered)

    def _loops(self, block: int) -> list[Loop]:
        out, loop = [], self.forest.innermost(block)
        while loop is not None:
            out.append(loop)
            loop = loop.parent
        return out

    def _loop_touches(self, loop: Loop) -> bool:
        if loop.header not in self.seen:
            ops = (op for b in loop.blocks for op in self.ir.blocks[b].ops)
            self.seen[loop.header] = any(map(self._touches, ops))
        return self.seen[loop.header]

    def _touches(self, op: Op) -> bool:
        """Whether the operation may read or write the array's memory."""
        if op.kind != CALL or is_view(op) or op.is_call(prims.poke, prims.peek):
            return False
        if is_outlined(op):
            return True
        seen = effects.READ | effects.WRITE | effects.OTHER
        if not effects.effects(op) & seen:
            return False
        arrays = [x for x in op.args[1:] if isinstance(x, Value) and kinds.is_array(x.type)]
        return any(not self.roots[x] or self.roots[x] & self.mine for x in arrays)


def _write_at(ir: IR, fill: Fill, site: Site) -> None:
    block, at = site
    if isinstance(at, Edge):
        block = split_edge(ir, block, at)
    else:
        split_block(ir, block, at)
    onward = block.term
    b = Builder(ir, block, block.term.loc)
    fill.write_if_waiting(b)
    b.block.term = onward
