"""What numbers and arrays depend on (for `sparsity`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Deps:
    """The inputs that a number depends on, and the pairs on which it depends nonlinearly."""

    inputs: frozenset[int]
    pairs: frozenset[tuple[int, int]]


class Untraceable(Exception):
    """Something that depends on the input in a way that is not followed."""


EMPTY = Deps(frozenset(), frozenset())


def same(d: Deps, shape: tuple[int, ...]) -> np.ndarray:
    return np.full(shape, d, object)


def empty(shape: tuple[int, ...]) -> np.ndarray:
    return same(EMPTY, shape)


def single(d: Deps) -> np.ndarray:
    return same(d, ())


def inputs(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape, object)
    for n, k in enumerate(np.ndindex(x.shape)):
        out[k] = Deps(frozenset((n,)), frozenset())
    return out


def union(ds: Any) -> Deps:
    """Of an array or several."""
    ds = list(ds.flat if isinstance(ds, np.ndarray) else ds)
    return Deps(
        frozenset().union(*(d.inputs for d in ds)), frozenset().union(*(d.pairs for d in ds))
    )


def join(a: Deps, b: Deps) -> Deps:
    if a is EMPTY:
        return b
    return a if b is EMPTY else Deps(a.inputs | b.inputs, a.pairs | b.pairs)


def bilinear(a: Deps, b: Deps) -> Deps:
    pairs = {(min(i, j), max(i, j)) for i in a.inputs for j in b.inputs}
    return Deps(a.inputs | b.inputs, a.pairs | b.pairs | pairs)


def nonlinear(a: Deps) -> Deps:
    return bilinear(a, a)


def quotient(a: Deps, b: Deps) -> Deps:
    return join(bilinear(a, b), nonlinear(b))


def nonlinear_in_both(a: Deps, b: Deps) -> Deps:
    return nonlinear(join(a, b))


def each(f: Any, *arrays: np.ndarray) -> np.ndarray:
    arrays = np.broadcast_arrays(*arrays, subok=True) if len(arrays) > 1 else list(arrays)
    out = np.empty(arrays[0].shape, object)
    for k in np.ndindex(out.shape):
        out[k] = f(*(a[k] for a in arrays))
    return out


def pattern_of(deps: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros((deps.size, n), bool)
    for row, d in zip(out, deps.flat):
        row[list(d.inputs)] = True
    return out


def union_of(given: Iterable[Any]) -> Deps:
    """Of arrays of `Deps`, and None for what depends on nothing."""
    total = EMPTY
    for d in given:
        if d is not None:
            total = join(total, union(d))
    return total


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of a number, an array, or nested lists; anything else has none."""
    return np.shape(x) if isinstance(x, (np.ndarray, np.generic, list, tuple)) else ()


# -- arrays ----------------------------------------------------------------------------------------
def root_of(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory, also behind a memoryview or the base of `as_strided`."""
    root, base = x, x.base
    while base is not None:
        if isinstance(base, np.ndarray):
            root = base
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return root


class Arrays:
    """The dependence of arrays: kept for the array that owns the memory, found for its views.
    ``decisions`` are arrays of booleans that the input decides."""

    def __init__(self) -> None:
        self._roots: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._decisions: dict[int, np.ndarray] = {}

    def of(self, x: np.ndarray) -> np.ndarray | None:
        """A view of the root's dependence; writing to it is writing to the root's."""
        root = root_of(x)
        found = self._roots.get(id(root))
        return None if found is None else _same_view(x, root, found[1])

    def set(self, x: np.ndarray, deps: Any) -> None:
        found = self.of(x)
        if found is None:
            root = root_of(x)
            if not (root.flags.c_contiguous or root.flags.f_contiguous):
                raise Untraceable("an array with gaps that owns its memory")
            self._roots[id(root)] = (root, empty((root.size,)))
            found = self.of(x)
        assert found is not None
        found[...] = deps

    def set_decision(self, x: np.ndarray) -> None:
        root = root_of(x)
        self._decisions[id(root)] = root

    def is_decision(self, x: Any) -> bool:
        return isinstance(x, np.ndarray) and id(root_of(x)) in self._decisions

    def is_view(self, x: np.ndarray, of: Iterable[Any]) -> bool:
        return any(isinstance(a, np.ndarray) and root_of(a) is root_of(x) for a in of)


def _same_view(x: np.ndarray, root: np.ndarray, deps: np.ndarray) -> np.ndarray:
    """The elements of ``deps`` (flat, in memory order of the root) that lie under ``x``."""
    item = root.itemsize
    if x.itemsize != item:
        raise Untraceable("a view with items of another size")
    start = (x.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // item
    strides = tuple(s // item * deps.itemsize for s in x.strides)
    return np.lib.stride_tricks.as_strided(deps[start:], x.shape, strides)
