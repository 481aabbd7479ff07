"""Sorting and order statistics: a permutation is found, which has no derivative, and elements are
gathered by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import prims
from ..registry import body, method_is
from ..source import Writer, function
from ..types import dtype, is_array, is_none, is_tuple, known, ndim
from .assign import assign, calling, copied
from .loops import dims, loops, make, subscript
from .shape import _axis, checked

SORT = "a, axis=-1, kind=None, order=None, *, stable=None"


def _along(name: str, signature: str, a: Any, k: int, step: str, to: Any) -> Callable[..., Any]:
    """For each line along axis k: ``p = argsort(line)``, then ``step`` for each position."""
    rank = ndim(a)
    kept = [(f"i{j}", f"n{j}") for j in range(rank) if j != k]
    line = ", ".join(":" if j == k else f"i{j}" for j in range(rank))
    w = Writer()
    with w(f"def {name}({signature}):"):
        dims(w, "a", rank)
        w(f'out = empty(TO, "C"{subscript(rank, "n")})')
        with w.nest(kept):
            w(f"p = argsort(a[{line}])" if rank > 1 else "p = argsort(a)")
            with w(f"for i{k} in range(n{k}):"):
                w(f"q = load(p, i{k})")
                source = "".join(f", {'q' if j == k else f'i{j}'}" for j in range(rank))
                w(f"store(out, {step.format(source=source)}{subscript(rank)})")
        w("return out")
    return make(name, w, TO=to, argsort=np.argsort)


def _sorted(f: Any, name: str, step: str, result: Callable[[Any], Any]) -> None:
    @body.typed(f)
    def resolve(a: Any, axis: Any = None, kind: Any = None, order: Any = None, *,
                stable: Any = None) -> Any:  # fmt: skip
        if is_tuple(a):
            return calling(f, SORT, "array(a), axis", array=np.array)
        if not is_array(a) or not ndim(a):
            return None
        if axis is not None and is_none(axis):
            return calling(f, SORT, "ravel(a)", ravel=np.ravel) if ndim(a) > 1 else whole(a)
        if name == "argsort" and ndim(a) == 1:  # the leaf itself, which takes no axis
            bare = axis is None and kind is None and order is None and stable is None
            return None if bare else calling(f, SORT, "a")
        return checked(name, SORT, lambda: _along(name, SORT, a, _axis(known(axis, -1), ndim(a)),
                                                  step, result(a)))  # fmt: skip

    def whole(a: Any) -> Any:
        return None if name == "argsort" else _along(name, SORT, a, 0, step, result(a))


_sorted(np.sort, "sort", "load(a{source})", dtype)
_sorted(np.argsort, "argsort", "q", lambda a: np.dtype(np.int64))


def sort_method(x: Any, axis: int = -1) -> None:
    assign(x, np.sort(x, axis))


# -- medians and quantiles -------------------------------------------------------------------------
def _median_of_sorted(s: Any) -> Any:
    n = s.shape[0]
    if n == 0:
        return np.nan
    if s[n - 1] != s[n - 1]:
        return s[n - 1]
    if n % 2 == 1:
        return s[n // 2] * 1.0
    return 0.5 * (s[n // 2 - 1] + s[n // 2])


def _quantile_of_sorted(s: Any, q: Any) -> Any:
    """Linear between the two elements around position q * (n - 1), as NumPy interpolates."""
    n = s.shape[0]
    if n == 0:
        return np.nan
    if s[n - 1] != s[n - 1]:
        return s[n - 1]
    if q < 0 or q > 1:
        raise ValueError("Quantiles must be in the range [0, 1]")
    at = q * (n - 1)
    i = int(at)
    t = at - i
    a, b = s[i], s[min(i + 1, n - 1)]
    if t >= 0.5:
        return b - (b - a) * (1 - t)
    return a + (b - a) * t


def _without_nan(x: Any) -> Any:
    return x[~np.isnan(x)]


def _each(name: str, signature: str, a: Any, axis: Any, keepdims: Any, value: str, **scope: Any
          ) -> Any:  # fmt: skip
    """``value`` of the sorted elements ``s``, of all of them or of each line along an axis."""
    to = np.result_type(dtype(a), np.float64) if dtype(a).kind != "f" else dtype(a)
    scope |= {"sort": np.sort, "ravel": np.ravel}
    axis, keep, rank = known(axis), bool(known(keepdims, False)), ndim(a)
    if axis is None or rank == 1:
        if keep:
            return None
        source = f"def {name}({signature}):\n    s = sort(select(ravel(a)))\n    return {value}\n"
        return function(name, source, **{"select": _itself, **scope})

    def build() -> Any:
        k = _axis(axis, rank)
        line = ", ".join(":" if j == k else f"i{j}" for j in range(rank))
        w = Writer()
        with w(f"def {name}({signature}):"):
            dims(w, "a", rank)
            sizes = "".join(", 1" if j == k else f", n{j}" for j in range(rank) if keep or j != k)
            target = "".join(", 0" if j == k else f", i{j}" for j in range(rank) if keep or j != k)
            w(f'out = empty(TO, "C"{sizes})')
            with w.nest([(f"i{j}", f"n{j}") for j in range(rank) if j != k]):
                w(f"s = sort(pick(a[{line}]))")
                w(f"store(out, {value}{target})")
            w("return out")
        pick = scope.get("select", _itself)
        rest = {n: f for n, f in scope.items() if n != "select"}
        return make(name, w, TO=to, pick=pick, **rest)

    return checked(name, signature, build)


def _itself(x: Any) -> Any:
    return x


MEDIAN = "a, axis=None, out=None, overwrite_input=False, keepdims=False"


def _medians(f: Any, name: str, **scope: Any) -> None:
    @body.typed(f)
    def resolve(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None,
                keepdims: Any = None) -> Any:  # fmt: skip
        if is_tuple(a):
            return calling(f, MEDIAN, "array(a), axis", array=np.array)
        if not is_array(a) or not is_none(out) or is_tuple(axis):
            return None
        value = "of_sorted(s)"
        return _each(name, MEDIAN, a, axis, keepdims, value, of_sorted=_median_of_sorted, **scope)


_medians(np.median, "median")
_medians(np.nanmedian, "nanmedian", select=_without_nan)
QUANTILE = "a, q, axis=None, out=None, overwrite_input=False, method='linear', keepdims=False"


def _quantiles(f: Any, name: str, scale: str, **scope: Any) -> None:
    @body.typed(f)
    def resolve(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = None,
                method: Any = None, keepdims: Any = None) -> Any:  # fmt: skip
        if is_tuple(a) or is_tuple(q):
            return calling(f, QUANTILE, "asarray(a), asarray(q), axis", asarray=np.asarray)
        if not is_array(a) or not is_none(out) or known(method, "linear") != "linear":
            return None
        if ndim(q):
            if not is_none(axis) and ndim(a) > 1:
                return None
            return _at_each(scale, **scope)
        q_value = "q.item()" if is_array(q) else "q"
        value = f"of_sorted(s, {q_value}{scale})"
        return _each(
            name, QUANTILE, a, axis, keepdims, value, of_sorted=_quantile_of_sorted, **scope
        )


def _at_each(scale: str, **scope: Any) -> Callable[..., Any]:
    w = Writer()
    with w(f"def quantiles({QUANTILE}):"):
        w("s = sort(pick(ravel(a)))")
        w("out = empty_like(q, dtype=FLOAT)")
        with w("for i in range(q.size):"):
            w(f"out[i] = of_sorted(s, q[i]{scale})")
        w("return out")
    return make("quantiles", w, sort=np.sort, ravel=np.ravel, empty_like=np.empty_like,
                of_sorted=_quantile_of_sorted, pick=scope.get("select", _itself),
                FLOAT=np.dtype(float))  # fmt: skip


_quantiles(np.quantile, "quantile", "")
_quantiles(np.percentile, "percentile", " / 100")
_quantiles(np.nanquantile, "nanquantile", "", select=_without_nan)
_quantiles(np.nanpercentile, "nanpercentile", " / 100", select=_without_nan)


# -- positions along an axis, distinct elements ----------------------------------------------------
@body.typed(np.take_along_axis)
def _(arr: Any, indices: Any, axis: Any = None) -> Any:
    if not (is_array(arr) and is_array(indices)):
        return None
    if axis is not None and is_none(axis):
        return _take_flat
    if ndim(arr) != ndim(indices):
        return None

    def build() -> Any:
        rank = ndim(arr)
        k = _axis(known(axis, -1), rank)
        w = Writer()
        with w("def take_along_axis(arr, indices, axis=-1):"):
            dims(w, "indices", rank)
            for j in range(rank):
                if j != k:
                    with w(f"if dim(arr, {j}) != n{j}:"):
                        w('raise IndexError("indexing arrays could not be broadcast together")')
            w(f'out = empty(TO, "C"{subscript(rank, "n")})')
            with w.nest(loops(rank)):
                at = "".join(
                    f", index(load(indices{subscript(rank)}), dim(arr, {k}))"
                    if j == k
                    else f", i{j}"
                    for j in range(rank)
                )
                w(f"store(out, load(arr{at}){subscript(rank)})")
            w("return out")
        return make("take_along_axis", w, TO=dtype(arr))

    return checked("take_along_axis", "arr, indices, axis=-1", build)


def _take_flat(arr: Any, indices: Any, axis: Any = None) -> Any:
    return np.ravel(arr)[indices]


@body(np.partition)
def partition(a: Any, kth: Any, axis: int = -1) -> Any:
    """Sorted, which is partitioned wherever that is asked for."""
    return np.sort(a, axis)


@body(np.argpartition)
def argpartition(a: Any, kth: Any, axis: int = -1) -> Any:
    return np.argsort(a, axis)


@body.typed(np.unique)
def _(ar: Any, **options: Any) -> Any:
    if options or not is_array(ar):
        return None
    return _unique


def _unique(ar: Any) -> Any:
    s = np.sort(np.ravel(ar))
    count = 0
    for i in range(s.shape[0]):
        if i == 0 or s[i] != s[i - 1]:
            count += 1
    out = np.empty(count, ar.dtype)
    count = 0
    for i in range(s.shape[0]):
        if i == 0 or s[i] != s[i - 1]:
            out[count] = s[i]
            count += 1
    return out


@body(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
         ) -> Any:  # fmt: skip
    x, known = np.ravel(np.asarray(element)), np.ravel(np.asarray(test_elements))
    out = np.empty(x.shape[0], np.bool_)
    for i in range(x.shape[0]):
        found = False
        for j in range(known.shape[0]):
            found = found | (x[i] == known[j])
        out[i] = found != invert
    return np.reshape(out, np.shape(element))


@body(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    x = np.unique(ar1)
    return x[isin(x, ar2, False, True)]


@body(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any) -> Any:
    x = np.unique(ar1)
    return x[isin(x, ar2)]


@body(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    return np.sort(np.concatenate((setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))))


@body(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return np.unique(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


method_is(sort=sort_method, argsort=np.argsort)
__all__ = ["copied", "prims"]
