"""The adjoint of each kind of operation: what it reads, and what it adds to which cotangent.

``needs(op)`` is asked by the planner, ``emit(op)`` writes the reversed operation; the two must
agree: a value that is used in ``emit`` and not named by ``needs`` has no source.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from ..errors import ActivityLost, NoDerivativeError
from ..ir.builder import Builder
from ..ir.core import CALL, IR, Const, Op, Operand, Value
from ..passes.roots import is_view
from ..rules import registry
from ..rules.registry import ScalarRule
from ..runtime import prims
from ..typing_.specialised import is_outlined
from .activity import Activity, flowing
from .calls import parts, reads_whole
from .kinds import is_active_array, is_array, is_scalar, type_of
from .shadows import Shadows

if TYPE_CHECKING:
    from .reverse import Reverse


@dataclass
class Needs:
    """``values`` are read by the reversed operation, ``contents`` are arrays whose elements are."""

    values: list[Value] = field(default_factory=list)
    contents: list[Value] = field(default_factory=list)

    def add(self, *xs: Operand) -> None:
        self.values += [x for x in xs if isinstance(x, Value)]


@dataclass
class Primal:
    """What is known of the program that is reversed."""

    activity: Activity
    shadows: Shadows
    heaped: dict[Value, Value] = field(default_factory=dict)  # leaf's result -> its copy in use
    saved: dict[Op, Value | None] = field(default_factory=dict)  # store -> what it overwrites
    writes: dict[Op, frozenset[Value]] = field(default_factory=dict)  # call -> roots it writes to

    def puts_back(self, call: Op, roots: frozenset[Value]) -> bool:
        """Whether the reverse of a call leaves in the roots what they held before it."""
        return call in self.shadows.calls and all(is_active_array(r.type) for r in roots)

    def reversed(self, op: Op) -> bool:
        """Whether the operation has a reverse."""
        if op.kind != CALL:
            return False
        if op.is_call(prims.store):
            return op in self.saved or self.activity.has_shadow(op.args[1])
        if is_view(op) or op.callee in NO_ADJOINT:
            return False
        if is_outlined(op):
            return op in self.shadows.calls
        if op.is_call(prims.heap_own):
            copies = op.args[2] not in self.heaped
            return copies and all(self.activity.has_shadow(x) for x in (op.result, op.args[2]))
        if is_scalar(op.result.type) or is_array(op.result.type):
            return self.activity.active(self.result(op))
        return False

    def result(self, op: Op) -> Value:
        """What stands for the operation's result in the rest of the program."""
        return self.heaped.get(op.result, op.result)


NO_ADJOINT = (
    prims.empty,
    prims.zeros,
    prims.heap_empty,
    prims.heap_zeros,
    prims.heap_zeros_like,
    prims.same_layout_zeros,
    prims.pack,
    operator.getitem,
)


# -- what the reverse of an operation reads --------------------------------------------------------
def needs(op: Op, primal: Primal) -> Needs:
    out = Needs()
    if not primal.reversed(op):
        return out
    if op.is_call(prims.load):
        out.add(primal.shadows[op.args[1]], *op.args[2:])
    elif op.is_call(prims.store):
        _store_needs(op, primal, out)
    elif registry.scalar(op.callee) is not None and is_scalar(op.result.type):
        _scalar_needs(op, primal, out)
    elif is_outlined(op):
        callee = primal.shadows.calls[op].callee
        for x in op.posargs[1:]:
            if is_array(type_of(x)):
                out.add(x)
        if reads_whole(callee):
            args = op.posargs[1 : len(callee.params) + 1]
            out.contents += [x for x in args if isinstance(x, Value) and is_active_array(x.type)]
    elif op.is_call(prims.heap_own):
        out.add(primal.shadows[op.result], primal.shadows[op.args[2]])
    elif registry.array(op.callee) is not None:
        _leaf_needs(op, primal, out)
    else:
        raise no_rule(op)
    return out


