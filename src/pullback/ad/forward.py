"""Forward mode: every active value gets a second value beside it, its tangent.

The transform is the same for what a user wrote and for what reverse mode wrote: the tape of a
derivative has a second tape beside it with the same layout, so that forward over reverse is this
transform applied to a combined function. *Twins* are the tangents of active scalars, the tangent
arrays of arrays (same root, same tangent array), and the second address of every tape address.

Convention: ``(*args, *tangents) -> (*results, *tangents of results)``; tangents only of what is
active. A tape argument is followed by its second tape in the tangents.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types

from ..ir.builder import Builder
from ..ir.core import (
    CALL,
    CUT,
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Const,
    Op,
    Operand,
    Return,
    Slot,
    Value,
)
from ..passes.roots import LABELS, Roots, is_view
from ..rules import registry
from ..rules.registry import ScalarRule
from ..runtime import prims
from ..typing_.specialised import is_outlined
from . import kinds
from .activity import Activity, flowing, returned
from .adjoint import check_losses, no_rule, partials, passed, product, uses
from .calls import moving_of, pushforward_of
from .kinds import is_array, is_scalar, type_of

#: array makers whose twin is a fresh array of zeros: (the maker for the twin, has a tape operand)
MAKERS: dict[Any, Any] = {
    prims.empty: prims.zeros,
    prims.zeros: prims.zeros,
    prims.heap_empty: prims.heap_zeros,
    prims.heap_zeros: prims.heap_zeros,
    prims.heap_zeros_like: prims.heap_zeros_like,
    prims.same_layout_zeros: prims.same_layout_zeros,
    prims.null: prims.null,
}
#: operations that do to the twins what they do to the primals
ALIKE = (prims.heap_own, prims.own, prims.contiguous, prims.overlap_copy)
IN_PLACE = (prims.assign, prims.accumulate)


@dataclass
class Pushforward:
    """``tangents``: positions of the arguments that take one; ``seeded``: positions of the results
    whose tangent is returned; ``results``: types of the results."""

    ir: IR
    tangents: list[int]
    seeded: list[int]
    results: list[Any]


def forward(
    source: IR, active: Sequence[bool], tapes: Sequence[Value] = (), half: bool = False
) -> Pushforward:
    """The pushforward of ``source`` (flat typed IR, not changed) by its ``active`` arguments, and
    by its ``tapes`` if it has any. ``half``: the source is one half of a pair."""
    ir, env = source.copy_with_map()
    return _Forward(ir, active, [env[t] for t in tapes], half).run()


class _Forward:
    def __init__(
        self, ir: IR, active: Sequence[bool], tapes: Sequence[Value], half: bool = False
    ) -> None:
        self.ir = ir
        self.args = list(ir.args)
        self.roots = Roots(ir, half=half)
        chosen = [a for a, on in zip(self.args, active) if on and kinds.carries(a.type)]
        self.activity = Activity(ir, self.roots, chosen, useful_args=chosen, half=half)
        if not half and not tapes:  # what reverse mode wrote was asked before
            check_losses(ir, self.activity)
        self.addresses, self.address_slots = _addresses(ir)
        self.tapes = set(tapes)
        self.twin: dict[Value, Value] = {}
        self.slots: dict[Slot, Slot] = {}
        self.calls: dict[Value, Any] = {}  # tuple of an outlined call -> its callee
        self.chosen = [a for a in self.args if a in chosen or a in self.tapes]

    def has(self, x: Operand) -> bool:
        return isinstance(x, Value) and (
            self.activity.active(x) or x in self.addresses or x in self.tapes
        )

    def has_slot(self, slot: Slot) -> bool:
        if slot in self.address_slots or slot in self.activity.slots:
            return True
        return any(r in self.activity.shadowed for r in self.roots.slots.get(slot, ()))

    def run(self) -> Pushforward:
        ir = self.ir
        blocks = list(ir)
        for a in self.args:
            if self.has(a) or a in self.chosen:
                self.twin[a] = ir.value(f"{a.name or 'x'}_dot", a.type)
        for b in blocks[1:]:
            for p in b.params:
                self._make(p)
        for b in blocks:
            for op in b.ops:
                self._make(op.result)
        extra = [self.twin[a] for a in self.chosen if a in self.twin]
        inner = [self.twin[a] for a in self.args if a in self.twin and a not in self.chosen]
        for b in blocks:
            self._block(b, inner if b is ir.entry else [])
        ir.entry.params += extra
        ir.info.argnames = ()
        results, seeded = self._results(blocks)
        return Pushforward(
            ir, [self.args.index(a) for a in self.chosen if a in self.twin], seeded, results
        )

    def _make(self, v: Value) -> None:
        if self.has(v):
            self.twin[v] = self.ir.value(f"{v.name}_dot" if v.name else None, v.type)

    def tangent(self, x: Operand, t: Any = None) -> Operand:
        """The twin of an operand, a typed zero if it has none."""
        if isinstance(x, Value) and x in self.twin:
            return self.twin[x]
        return Const(kinds.zero(t or type_of(x)))

    # -- blocks --------------------------------------------------------------------------------
    def _block(self, block: Block, zeros: list[Value]) -> None:
        ops, block.ops = block.ops, []
        self.b = Builder(self.ir, block, block.term.loc)
        for z in zeros:  # arguments that only become active inside: their tangents begin as zeros
            primal = next(a for a in self.args if self.twin.get(a) is z)
            if is_array(z.type):
                block.ops.append(Op(CALL, z, (Const(prims.same_layout_zeros), primal)))
        for op in ops:
            self.b.loc = op.loc
            if op.kind != CUT:
                self._op(op)
        for edge in block.edges:
            params = self.ir.blocks[edge.target].params
            edge.args += tuple(
                self.tangent(a, p.type) if not is_array(p.type) else self._array_twin(a)
                for p, a in zip(params, edge.args)
                if p in self.twin
            )
        if block is not self.ir.entry:
            block.params += [self.twin[p] for p in block.params if p in self.twin]

    def _array_twin(self, a: Operand) -> Operand:
        return self.twin[a] if isinstance(a, Value) and a in self.twin else a

    def _op(self, op: Op) -> None:
        if op.is_call(*ALIKE, *MAKERS) or is_view(op) or op.kind in (SLOTGET, SLOTSET):
            self.b.append(op)
            self._alike(op)
        elif op.is_call(prims.unrecord):  # the last record first: both may be on one tape
            self._record(op)
            self.b.append(op)
        elif op.is_call(prims.load, prims.store, prims.record, *IN_PLACE):
            self.b.append(op)
            self._memory(op)
        elif op.is_call(prims.peek, prims.poke):
            op.args = op.args[:LABELS]  # the parameters are others
            self.b.append(op)
            self._tape(op)
        elif is_outlined(op):
            self._call(op)
        elif op.is_call(operator.getitem):
            self.b.append(op)
            self._call_part(op)
        elif op.result in self.addresses:
            self.b.append(op)
            args = tuple(self.twin[a] if self._is_address(a) else a for a in op.args)  # type: ignore[index]
            self.b.append(Op(op.kind, self.twin[op.result], args, op.attr, op.loc))
        else:
            self.b.append(op)
            if op.kind == CALL and op.result in self.twin:
                self._rule(op)

    def _call(self, op: Op) -> None:
        callee = op.callee
        moving = [op.posargs[i] for i in moving_of(callee)]
        if any(self.has(a) for a in moving):  # always with a tape: both halves of a pair, or none
            dots = [
                self.tangent(a, t) if a in self.twin or not is_array(t) else self._zeros(a)
                for a, t in zip(moving, (callee.params[i] for i in moving_of(callee)))
            ]
            self.calls[op.result] = callee
            push = pushforward_of(callee)
            op.args = (Const(push), *op.posargs, *dots)
            op.result.type = push.type
        self.b.append(op)

    def _call_part(self, op: Op) -> None:
        if op.result not in self.twin:
            return
        callee = self.calls.get(op.args[1])  # type: ignore[arg-type]
        if callee is None:
            raise no_rule(next((o for o in self.ir.ops() if o.result is op.args[1]), op))
        position = op.args[2].value  # type: ignore[union-attr]
        before = sum(kinds.carries(t) for t in callee.result[:position])
        at = Const(len(callee.result) + before)
        self.b.append(Op(CALL, self.twin[op.result], (op.fn, op.args[1], at), None, op.loc))

    def _zeros(self, x: Operand) -> Operand:
        return self.b.call(prims.same_layout_zeros, x, type=type_of(x))

    def _is_address(self, a: Operand) -> bool:
        return isinstance(a, Value) and a in self.addresses

    def _alike(self, op: Op) -> None:
        if op.kind == SLOTSET:
            if self.has_slot(op.attr):
                x = op.args[0]
                t = self._array_twin(x) if is_array(type_of(x)) else self.tangent(x, op.attr.type)
                self.b.append(Op(SLOTSET, self.ir.value(), (t,), self._slot(op.attr), op.loc))
            return
        if op.result not in self.twin:
            return
        if op.kind == SLOTGET:
            self.b.append(Op(SLOTGET, self.twin[op.result], (), self._slot(op.attr), op.loc))
            return
        callee = MAKERS.get(op.callee, op.callee)
        args = [self._array_twin(a) for a in op.args[1:]]
        if op.is_call(*ALIKE):
            at = 1 if op.is_call(prims.heap_own) else 0
            if op.posargs[at] not in self.twin:  # a copy of what does not move
                callee = prims.heap_zeros_like if at else prims.same_layout_zeros
                args[at:] = [op.result]
        self.b.append(Op(CALL, self.twin[op.result], (Const(callee), *args), op.attr, op.loc))

    def _slot(self, slot: Slot) -> Slot:
        return self.slots.setdefault(slot, Slot(f"{slot.name}_dot", slot.type))

    def _memory(self, op: Op) -> None:
        if op.is_call(prims.load):
            if op.result in self.twin:
                args = (op.fn, self.twin[op.args[1]], *op.args[2:])  # type: ignore[index]
                self.b.append(Op(CALL, self.twin[op.result], args, None, op.loc))
        elif op.is_call(prims.store):
            x, v, *idx = op.args[1:]
            if x in self.twin:
                element = type_of(x).dtype
                self.b.call(prims.store, self.twin[x], self.tangent(v, element), *idx)  # type: ignore[index]
        elif op.is_call(prims.record):
            self._record(op)
        else:
            dst, src = op.args[1:]
            if dst in self.twin:
                if src in self.twin:
                    self.b.call(op.callee, self.twin[dst], self.twin[src])  # type: ignore[index]
                elif op.is_call(prims.assign):
                    zeros = self.b.call(prims.same_layout_zeros, src)
                    self.b.call(op.callee, self.twin[dst], zeros)  # type: ignore[index]

    def _record(self, op: Op) -> None:
        args = (op.fn, *(self._array_twin(a) for a in op.args[1:]))
        self.b.append(Op(CALL, self.twin[op.result], args, None, op.loc))

    def _tape(self, op: Op) -> None:
        if op.is_call(prims.poke):
            address, offset, v = op.args[1:]
            if is_array(type_of(v)):
                if v in self.twin:
                    self.b.call(prims.poke, self.twin[address], offset, self.twin[v])  # type: ignore[index]
            elif is_scalar(type_of(v)):
                self.b.call(prims.poke, self.twin[address], offset, self.tangent(v))  # type: ignore[index]
        elif op.result in self.twin:
            args = (op.fn, self.twin[op.args[1]], *op.args[2:])  # type: ignore[index]
            self.b.append(Op(CALL, self.twin[op.result], args, None, op.loc))

    # -- rules ---------------------------------------------------------------------------------
    def _rule(self, op: Op) -> None:
        y = op.result
        if is_scalar(y.type) and registry.scalar(op.callee) is not None:
            total: Operand | None = None
            fresh = len(self.b.block.ops)
            for term in self._terms(op):
                total = term if total is None else self.b.call(operator.add, total, term)
            dot = Const(kinds.zero(y.type)) if total is None else total
            self._define(self.twin[y], self._project(dot, op), fresh)
            return
        rule = registry.array(op.callee)
        if rule is None:
            raise no_rule(op)
        args: list[Operand] = []
        for x in op.posargs:
            args += [x, self.twin[x] if isinstance(x, Value) and x in self.twin else Const(None)]
        self.b.append(Op(CALL, self.twin[y], (Const(rule.forward), y, *args), None, op.loc))

    def _terms(self, op: Op):
        rule = registry.scalar(op.callee)
        assert rule is not None
        for k in flowing(op):
            if k >= len(op.posargs) or op.posargs[k] not in self.twin:
                continue
            t = self.twin[op.posargs[k]]  # type: ignore[index]
            holomorphic, conjugate = partials(op, k)
            if holomorphic is not None:
                yield self._term(op, holomorphic, t, rule)
            if conjugate is not None:
                yield self._term(op, conjugate, self.b.call(np.conjugate, t), rule)

    def _term(self, op: Op, partial: Any, t: Operand, rule: ScalarRule) -> Operand:
        used = uses(partial)
        if not used:
            constant = partial(*[None] * partial.__code__.co_argcount)
            if constant == 1:
                return t
            return (
                self.b.call(operator.neg, t)
                if constant == -1
                else self.b.call(operator.mul, t, constant)
            )
        zero = Const(kinds.zero(op.result.type))
        if op.is_call(prims.select):
            return passed(self.b, rule, partial, op.args[1], t, zero)
        operands = (op.result, *op.posargs)
        args = [x if i in used else Const(None) for i, x in enumerate(operands)]
        p = self.b.call(partial, *args[: partial.__code__.co_argcount])
        return product(self.b, rule, t, p, zero)

    def _project(self, d: Operand, op: Op) -> Operand:
        """A tangent as the type of the result: the sum of two conjugates, if that is real."""
        want = op.result.type
        if want in types.real_domain and types.complex_domain & set(map(type_of, op.posargs)):
            d = self.b.call(prims.real, d)
        if want in (types.float64, types.complex128):
            return d
        return self.b.call(prims.cast, want, d)

    def _define(self, v: Value, x: Operand, fresh: int) -> None:
        """Make ``v`` the value of ``x``: its own result if it is the last of the operations from
        ``fresh`` on, else a copy."""
        ops = self.b.block.ops
        if len(ops) > fresh and ops[-1].result is x:
            ops[-1].result = v
        else:
            self.b.append(Op(CALL, v, (Const(operator.pos), x), None, self.b.loc))

    def _results(self, blocks: list[Block]) -> tuple[list[Any], list[int]]:
        kinds_, seeded = [], []
        for block in blocks:
            if not isinstance(block.term, Return):
                continue
            results = returned(self.ir, block.id)
            kinds_ = [type_of(r) or _typeof(r) for r in results]
            seeded = [k for k, t in enumerate(kinds_) if kinds.carries(t)]
            tangents = [self._result_tangent(block, results[k], kinds_[k]) for k in seeded]
            for op in block.ops:
                if op.result is block.term.value:
                    block.ops.remove(op)
                    op.args += tuple(tangents)
                    block.ops.append(op)
                    break
        return kinds_, seeded

    def _result_tangent(self, block: Block, r: Operand, t: Any) -> Operand:
        if not is_array(t) or self.has(r):
            return self.tangent(r, t) if not is_array(t) else self.twin[r]  # type: ignore[index]
        b = Builder(self.ir, block, block.term.loc)
        return b.call(prims.same_layout_zeros, r, type=t)


def _typeof(x: Operand) -> Any:
    from numba import typeof

    return typeof(x.value) if isinstance(x, Const) else None


def _addresses(ir: IR) -> tuple[set[Value], set[Slot]]:
    """The integers that are addresses on a tape: from record and unrecord, and offsets of them."""
    found: set[Value] = set()
    slots: set[Slot] = set()
    changed = True
    while changed:
        before = len(found) + len(slots)
        for b in ir:
            for op in b.ops:
                if op.is_call(prims.record, prims.unrecord) or (
                    op.is_call(operator.add) and any(a in found for a in op.args[1:])
                ):
                    found.add(op.result)
                elif op.kind == SLOTSET and op.args[0] in found:
                    slots.add(op.attr)
                elif op.kind == SLOTGET and op.attr in slots:
                    found.add(op.result)
            for edge in b.edges:
                for p, a in zip(ir.blocks[edge.target].params, edge.args):
                    if a in found:
                        found.add(p)
        changed = len(found) + len(slots) != before
    return found, slots
