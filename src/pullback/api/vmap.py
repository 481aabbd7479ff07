"""``vmap``: a function of one item, over axes of arrays.

Functions of the kind that `context.ready.spmd` can run are run once for all lanes, with masks where
lanes part at a branch or leave a loop; any other callable is called for each lane. The result is
the same, to the last bit: that of a map.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from ..context.ready.spmd import Lanes, Same, lane_values, refuse, vector
from ..errors import LanesMismatch, LiftError, NotLiftable, of_type
from ..frontend import lift
from ..ir.core import IR
from .no_lanes import empty_result, example

Axes = Any
"""An axis, None, or a tuple, list or dict of these."""

_PYTHON = (np.dtype(float), np.dtype(int), np.dtype(bool), np.dtype(complex))
"""What Python has numbers of: items of 1-D arrays of these are given to ``f`` as such."""


def vmap(f: Callable[..., Any] | None = None, in_axes: Axes = 0, out_axes: Axes = 0) -> Any:
    """``f`` mapped over an axis of its arguments: ``vmap(f)(x)[k]`` is ``f(x[k])``.

    ``in_axes``: the axis of each argument that has the lanes, None for what is the same in all, or
    one for all of them; keyword arguments are mapped over axis 0 if they are arrays. An argument
    may be a tuple, list or dict of arrays: its entry of ``in_axes`` is an axis for all, or a
    container of the same kind. ``out_axes``: where the lanes are in the result, with a tuple for a
    tuple of results; None if the result is the same in all lanes. ``f`` may have branches and loops
    that depend on the lane, and return early. It gets Python numbers where the items are float64,
    int64, bool or complex128 scalars.

    Over no lanes, a function of numbers or arrays to numbers gives empty arrays. LanesMismatch
    (PB507) if it returns anything else then, if arguments have different numbers of lanes, or lanes
    give results of different shapes; what ``f`` raises in a lane is raised.

    >>> def steps(n):
    ...     count = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         count += 1
    ...     return count
    >>> vmap(steps)(np.array([1, 2, 3, 27])).tolist()
    [0, 1, 7, 111]
    >>> vmap(np.dot, in_axes=(1, None))(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([31., 42.])
    """
    if f is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes)
    return Vmap(f, in_axes, out_axes)


class Vmap:
    """What `vmap` returns."""

    def __init__(self, f: Callable[..., Any], in_axes: Axes, out_axes: Axes) -> None:
        self.f, self.in_axes, self.out_axes = f, in_axes, out_axes
        self._lifted: tuple[Any, IR | None] = (None, None)
        functools.update_wrapper(self, f, updated=())

    def __call__(self, *args: Any, **kw: Any) -> Any:
        lanes = [split(x, a) for x, a in zip(args, _for_each(self.in_axes, len(args), "in_axes"))]
        named = {k: split(x, 0 if _has_axes(x) else None) for k, x in kw.items()}
        n = count([*lanes, *named.values()])
        if not n:
            return self._without_lanes(args, named)
        return joined(self._results(lanes, named, n), self.out_axes)

    def _without_lanes(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The result where there is not a single lane to run."""
        axes = _for_each(self.in_axes, len(args), "in_axes")
        simple = type(self.f) is FunctionType and not named and self.out_axes in (0, -1)
        if not simple or any(isinstance(x, (tuple, list, dict)) for x in args):
            raise LanesMismatch("there are no lanes: what the result would be is not known")
        return empty_result(self.f, [x if a is None else example(x, a) for x, a in zip(args, axes)])

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        return functools.partial(Vmap(self.f, self._with_self(), self.out_axes), instance)

    def _with_self(self) -> Axes:
        """The axes with one for the object that a method is bound to."""
        parameters = [p for p in inspect.signature(self.f).parameters.values() if p.kind <= 1]
        axes = self.in_axes
        return (None, *(axes if isinstance(axes, tuple) else [axes] * (len(parameters) - 1)))

    def __repr__(self) -> str:
        return f"vmap({self.f!r}, {self.in_axes!r}, {self.out_axes!r})"

    def __reduce__(self) -> Any:
        return (Vmap, (self.f, self.in_axes, self.out_axes))

    def _results(self, lanes: list[Any], named: dict[str, Any], n: int) -> list[Any]:
        """The results of all lanes."""
        ir = self._ir()
        given = None if ir is None else arranged(ir, self.f, lanes, named)
        if ir is not None and given is not None:
            found: list[Any] = Lanes(ir, n).run(given).tolist()
            return found
        columns = [items(x, n) for x in lanes]
        keywords = {k: items(x, n) for k, x in named.items()}
        return [
            self.f(*(c[k] for c in columns), **{name: c[k] for name, c in keywords.items()})
            for k in range(n)
        ]

    def _ir(self) -> IR | None:
        """The IR of ``f`` if it can be run over lanes, lifted once for its code."""
        f = self.f
        if type(f) is not FunctionType:
            return None
        code, ir = self._lifted
        if code is not f.__code__:
            self._lifted = (f.__code__, _lifted(f))
            ir = self._lifted[1]
        return ir


def _lifted(f: FunctionType) -> IR | None:
    try:
        ir = lift(f)
        refuse(ir)
    except (LiftError, NotLiftable):
        return None
    info = ir.info
    return None if info.varargs or info.varkw else ir


def arranged(ir: IR, f: Any, lanes: list[Any], named: dict[str, Any]) -> list[Any] | None:
    """The arguments in the order of the function's parameters; None if it takes a call of ``f`` to
    say what is wrong with them."""
    try:
        bound = inspect.signature(f, follow_wrapped=False).bind(*lanes, **named)
    except TypeError:
        return None
    code = f.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    bound.apply_defaults()
    given = [bound.arguments[name] for name in names]
    return [x if isinstance(x, (Same, np.ndarray)) else Same(x) for x in _wrapped(given, names, f)]


def _wrapped(given: list[Any], names: tuple[str, ...], f: Any) -> list[Any]:
    """Defaults are the same in all lanes, also where they are arrays."""
    known = {id(x) for x in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())}
    return [Same(x) if id(x) in known else x for x in given]