def no_rule(op: Op) -> NoDerivativeError:
    name = getattr(op.callee, "__qualname__", None) or repr(op.callee)
    module = getattr(op.callee, "__module__", None) or ""
    numbers = all(is_scalar(type_of(x)) for x in (op.result, *op.posargs))
    cure = f"Give it one, pb.scalar_rule({name}, lambda y, x: ...)"
    return NoDerivativeError(
        f"no derivative rule for {module + '.' if module else ''}{name}, through which an active "
        "value flows",
        loc=op.loc,
        variable=op.result.name,
        hint=f"{cure if numbers else 'Write what it does in Python'}, or mark the value with "
        "pb.stop_gradient.",
    )


def _store_needs(op: Op, primal: Primal, out: Needs) -> None:
    x, v, *idx = op.args[1:]
    out.add(*idx)
    if op in primal.saved:
        out.add(x)
        if primal.saved[op] is not None:
            out.add(primal.saved[op])  # type: ignore[arg-type]
    if primal.activity.has_shadow(x):
        out.add(primal.shadows[x])
    elif primal.activity.active(v) and not is_active_array(x.type):  # type: ignore[union-attr]
        raise _lost(op, x)


def check_losses(ir: IR, activity: Activity) -> None:
    """Refuse to lose a derivative on the way through an integer array."""
    casts = {op.result: op for op in ir.ops() if op.is_call(prims.cast)}
    for op in ir.ops():
        if not op.is_call(prims.store) or op.args[2] not in casts:
            continue
        x, v = op.args[1], casts[op.args[2]].args[2]  # type: ignore[index]
        if is_active_array(type_of(x)) or not is_scalar(type_of(v)):
            continue
        if v in activity.varied:
            raise _lost(op, x)


def check_parts(ir: IR, activity: Activity) -> None:
    """Refuse a leaf that returns several things if a derivative flows through it: none has a
    rule."""
    flowing = activity.varied & activity.useful
    for op in ir.ops():
        several = isinstance(type_of(op.result), types.BaseTuple) and not is_outlined(op)
        if several and not op.is_call(prims.pack) and op.result in flowing:
            raise no_rule(op)


#: what NumPy has that writes to an operand and stays a call
WRITERS = (np.random.shuffle,)


def check_leaves(ir: IR) -> None:
    """Refuse calls that may write to an array behind our back."""
    for op in ir.ops():
        f = op.callee
        if f is None or is_outlined(op) or not any(is_array(type_of(a)) for a in op.posargs):
            continue
        module = getattr(f, "__module__", None) or ""
        ours = module.startswith("pullback.") or registry.array(f) is not None
        known = ours or module.split(".")[0] in ("numpy", "builtins", "_operator", "operator")
        if f in WRITERS or not (known or isinstance(f, np.ufunc) or registry.is_inactive(f)):
            raise NoDerivativeError(
                f"{getattr(f, '__qualname__', f)} may write to an array that it is given, and "
                "nothing is known of what",
                loc=op.loc,
                hint="Write the operation in Python, or do it outside of what is differentiated.",
            )


def _lost(op: Op, x: Operand) -> ActivityLost:
    return ActivityLost(
        f"a value that is differentiated is stored in an array of {type_of(x).dtype}, "
        "where its derivative is lost",
        loc=op.loc,
        variable=getattr(x, "name", None),
        hint="Make the array a float array; if rounding is meant, write int(x) or x.astype(int).",
    )


def _scalar_needs(op: Op, primal: Primal, out: Needs) -> None:
    operands = (op.result, *op.posargs)
    for k in flowing(op):
        if k < len(op.posargs) and primal.activity.active(op.posargs[k]):
            for partial in partials(op, k):
                if partial is not None:
                    out.add(*(operands[j] for j in uses(partial)))


