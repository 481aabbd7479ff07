"""Reductions, whole and along axes: sums, products, means, extrema, variances, tests.

A reduction is one *cell*, code that runs over the reduced axes and leaves a number, inside loops
over the kept axes. Sums whose innermost axis is kept add whole rows instead, so that the inner loop
stays contiguous. Single precision is summed in double precision and rounded once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..registry import body, method_is
from ..sequences import root
from ..source import Writer, function
from ..types import as_dtype, dtype, is_array, is_none, is_scalar, is_tuple, known, ndim
from .assign import assign, calling
from .loops import dims, make
from .ufuncs import fails_as, order_of

Cell = Callable[[Writer, "Plan"], str]
ZEROS = {"float64": "0.0", "complex128": "0j", "int64": "0", "bool": "False"}
WIDER = {"float32": np.dtype("f8"), "complex64": np.dtype("c16")}


@dataclass(frozen=True)
class Plan:
    """Which axes of an array are reduced, and what comes out."""

    a: Any
    reduced: tuple[int, ...]
    keepdims: bool
    result: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return ndim(self.a)

    @property
    def order(self) -> str:
        return order_of([self.a]) if is_array(self.a) else "C"

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(k for k in range(self.ndim) if k not in self.reduced)

    @property
    def accumulator(self) -> np.dtype[Any]:
        """What is summed in: double precision for single."""
        return WIDER.get(self.result.name, self.result)

    def ordered(self, axes: tuple[int, ...]) -> list[tuple[str, str]]:
        axes = axes if self.order == "C" else axes[::-1]
        return [(f"i{k}", f"n{k}") for k in axes]

    def element(self, to: Any = None, **index: str) -> str:
        """The element at i0, i1, ..., with other indices for some axes (``i0="0"``)."""
        idx = "".join(f", {index.get(f'i{k}', f'i{k}')}" for k in range(self.ndim))
        x = f"load(a{idx})" if is_array(self.a) else "a"
        return x if to is None or to == dtype(self.a) else f"cast(ACC, {x})"

    @property
    def count(self) -> str:
        """How many elements go into a cell."""
        return " * ".join(f"n{k}" for k in self.reduced) or "1"

    @property
    def out_dims(self) -> str:
        axes = range(self.ndim) if self.keepdims else self.kept
        return "".join(f", n{k}" if k in self.kept else ", 1" for k in axes)

    @property
    def out_index(self) -> str:
        axes = range(self.ndim) if self.keepdims else self.kept
        return "".join(f", i{k}" if k in self.kept else ", 0" for k in axes)

    @property
    def is_scalar(self) -> bool:
        return not self.kept and not (self.keepdims and self.ndim)

    @property
    def zero(self) -> str:
        return ZEROS.get(self.accumulator.name, "cast(ACC, 0)")

    def sum(self, x: str) -> str:
        """``s`` with ``x`` added."""
        return f"plus(s, {x})" if self.accumulator.kind in "fc" else f"s + {x}"

    def rounded(self, s: str) -> str:
        return s if self.accumulator == self.result else f"cast(RES, {s})"


def normalized(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that an ``axis`` argument names, sorted. AxisError if there is no such axis."""
    if axis is None:
        return tuple(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(np.lib.array_utils.normalize_axis_index(k, rank) for k in axes))


