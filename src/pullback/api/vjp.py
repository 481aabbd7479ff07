"""``vjp``: the value, and the pullback as an object that may be called again and again.

The forward half runs on private copies of all arrays, so that nothing that happens to the caller's
arrays afterwards matters. What it left on the tape and in the copies is kept aside, and put back
before each further call of the reverse half.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..ad import compile as kernels
from ..ad.assume import Unlikely
from .aim import Aim
from .arguments import Call
from .flats import Prepared
from .inner import refuse
from .invoke import Arena, Results, twin
from .match import match, shown
from .nested import Node
from .operator import NodePlan, Operator, Plan, shared_plans
from .tree import Tree, converter, is_array, leaves, zeros_like
from .wrapper import part_of


def vjp(
    f: Callable[..., Any],
    *primals: Any,
    kwargs: Mapping[str, Any] = {},
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> tuple[Any, Pullback]:
    """``f(*primals, **kwargs)`` and the pullback there, which takes a cotangent of the value's
    structure to the tuple of cotangents of the primals (None for those without derivative).

    >>> y, back = vjp(lambda x, k: k * x * x, 3.0, 2)
    >>> y, back(1.0)
    (18.0, (12.0, None))
    """
    op = VJP(f, engine, options)
    op.plans = shared_plans(f, (VJP, op.resolved))
    return op(*primals, **kwargs)


refuse(vjp)


class VJP(Operator):
    """What `vjp` calls."""

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return vjp

    def make(self, prepared: Prepared, call: Call) -> Plan:
        return SplitPlan(self, prepared, Aim.all(prepared, call))

    def make_nested(self, prepared: Prepared, call: Call) -> Plan:
        node = self.inner(prepared, call, self.resolved)
        return NodeSplitPlan(node, Aim.all(prepared, call))


class SplitPlan(Plan):
    """Runs the forward half: ``(tape, *args, *shadows) -> results``.

    ``assuming``: code for shapes that agree, if there is any; `general` is for all shapes."""

    def __init__(
        self, op: Operator, prepared: Prepared, aim: Aim, *, assuming: bool = True
    ) -> None:
        super().__init__(prepared)
        options = self.options = op.resolved
        self.op, self.assuming = op, assuming and kernels.assumes(prepared.flat, options)
        self.kernel = kernels.gradient(
            prepared.flat, aim.active, split=True, assuming=self.assuming, options=options
        )
        built = self.kernel.built
        assert built is not None
        self.built = built
        self.aim = aim
        self.results = Results(prepared.flat.result, built.from_args)
        self.exact = {o for o in built.from_args if o is not None}
        self.shadows = [(p, prepared.types[p]) for p in built.shadowed]
        self.parts = [
            part_of(p, prepared.types[p], built.shadowed, built.scalars) for p in aim.leaves
        ]
        self.written = prepared.written

    def run(self, leaves: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, Pullback]:
        out, back = self.forward(leaves)
        return back.plan.results(out, leaves, back.private), back

    @cached_property
    def general(self) -> SplitPlan:
        return SplitPlan(self.op, self.prepared, self.aim, assuming=False)

    def forward(self, leaves: tuple[Any, ...]) -> tuple[Sequence[Any], SplitPullback]:
        """What the forward half returns, and the pullback."""
        try:
            return self._forward(leaves)
        except Unlikely:
            return self.general.forward(leaves)

    def _forward(self, leaves: tuple[Any, ...]) -> tuple[Sequence[Any], SplitPullback]:
        private = list(leaves)
        for p in self.prepared.arrays:
            private[p] = twin(leaves[p], p in self.exact)
        shadows = [zeros_like(private[p], t) for p, t in self.shadows]
        arena = Arena(self.options)
        try:
            out = arena.run(self.kernel.call, *private, *shadows)
        except BaseException:
            arena.close()
            raise
        finally:
            for p in self.written:
                leaves[p][...] = private[p]
        return out, SplitPullback(self, arena, private, shadows, out)


class Pullback:
    """The pullback of a function at a point: ``back(cotangent) -> tuple of cotangents``.

    It may be called any number of times; nothing that happens to the caller's arrays matters."""

    def __init__(self, aim: Aim, prepared: Prepared, tree: Tree, values: Sequence[Any]) -> None:
        self._aim, self._prepared, self._tree = aim, prepared, tree
        self._types = [leaf.type for leaf in leaves(tree)]
        self._shapes = [np.shape(v) if is_array(t) else None for v, t in zip(values, self._types)]

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        bars = match(
            self._tree,
            cotangent,
            self._types,
            self._shapes,
            "the cotangent",
            loc=self._prepared.loc,
        )
        return self._aim.structure(self.pull(bars))

    def pull(self, bars: list[Any]) -> list[Any]:
        """The cotangents of the leaves of the arguments, for those of the leaves of the value."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        raise NotImplementedError

    def __repr__(self) -> str:
        names = ", ".join(a.name for a in self._aim.arguments)
        return (
            f"<pullback of {self._prepared.name}({names})\n"
            f" cotangent: {shown(self._tree, self._shapes)}\n"
            f" keeps {self.nbytes} bytes>"
        )


class SplitPullback(Pullback):
    """Runs the reverse half: ``(tape, *arrays, *shadows, *seeds) -> cotangents``."""

    def __init__(
        self, plan: SplitPlan, arena: Arena, private: list[Any], shadows: list[Any], out: Any
    ) -> None:
        super().__init__(plan.aim, plan.prepared, plan.results.tree, out)
        self.plan, self._arena, self.private, self._shadows = plan, arena, private, shadows
        self._lock = threading.Lock()
        self._kept: Any = None  # the state after the forward half, once it has been used

    def pull(self, bars: list[Any]) -> list[Any]:
        plan = self.plan
        seeds = [bars[k] for k in plan.built.seeded]
        with self._lock:
            self._rewind()
            out = ()
            if plan.kernel.back is not None:
                out = self._arena.run(plan.kernel.back, *self._arrays(), *self._shadows, *seeds)
            shadows = [s.copy("K") for s in self._shadows]
        return [make(self.private, shadows, out) for make in plan.parts]

    def _rewind(self) -> None:
        """Make everything what it was after the forward half."""
        written = [self.private[i] for i in self.plan.written]
        if self._kept is None:
            self._kept = self._arena.memory.snapshot(), [x.copy("K") for x in written]
            return
        memory, contents = self._kept
        self._arena.memory.restore(memory)
        for x, content in zip(written, contents):
            x[...] = content
        for s in self._shadows:
            s.fill(0)

    def _arrays(self) -> list[np.ndarray]:
        return [self.private[i] for i in self.plan.built.arrays]

    @property
    def nbytes(self) -> int:
        return self._arena.nbytes + sum(x.nbytes for x in (*self._arrays(), *self._shadows))

    def __del__(self) -> None:
        arena = getattr(self, "_arena", None)
        if arena is not None and arena.memory is not None and not sys.is_finalizing():
            arena.close()


# -- of operators ----------------------------------------------------------------------------------
class NodeSplitPlan(NodePlan):
    """The value of an operator, and its pullback."""

    def __init__(self, node: Node, aim: Aim) -> None:
        super().__init__(node)
        self.aim = aim

    def run(self, leaves: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
        x = [{0: v.copy("K") if isinstance(v, np.ndarray) else v} for v in leaves]
        with self.node.base.writing_to(leaves):
            out = [d[0] for d in self.node.eval(x, 0)]
        return self.node.structure(out), NodePullback(self, x, out)


class NodePullback(Pullback):
    """Evaluates the node's pullback anew each time."""

    def __init__(self, plan: NodeSplitPlan, x: Any, out: Any) -> None:
        super().__init__(plan.aim, plan.prepared, plan.node.tree, out)
        self._node, self._x = plan.node, x

    def pull(self, bars: list[Any]) -> list[Any]:
        given = [None if b is None else {0: b} for b in bars]
        _, found = self._node.pull(self._x, given, self._aim.active, 0)
        types = self._prepared.types
        return [converter(types[p])(found[p][0]) if p in found else None for p in self._aim.leaves]

    @property
    def nbytes(self) -> int:
        return sum(getattr(d[0], "nbytes", 8) for d in self._x)