def partials(op: Op, k: int) -> tuple[Callable[..., Any] | None, Callable[..., Any] | None]:
    """The derivatives by operand k and by its conjugate."""
    rule = registry.scalar(op.callee)
    assert rule is not None
    if rule.wirtinger is not None and isinstance(type_of(op.posargs[k]), types.Complex):
        return rule.wirtinger[k]
    return rule.partials[k], None


@cache
def uses(partial: Callable[..., Any]) -> tuple[int, ...]:
    """Which of its parameters a partial reads (0 is the result)."""
    code = partial.__code__
    names = code.co_varnames[: code.co_argcount]
    read: set[str] = set()
    for ins in dis.get_instructions(code):
        if ins.opname.startswith(("LOAD_FAST", "STORE_FAST_LOAD_FAST", "LOAD_CLOSURE")):
            read.update(ins.argval if isinstance(ins.argval, tuple) else (ins.argval,))
    return tuple(i for i, n in enumerate(names) if n in read or n in code.co_cellvars)


def _leaf_needs(op: Op, primal: Primal, out: Needs) -> None:
    for x in (primal.result(op), *op.posargs):
        out.add(x)
        if isinstance(x, Value) and is_array(x.type):
            out.contents.append(x)
            out.add(primal.shadows[x])


# -- the reversed operation ------------------------------------------------------------------------
def emit(op: Op, rev: Reverse) -> None:
    if not rev.primal.reversed(op):
        return
    rev.b.loc = op.loc
    if op.is_call(prims.load):
        _emit_load(op, rev)
    elif op.is_call(prims.store):
        _emit_store(op, rev)
    elif registry.scalar(op.callee) is not None and is_scalar(op.result.type):
        _emit_scalar(op, rev)
    elif is_outlined(op):
        _emit_call(op, rev)
    elif op.is_call(prims.heap_own):
        dy, dx = (rev.recover(rev.primal.shadows[x]) for x in (op.result, op.args[2]))
        rev.b.call(prims.accumulate, dx, dy)
    else:
        _emit_leaf(op, rev)


def _emit_load(op: Op, rev: Reverse) -> None:
    d = rev.take(op.result)
    if d is None:
        return
    dx = rev.recover(rev.primal.shadows[op.args[1]])
    idx = [rev.recover(i) for i in op.args[2:]]
    old = rev.b.call(prims.load, dx, *idx, type=op.result.type)
    rev.b.call(prims.store, dx, rev.b.call(operator.add, old, d, type=op.result.type), *idx)


def _emit_store(op: Op, rev: Reverse) -> None:
    x, v, *index = op.args[1:]
    idx = [rev.recover(i) for i in index]
    if op in rev.primal.saved:
        rev.b.call(prims.store, rev.recover(x), rev.recover(rev.primal.saved[op]), *idx)  # type: ignore[arg-type]
    if not rev.primal.activity.has_shadow(x):
        return
    dx = rev.recover(rev.primal.shadows[x])
    element = type_of(x).dtype
    if rev.primal.activity.active(v):
        d = rev.b.call(prims.load, dx, *idx, type=element)
        rev.add(v, rev.project(d, element, type_of(v)))
    rev.b.call(prims.store, dx, Const(rev.zero(element)), *idx)


def _emit_scalar(op: Op, rev: Reverse) -> None:
    d = rev.take(op.result)
    if d is None:
        return
    rule = registry.scalar(op.callee)
    assert rule is not None
    for k in flowing(op):
        if k < len(op.posargs) and rev.primal.activity.active(op.posargs[k]):
            operand = op.posargs[k]
            holomorphic, conjugate = partials(op, k)
            terms = []
            if holomorphic is not None:
                terms.append(_term(op, holomorphic, d, rule, rev, bar=True))
            if conjugate is not None:
                dbar = rev.b.call(np.conjugate, d)
                terms.append(_term(op, conjugate, dbar, rule, rev, bar=False))
            for t in terms:
                rev.add(operand, rev.project(t, _widest(op), type_of(operand)))


