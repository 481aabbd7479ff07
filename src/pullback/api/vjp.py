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
from numba import types

from ..ad import compile as kernels
from ..errors import CotangentMismatch
from ..typing_ import ATuple
from .flats import Prepared
from .gradient import Aim, part_of
from .invoke import Arena, Results, twin
from .operator import Call, Operator, Plan, shared_plans
from .tree import (
    Tree,
    carries_any,
    is_active_array,
    is_active_scalar,
    is_array,
    kind_of,
    leaves,
    spell,
    zeros_like,
)


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
        given = match(results.tree, cotangent, results.types, self._shapes, "cotangent")
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


# -- cotangents and tangents -----------------------------------------------------------------------
def shown(tree: Tree, shapes: Sequence[Any]) -> str:
    """A structure in words."""
    rest = iter(shapes)

    def word(t: Tree) -> str:
        if isinstance(t, ATuple):
            return f"({', '.join(map(word, t.elements))}{',' * (len(t.elements) == 1)})"
        if t.known:
            return "None"
        shape = next(rest)
        if not (is_active_array(t.type) or is_active_scalar(t.type)):
            return "None"
        return kind_of(t.type) if shape is None else f"{t.type.dtype}{list(shape)}"

    return word(tree)


def match(
    tree: Tree,
    given: Any,
    wanted: Sequence[Any],
    shapes: Sequence[Any],
    what: str,
    optional: bool = False,
    name: str = "",
) -> list[Any]:
    """The leaves of a cotangent or tangent, checked against those of the value: a number or array
    each, None where the value has no derivative. ``optional``: None stands for zero too.

    CotangentMismatch, saying where, if structure, shape or dtype differ."""
    label = name or f"the {what}"
    parts: list[Any] = []
    _walk(tree, given, label, parts, what, optional)
    found = []
    for (at, x), t, shape in zip(parts, wanted, shapes):
        found.append(_leaf(x, t, shape, at, what, optional))
    return found


def _walk(tree: Tree, x: Any, at: str, out: list[Any], what: str, optional: bool) -> None:
    if isinstance(tree, ATuple):
        if x is None and (optional or not carries_any(tree)):
            out += [(at, None) for _ in leaves(tree)]
            return
        named = isinstance(x, dict)
        if not isinstance(x, (tuple, dict)) or len(x) != len(tree.elements):
            raise CotangentMismatch(
                f"{at} is {_word(x)}, its value is a tuple of {len(tree.elements)}",
                hint=f"Pass a tuple of {len(tree.elements)}.",
            )
        for i, (e, part) in enumerate(zip(tree.elements, x.values() if named else x)):
            _walk(e, part, spell(at, (i,)), out, what, optional)
    elif not tree.known:
        out.append((at, x))


def _leaf(x: Any, t: Any, shape: Any, at: str, what: str, optional: bool) -> Any:
    if is_active_array(t):
        return _array_leaf(x, t, shape, at, optional)
    if not is_active_scalar(t):
        return None
    if x is None and optional:
        return None
    numbers = (int, float, np.floating, np.integer)
    if isinstance(t, types.Complex):
        numbers = (*numbers, complex, np.complexfloating)  # type: ignore[assignment]
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, bool) or not isinstance(x, numbers):
        raise CotangentMismatch(f"{at} is {_word(x)}, its value is a {kind_of(t)}")
    return complex(x) if isinstance(t, types.Complex) else float(x)


def _array_leaf(x: Any, t: Any, shape: tuple[int, ...], at: str, optional: bool) -> Any:
    if x is None and optional:
        return None
    if t.ndim == 0 and isinstance(x, (int, float)) and not isinstance(x, bool):
        x = np.array(x, str(t.dtype))
    if not isinstance(x, np.ndarray):
        if isinstance(x, np.generic) and t.ndim == 0:
            x = np.asarray(x)
        else:
            raise CotangentMismatch(
                f"{at} is {_word(x)}, its value an array of shape {shape}",
                hint="Pass an array of that shape.",
            )
    if x.shape != shape:
        raise CotangentMismatch(f"{at} has shape {x.shape}, its value {shape}")
    if x.dtype != np.dtype(str(t.dtype)):
        raise CotangentMismatch(
            f"{at} has dtype {x.dtype}, its value {t.dtype}",
            hint=f"Convert it with .astype(np.{t.dtype}).",
        )
    return np.asarray(x, order="F" if t.layout == "F" else "C" if t.layout == "C" else None)


def _word(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape}"
    if isinstance(x, tuple):
        return f"a tuple of {len(x)}"
    return "None" if x is None else f"a {type(x).__name__}"
