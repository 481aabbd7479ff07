"""The table of the language's operations, which the modules of handlers fill, and what they share.

A handler is ``(resolver, call) -> Action``, or None if the call is not its affair (a number, an
array with a body, ...).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from ..errors import TypingError
from ..ir.core import Const
from .actions import Action, Rearrange
from .calls import Call
from .lattice import Abstract, ATuple

Handler = Callable[[Any, Call], "Action | None"]
LANGUAGE: dict[Any, Handler] = {}


def handles(*callees: Any) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for f in callees:
            LANGUAGE[f] = handler
        return handler

    return register


def constant_value(a: Abstract, f: Any, i: int) -> Any:
    """The Python value of a known abstract value. TypingError if it is not known."""
    if isinstance(a, ATuple) and a.is_tuple:
        return tuple(constant_value(e, f, i) for e in a.elements)
    if not a.known:
        raise TypingError(f"operand {i + 1} of {f.__name__} must be known at typing")
    return a.const


def with_constants(forms: tuple[Any, ...], statics: dict[int, Any]) -> tuple[Any, ...]:
    if not statics:
        return forms
    return tuple(Const(statics[i]) if i in statics else x for i, x in enumerate(forms))


def evaluated(f: Any, *args: Any) -> Any:
    """``f(*args)`` at typing time, its failure a TypingError."""
    try:
        return f(*args)
    except Exception as e:
        raise TypingError(f"{type(e).__name__}: {e}") from None


def part_action(x: ATuple, i: int, k: int = 1) -> Rearrange:
    """Part ``i`` of operand ``k``."""
    return Rearrange(x.elements[i], lambda forms: forms[k][i])


def only_first(c: Call) -> Call:
    return Call(c.spec, c.fn, c.args[:1], {}, c.op, c.sweep)


def is_complex(t: Any) -> bool:
    return isinstance(t, types.Complex)
