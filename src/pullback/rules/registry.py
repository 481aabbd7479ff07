"""What is known about callables: their partial derivatives, their bodies in Python, or that no
derivative flows through them.

Four tables, keyed by the callable itself:

- **scalar rules**: partial derivatives of a function of numbers. One line gives forward, reverse,
  elementwise (through the bodies) and higher order.
- **bodies**: an array function written as an ordinary Python function over scalar loops, which
  typing enters in its place. Differentiation then only ever sees loops.
- **array rules**: forward and reverse of the few leaves that stay (matrix product, LAPACK).
- **inactive** functions: no derivative flows.

Nothing here imports Numba: types are looked at by attribute.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Partial = Callable[..., Any]


@dataclass(frozen=True)
class ScalarRule:
    """Partial derivatives of ``fn``, a function of numbers.

    ``partials[k](y, *inputs)`` is dy/dx_k, or is ``None`` if no derivative flows to operand k.
    ``singular``: a zero cotangent (tangent) gives a zero contribution even where the partial is
    infinite or NaN (strong zero).
    ``switch``: the function passes operands on or not. Where a partial is zero the contribution is
    zero, even of an infinite or NaN cotangent (tangent): what was not chosen does not matter.
    ``wirtinger[k]`` is ``(dz, dzbar)``, used instead of ``partials[k]`` where operand k is complex
    and the function is not holomorphic; either of the two may be ``None`` (zero).

    With the gradient of a real function F being dF/dRe + i dF/dIm, the cotangent of an operand
    is ``conj(partial) * ybar``; with a pair it is ``conj(dz) * ybar + dzbar * conj(ybar)``. The
    tangent is ``dz * t + dzbar * conj(t)``. Both are projected to the type of what they belong to.
    """

    fn: Callable[..., Any]
    partials: tuple[Partial | None, ...]
    singular: bool = False
    wirtinger: tuple[tuple[Partial | None, Partial | None], ...] | None = None
    switch: bool = False

    @property
    def arity(self) -> int:
        return len(self.partials)

    def __post_init__(self) -> None:
        if self.wirtinger is not None and len(self.wirtinger) != len(self.partials):
            raise ValueError("wirtinger needs one pair (dz, dzbar) for each operand")


@dataclass(frozen=True)
class ArrayRule:
    """Derivatives of an array leaf; both are ordinary Python functions, entered by typing.

    ``reverse(y, dy, *(x, dx))`` adds to each ``dx`` in place; ``dx`` is ``None`` for an inactive
    operand. If the result is a number, ``dy`` is one. ``forward(y, *(x, tx)) -> ty``; ``tx`` is
    ``None`` for an inactive operand.
    """

    fn: Callable[..., Any]
    forward: Callable[..., Any]
    reverse: Callable[..., Any]


@dataclass
class Body:
    """A body: the function to enter, or (``typed``) what finds it from the abstract arguments."""

    function: Callable[..., Any]
    typed: bool = False

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)


_scalar: dict[Any, ScalarRule] = {}
_array: dict[Any, ArrayRule] = {}
_bodies: dict[Any, Body] = {}
_methods: dict[str, Callable[..., Any]] = {}
_inactive: set[Any] = set()
_pure: set[Any] = set()
_waiting: dict[str, Callable[[], None]] = {}  # module -> what registers its functions
_generation = 0


def generation() -> int:
    """Grows with every registration: what was compiled under an older number may be stale."""
    return _generation


def _changed() -> None:
    global _generation
    _generation += 1


# -- scalar rules ----------------------------------------------------------------------------------
def scalar_rule(
    f: Callable[..., Any],
    *partials: Partial | complex | None,
    singular: bool = False,
    wirtinger: Any = None,
    switch: bool = False,
) -> ScalarRule:
    """Give ``f``, a function of numbers, its partial derivatives.

    There is one partial for each operand: a function of ``(y, *inputs)``, with ``y`` the value of
    ``f``; a number, if it is constant; or ``None`` where no derivative flows. A function of one
    operand takes ``wirtinger`` as one pair ``(dz, dzbar)``, others one pair for each operand. A
    later rule replaces an earlier one.

    >>> scalar_rule(math.sin, lambda y, x: math.cos(x))
    """
    arity = len(partials)
    if wirtinger is not None and arity == 1 and not isinstance(wirtinger[0], tuple):
        wirtinger = (wirtinger,)
    pairs = wirtinger and tuple((_partial(a, arity), _partial(b, arity)) for a, b in wirtinger)
    rule = ScalarRule(f, tuple(_partial(p, arity) for p in partials), singular, pairs, switch)
    _scalar[f] = rule
    _changed()
    return rule


def _partial(p: Partial | complex | None, arity: int) -> Partial | None:
    return p if p is None or callable(p) else constant_partial(p, arity)


@cache
def constant_partial(value: complex, arity: int) -> Partial:
    """The function of ``(y, *inputs)`` that returns ``value``; its attribute ``constant`` is it."""
    names = "".join(f", x{k}" for k in range(arity))
    scope: dict[str, Any] = {}
    exec(f"def partial(y{names}):\n    return {value!r}\n", scope)
    partial: Partial = scope["partial"]
    partial.constant = value  # type: ignore[attr-defined]
    return partial


def scalar(callee: Any, arity: int | None = None) -> ScalarRule | None:
    """The scalar rule of ``callee``, if it has one (for that many operands)."""
    rule: ScalarRule | None = _find(_scalar, callee)
    return rule if rule and arity in (None, rule.arity) else None


# -- bodies ----------------------------------------------------------------------------------------
class _BodyDecorator:
    """``@body(np.trace)`` registers a Python function that is entered in place of the callee, with
    the call's arguments bound to its own signature. ``@body.typed(np.sum)`` registers a resolver:
    it gets the abstract arguments of the call and returns the function to enter, or ``None``."""

    def __call__(self, *callees: Callable[..., Any]) -> Callable[[F], F]:
        def register(f: F) -> F:
            _add_body(callees, Body(f))
            return f

        return register

    def typed(self, *callees: Callable[..., Any]) -> Callable[[F], F]:
        def register(resolver: F) -> F:
            _add_body(callees, Body(resolver, True))
            return resolver

        return register


body = _BodyDecorator()


def _add_body(callees: Iterable[Any], entry: Body) -> None:
    for callee in callees:
        _bodies[callee] = entry
    _changed()


def body_for(
    callee: Any, avals: Iterable[Any] = (), kwavals: dict[str, Any] | None = None
) -> Callable[..., Any] | None:
    """The Python function to enter for ``callee`` called with these abstract arguments, or ``None``
    if there is none for them. It takes the same arguments, positional and keyword, as the call."""
    entry = _find(_bodies, callee)
    if entry is None:
        made = getattr(type(callee), "as_body", None)
        return None if made is None else made(callee, avals)
    if not entry.typed:
        return entry.function
    try:
        bound = entry.signature.bind(*avals, **(kwavals or {}))
    except TypeError:
        return None
    return entry.function(*bound.args, **bound.kwargs)


def has_body(callee: Any) -> bool:
    """Whether a body is registered for some arguments, or its class makes one (``as_body``)."""
    return _find(_bodies, callee) is not None or hasattr(type(callee), "as_body")


# -- methods of arrays -----------------------------------------------------------------------------
def method(name: str) -> Callable[..., Any] | None:
    """The function that an array's method ``name`` is, called with the array first: a NumPy
    function that has a body, or a Python function to enter."""
    return _methods.get(name)


def method_is(**functions: Callable[..., Any]) -> None:
    """Say which function each method is."""
    _methods.update(functions)
    _changed()


# -- array rules -----------------------------------------------------------------------------------
def array_rule(
    prim: Callable[..., Any], *, forward: Callable[..., Any], reverse: Callable[..., Any]
) -> ArrayRule:
    """Give an array leaf its derivatives."""
    rule = ArrayRule(prim, forward, reverse)
    _array[prim] = rule
    _changed()
    return rule


def array(callee: Any) -> ArrayRule | None:
    """The array rule of ``callee``, if it has one."""
    return _find(_array, callee)


# -- inactive functions ----------------------------------------------------------------------------
def inactive(f: F) -> F:
    """Say that no derivative flows through ``f``. Also a decorator."""
    _inactive.add(f)
    _changed()
    return f


# -- functions of numbers alone --------------------------------------------------------------------
def pure(*functions: Callable[..., Any]) -> None:
    """Say of Python functions with a rule that they do nothing but compute a number of numbers."""
    _pure.update(functions)


def is_pure(callee: Any) -> bool:
    try:
        return callee in _pure
    except TypeError:
        return False


def is_inactive(callee: Any) -> bool:
    try:
        return callee in _inactive
    except TypeError:
        return False


def same_as(f: Any, other: Any) -> None:
    """Know about ``other``, another form of ``f``, what is known about ``f``."""
    if f in _scalar:
        _scalar[other] = _scalar[f]
    if f in _inactive:
        _inactive.add(other)
    if f in _pure:
        _pure.add(other)


def once_imported(module: str, register: Callable[[], None]) -> None:
    """Let ``register`` say what is known about the functions of a module that users import: when
    one of them may be asked for, not before."""
    _waiting[module] = register


def _find(table: dict[Any, Any], callee: Any) -> Any:
    for module in [m for m in _waiting if m in sys.modules]:
        _waiting.pop(module)()
    try:
        return table.get(callee)
    except TypeError:  # an unhashable callable has no rule
        return None
