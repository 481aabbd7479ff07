"""What Numba says about single calls, remembered. Nothing here may compile: only builtin signatures
(operators on numbers, `math`, ufuncs) and, in `leaf`, callables known to have no Python body."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from numba.core import errors, types
from numba.core.registry import cpu_target
from numba.core.typing.templates import _OverloadFunctionTemplate, _OverloadMethodTemplate

from ..runtime.collector import keep


@functools.cache
def context() -> Any:
    """Numba's typing context for the CPU, loaded once."""
    ctx = cpu_target.typing_context
    cpu_target.target_context.refresh()  # loads what implements NumPy
    ctx.refresh()
    keep()
    return ctx


_memo: dict[Any, Any] = {}


def scalar_result(callee: Any, args: tuple[Any, ...]) -> Any:
    """The type that Numba gives a builtin function of numbers, or None if it knows none."""
    key = (callee, args)
    if key not in _memo:
        sig = _resolve(callee, args)
        _memo[key] = None if sig is None else types.unliteral(sig.return_type)
    return _memo[key]


def _resolve(callee: Any, args: tuple[Any, ...]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return context().resolve_function_type(function_type(callee), args, {})
    except (
        errors.NumbaError,
        TypeError,
        ValueError,
        AttributeError,
        NotImplementedError,
        KeyError,
        AssertionError,
    ):
        return None


def leaf(callee: Any, args: tuple[Any, ...]) -> Any:
    """The signature of a call that Numba knows, or None. This may compile an overload."""
    key = ("leaf", callee, args)
    if key not in _memo:
        _memo[key] = _resolve(callee, args)
    return _memo[key]


def function_type(callee: Any) -> Any:
    """Numba's type of a callable. NumbaError if it has none."""
    return context().resolve_value_type(callee)


def overload_body(
    callee: Any, args: tuple[Any, ...], kws: dict[str, Any]
) -> Callable[..., Any] | None:
    """The Python function that an @overload gives for these types, uncompiled, the same at each
    call; None if none does."""
    key = ("body", callee, args, tuple(kws.items()))
    if key not in _memo:
        _memo[key] = _overload_body(callee, args, kws)
    return _memo[key]


def _overload_body(
    callee: Any, args: tuple[Any, ...], kws: dict[str, Any]
) -> Callable[..., Any] | None:
    try:
        fnty = function_type(callee)
    except (errors.NumbaError, ValueError):
        return None
    for template in getattr(fnty, "templates", ()):
        if issubclass(template, _OverloadFunctionTemplate):
            found = _overload(template, args, kws)
            if found is not None:
                return found
    return None


def has_overload(callee: Any) -> bool:
    """Whether an @overload implements ``callee``."""
    try:
        templates = getattr(function_type(callee), "templates", ())
    except (errors.NumbaError, ValueError):
        return False
    return any(issubclass(t, _OverloadFunctionTemplate) for t in templates)


def overload_method_body(
    this: Any, name: str, args: tuple[Any, ...], kws: dict[str, Any]
) -> Callable[..., Any] | None:
    """The same for a method of ``this``: a Python function that takes the object first."""
    try:
        bound = context().resolve_getattr(this, name)
    except (errors.NumbaError, TypeError, AttributeError):
        return None
    template = getattr(bound, "template", None)
    if template is None or not issubclass(template, _OverloadMethodTemplate):
        return None
    return _overload(template, (this, *args), kws)


def _overload(template: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    from numba.core.target_extension import target_override

    unliteral = tuple(types.unliteral(a) for a in args)
    for attempt in (args, unliteral) if unliteral != args else (args,):
        try:
            with target_override("cpu"):
                found = template._overload_func(*attempt, **kws)
        except (errors.NumbaError, TypeError, AttributeError, ValueError, NotImplementedError):
            continue
        found = found[1] if isinstance(found, tuple) else found
        if callable(found):  # some say False
            return found
    return None
