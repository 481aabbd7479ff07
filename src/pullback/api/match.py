"""Cotangents and tangents are checked against the values that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numba import types

from ..errors import CotangentMismatch, HasPlace, of_type
from ..typing_ import ATuple, AVal
from ..typing_.lists import ListArray
from ..typing_.statements import DictOf
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
        if isinstance(t, ATuple) and t.cls is ListArray:
            return f"list of {word(t.elements[0])}"
        if isinstance(t, ATuple) and isinstance(t.cls, DictOf):
            parts = ", ".join(f"{k!r}: {word(e)}" for k, e in zip(t.cls.keys, t.elements))
            return f"{{{parts}}}"
        if isinstance(t, ATuple) and t.cls is list:
            return f"[{', '.join(map(word, t.elements))}]"
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
    loc: HasPlace | None = None,
) -> list[Any]:
    """The leaves of a cotangent or tangent, checked against those of the value: a number or array
    each, None where the value has no derivative. ``optional``: None stands for zero too; ``loc``:
    the place of the function that is differentiated.

    CotangentMismatch, saying where, if structure, shape or dtype differ."""
    parts: list[Any] = []
    try:
        _walk(tree, given, name, parts, optional)
        return [_leaf(x, t, s, at, optional) for (at, x), t, s in zip(parts, wanted, shapes)]
    except CotangentMismatch as e:
        raise CotangentMismatch(e.what, loc=loc, hint=e.hint) from None


def _walk(tree: Tree, x: Any, at: str, out: list[Any], optional: bool) -> None:
    if isinstance(tree, ATuple):
        if x is None and (optional or not carries_any(tree)):
            out += [(at, None) for _ in leaves(tree)]
            return
        for path, e, part in _parts(tree, x, at):
            _walk(e, part, spell(at, path), out, optional)
    elif not tree.known:
        out.append((at, x))


def _parts(tree: ATuple, x: Any, at: str) -> Iterator[tuple[Any, Any, Any]]:
    """The parts of ``x`` with what leads to them and their trees; it must be
    a container like the value."""
    cls = tree.cls
    if cls is ListArray:
        yield from _numbers(tree, x, at)
        return
    keys = cls.keys if isinstance(cls, DictOf) else tuple(range(len(tree.elements)))
    if isinstance(cls, DictOf):
        fits = isinstance(x, dict) and set(x) == set(keys)
        want = f"a dict of {', '.join(map(repr, keys))}"
    else:
        fits = isinstance(x, list if cls is list else tuple) or type(x) is tuple
        fits = fits and len(x) == len(keys)
        want = f"a {'list' if cls is list else 'tuple'} of {len(keys)}"
    if not fits:
        raise CotangentMismatch(f"{at} is {_word(x)}, its value is {want}", hint=f"Pass {want}.")
    for key, e in zip(keys, tree.elements):
        yield (key,), e, x[key]


def _numbers(tree: ATuple, x: Any, at: str) -> Iterator[tuple[Any, Any, Any]]:
    """A list of numbers, which is kept in an array."""
    (e,) = tree.elements
    if not isinstance(e, AVal) or not is_active_array(e.type):
        yield (0,), e, x
        return
    try:
        made = np.array(x, str(e.type.dtype)) if isinstance(x, (list, tuple)) else None
    except (TypeError, ValueError):
        made = None
    if made is None:
        raise CotangentMismatch(
            f"{at} is {_word(x)}, its value is a list of numbers", hint="Pass a list of numbers."
        )
    yield (), e, made


def _leaf(x: Any, t: Any, shape: Any, at: str, optional: bool) -> Any:
    if is_active_array(t):
        return _array_leaf(x, t, shape, at, optional)
    if not is_active_scalar(t):
        if optional and _moves(x):
            raise CotangentMismatch(
                f"{at} is not zero, and its value is a {kind_of(t)}, which has no derivative",
                hint="Pass None as the tangent, or a float as the value.",
            )
        return None
    if x is None and optional:
        return None
    numbers = (int, float, np.floating, np.integer)
    if isinstance(t, types.Complex):
        numbers = (*numbers, complex, np.complexfloating)
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, bool) or not isinstance(x, numbers):
        raise CotangentMismatch(
            f"{at} is {_word(x)}, its value is a {kind_of(t)}", hint=f"Pass a {kind_of(t)}."
        )
    return complex(x) if isinstance(t, types.Complex) else float(x)  # type: ignore[arg-type]


def _moves(x: Any) -> bool:
    """Whether a tangent is a number other than zero, or has one."""
    numbers = (int, float, complex, np.generic, np.ndarray)
    return isinstance(x, numbers) and np.asarray(x).dtype.kind in "iufc" and bool(np.any(x))


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
        raise CotangentMismatch(
            f"{at} has shape {x.shape}, its value {shape}", hint="Pass an array of that shape."
        )
    if x.dtype != np.dtype(str(t.dtype)):
        raise CotangentMismatch(
            f"{at} has dtype {x.dtype}, its value {t.dtype}",
            hint=f"Convert it with .astype(np.{t.dtype}).",
        )
    return np.asarray(x, order="F" if t.layout == "F" else "C" if t.layout == "C" else None)


def _word(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape}"
    if isinstance(x, (tuple, list)):
        return f"a {'list' if isinstance(x, list) else 'tuple'} of {len(x)}"
    return "None" if x is None else of_type(x)
