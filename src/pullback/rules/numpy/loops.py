"""Loop nests over arrays of given ranks, as source text: one element at a time, with broadcasting.

Dimensions and indices are plain integers and the elements are read and written by the primitives,
unchecked: what is in range is known here. Where no axis is stretched the nest indexes by its loop
variables alone, so that the inner loop vectorises; else each index is multiplied by 0 or 1. Axes
that are known to have length 1 when the program is compiled (``x[:, None]``) do not count as
stretched: their index is 0 either way.
A result is allocated once, before the two nests part, so that it has one root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...runtime import prims
from ..source import Writer, function

NAMES = ("empty", "zeros", "dim", "load", "store", "index", "select", "cast", "real", "imag")
NAMES += ("overlap_copy", "unit", "likely", "plus")
SCOPE = {name: getattr(prims, name) for name in NAMES}


def make(name: str, w: Writer, **scope: Any) -> Callable[..., Any]:
    """The function that was written; it sees the primitives and ``scope``. A function with the name
    of what it calls is renamed."""
    scope = {**SCOPE, **scope}
    source, own = str(w), f"{name}_" if name in scope else name
    return function(own, source.replace(f"def {name}(", f"def {own}(", 1), **scope)


def axes(ndim: int, order: str) -> list[int]:
    """The axes from the outermost loop to the innermost for memory order "C" or "F"."""
    return list(range(ndim)) if order == "C" else list(range(ndim))[::-1]


def loops(ndim: int, order: str = "C", i: str = "i", n: str = "n") -> list[tuple[str, str]]:
    return [(f"{i}{k}", f"{n}{k}") for k in axes(ndim, order)]


def subscript(ndim: int, i: str = "i", start: int = 0) -> str:
    """The tail of an argument list: ``, i0, i1``."""
    return "".join(f", {i}{k}" for k in range(start, start + ndim))


def shape_text(x: str, ndim: int) -> str:
    """The part of an f-string that shows the shape of ``x`` as NumPy does: ``(2,3)``, ``(4,)``."""
    lengths = [f"{{dim({x}, {k})}}" for k in range(ndim)]
    return f"({','.join(lengths)}{',' * (ndim == 1)})"


def mismatch(*operands: tuple[str, int]) -> str:
    """The statement that these operands, each with its rank, do not fit together."""
    shapes = "".join(f"{shape_text(x, n)} " for x, n in operands)
    return f'raise ValueError(f"operands could not be broadcast together with shapes {shapes}")'


def unassignable(value: tuple[str, int], target: tuple[str, int]) -> str:
    """The statement that the value does not fit into the target."""
    source, into = shape_text(*value), shape_text(*target)
    text = f"could not broadcast input array from shape {source} into shape {into}"
    return f'raise ValueError(f"{text}")'


def dims(w: Writer, x: str, ndim: int, n: str = "n") -> None:
    """Bind the lengths of x's axes to ``n0``, ``n1``, ..."""
    for k in range(ndim):
        w(f"{n}{k} = dim({x}, {k})")