def result_dtype(f: Any, a: Any, **kwargs: Any) -> np.dtype[Any]:
    """The dtype of f's result, from NumPy itself."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found: np.dtype[Any] = np.asarray(f(np.ones((1,) * ndim(a), dtype(a)), **kwargs)).dtype
    return found


def build(
    name: str, signature: str, plan: Plan, cell: Cell, empty: str = "", **scope: Any
) -> Callable[..., Any]:
    """The function: the cell inside loops over the kept axes. ``empty``: the error if a cell has no
    elements."""
    w = Writer()
    with w(f"def {name}({signature}):"):
        dims(w, "a", plan.ndim)
        if empty and plan.ndim:
            with w(f"if {plan.count} == 0:"):
                w(f"raise ValueError({empty!r})")
        if plan.is_scalar:
            w(f"return {cell(w, plan)}")
        else:
            w(f'out = empty(RES, "{plan.order}"{plan.out_dims})')
            with w.nest(plan.ordered(plan.kept)):
                w(f"store(out, {cell(w, plan)}{plan.out_index})")
            w("return out")
    return make(name, w, **{"RES": plan.result, "ACC": plan.accumulator, **scope})


# -- sums and products -----------------------------------------------------------------------------
def _total(op: str, element: Callable[[Plan], str], start: str = "") -> Cell:
    def cell(w: Writer, p: Plan) -> str:
        w(f"s = {start or p.zero}")
        with w.nest(p.ordered(p.reduced)):
            w(f"v = {p.element(p.accumulator)}")
            w(f"s = {p.sum(element(p)) if op == '+' else f's {op} {element(p)}'}")
        return p.rounded("s")

    return cell


def _plain(p: Plan) -> str:
    return "v"


def _or_zero(p: Plan) -> str:
    return f"select(v == v, v, {p.zero})"


def _or_one(p: Plan) -> str:
    return "select(v == v, v, ONE)"


def rows(name: str, signature: str, p: Plan, mean: bool) -> Callable[..., Any]:
    """The sum (mean) over outer axes: whole rows are added to the result."""
    w = Writer()
    with w(f"def {name}({signature}):"):
        dims(w, "a", p.ndim)
        w(f'out = zeros(RES, "{p.order}"{p.out_dims})')
        with w.nest(p.ordered(tuple(range(p.ndim)))):
            w(f"store(out, load(out{p.out_index}) + {p.element(p.result)}{p.out_index})")
        if mean:
            with w.nest(p.ordered(p.kept)):
                w(f"store(out, load(out{p.out_index}) / ({p.count}){p.out_index})")
        w("return out")
    return make(name, w, RES=p.result, ACC=p.result)


def _sum(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    if (
        p.kept
        and p.ordered(tuple(range(p.ndim)))[-1][0] == f"i{p.kept[-1 if p.order == 'C' else 0]}"
    ):
        return rows(name, signature, p, mean=name == "mean")
    total = _total("+", _plain)
    if name == "sum":
        return build(name, signature, p, total)

    def mean(w: Writer, p: Plan) -> str:
        total(w, p)
        return p.rounded(f"divide(s, {p.count})")

    return build(name, signature, p, mean, divide=np.divide)


def _prod(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    one = p.accumulator.type(1)
    return build(name, signature, p, _total("*", _plain, "ONE"), ONE=number(one))


def number(x: Any) -> Any:
    """A Python number where that has the same type in native code."""
    return x.item() if x.dtype.name in ("float64", "complex128", "int64") else x


def _nansum(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    if p.result.kind not in "fc":
        return _sum("sum", signature, p)
    return build(name, signature, p, _total("+", _or_zero))


def _nanprod(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    one = number(p.accumulator.type(1))
    return build(name, signature, p, _total("*", _or_one, "ONE"), ONE=one)


def _nan_mean(w: Writer, p: Plan) -> str:
    """Leaves the mean in ``m`` and the count in ``c``."""
    w(f"s = {p.zero}")
    w("c = 0")
    with w.nest(p.ordered(p.reduced)):
        w(f"v = {p.element(p.accumulator)}")
        w("c = c + select(v == v, 1, 0)")
        w(f"s = {p.sum(_or_zero(p))}")
    w("m = divide(s, c)")
    return p.rounded("m")


def _nanmean(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    return build(name, signature, p, _nan_mean, divide=np.divide)


# -- variances -------------------------------------------------------------------------------------
def _variance(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    """Two passes: the mean, then the squares of the distances to it."""
    nan = name.startswith("nan")
    source = WIDER.get(dtype(p.a).name, dtype(p.a))
    source = source if source.kind in "fc" else np.dtype("f8")

    def cell(w: Writer, p: Plan) -> str:
        inner = Plan(p.a, p.reduced, p.keepdims, source)
        if nan:
            _nan_mean(w, inner)
        else:
            _total("+", _plain)(w, inner)
            w(f"c = {p.count}")
            w("m = divide(s, c)")
        w("q = 0.0")
        with w.nest(p.ordered(p.reduced)):
            w(f"v = {p.element(source)}")
            w(f"d = {f'select(v == v, v - m, {inner.zero})' if nan else 'v - m'}")
            square = "real(d) * real(d) + imag(d) * imag(d)" if source.kind == "c" else "d * d"
            w(f"q = q + {square}")
        w("q = divide(q, select(c > ddof, c - ddof, 0))")
        if nan:
            w("q = select(c > ddof, q, NAN)")
        return p.rounded("root(q)" if name.endswith("std") else "q")

    return build(name, signature, p, cell, ACC=source, NAN=np.nan, divide=np.divide, root=root)


# -- tests and counts ------------------------------------------------------------------------------
def _any(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    op, start = ("|", "False") if name == "any" else ("&", "True")
    return build(name, signature, p, _tested(f"s {op} (v != 0)", start))


def _count_nonzero(name: str, signature: str, p: Plan) -> Callable[..., Any]:
    return build(name, signature, p, _tested("s + select(v != 0, 1, 0)", "0"))


def _tested(step: str, start: str) -> Cell:
    def cell(w: Writer, p: Plan) -> str:
        w(f"s = {start}")
        with w.nest(p.ordered(p.reduced)):
            w(f"v = {p.element()}")
            w(f"s = {step}")
        return "s"

    return cell


# -- which function is which -----------------------------------------------------------------------
DTYPE = "a, axis=None, dtype=None, out=None, keepdims=False"
DDOF = "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False"
OUT = "a, axis=None, out=None, keepdims=False"
BARE = "a, axis=None, keepdims=False"
Make = Callable[[str, str, Plan], Any]
REDUCTIONS: dict[Any, tuple[str, Make]] = {
    np.sum: (DTYPE, _sum), np.mean: (DTYPE, _sum), np.prod: (DTYPE, _prod),
    np.nansum: (DTYPE, _nansum), np.nanmean: (DTYPE, _nanmean), np.nanprod: (DTYPE, _nanprod),
    np.var: (DDOF, _variance), np.std: (DDOF, _variance),
    np.nanvar: (DDOF, _variance), np.nanstd: (DDOF, _variance),
    np.any: (OUT, _any), np.all: (OUT, _any), np.count_nonzero: (BARE, _count_nonzero),
}  # fmt: skip


def _resolver(f: Any, signature: str, make_body: Make) -> Callable[..., Any]:
    name = f.__name__.replace("amax", "max").replace("amin", "min")
    names = [part.split("=")[0] for part in signature.split(", ")]

    def resolve(**given: Any) -> Any:
        a = given["a"]
        if is_tuple(a):
            arguments = ", ".join(["array(a)", *(f"{n}={n}" for n in names[1:])])
            return calling(f, signature, arguments, array=np.array)
        if not (is_array(a) or is_scalar(a)):
            return None
        if not is_none(given.get("out")):
            arguments = ", ".join(f"{n}={n}" for n in names if n != "out")
            source = f"def {name}({signature}):\n    return assign(out, f({arguments}))\n"
            return function(name, source, assign=assign, f=f)
        axis, keepdims = known(given.get("axis")), bool(known(given.get("keepdims"), False))
        to = as_dtype(known(given.get("dtype")))
        try:
            options = {"axis": axis} if to is None else {"axis": axis, "dtype": to}
            result = result_dtype(f, a, **options)
            plan = Plan(a, normalized(axis, ndim(a)), keepdims, result)
        except (ValueError, TypeError) as error:
            return fails_as(name, signature, error)
        return make_body(name, signature, plan)

    scope: dict[str, Any] = {"resolve": resolve}
    parameters = ", ".join(f"{n}=None" if k else n for k, n in enumerate(names))
    passed = ", ".join(f"{n}={n}" for n in names)
    exec(f"def resolver({parameters}):\n    return resolve({passed})\n", scope)
    resolver: Callable[..., Any] = scope["resolver"]
    return resolver


def register(reductions: dict[Any, tuple[str, Make]]) -> None:
    for f, (signature, make_body) in reductions.items():
        body.typed(f)(_resolver(f, signature, make_body))


register(REDUCTIONS)


@body(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    if weights is None:
        return np.mean(a, axis=axis)
    return np.sum(a * weights, axis=axis) / np.sum(weights, axis=axis)


method_is(sum=np.sum, mean=np.mean, prod=np.prod, var=np.var, std=np.std, any=np.any, all=np.all)
