"""Plain copies and zeroing get loops of their own, beside the one that computes.

What the tape saves (``column[i] = v[i]``) is copied before the loop that overwrites it; what it
puts back, and the zeroing of cotangents that have been read, happens behind the loop. Such loops
become block copies and fills, and the loop that is left touches so few arrays that it is proven
free of overlaps. Sound if the loop does not change an element before it is copied, and does not
read one after it was put back.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir.builder import Builder
from ...ir.core import IR, Const, Op, Value
from ...ir.edit import split_edge
from ...ir.loops import loop_forest, preheader
from ...passes.loop_canonical import add_preheader
from ...runtime import prims
from .line import Line, count_up, lines_of, reversed_loops


def set_apart(ir: IR, *, forward: bool = False) -> bool:
    """Take such copies out of all loops that do something else as well; whether there were any.
    Stores stay where they are in the ``forward`` half, and before the cut."""
    changed = False
    reverse: set[int] | None = set() if forward else None  # asked if it matters
    for line in lines_of(ir, loop_forest(ir)):
        writes = [op for op in line.ops if op.is_call(prims.store, prims.poke)]
        ahead = [op for op in writes if op.is_call(prims.poke) and _saves(op, line)]
        behind = [op for op in writes if op.is_call(prims.store) and _puts_back(op, line)]
        if behind and reverse is None:
            reverse = {loop.header for loop in reversed_loops(ir)}
        if behind and line.c.header not in (reverse or ()):
            behind = []
        if len(writes) > 1 and (ahead or behind):
            _write(line, ahead, behind)
            changed = True
    return changed


def _saves(poke: Op, line: Line) -> bool:
    """Whether all that the operation does is to copy an element nobody has changed yet."""
    load = line.definition.get(poke.args[3])  # type: ignore[arg-type]
    if load is None or not load.is_call(prims.load):
        return False
    stores = [op for op in line.ops if op.is_call(prims.store)]
    return _by_counter(poke, line) and not any(line.written_before(load, w) for w in stores)


def _puts_back(store: Op, line: Line) -> bool:
    """Whether the store writes a constant, or what is on the tape, where nobody looks any more."""
    x, v, *_ = store.args[1:]
    op = line.definition.get(v) if isinstance(v, Value) else None
    if not isinstance(v, Const) and (op is None or not op.is_call(prims.peek)):
        return False
    if not line.fixed(x) or not _by_counter(store, line):
        return False
    if not isinstance(v, Const) and not _elsewhere_each_time(store, line):
        return False
    others = [op for op in line.ops if op.is_call(prims.store) and op is not store]
    loads = [op for op in line.ops if op.is_call(prims.load)]
    alone = not any(line.roots[x] & line.roots[op.args[1]] for op in others)
    return alone and not any(line.written_before(r, store) for r in loads)


def _elsewhere_each_time(store: Op, line: Line) -> bool:
    """Whether no two iterations write the same element: of what they put back there the one that
    comes last counts, and the loop behind goes upwards."""
    forms = [line.linear(x) for x in store.args[3:]]
    return any(f is not None and line.c.var in f.terms for f in forms)


def _by_counter(op: Op, line: Line) -> bool:
    """Whether all else that the operation needs comes from the counter."""
    return not line.carries_into(op.args[1:]) and not any(
        x.is_call(prims.store, prims.poke) for x in line.slice_of(op.args[1:])
    )


def _write(line: Line, ahead: list[Op], behind: list[Op]) -> None:
    ir, c = line.ir, line.c
    if ahead:
        block = preheader(ir, c.loop) or add_preheader(ir, c.loop)
        _loops(line, ahead, Builder(ir, block, ahead[0].loc))
    if behind:
        block = split_edge(ir, line.header, c.exit)
        _loops(line, behind, Builder(ir, block, behind[0].loc))
    gone = {*ahead, *behind}
    line.ops[:] = [op for op in line.ops if op not in gone]


def _loops(line: Line, ops: list[Op], b: Builder) -> None:
    """A loop for each of the operations, before the block goes on."""
    onward = b.block.term
    start, end = line.bounds(b)
    for op in ops:
        count_up(b, start, end, _again(line, op, b))
    b.block.term = onward


def _again(line: Line, op: Op, b: Builder) -> Callable[[Value], None]:
    def write(j: Value) -> None:
        env = line.iteration(j, b)
        args = [line.again(x, env, b) for x in op.args]
        b.append(Op(op.kind, line.ir.value(None, op.result.type), tuple(args), op.attr, op.loc))

    return write
