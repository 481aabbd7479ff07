"""The Python function around a combined kernel, written out for the types of its arguments: it
makes the shadows, calls the kernel, and puts the gradient together without a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..typing_ import ATuple, AVal
from .aim import Aim
from .flats import Prepared
from .invoke import Results
from .tree import Tree, assemble, converter, is_active_array, is_array, layout_of, zero_of


class Wrapper:
    """Source text in the making. ``x{p}`` are the entry parameters, ``s{k}`` the shadows, ``out``
    what the kernel returned; ``scope`` holds everything else that is named."""

    def __init__(
        self, call: Any, prepared: Prepared, aim: Aim, built: Any, results: Results
    ) -> None:
        self.call, self.prepared, self.aim = call, prepared, aim
        self.built, self.results = built, results
        self.scope: dict[str, Any] = {"call": call, "zeros": np.zeros}
        self.shadows = [f"s{k} = {self.zeros(p)}; " for k, p in enumerate(built.shadowed)]
        seeds = [self.name(seed_of(built.results[k])) for k in built.seeded]
        self.given = [f"x{p}" for p in range(len(prepared.types))]
        self.passed = ", ".join([*self.given, *(f"s{k}" for k in range(len(self.shadows))), *seeds])

    def name(self, x: Any) -> str:
        """A name for an object."""
        name = f"o{len(self.scope)}"
        self.scope[name] = x
        return name

    def function(self, returned: str) -> Callable[..., Any]:
        """``(leaves, values) -> returned``."""
        return self.define(
            "def run(leaves, values):\n"
            f"    {unpacked(self.given, 'leaves')}{''.join(self.shadows)}\n"
            f"    out = call({self.passed})\n"
            f"    return {returned}\n"
        )

    def define(self, source: str) -> Callable[..., Any]:
        """The function ``run`` that the source defines."""
        exec(source, self.scope)
        return self.scope.pop("run")

    # -- expressions ---------------------------------------------------------------------------
    def value(self) -> str:
        """The value of the function."""
        tree, results = self.results.tree, self.results
        if isinstance(tree, AVal) and not tree.known and not results.views:
            return self.converted(tree.type, "out[0]")
        return f"{self.name(results)}(out, leaves)"

    def gradient(self) -> str:
        """The gradient, in the structure of the arguments."""
        parts = iter([self.part(p) for p in self.aim.leaves])
        made = [self.structure(tree, parts) for tree in self.aim.trees]
        return made[0] if self.aim.single else f"({''.join(f'{m}, ' for m in made)})"

    def structure(self, tree: Tree, parts: Iterator[str]) -> str:
        if not isinstance(tree, ATuple):
            return "None" if tree.known else next(parts)
        inner = "".join(f"{self.structure(e, parts)}, " for e in tree.elements)
        if tree.cls is None:
            return f"({inner})"
        return f"{self.name(assemble)}({self.name(tree)}, [{inner}])"

    def part(self, p: int) -> str:
        """The gradient by the entry parameter ``p``."""
        t, built = self.prepared.types[p], self.built
        if p in built.shadowed:
            return f"s{built.shadowed.index(p)}"
        if p in built.scalars:
            return self.converted(t, f"out[{self.results.n + built.scalars.index(p)}]")
        return self.zeros(p) if is_active_array(t) else self.name(zero_of(None, t))

    def zeros(self, p: int) -> str:
        """An array of zeros beside the entry parameter ``p``: C order, F if that is F."""
        dtype, order = layout_of(self.prepared.types[p])
        order = "" if order == "C" else f", {order!r}"
        return f"zeros(x{p}.shape, {self.name(dtype)}{order})"

    def converted(self, t: Any, x: str) -> str:
        return x if is_array(t) else f"{self.name(converter(t))}({x})"


def unpacked(names: list[str], whole: str) -> str:
    """A statement that takes a tuple apart."""
    return f"{''.join(f'{x}, ' for x in names)} = {whole}; " if names else ""


def seed_of(t: Any) -> Any:
    """One, as the cotangent of a real result."""
    return np.ones((), str(t.dtype)) if is_array(t) else 1.0


def part_of(p: int, t: Any, shadowed: list[int], scalars: list[int]) -> Any:
    """A function that finds the cotangent of the entry parameter ``p`` among (entry parameters,
    shadows, what the reverse half returned)."""
    if p in shadowed:
        k = shadowed.index(p)
        return lambda leaves, shadows, out: shadows[k]
    if p in scalars:
        k, convert = scalars.index(p), converter(t)
        return lambda leaves, shadows, out: convert(out[k])
    return lambda leaves, shadows, out: zero_of(leaves[p], t)
