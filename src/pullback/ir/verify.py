"""Is the IR well formed? Run between passes in tests; a failure is a defect of a pass."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import InvalidIR
from .core import (
    AWAIT,
    CALL,
    CLOSURE,
    DELEGATE,
    FREECELL,
    GETCELL,
    GLOBAL,
    IR,
    KINDS,
    NEWCELL,
    SETCELL,
    SLOTGET,
    SLOTSET,
    YIELD,
    Block,
    ClosureSpec,
    Const,
    Edge,
    ForIter,
    Op,
    Operand,
    Slot,
    Undef,
    Unterminated,
    Value,
)
from .dominators import dominators, executed_before
from .raising import quiet_start

_ARITY = {
    GLOBAL: 0, FREECELL: 0, GETCELL: 1, SETCELL: 2, NEWCELL: 1, SLOTGET: 0, SLOTSET: 1,
    YIELD: 1, DELEGATE: 1, AWAIT: 1,
}  # fmt: skip
_ATTR = {
    GLOBAL: str,
    FREECELL: str,
    GETCELL: str,
    SETCELL: str,
    NEWCELL: str,
    SLOTGET: Slot,
    SLOTSET: Slot,
    CLOSURE: ClosureSpec,
}


def verify(ir: IR, typed: bool = False) -> IR:
    """Raise `InvalidIR` naming the first fault, else return ``ir``.

    Checked: the entry's parameters are the arguments and nothing jumps to it; every block ends in a
    terminator whose edges lead to blocks and carry one argument for each parameter; nothing jumps
    to a handler, and its one parameter is the exception; every value is defined once, and its
    definition is executed before each use (where an exception leaves, only what comes before the
    first operation that can raise has been executed); operations have the operands and the static
    part of their kind; with ``typed``, every value that is used has a type.
    """
    if not ir.blocks:
        raise _fault(ir, "there is no block")
    _entry(ir)
    where = _definitions(ir)
    _handlers(ir)
    for block in ir:
        _terminator(ir, block)
        for op in block.ops:
            _operation(ir, op)
    _dominance(ir, where)
    if typed:
        _types(ir)
    return ir


def _fault(ir: IR, what: str, block: Block | None = None) -> InvalidIR:
    place = f" in b{block.id}" if block is not None else ""
    return InvalidIR(f"{ir.info.qualname}: {what}{place}")


def _entry(ir: IR) -> None:
    if any(ir.entry.id in b.successors for b in ir):
        raise _fault(ir, "something jumps to the entry")
    expected = len(ir.info.argnames)
    if expected and len(ir.args) != expected:
        raise _fault(ir, f"{len(ir.args)} entry parameters for {expected} arguments")
    for id, block in ir.blocks.items():
        if block.id != id:
            raise _fault(ir, f"b{block.id} is filed under {id}")


def _handlers(ir: IR) -> None:
    named = {}
    for block in ir:
        if block.handler is not None:
            if block.handler not in ir.blocks:
                raise _fault(ir, f"no handler b{block.handler}", block)
            named[block.handler] = block
    for block in ir:
        for target in block.successors:
            if target in named:
                raise _fault(ir, f"a jump to the handler b{target}", block)
    for handler, block in named.items():
        if handler == ir.entry.id:
            raise _fault(ir, "the entry is a handler", block)
        if len(ir.blocks[handler].params) != 1:
            raise _fault(ir, f"handler b{handler} without its one parameter", block)


def _definitions(ir: IR) -> dict[Value, tuple[int, int]]:
    """Where each value is defined: its block and position (-1 for parameters)."""
    where: dict[Value, tuple[int, int]] = {}
    ids: dict[int, Value] = {}
    for block in ir:
        defined = [(p, -1) for p in block.params]
        defined += [(op.result, i) for i, op in enumerate(block.ops)]
        for value, position in defined:
            if value in where:
                raise _fault(ir, f"{value!r} is defined twice", block)
            if value.id in ids:
                raise _fault(ir, f"two values have the id {value.id}", block)
            ids[value.id] = value
            where[value] = (block.id, position)
    return where


def _terminator(ir: IR, block: Block) -> None:
    term = block.term
    if isinstance(term, Unterminated):
        raise _fault(ir, "no terminator", block)
    for edge in term.edges:
        if edge.target not in ir.blocks:
            raise _fault(ir, f"a jump to b{edge.target}, which does not exist", block)
        given = len(edge.args) + _implicit(term, edge)
        expected = len(ir.blocks[edge.target].params)
        if given != expected:
            what = f"{given} arguments for the {expected} parameters of b{edge.target}"
            raise _fault(ir, what, block)


def _implicit(term: object, edge: Edge) -> int:
    return int(isinstance(term, ForIter) and edge is term.body)


def _operation(ir: IR, op: Op) -> None:
    if op.kind not in KINDS:
        raise _fault(ir, f"no such kind of operation: {op.kind!r}")
    if op.kind == CALL:
        names = op.attr
        if names is not None and not (
            isinstance(names, tuple) and all(isinstance(n, str) for n in names)
        ):
            raise _fault(ir, f"keyword names {names!r} of {op.result!r}")
        if len(op.args) < 1 + len(op.kwnames):
            raise _fault(ir, f"too few operands for the call {op.result!r}")
        return
    arity = _ARITY.get(op.kind)
    if arity is not None and len(op.args) != arity:
        raise _fault(ir, f"{op.kind} {op.result!r} with {len(op.args)} operands")
    static = _ATTR.get(op.kind)
    if static is not None and not isinstance(op.attr, static):
        raise _fault(ir, f"{op.kind} {op.result!r} with static part {op.attr!r}")


def _uses(block: Block) -> Iterator[tuple[Operand, int]]:
    for i, op in enumerate(block.ops):
        for x in op.args:
            yield x, i
    end = len(block.ops)
    for x in block.term.operands:
        yield x, end
    for edge in block.term.edges:
        for x in edge.args:
            yield x, end


def _dominance(ir: IR, where: dict[Value, tuple[int, int]]) -> None:
    tree, before = dominators(ir), executed_before(ir)
    for block in ir:
        for x, position in _uses(block):
            if isinstance(x, (Const, Undef)):
                continue
            if not isinstance(x, Value):
                raise _fault(ir, f"{x!r} is no operand", block)
            if x not in where:
                raise _fault(ir, f"{x!r} is used and never defined", block)
            home, at = where[x]
            if home == block.id:
                ok = at < position
            else:
                early = at < quiet_start(ir.blocks[home])
                ok = tree.dominates(home, block.id) if early else before(home, block.id)
            if not ok:
                raise _fault(ir, f"{x!r} is used where it may not be defined", block)


def _types(ir: IR) -> None:
    for block in ir:
        for x, _ in _uses(block):
            if isinstance(x, Value) and x.type is None:
                raise _fault(ir, f"{x!r} has no type", block)
