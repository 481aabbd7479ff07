"""Temporaries of a loop's body are allocated once, before the loop.

In ``for _ in range(steps): u[1:-1] += k * (u[2:] - ...)`` each step needs memory for the right-hand
side. Taken anew each time it would fall out of the cache, and the heap of the tape, which keeps all
arrays until the end, would grow by one array a step. One array for all steps will do if what a step
leaves in it counts for nothing in the next one. Where the derivative needs what was in the array,
separate arrays are what keeps it: those stay.
"""

from __future__ import annotations

import operator

from ...ir.core import IR, Block, Const, Op, Operand, Value
from ...ir.loops import Loop, loop_forest, preheader
from ...passes.loop_canonical import add_preheader
from ...runtime import prims

LINEAR = (operator.add, operator.sub, operator.neg)


def hoist_temporaries(ir: IR) -> bool:
    """Move allocations out of loops, inner before outer; whether any was moved."""
    changed = False
    for loop in loop_forest(ir).inside_out():
        uses = _Uses(ir)
        for op in [op for b in sorted(loop.blocks) for op in ir.blocks[b].ops]:
            if op.is_call(prims.empty) and uses.temporary(op, loop):
                ahead = preheader(ir, loop) or add_preheader(ir, loop)
                block, _ = ir.where(op.result)
                block.ops.remove(op)
                ahead.ops.append(op)
                changed = True
    return changed


class _Uses:
    """Who uses each value, and where it is defined."""

    def __init__(self, ir: IR) -> None:
        self.by: dict[Operand, list[tuple[Block, Op | None]]] = {}
        self.home: dict[Operand, int] = {}
        self.definition: dict[Operand, Op] = {}
        for b in ir:
            self.home.update(dict.fromkeys(b.params, b.id))
            for op in b.ops:
                self.home[op.result] = b.id
                self.definition[op.result] = op
                for x in op.args:
                    self._note(x, b, op)
            for x in (*b.term.operands, *(a for e in b.edges for a in e.args)):
                self._note(x, b, None)

    def _note(self, x: Operand, block: Block, op: Op | None) -> None:
        if isinstance(x, Value):
            self.by.setdefault(x, []).append((block, op))

    def temporary(self, made: Op, loop: Loop) -> bool:
        """Whether an array is filled and read by elements in the loop alone, for sums only, and
        has the same lengths each time."""
        if not all(self._length(x, loop) for x in made.args[3:]):
            return False
        for block, op in self.by.get(made.result, ()):
            if block.id not in loop.blocks or op is None or not op.is_call(prims.load, prims.store):
                return False
            if made.result in op.args[2:]:
                return False
            if op.is_call(prims.load) and not self._summed(op.result):
                return False
        return True

    def _length(self, x: Operand, loop: Loop) -> bool:
        """Whether it is the same in all iterations, and not negative."""
        if isinstance(x, Const):
            return bool(x.value >= 0)
        op = self.definition.get(x)
        known = op is not None and op.is_call(prims.dim, prims.slice_count)
        return known and self.home[x] not in loop.blocks

    def _summed(self, x: Value) -> bool:
        """Whether the number is only added to others, multiplied by constants and stored."""
        for _, op in self.by.get(x, ()):
            if op is None:
                return False
            scaled = op.is_call(operator.mul) and any(isinstance(a, Const) for a in op.args[1:])
            if op.is_call(*LINEAR) or scaled:
                if not self._summed(op.result):
                    return False
            elif not op.is_call(prims.store) or x in op.args[3:]:
                return False
        return True
