"""Operators of operators: ``grad(grad(f))``, ``jacobian(grad(f))``, ``jvp`` of a gradient, ...

A `Node` is a function made by operators over a plain function, whose arguments it has. It is
evaluated on *duals*: a leaf is a dict from masks to components (see `ad.tower`), an infinitesimal
for each derivative that is being taken. A gradient is a pullback of what it is the gradient of,
and its own pullback is, the Hessian being symmetric, the derivative of a pullback in the
direction of the cotangent. So all nesting ends in forward mode over one reverse mode of the plain
function, and needs nothing but the tower kernels of that.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import types

from ..ad.compile import Options
from ..ad.tower import Tower, tower
from ..errors import NotDifferentiable
from ..runtime.memory import checkout, give_back
from ..runtime.tape import Tape
from ..typing_ import ATuple, AVal
from .aim import Aim
from .flats import Prepared
from .tree import (
    Tree,
    build,
    converter,
    is_active_array,
    is_array,
    leaves,
    nothing,
    zero_of,
    zeros_like,
)

Dual = dict[int, Any]
Duals = list[Dual]


class Node:
    """A function of the entry parameters of ``prepared``, with a result of structure ``tree``."""

    def __init__(self, prepared: Prepared, tree: Tree) -> None:
        self.prepared, self.tree = prepared, tree
        self.types = [leaf.type for leaf in leaves(tree)]

    def eval(self, x: Duals, order: int) -> Duals:
        """The leaves of the result, for arguments with ``order`` infinitesimals."""
        raise NotImplementedError

    def pull(
        self, x: Duals, bars: Sequence[Dual | None], active: Sequence[bool], order: int
    ) -> tuple[Duals, dict[int, Dual]]:
        """The leaves of the result, and the cotangents of the ``active`` entry parameters, for
        cotangents ``bars`` of the leaves of the result (None: not wanted)."""
        raise NotImplementedError

    @property
    def base(self) -> Base:
        raise NotImplementedError

    def structure(self, parts: Sequence[Any]) -> Any:
        """A value of the result's structure."""
        made = [converter(t)(p) for t, p in zip(self.types, parts)]
        return build(self.tree, iter(made))

    def tangent(self, out: Duals, bit: int) -> Any:
        """The derivative of the result: None where there is none."""
        made = [
            None
            if not differentiable(t)
            else converter(t)(d[bit])
            if bit in d
            else zero_of(d[0], t)
            for t, d in zip(self.types, out)
        ]
        return build(self.tree, iter(made), nothing)


class Base(Node):
    """The plain function."""

    def __init__(self, prepared: Prepared, options: Options) -> None:
        super().__init__(prepared, prepared.flat.result)
        self.options = options
        self._last = threading.local()

    @property
    def base(self) -> Base:
        return self

    def eval(self, x: Duals, order: int) -> Duals:
        t = tower(self.prepared.flat, _masks(x), order, options=self.options)
        out, _ = self._run(t, x, [])
        return self._results(t, out)

    def pull(
        self, x: Duals, bars: Sequence[Dual | None], active: Sequence[bool], order: int
    ) -> tuple[Duals, dict[int, Dual]]:
        seeds = [None if b is None else frozenset(b) - {0} for b in bars]
        t = tower(
            self.prepared.flat, _masks(x), order, active=active, seeds=seeds, options=self.options
        )
        out, shadows = self._run(t, x, bars)
        found: dict[int, Dual] = {p: {} for p, on in enumerate(active) if on}
        for (p, mask), shadow in shadows.items():
            found[p][mask] = shadow
        for ((kind, p), mask), value in zip(t.results, out):
            if kind == "cotangent":
                found[p][mask] = value
        for p, d in found.items():
            d.setdefault(0, self.zero(x, p))
        return self._results(t, out), found

    @property
    def after(self) -> dict[int, Any]:
        """The arguments that it writes to, as this thread's last run left them."""
        return self._last.__dict__.setdefault("after", {})

    @contextmanager
    def writing_to(self, leaves: Sequence[Any]) -> Iterator[None]:
        """What runs in the block leaves in the caller's arrays what a call leaves there, also when
        it raises."""
        self.after.clear()
        try:
            yield
        finally:
            for p, content in self.after.items():
                leaves[p][...] = content
            self.after.clear()

    def zero(self, x: Duals, p: int) -> Any:
        t = self.prepared.types[p]
        return zeros_like(x[p][0], t) if is_array(t) else converter(t)(0)

    def _run(
        self, t: Tower, x: Duals, bars: Sequence[Dual | None]
    ) -> tuple[Sequence[Any], dict[tuple[int, int], Any]]:
        memory: Any = checkout() if self.options.run == "native" else Tape()
        shadows: dict[tuple[int, int], Any] = {}
        written = set(self.prepared.written)
        after = self.after
        after.clear()
        args = []
        for (kind, p), mask in t.params:
            if kind == "tape":
                args.append(getattr(memory, "address", memory))
            elif kind == "shadow":
                shadows[p, mask] = self.zero(x, p)
                args.append(shadows[p, mask])
            elif kind == "seed":
                args.append(_component(bars[p] or {}, mask))
            else:
                value = x[p][mask] if mask in x[p] else self.zero(x, p)
                if p in written:
                    value = value.copy("K")
                    if mask == 0:
                        after[p] = value
                args.append(value)
        tapes = bool(t.params) and t.params[0][0] == ("tape", 0)
        try:
            if self.options.run == "native":
                out = t.call.run(memory, *args[tapes:])  # type: ignore[attr-defined]
            else:
                out = t.call(*args)
        finally:
            if self.options.run == "native":
                give_back(memory)
        return out, shadows

    def _results(self, t: Tower, out: Sequence[Any]) -> Duals:
        found: Duals = [{} for _ in self.types]
        for ((kind, k), mask), value in zip(t.results, out):
            if kind == "result":
                found[k][mask] = value
        return found


