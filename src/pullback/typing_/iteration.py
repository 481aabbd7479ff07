"""Iteration over ranges, arrays, tuples and what is made of them, as integer loops.

What is iterated over is a product (`range`, `enumerate`, `zip`, ...); its length and its item at a
position are Python functions written for its structure and entered like any other. A loop over a
tuple, whose items may have types of their own, is written out.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import TypingError
from ..ir.core import (
    IR,
    Block,
    Branch,
    Const,
    Edge,
    ForIter,
    Jump,
    Loc,
    Operand,
    Undef,
    Value,
)
from ..ir.edit import clone_blocks
from ..ir.loops import loop_forest
from ..rules.source import function
from ..runtime import prims
from .actions import Action, Known
from .lattice import INT, Abstract, ATuple, is_array
from .lists import ListArray

MAX_UNROLL = 64


class Iterator:
    """The class of the abstract value of ``iter(x)``: (x, number of items)."""


def part(product: Any, i: int) -> Any:
    """Part ``i`` of a product; exists in generated code only."""
    raise NotImplementedError


def item_at(iterator: Any, k: int) -> Any:
    """The item that ``iterator`` gives at position ``k``; exists in generated code only."""
    raise NotImplementedError


def count_of(iterator: Any) -> int:
    """How many items ``iterator`` gives; exists in generated code only."""
    raise NotImplementedError


def range_count(start: int, stop: int, step: int) -> int:
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    if step > 0:
        return max(0, (stop - start + step - 1) // step)
    return max(0, (start - stop - step - 1) // -step)


def reversed_range(r: Any) -> Any:
    n = range_count(part(r, 0), part(r, 1), part(r, 2))
    start = part(r, 0) + (n - 1) * part(r, 2)
    return range(start, start - n * part(r, 2), -part(r, 2))


def reversed_unit_range(r: Any) -> Any:
    return range(part(r, 1) - 1, part(r, 0) - 1, -1)


_SCOPE = dict(part=part, load=prims.load, subview=prims.subview, dim=prims.dim, lengths=range_count)


def item_function(source: Abstract) -> Any:
    """The Python function ``(source, k) -> item``."""
    return function("item", f"def item(s, k):\n    return {_item(source, 's', 'k')}\n", **_SCOPE)


def count_function(source: Abstract) -> Any:
    """The Python function ``source -> number of items``."""
    return function("count", f"def count(s):\n    return {_count(source, 's')}\n", **_SCOPE)


def _part(source: Any, expr: str, i: int) -> tuple[Any, str]:
    return source.elements[i], f"part({expr}, {i})"


def _item(source: Any, expr: str, k: str) -> str:
    if isinstance(source, ATuple):
        if source.is_tuple or source.cls is list:
            return f"part({expr}, {k})"
        if source.cls is range:
            return f"(part({expr}, 0) + {k} * part({expr}, 2))"
        if source.cls is ListArray:
            return f"load(part({expr}, 0), {k})"
        if source.cls is enumerate:
            return f"(part({expr}, 1) + {k}, {_item(*_part(source, expr, 0), k)})"
        if source.cls is zip:
            parts = [_item(*_part(source, expr, i), k) for i in range(len(source.elements))]
            return f"({''.join(p + ', ' for p in parts)})"
        if source.cls is reversed:
            inner = _part(source, expr, 0)
            return _item(*inner, f"({_count(*inner)} - 1 - {k})")
        if source.cls is np.ndindex:
            return _unravelled([f"part({expr}, {i})" for i in range(len(source.elements))], k)
        if source.cls in (np.ndenumerate, np.nditer):
            x, name = _part(source, expr, 0)
            idx = _unravelled([f"dim({name}, {i})" for i in range(x.type.ndim)], k)
            if source.cls is np.ndenumerate:
                return f"({idx}, load({name}, {idx[1:-1]}))"
            return f"subview({name}, {'i' * x.type.ndim!r}, {idx[1:-1]})"
    elif is_array(source.type) and source.type.ndim == 1:
        return f"load({expr}, {k})"
    elif is_array(source.type) and source.type.ndim > 1:
        return f"subview({expr}, 'i', {k})"
    raise not_iterable(source)


def _count(source: Any, expr: str) -> str:
    if isinstance(source, ATuple):
        if source.is_tuple or source.cls is list:
            return str(len(source.elements))
        if source.cls is ListArray:
            return f"dim(part({expr}, 0), 0)"
        if source.cls is range:
            return f"lengths(part({expr}, 0), part({expr}, 1), part({expr}, 2))"
        if source.cls in (enumerate, reversed):
            return _count(*_part(source, expr, 0))
        if source.cls is zip:
            counts = [_count(*_part(source, expr, i)) for i in range(len(source.elements))]
            return f"min({', '.join(counts)})" if len(counts) > 1 else (counts or ["0"])[0]
        if source.cls is np.ndindex:
            return " * ".join(f"part({expr}, {i})" for i in range(len(source.elements))) or "1"
        if source.cls in (np.ndenumerate, np.nditer):
            x, name = _part(source, expr, 0)
            return " * ".join(f"dim({name}, {i})" for i in range(x.type.ndim)) or "1"
    elif is_array(source.type) and source.type.ndim > 0:
        return f"dim({expr}, 0)"
    raise not_iterable(source)


def _unravelled(dims: list[str], k: str) -> str:
    """The index, a tuple, of the element number ``k`` in C order."""
    index = []
    for axis in range(len(dims)):
        below = " * ".join(dims[axis + 1 :])
        at = f"{k} // ({below})" if below else k
        index.append(f"{at} % {dims[axis]}" if axis else at)
    return f"({''.join(i + ', ' for i in index)})"


def not_iterable(source: Abstract) -> TypingError:
    return TypingError(f"compiled code does not iterate over {source!r}")


def tuple_length(source: Any) -> int | None:
    """The number of items if a tuple takes part, so that the loop must be written out."""
    if not isinstance(source, ATuple):
        return None
    if source.is_tuple or source.cls is list:
        return len(source.elements)
    if source.cls in (enumerate, reversed):
        return tuple_length(source.elements[0])
    if source.cls is zip:
        lengths = [n for n in map(tuple_length, source.elements) if n is not None]
        return min(lengths) if lengths else None
    return None


# -- in typing -------------------------------------------------------------------------------------
@dataclass
class Loop:
    """How a ForIter is written: ``item`` gives the item from (source, counter). ``unrolled`` is the
    number of times, for a loop that must be written out."""

    source: Abstract
    item: Action
    unrolled: int | None = None


def loop_of(engine: Any, spec: Any, iterator: Abstract, loc: Loc) -> Loop:
    if not (isinstance(iterator, ATuple) and iterator.cls is Iterator):
        raise TypingError(f"compiled code does not iterate over {iterator!r}", loc=loc)
    source = iterator.elements[0]
    n = tuple_length(source)
    if n is not None:
        if n > MAX_UNROLL:
            raise TypingError(f"a loop over a tuple of {n} items", loc=loc, hint="use an array")
        return Loop(source, Known(INT), n)
    if isinstance(source, ATuple) and source.cls is range:
        return Loop(source, Known(INT))
    return Loop(source, engine.resolver.enter_function(item_function(source), (source, INT)))


def counts_by_itself(source: Any) -> bool:
    """Whether the loop counter is the item: a range with a known step."""
    if not (isinstance(source, ATuple) and source.cls is range):
        return False
    step = source.elements[2]
    return bool(step.known and step.const != 0)


# -- writing a loop out ----------------------------------------------------------------------------
def unroll(ir: IR, header: int, count: int) -> IR:
    """A copy of the function in which the loop of ``header`` is written out ``count`` times, each
    time with a test that there is such an item, which typing decides where it can."""
    ir = ir.copy()
    block = ir.blocks[header]
    term = block.term
    assert isinstance(term, ForIter)
    found = [lp for lp in loop_forest(ir) if lp.header == header]
    inside = set(found[0].blocks) if found else {header}
    entries = [e for b in ir if b.id not in inside for e in b.edges if e.target == header]
    originals = [ir.blocks[b] for b in inside]
    defs: dict[Value, list[tuple[Block, Value]]] = {}
    into = entries
    for k in range(count + 1):
        copies, env = clone_blocks(ir, originals)
        for b in originals:
            for v in (*b.params, *(op.result for op in b.ops)):
                twin = env[v]
                assert isinstance(twin, Value)
                defs.setdefault(v, []).append((copies[b.id], twin))
        for e in into:
            e.target = copies[header].id
        into = []
        for b in copies.values():
            into += [e for e in b.edges if e.target == copies[header].id]
        _step(ir, copies[header], k, k == count)
    for b in originals:
        del ir.blocks[b.id]
    _drop_unreachable(ir)
    repair(ir, defs)
    return ir


def _step(ir: IR, header: Block, k: int, last: bool) -> None:
    """Replace the iteration at the end of a copied header by a test, item ``k`` and a jump."""
    term = header.term
    assert isinstance(term, ForIter)
    loc = term.loc
    if last:
        header.term = Jump(term.exhausted, loc)
        return
    n = ir.call(count_of, term.iterator, loc=loc)
    test = ir.call(operator.lt, Const(k), n.result, loc=loc)
    header.ops += [n, test]
    middle = ir.block()
    item = ir.call(item_at, term.iterator, Const(k), loc=loc)
    middle.ops.append(item)
    middle.term = Jump(Edge(term.body.target, (item.result, *term.body.args)), loc)
    header.term = Branch(test.result, Edge(middle.id), term.exhausted, loc)


def _drop_unreachable(ir: IR) -> None:
    reached, todo = set(), [ir.entry.id]
    while todo:
        b = todo.pop()
        if b not in reached:
            reached.add(b)
            todo += ir.blocks[b].successors
    for b in list(ir.blocks):
        if b not in reached:
            del ir.blocks[b]


def repair(ir: IR, defs: dict[Value, list[tuple[Block, Value]]]) -> None:
    """Replace uses of values that now have several definitions by the one that reaches them,
    through new block parameters where several do."""
    preds = {b: list(dict.fromkeys(p)) for b, p in ir.predecessors().items()}
    for v, where in defs.items():
        if any(_uses(b, v) for b in ir):
            _repair_one(ir, preds, v, {b.id: twin for b, twin in where if b.id in ir.blocks})


def _uses(b: Block, v: Value) -> bool:
    return (
        any(a is v for op in b.ops for a in op.args)
        or any(a is v for a in b.term.operands)
        or any(a is v for e in b.term.edges for a in e.args)
    )


def _replace(b: Block, v: Value, new: Operand) -> None:
    for op in b.ops:
        op.map(lambda x: new if x is v else x)
    b.term.map(lambda x: new if x is v else x)


def _repair_one(ir: IR, preds: dict[int, list[int]], v: Value, at_end: dict[int, Any]) -> None:
    def read(b: int) -> Any:
        """The definition that reaches the start of ``b``; one defined in ``b`` is found first."""
        if b in at_end:
            return at_end[b]
        if len(preds[b]) == 1:
            found = at_end[b] = read(preds[b][0])
            return found
        if not preds[b]:
            return Undef(v.name)
        param = at_end[b] = ir.value(v.name, v.type)
        block = ir.blocks[b]
        block.params.append(param)
        for p in preds[b]:
            given = read(p)
            for e in ir.blocks[p].edges:
                if e.target == b:
                    e.args = (*e.args, given)
        return param

    for b in list(ir):
        if _uses(b, v):
            new = read(b.id)
            _replace(b, v, new)
