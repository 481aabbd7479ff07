"""What numbers and arrays depend on, and how operations pass that on (for `sparsity`)."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ...ir import intrinsics
from ..protocols import has_special_methods


@dataclass(frozen=True, slots=True)
class Deps:
    """The inputs that a number depends on, and the pairs on which it depends nonlinearly."""

    inputs: frozenset[int]
    pairs: frozenset[tuple[int, int]]


class Untraceable(Exception):
    """Something that depends on the input in a way that is not followed."""


EMPTY = Deps(frozenset(), frozenset())


def same(d: Deps, shape: tuple[int, ...]) -> np.ndarray:
    return np.full(shape, d, object)


def empty(shape: tuple[int, ...]) -> np.ndarray:
    return same(EMPTY, shape)


def single(d: Deps) -> np.ndarray:
    return same(d, ())


def inputs(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape, object)
    for n, k in enumerate(np.ndindex(x.shape)):
        out[k] = Deps(frozenset((n,)), frozenset())
    return out


def union(ds: Any) -> Deps:
    """Of an array or several."""
    ds = list(ds.flat if isinstance(ds, np.ndarray) else ds)
    return Deps(
        frozenset().union(*(d.inputs for d in ds)), frozenset().union(*(d.pairs for d in ds))
    )


def join(a: Deps, b: Deps) -> Deps:
    if a is EMPTY:
        return b
    return a if b is EMPTY else Deps(a.inputs | b.inputs, a.pairs | b.pairs)


def bilinear(a: Deps, b: Deps) -> Deps:
    pairs = {(min(i, j), max(i, j)) for i in a.inputs for j in b.inputs}
    return Deps(a.inputs | b.inputs, a.pairs | b.pairs | pairs)


def nonlinear(a: Deps) -> Deps:
    return bilinear(a, a)


def quotient(a: Deps, b: Deps) -> Deps:
    return join(bilinear(a, b), nonlinear(b))


def nonlinear_in_both(a: Deps, b: Deps) -> Deps:
    return nonlinear(join(a, b))


def each(f: Any, *arrays: np.ndarray) -> np.ndarray:
    arrays = np.broadcast_arrays(*arrays, subok=True) if len(arrays) > 1 else list(arrays)
    out = np.empty(arrays[0].shape, object)
    for k in np.ndindex(out.shape):
        out[k] = f(*(a[k] for a in arrays))
    return out


def pattern_of(deps: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros((deps.size, n), bool)
    for row, d in zip(out, deps.flat):
        row[list(d.inputs)] = True
    return out


# -- arrays ----------------------------------------------------------------------------------------
def root_of(x: np.ndarray) -> np.ndarray:
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


class Arrays:
    """The dependence of arrays: kept for the array that owns the memory, found for its views."""

    def __init__(self) -> None:
        self._roots: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._decisions: dict[int, np.ndarray] = {}

    def of(self, x: np.ndarray) -> np.ndarray | None:
        """A view of the root's dependence; writing to it is writing to the root's."""
        root = root_of(x)
        found = self._roots.get(id(root))
        return None if found is None else _same_view(x, root, found[1])

    def set(self, x: np.ndarray, deps: Any) -> None:
        found = self.of(x)
        if found is None:
            root = root_of(x)
            size = root.size if root.flags.c_contiguous or root.flags.f_contiguous else 0
            if not size and root.size:
                raise ValueError("an array with gaps that owns its memory")
            self._roots[id(root)] = (root, empty((size,)))
            found = self.of(x)
        assert found is not None
        found[...] = deps

    def set_decision(self, x: np.ndarray) -> None:
        self._decisions[id(x)] = x

    def is_decision(self, x: Any) -> bool:
        return id(x) in self._decisions

    def is_view(self, x: np.ndarray, of: Iterable[Any]) -> bool:
        return any(isinstance(a, np.ndarray) and root_of(a) is root_of(x) for a in of)


def _same_view(x: np.ndarray, root: np.ndarray, deps: np.ndarray) -> np.ndarray:
    """The elements of ``deps`` (flat, in memory order of the root) that lie under ``x``."""
    item = root.itemsize
    start = (x.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // item
    strides = tuple(s // item * deps.itemsize for s in x.strides)
    return np.lib.stride_tricks.as_strided(deps[start:], x.shape, strides)


# -- functions -------------------------------------------------------------------------------------
DESCRIBE = frozenset(
    (
        len, isinstance, type, id, np.shape, np.ndim, np.size, operator.is_, operator.is_not,
        intrinsics.get_len, np.zeros_like, np.ones_like, np.empty_like, callable, hasattr, print,
    )
)  # fmt: skip
"""Their results do not depend on values."""

COMBINES = frozenset((sum, max, min, builtins.any, builtins.all, math.fsum, math.prod))
TAKES_ITEMS = COMBINES | {
    list, tuple, iter, enumerate, zip, reversed, map, filter, intrinsics.unpack, intrinsics.spread,
    intrinsics.unpack_ex, intrinsics.list_extend,
}  # fmt: skip
"""What they get of an array is its items."""

MOVES_REFERENCES = frozenset(
    (
        next, operator.getitem, setattr, intrinsics.build_list, intrinsics.build_tuple,
        intrinsics.build_map, list.append, list.insert, list.extend, list.pop, list.reverse,
        list.copy, intrinsics.list_append, intrinsics.list_to_tuple, intrinsics.dict_merge,
        dict.get, dict.items, dict.values, dict.keys, dict.setdefault, dict.update, dict.pop, slice,
    )
)  # fmt: skip
"""What they put or find in containers are the very objects."""

SAFE_WITH_ITERATORS = (
    MOVES_REFERENCES | DESCRIBE | (TAKES_ITEMS - COMBINES) | {getattr, operator.setitem}
)
SHAPES = frozenset(("shape", "ndim", "size", "dtype", "strides", "nbytes", "itemsize", "flags"))
IN_PLACE = frozenset(
    (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow)
)

_LINEAR = {operator.add, operator.sub, operator.iadd, operator.isub, np.add, np.subtract}
_PRODUCTS = {operator.mul, operator.imul, np.multiply}
_QUOTIENTS = {operator.truediv, operator.itruediv, np.divide}
_ONE_LINEAR = {operator.neg, operator.pos, np.negative, np.positive, abs, np.absolute, float,
               np.float64}  # fmt: skip
_EITHER = {np.maximum, np.minimum, np.fmax, np.fmin}
_BINARY = {
    **dict.fromkeys(_LINEAR | _EITHER, join),
    **dict.fromkeys(_PRODUCTS, bilinear),
    **dict.fromkeys(_QUOTIENTS, quotient),
}
_REARRANGES = {
    operator.getitem, np.reshape, np.transpose, np.ravel, np.concatenate, np.stack, np.vstack,
    np.hstack, np.column_stack, np.flip, np.roll, np.repeat, np.tile, np.broadcast_to, np.squeeze,
    np.expand_dims, np.diag, np.copy, np.array, np.asarray, np.atleast_1d, np.atleast_2d, np.append,
    np.swapaxes, np.moveaxis, np.take, np.triu, np.tril, np.trace, np.diagonal,
}  # fmt: skip


_OTHERWISE = ("sort", "partition", "resize", "compress")
"""Methods of arrays that do something else than the function of their name."""


def unbound(f: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """``x.sum()`` as ``np.sum(x)``; other methods of C with their object first."""
    owner = getattr(f, "__self__", None)
    if isinstance(owner, (np.ndarray, float)) and not isinstance(owner, type):
        name = f.__name__
        alike = isinstance(owner, np.ndarray) and name not in _OTHERWISE
        found = getattr(np, name, None) if alike else None
        if name in ("reshape", "transpose") and len(args) > 1:
            args = (args,)  # x.reshape(2, 3)
        return (found or getattr(type(owner), name)), (owner, *args)
    if isinstance(owner, (list, dict, tuple)):
        return getattr(type(owner), f.__name__), (owner, *args)
    return f, args


def rule(ctx: Any, f: Any, out: Any, args: Any, kw: dict[str, Any], given: list[Any]) -> Any:
    """The dependence of the result of ``f``."""
    full = [empty(np.shape(x)) if d is None else d for d, x in zip(given, args)]
    if in_(f, _BINARY) and len(args) == 2 and not kw:
        return each(_BINARY[f], *full)
    if in_(f, _ONE_LINEAR) and len(args) == 1:
        return full[0]
    if f in (operator.pow, operator.ipow, np.power) and len(args) == 2:
        return each(nonlinear_in_both, *full)
    if isinstance(f, np.ufunc) and not kw:
        return each(lambda *ds: nonlinear(union(ds)), *full)
    if f is np.where and len(args) == 3:
        return each(join, *np.broadcast_arrays(full[1], full[2], np.empty(np.shape(out)))[:2])
    if f in (np.sum, np.mean) and len(args) <= 2 and not set(kw) - {"axis"}:
        return sums(full[0], args[1] if len(args) > 1 else kw.get("axis"))
    if f in (operator.matmul, np.matmul, np.dot) and np.ndim(args[0]) in (1, 2):
        return product(args, given, full)
    if in_(f, _REARRANGES) and not any(d is not None for d in given[1:]):
        moved = rearranged(ctx, f, args, kw, given)
        if moved is not None and np.shape(moved) == np.shape(out):
            return moved
    everything = union_of(given)
    if f not in (max, min, sum, math.fsum):
        everything = nonlinear(everything)
    return same(everything, np.shape(out))


def union_of(given: Iterable[Any]) -> Deps:
    total = EMPTY
    for d in given:
        if d is not None:
            total = join(total, union(d))
    return total


def sums(d: np.ndarray, axis: Any) -> np.ndarray:
    if axis is None:
        return single(union(d))
    moved = np.moveaxis(d, axis, -1)
    out = np.empty(moved.shape[:-1], object)
    for k in np.ndindex(out.shape):
        out[k] = union(moved[k])
    return out


def product(args: Any, given: Any, full: Any) -> np.ndarray:
    """A constant that is zero passes nothing on."""
    a, b = full[0], full[1]
    left, right = np.asarray(args[0]), np.asarray(args[1])
    one, two = a.reshape(-1, a.shape[-1]), b.reshape(b.shape[0], -1)
    left, right = left.reshape(one.shape), right.reshape(two.shape)
    out = np.empty((len(one), two.shape[1]), object)
    for i, j in np.ndindex(out.shape):
        total = EMPTY
        for k in range(one.shape[1]):
            zero = (given[0] is None and left[i, k] == 0) or (given[1] is None and right[k, j] == 0)
            if not zero:
                total = join(total, bilinear(one[i, k], two[k, j]))
        out[i, j] = total
    return out.reshape((*a.shape[:-1], *b.shape[1:]))


def rearranged(ctx: Any, f: Any, args: Any, kw: Any, given: Any) -> Any:
    """Do the same with the dependences."""
    if f is operator.getitem and any(ctx.arrays.is_decision(x) for x in _several(args[1])):
        return None
    if f in (np.array, np.asarray, np.copy):
        return given[0].copy()
    first = given[0]
    if isinstance(args[0], (list, tuple)) and f not in (operator.getitem,):
        first = [empty(np.shape(x)) if ctx.of(x) is None else ctx.of(x) for x in args[0]]
    if f in (np.trace,):
        return None
    kw = {k: v for k, v in kw.items() if k != "dtype"}
    moved = np.asarray(f(first, *args[1:], **kw), object)
    return each(lambda d: d if isinstance(d, Deps) else EMPTY, moved) if moved.ndim else moved


def is_nobody(owner: Any) -> bool:
    """Whether a callable belongs to no object that could keep what it is given."""
    return owner is None or isinstance(owner, (ModuleType, type, np.ufunc))


def _several(index: Any) -> Any:
    return index if isinstance(index, tuple) else (index,)


def in_(f: Any, functions: Any) -> bool:
    """Whether ``f`` is one of the functions, by identity or an equality of C."""
    try:
        return f in functions
    except TypeError:
        return False


def is_opaque(x: Any) -> bool:
    """Whether numbers may come out of ``x`` that nothing is known of."""
    known = (list, tuple, str, bytes, np.ndarray, np.generic, range, dict, type)
    return hasattr(x, "__iter__") and not isinstance(x, known)


def combines_objects(args: Iterable[Any]) -> bool:
    """Whether items are combined by methods in Python, which C would call plainly."""
    return any(
        has_special_methods(type(v))
        for x in args
        for v in (x if isinstance(x, (list, tuple)) else (x,))
    )


def attribute(out: Any, args: Any) -> Any:
    """What is read from an array: a view, a method, or what depends on its shape alone."""
    owner, name = args[:2]
    if isinstance(owner, np.ndarray):
        if isinstance(out, np.ndarray) or callable(out) or name in SHAPES:
            return out
        raise Untraceable(f"the attribute {name} of an array")
    if isinstance(owner, (float, np.generic)) and not callable(out) and out is not owner:
        raise Untraceable(f"the attribute {name} of a number")
    return out


# -- writing ---------------------------------------------------------------------------------------
def assign(ctx: Any, args: Any) -> None:
    """``target[index] = value``."""
    target, index, value = args
    deps, new = None, ctx.of(value)
    if not isinstance(target, np.ndarray):
        holds = isinstance(target, (list, dict)) or has_special_methods(type(target))
        if new is not None and (not holds or isinstance(index, slice)):
            raise Untraceable(f"an assignment to {type(target).__name__}")
        return  # a container holds the object itself
    deps = ctx.of(target)
    if deps is None:
        if new is None and not any(map(ctx.arrays.is_decision, _several(index))):
            return
        ctx.mark(target, empty(target.shape))
        deps = ctx.of(target)
    new = empty(np.shape(value)) if new is None else new
    if any(map(ctx.arrays.is_decision, _several(index))) or target.dtype == object:
        deps[...] = each(lambda d: join(d, union(new)), deps)
    elif new.ndim:
        deps[index] = new
    else:
        place = deps[index]
        if isinstance(place, np.ndarray):
            deps[index] = each(lambda _: new.item(), place)
        else:
            deps[index] = new.item()


def overwrite(ctx: Any, args: Any, kw: Any, given: Any) -> None:
    """A function that returned nothing may have written anything to its arrays."""
    everything = nonlinear(union_of(given))
    arrays = any(isinstance(x, np.ndarray) for x in (*args, *kw.values()))
    if not arrays and everything.inputs:
        raise Untraceable("it may be kept somewhere")
    for x in (*args, *kw.values()):
        if isinstance(x, np.ndarray):
            ctx.mark(x, same(everything, x.shape))
