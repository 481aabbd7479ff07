"""Common subexpression elimination: of two equal calls of which one dominates the other, the first
stands for both.

For calls whose result depends on the operands alone. They may raise: if the first did not, the
second does not. A handler sees nothing of what is before it: exceptions leave blocks half-way.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable

from ..ir.core import CALL, IR, Op, Operand, Undef, Value
from ..ir.dominators import dominators
from ..ir.edit import handlers
from .copy_prop import keep_name
from .effects import deterministic
from .scalars import is_number

_COMMUTATIVE = {
    *(operator.add, operator.mul, operator.and_, operator.or_, operator.xor),
    *(operator.eq, operator.ne),
}


def cse(ir: IR) -> bool:
    """Share equal calls along the dominator tree."""
    tree = dominators(ir)
    table: dict[Hashable, Value] = {}  # what is available at the point the walk has reached
    same: dict[Value, Operand] = {}
    barriers = handlers(ir)
    stack: list[tuple[int, int, list[Hashable] | None]] = [(tree.root, tree.root, None)]
    while stack:
        id, scope, added = stack.pop()
        if added is not None:
            for key in added:
                del table[key]
            continue
        if id in barriers:
            scope = id
        added, kept = [], []
        for op in ir.blocks[id].ops:
            if same:
                op.replace(same)
            shared = _key(op)
            key = (scope, shared)
            if shared is None:
                kept.append(op)
            elif key in table:
                same[op.result] = table[key]
                keep_name(table[key], op.result)
            else:
                kept.append(op)
                table[key] = op.result
                added.append(key)
        ir.blocks[id].ops = kept
        if ir.blocks[id].handler is not None:  # an exception leaves before all are executed
            for key in added:
                del table[key]
            added = []
        stack.append((id, scope, added))
        stack.extend((c, scope, None) for c in reversed(tree.children[id]))
    ir.substitute(same)
    return bool(same)


def _key(op: Op) -> Hashable | None:
    """Equal for calls with equal results; None for those that are not shared."""
    if not deterministic(op):
        return None
    for x in op.args:
        if type(x) is Undef:
            return None
    if op.kind != CALL:
        return op.kind, op.args, op.attr, id(op.result.type)
    args = op.args[1:]
    if op.callee in _COMMUTATIVE and len(args) == 2:
        a, b = args
        if _rank(a) > _rank(b) and _on_numbers(args):
            args = b, a
    return op.callee, args, id(op.result.type)


def _on_numbers(args: tuple[Operand, ...]) -> bool:
    return all(is_number(x.type) for x in args if type(x) is Value)


def _rank(x: Operand) -> int:
    return x.id if type(x) is Value else -1
