"""Save an array as a whole where that takes fewer bytes than the elements that stores overwrite.

An array that is overwritten again and again in a round of a loop (by sweeps of a solver, say), but
read by the reverse half as it was at one moment of the round only, is copied at that moment. The
reverse half reads the copy, where it lies: nothing is put back for it.

The moment is where a loop begins in which nobody writes to the array. All loads of the loop see
there what they see in the copy, whoever writes afterwards.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from ...ir.core import CALL, Const, Op, Operand, Value
from ...ir.loops import Loop
from ...passes.roots import Root
from ...runtime import prims
from .cheapest import cheapest, price, saving
from .plan import GUESS, Source
from .sources import Program, Spread, spread

STEPS = (prims.index, prims.wrap)


def with_copies(
    program: Program, found: Spread, must: Collection[Op], stores: Collection[Op], tape: Value
) -> Spread:
    """The cheapest plan, given the one without copies. The copies that it reads are made."""
    for root, size in _overwritten(program, stores):
        before = dict(program.copies)
        for load, loop in _worth_it(program, found, root, size):
            _copy(program, load, loop, size, tape)
        if program.copies == before:
            continue
        program.look()
        asked = spread(program, must, lambda v: False, on_demand=stores).asked
        other = cheapest(program, must, stores, asked)
        if price(program, other) < price(program, found):
            found = other
        else:
            program.copies = before
            program.look()
    _drop_others(program, found)
    return found


def _overwritten(program: Program, stores: Collection[Op]) -> list[tuple[Root, float]]:
    """The arrays over which stores run, and how many elements they may have."""
    sizes: dict[Root, float] = {}
    for store in stores:
        x, loops = store.args[1], counters(program, store)
        if loops is not None and isinstance(x, Value):
            size = prod(max(GUESS, program.plan.turns(loop)) for loop in loops)
            for r in program.roots[x]:
                sizes[r] = max(size, sizes.get(r, 0.0))
    return sorted(sizes.items(), key=lambda item: item[0].id)


def _worth_it(program: Program, found: Spread, root: Root, size: float) -> list[tuple[Op, Loop]]:
    """The loads from the array to which memory is no help as it is, by loops for which more is kept
    than the array has bytes."""
    loops: dict[Loop, list[Op]] = {}
    for v, asked in found.asked.items():
        load = program.load(v)
        if asked == () or load is None or program.roots[load.args[1]] != {root}:
            continue
        if load.args[1].type.layout in ("C", "F") and (loop := quiet(program, load)) is not None:  # type: ignore[union-attr]
            loops.setdefault(loop, []).append(load)
    return [
        (load, loop)
        for loop, loads in loops.items()
        if _kept(program, found, root, loop) > _content(program, root, loop, size)
        for load in loads
    ]


def _kept(program: Program, found: Spread, root: Root, loop: Loop) -> float:
    """The bytes that the plan keeps of the array and of what the loop makes."""
    s = program.s
    taped = (v for v, how in found.sources.items() if how is Source.TAPE)
    saved = (op for op in found.saves if root in program.roots[op.args[1]])
    inside = sum(program.taped(v) for v in taped if s.home[v] in loop.blocks)
    return inside + sum(saving(program, op) for op in saved)


def _content(program: Program, x: Value, loop: Loop, size: float) -> float:
    """The bytes of an array, times how often the loop begins."""
    nbytes = prims.nbytes_of(x.type.dtype) * size
    return nbytes * program.plan.rounds(program.s.preheader(loop))


def counters(program: Program, store: Op) -> list[Loop] | None:
    """The loops by which the store runs over the array: each subscript has a counter of its own.
    None if it does not."""
    loops = [_counter(program, x) for x in store.args[3:]]
    known = [loop for loop in loops if loop is not None]
    return known if loops and len(set(map(id, known))) == len(loops) else None


def _counter(program: Program, x: Operand) -> Loop | None:
    """The loop whose counter an index is, plus or minus something."""
    while isinstance(x, Value) and x not in program.inductions:
        op = program.definition.get(x)
        if op is None or not (op.is_call(*STEPS) or any(isinstance(y, Const) for y in op.args[1:])):
            return None
        x = next((y for y in op.args[1:] if isinstance(y, Value)), Const(None))
    return program.inductions[x] if isinstance(x, Value) else None


def quiet(program: Program, load: Op) -> Loop | None:
    """The outermost loop around the load in which nobody writes to what it reads, and of which the
    array is known before."""
    s, roots, x = program.s, program.roots, load.args[1]
    read, writes = roots[x], program.plan.primal.writes
    places = program.places
    written = {s.home[op.result] for op in places.stores if read & roots[op.args[1]]}
    written |= {s.home[op.result] for op in places.calls if read & writes[op]}
    found = None
    for loop in s.around(s.home[load.result]):
        if s.home[x] in loop.blocks or not written.isdisjoint(loop.blocks):  # type: ignore[index]
            break
        found = loop
    return found


def _copy(program: Program, load: Op, loop: Loop, size: float, tape: Value) -> None:
    """Let the load read from a copy that is made where the loop begins."""
    ahead, x = program.ir.blocks[program.s.preheader(loop)], load.args[1]
    assert isinstance(x, Value)
    op = next((o for o in ahead.ops if o.result in program.content and o.args[2] is x), None)
    if op is None:
        made = program.ir.value(x.name, x.type.copy(readonly=False))
        op = Op(CALL, made, (Const(prims.heap_own), tape, x), None, load.loc)
        ahead.ops.append(op)
        program.content[made] = _content(program, x, loop, size)
    program.copies[load.result] = op.result


def _drop_others(program: Program, found: Spread) -> None:
    """Keep the copies from which elements are read again."""
    read = {x for v, x in program.copies.items() if found.sources.get(v) is Source.AGAIN}
    program.copies = {v: x for v, x in program.copies.items() if x in read}
    for block in program.ir if program.content else ():
        gone = [op for op in block.ops if op.result in program.content and op.result not in read]
        block.ops = [op for op in block.ops if op not in gone]
    program.content = {x: n for x, n in program.content.items() if x in read}
