"""``grad`` and ``value_and_grad``: reverse mode for functions of one real result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from ..ad import compile as kernels
from ..ad.compile import Options
from ..errors import NonScalarOutput
from ..typing_ import ATuple, AVal
from .arguments import Argnums, Selection, check_differentiable, select, subtree
from .flats import Prepared
from .inner import entered, register
from .invoke import Results, runner
from .operator import Call, Operator, Plan, decorator
from .tree import (
    Tree,
    build,
    carries,
    converter,
    is_active_array,
    is_array,
    kind_of,
    nothing,
    paths,
    zero_of,
    zeros_like,
    zeros_maker,
)

if TYPE_CHECKING:
    from .nested import Node


def grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> Any:
    """The gradient of ``f``, a function with one real result, as a function of the same arguments.

    ``argnums``: position or name of the argument to differentiate by, or a tuple of them, which
    gives a tuple. A float has a float as gradient, an array a new array of its shape, a tuple a
    tuple. ``has_aux``: ``f`` returns ``(y, aux)``, and the result is ``(gradient, aux)``.

    >>> grad(lambda x: x * x)(3.0)
    6.0
    """
    settings = dict(argnums=argnums, has_aux=has_aux, engine=engine, options=options)
    return decorator(_grad, f, **settings)


def value_and_grad(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> Any:
    """Value and gradient of ``f`` in one go; see `grad`. With ``has_aux`` ``((y, aux), gradient)``.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    settings = dict(argnums=argnums, has_aux=has_aux, engine=engine, options=options)
    return decorator(_value_and_grad, f, **settings)


def _grad(f: Callable[..., Any], argnums: Argnums, has_aux: bool, engine: str, options: Any) -> Any:
    return Gradient(f, engine, options, argnums=argnums, has_aux=has_aux)


def _value_and_grad(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, engine: str, options: Any
) -> Any:
    return ValueAndGradient(f, engine, options, argnums=argnums, has_aux=has_aux)


register(grad, False)
register(value_and_grad, True)


class Gradient(Operator):
    """What `grad` makes."""

    with_value = False

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return grad

    def make(self, prepared: Prepared, call: Call) -> Plan:
        aim = Aim.at(prepared, call, self.settings["argnums"])
        wanted = scalar_output(prepared, prepared.flat.result, self.settings["has_aux"])
        return GradientPlan(self, prepared, aim, wanted)

    def as_body(self, avals: Any) -> Callable[..., Any]:
        return entered(self.f, self.settings["argnums"], self.settings["has_aux"], self.with_value)

    def node(self, prepared: Prepared, call: Call, options: Options) -> Node:
        from .nested import GradientOf

        inner = self.inner(prepared, call, options)
        aim = Aim.at(prepared, call, self.settings["argnums"])
        scalar_output(prepared, inner.tree, self.settings["has_aux"])
        return GradientOf(inner, aim, self.with_value, self.settings["has_aux"])


class ValueAndGradient(Gradient):
    """What `value_and_grad` makes."""

    with_value = True

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return value_and_grad


# -- what is differentiated ------------------------------------------------------------------------
class Aim:
    """The arguments to differentiate by: their ``trees``, the ``positions`` of their leaves among
    the entry parameters, and for each entry parameter whether it is ``active``."""

    def __init__(self, prepared: Prepared, selection: Selection) -> None:
        self.single = selection.single
        self.arguments = selection.arguments
        self.trees: list[Tree] = []
        self.positions: list[list[int]] = []
        index = _entry_positions(prepared)
        for a in selection.arguments:
            tree = subtree(prepared.trees, a.path)
            self.trees.append(tree)
            self.positions.append([index[(*a.path, *p)] for p, _ in paths(tree)])
        self.active = [False] * len(prepared.types)
        for p in self.leaves:
            self.active[p] = carries(prepared.types[p])

    @classmethod
    def at(cls, prepared: Prepared, call: Call, argnums: Argnums) -> Aim:
        """The arguments that ``argnums`` names. NotDifferentiable if one has no derivative."""
        aim = cls(prepared, select(call.target, argnums, call.values, call.given))
        for a, tree in zip(aim.arguments, aim.trees):
            check_differentiable(a, tree, a.of(call.values), prepared.loc)
        return aim

    @classmethod
    def all(cls, prepared: Prepared, call: Call) -> Aim:
        """All arguments of the call that were given by position."""
        found = call.target.arguments(call.values, call.given)
        return cls(prepared, Selection(found[: call.positional], False))

    @property
    def leaves(self) -> list[int]:
        """Entry positions of all leaves of the arguments."""
        return [p for ps in self.positions for p in ps]

    def tree(self) -> Tree:
        """The structure of the gradient: the arguments', None where there is no derivative."""
        made = [_differentiable_part(t) for t in self.trees]
        return made[0] if self.single else ATuple(tuple(made))

    def structure(self, parts: list[Any]) -> Any:
        """What belongs to each leaf, in the structure of the arguments."""
        found = iter(parts)
        made = [build(tree, found, nothing) for tree in self.trees]
        return made[0] if self.single else tuple(made)


