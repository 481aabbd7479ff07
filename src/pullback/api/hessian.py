"""``hessian`` and ``hvp``: second derivatives, by forward mode over reverse mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..ad.compile import Options
from .aim import Aim, scalar_output
from .arguments import Argnums, Call
from .flats import Prepared
from .inner import refuse
from .match import match
from .nested import GradientOf, JacobianOf, Node, refuse_complex
from .operator import Operator, Plan, decorator


def hessian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    *,
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> Any:
    """The matrix of second derivatives of ``f``, a function with one real result.

    Its shape is that of the argument twice; a tuple of arguments gives a tuple of tuples of blocks.

    >>> hessian(lambda x: x[0] * x[1])(np.array([1.0, 2.0]))
    array([[0., 1.],
           [1., 0.]])
    """
    return decorator(_hessian, f, argnums=argnums, engine=engine, options=options)


def hvp(
    f: Callable[..., Any] | None = None,
    *,
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> Any:
    """The product of the Hessian by the first argument with a vector, as ``(x, v, *rest)``: what
    SciPy takes as ``hessp``. It costs about as much as two gradients, whatever the size of x.

    >>> hvp(lambda x: x[0] * x[1])(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([0., 1.])
    """
    return decorator(_hvp, f, engine=engine, options=options)


def _hessian(f: Any, argnums: Argnums, engine: str, options: Any) -> Any:
    return Hessian(f, engine, options, argnums=argnums)


def _hvp(f: Any, engine: str, options: Any) -> Any:
    return Hvp(f, engine, options)


for _operator in (hessian, hvp):
    refuse(_operator)


class Hessian(Operator):
    """What `hessian` makes."""

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return hessian

    def make(self, prepared: Prepared, call: Call) -> Plan:
        return self.make_nested(prepared, call)

    def node(self, prepared: Prepared, call: Call, options: Options) -> Node:
        inner = self.inner(prepared, call, options)
        aim = Aim.at(prepared, call, self.settings["argnums"])
        refuse_complex(aim, prepared, "a Hessian")
        scalar_output(prepared, inner.tree, False)
        return JacobianOf(GradientOf(inner, aim, False, False), aim)


class Hvp(Operator):
    """What `hvp` makes."""

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return hvp

    def __call__(self, x: Any, v: Any, *rest: Any, **kwargs: Any) -> Any:
        call = self.bind((x, *rest), kwargs)
        plan, leaves = self.plan(call)
        return plan.product(leaves, v)

    def make(self, prepared: Prepared, call: Call) -> Plan:
        return self.make_nested(prepared, call)

    def make_nested(self, prepared: Prepared, call: Call) -> Plan:
        inner = self.inner(prepared, call, self.resolved)
        aim = Aim.at(prepared, call, 0)
        refuse_complex(aim, prepared, "a Hessian")
        scalar_output(prepared, inner.tree, False)
        return HvpPlan(inner, aim)

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.f)
        first, *rest = signature.parameters.values()
        x = first.replace(kind=inspect.Parameter.POSITIONAL_ONLY)
        v = inspect.Parameter("v", inspect.Parameter.POSITIONAL_ONLY)
        return signature.replace(parameters=[x, v, *rest])


class HvpPlan(Plan):
    """Pulls one back at an argument that moves in the direction of the vector."""

    def __init__(self, node: Node, aim: Aim) -> None:
        super().__init__(node.prepared)
        self.node, self.aim = node, aim
        self.gradient = GradientOf(node, aim, False, False)

    def product(self, leaves: tuple[Any, ...], v: Any) -> Any:
        (at,) = self.aim.positions
        types = [self.prepared.types[p] for p in at]
        shapes = [getattr(leaves[p], "shape", None) for p in at]
        x: list[dict[int, Any]] = [{0: leaf} for leaf in leaves]
        tree, loc = self.aim.trees[0], self.prepared.loc
        for p, part in zip(at, match(tree, v, types, shapes, "the vector", True, loc)):
            if part is not None:
                x[p][1] = part
        with self.node.base.writing_to(leaves):
            out = self.gradient.eval(x, 1)
        return self.gradient.tangent(out, 1)
