"""What a caller can see of a function: results, exceptions with all that hangs on them, and how
generators and coroutines answer."""

from __future__ import annotations

import sys
from typing import Any


def seen(error: BaseException | None, file: str, depth: int = 6) -> Any:
    """Type, text, cause, context and the lines of ``file`` in the traceback."""
    if error is None or depth == 0:
        return None
    lines, tb = [], error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename == file:
            lines.append((tb.tb_frame.f_code.co_name, tb.tb_lineno))
        tb = tb.tb_next
    if isinstance(error, UnboundLocalError) and sys.version_info < (3, 12):
        lines = []  # CPython 3.11 may show the line before that of the read
    parts = [seen(e, file, depth - 1) for e in getattr(error, "exceptions", ())]
    return (
        type(error), str(error), lines, error.__suppress_context__, parts,
        seen(error.__cause__, file, depth - 1), seen(error.__context__, file, depth - 1),
    )  # fmt: skip


def drive(f: Any, make: Any, script: tuple[Any, ...]) -> list[Any]:
    """Call ``f`` on ``make()``, and if that gives a generator or coroutine, do what ``script``
    says to it: send a value, throw an exception, or ``close``."""
    file, args = f.__code__.co_filename, make()
    out: list[Any] = []
    try:
        started = f(*args)
    except Exception as error:
        return [("raised", seen(error, file)), repr(args[0])]
    if hasattr(started, "__aiter__"):
        started = collect(started, out)
    if not hasattr(started, "send"):
        return [("returned", repr(started)), repr(args[0])]
    try:
        out.append(repr(started.send(None)))
        for step in script:
            out.append(repr(act(started, step)))
        while True:
            out.append(repr(started.send(None)))
    except StopIteration as stop:
        out.append(("stopped", repr(stop.value)))
    except Exception as error:
        out.append(("raised", seen(error, file)))
    del started
    return [*out, repr(args[0])]


def act(g: Any, step: Any) -> Any:
    if step == "close":
        return g.close()
    if isinstance(step, type) and issubclass(step, BaseException):
        return g.throw(step("thrown"))
    return g.send(step)


async def collect(agen: Any, out: list[Any]) -> None:
    """Run an asynchronous generator to its end, throwing into it once."""
    out.append(repr(await agen.asend(None)))
    try:
        out.append(repr(await agen.athrow(ValueError("thrown"))))
    except ValueError as error:
        out.append(repr(error))
    async for item in agen:
        out.append(repr(item))
