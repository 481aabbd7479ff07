"""``transform``: a function rewritten by the passes of a manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backend import lower
from ..frontend import lift
from ..ir.core import IR
from ..passes.manager import PassManager

UNTYPED = "untyped"
"""The stage that runs before types are inferred; all others run after."""


def transform(f: Callable[..., Any], *args: Any, passes: PassManager) -> Callable[..., Any]:
    """``f`` after the passes.

    Stage ``"untyped"`` sees what ``f`` lifts to. If ``passes`` holds any other stage, types are
    inferred from the example ``args``, and what is returned works on flat arguments: arrays and
    numbers, tuples taken apart, hidden arguments last; its results are a tuple.

    >>> manager = PassManager().add("fold", stage="typed").add("gradient", stage="ad")
    >>> from pullback.runtime.tape import Tape
    >>> transform(lambda x: x * x, 3.0, passes=manager)(Tape(), 3.0, 1.0)
    (9.0, 6.0)
    """
    ir = transformed(lift(f), args, passes)
    return lower(ir)


def transformed(ir: IR, args: tuple[Any, ...], passes: PassManager) -> IR:
    """The IR after the passes, from the IR of a function."""
    if any(s.name == UNTYPED for s in passes.stages):
        passes.run(ir, UNTYPED)
    later = [s.name for s in passes.stages if s.name != UNTYPED and s.passes]
    if not later:
        return ir
    from ..typing_ import abstract_of, flat

    typed = flat(ir, [abstract_of(a) for a in args]).ir
    typed.info.file, typed.info.line = ir.info.file, ir.info.line
    for stage in later:
        passes.run(typed, stage)
    return typed
