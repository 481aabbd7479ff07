"""One call being resolved, and how its arguments meet the parameters of what is entered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import TypingError
from ..ir.core import Info
from ..rules import registry
from ..rules.types import NotKnown
from .lattice import Abstract, ATuple, constant
from .statements import DictOf


@dataclass
class Call:
    """``args`` are the positional arguments, ``kw`` the keyword ones; `source` of argument k is
    its position among the operands, of which the callee is the first."""

    spec: Any
    fn: Any  # abstract values all, looked at without ceremony
    args: tuple[Any, ...]
    kw: dict[str, Any]
    op: Any = None
    sweep: Any = None

    @property
    def all(self) -> tuple[Any, ...]:
        return (*self.args, *self.kw.values())

    @property
    def sources(self) -> tuple[int, ...]:
        """Operand positions of the positional arguments."""
        return tuple(range(1, 1 + len(self.args)))

    @property
    def kw_sources(self) -> dict[str, int]:
        return {k: 1 + len(self.args) + i for i, k in enumerate(self.kw)}


Source = Any
Given = tuple[Source, Abstract]


def bind(
    info: Info, name: str, args: list[Given], kw: dict[str, Given], defaults: dict[str, Given]
) -> list[Given]:
    """One (source, abstract value) for each parameter, in code-object order. TypingError as Python
    would raise TypeError."""
    npos = len(info.argnames) - info.kwonly - info.varargs - info.varkw
    names = info.argnames
    bound: dict[str, Given] = dict(zip(names[:npos], args))
    extra = args[npos:]
    if extra and not info.varargs:
        raise TypingError(f"{name}() takes {npos} positional arguments but {len(args)} were given")
    rest: dict[str, Given] = {}
    for key, given in kw.items():
        if key in names[info.posonly : npos + info.kwonly]:
            if key in bound:
                raise TypingError(f"{name}() got multiple values for argument {key!r}")
            bound[key] = given
        elif info.varkw:
            rest[key] = given
        else:
            raise TypingError(f"{name}() got an unexpected keyword argument {key!r}")
    for p in names[: npos + info.kwonly]:
        if p not in bound:
            if p not in defaults:
                raise TypingError(f"{name}() missing a required argument: {p!r}")
            bound[p] = defaults[p]
    ordered = [bound[p] for p in names[: npos + info.kwonly]]
    if info.varargs:
        ordered.append(_product(extra, None))
    if info.varkw:
        ordered.append(_product(list(rest.values()), DictOf(tuple(rest))))
    return ordered


def _product(parts: list[Given], cls: Any) -> Given:
    return tuple(s for s, _ in parts), ATuple(tuple(a for _, a in parts), cls)


def constant_given(value: Any) -> Given:
    a = constant(value)
    return a, a


def name_of(f: Any) -> str:
    return str(getattr(f, "__name__", f))


def body_of(f: Any, args: tuple[Any, ...], kw: dict[str, Any] | None = None) -> Any:
    """The body to enter for a call, None if there is none. TypingError if one depends on the value
    of an argument that is not known."""
    if not registry.has_body(f):
        return None
    try:
        return registry.body_for(f, args, kw)
    except (AttributeError, TypeError, ValueError, IndexError) as e:
        raise TypingError(f"{name_of(f)}({_shown(args, kw)}): {e}") from e
    except NotKnown as e:
        error = TypingError(
            f"{name_of(f)}({_shown(args, kw)}) {_depends(e.what, kw)}",
            hint="Write a constant, or make it an argument of the function (an int, not an array's "
            "element); where it is one of a few, branch and write each.",
        )
        error.about = e.what
        raise error from None


def _depends(what: Any, kw: dict[str, Any] | None) -> str:
    """The keyword whose value decides, if it is one."""
    named = next((k for k, v in (kw or {}).items() if v is what), None)
    return f"depends on {named or 'a number'}, which must be known when it is compiled"


def _shown(args: tuple[Any, ...], kw: dict[str, Any] | None) -> str:
    return ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in (kw or {}).items())])
