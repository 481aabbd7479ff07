"""The hooks of the contexts of a stack, as contextual code calls them.

An exception in a hook is a fault of the hook: it becomes `HookFailed`, which names the hook and the
function called. An error of this package passes as it is, so that a context can stop a run.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import HookFailed, PullbackError
from .filters import name_of
from .frames import here

if TYPE_CHECKING:
    from .context import Context

NONE: dict[str, Any] = dict.fromkeys(("prehook", "posthook", "errorhook"))
"""The hooks of `Context` itself, which do nothing."""


class Hooks:
    """``prehook`` is None if no context of the stack (innermost first) has one, else calls them
    all; likewise the others, from the outermost inwards."""

    def __init__(self, contexts: Sequence[Context]) -> None:
        self._contexts = contexts
        self._has = {name: [c for c in contexts if overrides(c, name)] for name in NONE}
        self.prehook = self._chain("prehook", 1)
        self.posthook = self._chain("posthook", -1)
        self.errorhook = self._chain("errorhook", -1)

    def __bool__(self) -> bool:
        return any(self._has.values())

    def _chain(self, name: str, step: int) -> Any:
        chosen = self._has[name][::step]
        if not chosen:
            return Missing()
        at = 0 if name == "prehook" else 1
        hooks = [(getattr(c, name), type(c).__name__) for c in chosen]

        def run(*args: Any, **kw: Any) -> None:
            for hook, owner in hooks:
                try:
                    hook(*args, **kw)
                except PullbackError:
                    raise
                except Exception as e:
                    raise failure(f"{owner}.{name}", args[at], e) from e

        return run

    def make(self, kind: str, name: str | None) -> Any:
        if kind == "hooks":
            return getattr(self, name or "")
        assert kind == "spread hooks"
        return self._spread(name or "")

    def guard(self, globals: dict[str, Any], spread: bool) -> Any:
        """What tells the errorhooks of what a call raises: a function with the globals of the
        user's module, for those who look at the globals of the frame that called them; for those
        who look at the frame itself, it is left out of the count; `warnings` and `logging` take it
        for one of the import system, which they leave out."""
        errorhook, getframe, warn, passed = self.errorhook, sys._getframe, warnings.warn, _passed

        def guarded(target: Any, g: Any, /, *args: Any, **kw: Any) -> Any:
            if g is getframe:
                args = (passed(getframe(), (args[0] if args else 0) + 1) - 1,)
            elif g is warn and args[2:]:
                args = (*args[:2], passed(getframe(), args[2]), *args[3:])
            elif g is warn:
                kw["stacklevel"] = passed(getframe(), kw.get("stacklevel", 1))
            try:
                return target(*args, **kw)
            except BaseException as e:
                errorhook(e, g, *args, **kw)
                raise

        def guarded_spread(target: Any, g: Any, args: Any, kw: Any = None) -> Any:
            try:
                return target(*args, **(kw or {}))
            except BaseException as e:
                errorhook(e, g, *(args if type(args) is tuple else ()), **(kw or {}))
                raise

        f = guarded_spread if spread else guarded
        code = f.__code__.replace(co_filename=_UNSEEN)
        return FunctionType(code, globals, f.__name__, f.__defaults__, f.__closure__)

    def _spread(self, name: str) -> Any:
        hook = getattr(self, name)
        if name == "prehook":  # what is no tuple here cannot be spread: the call will say so
            return lambda g, args, kw=None: hook(
                g, *(args if type(args) is tuple else ()), **(kw or {})
            )
        return lambda out, g, args, kw=None: hook(out, g, *args, **(kw or {}))


_UNSEEN = f"{__file__}/importlib/_bootstrap"


def _passed(guard: Any, n: int) -> int:
    """The number, from a guard on, of the frame that without guards is number ``n``, at least 1."""
    frame, passed = guard, 1
    while n > 0 and frame is not None:
        frame, passed = frame.f_back, passed + 1
        n -= frame is None or frame.f_code.co_filename != _UNSEEN
    return passed


class Missing:
    """A hook that no context has."""

    def __bool__(self) -> bool:
        return False

    def __call__(self, *args: Any, **kw: Any) -> None:
        pass


def overrides(ctx: Context, name: str) -> bool:
    own = getattr(type(ctx), name) is not NONE[name]
    return own or name in getattr(ctx, "__dict__", ())


def failure(hook: str, g: Any, e: BaseException) -> HookFailed:
    try:
        called = name_of(g)
    except AttributeError:
        called = repr(type(g).__name__)
    return HookFailed(
        f"{hook} raised {type(e).__name__}: {e}, at a call of {called}",
        loc=here(),
        hint="A hook watches; raise a PullbackError in it to stop the run.",
    )
