"""Frames of this package between the user's: tracebacks, warnings and those who count frames get
along without them.

Python's ``warnings`` leave the import system out when they count to ``stacklevel``: frames whose
file name has both ``importlib`` and ``_bootstrap`` in it. So do ours then, without any cost.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from ..ir.core import Loc

_HERE = str(Path(__file__).parent) + "/"
_LEFT_OUT = "importlib._bootstrap"


def left_out(file: str) -> str:
    """The file name of code whose frames do not count."""
    return str(Path(file).with_name(_LEFT_OUT) / Path(file).name)


def leave_out(module: Mapping[str, Any]) -> None:
    """Have the frames of all functions of a module not count."""
    file = module["__file__"]
    linecache.lazycache(left_out(file), dict(module))
    for f in _functions(module, module["__name__"]):
        if f.__code__.co_filename == file:
            f.__code__ = _renamed(f.__code__, left_out(file))


def _functions(names: Mapping[Any, Any], module: str) -> Iterator[FunctionType]:
    """Those that have names, are methods, or stand in a table."""
    for x in [x for name, x in names.items() if name != "__builtins__"]:
        if isinstance(x, dict):
            yield from _functions(x, module)
        elif isinstance(x, type) and x.__module__ == module:
            yield from _functions(vars(x), module)
        while x is not None:
            if isinstance(x, FunctionType):
                yield x
            x = getattr(x, "__wrapped__", None)


def _renamed(code: CodeType, file: str) -> CodeType:
    inner = (_renamed(c, file) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=file, co_consts=tuple(inner))


def _counts(frame: FrameType) -> bool:
    return _LEFT_OUT not in frame.f_code.co_filename


def _is_users(frame: FrameType) -> bool:
    return _counts(frame) and not frame.f_code.co_filename.startswith(_HERE)


def _stack() -> Iterator[FrameType]:
    """The frames from the one that called the function that asks."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def get_frame(depth: int = 0, /) -> FrameType:
    """`sys._getframe` where only frames that count do."""
    for frame in filter(_counts, _stack()):
        depth -= 1
        if depth < 0:
            return frame
    raise ValueError("call stack is not deep enough")


def plain_level(level: int) -> int:
    """What a frame that does not count has to tell `warnings.warn`, which takes all frames into
    account for it, to mean the ``level``-th of those that do."""
    taken = 0
    for frame in _stack():
        taken += 1
        level -= _counts(frame)
        if level <= 0 and _counts(frame):
            break
    return taken


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
        if not _is_users(tb.tb_next.tb_frame):
            tb.tb_next = tb.tb_next.tb_next
        else:
            tb = tb.tb_next


def here() -> Loc:
    """The innermost line that is not in this package."""
    frame = next(filter(_is_users, _stack()))
    code = frame.f_code
    return Loc(code.co_filename, frame.f_lineno, code.co_qualname)
