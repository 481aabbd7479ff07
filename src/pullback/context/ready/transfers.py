"""How operations pass dependence on (for `sparsity`): what is known of functions, and a rule for
each kind. What has no rule makes everything depend on everything, nonlinearly."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..protocols import has_special_methods
from .dependence import (
    EMPTY,
    Deps,
    Untraceable,
    bilinear,
    each,
    empty,
    join,
    nonlinear,
    nonlinear_in_both,
    quotient,
    same,
    shape_of,
    single,
    union,
    union_of,
)
from .functions import ADDS, IN_PLACE, SHAPES, VIEWS, in_

_LINEAR = {operator.add, operator.sub, operator.iadd, operator.isub, np.add, np.subtract}
_PRODUCTS = {operator.mul, operator.imul, np.multiply}
_QUOTIENTS = {operator.truediv, operator.itruediv, np.divide}
_ONE_LINEAR = {operator.neg, operator.pos, np.negative, np.positive, abs, np.absolute, float,
               np.float64, np.float32, np.float16, np.longdouble}  # fmt: skip
_EITHER = {np.maximum, np.minimum, np.fmax, np.fmin}
_BINARY = {
    **dict.fromkeys(_LINEAR | _EITHER, join),
    **dict.fromkeys(_PRODUCTS, bilinear),
    **dict.fromkeys(_QUOTIENTS, quotient),
}
_POWERS = (operator.pow, operator.ipow, np.power)
_PRODUCTS_OF_MATRICES = (operator.matmul, operator.imatmul, np.matmul, np.dot)
_REARRANGES = {
    operator.getitem, np.reshape, np.transpose, np.ravel, np.concatenate, np.stack, np.vstack,
    np.hstack, np.column_stack, np.flip, np.roll, np.repeat, np.tile, np.broadcast_to, np.squeeze,
    np.expand_dims, np.diag, np.copy, np.array, np.asarray, np.atleast_1d, np.atleast_2d, np.append,
    np.swapaxes, np.moveaxis, np.take, np.triu, np.tril, np.diagonal, np.ascontiguousarray,
}  # fmt: skip
_COPIES = (np.array, np.asarray, np.copy, np.ascontiguousarray)


def rule(ctx: Any, f: Any, out: Any, args: Any, kw: dict[str, Any]) -> Any:
    """The dependence of the result of ``f``."""
    given = [ctx.of(x) for x in args]
    full = [empty(shape_of(x)) if d is None else d for d, x in zip(given, args)]
    if in_(f, _BINARY) and len(args) == 2 and not kw:
        return each(_BINARY[f], *full)
    if in_(f, _ONE_LINEAR) and len(args) == 1 and not kw:
        return full[0]
    if in_(f, _POWERS) and len(args) == 2 and not kw:
        return each(nonlinear_in_both, *full)
    if isinstance(f, np.ufunc) and f.signature is None and not kw:
        return each(lambda *ds: nonlinear(union(ds)), *full)
    if f is np.ndarray.astype and isinstance(args[0], np.ndarray):
        return full[0]
    if f is np.where and len(args) == 3 and not kw:
        return each(join, *np.broadcast_arrays(full[1], full[2], np.empty(np.shape(out)))[:2])
    if in_(f, (np.sum, np.mean)) and len(args) <= 2 and not set(kw) - {"axis"}:
        return sums(full[0], args[1] if len(args) > 1 else kw.get("axis"))
    if in_(f, _PRODUCTS_OF_MATRICES) and not kw and all(x.ndim in (1, 2) for x in full):
        return product(args, given, full)
    if in_(f, _REARRANGES) and not any(d is not None for d in given[1:]):
        moved = rearranged(ctx, f, args, kw, full[0])
        if moved is not None and np.shape(moved) == np.shape(out):
            return moved
    everything = union_of([*given, *(ctx.of(x) for x in kw.values())])
    return same(everything if in_(f, ADDS) else nonlinear(everything), np.shape(out))


def sums(d: np.ndarray, axis: Any) -> np.ndarray:
    if axis is None:
        return single(union(d))
    axes = {int(k) % d.ndim for k in np.atleast_1d(axis)}
    kept = [k for k in range(d.ndim) if k not in axes]
    moved = d.transpose(*kept, *axes)
    out = np.empty(moved.shape[: len(kept)], object)
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


def rearranged(ctx: Any, f: Any, args: Any, kw: Any, first: Any) -> Any:
    """Do the same with the dependences."""
    if f is operator.getitem and any(ctx.arrays.is_decision(x) for x in _several(args[1])):
        return None
    if in_(f, _COPIES):
        return first.copy()
    if isinstance(args[0], (list, tuple)) and f is not operator.getitem:
        first = [empty(shape_of(x)) if ctx.of(x) is None else ctx.of(x) for x in args[0]]
    kw = {k: v for k, v in kw.items() if k not in ("dtype", "out")}
    moved = np.asarray(f(first, *args[1:], **kw), object)
    return each(lambda d: d if isinstance(d, Deps) else EMPTY, moved) if moved.ndim else moved


def _several(index: Any) -> Any:
    return index if isinstance(index, tuple) else (index,)


# -- what a result is ------------------------------------------------------------------------------
def result(ctx: Any, f: Any, out: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """``out``, a float or an array of floats, with its dependence."""
    args, kw, written = _written(f, out, args, kw)
    if written is None:
        if isinstance(out, np.ndarray) and ctx.arrays.is_view(out, args) and in_(f, VIEWS):
            return out
        return ctx.mark(out, rule(ctx, f, out, args, kw))
    ctx.mark(written, rule(ctx, f, out, args, kw))
    return out


def _written(f: Any, out: Any, args: Any, kw: Any) -> Any:
    """Apart: the arguments that are read, and the array among them that was written to."""
    if in_(f, IN_PLACE):
        return args, kw, out if out is args[0] else None
    if isinstance(f, np.ufunc) and len(args) > f.nin and "where" not in kw:
        return args[: f.nin], kw, out
    if isinstance(f, np.ufunc) and kw.get("out") is not None and "where" not in kw:
        return args, {k: v for k, v in kw.items() if k != "out"}, out
    return args, kw, None


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
    decided = any(map(ctx.arrays.is_decision, _several(index)))
    if target.dtype.kind == "b" and (decided or ctx.arrays.is_decision(value)):
        ctx.arrays.set_decision(target)
        return
    deps = ctx.of(target)
    if deps is None:
        if new is None and not decided:
            return
        ctx.mark(target, empty(target.shape))
        deps = ctx.of(target)
    new = empty(np.shape(value)) if new is None else new
    if decided or target.dtype == object:
        deps[...] = each(lambda d: join(d, union(new)), deps)
    elif new.ndim:
        deps[index] = new
    else:
        place = deps[index]
        if isinstance(place, np.ndarray):
            deps[index] = each(lambda _: new.item(), place)
        else:
            deps[index] = new.item()


def overwrite(ctx: Any, args: Any, kw: Any) -> None:
    """A function that returned nothing may have written anything to its arrays."""
    given = (*args, *kw.values())
    everything = nonlinear(union_of(map(ctx.of, given)))
    arrays = [x for x in given if isinstance(x, np.ndarray)]
    if not arrays and everything.inputs:
        raise Untraceable("it may be kept somewhere")
    decided = any(map(ctx.arrays.is_decision, arrays))
    for x in arrays:
        if x.dtype.kind == "b" and (decided or everything.inputs):
            ctx.arrays.set_decision(x)
        elif x.dtype.kind == "f":
            ctx.mark(x, same(everything, x.shape))
        elif everything.inputs or decided:
            raise Untraceable(f"it may be written to an array of {x.dtype}")


def combines_objects(args: Iterable[Any]) -> bool:
    """Whether items are combined by methods in Python, which C would call plainly."""
    return any(
        has_special_methods(type(v))
        for x in args
        for v in (x if isinstance(x, (list, tuple)) else (x,))
    )
