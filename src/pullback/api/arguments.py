"""From a callable and a call to the values of its parameters, and from ``argnums`` to arguments.

A `Target` is what is behind a callable: the Python function or ``@njit`` dispatcher, and what is
bound already (the object of a method, the arguments of a partial). It has one value for each
parameter of the code object, in its order: positional ones, keyword-only ones, the tuple of
``*args``, the dict of ``**kwargs``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from ..errors import ArgnumsError, NotDifferentiable, NotLiftable, of_type
from ..ir.core import Loc
from ..rules import registry
from ..typing_ import ATuple
from ..typing_.access import python_function
from ..typing_.capture import check_method
from .tree import Path, Tree, carries, is_array, paths, spell

Argnums = int | str | tuple[int | str, ...]
Values = Sequence[Any]


@dataclass(frozen=True)
class Argument:
    """One argument of a call: its name, where it is among the values, and whether the caller gave
    it (rather than a default)."""

    name: str
    path: Path
    given: bool = True

    def of(self, values: Any) -> Any:
        return functools.reduce(operator.getitem, self.path, values)


class Target:
    """A function with some arguments bound. ``plain``: the number of arguments of a call that needs
    no binding, all positional; -1 if there is no such call."""

    def __init__(
        self, function: Any, prefix: tuple[Any, ...] = (), keywords: Mapping[str, Any] = {}
    ) -> None:
        self.function, self.prefix, self.keywords = function, prefix, dict(keywords)
        self.py = python_function(function)
        code = self.code = self.py.__code__
        self.name = self.py.__name__
        self.posonly = code.co_posonlyargcount
        self.npos, self.nkw = code.co_argcount, code.co_kwonlyargcount
        self.varargs = bool(code.co_flags & inspect.CO_VARARGS)
        self.varkw = bool(code.co_flags & inspect.CO_VARKEYWORDS)
        n = self.npos + self.nkw + self.varargs + self.varkw
        self.names: tuple[str, ...] = code.co_varnames[:n]
        bound = prefix or keywords or self.nkw or self.varargs or self.varkw
        self.plain = -1 if bound else self.npos
        options = getattr(function, "targetoptions", {})
        self.key = (code, id(self.py.__globals__), repr(sorted(options.items())))

    @property
    def loc(self) -> Loc:
        """Where the function is defined."""
        return Loc(self.code.co_filename, self.code.co_firstlineno, self.name)

    # -- binding -------------------------------------------------------------------------------
    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
        """The values, and which of them the caller gave. TypeError as Python would."""
        args = (*self.prefix, *args)
        kwargs = {**self.keywords, **kwargs}
        npos, named = self.npos, self.npos + self.nkw
        values: dict[str, Any] = dict(zip(self.names[:npos], args))
        extra = args[npos:]
        rest: dict[str, Any] = {}
        allowed = self.names[self.posonly : named]
        for k, v in kwargs.items():
            if k in allowed and k not in values:
                values[k] = v
            elif self.varkw and k not in allowed:
                rest[k] = v
            else:
                self._complain(args, kwargs)
        if extra and not self.varargs:
            self._complain(args, kwargs)
        given = tuple(p in values for p in self.names[:named])
        if not all(given):
            self._defaults(values, args, kwargs)
        bound = [values[p] for p in self.names[:named]]
        if self.varargs:
            bound.append(extra)
        if self.varkw:
            bound.append(rest)
        return tuple(bound), given

    def _defaults(self, values: dict[str, Any], args: Any, kwargs: Any) -> None:
        defaults = self.py.__defaults__ or ()
        known = dict(zip(self.names[self.npos - len(defaults) : self.npos], defaults))
        known.update(self.py.__kwdefaults__ or {})
        for p in self.names[: self.npos + self.nkw]:
            if p not in values:
                if p not in known:
                    self._complain(args, kwargs)
                values[p] = known[p]

    def _complain(self, args: Any, kwargs: Any) -> None:
        """Raise what Python raises for these arguments."""
        try:
            inspect.signature(self.py).bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{self.name}() {e}") from None
        raise TypeError(f"{self.name}() does not take these arguments")

    # -- arguments -----------------------------------------------------------------------------
    def arguments(self, values: Values, given: Sequence[bool]) -> list[Argument]:
        """The arguments that ``argnums`` counts: positional parameters that are not bound, then
        the extra ones."""
        first = len(self.prefix)
        found = [
            Argument(p, (i,), given[i])
            for i, p in enumerate(self.names[: self.npos])
            if i >= first and p not in self.keywords
        ]
        if self.varargs:
            at = self.npos + self.nkw
            name = self.names[at]
            start = max(0, first - self.npos)
            extra = range(start, len(values[at]))
            found += [Argument(f"{name}[{j - start}]", (at, j)) for j in extra]
        return found

    def keyword_arguments(self, values: Values, given: Sequence[bool]) -> list[Argument]:
        """The arguments that can only be named."""
        found = [
            Argument(p, (i,), given[i])
            for i, p in enumerate(self.names[: self.npos + self.nkw])
            if i >= self.npos or p in self.keywords
        ]
        if self.varkw:
            at = len(self.names) - 1
            found += [Argument(k, (at, k)) for k in values[at]]
        return found


def target_of(f: Any) -> Target | Opaque:
    """What is behind a callable. NotLiftable if it is none."""
    if isinstance(f, functools.partial):
        inner = target_of(f.func)
        return (
            inner.with_bound(f)
            if isinstance(inner, Opaque)
            else Target(inner.function, (*inner.prefix, *f.args), {**inner.keywords, **f.keywords})
        )
    if isinstance(f, MethodType):
        check_method(f)
        inner = target_of(f.__func__)
        assert isinstance(inner, Target)
        return Target(inner.function, (f.__self__, *inner.prefix), inner.keywords)
    if has_rule(f):
        return Opaque(f)
    if isinstance(python_function(f), FunctionType):
        return Target(f)
    if not callable(f):
        raise NotLiftable(
            f"{f!r:.60} is no function but an object of type {type(f).__name__}",
            hint="Pass the function first, its arguments to what comes back: pb.grad(f)(x).",
        )
    call = type(f).__call__
    if isinstance(python_function(call), FunctionType) and not isinstance(f, type):
        return Target(call, (f,))
    return Opaque(f)


def has_rule(f: Any) -> bool:
    """Whether what ``f`` does is known from elsewhere than its code."""
    if registry.scalar(f) is not None or registry.has_body(f) or isinstance(f, DUFunc):
        return True
    return str(getattr(f, "__module__", "")).split(".")[0] in ("numpy", "scipy")


class Opaque:
    """A callable without Python code of its own: a Python function that calls it stands for it, one
    for each shape of call."""

    def __init__(
        self, f: Any, args: tuple[Any, ...] = (), keywords: Mapping[str, Any] = {}
    ) -> None:
        self.f, self.args, self.keywords = f, args, dict(keywords)

    def with_bound(self, p: functools.partial[Any]) -> Opaque:
        return Opaque(self.f, (*self.args, *p.args), {**self.keywords, **p.keywords})

    def target(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Target:
        """The function to bind a call of this shape to."""
        names = tuple({**self.keywords, **kwargs})
        function = forwarding(self.f, len(self.args) + len(args), names)
        return Target(function, self.args, self.keywords)


def forwarding(f: Any, positional: int, keywords: tuple[str, ...]) -> Callable[..., Any]:
    """``def f(a, b, *, k): return f(a, b, k=k)`` with the parameter names of ``f`` if it tells."""
    try:
        return _forwarding(f, positional, keywords)
    except TypeError:  # not hashable
        return _forwarding.__wrapped__(f, positional, keywords)


@functools.lru_cache(maxsize=512)
def _forwarding(f: Any, positional: int, keywords: tuple[str, ...]) -> Callable[..., Any]:
    names = _positional_names(f, positional)
    takes = ", ".join([*names, *(["*", *keywords] if keywords else [])])
    gives = ", ".join([*names, *(f"{k}={k}" for k in keywords)])
    name = getattr(f, "__name__", "call")
    name = name if name.isidentifier() else "call"
    scope = {"callee_": f, "__name__": "forwarding"}
    source = f"def {name}({takes}):\n    return callee_({gives})\n"
    exec(compile(source, f"<call of {name}>", "exec"), scope)
    return scope[name]


def _positional_names(f: Any, n: int) -> list[str]:
    try:
        params = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        params = []
    names = [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"x{i}" for i in range(n)]


# -- argnums ---------------------------------------------------------------------------------------
@dataclass
class Selection:
    """The arguments that are differentiated. ``single``: one was asked for, rather than a tuple."""

    arguments: list[Argument]
    single: bool


def select(target: Target, argnums: Argnums, values: Values, given: Sequence[bool]) -> Selection:
    """The arguments that ``argnums`` names. ArgnumsError if it names none."""
    single = not isinstance(argnums, tuple)
    wanted = (argnums,) if single else argnums
    by_number = target.arguments(values, given)
    by_name = {a.name: a for a in (*by_number, *target.keyword_arguments(values, given))}
    found = [_one(target, w, by_number, by_name) for w in wanted]  # type: ignore[arg-type,union-attr]
    if len({a.path for a in found}) < len(found):
        raise ArgnumsError(f"argnums={argnums!r} names an argument twice", loc=target.loc)
    return Selection(found, single)


def _one(
    target: Target, wanted: int | str, by_number: list[Argument], by_name: dict[str, Argument]
) -> Argument:
    if isinstance(wanted, str):
        if wanted in by_name:
            return by_name[wanted]
        raise ArgnumsError(
            f"{target.name}() has no argument {wanted!r}",
            loc=target.loc,
            hint=f"Its arguments are {_listed(list(by_name))}.",
        )
    if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)):
        raise ArgnumsError(
            f"argnums holds {wanted!r}", hint="Say an int, an argument's name, or a tuple of them."
        )
    counted = by_number if wanted >= 0 else [a for a in by_number if a.given]
    if -len(counted) <= wanted < len(counted):
        return counted[wanted]
    raise ArgnumsError(
        f"argnums={wanted}, but this call of {target.name}() has {len(counted)} positional "
        f"argument{'s' * (len(counted) != 1)}",
        loc=target.loc,
        hint="Positions begin at 0; -1 is the last. Keyword-only arguments go by name.",
    )


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def subtree(trees: Sequence[Tree], path: Path) -> Tree:
    """The tree of an argument, given those of all parameters."""
    tree: Any = trees[path[0]]
    for step in path[1:]:
        keys = getattr(tree.cls, "keys", None)
        tree = tree.elements[keys.index(step) if keys else step]
    return tree


def check_differentiable(argument: Argument, tree: Tree, value: Any, loc: Any) -> None:
    """NotDifferentiable unless some leaf of the argument has a derivative."""
    found = list(paths(tree))
    if any(carries(leaf.type) for _, leaf in found):
        return
    what, hint = of_type(value), "Select another argument by argnums."
    if isinstance(tree, ATuple):
        what = "a tuple without a float in it"
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        hint = "Pass its fields, as arguments or in a named tuple."
    elif found and is_array(tree.type):
        what, hint = f"an array of {tree.type.dtype}", "Pass x.astype(float)."
    elif isinstance(value, (bool, np.bool_)):
        hint = f"Pass {float(value)}, or select another argument by argnums."
    elif isinstance(value, (int, np.integer)):
        what, hint = of_type(value), f"Pass {value}.0: integers have no derivative."
    raise NotDifferentiable(
        f"argument {argument.name!r} is {what}", loc=loc, variable=argument.name, hint=hint
    )


def names_of(target: Target, trees: Sequence[Tree]) -> list[str]:
    """What the leaves of all parameters are called."""
    return [spell(name, path) for name, tree in zip(target.names, trees) for path, _ in paths(tree)]


class Call(NamedTuple):
    """A call whose arguments are bound. ``given``: which parameters the caller gave;
    ``positional``: how many arguments were given by position."""

    target: Target
    values: tuple[Any, ...]
    given: tuple[bool, ...]
    positional: int
