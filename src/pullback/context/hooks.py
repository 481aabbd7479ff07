"""The hooks of the contexts of a stack, as contextual code calls them.

An exception in a hook is a fault of the hook: it becomes `HookFailed`, which names the hook and the
function called. An error of this package passes as it is, so that a context can stop a run.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..errors import HookFailed, PullbackError
from . import frames
from .filters import name_of

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
        user's module, for those who look at the globals of the frame that called them."""
        errorhook, warn, level = self.errorhook, warnings.warn, frames.plain_level

        def guarded(target: Any, g: Any, /, *args: Any, **kw: Any) -> Any:
            if g is warn:
                args = (*args[:2], *map(level, args[2:3]), *args[3:])
                if not args[2:]:
                    kw["stacklevel"] = level(kw.get("stacklevel", 1))
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
        return FunctionType(f.__code__, globals, f.__name__, f.__defaults__, f.__closure__)

    def _spread(self, name: str) -> Any:
        hook = getattr(self, name)
        if name == "prehook":  # what is no tuple here cannot be spread: the call will say so
            return lambda g, args, kw=None: hook(
                g, *(args if type(args) is tuple else ()), **(kw or {})
            )
        return lambda out, g, args, kw=None: hook(out, g, *args, **(kw or {}))


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
        loc=frames.here(),
        hint="A hook watches; raise a PullbackError in it to stop the run.",
    )
