"""Python's garbage collector waits while something is compiled.

A compilation makes many objects and few cycles, and beside Numba's registries one full collection
takes as long as compiling a small function.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0  # how many blocks are running, in all threads
_was_on = False


@contextmanager
def paused() -> Iterator[None]:
    """No automatic collection while the block runs; it is on again afterwards if it was before."""
    global _inside, _was_on
    with _lock:
        if _inside == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_on:
                gc.enable()


def keep() -> None:
    """What there is now has come to stay: count it as old, without looking at it. After an import
    the collector would go through all of it, to find nothing."""
    if gc.get_freeze_count() == 0:  # else somebody has frozen something (CPython 3.12 itself does)
        gc.freeze()
        gc.unfreeze()
