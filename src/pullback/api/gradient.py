"""``grad`` and ``value_and_grad``: reverse mode for functions of one real result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ..ad import compile as kernels
from ..ad.assume import Unlikely
from ..ad.compile import Options
from .aim import Aim, scalar_output
from .arguments import Argnums, Call, Target
from .flats import Prepared
from .inner import entered, register
from .invoke import Results, runner
from .operator import Operator, Plan, decorator
from .quick import quick
from .wrapper import Wrapper

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


# -- running ---------------------------------------------------------------------------------------
class GradientPlan(Plan):
    """Calls the combined kernel: ``(*args, *shadows, *seeds) -> (*results, *cotangents)``.

    Where there is faster code for arguments whose shapes agree, that is called; code for all
    shapes is made when the first come that do not."""

    def __init__(self, op: Gradient, prepared: Prepared, aim: Aim, wanted: list[bool]) -> None:
        super().__init__(prepared)
        self.make = partial(self.compiled, op, prepared, aim, wanted)
        assuming = kernels.assumes(prepared.flat, op.resolved)
        self.wrapper, self.returned = self.make(assuming=assuming)
        run = self.wrapper.function(self.returned)
        self.run = self.otherwise_general(run) if assuming else run  # type: ignore[method-assign]

    def otherwise_general(self, fast: Callable[..., Any]) -> Callable[..., Any]:
        def run(leaves: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
            try:
                return fast(leaves, values)
            except Unlikely:
                return self.general(leaves, values)

        return run

    @cached_property
    def general(self) -> Callable[..., Any]:
        """For all shapes."""
        w, returned = self.make(assuming=False)
        return w.function(returned)

    @staticmethod
    def compiled(
        op: Gradient, prepared: Prepared, aim: Aim, wanted: list[bool], *, assuming: bool
    ) -> tuple[Wrapper, str]:
        """The wrapper, and what it returns for the operator."""
        kernel = kernels.gradient(
            prepared.flat, aim.active, wanted, assuming=assuming, options=op.resolved
        )
        built = kernel.built
        assert built is not None
        results = Results(prepared.flat.result, built.from_args)
        call = runner(kernel, op.resolved)
        w = Wrapper(call, prepared, aim, built, results)
        value = w.value()
        if op.with_value:
            returned = f"{value}, {w.gradient()}"
        elif op.settings["has_aux"]:
            returned = f"{w.gradient()}, {value}[1]"
        else:
            returned = w.gradient()
        return w, returned

    def make_quick(self, target: Target, values: tuple[Any, ...]) -> Callable[..., Any]:
        return quick(self.wrapper, self.returned, target, values)
