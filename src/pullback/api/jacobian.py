"""``jacobian``: all derivatives, column by column (forward) or row by row (reverse)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..ad.compile import Options
from ..errors import NotDifferentiable, UnknownOption
from .aim import Aim
from .arguments import Argnums, Call
from .flats import Prepared
from .inner import refuse
from .jvp import Pushforward
from .nested import JacobianOf, Node, differentiable, jacobian_tree, refuse_complex
from .operator import Operator, Plan, decorator
from .tree import build, converter, is_array, zero_of
from .tree import leaves as leaves_of
from .vjp import SplitPlan

MODES = ("auto", "forward", "reverse")
CHEAPER = 4
"""A row costs this many times as much as a column, roughly."""


def jacobian(
    f: Callable[..., Any] | None = None,
    argnums: Argnums = 0,
    *,
    mode: str = "auto",
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> Any:
    """The Jacobian of ``f`` as a function of the same arguments.

    Its shape is that of the result, then that of the argument: J[i, j] = ∂f[i]/∂x[j]. Tuples on
    either side give tuples, of results outside, of arguments inside. ``mode``: "forward" (one
    run for each element of the arguments), "reverse" (of the result), or whichever is cheaper.

    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in MODES:
        raise UnknownOption(
            f"there is no mode {mode!r}", hint='Use "forward", "reverse" or "auto".'
        )
    return decorator(_jacobian, f, argnums=argnums, mode=mode, engine=engine, options=options)


def _jacobian(f: Any, argnums: Argnums, mode: str, engine: str, options: Any) -> Any:
    return Jacobian(f, engine, options, argnums=argnums, mode=mode)


refuse(jacobian)


class Jacobian(Operator):
    """What `jacobian` makes."""

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        return jacobian

    def make(self, prepared: Prepared, call: Call) -> Plan:
        return JacobianPlan(self, prepared, self.aim(prepared, call))

    def aim(self, prepared: Prepared, call: Call) -> Aim:
        aim = Aim.at(prepared, call, self.settings["argnums"])
        refuse_complex(aim, prepared, "a Jacobian")
        return aim

    def node(self, prepared: Prepared, call: Call, options: Options) -> Node:
        return JacobianOf(self.inner(prepared, call, options), self.aim(prepared, call))


