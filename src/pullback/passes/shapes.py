"""The dimensions of arrays as their construction shows them.

`shapes` also asks block parameters: in ``u, v = v, u`` around a loop both keep their length.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.core import IR, Const, Op, Operand, Value
from ..ir.dominators import dominators
from ..ir.edit import bindings, definitions
from ..runtime import prims
from .scalars import type_name

_SAME = (
    *(prims.real_view, prims.imag_view, prims.own, prims.contiguous),
    *(prims.overlap_copy, prims.same_layout_zeros),
)
_SAME_ON_HEAP = (prims.heap_zeros_like, prims.heap_own)


Source = tuple[Operand, int | None]  # a length itself (None), or the array and axis it is of


def shapes(ir: IR) -> bool:
    """Ask for the length of an array that comes through block parameters where it is first known:
    replace ``dim(p, k)`` if all arrays that p may be have the same length."""
    asked = [op for op in ir.ops() if op.is_call(prims.dim) and isinstance(op.args[2], Const)]
    if not asked:
        return False
    tree, defined = dominators(ir), definitions(ir)
    defs: dict[Operand, Op] = {v: op for v, (_, op) in defined.items() if op is not None}
    feeds = _feeds(ir)
    replaced: dict[Value, Operand] = {}
    changed = False
    for op in asked:
        source = _only_source(op, feeds, defs)
        if source is None or source[0] is op.args[1]:
            continue
        found, axis = source
        home = defined[found][0].id if isinstance(found, Value) else tree.root
        if not tree.dominates(home, defined[op.result][0].id):
            continue
        if axis is not None:
            op.args = (op.fn, found, Const(axis))
            changed = True
        elif type_name(found) == type_name(op.result):
            replaced[op.result] = found
    for b in ir:
        b.ops = [op for op in b.ops if op.result not in replaced]
    ir.substitute(replaced)
    return changed or bool(replaced)


def _feeds(ir: IR) -> dict[Operand, list[Operand]]:
    """What the edges bind block parameters to; items of iterations are what they are."""
    feeds: dict[Operand, list[Operand]] = {}
    items = set()
    for b in ir:
        for _, p, x in bindings(ir, b):
            if x is None:
                items.add(p)
            else:
                feeds.setdefault(p, []).append(x)
    return {p: xs for p, xs in feeds.items() if p not in items}


def _only_source(
    asked: Op, feeds: Mapping[Operand, list[Operand]], defs: Mapping[Operand, Op]
) -> Source | None:
    """Where the length comes from, if it is the same for all arrays that may be asked."""
    assert isinstance(asked.args[2], Const)
    start: Source = (asked.args[1], asked.args[2].value)
    sources: list[Source] = []
    seen, work = {start}, [start]
    while work:
        source = work.pop()
        below = _below(source, feeds, defs)
        if not below and source not in sources:
            sources.append(source)
        work += [pair for pair in below if pair not in seen]
        seen.update(below)
    return sources[0] if len(sources) == 1 else None


def _below(
    source: Source, feeds: Mapping[Operand, list[Operand]], defs: Mapping[Operand, Op]
) -> list[Source]:
    """The lengths of which this is one, or the one that it is; none if that is all that is
    known."""
    x, axis = source
    if axis is None:
        op = defs.get(x)
        if op is not None and op.is_call(prims.select):
            return [(op.args[2], None), (op.args[3], None)]
        found = _canonical(source, defs)
        return [] if found == source else [found]
    if x in feeds:
        return [(y, axis) for y in feeds[x]]
    known = known_dim(x, axis, defs)
    if known is not None:
        return [(known, None)]
    through = dim_below(defs.get(x), axis)
    return [] if through is None else [through]


def _canonical(source: Source, defs: Mapping[Operand, Op]) -> Source:
    """A length that is ``dim(x, k)`` as the array and axis."""
    op = defs.get(source[0])
    if source[1] is None and op is not None and op.is_call(prims.dim):
        assert isinstance(op.args[2], Const)
        return op.args[1], op.args[2].value
    return source


def known_dim(x: Operand, axis: int, defs: Mapping[Operand, Op]) -> Operand | None:
    """The operand that is the length of ``axis`` of the array ``x``, or None if only ``prims.dim``
    of it says so. Views and copies are looked through."""
    op = defs.get(x)
    if op is None:
        return None
    if op.is_call(prims.empty, prims.zeros):
        return op.args[3:][axis]
    if op.is_call(prims.heap_empty, prims.heap_zeros):
        return op.args[4:][axis]
    if op.is_call(prims.reshape):
        return op.args[2:][axis]
    if op.is_call(prims.subview):
        return _of_subview(op, axis, defs)
    below = dim_below(op, axis)
    return None if below is None else known_dim(*below, defs)


def dim_below(op: Op | None, axis: int) -> tuple[Operand, int] | None:
    """The array and axis that ``axis`` of the result of ``op`` has its length from."""
    if op is None:
        return None
    if op.is_call(*_SAME):
        return op.args[1], axis
    if op.is_call(*_SAME_ON_HEAP):
        return op.args[2], axis
    if op.is_call(prims.transpose) and isinstance(op.args[2], Const):
        return op.args[1], op.args[2].value[axis]
    if op.is_call(prims.subview):
        kept = _kept_axis(op, axis)
        return None if kept is None else (op.args[1], kept)
    if op.is_call(prims.matmul):
        return _of_product(op, axis)
    return None


def _of_product(op: Op, axis: int) -> tuple[Operand, int] | None:
    """The rows are those of the first matrix, the columns those of the second."""
    first, second = op.args[1:]
    if axis == 0 and _rank(first) == 2:
        return first, 0
    return (second, 1) if _rank(second) == 2 else None


def _rank(x: Operand) -> int:
    return getattr(getattr(x, "type", None), "ndim", 0)


def _steps(op: Op) -> list[tuple[str, tuple[Operand, ...], int]]:
    """The steps of a subview: (character, integers, the axis they index)."""
    assert isinstance(op.args[2], Const)
    found, at, axis = [], 3, 0
    for step in op.args[2].value:
        n = prims.SPEC_INTS[step]
        found.append((step, op.args[at : at + n], axis))
        at += n
        axis += step != "n"
    return found


def _kept_axis(op: Op, axis: int) -> int | None:
    """The axis of the array that is wholly axis ``axis`` of its subview."""
    steps = _steps(op)
    kept = [s for s in steps if s[0] != "i"]
    if axis < len(kept):
        step, _, below = kept[axis]
        return below if step == ":" else None
    used = sum(s[0] != "n" for s in steps)
    return used + axis - len(kept)


def _of_subview(op: Op, axis: int, defs: Mapping[Operand, Op]) -> Operand | None:
    kept = [s for s in _steps(op) if s[0] != "i"]
    if axis < len(kept):
        step, ints, _ = kept[axis]
        if step == "n":
            return Const(1)
        if step in "us":
            return ints[1]
    below = _kept_axis(op, axis)
    return None if below is None else known_dim(op.args[1], below, defs)
