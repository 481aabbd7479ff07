"""Elements that neighbouring iterations share are kept in registers.

The reverse of a Gauss-Seidel sweep adds to ``d[j-1]``, ``d[j]`` and ``d[j+1]`` and reads ``d[j]``,
to which the iteration before has added: each iteration waits for a store of the one before it, and
each element is loaded and stored three times. No vector instructions are to be had here. But the
elements that an iteration touches are, but for one, those of the iteration before: they are handed
on as parameters of the loop, so that one is loaded and one is stored (scalar replacement; Callahan,
Carr and Kennedy, 1990).

The order in which elements are read, added to and written stays: results are the same to the bit.
Sound if all that the loop does with the array is to load and store at a constant distance from the
counter, in lines that are proven to differ; stores that are put off need a loop that cannot raise.
Loops whose iterations do not wait for each other are left alone: they become vector instructions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...ir.builder import Builder
from ...ir.core import IR, Branch, Const, Edge, Op, Operand, Value
from ...ir.edit import split_edge
from ...ir.loops import loop_forest, preheader
from ...passes import effects
from ...passes.loop_canonical import add_preheader
from ...runtime import prims
from .. import kinds
from .affine import Linear
from .dependence import subscripts
from .line import Line, lines_of, plus, ran

SPAN = 4  # the window is this wide at most: what is farther apart leaves room for vectors


@dataclass(eq=False)
class Access:
    """A load or store of the element that is ``lead`` iterations ahead of the counter."""

    op: Op
    lead: int

    @property
    def stores(self) -> bool:
        return self.op.is_call(prims.store)

    @property
    def index(self) -> tuple[Operand, ...]:
        return subscripts(self.op)


@dataclass(eq=False)
class Window:
    """All accesses to one line of an array, along axis ``axis``; the subscript goes up or down by
    ``step`` from one iteration to the next."""

    array: Value
    axis: int
    step: int
    accesses: list[Access] = field(default_factory=list)

    def leads(self, stores: Iterable[bool] = (False, True)) -> list[int]:
        return [a.lead for a in self.accesses if a.stores in stores]

    @property
    def first(self) -> int:
        return min(self.leads())

    @property
    def last(self) -> int:
        return max(self.leads())

    @property
    def carried(self) -> range:
        """The leads of the elements that an iteration hands on, as the next one sees them."""
        return range(self.first, self.last)

    @property
    def put_off(self) -> range:
        """The leads of those among them whose stores are still to come."""
        return range(max(min(self.leads([True])), self.first), max(self.leads([True])))

    @property
    def dtype(self) -> Any:
        return self.array.type.dtype

    def of_use(self) -> bool:
        """Whether an iteration loads what an earlier one stored, and not too long ago."""
        loads, stores = self.leads([False]), self.leads([True])
        waits = bool(loads and stores) and max(stores) > min(loads)
        return waits and self.last - self.first <= SPAN and all(map(self._typed, self.accesses))

    def _typed(self, a: Access) -> bool:
        """Whether a load would give back the very operand that is stored."""
        if not a.stores:
            return bool(a.op.result.type == self.dtype)
        x = a.op.args[2]
        if isinstance(x, Const):
            return type(x.value) is type(kinds.zero(self.dtype))
        return isinstance(x, Value) and bool(x.type == self.dtype)


def windows(ir: IR) -> bool:
    """Keep such elements in registers in all loops where it is sound and of use; whether in any."""
    changed = False
    for line in lines_of(ir, loop_forest(ir)):
        found = windows_of(line)
        if found:
            _write(line, found)
            changed = True
    return changed


# -- what may be kept ------------------------------------------------------------------------------
def windows_of(line: Line) -> list[Window]:
    if any(effects.effects(op) & effects.RAISE for op in line.ops):
        return []
    found: dict[Any, Window] = {}
    met: dict[Any, set[Any]] = {}  # root -> the lines through it that are known to differ, or None
    for op in line.ops:
        if op.is_call(prims.load, prims.store):
            place = _place(op, line)
            for root in line.roots[op.args[1]]:
                met.setdefault(root, set()).add(place and place[0])
            if place is not None:
                family, along, window, access = place
                found.setdefault((family, along), window).accesses.append(access)
    known = {root for root, families in met.items() if len(families) == 1 and None not in families}
    return [w for w in found.values() if line.roots[w.array] <= known and w.of_use()]


def _place(op: Op, line: Line) -> tuple[Any, Any, Window, Access] | None:
    """Which line of which array the operation touches. Two lines of one family are the same, or
    have no element in common."""
    array = op.args[1]
    forms = [line.linear(x) for x in subscripts(op)]
    if not isinstance(array, Value) or not line.fixed(array) or None in forms:
        return None
    known: list[Linear] = forms  # type: ignore[assignment]
    var = line.c.var
    moving = [k for k, form in enumerate(known) if var in form.terms]
    if len(moving) != 1 or abs(known[moving[0]].terms[var]) != 1:
        return None
    (axis,) = moving
    step = known[axis].terms[var] * line.c.step
    family = (array, axis, tuple((form + -form.constant).key() for form in known))
    along = tuple(form.constant for k, form in enumerate(known) if k != axis)
    access = Access(op, known[axis].constant * step)
    return family, along, Window(array, axis, step), access


# -- writing ---------------------------------------------------------------------------------------
def _write(line: Line, found: list[Window]) -> None:
    ir, c = line.ir, line.c
    handed = {w: [ir.value("kept", w.dtype) for _ in w.carried] for w in found}
    _before(line, found)
    line.header.params += [p for w in found for p in handed[w]]
    ends = [x for w in found for x in _inside(line, w, handed[w])]
    (back,) = [e for e in ir.blocks[c.latch].edges if e.target == c.header]
    back.args += tuple(ends)
    _behind(line, found, handed)


def _before(line: Line, found: list[Window]) -> None:
    """In front of the loop, if it will run at all, load what the first iteration is handed."""
    ir, c = line.ir, line.c
    ahead = preheader(ir, c.loop) or add_preheader(ir, c.loop)
    (edge,) = ahead.edges
    init = ir.block()
    b = Builder(ir, init, ahead.term.loc)
    first = line.iteration(c.start, b)
    kept = [
        b.call(prims.load, w.array, *_moved(line, w, lead, dict(first), b), type=w.dtype)
        for w in found
        for lead in w.carried
    ]
    none = [Const(kinds.zero(w.dtype)) for w in found for _ in w.carried]
    b.jump(ir.blocks[c.header], [*edge.args, *kept])
    b.at(ahead)
    goes = ran(b, c)
    ahead.term = Branch(goes, Edge(init.id), Edge(c.header, (*edge.args, *none)), ahead.term.loc)


def _inside(line: Line, w: Window, handed: list[Value]) -> list[Operand]:
    """Replace the loads and stores of the body. Returns what is handed to the next iteration."""
    now: dict[int, Operand] = dict(zip(w.carried, handed))
    by_op = {a.op: a for a in w.accesses}
    least = min(w.leads([True]))
    last = [a.op for a in w.accesses if a.stores and a.lead == least][-1]
    same: dict[Operand, Operand] = {}
    kept = []
    for op in line.ops:
        op.map(lambda x: same.get(x, x))
        a = by_op.get(op)
        if a is None or (not a.stores and a.lead not in now):
            kept.append(op)
        if a is not None and a.stores:
            now[a.lead] = op.args[2]
            if op is last:
                kept.append(op)
        elif a is not None:
            same[op.result] = now.setdefault(a.lead, op.result)
    for edge in line.ir.blocks[line.c.latch].edges:
        edge.args = tuple(same.get(x, x) for x in edge.args)
    line.ops[:] = kept
    return [now[lead + 1] for lead in w.carried]


def _behind(line: Line, found: list[Window], handed: dict[Window, list[Value]]) -> None:
    """Behind the loop, if it ran at all, make up for the stores that were put off."""
    ir, c = line.ir, line.c
    landing, some, after = split_edge(ir, line.header, c.exit), ir.block(), ir.block()
    after.term = landing.term
    b = Builder(ir, landing, landing.term.loc)
    b.branch(ran(b, c), some, after)
    b.at(some)
    end = line.iteration(c.var, b)
    for w in found:
        now = dict(zip(w.carried, handed[w]))
        for lead in w.put_off:
            b.call(prims.store, w.array, now[lead], *_moved(line, w, lead, dict(end), b))
    b.jump(after)


def _moved(
    line: Line, w: Window, lead: int, env: dict[Operand, Operand], b: Builder
) -> list[Operand]:
    """Write the subscripts of the element with that lead, in the iteration of ``env``."""
    near = w.accesses[0]
    index = [line.again(x, env, b) for x in near.index]
    x = index[w.axis]
    index[w.axis] = plus(b, x, (lead - near.lead) * w.step, getattr(x, "type", None))
    return index
