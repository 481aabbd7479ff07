"""One line on the terminal that says what is being compiled, if that takes more than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DELAY = 1.0

_depth = threading.local()


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Show ``compiling {what}`` on stderr while the block runs, from its second second on. Only on
    a terminal; what is compiled inside of it shows nothing of its own."""
    stream = sys.stderr
    if getattr(_depth, "inside", False) or not _is_terminal(stream):
        yield
        return
    line = f"pullback: compiling {what} …"
    shown = threading.Event()

    def show() -> None:
        shown.set()
        stream.write(f"\r{line}")
        stream.flush()

    timer = threading.Timer(DELAY, show)
    timer.daemon = True
    timer.start()
    _depth.inside = True
    try:
        yield
    finally:
        _depth.inside = False
        timer.cancel()
        timer.join()
        if shown.is_set():
            stream.write("\r\x1b[K")
            stream.flush()


def _is_terminal(stream: object) -> bool:
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
