"""``jacobian_pattern`` and ``hessian_pattern``: which derivatives can be other than zero.

Each number carries the set of inputs it depends on, and the set of pairs of inputs that it depends
on together, nonlinearly (`dependence`). Where the input decides a branch both sides are run, by
running the function again with the other decision, and the patterns are united. What cannot be
followed is taken to depend on everything: a pattern may have a place too many, never one too few.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import of_type
from ..context import Context, function_of
from ..filters import is_library
from ..protocols import has_special_methods
from . import dependence as dep
from . import functions, transfers
from .dependence import EMPTY, Deps, Untraceable
from .functions import in_
from .reach import reaches

_MOST_RUNS = 256
_MOST_DECISIONS = 64
_HERE = str(Path(__file__).parents[1]) + "/"


class Failed(np.linalg.LinAlgError, OverflowError, ZeroDivisionError, FloatingPointError):
    """What a function raises where another input makes it fail."""


class Sparsity(Context):
    """One run. ``decisions`` are forced one after the other, then taken as they come; ``taken`` is
    what was decided, ``others`` the decisions that lead to the sides not taken. ``lost``: something
    could not be followed, whatever became of the exception that says so."""

    def __init__(self, decisions: tuple[bool, ...] = (), **filters: Any) -> None:
        super().__init__(**filters)
        self.decisions = decisions
        self.taken: list[bool] = []
        self.others: list[tuple[bool, ...]] = []
        self.lost = False
        self.arrays = dep.Arrays()
        self.numbers: dict[int, tuple[Any, Deps]] = {}

    # -- dependence of values ------------------------------------------------------------------
    def of(self, x: Any) -> Any:
        """An array of `Deps` in the shape of ``x``, None if it depends on nothing."""
        if isinstance(x, np.ndarray):
            return self.arrays.of(x)
        if isinstance(x, (list, tuple)):
            return self._of_items(x)
        found = self.numbers.get(id(x))
        return None if found is None else dep.single(found[1])

    def _of_items(self, xs: Any) -> Any:
        parts = [self.of(x) for x in xs]
        if all(p is None for p in parts):
            return None
        parts = [dep.empty(dep.shape_of(x)) if p is None else p for p, x in zip(parts, xs)]
        if len({p.shape for p in parts}) > 1:  # not an array: all that is in it
            parts = [dep.single(dep.union(p)) for p in parts]
        return np.stack(parts)

    def follows(self, x: Any) -> bool:
        """Whether ``x`` itself, or an item of a list, is something that depends on the input."""
        return self.arrays.is_decision(x) or self.of(x) is not None

    def hides(self, x: Any) -> bool:
        """Whether ``x`` leads to such a thing in another way: it captured it, or holds it."""
        if isinstance(x, (list, tuple)):
            return any(map(self.hides, x))
        if isinstance(x, (float, str, np.generic)) or (
            isinstance(x, np.ndarray) and x.dtype != object
        ):
            return False
        return reaches(x, self._is_known)

    def _is_known(self, x: Any) -> bool:
        return id(x) in self.numbers or (isinstance(x, np.ndarray) and self.follows(x))

    def mark(self, x: Any, deps: Any) -> Any:
        """``x``, which depends as ``deps`` says."""
        if isinstance(x, np.ndarray):
            self.arrays.set(x, deps)
            return x
        if type(x) is float:
            x = x * 1.0
        elif isinstance(x, np.floating):
            x = x.copy()
        elif type(x) is str and len(x) > 1:
            x = x[:1] + x[1:]
        else:
            raise Untraceable(type(x).__name__)
        self.numbers[id(x)] = (x, np.asarray(deps, object).item())
        return x

    def items(self, x: Any) -> Any:
        """The items of an array, each with its dependence; ``x`` itself if nothing is known."""
        if not isinstance(x, np.ndarray) or not self.follows(x):
            return x
        if self.arrays.is_decision(x):
            return [self.decide(v) for v in x] if x.ndim == 1 else list(x)
        deps: Any = self.arrays.of(x)
        return [self.mark(v, d) for v, d in zip(x, deps)]

    def decide(self, actual: Any) -> Any:
        """A truth that the input decides, of the type of ``actual``."""
        k = len(self.taken)
        if k >= _MOST_DECISIONS:
            raise Untraceable("too many decisions")
        chosen = self.decisions[k] if k < len(self.decisions) else bool(actual)
        if k >= len(self.decisions):
            self.others.append((*self.taken, not chosen))
        self.taken.append(chosen)
        return type(actual)(chosen)


def is_unread(f: Any) -> bool:
    """Whether ``f`` is a function of the user's: asked of those that cannot be entered."""
    found = function_of(f)
    return found is not None and not is_library(found)


