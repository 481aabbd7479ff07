"""The user's frames: those of this package between them are taken out of tracebacks, and passed
over to say where something was."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

from ..ir.core import Loc

_HERE = str(Path(__file__).parent) + "/"


def clean(exc: BaseException) -> None:
    """Take the frames of this package out of the traceback of ``exc``, of its cause and context,
    all but the first, which is the call that entered the context."""
    seen: set[int] = set()
    work: list[BaseException | None] = [exc]
    while work:
        e = work.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        work += [e.__cause__, e.__context__]
        if e.__traceback__ is not None:
            _clean(e.__traceback__)


def _clean(tb: TracebackType) -> None:
    while tb.tb_next is not None:
        if tb.tb_next.tb_frame.f_code.co_filename.startswith(_HERE):
            tb.tb_next = tb.tb_next.tb_next
        else:
            tb = tb.tb_next


def here() -> Loc:
    """The innermost line that is not in this package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_HERE):
        if frame.f_back is None:
            break
        frame = frame.f_back
    code = frame.f_code
    return Loc(code.co_filename, frame.f_lineno, code.co_qualname)
