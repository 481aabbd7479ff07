"""Give every array that has a shadow a second value beside it: the shadow's handle.

The same root has the same shadow by construction: what makes a view of the primal makes the same
view of the shadow, block parameters travel in pairs, an allocation is followed by one of zeros.
Afterwards shadow handles are ordinary values of the primal program, and the planner decides how
the reverse half gets at them as it does for indices.
"""

from __future__ import annotations

import operator

from ..ir.core import (
    CALL,
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Const,
    Loc,
    Op,
    Operand,
    Slot,
    Undef,
    Value,
)
from ..passes.roots import base, is_view
from ..runtime import prims
from ..typing_.specialised import is_outlined
from .activity import Activity
from .calls import Pair
from .kinds import is_active_array

ON_HEAP = {
    prims.empty: prims.heap_empty,
    prims.zeros: prims.heap_zeros,
    prims.own: prims.heap_own,
}
#: array makers that have a tape operand, whose twin is zeros of the same dimensions
BY_DIMS = (prims.heap_empty, prims.heap_zeros)


class Shadows:
    """``of[x]`` is the shadow of array value ``x``. Arguments get theirs from ``given`` (a new
    argument of the function each) or, where the caller has none, zeros made at the entry."""

    def __init__(
        self, ir: IR, activity: Activity, tape: Value, given: list[Value], every: bool = False
    ) -> None:
        self.ir, self.activity, self.tape, self.every = ir, activity, tape, every
        self.calls: dict[Op, Pair] = {}  # active calls that stay calls
        self.call_of = {op.result: op for op in ir.ops() if is_outlined(op)}
        self.of: dict[Value, Value] = {}
        self.slots: dict[Slot, Slot] = {}
        self.arguments: list[Value] = []
        blocks = list(ir)
        self._arguments(given)
        for b in blocks[1:]:
            self._params(b)
        for b in blocks:
            for op in b.ops:
                if op.result not in self.of and activity.has_shadow(op.result):
                    self.of[op.result] = self._twin(op.result)
        for b in blocks:
            self._block(b)

    def __getitem__(self, x: Operand) -> Operand:
        return self.of[x] if isinstance(x, Value) and x in self.of else Const(None)

    def _twin(self, x: Value) -> Value:
        return self.ir.value(f"d{x.name}" if x.name else "d", x.type)

    def _arguments(self, given: list[Value]) -> None:
        ir, made = self.ir, []
        for a in list(ir.args):
            if not self.activity.has_shadow(a) and not (self.every and a in given):
                continue
            self.of[a] = self._twin(a)
            if a in given:
                self.arguments.append(a)
            else:
                made.append(self._zeros_like(a, ir.entry.term.loc))
        ir.entry.params += [self.of[a] for a in self.arguments]
        ir.entry.ops[:0] = made

    def _params(self, b: Block) -> None:
        for p in list(b.params):
            if self.activity.has_shadow(p):
                self.of[p] = self._twin(p)

    def _block(self, b: Block) -> None:
        ops: list[Op] = []
        for op in b.ops:
            ops.append(op)
            twin = self._shadow_op(op)
            if twin is not None:
                ops.append(twin)
        b.ops = ops
        for edge in b.edges:
            params = self.ir.blocks[edge.target].params
            extra = [self._pair(a) for p, a in zip(params, edge.args) if p in self.of]
            edge.args += tuple(extra)
        if b is not self.ir.entry:
            b.params += [self.of[p] for p in b.params if p in self.of]

    def _pair(self, a: Operand) -> Operand:
        return self.of[a] if isinstance(a, Value) else Undef(type=getattr(a, "type", None))

    def _shadow_op(self, op: Op) -> Op | None:
        """The operation on shadows that goes with ``op``, if any."""
        if op.kind == SLOTSET and isinstance(op.args[0], Value) and op.args[0] in self.of:
            slot = self.slots.setdefault(op.attr, Slot(f"d{op.attr.name}", op.attr.type))
            return Op(SLOTSET, self.ir.value(), (self.of[op.args[0]],), slot, op.loc)
        x = op.result
        if x not in self.of:
            return None
        if op.kind == SLOTGET:
            slot = self.slots.setdefault(op.attr, Slot(f"d{op.attr.name}", op.attr.type))
            return Op(SLOTGET, self.of[x], (), slot, op.loc)
        if is_view(op):
            k = base(op)
            args = (*op.args[:k], self.of[op.args[k]], *op.args[k + 1 :])  # type: ignore[index]
            return Op(op.kind, self.of[x], args, op.attr, op.loc)
        if op.is_call(operator.getitem):
            return self._call_part(op)
        if op.callee in BY_DIMS:
            args = (Const(prims.heap_zeros), *op.args[1:])
            return Op(op.kind, self.of[x], args, op.attr, op.loc)
        return self._zeros_like(x, op.loc)

    def _call_part(self, op: Op) -> Op:
        """The shadow of an array that a call of a forward half returns: among its last results."""
        call = self.call_of[op.args[1]]  # type: ignore[index]
        results = call.callee.result
        position = op.args[2].value  # type: ignore[union-attr]
        before = sum(is_active_array(t) for t in results[:position])
        at = Const(len(results) + before)
        return Op(CALL, self.of[op.result], (op.fn, call.result, at), None, op.loc)

    def _zeros_like(self, x: Value, loc: Loc) -> Op:
        args = (Const(prims.heap_zeros_like), self.tape, x)
        return Op(CALL, self.of[x], args, None, loc)
