"""The pass that makes a function contextual: each call site asks the context what to call.

A call ``f(x)`` becomes ``t = resolve(f, x); t(x)``: what finally runs is called from the user's own
frame. What the new code needs (resolvers, the context) it finds in further free variables;
a `Need` says what belongs into one, and `room` makes it, once for each context. What no context of
the stack watches is left alone.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..ir import intrinsics as i
from ..ir.core import (
    CALL,
    FREECELL,
    GETCELL,
    GLOBAL,
    IR,
    Block,
    Branch,
    Const,
    ForIter,
    Op,
    Operand,
    Value,
)
from ..ir.liveness import values
from ..ir.operators import BINARY_OP, COMPARE, UNARY
from . import frames
from .markers import PLAIN, Addressed


class Need(NamedTuple):
    """What a free variable of contextual code holds: `room.Room.make` knows each kind."""

    kind: str
    of: Any = None


@dataclass(frozen=True)
class Watch:
    """What the contexts of a stack look at, as far as rewriting depends on it."""

    callees: frozenset[int]  # the ids of callables that have primitives
    everything: bool = False  # a primitive for any callable, or a hook
    pre: bool = False
    post: bool = False
    error: bool = False
    by_arguments: bool = False  # primitives or passes that depend on the arguments

    def watches(self, callee: Any) -> bool:
        return self.everything or id(callee) in self.callees


CALLS = frozenset(
    (
        i.build_tuple, i.build_list, i.build_set, i.build_map, i.build_string, i.format_value,
        i.convert_value, i.list_extend, i.set_update, i.dict_update, i.call_ex, i.spread, i.unpack,
        i.unpack_ex,
    )
)  # fmt: skip
"""The intrinsics that are calls. The others belong to the running function, or to the writing down
of a larger construct."""

ENTRANCES = tuple(
    found for name in ("before_with", "with_except_start") if (found := getattr(i, name, None))
)
"""The intrinsics that call methods of a context manager."""

CAUGHT: Any = getattr(i, "push_exc_info", i)
"""Where an exception is caught, whose traceback the user may look at."""

OPERATORS = frozenset((*BINARY_OP, *COMPARE.values(), *UNARY.values())) | {
    operator.getitem,
    operator.setitem,
    operator.delitem,
    operator.contains,
    iter,
}
"""What may run a method of the user's class behind an operator."""

OPENING = {i.unpack: 1, i.unpack_ex: 1, i.list_extend: 2, i.set_update: 2}
"""Intrinsics that take all the items of an operand, and which."""

TRUE_OR_FALSE = (
    operator.is_, operator.is_not, operator.not_, operator.contains, i.exc_match, i.match_sequence,
    i.match_mapping,
)  # fmt: skip
DISPLAYS = (i.build_tuple, i.build_list, i.build_set, i.build_map, i.build_string)
NEVER_CALLABLE = frozenset((*COMPARE.values(), *TRUE_OR_FALSE, *DISPLAYS, i.format_value, slice))
"""Their results are no functions, so that a call need not look at them."""


