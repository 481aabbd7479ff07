"""Trees of arguments and results: their leaves, and values put together from leaves again.

The tree of a value is its abstract value (`typing_.lattice`): `ATuple` is a node, an `AVal` whose
constant is known is no leaf (it is that constant), any other `AVal` is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype

from ..ad.kinds import carries, is_active_array, is_array
from ..ad.kinds import is_scalar as is_active_scalar
from ..typing_ import ATuple, AVal
from ..typing_.statements import DictOf

Tree = AVal | ATuple
Path = tuple[Any, ...]


def leaves(tree: Tree) -> Iterator[AVal]:
    """The leaves in order."""
    for _, leaf in paths(tree):
        yield leaf


def paths(tree: Tree, at: Path = ()) -> Iterator[tuple[Path, AVal]]:
    """The leaves in order, each with the subscripts that lead to it."""
    if isinstance(tree, ATuple):
        steps = tree.cls.keys if isinstance(tree.cls, DictOf) else range(len(tree.elements))
        for step, element in zip(steps, tree.elements):
            yield from paths(element, (*at, step))
    elif not tree.known:
        yield at, tree


def count(tree: Tree) -> int:
    """How many leaves there are."""
    return sum(1 for _ in leaves(tree))


def carries_any(tree: Tree) -> bool:
    """Whether some leaf has a derivative."""
    return any(carries(leaf.type) for leaf in leaves(tree))


def build(tree: Tree, parts: Iterator[Any], constant: Callable[[AVal], Any] | None = None) -> Any:
    """A value of the tree's structure, whose leaves are taken from ``parts``; known constants are
    themselves, or what ``constant`` makes of them."""
    if isinstance(tree, ATuple):
        made = [build(e, parts, constant) for e in tree.elements]
        return assemble(tree, made)
    if tree.known:
        return tree.const if constant is None else constant(tree)
    return next(parts)


def assemble(tree: ATuple, made: list[Any]) -> Any:
    """A tuple, named tuple or dict of parts."""
    if tree.cls is None:
        return tuple(made)
    if isinstance(tree.cls, DictOf):
        return dict(zip(tree.cls.keys, made))
    if hasattr(tree.cls, "_make"):
        return tree.cls._make(made)
    return tree.cls(*made) if tree.cls in (slice, range) else tree.cls(made)


def nothing(_: AVal) -> None:
    """What stands in a gradient for something without derivative."""
    return None


def getter(found: list[Path]) -> Callable[[Any], tuple[Any, ...]]:
    """The function from a root value to the tuple of what is at the paths."""
    items = "".join("v" + "".join(f"[{s!r}]" for s in path) + ", " for path in found)
    return eval(f"lambda v: ({items})")


def spell(name: str, path: Path) -> str:
    """How a user writes the part of an argument at a path."""
    return name + "".join(f"[{s!r}]" for s in path)


# -- leaves ----------------------------------------------------------------------------------------
def kind_of(t: Any) -> str:
    """What a user calls a value of this type."""
    if isinstance(t, types.Array):
        dims = "0-d" if t.ndim == 0 else f"{t.ndim}-d"
        return f"{dims} array of {t.dtype}"
    return {types.float64: "float", types.int64: "int", types.boolean: "bool"}.get(t, str(t))


@cache
def layout_of(t: Any) -> tuple[np.dtype[Any], Any]:
    """The dtype and the memory order of an array beside one of type ``t``."""
    return np.dtype(as_dtype(t.dtype)), "F" if t.layout == "F" else "C"


def zeros_like(x: Any, t: Any) -> Any:
    """A fresh array of zeros beside ``x``: C order, F if ``x`` is F."""
    return np.zeros(x.shape, *layout_of(t))


def zero_of(x: Any, t: Any) -> Any:
    """The zero derivative of a leaf, None if it has none."""
    if is_active_array(t):
        return zeros_like(x, t)
    return CONVERT[t](0) if is_active_scalar(t) else None


def _identity(x: Any) -> Any:
    return x


#: from what compiled code returns to what a user gets, by type
CONVERT: dict[Any, Callable[[Any], Any]] = {
    types.float64: float,
    types.float32: np.float32,
    types.complex128: complex,
    types.complex64: np.complex64,
    types.int64: int,
    types.boolean: bool,
}


def converter(t: Any) -> Callable[[Any], Any]:
    """Makes a leaf of type ``t`` what users expect: Python numbers for the types they have."""
    if t in CONVERT:
        return CONVERT[t]
    if isinstance(t, types.Number):
        return as_dtype(t).type
    return _identity


__all__ = [
    "Path",
    "Tree",
    "assemble",
    "build",
    "carries",
    "carries_any",
    "converter",
    "count",
    "getter",
    "is_active_array",
    "is_active_scalar",
    "is_array",
    "kind_of",
    "layout_of",
    "leaves",
    "nothing",
    "paths",
    "spell",
    "zero_of",
    "zeros_like",
]
