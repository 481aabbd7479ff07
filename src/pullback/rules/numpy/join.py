"""Arrays joined, stacked, repeated and split."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import body, method_is
from ..source import Writer, function
from ..types import as_dtype, dtype, is_array, is_none, is_scalar, is_tuple, known, ndim
from .assign import assign, calling
from .loops import make
from .shape import _axis, checked
from .ufuncs import fails

CONCATENATE = "arrays, axis=0, out=None, *, dtype=None, casting='same_kind'"


UNLIKE = "'all input arrays must have the same shape'"


def _differing(x: str, at: int, k: int) -> str:
    text = (
        "all the input array dimensions except for the concatenation axis must match exactly, but "
        f"along dimension {k}, the array at index 0 has size {{n{k}}} and the array at index {at} "
        f"has size {{dim({x}, {k})}}"
    )
    return f'f"{text}"'


def _concatenated(parts: Any, axis: int, to: Any, signature: str, items: list[str], stack: bool
                  ) -> Callable[..., Any]:  # fmt: skip
    """The parts one after the other along ``axis``; ``stack``: along a new axis."""
    rank = ndim(parts[0])
    old = [k for k in range(rank) if stack or k != axis]
    w = Writer()
    with w(f"def concatenate({signature}):"):
        for k in range(rank):
            w(f"n{k} = dim({items[0]}, {k})")
        for at, x in enumerate(items[1:], 1):
            for k in old:
                with w(f"if dim({x}, {k}) != n{k}:"):
                    w("raise ValueError(" + (UNLIKE if stack else _differing(x, at, k)) + ")")
        if stack:
            sizes = [f"n{k}" for k in range(rank)]
            sizes.insert(axis, str(len(items)))
        else:
            total = " + ".join(f"dim({x}, {axis})" for x in items)
            sizes = [total if k == axis else f"n{k}" for k in range(rank)]
        w(f'out = empty(TO, "C"{"".join(f", {n}" for n in sizes)})')
        lead = ":, " * axis
        if not stack:
            w("at = 0")
        for k, x in enumerate(items):
            if stack:
                w(f"assign(out[{lead}{k}], {x})" if rank else f"store(out, load({x}), {k})")
            else:
                w(f"end = at + dim({x}, {axis})")
                w(f"assign(out[{lead}at:end], {x})")
                w("at = end")
        w("return out")
    return make("concatenate", w, TO=to, assign=assign)


def _parts(arrays: Any, name: str) -> tuple[list[Any], list[str]] | None:
    if not is_tuple(arrays) or not arrays.elements or not all(map(is_array, arrays.elements)):
        return None
    return list(arrays.elements), [f"{name}[{k}]" for k in range(len(arrays.elements))]


def _as_arrays(f: Any, arrays: Any, name: str, signature: str, rest: str) -> Any:
    """The call with each part made an array first."""
    if not is_tuple(arrays) or not arrays.elements:
        return None
    items = [
        f"{name}[{k}]" if is_array(e) else f"asarray({name}[{k}])"
        for k, e in enumerate(arrays.elements)
    ]
    return calling(f, signature, f"({', '.join(items)},){rest}", asarray=np.asarray)


@body.typed(np.concatenate, np.concat)
def _(arrays: Any, axis: Any = None, out: Any = None, *, dtype: Any = None, casting: Any = None
      ) -> Any:  # fmt: skip
    if not is_none(out):
        return None
    if axis is not None and is_none(axis):
        return _flat_concatenation(arrays)
    found = _parts(arrays, "arrays")
    if found is None:
        rest = ", axis, out, dtype=dtype, casting=casting"
        return _as_arrays(np.concatenate, arrays, "arrays", CONCATENATE, rest)
    return checked("concatenate", CONCATENATE, lambda: _concatenate(*found, axis, dtype))


def _concatenate(parts: Any, items: Any, axis: Any, to: Any) -> Any:
    ranks = [ndim(p) for p in parts]
    if not any(ranks):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    for k, rank in enumerate(ranks):
        if rank != ranks[0]:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index "
                f"0 has {ranks[0]} dimension(s) and the array at index {k} has {rank} dimension(s)"
            )
    to = as_dtype(known(to)) or np.result_type(*map(dtype, parts))
    return _concatenated(
        parts, _axis(known(axis, 0), ndim(parts[0])), to, CONCATENATE, items, False
    )


def _flat_concatenation(arrays: Any) -> Any:
    if not is_tuple(arrays):
        return None
    items = ", ".join(f"ravel(arrays[{k}])" for k in range(len(arrays.elements)))
    source = f"def concatenate(arrays, axis=None):\n    return f(({items},))\n"
    return function("concatenate", source, ravel=np.ravel, f=np.concatenate)


STACK = "arrays, axis=0, out=None, *, dtype=None, casting='same_kind'"


@body.typed(np.stack)
def _(arrays: Any, axis: Any = None, out: Any = None, *, dtype: Any = None, casting: Any = None
      ) -> Any:  # fmt: skip
    if not is_none(out):
        return None
    found = _parts(arrays, "arrays")
    if found is None:
        return _as_arrays(np.stack, arrays, "arrays", STACK, ", axis, dtype=dtype")
    return checked("stack", STACK, lambda: _stack(*found, axis, dtype))


def _stack(parts: Any, items: Any, axis: Any, to: Any) -> Any:
    if len({ndim(p) for p in parts}) > 1:
        raise ValueError(UNLIKE.strip("'"))
    to = as_dtype(known(to)) or np.result_type(*map(dtype, parts))
    return _concatenated(parts, _axis(known(axis, 0), ndim(parts[0]) + 1), to, STACK, items, True)


def _joined(f: Any, at_least: Any, axis: Callable[[int], int]) -> None:
    """vstack, hstack, dstack: parts with at least so many axes, joined along one."""

    @body.typed(f)
    def resolve(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
        if not is_tuple(tup) or not tup.elements:
            return None
        rank = max(ndim(e) if is_array(e) else _depth(e) for e in tup.elements)
        items = ", ".join(f"lift(tup[{k}])" for k in range(len(tup.elements)))
        signature = "tup, *, dtype=None, casting='same_kind'"
        source = f"def joined({signature}):\n    return f(({items},), {axis(rank)}, dtype=dtype)\n"
        return function("joined", source, lift=at_least, f=np.concatenate)


def _depth(a: Any) -> int:
    return 1 + _depth(a.elements[0]) if is_tuple(a) and a.elements else ndim(a)


_joined(np.vstack, np.atleast_2d, lambda rank: 0)
_joined(np.hstack, np.atleast_1d, lambda rank: 0 if rank <= 1 else 1)
_joined(np.dstack, np.atleast_3d, lambda rank: 2)


@body.typed(np.column_stack)
def _(tup: Any) -> Any:
    if not is_tuple(tup) or not tup.elements:
        return None
    items = [
        f"tup[{k}]" if ndim(e) > 1 else f"column(tup[{k}])" for k, e in enumerate(tup.elements)
    ]
    source = f"def column_stack(tup):\n    return f(({', '.join(items)},), 1)\n"
    return function("column_stack", source, column=_column, f=np.concatenate)


def _column(x: Any) -> Any:
    return np.atleast_1d(x)[:, None]


@body(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.concatenate((np.ravel(np.asarray(arr)), np.ravel(np.asarray(values))))
    return np.concatenate((np.asarray(arr), np.asarray(values)), axis)


if hasattr(np, "row_stack"):  # its old name, which warns where it is still there
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _joined(np.row_stack, np.atleast_2d, lambda rank: 0)


# -- repetition ------------------------------------------------------------------------------------
@body.typed(np.repeat)
def _(a: Any, repeats: Any, axis: Any = None) -> Any:
    if is_tuple(a):
        return calling(
            np.repeat, "a, repeats, axis=None", "array(a), repeats, axis", array=np.array
        )
    if not is_array(a) or is_tuple(repeats):
        return None
    if is_none(axis) and ndim(a) != 1:
        return _repeat_all
    by_array = is_array(repeats)

    def build() -> Any:
        k = _axis(known(axis, 0), ndim(a))
        lead = ":, " * k
        sizes = ["total" if j == k else f"dim(a, {j})" for j in range(ndim(a))]
        w = Writer()
        with w("def repeat(a, repeats, axis=None):"):
            w(f"n = dim(a, {k})")
            w("total = sum(repeats)" if by_array else "total = n * repeats")
            w(f'out = empty(TO, "C"{"".join(f", {n}" for n in sizes)})')
            w("at = 0")
            with w.nest([("i", "n"), ("j", "repeats[i]" if by_array else "repeats")]):
                target, source = f"out[{lead}at]", f"a[{lead}i]"
                w(f"{target} = {source}" if ndim(a) == 1 else f"assign({target}, {source})")
                w("at = at + 1")
            w("return out")
        return make("repeat", w, TO=dtype(a), assign=assign, sum=np.sum)

    return checked("repeat", "a, repeats, axis=None", build)


def _repeat_all(a: Any, repeats: Any, axis: Any = None) -> Any:
    return np.repeat(np.ravel(a), repeats)


@body.typed(np.tile)
def _(A: Any, reps: Any) -> Any:
    if not is_array(A):
        return calling(np.tile, "A, reps", "asarray(A), reps", asarray=np.asarray)
    counts = [f"reps[{k}]" for k in range(len(reps.elements))] if is_tuple(reps) else ["reps"]
    if not is_tuple(reps) and not is_scalar(reps):
        return None
    rank = max(ndim(A), len(counts))
    counts = ["1"] * (rank - len(counts)) + counts
    lead = rank - ndim(A)
    w = Writer()
    with w("def tile(A, reps):"):
        for k in range(rank):
            w(f"n{k} = {f'dim(A, {k - lead})' if k >= lead else 1}")
            w(f"r{k} = {counts[k]}")
        sizes = "".join(f", n{k} * r{k}" for k in range(rank))
        w(f'out = empty(TO, "C"{sizes})')
        blocks = [(f"j{k}", f"r{k}") for k in range(rank)]
        with w.nest(blocks + [(f"i{k}", f"n{k}") for k in range(rank)]):
            source = "".join(f", i{k}" for k in range(lead, rank))
            target = "".join(f", j{k} * n{k} + i{k}" for k in range(rank))
            w(f"store(out, load(A{source}){target})")
        w("return out")
    return make("tile", w, TO=dtype(A))


# -- splitting -------------------------------------------------------------------------------------
def _split(name: str, ary: Any, sections: Any, axis: Any, uneven: bool, signature: str) -> Any:
    """A tuple of views (NumPy returns a list)."""

    def build() -> Any:
        k = _axis(axis, ndim(ary))
        lead = ":, " * k
        w = Writer()
        with w(f"def {name}({signature}):"):
            w(f"n = dim(ary, {k})")
            if is_tuple(sections):
                count = len(sections.elements) + 1
                cuts = ["0", *(f"indices_or_sections[{j}]" for j in range(count - 1)), "n"]
                parts = [f"ary[{lead}{a}:{b}]" for a, b in itertools.pairwise(cuts)]
            else:
                count = known(sections)
                if not uneven:
                    with w(f"if n % {count} != 0:"):
                        message = "array split does not result in an equal division"
                        w(f"raise ValueError({message!r})")
                w(f"size = n // {count}")
                w(f"extra = n % {count}")
                cuts = [f"{j} * size + min({j}, extra)" for j in range(count + 1)]
                parts = [f"ary[{lead}{a}:{b}]" for a, b in itertools.pairwise(cuts)]
            w(f"return ({', '.join(parts)},)")
        return make(name, w)

    if not is_array(ary) or is_array(sections):
        return None
    return checked(name, signature, build)


def _splitter(f: Any, uneven: bool) -> None:
    name = f.__name__

    @body.typed(f)
    def resolve(ary: Any, indices_or_sections: Any, axis: Any = None) -> Any:
        signature = "ary, indices_or_sections, axis=0"
        return _split(name, ary, indices_or_sections, known(axis, 0), uneven, signature)


_splitter(np.split, False)
_splitter(np.array_split, True)


@body.typed(np.vsplit)
def _(ary: Any, indices_or_sections: Any) -> Any:
    return _split("vsplit", ary, indices_or_sections, 0, False, "ary, indices_or_sections")


@body.typed(np.dsplit)
def _(ary: Any, indices_or_sections: Any) -> Any:
    return _split("dsplit", ary, indices_or_sections, 2, False, "ary, indices_or_sections")


@body.typed(np.hsplit)
def _(ary: Any, indices_or_sections: Any) -> Any:
    axis = 0 if ndim(ary) == 1 else 1
    return _split("hsplit", ary, indices_or_sections, axis, False, "ary, indices_or_sections")


method_is(repeat=np.repeat)
__all__ = ["append", "fails"]
