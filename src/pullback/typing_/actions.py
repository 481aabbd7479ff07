"""What an operation was resolved to: its abstract result, and how to write it flat.

`emit` gets the emitter and the flat forms of the operands. The flat form of a value is an operand
(a scalar or array `Value`, or a `Const`), or for a product a Python tuple of flat forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.core import Const
from .lattice import NONE, Abstract, ATuple, AVal
from .scalars import Plan

Form = Any
Forms = tuple[Any, ...]


class Action:
    """``result`` is None as long as no path is known to return."""

    result: Any
    size: Any = 1

    def emit(self, em: Any, args: Forms) -> Form:
        raise NotImplementedError


class Known(Action):
    """A constant, or a captured value: nothing to run."""

    size = 0

    def __init__(self, result: Abstract) -> None:
        self.result = result

    def emit(self, em: Any, args: Forms) -> Form:
        return em.captured(self.result)


class Rearrange(Action):
    """Parts of the operands put together anew: packing, taking apart, passing through."""

    size = 0

    def __init__(self, result: Abstract, form: Callable[[Forms], Form]) -> None:
        self.result = result
        self.form = form

    def emit(self, em: Any, args: Forms) -> Form:
        return self.form(args)


class Leaf(Action):
    """A call that stays. ``plan`` says how the operands are cast; constants are passed as they
    are."""

    def __init__(self, plan: Plan, args: tuple[Abstract, ...]) -> None:
        self.plan = plan
        self.args = args
        self.result = plan.result

    def emit(self, em: Any, args: Forms) -> Form:
        plan = self.plan
        operands = [
            x if to is None else em.cast(x, a, AVal(to))
            for x, to, a in zip(args[1:], plan.casts, self.args)
        ]
        if plan.callee is None:
            return operands[0]
        if isinstance(plan.result, ATuple):
            return em.unpack(em.call(plan.callee, operands, plan.type), plan.result)
        value = em.call(plan.callee, operands, plan.type)
        if plan.result.type != plan.type and plan.result is not NONE:
            value = em.cast(value, AVal(plan.type), plan.result)
        return value


class Cast(Action):
    """A conversion of one scalar."""

    def __init__(self, arg: AVal, result: AVal, position: int = 0) -> None:
        self.arg, self.result, self.position = arg, result, position

    def emit(self, em: Any, args: Forms) -> Form:
        return em.cast(args[self.position], self.arg, self.result)


class Via(Action):
    """Another action on rearranged operands."""

    def __init__(self, inner: Action, pick: Callable[[Forms], Forms]) -> None:
        self.inner, self.pick = inner, pick
        self.size = inner.size

    @property
    def result(self) -> Any:
        return self.inner.result

    def emit(self, em: Any, args: Forms) -> Form:
        return self.inner.emit(em, self.pick(args))


class Then(Action):
    """``first``, and what ``form`` makes of its form and the operands."""

    def __init__(
        self, first: Action, result: Abstract | None, form: Callable[[Form, Forms], Form]
    ) -> None:
        self.first, self.result, self.form = first, result, form
        self.size = first.size

    def emit(self, em: Any, args: Forms) -> Form:
        return self.form(self.first.emit(em, args), args)


class Enter(Action):
    """The body of a specialised function, inlined (or called, if it is recursive or too big).
    ``sources`` says what each of its parameters is: a position among the operands, a tuple of
    sources, or a captured value; ``given`` are the abstract values of these."""

    def __init__(self, spec: Any, sources: tuple[Any, ...], given: tuple[Any, ...]) -> None:
        self.spec, self.sources, self.given = spec, sources, given

    @property
    def result(self) -> Any:
        return self.spec.result

    @property
    def size(self) -> int:
        return self.spec.size

    def emit(self, em: Any, args: Forms) -> Form:
        forms = tuple(source_form(em, s, args) for s in self.sources)
        return em.enter(self.spec, self.as_params(em, forms))

    def as_params(self, em: Any, forms: Forms) -> Forms:
        """The arguments as the parameters that the function was specialised to."""
        if self.given == self.spec.args:
            return forms
        return tuple(map(em.cast, forms, self.given, self.spec.args))


def source_form(em: Any, source: Any, args: Forms) -> Form:
    if isinstance(source, int):
        return args[source]
    if isinstance(source, tuple):
        return tuple(source_form(em, s, args) for s in source)
    return em.captured(source)


def positions(n: int) -> tuple[int, ...]:
    return tuple(range(n))


def constant_form(a: Abstract) -> Form:
    """The flat form of a static object."""
    if isinstance(a, ATuple):
        return tuple(constant_form(e) for e in a.elements)
    return Const(a.const)