def _differentiable_part(tree: Tree) -> Tree:
    if isinstance(tree, ATuple):
        return ATuple(tuple(map(_differentiable_part, tree.elements)), tree.cls)
    return tree if not tree.known and carries(tree.type) else AVal(types.none, None)


def _entry_positions(prepared: Prepared) -> dict[Any, int]:
    found = [(i, *p) for i, tree in enumerate(prepared.trees) for p, _ in paths(tree)]
    return {path: k for k, path in enumerate(found)}


def scalar_output(prepared: Prepared, result: Tree, has_aux: bool) -> list[bool]:
    """Which leaves of the result are differentiated. NonScalarOutput if that is not one real
    number."""
    tree, rest = result, 0
    if has_aux:
        if not isinstance(result, ATuple) or len(result.elements) != 2:
            raise NonScalarOutput(
                f"has_aux=True, but {prepared.name}() returns {_what(result)}",
                loc=prepared.loc,
                hint="Return (y, aux).",
            )
        tree = result.elements[0]
        rest = sum(1 for _ in paths(result.elements[1]))
    if not _is_real_number(tree):
        raise NonScalarOutput(
            f"{prepared.name}() returns {_what(tree)}, and a gradient is that of one real number",
            loc=prepared.loc,
            hint=_cure(tree, has_aux),
        )
    return [True] + [False] * rest


def _is_real_number(tree: Tree) -> bool:
    t = tree.type
    if isinstance(tree, ATuple) or tree.known:
        return False
    if is_array(t):
        return t.ndim == 0 and isinstance(t.dtype, types.Float)
    return isinstance(t, types.Float)


def _what(tree: Tree) -> str:
    if isinstance(tree, ATuple):
        return f"a tuple of {len(tree.elements)}"
    if tree.known and tree.type in (None, types.none):
        return repr(tree.const)
    kind = kind_of(tree.type)
    return f"a{'n' * (kind[0] in 'aeiou')} {kind}"


def _cure(tree: Tree, has_aux: bool) -> str:
    if isinstance(tree, ATuple):
        if len(tree.elements) == 2 and not has_aux and _is_real_number(tree.elements[0]):
            return "If the second part is not to be differentiated, say has_aux=True."
        return "Return one number; for all derivatives of a tuple use pb.jacobian or pb.vjp."
    t = tree.type
    if isinstance(getattr(t, "dtype", t), types.Complex):
        return "Take its real part, .real, or its modulus, abs(y)."
    if is_array(t):
        return "Reduce it to a number, such as y.sum(); for all derivatives use pb.jacobian."
    if isinstance(t, (types.Integer, types.Boolean)):
        return "Return a float: derivatives of integers are zero everywhere."
    return "Return a float."


# -- running ---------------------------------------------------------------------------------------
class GradientPlan(Plan):
    """Calls the combined kernel: ``(*args, *shadows, *seeds) -> (*results, *cotangents)``."""

    def __init__(self, op: Gradient, prepared: Prepared, aim: Aim, wanted: list[bool]) -> None:
        super().__init__(prepared)
        kernel = kernels.gradient(prepared.flat, aim.active, wanted, options=op.resolved)
        built = kernel.built
        assert built is not None
        self.call = runner(kernel, op.resolved)
        self.with_value, self.has_aux = op.with_value, op.settings["has_aux"]
        self.results = Results(prepared.flat.result, built.from_args)
        self.shadows = [(p, zeros_maker(prepared.types[p])) for p in built.shadowed]
        self.seeds = tuple(seed_of(built.results[k]) for k in built.seeded)
        self.parts = _recipe(prepared, aim, built, self.results.n)
        self.direct = aim.single and not isinstance(aim.trees[0], ATuple)
        self.aim = aim

    def run(self, leaves: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
        shadows = [zeros(leaves[p]) for p, zeros in self.shadows]
        out = self.call(*leaves, *shadows, *self.seeds)
        parts = [make(leaves, shadows, out) for make in self.parts]
        gradient = parts[0] if self.direct else self.aim.structure(parts)
        if self.with_value:
            return self.results(out, leaves), gradient
        if self.has_aux:
            return gradient, self.results(out, leaves)[1]
        return gradient


def seed_of(t: Any) -> Any:
    """One, as the cotangent of a real result."""
    return np.ones((), str(t.dtype)) if is_array(t) else 1.0


def _recipe(prepared: Prepared, aim: Aim, built: Any, n: int) -> list[Any]:
    """For each leaf of the arguments, a function that finds its gradient among (leaves, shadows,
    what the kernel returned)."""
    return [part_of(p, prepared.types[p], built.shadowed, built.scalars, n) for p in aim.leaves]


def part_of(p: int, t: Any, shadowed: list[int], scalars: list[int], n: int) -> Any:
    if p in shadowed:
        k = shadowed.index(p)
        return lambda leaves, shadows, out: shadows[k]
    if p in scalars:
        k, convert = n + scalars.index(p), converter(t)
        return lambda leaves, shadows, out: convert(out[k])
    if is_active_array(t):
        return lambda leaves, shadows, out: zeros_like(leaves[p], t)
    return lambda leaves, shadows, out: zero_of(None, t)
