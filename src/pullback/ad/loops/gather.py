"""Scatter to gather: a loop that adds to several neighbours becomes one that collects from all.

The reverse of a stencil adds to ``du[i-1]``, ``du[i]``, ``du[i+1]`` in iteration ``i``: each
element is loaded and stored three times, by iterations that depend on each other, one after the
other. Turned round, the loop runs over the elements and collects what the neighbouring iterations
have for each: one load and store an element, no dependence, vector instructions. So it is in two
and three dimensions, where the whole nest of loops is turned round (`collect` writes it).

Only the additions move, to loops in front of the old ones, which keep all else they do. That is
sound if what is added depends on the counters and on memory that the loops have not yet written
when it is read, and if they touch the array in no other way; sums are only reordered.

Where the array is known to be zero, because the loops before have set to zero what they read, the
collected sums are stored and not added, see `zeros`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...ir.core import IR, Op, Operand, Value
from ...ir.loops import Loop
from ...passes.roots import Roots
from ...runtime import prims
from .collect import Writer
from .line import Line, lines_of, reversed_loops
from .nest import Nest, nests_of
from .zeros import Zeros

SPAN = 16  # the ring is this wide at most
PARTS = 160  # contributions at most, with those of the ring


@dataclass(eq=False)
class Addition:
    """``x[...] += value`` in three operations. Iteration ``c`` adds to what belongs to output ``c +
    shift`` (a number for each level); ``group`` says which line of which array that is."""

    load: Op
    add: Op
    store: Op
    value: Operand
    group: Any = None
    shift: tuple[int, ...] = ()

    @property
    def array(self) -> Value:
        x = self.load.args[1]
        assert isinstance(x, Value)
        return x


def gather(ir: IR) -> bool:
    """Turn round all loops of the reverse half where it is sound and of use; whether any was."""
    loops, roots = reversed_loops(ir), Roots(ir)
    turned = {nest.line.c.header: (nest, found) for nest, found in turnable(ir, loops, roots)}
    if not turned:
        return False
    zeros = Zeros(ir, loops, turned)
    for line in lines_of(ir, loops, roots):
        header = line.c.header
        zeros.put_off(line)
        if header in turned:
            depth = len(turned[header][0].levels)
            nest = next(n for n in nests_of(line) if len(n.levels) == depth)
            Writer(nest, turned[header][1], zeros.awaited(header)).write()
    zeros.make_up()
    return True


def turnable(ir: IR, loops: Iterable[Loop], roots: Roots) -> list[tuple[Nest, list[Addition]]]:
    """For each line that may be turned round the largest nest around it that may, and what it
    adds."""
    found = []
    for line in lines_of(ir, loops, roots):
        for nest in nests_of(line):
            additions = scattered(nest)
            if additions:
                found.append((nest, additions))
                break
    return found


# -- what may be turned round ----------------------------------------------------------------------
def scattered(nest: Nest) -> list[Addition]:
    """The additions that may be collected, none if there are none or it is not worth it."""
    if any(op.is_call(prims.poke) for op in nest.line.ops):
        return []
    found = _of_use(_affine(nest, _alone(nest)))
    moved = {a.store for a in found}
    stores = [op for op in nest.line.ops if op.is_call(prims.store) and op not in moved]
    reads = [op for op in nest.slice_of(a.value for a in found) if op.is_call(prims.load)]
    return [] if any(nest.written_before(r, w) for r in reads for w in stores) else found


def _alone(nest: Nest) -> list[Addition]:
    """The additions to arrays that the loop touches in no other way."""
    line, roots = nest.line, nest.roots
    found = _additions(line)
    own = {op for a in found for op in (a.load, a.store)}
    by_root: dict[Any, set[Value]] = {}
    for a in found:
        for r in roots[a.array]:
            by_root.setdefault(r, set()).add(a.array)
    spoilt = {r for r, arrays in by_root.items() if len(arrays) > 1}
    for op in line.ops:
        if op.is_call(prims.load, prims.store) and op not in own:
            spoilt |= roots[op.args[1]]
    return [a for a in found if nest.fixed(a.array) and not roots[a.array] & spoilt]


def _additions(line: Line) -> list[Addition]:
    uses = line.uses
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


def _affine(nest: Nest, additions: Iterable[Addition]) -> list[Addition]:
    """Those in whose subscripts each counter stands once and by itself, plus or minus something, so
    that each iteration has an element of its own; arrays with others are left alone altogether."""
    found, odd = [], set()
    for a in additions:
        shift: dict[int, int] = {}
        group: list[Any] = [a.array]
        for x in a.load.args[2:]:
            form = nest.linear(x)
            levels = [] if form is None else nest.moving(form)
            if form is None or len(levels) > 1 or any(k in shift for k in levels):
                odd.add(a.array)
                break
            for k in levels:
                sign = form.terms[nest.levels[k].var]
                if abs(sign) != 1:
                    odd.add(a.array)
                shift[k] = sign * form.constant
                form = form + -form.constant
            group.append(form.key())
        if len(shift) < len(nest.levels):
            odd.add(a.array)
        a.group, a.shift = tuple(group), tuple(shift[k] for k in sorted(shift))
        found.append(a)
    return [a for a in found if a.array not in odd and nest.again_at_will([a.value])]


def _of_use(additions: list[Addition]) -> list[Addition]:
    """All, if several neighbours add to one of the arrays, and if it is not too much."""
    shifts: dict[Any, set[tuple[int, ...]]] = {}
    for a in additions:
        shifts.setdefault(a.group, set()).add(a.shift)
    wide = {g[0] for g, found in shifts.items() if any(max(k) - min(k) > SPAN for k in zip(*found))}
    of_use = any(len(k) > 1 and g[0] not in wide for g, k in shifts.items())
    kept = [a for a in additions if a.array not in wide]
    return kept if of_use and parts([a.shift for a in kept]) <= PARTS else []


def parts(shifts: list[tuple[int, ...]], level: int = 0) -> int:
    """How many contributions are written, with those of the ring."""
    if not shifts or level == len(shifts[0]):
        return len(shifts)
    here = {s[level] for s in shifts}
    count = parts(shifts, level + 1)
    if len(here) > 1:
        count += sum(parts([s for s in shifts if s[level] == k], level + 1) for k in here)
    return count
