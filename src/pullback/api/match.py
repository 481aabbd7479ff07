"""Cotangents and tangents are checked against the values that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from ..errors import CotangentMismatch
from ..typing_ import ATuple
from .tree import (
    Tree,
    carries_any,
    is_active_array,
    is_active_scalar,
    kind_of,
    leaves,
    spell,
)


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
    name: str,
    optional: bool = False,
) -> list[Any]:
    """The leaves of a cotangent or tangent, checked against those of the value: a number or array
    each, None where the value has no derivative. ``optional``: None stands for zero too.

    CotangentMismatch, saying where, if structure, shape or dtype differ."""
    parts: list[Any] = []
    _walk(tree, given, name, parts, optional)
    found = []
    for (at, x), t, shape in zip(parts, wanted, shapes):
        found.append(_leaf(x, t, shape, at, optional))
    return found


def _walk(tree: Tree, x: Any, at: str, out: list[Any], optional: bool) -> None:
    if isinstance(tree, ATuple):
        if x is None and (optional or not carries_any(tree)):
            out += [(at, None) for _ in leaves(tree)]
            return
        if isinstance(x, dict):
            x = tuple(x.values())
        if not isinstance(x, tuple) or len(x) != len(tree.elements):
            raise CotangentMismatch(
                f"{at} is {_word(x)}, its value is a tuple of {len(tree.elements)}",
                hint=f"Pass a tuple of {len(tree.elements)}.",
            )
        for i, (e, part) in enumerate(zip(tree.elements, x)):
            _walk(e, part, spell(at, (i,)), out, optional)
    elif not tree.known:
        out.append((at, x))


def _leaf(x: Any, t: Any, shape: Any, at: str, optional: bool) -> Any:
    if is_active_array(t):
        return _array_leaf(x, t, shape, at, optional)
    if not is_active_scalar(t):
        return None
    if x is None and optional:
        return None
    numbers = (int, float, np.floating, np.integer)
    if isinstance(t, types.Complex):
        numbers = (*numbers, complex, np.complexfloating)
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, bool) or not isinstance(x, numbers):
        raise CotangentMismatch(f"{at} is {_word(x)}, its value is a {kind_of(t)}")
    return complex(x) if isinstance(t, types.Complex) else float(x)  # type: ignore[arg-type]


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
