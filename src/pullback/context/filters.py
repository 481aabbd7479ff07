"""Which functions are entered: the user's, and what is opted in.

The standard library, installed packages (NumPy and SciPy among them) and this package are plain
unless ``recurse_into`` names them. Where ``recurse_into`` and ``exclude`` both match, the longer
name wins, and ``exclude`` of equal ones.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = tuple(
    {sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_INSTALLED = ("site-packages", "dist-packages")


def name_of(x: Any) -> str:
    """The dotted name of a module, function or class; a string is one already."""
    if isinstance(x, str):
        return x
    if isinstance(x, ModuleType):
        return x.__name__
    x = getattr(x, "__func__", x)
    return f"{x.__module__}.{x.__qualname__}"


def place_of(f: FunctionType) -> str:
    """The dotted name of a function."""
    module = f.__module__ or f.__globals__.get("__name__") or "?"
    return f"{module}.{f.__qualname__}"


def defined_in(f: FunctionType) -> str:
    """The same where ``f`` was written: what a decorator makes bears the name of what it wraps."""
    return f"{f.__globals__.get('__name__', '?')}.{f.__code__.co_qualname}"


class Filter:
    """Made of the class attributes ``recurse_into`` and ``exclude``: modules, functions, classes,
    or their dotted names; each covers what is inside."""

    def __init__(self, recurse_into: Iterable[Any], exclude: Iterable[Any]) -> None:
        self.into = [name_of(x) for x in _several(recurse_into)]
        self.out = [name_of(x) for x in _several(exclude)]

    def admits(self, f: FunctionType) -> bool:
        places = {place_of(f), defined_in(f)}
        into, out = (max(_longest(x, place) for place in places) for x in (self.into, self.out))
        if into or out:
            return into > out
        return not is_library(f)


def _several(xs: Any) -> Iterable[Any]:
    if isinstance(xs, (str, ModuleType, type, FunctionType, MethodType)):
        return (xs,)
    return xs


def _longest(names: list[str], place: str) -> int:
    """The length of the longest name that is ``place`` or holds it."""
    return max((len(n) for n in names if place == n or place.startswith(n + ".")), default=0)


def is_library(f: FunctionType) -> bool:
    """Whether a function belongs to the standard library, an installed package or this one."""
    file = f.__code__.co_filename
    if file.startswith("<"):  # made by exec: it belongs to the module whose globals it has
        module = str(f.__globals__.get("__name__", ""))
        if file.startswith("<frozen") or module.partition(".")[0] in sys.stdlib_module_names:
            return module != "__main__"
        file = str(f.__globals__.get("__file__") or "")
    return _is_library_file(file)


@lru_cache(maxsize=4096)
def _is_library_file(file: str) -> bool:
    if file.startswith(_PACKAGE + "/") or any(part in file for part in _INSTALLED):
        return True
    return file.startswith(tuple(p + "/" for p in _LIBRARIES))
