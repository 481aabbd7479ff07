"""Passes by name: those of this package, and those that installed packages offer.

A package offers passes under the entry-point group ``pullback.passes``. None of them runs, or is
even imported, until a manager is told its name.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

GROUP = "pullback.passes"

_OWN = {
    "simplify_cfg": "passes.simplify_cfg",
    "fold": "passes.fold",
    "cse": "passes.cse",
    "dce": "passes.dce",
    "copy_prop": "passes.copy_prop",
    "licm": "passes.licm",
    "lcssa": "passes.lcssa",
    "rotate": "passes.rotate",
    "shapes": "passes.shapes",
    "bounds": "passes.bounds",
    "mem2reg": "passes.mem2reg",
    "gradient": "ad.passes",
    "pushforward": "ad.passes",
}
"""Name of a pass -> the module that defines it."""


class Named(NamedTuple):
    name: str
    run: Callable[..., Any]
    origin: str  # the package that it comes from


def find(name: str) -> Named:
    """The pass of that name; this package's own come first. KeyError if there is none, with the
    names that there are."""
    package = __name__.partition(".")[0]
    if name in _OWN:
        return Named(name, getattr(import_module(f"{package}.{_OWN[name]}"), name), package)
    offered = _offered()
    if name not in offered:
        raise KeyError(f"no pass {name!r}; there are {', '.join(available())}")
    point = offered[name]
    return Named(name, point.load(), origin(point))


def available() -> dict[str, str]:
    """The names of passes, and which package each comes from."""
    package = __name__.partition(".")[0]
    return {**{n: origin(p) for n, p in _offered().items()}, **dict.fromkeys(_OWN, package)}


def origin(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]


def _offered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