class GradientOf(Node):
    """The gradient of a node with one real result, by ``aim``. ``first``: the leaves of the result
    that come along (value, aux), in front of the gradient or (aux) behind it."""

    def __init__(self, inner: Node, aim: Aim, with_value: bool, has_aux: bool) -> None:
        gradient = aim.tree()
        tree: Tree = gradient
        if with_value:
            tree = ATuple((inner.tree, gradient))
        elif has_aux:
            tree = ATuple((gradient, inner.tree.elements[1]))  # type: ignore[union-attr]
        super().__init__(inner.prepared, tree)
        self.inner, self.aim = inner, aim
        n = len(inner.types)
        self.before = list(range(n)) if with_value else []
        self.behind = list(range(1, n)) if has_aux and not with_value else []
        self.wanted = [p for p in aim.leaves if aim.active[p]]

    @property
    def base(self) -> Base:
        return self.inner.base

    def _assemble(self, results: Duals, gradient: dict[int, Dual]) -> Duals:
        parts = [gradient[p] for p in self.wanted]
        return [
            *(results[k] for k in self.before), *parts, *(results[k] for k in self.behind)
        ]  # fmt: skip

    def _seeds(self) -> list[Dual | None]:
        return [{0: 1.0}, *[None] * (len(self.inner.types) - 1)]

    def eval(self, x: Duals, order: int) -> Duals:
        return self._assemble(*self.inner.pull(x, self._seeds(), self.aim.active, order))

    def pull(
        self, x: Duals, bars: Sequence[Dual | None], active: Sequence[bool], order: int
    ) -> tuple[Duals, dict[int, Dual]]:
        bit = 1 << order
        seeds = self._seeds()
        at = len(self.before)
        moved = x
        for p, bar in zip(self.wanted, bars[at:]):
            if bar is not None:
                moved = _with(moved, p, {mask | bit: v for mask, v in bar.items()})
        rest = [*zip(self.before, bars), *zip(self.behind, bars[at + len(self.wanted) :])]
        for k, bar in rest:
            if bar is not None:
                seeds[k] = {0: 0.0, **(seeds[k] or {}), **{m | bit: v for m, v in bar.items()}}
        both = [a or b for a, b in zip(active, self.aim.active)]
        results, found = self.inner.pull(moved, seeds, both, order + 1)
        cotangents = {
            p: _derivative(d, bit, self.base.zero(x, p)) for p, d in found.items() if active[p]
        }
        gradient = {p: _without(found[p], bit) for p in self.wanted}
        return self._assemble([_without(r, bit) for r in results], gradient), cotangents


