"""Common subexpression elimination: of two equal calls of which one dominates the other, the first
stands for both.

For calls whose result depends on the operands alone. They may raise: if the first did not, the
second does not.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable

from ..ir.core import IR, Op, Operand, Undef, Value
from ..ir.dominators import dominators
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
    stack: list[tuple[int, list[Hashable] | None]] = [(tree.root, None)]
    while stack:
        id, added = stack.pop()
        if added is not None:
            for key in added:
                del table[key]
            continue
        block = ir.blocks[id]
        added, kept = [], []
        for op in block.ops:
            if any(isinstance(x, Value) and x in same for x in op.args):
                op.map(lambda x: same.get(x, x) if isinstance(x, Value) else x)
            key = _key(op)
            if key is not None and key in table:
                same[op.result] = table[key]
                keep_name(table[key], op.result)
                continue
            kept.append(op)
            if key is not None:
                table[key] = op.result
                added.append(key)
        block.ops = kept
        stack.append((id, added))
        stack.extend((c, None) for c in reversed(tree.children[id]))
    ir.substitute(same)
    return bool(same)


def _key(op: Op) -> Hashable | None:
    """Equal for calls with equal results; None for those that are not shared."""
    if not deterministic(op) or any(isinstance(x, Undef) for x in op.args):
        return None
    args = op.args
    if op.callee in _COMMUTATIVE and all(is_number(t) for t in _types(args[1:])):
        args = (args[0], *sorted(args[1:], key=_rank))
    return op.kind, args, op.attr, op.result.type


def _types(operands: tuple[Operand, ...]) -> list[object]:
    return [x.type for x in operands if isinstance(x, Value)]


def _rank(x: Operand) -> int:
    return x.id if isinstance(x, Value) else -1
