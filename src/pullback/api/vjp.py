"""``vjp``: the value, and the pullback as an object that may be called again and again.

The forward half runs on private copies of all arrays, so that nothing that happens to the caller's
arrays afterwards matters. What it left on the tape and in the copies is kept aside, and put back
before each further call of the reverse half.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ad import compile as kernels
from .flats import Prepared
from .gradient import Aim, part_of
from .invoke import Arena, Results, twin
from .match import match, shown
from .operator import Call, Operator, Plan, shared_plans
from .tree import is_array, zeros_like


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
    return op(*primals, **kwargs)  # type: ignore[no-any-return]


class VJP(Operator):
    """What `vjp` calls."""

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return vjp

    def make(self, prepared: Prepared, call: Call) -> Plan:
        return SplitPlan(self, prepared, Aim.all(prepared, call))


class SplitPlan(Plan):
    """Runs the forward half: ``(tape, *args, *shadows) -> results``."""

    def __init__(self, op: Operator, prepared: Prepared, aim: Aim) -> None:
        super().__init__(prepared)
        options = self.options = op.resolved
        self.kernel = kernels.gradient(prepared.flat, aim.active, split=True, options=options)
        built = self.built = self.kernel.built
        assert built is not None
        self.aim = aim
        self.results = Results(prepared.flat.result, built.from_args)
        self.exact = {o for o in built.from_args if o is not None}
        self.shadows = [(p, prepared.types[p]) for p in built.shadowed]
        self.parts = [
            part_of(p, prepared.types[p], built.shadowed, built.scalars, 0) for p in aim.leaves
        ]
        self.written = prepared.written

    def run(self, leaves: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, Pullback]:
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
        back = Pullback(self, arena, private, shadows, leaves_like(out, self.results))
        return self.results(out, leaves, private), back


def leaves_like(out: Sequence[Any], results: Results) -> list[Any]:
    """What cotangents must look like: the shape of each array result, None for numbers."""
    return [p.shape if is_array(t) else None for p, t in zip(out, results.types)]


class Pullback:
    """The pullback of a function at a point: ``back(cotangent) -> tuple of cotangents``.

    It may be called any number of times; nothing that happens to the caller's arrays matters."""

    def __init__(
        self,
        plan: SplitPlan,
        arena: Arena,
        private: list[Any],
        shadows: list[Any],
        shapes: list[Any],
    ) -> None:
        self._plan, self._arena = plan, arena
        self._private, self._shadows, self._shapes = private, shadows, shapes
        self._lock = threading.Lock()
        self._kept: Any = None  # the state after the forward half, once it has been used

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        plan = self._plan
        results = plan.results
        given = match(results.tree, cotangent, results.types, self._shapes, "the cotangent")
        seeds = [given[k] for k in plan.built.seeded]
        with self._lock:
            self._rewind()
            arrays = [self._private[i] for i in plan.built.arrays]
            out = ()
            if plan.kernel.back is not None:
                out = self._arena.run(plan.kernel.back, *arrays, *self._shadows, *seeds)
            shadows = [s.copy("K") for s in self._shadows]
        parts = [make(self._private, shadows, out) for make in plan.parts]
        return plan.aim.structure(parts)  # type: ignore[no-any-return]

    def _rewind(self) -> None:
        """Make everything what it was after the forward half."""
        written = [self._private[i] for i in self._plan.written]
        if self._kept is None:
            self._kept = self._arena.memory.snapshot(), [x.copy("K") for x in written]
            return
        memory, contents = self._kept
        self._arena.memory.restore(memory)
        for x, content in zip(written, contents):
            x[...] = content
        for s in self._shadows:
            s.fill(0)

    def __del__(self) -> None:
        arena = getattr(self, "_arena", None)
        if arena is not None and arena.memory is not None:
            arena.close()

    def __repr__(self) -> str:
        prepared, results = self._plan.prepared, self._plan.results
        names = ", ".join(a.name for a in self._plan.aim.arguments)
        kept = self._arena.nbytes + sum(x.nbytes for x in (*self._arrays(), *self._shadows))
        return (
            f"<pullback of {prepared.name}({names})\n"
            f" cotangent: {shown(results.tree, self._shapes)}\n"
            f" keeps {kept} bytes>"
        )

    def _arrays(self) -> list[np.ndarray]:
        return [self._private[i] for i in self._plan.built.arrays]
