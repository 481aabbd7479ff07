"""Derivatives inside a function that is differentiated itself: by forward mode, in place.

``tag = new_tag(); y = f(perturb(tag, x, t)); dy = tangent(tag, y)`` is the derivative of ``f`` at
``x`` in the direction ``t``. The four functions are primitives that live in a flat function until
`resolve` has rewritten it: for each tag in turn, every value that depends on what was perturbed
gets a tangent beside it, as in `forward`. Each tag is an infinitesimal of its own, and an operation
of one tag is linear to all others, so that perturbations cannot be confused. What is left is an
ordinary function, which may be differentiated in whatever mode.
"""

from __future__ import annotations

import operator
from typing import Any

from ..errors import TypingError
from ..ir.core import CALL, IR, Const, Op, Operand, Value
from ..rules.registry import inactive
from ..runtime import prims
from ..typing_ import AVal, Flat, reflat
from ..typing_.prim_types import PRIM_TYPES
from . import kinds
from .activity import Activity, _close
from .forward import _Forward
from .kinds import is_array, is_scalar, type_of
from .writes import check_confined


def new_tag() -> int:
    """A new infinitesimal."""
    raise NotImplementedError


def perturb(tag: int, x: Any, t: Any) -> Any:
    """``x`` moved by ``t`` times the infinitesimal; an array is copied."""
    raise NotImplementedError


def tangent(tag: int, y: Any) -> Any:
    """The coefficient of the infinitesimal in ``y``."""
    raise NotImplementedError


def primal(tag: int, y: Any) -> Any:
    """``y`` without it."""
    raise NotImplementedError


@inactive
def own_tangent(tag: int, y: Any) -> Any:
    """`tangent` of the tag that is being rewritten: free of it."""
    raise NotImplementedError


@inactive
def own_primal(tag: int, y: Any) -> Any:
    """`primal` of that tag."""
    raise NotImplementedError


LINEAR = (perturb, tangent, primal)


# -- types -----------------------------------------------------------------------------------------
def _tag_type(a: tuple[Any, ...]) -> Any:
    from numba import types

    return AVal(types.int64)


def _perturbed(a: tuple[Any, ...]) -> Any:
    x = a[1]
    if not kinds.carries(x.type):
        raise TypingError(f"the derivative by a value of type {x.type}", hint="Pass a float.")
    return PRIM_TYPES[prims.own]((x,)) if is_array(x.type) else AVal(x.type, py=x.py)


def _tangent_type(a: tuple[Any, ...]) -> Any:
    y = a[1]
    if not kinds.carries(y.type):
        raise TypingError(f"the derivative of a value of type {y.type}", hint="Return a float.")
    return PRIM_TYPES[prims.own]((y,)) if is_array(y.type) else AVal(y.type, py=y.py)


def _primal_type(a: tuple[Any, ...]) -> Any:
    y = a[1]
    return PRIM_TYPES[prims.own]((y,)) if is_array(y.type) else AVal(y.type, py=y.py)


PRIM_TYPES.update(
    {new_tag: _tag_type, perturb: _perturbed, tangent: _tangent_type, primal: _primal_type}
)


# -- rewriting -------------------------------------------------------------------------------------
def resolve(flat: Flat) -> None:
    """Rewrite a flat function, and those that it calls, until no tag is left. NoDerivativeError if
    something would be left behind in memory."""
    for ir in (flat.ir, *(s.flat.ir for s in flat.specialised)):
        for op in ir.ops():
            if op.is_call(new_tag):
                check_confined(ir, op, (tangent, primal))
    for s in flat.specialised:
        s.flat.ir = _resolved(s.flat.ir)
    flat.ir = _resolved(flat.ir)


def _resolved(ir: IR) -> IR:
    while tags := [op.result for op in ir.ops() if op.is_call(new_tag)]:
        _Tagged(ir, tags[0]).run_in_place()
        ir = reflat(ir)
    return ir


class _Tagged(_Forward):
    """Forward mode by one tag."""

    def __init__(self, ir: IR, tag: Value) -> None:
        self.tag = tag
        for op in ir.ops():
            if self._mine(op, tangent):
                op.args = (Const(own_tangent), *op.args[1:])
            elif self._mine(op, primal):
                op.args = (Const(own_primal), *op.args[1:])
        super().__init__(ir, [False] * len(ir.args), ())
        seeds = [op.result for op in ir.ops() if self._mine(op, perturb)]
        activity = self.activity = Activity(ir, self.roots, seeds)
        varied = activity.varied
        activity.values = {n for n in varied if isinstance(n, Value) and is_scalar(n.type)}
        activity.slots = {
            n for n in varied if not isinstance(n, (Value, tuple)) and is_scalar(n.type)
        }
        roots = {n[1] for n in varied if isinstance(n, tuple)}
        activity.shadowed = _close({r for r in roots if kinds.is_active_array(r.type)}, self.roots)
        self.addresses, self.address_slots = set(), set()

    def _mine(self, op: Op, *which: Any) -> bool:
        return op.is_call(*which) and op.args[1] is self.tag

    def run_in_place(self) -> None:
        blocks = list(self.ir)
        for a in self.args:
            if self.has(a):
                self.twin[a] = self.ir.value(f"{a.name or 'x'}_dot", a.type)
        for b in blocks:
            for p in b.params if b is not self.ir.entry else ():
                self._make(p)
            for op in b.ops:
                self._make(op.result)
        inner = [self.twin[a] for a in self.args if a in self.twin]
        for b in blocks:
            self._block(b, inner if b is self.ir.entry else [])
        for b in blocks:
            b.ops = [op for op in b.ops if op.result is not self.tag]

    def _op(self, op: Op) -> None:
        if self._mine(op, perturb):
            self._copy(op.result, op.args[2])
            self._copy(self.twin[op.result], op.args[3])
        elif op.is_call(own_tangent):
            y = op.args[2]
            if isinstance(y, Value) and y in self.twin:
                self._copy(op.result, self.twin[y])
            elif is_array(op.result.type):
                self.b.append(
                    Op(CALL, op.result, (Const(prims.same_layout_zeros), y), None, op.loc)
                )
            else:
                self._copy(op.result, Const(kinds.zero(op.result.type)))
        elif op.is_call(own_primal):
            self._copy(op.result, op.args[2])
        elif op.is_call(*LINEAR):
            self.b.append(op)
            if op.result in self.twin:
                args = [self._moving(x, op.result.type) for x in op.args[2:]]
                self.b.append(
                    Op(CALL, self.twin[op.result], (op.fn, op.args[1], *args), None, op.loc)
                )
        else:
            super()._op(op)

    def _moving(self, x: Operand, t: Any) -> Operand:
        if isinstance(x, Value) and is_array(x.type) and x not in self.twin:
            return self.b.call(prims.same_layout_zeros, x, type=x.type)
        return self.tangent(x, type_of(x) or t)

    def _copy(self, result: Value, x: Operand) -> None:
        fn = prims.own if is_array(result.type) else operator.pos
        self.b.append(Op(CALL, result, (Const(fn), x), None, self.b.loc))


__all__ = ["new_tag", "perturb", "primal", "resolve", "tangent"]