# -- arguments -------------------------------------------------------------------------------------
def _for_each(axes: Axes, n: int, what: str) -> list[Any]:
    if not isinstance(axes, tuple):
        return [axes] * n
    if len(axes) != n:
        raise LanesMismatch(
            f"{what}={axes!r} has {len(axes)} entries for {n}",
            hint="Give one entry for each, or one int or None for all.",
        )
    return list(axes)


def _has_axes(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.ndim > 0


def split(x: Any, axis: Any) -> Any:
    """The lanes of an argument: a vector of items, or `Same`."""
    if axis is None:
        return Same(x)
    if isinstance(x, (tuple, list, dict)):
        return _split_container(x, axis)
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
        raise LanesMismatch(f"{axis!r} is no axis", hint="in_axes has ints and None.")
    if not _has_axes(x):
        raise LanesMismatch(
            f"{of_type(x)} has no axis to map over",
            hint="Say in_axes=None for what is the same in all lanes, or pass an array.",
        )
    if not -x.ndim <= axis < x.ndim:
        raise LanesMismatch(f"axis {axis} of an array of shape {x.shape}")
    moved = np.moveaxis(x, axis, 0)
    if moved.ndim == 1 and moved.dtype not in _PYTHON:
        return vector(list(moved))
    return lane_values(moved)


def _split_container(x: Any, axes: Axes) -> Any:
    """The lanes of a container: containers of the items of what it holds."""
    if isinstance(axes, (tuple, list, dict)):
        if not _of_one_form(x, axes):
            raise LanesMismatch(
                f"in_axes={axes!r} does not fit a {type(x).__name__} of {len(x)}",
                hint="Give a container of the same kind, or one int or None for all.",
            )
        each = [axes[k] for k in x] if isinstance(x, dict) else list(axes)
    else:
        each = [axes] * len(x)
    parts = [split(v, a) for v, a in zip(x.values() if isinstance(x, dict) else x, each)]
    if all(isinstance(p, Same) for p in parts):
        return Same(x)
    n = count(parts)
    return vector([_alike(x, row) for row in zip(*(items(p, n) for p in parts))])


def _of_one_form(x: Any, axes: Any) -> bool:
    if isinstance(x, dict) or isinstance(axes, dict):
        return isinstance(x, dict) and isinstance(axes, dict) and axes.keys() == x.keys()
    return len(axes) == len(x)


def _alike(x: Any, values: Iterable[Any]) -> Any:
    """A container like ``x`` with other values."""
    if isinstance(x, dict):
        return dict(zip(x, values))
    return type(x)(*values) if hasattr(x, "_fields") else type(x)(values)


def count(lanes: list[Any]) -> int:
    """The number of lanes, which all arguments that have any agree on."""
    sizes = sorted({len(x) for x in lanes if not isinstance(x, Same)})
    if not sizes:
        raise LanesMismatch("no argument has lanes", hint="One of in_axes must be an int.")
    if len(sizes) > 1:
        raise LanesMismatch(f"the arguments have {' and '.join(map(str, sizes))} lanes")
    return sizes[0]


def items(x: Any, n: int) -> list[Any]:
    return [x.value] * n if isinstance(x, Same) else list(x.tolist())


# -- results ---------------------------------------------------------------------------------------
def joined(results: list[Any], axes: Axes) -> Any:
    """The results of the lanes as one: arrays with an axis more, in tuples, lists and dicts as the
    lanes' are."""
    first = results[0]
    kind = type(first)
    contains = isinstance(first, (tuple, list, dict))
    if contains and any(type(x) is not kind or len(x) != len(first) for x in results):
        raise _unlike(results)
    if isinstance(first, dict):
        if any(x.keys() != first.keys() for x in results):
            raise _unlike(results)
        return {k: joined([x[k] for x in results], axes) for k in first}
    if isinstance(first, (tuple, list)):
        parts = zip(*results)
        each = _for_each(axes, len(first), "out_axes") if kind is not list else [axes] * len(first)
        return _alike(first, [joined(list(part), a) for part, a in zip(parts, each)])
    if isinstance(axes, tuple):
        raise LanesMismatch(f"out_axes={axes!r}, and the result is no tuple")
    if axes is None:
        return _common(results)
    return stacked(results, axes)


def stacked(results: list[Any], axis: int) -> Any:
    if all(x is None for x in results):
        return None
    shapes = {np.shape(x) for x in results}
    if len(shapes) > 1 or any(x is None or isinstance(x, (tuple, list, dict)) for x in results):
        raise _unlike(results)
    out = np.array(results)
    if not isinstance(axis, (int, np.integer)) or not -out.ndim <= axis < out.ndim:
        raise LanesMismatch(f"out_axes={axis!r} for results of shape {out.shape[1:]}")
    return np.moveaxis(out, 0, axis)


def _common(results: list[Any]) -> Any:
    first = results[0]
    for x in results:
        if not (x is first or np.array_equal(x, first)):
            raise LanesMismatch("out_axes=None, and the results of the lanes are different")
    return first


def _unlike(results: list[Any]) -> LanesMismatch:
    found = sorted({_described(x) for x in results})
    return LanesMismatch(f"the lanes have results of different kinds: {', '.join(found)}")


def _described(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"array of shape {x.shape}"
    if isinstance(x, dict):
        return f"dict of {sorted(map(str, x))}"
    size = f" of {len(x)}" if isinstance(x, (tuple, list)) else ""
    return f"{type(x).__name__}{size}"


__all__ = ["Vmap", "vmap"]