@dataclass(frozen=True)
class Elementwise:
    """A function of numbers, applied to each element.

    ``expr`` has a place ``{k}`` for operand k. ``ndims[k]`` is the rank of operand k, 0 for a
    number. ``casts[k]`` is the dtype that operand k is cast to first, or None. ``into`` is the
    operand that is written to, or None for a fresh result of ``dtype``. ``reads`` are the operands
    of which elements are read, all by default."""

    name: str
    expr: str
    parameters: tuple[str, ...]
    ndims: tuple[int, ...]
    dtype: Any = None
    order: str = "C"
    casts: tuple[Any, ...] = ()
    into: int | None = None
    reads: tuple[int, ...] | None = None
    scope: tuple[tuple[str, Any], ...] = ()
    signature: str = ""
    zero_d: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[int, ...]:
        return self.reads if self.reads is not None else tuple(range(len(self.ndims)))

    @property
    def rank(self) -> int:
        return max((self.ndims[k] for k in self.operands), default=0)

    def build(self) -> Callable[..., Any]:
        w = Writer()
        with w(f"def {self.name}({self.signature or ', '.join(self.parameters)}):"):
            self._scalars(w)
            if self.into is None and self.rank == 0:
                w(f"return {self._element(False)}")
            else:
                self._arrays(w)
        casts = {f"D{k}": d for k, d in enumerate(self.casts) if d is not None}
        return make(self.name, w, DTYPE=self.dtype, **casts, **dict(self.scope))

    def _cast(self, k: int, x: str) -> str:
        return f"cast(D{k}, {x})" if k < len(self.casts) and self.casts[k] is not None else x

    def _scalars(self, w: Writer) -> None:
        """Numbers are read (from arrays without axes) and cast once, before the loops."""
        for k in self.operands:
            x = self.parameters[k]
            if self.ndims[k] == 0:
                value = self._cast(k, f"load({x})" if k in self.zero_d else x)
                if value != x:
                    w(f"{x} = {value}")

    def _element(self, stretched: bool) -> str:
        parts = []
        for k, x in enumerate(self.parameters):
            if self.ndims[k] == 0 or k not in self.operands:
                parts.append(x)
                continue
            idx = ", 0" * (self.ndims[k] - self._full_rank())
            for j, axis in self._trailing(k):
                shared = k != self.into and axis in self._shared() and self._stretches()
                scale = f" * {'s' if stretched else 't'}{k}_{j}" if shared else ""
                idx += f", i{axis}{scale}"
            parts.append(self._cast(k, f"load({x}{idx})"))
        return self.expr.format(*parts)

    def _full_rank(self) -> int:
        return self.rank if self.into is None else self.ndims[self.into]

    def _trailing(self, k: int) -> list[tuple[int, int]]:
        """The axes of operand k, each with the axis of the result that it is aligned with."""
        shift = self._full_rank() - self.ndims[k]
        return [(j, j + shift) for j in range(self.ndims[k]) if j + shift >= 0]

    def _shared(self) -> set[int]:
        """The axes of the result whose length several arrays have a say in."""
        arrays = [k for k in self.operands if self.ndims[k] and k != self.into]
        aligned = [axis for k in arrays for _, axis in self._trailing(k)]
        return {axis for axis in aligned if self.into is not None or aligned.count(axis) > 1}

    def _sources(self) -> list[int]:
        return [k for k in self.operands if self.ndims[k] and k != self.into]

    def _stretches(self) -> bool:
        """Whether several arrays have a say in the shape."""
        return len(self._sources()) > (self.into is None)

    def _arrays(self, w: Writer) -> None:
        ndim, sources, stretch = self._full_rank(), self._sources(), self._stretches()
        target = "out" if self.into is None else self.parameters[self.into]
        if self.into is None:
            self._result_dims(w, sources, ndim)
        else:
            dims(w, target, ndim)
            for k in sources:
                x = self.parameters[k]
                w(f"{x} = overlap_copy({x}, {target})")
                self._leading_ones(w, k)
        if stretch:
            self._check(w, sources)
        if self.into is None:
            sizes = "".join(f", n{j}" for j in range(ndim))
            w(f'out = empty(DTYPE, "{self.order}"{sizes})')
        if stretch:
            with w("if same:"):
                self._nest(w, target, ndim, False)
            with w("else:"):
                for k in sources:
                    for j, axis in self._trailing(k):
                        if axis in self._shared():
                            w(f"s{k}_{j} = select(dim({self.parameters[k]}, {j}) == 1, 0, 1)")
                self._nest(w, target, ndim, True)
        else:
            self._nest(w, target, ndim, False)
        w(f"return {target}")

    def _nest(self, w: Writer, target: str, ndim: int, stretched: bool) -> None:
        with w.nest(loops(ndim, self.order)):
            w(f"store({target}, {self._element(stretched)}{subscript(ndim)})")

    def _result_dims(self, w: Writer, sources: Sequence[int], ndim: int) -> None:
        for axis in range(ndim):
            first = True
            for k in sources:
                for j, aligned in self._trailing(k):
                    if aligned == axis:
                        d = f"dim({self.parameters[k]}, {j})"
                        w(
                            f"n{axis} = {d}"
                            if first
                            else f"n{axis} = select(n{axis} == 1, {d}, n{axis})"
                        )
                        first = False

    def _check(self, w: Writer, sources: Sequence[int]) -> None:
        shared = [(k, j, n) for k in sources for j, n in self._trailing(k) if n in self._shared()]
        for k, j, _ in shared:
            w(f"u{k}_{j} = unit(dim({self.parameters[k]}, {j}))")
            w(f"t{k}_{j} = select(u{k}_{j}, 0, 1)")
        pairs = [(f"dim({self.parameters[k]}, {j})", f"n{axis}") for k, j, axis in shared]
        fit = [f"(({d} == {n}) | u{k}_{j})" for (d, n), (k, j, _) in zip(pairs, shared)]
        w(f"same = likely({' & '.join(fit) or 'True'})")
        with w("if not same:"):
            fits = " & ".join(f"(({d} == {n}) | ({d} == 1))" for d, n in pairs)
            with w(f"if not ({fits or 'True'}):"):
                w(self._mismatch())

    def _leading_ones(self, w: Writer, k: int) -> None:
        """Axes that an operand has beyond those of what is assigned to must have length 1."""
        for j in range(self.ndims[k] - self._full_rank()):
            with w(f"if dim({self.parameters[k]}, {j}) != 1:"):
                w(self._mismatch())

    def _mismatch(self) -> str:
        ranked = [(x, n) for x, n in zip(self.parameters, self.ndims)]
        sources = [ranked[k] for k in self.operands]
        if self.into is None:
            return mismatch(*sources)
        if self.into in self.operands:
            return mismatch(*sources, ranked[self.into])
        return unassignable(sources[0], ranked[self.into])