class JacobianOf(Node):
    """The Jacobian of a node by ``aim``, column by column in forward mode."""

    def __init__(self, inner: Node, aim: Aim) -> None:
        self.columns = [p for p in aim.leaves if aim.active[p]]
        column_types = [inner.prepared.types[p] for p in self.columns]
        super().__init__(inner.prepared, jacobian_tree(inner.tree, aim, column_types))
        self.inner, self.aim = inner, aim
        self.rows = [k for k, t in enumerate(inner.types) if differentiable(t)]

    @property
    def base(self) -> Base:
        return self.inner.base

    def _units(self, x: Duals, bit: int) -> Iterator[tuple[int, tuple[int, ...], Duals]]:
        """Each element of the arguments, with the duals in its direction."""
        for p in self.columns:
            shape = np.shape(x[p][0])
            for index in np.ndindex(*shape):
                unit = self.base.zero(x, p)
                if isinstance(unit, np.ndarray):
                    unit[index] = 1
                else:
                    unit = type(unit)(1)
                yield p, index, _with(x, p, {bit: unit})

    def eval(self, x: Duals, order: int) -> Duals:
        bit = 1 << order
        made: dict[tuple[int, int], Dual] = {(k, p): {} for k in self.rows for p in self.columns}
        for p, index, moved in self._units(x, bit):
            out = self.inner.eval(moved, order + 1)
            for k in self.rows:
                for mask, v in out[k].items():
                    if mask & bit:
                        _put(made[k, p], mask & ~bit, v, np.shape(x[p][0]), index)
        for (k, p), d in made.items():
            if 0 not in d:  # no influence, or no elements
                d[0] = np.zeros(np.shape(self._value(x, k)) + np.shape(x[p][0]))[()]
        return [made[k, p] for k in self.rows for p in self.columns]

    def _value(self, x: Duals, k: int) -> Any:
        return self.inner.eval([{0: d[0]} for d in x], 0)[k][0]

    def pull(
        self, x: Duals, bars: Sequence[Dual | None], active: Sequence[bool], order: int
    ) -> tuple[Duals, dict[int, Dual]]:
        bit = 1 << order
        total: dict[int, Dual] = {p: {0: self.base.zero(x, p)} for p, on in enumerate(active) if on}
        n = len(self.columns)
        for p, index, moved in self._units(x, bit):
            at = self.columns.index(p)
            seeds: list[Dual | None] = [None] * len(self.inner.types)
            for i, k in enumerate(self.rows):
                bar = bars[i * n + at]
                if bar is not None:
                    at_index: Any = (..., *index)
                    seeds[k] = {m: np.asarray(v)[at_index] for m, v in bar.items()}
            _, found = self.inner.pull(moved, seeds, active, order + 1)
            for q, d in found.items():
                for mask, v in _derivative(d, bit, self.base.zero(x, q)).items():
                    total[q][mask] = total[q][mask] + v if mask in total[q] else v
        return self.eval(x, order), total


# -- duals -----------------------------------------------------------------------------------------
def _masks(x: Duals) -> list[frozenset[int]]:
    return [frozenset(d) - {0} for d in x]


def _with(x: Duals, p: int, more: Dual) -> Duals:
    """The duals with components added to the leaf ``p``."""
    moved = list(x)
    moved[p] = {**x[p], **more}
    return moved


def _without(d: Dual, bit: int) -> Dual:
    return {m: v for m, v in d.items() if not m & bit}


def _derivative(d: Dual, bit: int, zero: Any) -> Dual:
    """The coefficient of an infinitesimal."""
    return {0: zero, **{m & ~bit: v for m, v in d.items() if m & bit}}


def _component(d: Dual, mask: int) -> Any:
    return d[mask] if mask in d else 0 * d[0]


def _put(d: Dual, mask: int, v: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> None:
    """Store a column of a Jacobian: its shape is that of the result, then that of the argument."""
    if shape or np.shape(v):
        if mask not in d:
            d[mask] = np.zeros(np.shape(v) + shape, np.asarray(v).dtype)
        d[mask][(..., *index)] = v
    else:
        d[mask] = v


def differentiable(t: Any) -> bool:
    return is_active_array(t) or isinstance(t, (types.Float, types.Complex))


def jacobian_tree(result: Tree, aim: Aim, columns: Sequence[Any]) -> Tree:
    """The structure of a Jacobian: that of the result, with that of the arguments in each leaf."""
    if isinstance(result, ATuple):
        return ATuple(tuple(jacobian_tree(e, aim, columns) for e in result.elements), result.cls)
    if result.known or not differentiable(result.type):
        return AVal(types.none, None)
    found = iter(columns)
    trees = [_replaced(t, result.type, found) for t in aim.trees]
    return trees[0] if aim.single else ATuple(tuple(trees))


def _replaced(tree: Tree, row: Any, columns: Iterator[Any]) -> Tree:
    if isinstance(tree, ATuple):
        return ATuple(tuple(_replaced(e, row, columns) for e in tree.elements), tree.cls)
    if tree.known or not differentiable(tree.type):
        return AVal(types.none, None)
    column = next(columns)
    ndim = getattr(row, "ndim", 0) + getattr(column, "ndim", 0)
    dtype = getattr(row, "dtype", row)
    return AVal(types.Array(dtype, ndim, "C") if ndim else dtype)


def refuse_complex(aim: Aim, prepared: Prepared, what: str) -> None:
    """NotDifferentiable if an argument is complex: its Jacobian is no matrix of complex numbers."""
    for a, tree in zip(aim.arguments, aim.trees):
        for leaf in leaves(tree):
            if isinstance(getattr(leaf.type, "dtype", leaf.type), types.Complex):
                raise NotDifferentiable(
                    f"{what} by the complex argument {a.name!r}",
                    loc=prepared.loc,
                    variable=a.name,
                    hint="Make the real and the imaginary part arguments of their own.",
                )
