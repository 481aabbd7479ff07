"""What an object leads to: whether a callable or a container that is handed to foreign code could
bring along a number that the code then computes with, unseen (for `sparsity`)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from ..context import Context
from ..filters import is_library

_MOST = 20_000
"""Objects looked at before the answer is yes."""

_LEAVES = (str, bytes, int, float, complex, np.generic, range, slice, type(None))
_ELSEWHERE = (ModuleType, CodeType, FrameType, Context, np.ufunc)
"""What leads everywhere, or to what a run itself keeps."""


def reaches(x: Any, found: Callable[[Any], bool]) -> bool:
    """Whether ``found`` is true of an object that ``x`` leads to, ``x`` included."""
    work, seen = [x], {id(x): x}
    while work:
        y = work.pop()
        if found(y) or len(seen) > _MOST:
            return True
        for z in _led_to(y):
            if id(z) not in seen:
                seen[id(z)] = z
                work.append(z)
    return False


def _led_to(x: Any) -> Iterator[Any]:
    if isinstance(x, (*_LEAVES, *_ELSEWHERE)) or (isinstance(x, np.ndarray) and x.dtype != object):
        return
    if isinstance(x, FunctionType):
        yield from _of_function(x)
    elif isinstance(x, type):
        if any(isinstance(v, FunctionType) and not is_library(v) for v in vars(x).values()):
            yield from vars(x).values()
    elif isinstance(x, MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, partial):
        yield from (x.func, x.args, x.keywords)
    elif isinstance(x, BuiltinFunctionType):
        yield x.__self__
    elif isinstance(x, np.ndarray):
        yield from x.flat
    else:
        yield from gc.get_referents(x)


def _of_function(f: FunctionType) -> Iterator[Any]:
    """What it captured, its defaults, and the globals that it names; what is in a library's globals
    is the library's."""
    yield from (c.cell_contents for c in f.__closure__ or () if not _is_empty(c))
    yield from f.__defaults__ or ()
    yield from (f.__kwdefaults__ or {}).values()
    if not is_library(f):
        yield from (f.__globals__[n] for n in _names(f.__code__) if n in f.__globals__)
    yield from vars(f).values()


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False
