"""``jacobian_pattern`` and ``hessian_pattern``: which derivatives can be other than zero.

Each number carries the set of inputs it depends on, and the set of pairs of inputs that it depends
on together, nonlinearly (`dependence`). Where the input decides a branch both sides are run, by
running the function again with the other decision, and the patterns are united. What cannot be
followed is taken to depend on everything: a pattern may have a place too many, never one too few.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..context import Context, function_of
from ..filters import is_library
from . import dependence as dep
from .dependence import EMPTY, Deps, Untraceable, in_

_MOST_RUNS = 256
_MOST_DECISIONS = 64


class Sparsity(Context):
    """One run. ``decisions`` are forced one after the other, then taken as they come; ``taken`` is
    what was decided, ``others`` the decisions that lead to the sides not taken."""

    def __init__(self, decisions: tuple[bool, ...] = (), **filters: Any) -> None:
        super().__init__(**filters)
        self.decisions = decisions
        self.taken: list[bool] = []
        self.others: list[tuple[bool, ...]] = []
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
        parts = [dep.empty(np.shape(x)) if p is None else p for p, x in zip(parts, xs)]
        if len({p.shape for p in parts}) > 1:  # not an array: all that is in it
            parts = [dep.single(dep.union(p)) for p in parts]
        return np.stack(parts)

    def mark(self, x: Any, deps: Any) -> Any:
        """``x``, which depends as ``deps`` says."""
        if isinstance(x, np.ndarray):
            self.arrays.set(x, deps)
            return x
        if type(x) is float:
            x = x * 1.0
        elif isinstance(x, np.floating):
            x = x.copy()
        else:
            raise Untraceable(type(x).__name__)
        self.numbers[id(x)] = (x, np.asarray(deps, object).item())
        return x

    def items(self, x: np.ndarray) -> list[Any]:
        """The items of an array, each with its dependence."""
        deps: Any = self.arrays.of(x)
        return [self.mark(v, d) for v, d in zip(x, deps)]

    def decide(self, actual: Any) -> bool:
        """A truth that the input decides."""
        k = len(self.taken)
        if k >= _MOST_DECISIONS:
            raise Untraceable("too many decisions")
        chosen = self.decisions[k] if k < len(self.decisions) else bool(actual)
        if k >= len(self.decisions):
            self.others.append((*self.taken, not chosen))
        self.taken.append(chosen)
        return chosen


def is_unread(f: Any) -> bool:
    """Whether ``f`` is a function of the user's: asked of those that cannot be entered."""
    found = function_of(f)
    return found is not None and not is_library(found)


def _is_followed(ctx: Sparsity, f: Any, *args: Any, **kw: Any) -> bool:
    """Whether a call computes with something that depends on the input, or may: what an iterator
    will yield is not known."""
    if ctx.can_recurse(f):
        return False
    f, args = dep.unbound(f, args)
    given = (*args, *kw.values())
    if in_(f, dep.COMBINES) or is_unread(f):
        return True
    if any(ctx.of(x) is not None or ctx.arrays.is_decision(x) for x in given):
        return True
    return not in_(f, dep.SAFE_WITH_ITERATORS) and any(map(dep.is_opaque, given))


@Sparsity.primitive(when=_is_followed)
def _(ctx: Sparsity, f: Any, *args: Any, **kw: Any) -> Any:
    f, args = dep.unbound(f, args)
    if is_unread(f):
        raise Untraceable(f"{f} has no IR")
    if in_(f, dep.DESCRIBE):
        return f(*args, **kw)
    if in_(f, dep.COMBINES):
        args = tuple(list(x) if dep.is_opaque(x) else x for x in args)
        if dep.combines_objects(args):
            raise Untraceable("objects are combined")
    elif not in_(f, dep.SAFE_WITH_ITERATORS) and any(map(dep.is_opaque, (*args, *kw.values()))):
        raise Untraceable(f"{f} takes an iterator")
    if in_(f, dep.TAKES_ITEMS):
        args = tuple(
            ctx.items(x) if isinstance(x, np.ndarray) and ctx.of(x) is not None else x for x in args
        )
        if not in_(f, dep.COMBINES):
            return ctx.recurse(f, *args, **kw)
    try:
        out = f(*args, **kw)
    except Exception as e:
        if ctx.decisions:  # perhaps because a decision was forced
            raise Untraceable(str(e)) from e
        raise
    return _result(ctx, f, out, args, kw)


def _result(ctx: Sparsity, f: Any, out: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    given = [ctx.of(x) for x in (*args, *kw.values())]
    if f is operator.setitem:
        dep.assign(ctx, args)
        return out
    if f is getattr:
        return dep.attribute(out, args)
    if isinstance(out, (bool, np.bool_)):
        return ctx.decide(out)
    if isinstance(out, np.ndarray) and out.dtype.kind == "b":
        ctx.arrays.set_decision(out)
        return out
    if out is None:
        if in_(f, dep.MOVES_REFERENCES) and not isinstance(args[0], np.ndarray):
            return out
        owner = getattr(f, "__self__", None)
        if any(isinstance(x, (list, dict)) for x in args) or not dep.is_nobody(owner):
            raise Untraceable(f"{f} changes a container")
        dep.overwrite(ctx, args, kw, given)
        return out
    if not isinstance(out, (float, np.floating, np.ndarray)):
        if in_(f, dep.MOVES_REFERENCES) and (f is not operator.getitem or given[1] is None):
            return out
        raise Untraceable(f"{f} makes {type(out).__name__}")
    if isinstance(out, np.ndarray) and out.dtype.kind != "f":
        raise Untraceable(f"{f} makes {out.dtype}")
    if isinstance(out, np.ndarray) and ctx.arrays.is_view(out, args) and not in_(f, dep.IN_PLACE):
        return out
    return ctx.mark(out, dep.rule(ctx, f, out, args, kw, given))


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
            yield dep.empty(np.shape(out)) if deps is None else deps
        except Untraceable:
            yield None
            return
        except Exception:
            if not ctx.decisions:
                raise  # it does so without a context too
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