class JacobianPlan(Plan):
    """Blocks of the Jacobian, one for each leaf of the result (a row of blocks) and of the
    arguments (a column)."""

    def __init__(self, op: Jacobian, prepared: Prepared, aim: Aim) -> None:
        super().__init__(prepared)
        self.op, self.aim, self.mode = op, aim, op.settings["mode"]
        self.columns = [p for p in aim.leaves if aim.active[p]]
        types = [prepared.types[p] for p in self.columns]
        self.tree = jacobian_tree(prepared.flat.result, aim, types)
        self.forward: Pushforward | None = None
        self.split: SplitPlan | None = None

    def run(self, leaves: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
        n = sum(np.size(leaves[p]) for p in self.columns)
        if self.mode == "reverse" or (self.mode == "auto" and self._few_numbers(n)):
            blocks = self.by_rows(leaves)
        else:
            blocks = self.by_columns(leaves, n)
        return build(self.tree, iter(blocks))

    def _few_numbers(self, n: int) -> bool:
        """Whether the result is known to be fewer numbers than the arguments' ``n``."""
        rows = [a.type for a in leaves_of(self.prepared.flat.result) if differentiable(a.type)]
        return not any(map(is_array, rows)) and len(rows) < n and not any(map(_is_complex, rows))

    # -- forward -------------------------------------------------------------------------------
    def by_columns(self, leaves: tuple[Any, ...], n: int) -> list[Any]:
        if self.forward is None:
            self.forward = Pushforward(self.prepared, self.aim.active, self.op.resolved)
        push = self.forward
        rows = [k for k, t in enumerate(push.results.types) if differentiable(t)]
        blocks: dict[tuple[int, int], Any] = {}
        for p, index, tangents in self._units(leaves):
            out, used = self._pushed(push, leaves, tangents)
            if not blocks:
                blocks = {
                    (k, q): self._block(out[k], leaves[q]) for k in rows for q in self.columns
                }
                m = sum(np.size(out[k]) for k in rows)
                if self.mode == "auto" and CHEAPER * m < n and not self._complex_rows(rows):
                    return self.by_rows(leaves)
            for k in rows:
                if k in push.at:
                    blocks[k, p][(..., *index)] = out[push.at[k]]
        if not blocks:  # no elements
            out, used = self._pushed(push, leaves, [None] * len(leaves))
            blocks = {(k, q): self._block(out[k], leaves[q]) for k in rows for q in self.columns}
        self._put_back(leaves, used)
        return self._finished(rows, blocks)

    def _pushed(
        self, push: Pushforward, leaves: tuple[Any, ...], tangents: list[Any]
    ) -> tuple[Sequence[Any], list[Any]]:
        """The results, and the arguments as one run leaves them: the caller's do not change, unless
        the run raises."""
        used = self._copies(leaves)
        try:
            return push.run(used, tangents), used
        except BaseException:
            self._put_back(leaves, used)
            raise

    def _units(self, leaves: tuple[Any, ...]) -> Iterator[tuple[int, tuple[int, ...], list[Any]]]:
        """Each element of the arguments, with the tangents in its direction."""
        for p in self.columns:
            tangents: list[Any] = [None] * len(leaves)
            x = leaves[p]
            if not is_array(self.prepared.types[p]):
                tangents[p] = 1.0
                yield p, (), tangents
                continue
            tangents[p] = unit = np.zeros(x.shape, x.dtype)
            for index in np.ndindex(*x.shape):
                unit[index] = 1
                yield p, index, tangents
                unit[index] = 0

    def _copies(self, leaves: tuple[Any, ...]) -> list[Any]:
        used = list(leaves)
        for i in self.prepared.written:
            used[i] = leaves[i].copy("K")
        return used

    def _put_back(self, leaves: tuple[Any, ...], used: list[Any]) -> None:
        for i in self.prepared.written:
            leaves[i][...] = used[i]

    # -- reverse -------------------------------------------------------------------------------
    def by_rows(self, leaves: tuple[Any, ...]) -> list[Any]:
        if self.split is None:
            self.split = SplitPlan(self.op, self.prepared, self.aim)
        types = self.split.results.types
        rows = [k for k, t in enumerate(types) if differentiable(t)]
        if self._complex_rows(rows):
            raise NotDifferentiable(
                "the Jacobian of a complex result by rows",
                loc=self.prepared.loc,
                hint='Use mode="forward".',
            )
        out, back = self.split.forward(leaves)
        blocks = {(k, p): self._block(out[k], leaves[p]) for k in rows for p in self.columns}
        for k, index, bars in _unit_bars(out, types, rows):
            found = dict(zip(self.aim.leaves, back.pull(bars)))
            for p in self.columns:
                blocks[k, p][index] = found[p]
        return self._finished(rows, blocks)

    def _complex_rows(self, rows: list[int]) -> bool:
        types = [a.type for a in leaves_of(self.prepared.flat.result)]
        return any(_is_complex(types[k]) for k in rows)

    # -- both ----------------------------------------------------------------------------------
    def _block(self, y: Any, x: Any) -> Any:
        dtype = np.asarray(y).dtype
        return np.zeros(np.shape(y) + np.shape(x), dtype)

    def _finished(self, rows: list[int], blocks: dict[tuple[int, int], Any]) -> list[Any]:
        made = []
        types = [a.type for a in leaves_of(self.tree)]
        for t, key in zip(types, [(k, p) for k in rows for p in self.columns]):
            block = blocks[key]
            made.append(block if is_array(t) else converter(t)(block[()]))
        return made


def _unit_bars(
    out: Sequence[Any], types: Sequence[Any], rows: list[int]
) -> Iterator[tuple[int, tuple[int, ...], list[Any]]]:
    """Each element of the result, with the cotangents that select it."""
    zero = [zero_of(y, t) for y, t in zip(out, types)]
    for k in rows:
        bars = list(zero)
        if not is_array(types[k]):
            bars[k] = 1.0
            yield k, (), bars
            continue
        unit = bars[k]
        for index in np.ndindex(*np.shape(out[k])):
            unit[index] = 1
            yield k, index, bars
            unit[index] = 0


def _is_complex(t: Any) -> bool:
    return str(getattr(t, "dtype", t)).startswith("complex")