def _widest(op: Op) -> Any:
    """The one type of everything that takes part, None if it is not one."""
    kinds = {type_of(x) for x in (op.result, *op.posargs) if is_scalar(type_of(x))}
    return kinds.pop() if len(kinds) == 1 else None


def _term(
    op: Op, partial: Callable[..., Any], d: Operand, rule: ScalarRule, rev: Reverse, *, bar: bool
) -> Operand:
    """``d`` times the partial (``bar``: its conjugate)."""
    used = uses(partial)
    if not used:
        constant = partial(*[None] * partial.__code__.co_argcount)
        if constant == 1:
            return d
        if constant == -1:
            return rev.b.call(operator.neg, d)
        if constant == 0:
            return rev.b.call(operator.mul, d, 0.0)
        return rev.b.call(operator.mul, d, constant.conjugate() if bar else constant)
    zero = Const(rev.zero(op.result.type))
    if op.is_call(prims.select):
        return passed(rev.b, rule, partial, rev.recover(op.args[1]), d, zero)
    operands = (op.result, *op.posargs)
    args = [rev.recover(x) if i in used else Const(None) for i, x in enumerate(operands)]
    p = rev.b.call(partial, *args[: partial.__code__.co_argcount])
    if bar and any(isinstance(type_of(x), types.Complex) for x in operands):
        p = rev.b.call(np.conjugate, p)
    return product(rev.b, rule, d, p, zero)


def passed(
    b: Builder, rule: ScalarRule, partial: Any, c: Operand, d: Operand, zero: Const
) -> Operand:
    """What ``select`` passes to the operand with this partial of ``d``: all or nothing."""
    first = partial is rule.partials[1]
    return b.call(prims.select, c, *((d, zero) if first else (zero, d)))


def product(b: Builder, rule: ScalarRule, d: Operand, p: Operand, zero: Const) -> Operand:
    """``d`` times a partial, with the rule's strong zeros."""
    t = b.call(operator.mul, d, p)
    for strong, x in ((rule.singular, d), (rule.switch, p)):
        if strong:
            t = b.call(prims.select, b.call(operator.ne, x, 0.0 if x is p else zero), t, zero)
    return t


def _emit_call(op: Op, rev: Reverse) -> None:
    """The reverse half of a call that stays a call: it takes its own record from the tape."""
    pair = rev.primal.shadows.calls[op]
    n = len(pair.callee.params)
    args, shadows = op.posargs[1 : n + 1], op.posargs[n + 1 :]
    taken = parts(rev.ir, op)
    seeds: list[Any] = []
    for k, t in enumerate(pair.callee.result):
        if is_scalar(t):
            r = taken.get(k)
            d = rev.take(r) if r is not None and rev.primal.activity.active(r) else None
            seeds.append(Const(rev.zero(t)) if d is None else d)
    handles = [rev.recover(x) for x in (*args, *shadows) if is_array(type_of(x))]
    found = rev.b.call(pair.reverse, rev.tape, *handles, *seeds, type=pair.reverse.type)
    for k, i in enumerate(pair.scalars):
        if rev.primal.activity.active(args[i]):
            t = pair.callee.params[i]
            rev.add(args[i], rev.b.call(operator.getitem, found, k, type=t))


def _emit_leaf(op: Op, rev: Reverse) -> None:
    rule = registry.array(op.callee)
    if rule is None:
        raise no_rule(op)
    y = rev.primal.result(op)
    scalar = is_scalar(y.type)
    dy = rev.take(y) if scalar else rev.recover(rev.primal.shadows[y])
    if dy is None:
        return
    args: list[Any] = []
    for x in op.posargs:
        args.append(rev.recover(x))
        args.append(rev.recover(rev.primal.shadows[x]) if is_array(type_of(x)) else Const(None))
    rev.b.call(rule.reverse, rev.recover(y), dy, *args)