class Rewriting:
    """One function. ``needs`` are the contents of the free variables added, in order."""

    def __init__(self, ir: IR, watch: Watch) -> None:
        self.ir, self.watch = ir, watch
        self.needs: list[Need] = []
        self.cells: list[Value] = []
        self._shared: dict[Need, int] = {}
        self.defined = {op.result: op for op in ir.ops()}
        self.items = unpacked(ir, self.defined)
        self.uses = count_uses(ir)
        self.over: list[Value] = []
        self.attributes = {
            op: op.args[2].value
            for op in ir.ops()
            if op.is_call(getattr) and len(op.args) == 3 and isinstance(op.args[2], Const)
        }

    def run(self) -> IR:
        for block in list(self.ir):
            self._block(block)
        if self.watch.watches(next) or self.watch.watches(iter):
            self._iterations()
        self._place_cells()
        return self.ir

    # -- free variables ------------------------------------------------------------------------
    def need(self, need: Need, shared: bool = True) -> int:
        if shared and need in self._shared:
            return self._shared[need]
        self.needs.append(need)
        self.cells.append(self.ir.value())
        self._shared[need] = len(self.needs) - 1
        return len(self.needs) - 1

    def _place_cells(self) -> None:
        names = tuple(f"%{k}" for k in range(len(self.needs)))
        entry = self.ir.entry.ops
        entry[:0] = [Op(FREECELL, cell, (), name) for cell, name in zip(self.cells, names)]
        self.ir.info.freevars = (*self.ir.info.freevars, *names)

    def _read(self, ops: list[Op], k: int, like: Op) -> Value:
        op = Op(GETCELL, self.ir.value(), (self.cells[k],), f"%{k}", like.loc)
        ops.append(op)
        return op.result

    def _call(self, ops: list[Op], k: int, args: Iterable[Operand], like: Op) -> Value:
        """Append the call of what free variable k holds."""
        fn = self._read(ops, k, like)
        op = Op(CALL, self.ir.value(), (fn, *args), None, like.loc)
        ops.append(op)
        return op.result

    # -- calls ---------------------------------------------------------------------------------
    def _block(self, block: Block) -> None:
        old, block.ops = block.ops, []
        for op in old:
            if op not in self.items:
                self._let_go(block.ops)
            self._operation(op, block.ops)
        self._let_go(block.ops)
        term = block.term
        if isinstance(term, Branch) and isinstance(term.cond, Value):
            made = self.defined.get(term.cond)
            if made is None or not in_(made.callee, TRUE_OR_FALSE):
                truth = self.ir.call(operator.truth, term.cond, loc=term.loc)
                self._operation(truth, block.ops)
                term.cond = truth.result

    def _operation(self, op: Op, ops: list[Op]) -> None:
        op.map(lambda x: self._context(x, ops, op))
        callee = op.callee
        if op.kind == CALL and in_(callee, ENTRANCES):
            k = self.need(Need("operator", callee))
            op.args = (self._read(ops, k, op), *op.args[1:])
            ops.append(op)
        elif op.kind == CALL and callee is CAUGHT:
            ops.append(op)
            ops.append(self.ir.call(frames.clean, op.args[1], loc=op.loc))
        elif op.kind != CALL or op.target is PLAIN or op in self.items or is_bound(callee):
            ops.append(op)
        elif callee is i.call_ex:
            self._spread(op, ops)
        elif isinstance(op.fn, Const) and not self.watch.watches(callee):
            self._operator(op, ops)
        elif self._is_build_class(op):
            ops.append(op)
        else:
            self._dynamic(op, ops)

    def _context(self, x: Operand, ops: list[Op], op: Op) -> Operand:
        """A context that a pass addresses, read from its cell."""
        if isinstance(x, Const) and isinstance(x.value, Addressed):
            return self._read(ops, self.need(Need("context", x.value.number)), op)
        return x

    def _operator(self, op: Op, ops: list[Op]) -> None:
        """An operation of the language that nobody watches: only methods behind it matter."""
        callee = op.callee
        if callee is getattr and len(op.args) == 3 and isinstance(op.args[2], Const):
            k = self.need(Need("attribute", op.args[2].value), shared=False)
            op.args = (self._read(ops, k, op), op.args[1])
        elif in_(callee, (setattr, delattr)) and isinstance(op.args[2], Const):
            k = self.need(Need("write", (op.args[2].value, callee is setattr)))
            op.args = (self._read(ops, k, op), op.args[1], *op.args[3:])
        elif in_(callee, OPENING):
            at = OPENING[callee]
            k = self.need(Need("iterable", callee is i.list_extend))
            op.args = (*op.args[:at], self._opened(ops, k, op.args[at], op), *op.args[at + 1 :])
        elif in_(callee, OPERATORS) or callee is operator.truth:
            k = self.need(Need("operator", callee))
            op.args = (self._read(ops, k, op), *op.args[1:])
        ops.append(op)

    def _opened(self, ops: list[Op], k: int, x: Operand, op: Op) -> Value:
        """What free variable k makes of ``x``, which dies here if it is an intermediate result."""
        if isinstance(x, Value) and x.name is None and self.uses[x] == 1:
            self.over.append(x)
        return self._call(ops, k, (x,), op)

    def _let_go(self, ops: list[Op]) -> None:
        """Release the intermediate results that were used for the last time: on the stack they
        would be gone."""
        ops += [self.ir.call(i.release, x) for x in self.over]
        self.over.clear()

    def _is_build_class(self, op: Op) -> bool:
        made = self.defined.get(op.fn) if isinstance(op.fn, Value) else None
        return made is not None and (made.kind, made.attr) == (GLOBAL, "__build_class__")

    def _dynamic(self, op: Op, ops: list[Op]) -> None:
        fn, args = op.fn, op.args[1:]
        after = self._hooks(op, "hooks", (fn, *args), ops)
        seen = args if self.watch.by_arguments else tuple(filter(self._may_be_callable, args))
        names = op.kwnames if self.watch.by_arguments else ()
        exact = None if op.kwnames else len(args)
        k = self.need(Need("call", (names, self._attribute(fn), exact, len(seen))), shared=False)
        target = self._call(ops, k, (fn, *seen), op)
        if self.watch.error:
            guard = self._read(ops, self.need(Need("guard")), op)
            op.args = (guard, target, fn, *args)
        else:
            op.args = (target, *args)
        ops.append(op)
        after(op.result)

    def _attribute(self, fn: Operand) -> str | None:
        """The name of the attribute that a callee was read from."""
        made = self.defined.get(fn) if isinstance(fn, Value) else None
        if made is None or made not in self.attributes:
            return None
        return self.attributes[made]

    def _may_be_callable(self, x: Operand) -> bool:
        if isinstance(x, Const):
            return callable(x.value)
        op = self.defined.get(x) if isinstance(x, Value) else None
        return op is None or not in_(op.callee, NEVER_CALLABLE)

    def _spread(self, op: Op, ops: list[Op]) -> None:
        """``f(*args, **kwargs)``."""
        fn, args, *kwargs = op.args[1:]
        if self.watch.everything:
            args = self._as_tuple(args, op, ops)
        elif not self._is_tuple(args):
            args = self._opened(ops, self.need(Need("iterable", True)), args, op)
            op.args = (*op.args[:2], args, *kwargs)
        after = self._hooks(op, "spread hooks", (fn, args, *kwargs), ops)
        k = self.need(Need("spread"), shared=False)
        target = self._call(ops, k, (fn, args, *kwargs), op)
        if self.watch.error:
            guard = self._read(ops, self.need(Need("spread guard")), op)
            op.args = (guard, target, fn, args, *kwargs)
        else:
            op.args = (op.args[0], target, args, *kwargs)
        ops.append(op)
        after(op.result)

    def _is_tuple(self, args: Operand) -> bool:
        """Whether it is one by construction."""
        made = self.defined.get(args) if isinstance(args, Value) else None
        known = made is not None and made.is_call(i.build_tuple, i.list_to_tuple)
        return isinstance(args, Const) or known

    def _as_tuple(self, args: Operand, op: Op, ops: list[Op]) -> Operand:
        """What ``*args`` spreads, as a tuple: made by a call, if it is none by construction."""
        if self._is_tuple(args):
            return args
        spread = self.ir.call(i.spread, args, loc=op.loc)
        self._operation(spread, ops)
        return spread.result

    def _hooks(self, op: Op, kind: str, operands: tuple[Operand, ...], ops: list[Op]) -> Any:
        """The call of the prehook, and what appends that of the posthook."""
        names = op.attr

        def hook(which: str, args: tuple[Operand, ...]) -> Value:
            result = self._call(ops, self.need(Need(kind, which)), args, op)
            ops[-1].attr = names
            return result

        if self.watch.pre:
            hook("prehook", operands)

        def after(result: Value) -> None:
            if self.watch.post:
                hook("posthook", (result, *operands))

        return after

    # -- iteration -----------------------------------------------------------------------------
    def _iterations(self) -> None:
        """Let loops step through the context: ``next`` is watched."""
        for block in list(self.ir):
            term = block.term
            if not isinstance(term, ForIter) or not isinstance(term.iterator, Value):
                continue
            made = self.defined.get(term.iterator)
            if made is not None:
                home, at = self.ir.where(term.iterator)
                at += 1
            elif term.iterator in self.ir.args:
                home, at = self.ir.entry, 0
            else:
                continue
            ops: list[Op] = []
            like = made or Op(CALL, self.ir.value(), (), None, term.loc)
            k = self.need(Need("steps"))
            stepping = self._call(ops, k, (term.iterator,), like)
            home.ops[at:at] = ops
            term.iterator = stepping


def unpacked(ir: IR, defined: dict[Value, Op]) -> set[Op]:
    """The operations that take the items of an unpacking."""
    found = set()
    for op in ir.ops():
        if op.is_call(operator.getitem) and isinstance(op.args[1], Value):
            source = defined.get(op.args[1])
            if source is not None and source.is_call(i.unpack, i.unpack_ex, *ENTRANCES):
                found.add(op)
    return found


def count_uses(ir: IR) -> Counter[Value]:
    """How often each value is an operand."""
    used: Counter[Value] = Counter()
    for block in ir:
        for op in block.ops:
            used.update(values(op.args))
        used.update(values(block.term.operands))
        for edge in block.edges:
            used.update(values(edge.args))
    return used


def is_bound(callee: Any) -> bool:
    return getattr(callee, "__module__", None) == i.__name__ and not in_(callee, CALLS)


def in_(callee: Any, table: Any) -> bool:
    try:
        return callee is not None and callee in table
    except TypeError:
        return False
