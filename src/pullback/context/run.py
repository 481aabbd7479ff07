"""The small things of a run: what a call was found to be, who runs, and since when."""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .tables import Compiled

if TYPE_CHECKING:
    from .context import Context
    from .room import Room


class Entry(NamedTuple):
    """A function as it is entered: ``compiled`` None if it is called plainly."""

    code: weakref.ref[CodeType]
    compiled: Compiled | None
    cells: tuple[CellType, ...]


class Found(NamedTuple):
    """What to call. ``stable``: whatever the arguments, so that a site may remember it, provided
    that (``look``) none of them is a callback."""

    target: Any
    stable: bool = False
    look: bool = False
    entry: Entry | None = None  # of a function that is entered
    init: Any = None  # of a class that only calls its ``__init__``


class Place(NamedTuple):
    """A context of the stack, and how many levels of calls it still enters (None: any)."""

    ctx: Context
    level: int | None


class Everything:
    def __contains__(self, name: object) -> bool:
        return True


ENTRIES: set[Any] = set()
"""The methods of contexts that enter them."""

RESUME: contextvars.ContextVar[Mapping[int, Room]] = contextvars.ContextVar(
    "rooms",
    default=MappingProxyType({}),
)
"""While a primitive runs: the room it was called from, by the id of its context."""


class Run:
    """Counts the runs that are going on; when the last one ends, `forget` is called."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self.active, self.forget, self.lock = 0, forget, threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.active += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.active -= 1
            if not self.active:
                self.forget()


def signature_of(args: Sequence[Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    """The types of positional arguments, then (name, type) of keywords."""
    n = len(args) - len(names)
    return (*map(type, args[:n]), *((k, type(x)) for k, x in zip(names, args[n:])))
