"""A sum as few products: what a loop adds up, with the factors that it does not change set apart.

``d*k`` here and ``-(d*k)*2 + d`` there are ``k * d`` and ``(1 - 2*k) * d``: the coefficient is made
once before the loop. Terms with the same coefficient are added before they are multiplied.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ...ir.builder import Builder
from ...ir.core import Const, Op, Operand, Value


@dataclass(frozen=True)
class Scale:
    """``number`` times fixed values (in a fixed order)."""

    number: Any = 1.0
    factors: tuple[Value, ...] = ()

    def times(self, x: Operand) -> Scale:
        if isinstance(x, Const):
            return Scale(self.number * x.value, self.factors)
        assert isinstance(x, Value)
        return Scale(self.number, tuple(sorted((*self.factors, x), key=lambda v: v.id)))


T = TypeVar("T", bound=Hashable)

Term = tuple[Scale, Operand]
Coefficient = tuple[Scale, ...]


def terms(
    x: Operand, definition: dict[Value, Op], fixed: Callable[[Operand], bool], type: Any
) -> list[Term]:
    """``x`` as a sum of scaled values. Only arithmetic in ``type`` is taken apart."""
    scale = Scale()
    while True:
        op = definition.get(x) if isinstance(x, Value) else None
        if op is None or op.result.type != type or not _takes_apart(type):
            return [(scale, x)]
        parts = op.args[1:]
        if op.is_call(operator.neg):
            scale, x = scale.times(Const(-1.0)), parts[0]
        elif op.is_call(operator.mul) and _fits(parts[1], type) and fixed(parts[1]):
            scale, x = scale.times(parts[1]), parts[0]
        elif op.is_call(operator.mul) and _fits(parts[0], type) and fixed(parts[0]):
            scale, x = scale.times(parts[0]), parts[1]
        elif op.is_call(operator.add, operator.sub) and scale in (Scale(), Scale(-1.0)):
            sign = Const(-1.0 if op.is_call(operator.sub) else 1.0)
            found = terms(parts[0], definition, fixed, type)
            found += [(s.times(sign), y) for s, y in terms(parts[1], definition, fixed, type)]
            return [(s.times(Const(scale.number)), y) for s, y in found]
        else:
            return [(scale, x)]


def _takes_apart(type: Any) -> bool:
    return str(type) in ("float64", "complex128")


def _fits(x: Operand, type: Any) -> bool:
    """Whether multiplying by ``x`` stays in the type."""
    if isinstance(x, Const):
        return isinstance(x.value, float)
    return isinstance(x, Value) and x.type == type


def collected(found: Iterable[tuple[Scale, T]]) -> dict[Coefficient, list[T]]:
    """The things by their coefficients, which are sums of scales."""
    of: dict[T, dict[tuple[Value, ...], Any]] = {}
    for scale, thing in found:
        sums = of.setdefault(thing, {})
        sums[scale.factors] = sums.get(scale.factors, 0.0) + scale.number
    out: dict[Coefficient, list[T]] = {}
    for thing, sums in of.items():
        key = tuple(Scale(n, factors) for factors, n in sums.items())
        out.setdefault(key, []).append(thing)
    return out


def coefficient(key: Coefficient, b: Builder, type: Any) -> Operand:
    """Write the coefficient; a constant if it is one."""
    total: Operand | None = None
    for scale in key:
        x: Operand = Const(scale.number)
        for v in scale.factors:
            x = v if x == Const(1.0) else b.call(operator.mul, v, x, type=type)
        total = x if total is None else b.call(operator.add, total, x, type=type)
    assert total is not None
    return total