def _is_followed(ctx: Sparsity, f: Any, *args: Any, **kw: Any) -> bool:
    """Whether a call computes with something that depends on the input, or may: what an iterator
    will yield is not known."""
    f, args, kw = functions.unbound(f, args, kw)
    if ctx.can_recurse(f) or functions.is_of_context(f, args):
        return False
    given = (*args, *kw.values())
    if in_(f, functions.COMBINES) or is_unread(f) or any(map(ctx.follows, given)):
        return True
    if functions.is_safe(f, args):
        return False
    return any(map(functions.is_opaque, given)) or ctx.hides(f) or any(map(ctx.hides, given))


@Sparsity.primitive(when=_is_followed)
def _(ctx: Sparsity, f: Any, *args: Any, **kw: Any) -> Any:
    try:
        return _followed(ctx, *functions.unbound(f, args, kw))
    except Untraceable:
        ctx.lost = True
        raise


def _followed(ctx: Sparsity, f: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    if is_unread(f):
        raise Untraceable(f"{f} has no IR")
    if in_(f, functions.DESCRIBE) or functions.keeps(f) or functions.is_of_size(f, args):
        return f(*args, **kw)
    if in_(f, functions.TAKES_ITEMS):
        return ctx.recurse(f, *map(ctx.items, args), **kw)
    if in_(f, (any, all)):
        return _quantified(ctx, f, *args)
    if in_(f, functions.COMBINES):
        args = tuple(
            ctx.recurse(_listed, x) if functions.is_opaque(x) else ctx.items(x) for x in args
        )
        if transfers.combines_objects(args):
            raise Untraceable("objects are combined")
    given = (*args, *kw.values())
    moves = functions.is_safe(f, args) and not (args and isinstance(args[0], np.ndarray))
    if not moves and not in_(f, functions.COMPARES):
        if any(map(functions.is_opaque, given)):
            raise Untraceable(f"{f} takes an iterator")
        if ctx.hides(f) or any(map(ctx.hides, given)):
            raise Untraceable(f"{f} is given what leads to the input")
    elif in_(f, functions.MOVES_REFERENCES) and _depends_on_key(ctx, f, args):
        raise Untraceable("a key depends on the input")
    return _result(ctx, f, _called(ctx, f, args, kw), args, kw)


def _called(ctx: Sparsity, f: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """Where a failure would be caught, failing is a side of a branch."""
    try:
        out = f(*args, **kw)
    except Exception as e:
        by_value = functions.may_raise(f) and _is_caught()
        if by_value or (ctx.decisions and not in_(f, functions.MOVES_REFERENCES)):
            raise Untraceable(str(e)) from e  # on the side that goes on there is no value
        raise
    if functions.may_raise(f) and _is_caught() and ctx.decide(False):
        raise Failed("math domain error")
    return out


def _is_caught() -> bool:
    """Whether code on the way from the entry handles exceptions."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code is not _runs.__code__:
        code = frame.f_code
        if code.co_exceptiontable and not code.co_filename.startswith(_HERE):
            return True
        frame = frame.f_back
    return False


def _listed(xs: Any) -> list[Any]:
    """The items of an iterable, run in the context."""
    found = []
    for x in xs:
        found.append(x)
    return found


def _quantified(ctx: Sparsity, f: Any, xs: Any) -> bool:
    """``any`` or ``all``, which end early."""
    for x in ctx.items(xs):
        if transfers.combines_objects((x,)):
            raise Untraceable("objects decide")
        if bool(ctx.decide(bool(x)) if ctx.follows(x) else x) is (f is any):
            return f is any
    return f is all


def _depends_on_key(ctx: Sparsity, f: Any, args: tuple[Any, ...]) -> bool:
    """Whether what is put into or found in a dict depends on more than its values."""
    name = getattr(f, "__name__", "")
    if name == "build_map":
        keys = args[::2]
    else:
        keys = args[1:2] if args and isinstance(args[0], dict) else ()
    return any(ctx.follows(k) or (has_special_methods(type(k)) and ctx.hides(k)) for k in keys)


def _result(ctx: Sparsity, f: Any, out: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    given = (*args, *kw.values())
    compared = in_(f, functions.COMPARES)
    if not compared and not any(map(ctx.follows, given)):
        return out
    if f is operator.setitem:
        if isinstance(args[0], dict) and ctx.follows(args[1]):
            raise Untraceable("a key depends on the input")
        transfers.assign(ctx, args)
        return out
    if f is getattr:
        return transfers.attribute(out, args)
    if isinstance(out, (bool, np.bool_)):
        return ctx.decide(out)
    if isinstance(out, np.ndarray) and out.dtype.kind == "b":
        ctx.arrays.set_decision(out)
        return out
    if out is None:
        if in_(f, functions.MOVES_REFERENCES) and not isinstance(args[0], np.ndarray):
            return out
        owner = getattr(f, "__self__", None)
        if any(isinstance(x, (list, dict)) for x in args) or not functions.is_nobody(owner):
            raise Untraceable(f"{f} changes a container")
        transfers.overwrite(ctx, args, kw)
        return out
    if functions.joins_lists(f, args):
        return out
    if not isinstance(out, (float, np.floating, np.ndarray, str)):
        moved = f is not operator.getitem or not any(map(ctx.follows, args[1:]))
        if in_(f, functions.MOVES_REFERENCES) and moved:
            return out
        raise Untraceable(f"{f} makes {type(out).__name__}")
    if isinstance(out, np.ndarray) and out.dtype.kind != "f":
        raise Untraceable(f"{f} makes {out.dtype}")
    return transfers.result(ctx, f, out, args, kw)


def _runs(f: Callable[..., Any], x: np.ndarray, args: tuple[Any, ...]) -> Iterator[Any]:
    """The dependence of the result for each way through the branches; None if that is unknown."""
    work: list[tuple[bool, ...]] = [()]
    done = 0
    while work:
        done += 1
        ctx = Sparsity(work.pop())
        given = ctx.mark(x.copy(), dep.inputs(x))
        try:
            if done > _MOST_RUNS:
                raise Untraceable("too many ways")
            out = ctx.overdub(f, given, *args)
            deps = ctx.of(out)
            found = dep.empty(dep.shape_of(out)) if deps is None else deps
            if deps is None and ctx.hides(out):
                raise Untraceable(f"the result is {of_type(out)}")
        except Untraceable:
            yield None
            return
        except Exception:
            if not (ctx.decisions or ctx.lost):
                raise  # it does so without a context too
            found = None
        if ctx.lost:
            yield None
            return
        if found is not None:
            yield found
        work += ctx.others


def jacobian_pattern(f: Callable[..., Any], x: Any, *args: Any) -> np.ndarray:
    """Booleans in the shape of ``f(x, *args)`` and then ``x`` (a float array): False where the
    derivative is zero whatever the values in ``x``.

    >>> def f(x):
    ...     return x[1:] - x[:-1] ** 2
    >>> jacobian_pattern(f, np.ones(3)).astype(int).tolist()
    [[1, 1, 0], [0, 1, 1]]
    """
    x = np.asarray(x, float)
    pattern: Any = None
    shape = np.shape(f(x.copy(), *args))
    for deps in _runs(f, x, args):
        if deps is None or deps.shape != shape:
            return np.ones((*shape, *x.shape), bool)
        found = dep.pattern_of(deps, x.size).reshape(*shape, *x.shape)
        pattern = found if pattern is None else pattern | found
    return pattern


def hessian_pattern(f: Callable[..., Any], x: Any, *args: Any) -> np.ndarray:
    """Booleans of shape (n, n) for a function of a vector with a number as its value.

    >>> hessian_pattern(lambda x: x[0] * x[1] + x[2] ** 2, np.ones(3)).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    """
    x = np.asarray(x, float)
    pattern = np.zeros((x.size, x.size), bool)
    for deps in _runs(f, x, args):
        if deps is None or deps.ndim:
            return np.ones_like(pattern)
        for i, j in deps.item().pairs:
            pattern[i, j] = pattern[j, i] = True
    return pattern


__all__ = ["EMPTY", "Sparsity", "hessian_pattern", "jacobian_pattern"]
