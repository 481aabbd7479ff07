"""Lists that a loop fills: arrays with room for an item from each iteration, made before the loop.

`grown` rewrites the lifted function: where a list gets at most one item in each iteration of a loop
over something countable (a comprehension, or ``append`` in a ``for``), the append becomes a store.
If each iteration has one, its number says where; where some append nothing or the loop is left
early, the length is counted in a cell. What is not of this form is left, and refused by typing.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from ..ir import intrinsics
from ..ir.core import (
    CALL,
    GETCELL,
    GLOBAL,
    IR,
    NEWCELL,
    SETCELL,
    Block,
    Const,
    ForIter,
    Jump,
    Op,
    Operand,
    Return,
    Value,
)
from ..ir.dominators import DomTree, dominators
from ..ir.loops import Loop, loop_forest

COUNT = "length"  # the name of the cell


class ListArray:
    """The class of the abstract value of a list that is kept in an array: (array,). Called with
    its parts, the array, it gives the list."""

    def __new__(cls, parts: Any) -> Any:
        (array,) = parts if isinstance(parts, (list, tuple)) else (parts,)
        return array.tolist()


def new_list(iterator: Any, *items: Any) -> Any:
    """A list of ``items`` and room for one item from each step; exists in generated code only."""
    raise NotImplementedError


def list_store(target: Any, k: int, item: Any) -> None:
    """Put an item where there is room; exists in generated code only."""
    raise NotImplementedError


def list_prefix(target: Any, n: int) -> Any:
    """The list as long as it is after ``n`` appends; exists in generated code only."""
    raise NotImplementedError


@dataclass
class Growth:
    """A list that a loop fills: the operation that makes it, the one that appends ``item``, the
    loop, and the operation that only fetches ``append``, if there is one. ``exact``: whether each
    iteration appends, and the list is used only when all have."""

    made: Op
    append: Op
    item: Operand
    block: Block
    loop: Loop
    fetch: Op | None
    exact: bool = True


def grown(ir: IR) -> IR:
    """The function with such lists rewritten: a copy, or itself if there are none."""
    if not any(op.callee is intrinsics.build_list for op in ir.ops()):
        return ir
    if not any(_may_append(op) for op in ir.ops()):
        return ir
    copy = ir.copy()
    found = _straighten(copy)
    for made in [op for op in copy.ops() if op.callee is intrinsics.build_list]:
        tree = dominators(copy)
        growth = find(copy, tree, made)
        if growth is not None:
            (rewrite if growth.exact else rewrite_counting)(copy, tree, growth)
            found = True
    return copy if found else ir


def list_plus(items: Any, item: Any) -> Any:
    """The list with one more item; exists in generated code only."""
    raise NotImplementedError


def _straighten(ir: IR) -> bool:
    """Appends that follow the making of a list in its own block (the end of ``[*a, b]``) give a
    new value instead."""
    found = False
    for block in ir:
        made: dict[Operand, Op] = {}
        for op in block.ops:
            if op.callee in (intrinsics.build_list, intrinsics.list_extend):
                made[op.result] = op
            elif op.callee is intrinsics.list_append and op.args[1] in made:
                old = op.args[1]
                op.args = (Const(list_plus), *op.args[1:])
                _replace_after(ir, block, op, old)
                made[op.result] = op
                found = True
    return found


def _replace_after(ir: IR, block: Block, op: Op, old: Operand) -> None:
    """Replace the uses of ``old`` that come after ``op``, which is where all others are."""
    at = block.ops.index(op)
    for b in ir:
        for other in b.ops[at + 1 :] if b is block else b.ops:
            other.map(lambda x: op.result if x is old else x)
        b.term.map(lambda x: op.result if x is old else x)


def _may_append(op: Op) -> bool:
    if op.is_call(getattr):
        name = op.args[2]
        return isinstance(name, Const) and name.value == "append"
    return op.callee is intrinsics.list_append


def find(ir: IR, tree: DomTree, made: Op) -> Growth | None:
    """How a loop fills the list, if one does in the way this module knows."""
    appends = list(_appends(ir, made.result))
    if len(appends) != 1:
        return None
    append, item, block, fetch = appends[0]
    forest = loop_forest(ir)
    loop = forest.innermost(block.id)
    home = ir.where(made.result)[0]
    if loop is None or home.id in loop.blocks:
        return None
    header = ir.blocks[loop.header]
    if not isinstance(header.term, ForIter) or forest.innermost(home.id) is not loop.parent:
        return None
    if len(loop.entries) != 1 or not isinstance(ir.blocks[loop.entries[0][0]].term, Jump):
        return None
    always = all(tree.dominates(block.id, latch) for latch in loop.latches)
    ended = header.term.exhausted.target
    alone = ir.predecessors()[ended] == [loop.header]
    for growth, from_ in (
        (Growth(made, append, item, block, loop, fetch, True), ended),
        (Growth(made, append, item, block, loop, fetch, False), loop.header),
    ):
        if ((always and alone) or not growth.exact) and _uses_agree(ir, tree, growth, from_):
            return growth
    return None


def _appends(ir: IR, v: Value) -> Any:
    """The operations that append to ``v``: (operation, item, block, fetch of the method)."""
    for block in ir:
        for op in block.ops:
            if op.callee is intrinsics.list_append and op.args[1] is v:
                yield op, op.args[2], block, None
            elif op.is_call(getattr) and op.args[1] is v and _may_append(op):
                calls = [(b, o) for b in ir for o in b.ops if op.result in o.args]
                for b, o in calls:
                    one = o.args[0] is op.result and len(o.args) == 2 and not o.kwnames
                    yield o, o.args[1] if one else None, b, op if len(calls) == 1 and one else None


def _uses_agree(ir: IR, tree: DomTree, g: Growth, start: int) -> bool:
    """Whether each other use is inside the loop or behind the block ``start``."""
    if g.item is None or (g.fetch is None and g.append.callee is not intrinsics.list_append):
        return False
    for block in ir:
        uses = any(g.made.result in op.args for op in block.ops) or _leaves_with(block, g)
        if not uses or block.id in g.loop.blocks:
            continue
        if not tree.dominates(start, block.id):
            return False
    inside = [ir.blocks[b] for b in g.loop.blocks]
    return not any(_leaves_with(b, g) for b in inside) and not _is_kept(ir, inside, g)


#: builtins that look at a list and do not keep it, and those that do until they are iterated over
READERS, ITERABLES = {"len", "sum", "min", "max"}, {"enumerate", "zip", "reversed"}


def _is_kept(ir: IR, inside: list[Block], g: Growth) -> bool:
    """Whether something in the loop may hold on to the list (a tuple, a callee): it would not see
    it grow."""
    v, made = g.made.result, {op.result: op for op in ir.ops()}

    def is_read(op: Op, block: Block) -> bool:
        if op.callee in (operator.getitem, operator.setitem, operator.contains):
            return op.args[1] is v and v not in op.args[2:]
        if op.is_call(iter):
            return True
        fn = made.get(op.args[0])  # type: ignore[arg-type]
        if fn is None or op.kind != CALL:
            return False
        if fn.is_call(getattr):
            module = made.get(fn.args[1])  # type: ignore[arg-type]
            found = ir.info.globals.get(module.attr) if module and module.kind == GLOBAL else None
            return getattr(found, "__name__", "") in ("numpy", "math")
        if fn.kind != GLOBAL or fn.attr in ir.info.globals:
            return False
        users = [o for b in ir for o in b.ops if op.result in o.args]
        after = block.ops[block.ops.index(op) :]
        at_once = g.append not in after and all(o.is_call(iter) and o in after for o in users)
        return fn.attr in READERS or (fn.attr in ITERABLES and at_once)

    mine = (g.append, g.fetch, g.made)
    uses = ((op, b) for b in inside for op in b.ops if v in op.args and op not in mine)
    return not all(is_read(op, b) for op, b in uses)


def _leaves_with(block: Block, g: Growth) -> bool:
    """Whether the list leaves a block on an edge, or is returned."""
    v = g.made.result
    if isinstance(block.term, Return) and block.id not in g.loop.blocks:
        return v in block.term.operands
    return v in block.term.operands or any(v in e.args for e in block.edges)


def rewrite(ir: IR, tree: DomTree, g: Growth) -> None:
    header = ir.blocks[g.loop.header]
    term, loc = header.term, g.made.loc
    assert isinstance(term, ForIter)
    (entry, edge) = g.loop.entries[0]
    items = g.made.posargs
    made = ir.call(new_list, term.iterator, *items, loc=loc, name=g.made.result.name)
    ir.blocks[entry].ops.append(made)
    counter = ir.value(None)
    header.params.append(counter)
    edge.args = (*edge.args, Const(len(items)))
    for latch in g.loop.latches:
        following = ir.call(operator.add, counter, Const(1), loc=loc)
        ir.blocks[latch].ops.append(following)
        for e in ir.blocks[latch].edges:
            if e.target == header.id:
                e.args = (*e.args, following.result)
    _replace_uses(ir, tree, g, made.result, counter)
    g.append.args = (Const(list_store), made.result, counter, g.item)
    g.append.attr = None
    for block in ir:
        block.ops = [op for op in block.ops if op is not g.made and op is not g.fetch]


def rewrite_counting(ir: IR, tree: DomTree, g: Growth) -> None:
    """The length is counted in a cell: wherever the list is used, it is as long as that says."""
    loc, old = g.made.loc, g.made.result
    term = ir.blocks[g.loop.header].term
    assert isinstance(term, ForIter)
    items = g.made.posargs
    made = ir.call(new_list, term.iterator, *items, loc=loc, name=old.name)
    count = Op(NEWCELL, ir.value(), (Const(len(items)),), COUNT, loc)
    entry = ir.blocks[g.loop.entries[0][0]]

    def prefix(ops: list[Op]) -> Value:
        n = Op(GETCELL, ir.value(), (count.result,), COUNT, loc)
        cut = ir.call(list_prefix, made.result, n.result, loc=loc)
        ops += [n, cut]
        return cut.result

    for block in ir:
        ops: list[Op] = []
        for op in block.ops:
            if op is g.append:
                n = Op(GETCELL, ir.value(), (count.result,), COUNT, loc)
                more = ir.call(operator.add, n.result, Const(1), loc=op.loc)
                op.args, op.attr = (Const(list_store), made.result, n.result, g.item), None
                noted = Op(SETCELL, ir.value(), (count.result, more.result), COUNT, loc)
                ops += [n, op, more, noted]
            elif op is not g.made and op is not g.fetch:
                if old in op.args:
                    cut = prefix(ops)
                    op.args = tuple(cut if x is old else x for x in op.args)
                ops.append(op)
        if old in block.term.operands or any(old in e.args for e in block.edges):
            cut = prefix(ops)
            _substitute(block, old, cut)
        block.ops = ops
    entry.ops += [made, count]


def _substitute(block: Block, old: Value, new: Value) -> None:
    block.term.map(lambda x: new if x is old else x)


def _replace_uses(ir: IR, tree: DomTree, g: Growth, made: Value, counter: Value) -> None:
    """After the loop the list is whole; inside it is as long as what was appended so far."""
    old = g.made.result
    for block in list(ir):
        after = block.id in g.loop.blocks and block is not g.block
        after = after and tree.dominates(g.block.id, block.id)
        ops: list[Op] = []
        for op in block.ops:
            used = old in op.args and op not in (g.append, g.fetch)
            if used and block.id in g.loop.blocks:
                n: Operand = counter
                if after:
                    one_more = ir.call(operator.add, counter, Const(1), loc=op.loc)
                    ops.append(one_more)
                    n = one_more.result
                prefix = ir.call(list_prefix, made, n, loc=op.loc)
                ops.append(prefix)
                op.args = tuple(prefix.result if x is old else x for x in op.args)
            elif used:
                op.map(lambda x: made if x is old else x)
            ops.append(op)
            after = after or op is g.append
        block.ops = ops
        if block.id not in g.loop.blocks:
            block.term.map(lambda x: made if x is old else x)
