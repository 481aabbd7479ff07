"""``check``: is a derivative right? Four comparisons at one point.

The compiled value and what the call leaves in its arguments are compared with CPython's; forward
with reverse mode by the dot test ⟨ȳ, J ẋ⟩ = ⟨Jᵀ ȳ, ẋ⟩, arguments that are written to counting as
results too; and both with finite differences of the function as CPython runs it, which know nothing
of the compiler. Directions and cotangents are random with a fixed seed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import CheckFailed, NotDifferentiable
from .arguments import Target
from .differences import derivative
from .jvp import jvp
from .vjp import VJP


class Limits(NamedTuple):
    """Largest relative errors that pass."""

    value: float
    dot: float
    differences: float


DOUBLE, SINGLE = Limits(1e-10, 1e-10, 1e-6), Limits(1e-5, 1e-5, 1e-3)


def check(
    f: Callable[..., Any],
    *args: Any,
    kwargs: Mapping[str, Any] = {},
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> Report:
    """Compare value, effects and derivatives of ``f`` at these arguments with independent oracles.

    Returns a report to print. Raises CheckFailed, with the report, if something disagrees; the
    arguments are left alone."""
    return Check(f, args, kwargs, {"engine": engine, "options": options}).run()


@dataclass
class Row:
    """One comparison: what, with what it was compared, the error relative to the size of what was
    compared, and the largest that passes."""

    what: str
    error: float
    limit: float
    detail: str = ""

    @property
    def passed(self) -> bool:
        return self.error <= self.limit


@dataclass
class Report:
    """What was compared; prints as a table."""

    name: str
    rows: list[Row] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(r.passed for r in self.rows)

    def __str__(self) -> str:
        width = max(len(r.what) for r in self.rows)
        lines = [f"check of {self.name}"]
        for r in self.rows:
            mark = "ok    " if r.passed else "FAILED"
            error = f"error {r.error:8.1e} (limit {r.limit:.0e})"
            lines.append(f"  {mark} {r.what:<{width}}  {error}  {r.detail}".rstrip())
        return "\n".join(lines)

    __repr__ = __str__


class Check:
    """One check. ``g`` is ``f`` with the arguments that it writes to among its results."""

    def __init__(
        self, f: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], how: Mapping[str, Any]
    ) -> None:
        self.f, self.args, self.kwargs, self.how = f, args, dict(kwargs), how
        op = self.op = VJP(f, how["engine"], how["options"])
        call = op.bind(args, kwargs)
        plan, _ = op.plan(op.bind(_copied(args), _copied(dict(kwargs))))
        self.aim, self.prepared = plan.aim, plan.prepared
        if not any(self.aim.active):
            raise NotDifferentiable(
                f"no argument of this call of {self.prepared.name}() is a float",
                loc=self.prepared.loc,
                hint="Pass 3.0 rather than 3: integers have no derivative.",
            )
        self.written = _written_arguments(call.target, args, self.prepared.written_values)
        single = any(str(t) in ("float32", "complex64") for t in self._types())
        self.limits = SINGLE if single else DOUBLE
        self.random = np.random.default_rng(20240229)
        self.report = Report(_spelled(self.prepared.name, args, kwargs))

    def _types(self) -> Iterator[Any]:
        for p in self.aim.leaves:
            t = self.prepared.types[p]
            yield getattr(t, "dtype", t)

    def run(self) -> Report:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            expected, after = self.plain(self.args)
            self.values(expected, after)
            self.derivatives(expected, after)
        if not self.report.passed:
            raise CheckFailed(
                f"{self.report.name} disagrees:\n{self.report}",
                loc=self.prepared.loc,
                hint="Most often a rule is wrong, or the point is a kink of the function.",
            )
        return self.report

    # -- running -------------------------------------------------------------------------------
    def plain(self, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """What CPython returns and leaves in the arguments."""
        own, named = _copied(args), _copied(self.kwargs)
        value = self.f(*own, **named)
        return _copied(value), own

    def outputs(self, args: tuple[Any, ...]) -> list[np.ndarray]:
        """All results as arrays: of the value, and of the arguments that are written to."""
        value, after = self.plain(args)
        return _floats((value, *(after[i] for i in self.written)))

    # -- comparisons ---------------------------------------------------------------------------
    def values(self, expected: Any, after: tuple[Any, ...]) -> None:
        own = _copied(self.args)
        value, self.back = self.op(*own, **_copied(self.kwargs))
        error = _difference(_numbers(value), _numbers(expected))
        self.add("value, to CPython's", error, self.limits.value)
        if self.written:
            error = _difference(_numbers(own), _numbers(after))
            self.add("arguments afterwards, to CPython's", error, self.limits.value)

    def derivatives(self, expected: Any, after: tuple[Any, ...]) -> None:
        g, results = self.f, (expected,)
        if self.written:
            g = _with_effects(self.f, len(self.args), tuple(self.kwargs), self.written)
            results = (expected, *(after[i] for i in self.written))
        value = results if self.written else expected
        bar = self.cotangent(value)
        weights = _floats((bar,))
        op = VJP(g, self.how["engine"], self.how["options"]) if self.written else self.op
        _, back = op(*_copied(self.args), **_copied(self.kwargs))
        gradient = back(bar)
        for i, (x, d) in enumerate(zip(self.args, gradient)):
            if not _floats((d,)):
                continue
            dot = self.direction(x)
            dots = tuple(dot if k == i else None for k in range(len(self.args)))
            _, tangent = jvp(g, _copied(self.args), dots, _copied(self.kwargs), **self.how)
            reverse = _inner(_floats((d,)), _floats((dot,)))
            forward = _inner(weights, _floats((tangent,)))
            size = _size(weights, _floats((tangent,))) + _size(_floats((d,)), _floats((dot,)))
            name = self.aim.arguments[i].name
            error = _relative(forward, reverse, size)
            self.add(f"by {name}: forward to reverse mode", error, self.limits.dot)
            difference, uncertain = derivative(partial(self.moved, i, dot, weights))
            error = _relative(reverse, difference, size)
            limit = self.limits.differences + 10 * uncertain / max(size, 1e-300)
            detail = f"{reverse:.9g} and {difference:.9g}"
            self.add(f"by {name}: reverse mode to finite differences", error, limit, detail)

    def moved(self, i: int, dot: Any, weights: list[np.ndarray], t: float) -> float:
        """⟨ȳ, f⟩ at the arguments with number i moved by ``t`` times ``dot``."""
        args = tuple(_plus(x, dot, t) if k == i else x for k, x in enumerate(self.args))
        return _inner(weights, self.outputs(args))

    def add(self, what: str, error: float, limit: float, detail: str = "") -> None:
        self.report.rows.append(Row(what, error, limit, detail))

    # -- random directions ---------------------------------------------------------------------
    def cotangent(self, value: Any) -> Any:
        return _map(value, lambda y: self.draw(y, np.ones(np.shape(y))))

    def direction(self, x: Any) -> Any:
        """A tangent whose elements are as large as those of the argument."""

        def one(v: Any) -> Any:
            size = np.abs(v)
            typical = float(np.mean(size)) if np.size(size) else 1.0
            return self.draw(v, np.where(size > 0, size, typical or 1.0))

        return _map(x, one)

    def draw(self, like: Any, scale: Any) -> Any:
        x = self.random.uniform(0.5, 1.5, np.shape(like)) * scale
        x = x * self.random.choice([-1.0, 1.0], np.shape(like))
        if np.iscomplexobj(like):
            x = x * np.exp(2j * np.pi * self.random.uniform(size=np.shape(like)))
        if isinstance(like, np.ndarray):
            return np.asarray(x, like.dtype)
        return complex(x) if np.iscomplexobj(like) else float(x)


# -- the function with its effects -----------------------------------------------------------------
def _written_arguments(target: Target, args: tuple[Any, ...], written: set[int]) -> list[int]:
    """Positions of the arguments of the call that are written to."""
    first = len(target.prefix)
    return [i for i in range(len(args)) if i + first in written]


def _with_effects(f: Any, n: int, keywords: tuple[str, ...], written: Sequence[int]) -> Any:
    """A function that returns what ``f`` returns and the arguments that it writes to."""
    names = [f"x{i}" for i in range(n)]
    takes = ", ".join([*names, *(["*", *keywords] if keywords else [])])
    gives = ", ".join([*names, *(f"{k}={k}" for k in keywords)])
    effects = "".join(f", {names[i]}" for i in written)
    scope = {"f": f, "__name__": "check"}
    exec(f"def checked({takes}):\n    return f({gives}){effects}\n", scope)
    return scope["checked"]


# -- trees of numbers ------------------------------------------------------------------------------
def _map(tree: Any, one: Callable[[Any], Any]) -> Any:
    """``one`` of each float leaf, None for other leaves."""
    if isinstance(tree, tuple):
        parts = [_map(v, one) for v in tree]
        return type(tree)(*parts) if hasattr(tree, "_make") else tuple(parts)
    return one(tree) if _is_float(tree) else None


def _is_float(x: Any) -> bool:
    kinds = (float, complex, np.ndarray, np.generic)
    return isinstance(x, kinds) and np.asarray(x).dtype.kind in "fc"


def _copied(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.copy("K")
    if isinstance(x, tuple):
        parts = [_copied(v) for v in x]
        return type(x)(*parts) if hasattr(x, "_make") else tuple(parts)
    return {k: _copied(v) for k, v in x.items()} if type(x) is dict else x


def _plus(x: Any, dot: Any, t: float) -> Any:
    if isinstance(x, tuple):
        parts = [_plus(v, d, t) for v, d in zip(x, dot)]
        return type(x)(*parts) if hasattr(x, "_make") else tuple(parts)
    if dot is None:
        return x
    moved = x + t * dot
    return np.asarray(moved, x.dtype, order="K") if isinstance(x, np.ndarray) else type(x)(moved)


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, tuple):
        for v in tree:
            yield from _leaves(v)
    else:
        yield tree


def _floats(tree: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in _leaves(tree) if _is_float(x)]


def _numbers(tree: Any) -> list[np.ndarray]:
    kinds = (bool, int, float, complex, np.generic, np.ndarray)
    return [np.asarray(x) for x in _leaves(tree) if isinstance(x, kinds)]


def _inner(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    """Re⟨a, b⟩."""
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b)))


def _size(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    """What rounding errors of the inner product are relative to."""
    return float(sum(np.sum(np.abs(x) * np.abs(y)) for x, y in zip(a, b)))


def _relative(a: float, b: float, size: float) -> float:
    if a == b or (np.isnan(a) and np.isnan(b)):
        return 0.0
    error = abs(a - b) / max(size, 1e-300)
    return float("inf") if np.isnan(error) else error


def _difference(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    """The largest relative difference; infinite if shapes differ."""
    if len(a) != len(b) or any(x.shape != y.shape for x, y in zip(a, b)):
        return float("inf")
    worst = 0.0
    for x, y in zip(a, b):
        same = (x == y) | ((x != x) & (y != y))
        if same.all():
            continue
        x, y = x[~same], y[~same]
        size = max(float(np.abs(y).max()), 1e-300)
        error = float(np.abs(x - y).max()) / size if np.isfinite(x).all() else float("inf")
        worst = max(worst, error)
    return worst


def _spelled(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    shown = [_shown(a) for a in args] + [f"{k}={_shown(v)}" for k, v in kwargs.items()]
    return f"{name}({', '.join(shown)})"


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype}{list(x.shape)}"
    return getattr(x, "__name__", None) or repr(x)
