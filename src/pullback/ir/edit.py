"""Utilities for those who write passes: finding and replacing calls, cutting and copying blocks.

The finders scan the whole function once; ask once a pass, not once an operation.
"""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from .core import (
    CALL,
    GLOBAL,
    IR,
    Block,
    Const,
    Edge,
    ForIter,
    Jump,
    Op,
    Operand,
    Terminator,
    Value,
)


# -- reading ---------------------------------------------------------------------------------------
def definitions(ir: IR) -> dict[Value, tuple[Block, Op | None]]:
    """Where each value is defined: its block, and its operation (None for a parameter)."""
    found: dict[Value, tuple[Block, Op | None]] = {}
    for b in ir:
        for p in b.params:
            found[p] = (b, None)
        for op in b.ops:
            found[op.result] = (b, op)
    return found


def use_counts(ir: IR) -> dict[Value, int]:
    """How many operands name each value; those that none names are missing."""
    count: dict[Value, int] = {}
    for b in ir:
        for group in _operands(b):
            for x in group:
                if type(x) is Value:
                    count[x] = count.get(x, 0) + 1
    return count


def _operands(block: Block) -> list[tuple[Operand, ...]]:
    """The operands of all that is in the block, in groups."""
    term = block.term
    return [*(op.args for op in block.ops), term.operands, *(e.args for e in term.edges)]


def implicit(term: Terminator, edge: Edge) -> int:
    """How many parameters of the edge's target are bound before the edge's own arguments: one, the
    item, on the body edge of an iteration."""
    return int(isinstance(term, ForIter) and edge is term.body)


def bindings(ir: IR, block: Block) -> Iterator[tuple[Edge, Value, Operand | None]]:
    """What the edges out of ``block`` bind: (edge, parameter, argument), the argument None for the
    item of an iteration."""
    for e in block.edges:
        params = ir.blocks[e.target].params
        if params:
            skip = implicit(block.term, e)
            for p, x in zip(params, (None,) * skip + e.args):
                yield e, p, x


def incoming(ir: IR) -> dict[int, list[tuple[Block, Edge]]]:
    """For each block the edges to it, with the blocks they leave."""
    found: dict[int, list[tuple[Block, Edge]]] = {b: [] for b in ir.blocks}
    for b in ir:
        for e in b.edges:
            found[e.target].append((b, e))
    return found


def handlers(ir: IR) -> set[int]:
    """The blocks that exceptions jump to."""
    return {b.handler for b in ir if b.handler is not None}


# -- calls -----------------------------------------------------------------------------------------
def call_sites(ir: IR) -> list[tuple[Block, Op]]:
    """Every call, in order, with its block."""
    return [(b, op) for b in ir for op in b.ops if op.kind == CALL]


def callees(ir: IR) -> dict[Operand, Any]:
    """The values that are known objects as things stand: globals, builtins, and attributes of
    modules among them. (A global may be rebound later: only valid as long as it is not.)"""
    known: dict[Operand, Any] = {}
    for op in ir.ops():
        if op.kind == GLOBAL:
            scope = ir.info.globals if op.attr in ir.info.globals else vars(builtins)
            if op.attr in scope:
                known[op.result] = scope[op.attr]
        elif op.is_call(getattr) and len(op.args) == 3:
            base, name = known.get(op.args[1]), op.args[2]
            attribute = name.value if isinstance(name, Const) else ""
            if isinstance(base, ModuleType) and hasattr(base, attribute):
                known[op.result] = getattr(base, attribute)
    return known


def replace_calls(ir: IR, mapping: Mapping[Any, Any]) -> bool:
    """Call ``mapping[f]`` wherever ``f`` is called: named by a constant, a global, or an attribute
    of a module. The keys are compared by identity. Returns whether anything was replaced."""
    table = {id(old): new for old, new in mapping.items()}
    known = callees(ir)
    changed = False
    for _, op in call_sites(ir):
        fn = op.fn
        target = fn.value if isinstance(fn, Const) else known.get(fn)
        if id(target) in table and (target is not None or isinstance(fn, Const)):
            op.args = (Const(table[id(target)]), *op.args[1:])
            op.target = None
            changed = True
    return changed


def diff(before: IR, after: IR, context: int = 3) -> str:
    """The unified diff of two functions as printed; empty if they print alike."""
    old, new = str(before).splitlines(), str(after).splitlines()
    name = before.info.qualname
    return "\n".join(difflib.unified_diff(old, new, name, name, "before", "after", context, ""))


# -- blocks ----------------------------------------------------------------------------------------
def split_block(ir: IR, block: Block, index: int) -> Block:
    """Cut ``block`` before the operation at ``index``: it jumps to a new block with the rest."""
    rest = ir.block()
    rest.ops, block.ops = block.ops[index:], block.ops[:index]
    rest.term, rest.handler = block.term, block.handler
    block.term = Jump(Edge(rest.id), rest.ops[0].loc if rest.ops else rest.term.loc)
    return rest


def split_edge(ir: IR, block: Block, edge: Edge) -> Block:
    """Put a new, empty block on an edge out of ``block``."""
    items = ir.blocks[edge.target].params[: implicit(block.term, edge)]
    middle = ir.block([ir.value(p.name, p.type) for p in items])
    middle.term = Jump(Edge(edge.target, (*middle.params, *edge.args)), block.term.loc)
    middle.handler = block.handler if block.handler == ir.blocks[edge.target].handler else None
    edge.target, edge.args = middle.id, ()
    return middle


def clone_blocks(
    ir: IR, blocks: Iterable[Block], values: dict[Value, Operand] | None = None
) -> tuple[dict[int, Block], dict[Value, Operand]]:
    """Copy ``blocks`` (of ``ir`` or of another function) to the end of ``ir``, with fresh values.

    Edges among them lead to the copies, edges out of them are kept as they are. ``values`` says
    what stands for values defined elsewhere; the others stay. Returns the copies by the id of
    their original, and ``values`` completed by those that the blocks define."""
    originals = list(blocks)
    env: dict[Value, Operand] = {} if values is None else values

    def fresh(v: Value) -> Value:
        twin = ir.value(v.name, v.type)
        env[v] = twin
        return twin

    def operand(x: Operand) -> Operand:
        return env.get(x, x) if isinstance(x, Value) else x

    copies = {}
    for b in originals:
        copies[b.id] = copy = ir.block([fresh(p) for p in b.params])
        copy.ops = [op.copy(fresh(op.result)) for op in b.ops]
    for b in originals:
        copy = copies[b.id]
        for op in copy.ops:
            op.map(operand)
        copy.term = b.term.copy()
        copy.term.map(operand)
        copy.term.retarget(lambda t: copies[t].id if t in copies else t)
        if b.handler is not None:
            copy.handler = copies[b.handler].id if b.handler in copies else b.handler
    return copies, env
