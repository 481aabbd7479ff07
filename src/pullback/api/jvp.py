"""``jvp``: the value and its tangent, by forward mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..ad import compile as kernels
from ..errors import CotangentMismatch
from .aim import Aim
from .arguments import Call
from .flats import Prepared
from .inner import refuse
from .invoke import Results, runner
from .match import match
from .nested import Node
from .operator import Operator, Plan, shared_plans
from .tree import build, is_array, nothing, zero_of, zeros_like


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    kwargs: Mapping[str, Any] = {},
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> tuple[Any, Any]:
    """``f(*primals, **kwargs)`` and its derivative in the direction ``tangents``, which holds one
    tangent for each primal, of its structure; None stands for zero.

    >>> jvp(lambda x, k: k * x * x, (3.0, 2.0), (1.0, None))
    (18.0, 12.0)
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("primals and tangents are tuples, with one entry for each argument")
    if len(tangents) != len(primals):
        raise CotangentMismatch(
            f"{len(tangents)} tangents for {len(primals)} primals",
            hint="Pass one for each primal; None stands for zero.",
        )
    op = JVP(f, engine, options)
    op.plans = shared_plans(f, (JVP, op.resolved))
    return op.push(tuple(primals), kwargs, tuple(tangents))


refuse(jvp)


class JVP(Operator):
    """What `jvp` calls."""

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return jvp

    def make(self, prepared: Prepared, call: Call) -> PushPlan:
        return PushPlan(self, prepared, Aim.all(prepared, call))

    def push(
        self, primals: tuple[Any, ...], kwargs: Mapping[str, Any], tangents: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        call = self.bind(primals, kwargs)
        plan, leaves = self.plan(call)
        return plan.push(leaves, plan.match(leaves, tangents))

    def make_nested(self, prepared: Prepared, call: Call) -> PushPlan:
        aim = Aim.all(prepared, call)
        return NodePushPlan(self, prepared, aim, self.inner(prepared, call, self.resolved))


class PushPlan(Plan):
    """Calls pushforwards, one for each set of arguments that have a tangent."""

    def __init__(self, op: Operator, prepared: Prepared, aim: Aim) -> None:
        super().__init__(prepared)
        self.options = op.resolved
        self.aim = aim
        self.kernels: dict[tuple[bool, ...], Pushforward] = {}

    def match(self, leaves: tuple[Any, ...], tangents: tuple[Any, ...]) -> list[Any]:
        """A tangent for each entry parameter, None for zero; checked against the arguments."""
        found: list[Any] = [None] * len(leaves)
        for a, tree, at, t in zip(self.aim.arguments, self.aim.trees, self.aim.positions, tangents):
            types = [self.prepared.types[p] for p in at]
            shapes = [getattr(leaves[p], "shape", None) for p in at]
            label = f"the tangent of {a.name!r}"
            parts = match(tree, t, types, shapes, label, True, self.prepared.loc)
            for p, part in zip(at, parts):
                found[p] = part
        return found

    def push(self, leaves: tuple[Any, ...], tangents: list[Any]) -> tuple[Any, Any]:
        return self.kernel(tangents)(leaves, tangents)

    def kernel(self, tangents: list[Any]) -> Pushforward:
        active = tuple(t is not None for t in tangents)
        found = self.kernels.get(active)
        if found is None:
            found = self.kernels[active] = Pushforward(self.prepared, active, self.options)
        return found


class Pushforward:
    """A compiled pushforward: ``(*args, *tangents) -> (*results, *tangents of results)``."""

    def __init__(self, prepared: Prepared, active: Sequence[bool], options: Any) -> None:
        kernel = kernels.pushforward(prepared.flat, active, options=options)
        push = kernel.push
        assert push is not None
        self.call = runner(kernel, options)
        self.results = Results(prepared.flat.result, prepared.from_args)
        self.tangents = [(p, prepared.types[p]) for p in push.tangents]
        self.at = {k: self.results.n + i for i, k in enumerate(push.seeded)}

    def __call__(self, leaves: tuple[Any, ...], tangents: list[Any]) -> tuple[Any, Any]:
        """The value and its tangent."""
        out = self.run(leaves, tangents)
        return self.results(out, leaves), build(self.results.tree, iter(self.dots(out)), nothing)

    def run(self, leaves: Sequence[Any], tangents: list[Any]) -> Any:
        """Tangent arrays are copied: the function may write to them as it does to its arguments."""
        given = [as_tangent(tangents[p], leaves[p], t) for p, t in self.tangents]
        return self.call(*leaves, *given)

    def dots(self, out: Sequence[Any]) -> list[Any]:
        """The tangents of the leaves of the result."""
        made = []
        for k, (t, convert) in enumerate(zip(self.results.types, self.results.convert)):
            if k in self.at:
                made.append(convert(out[self.at[k]]))
            else:
                made.append(zero_of(out[k], t))
        return made


def as_tangent(given: Any, x: Any, t: Any) -> Any:
    """A tangent as the kernel takes it: zeros for None, arrays in memory of their own."""
    if not is_array(t):
        return 0.0 if given is None else given
    fresh = zeros_like(x, t)
    if given is not None:
        fresh[...] = given
    return fresh


class NodePushPlan(PushPlan):
    """The same for an operator."""

    def __init__(self, op: Operator, prepared: Prepared, aim: Aim, node: Node) -> None:
        super().__init__(op, prepared, aim)
        self.node = node

    def push(self, leaves: tuple[Any, ...], tangents: list[Any]) -> tuple[Any, Any]:
        x = [{0: v} if t is None else {0: v, 1: t} for v, t in zip(leaves, tangents)]
        with self.node.base.writing_to(leaves):
            out = self.node.eval(x, 1)
        return self.node.structure([d[0] for d in out]), self.node.tangent(out, 1)
