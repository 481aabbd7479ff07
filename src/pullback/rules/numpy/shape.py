"""Other arrangements of the same elements: transposes, new and dropped axes, flips, rolls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import prims
from ..registry import body, method_is
from ..source import Writer, function
from ..types import dtype, is_array, is_complex, is_none, is_scalar, is_tuple, known, ndim
from .assign import assign, calling
from .create import lengths
from .loops import make
from .ufuncs import fails, fails_as

VIEWS = {"view_reshape": prims.reshape, "view_transpose": prims.transpose}


# -- permutations of axes --------------------------------------------------------------------------
def _permuted(a: Any, perm: tuple[int, ...], signature: str, x: str) -> Any:
    if is_tuple(a):
        source = f"def transpose({signature}):\n    return view_transpose(array({x}), PERM)\n"
        return function("transpose", source, PERM=perm, array=np.array, **VIEWS)
    source = f"def transpose({signature}):\n    return view_transpose({x}, PERM)\n"
    return function("transpose", source, PERM=perm, **VIEWS)


def _axis(axis: Any, rank: int) -> int:
    return int(np.lib.array_utils.normalize_axis_index(axis, rank))


def _permutation(axes: Any, rank: int) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(rank))[::-1]
    perm = tuple(_axis(k, rank) for k in axes)
    if sorted(perm) != list(range(rank)):
        matches = len(perm) == rank
        raise ValueError("repeated axis in transpose" if matches else "axes don't match array")
    return perm


def checked(name: str, signature: str, make_body: Callable[[], Any]) -> Any:
    """What ``make_body`` makes, or a function that raises as it does."""
    try:
        return make_body()
    except ValueError as error:
        return fails_as(name, signature, error)


@body.typed(np.transpose, np.permute_dims)
def _(a: Any, axes: Any = None) -> Any:
    signature = "a, axes=None"
    if is_tuple(a):
        return calling(np.transpose, signature, "array(a), axes", array=np.array)

    def build() -> Any:
        return _permuted(a, _permutation(known(axes), ndim(a)), signature, "a")

    return checked("transpose", signature, build)


def transpose_method(x: Any, *axes: Any) -> Any:
    return x.transpose(*axes)


@body.typed(transpose_method)
def _(x: Any, *axes: Any) -> Any:
    wanted: Any = tuple(known(a) for a in axes)
    if len(wanted) == 1 and not isinstance(wanted[0], int):
        wanted = wanted[0]
    signature = ", ".join(["x", *(f"axis{k}" for k in range(len(axes)))])

    def build() -> Any:
        return _permuted(x, _permutation(wanted or None, ndim(x)), signature, "x")

    return checked("transpose", signature, build)


@body.typed(np.matrix_transpose)
def _(x: Any) -> Any:
    axes = list(range(ndim(x)))
    axes[-2:] = axes[:-3:-1]
    return _permuted(x, tuple(axes), "x", "x")


@body.typed(np.swapaxes)
def _(a: Any, axis1: Any, axis2: Any) -> Any:
    def build() -> Any:
        perm = list(range(ndim(a)))
        i, j = _axis(known(axis1), ndim(a)), _axis(known(axis2), ndim(a))
        perm[i], perm[j] = j, i
        return _permuted(a, tuple(perm), "a, axis1, axis2", "a")

    return checked("swapaxes", "a, axis1, axis2", build)


@body.typed(np.moveaxis)
def _(a: Any, source: Any, destination: Any) -> Any:
    def build() -> Any:
        probe = np.empty(tuple(range(1, ndim(a) + 1)))  # lengths that name the axes
        moved = np.moveaxis(probe, known(source), known(destination))
        perm = tuple(n - 1 for n in moved.shape)
        return _permuted(a, perm, "a, source, destination", "a")

    return checked("moveaxis", "a, source, destination", build)


# -- axes of length one ----------------------------------------------------------------------------
def indexed(a: Any, index: str, signature: str, x: str = "a") -> Callable[..., Any]:
    """A function of that signature: ``x[index]``."""
    value = f"{x}[{index}]" if index else x
    return function("indexed", f"def indexed({signature}):\n    return {value}\n")


@body.typed(np.expand_dims)
def _(a: Any, axis: Any) -> Any:
    def build() -> Any:
        wanted = known(axis)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        rank = ndim(a) + len(wanted)
        new = {_axis(k, rank) for k in wanted}
        return indexed(a, ", ".join("None" if k in new else ":" for k in range(rank)), "a, axis")

    return checked("expand_dims", "a, axis", build) if is_array(a) else None


@body.typed(np.squeeze)
def _(a: Any, axis: Any = None) -> Any:
    """Without ``axis`` the rank of the result depends on lengths: not done."""
    if is_none(axis) or not is_array(a):
        return None

    def build() -> Any:
        wanted = known(axis)
        dropped = {_axis(k, ndim(a)) for k in (wanted if isinstance(wanted, tuple) else (wanted,))}
        w = Writer()
        with w("def squeeze(a, axis):"):
            for k in dropped:
                with w(f"if dim(a, {k}) != 1:"):
                    message = "cannot select an axis to squeeze out which has size not equal to one"
                    w(f"raise ValueError({message!r})")
            w(f"return a[{', '.join('0' if k in dropped else ':' for k in range(ndim(a)))}]")
        return make("squeeze", w)

    return checked("squeeze", "a, axis", build)


def _at_least(f: Any, rank: int) -> None:
    @body.typed(f)
    def resolve(x: Any) -> Any:
        if not is_array(x):
            return calling(f, "x", "array(x)", array=np.array)
        if ndim(x) >= rank:
            return indexed(x, "", "x", "x")
        if rank == 3:
            index = {0: "None, None, None", 1: "None, :, None", 2: ":, :, None"}[ndim(x)]
        else:
            index = ", ".join(["None"] * (rank - ndim(x)) + [":"] * ndim(x))
        return indexed(x, index, "x", "x")


_at_least(np.atleast_1d, 1)
_at_least(np.atleast_2d, 2)
_at_least(np.atleast_3d, 3)


@body.typed(np.broadcast_to)
def _(array: Any, shape: Any, subok: Any = None) -> Any:
    """A copy: NumPy's view may not be written to."""
    sizes = lengths(shape)
    if sizes is None:
        return None
    if is_tuple(array):
        signature = "array, shape, subok=False"
        return calling(np.broadcast_to, signature, "asarray(array), shape", asarray=np.asarray)
    w = Writer()
    with w("def broadcast_to(array, shape, subok=False):"):
        w(f'out = empty(TO, "C"{"".join(f", {n}" for n in sizes)})')
        w("assign(out, array)")
        w("return instead_of_view(out, array)" if is_array(array) else "return out")
    if ndim(array) > len(sizes):
        message = "input operand has more dimensions than allowed"
        return fails("broadcast_to", "array, shape", "ValueError", message)
    scope = {"assign": assign, "instead_of_view": prims.instead_of_view}
    return make("broadcast_to", w, TO=dtype(array), **scope)


@body.typed(np.broadcast_arrays)
def _(*args: Any, subok: Any = None) -> Any:
    """Copies, where NumPy gives views that may not be written to."""
    if not all(map(is_array, args)):
        return None
    rank = max(map(ndim, args), default=0)
    names = [f"x{k}" for k in range(len(args))]
    w = Writer()
    with w(f"def broadcast_arrays({', '.join(names)}):"):
        for axis in range(rank):
            sizes = [
                f"dim({x}, {axis - rank + ndim(a)})"
                for x, a in zip(names, args)
                if axis - rank + ndim(a) >= 0
            ]
            w(f"n{axis} = {sizes[0]}")
            for d in sizes[1:]:
                w(f"n{axis} = select(n{axis} == 1, {d}, n{axis})")
        shape = "".join(f"n{axis}, " for axis in range(rank))
        w(f"return ({', '.join(f'to({x}, ({shape}))' for x in names)},)")
    return make("broadcast_arrays", w, to=np.broadcast_to)


@body.typed(np.lib.stride_tricks.sliding_window_view)
def _(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """Of vectors; a copy, where NumPy gives a view that may not be written to."""
    return _windows if ndim(x) == 1 and is_scalar(window_shape) else None


def _windows(x: Any, window_shape: int, axis: Any = None) -> Any:
    count = x.shape[0] - window_shape + 1
    if count < 1:
        raise ValueError("window shape cannot be larger than input array shape")
    out = np.empty((count, window_shape), x.dtype)
    for i in range(count):
        for j in range(window_shape):
            out[i, j] = x[i + j]
    return prims.instead_of_view(out, x)


# -- flips and rolls -------------------------------------------------------------------------------
def _flipped(a: Any, axes: Any, signature: str, x: str) -> Any:
    rank = ndim(a)
    wanted = range(rank) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    back = {_axis(k, rank) for k in wanted}
    return indexed(a, ", ".join("::-1" if k in back else ":" for k in range(rank)), signature, x)


@body.typed(np.flip)
def _(m: Any, axis: Any = None) -> Any:
    return checked("flip", "m, axis=None", lambda: _flipped(m, known(axis), "m, axis=None", "m"))


@body.typed(np.flipud)
def _(m: Any) -> Any:
    return checked("flipud", "m", lambda: _flipped(m, 0, "m", "m"))


@body.typed(np.fliplr)
def _(m: Any) -> Any:
    return checked("fliplr", "m", lambda: _flipped(m, 1, "m", "m"))


@body.typed(np.rot90)
def _(m: Any, k: Any = None, axes: Any = None) -> Any:
    if ndim(m) != 2 or not is_none(axes):
        return None
    turned = {0: "m", 1: "m.T[::-1]", 2: "m[::-1, ::-1]", 3: "m[::-1].T"}[known(k, 1) % 4]
    return function("rot90", f"def rot90(m, k=1):\n    return {turned}\n")


def _rolled(a: Any, shift: Any, axis: int) -> Callable[..., Any]:
    lead = ":, " * axis
    w = Writer()
    with w("def roll(a, shift, axis=None):"):
        w(f"n = dim(a, {axis})")
        w('out = empty(TO, "C"' + "".join(f", dim(a, {k})" for k in range(ndim(a))) + ")")
        with w("if n > 0:"):
            w("s = shift % n")
            w(f"assign(out[{lead}s:], a[{lead}: n - s])")
            w(f"assign(out[{lead}:s], a[{lead}n - s :])")
        w("return out")
    return make("roll", w, TO=dtype(a), assign=assign)


@body.typed(np.roll)
def _(a: Any, shift: Any, axis: Any = None) -> Any:
    if is_tuple(a):
        return calling(np.roll, "a, shift, axis=None", "array(a), shift, axis", array=np.array)
    if not is_scalar(shift) or not is_array(a):
        return None
    if is_none(axis) and ndim(a) != 1:
        return _roll_all
    return checked(
        "roll", "a, shift, axis=None", lambda: _rolled(a, shift, _axis(known(axis, 0), ndim(a)))
    )


def _roll_all(a: Any, shift: int, axis: Any = None) -> Any:
    return np.reshape(np.roll(np.ravel(a), shift), a.shape)


# -- parts of complex arrays, facts ----------------------------------------------------------------
@body.typed(np.real)
def _(val: Any) -> Any:
    if not is_array(val):
        return None
    return _real_view if dtype(val).kind == "c" else indexed(val, "", "val", "val")


def _real_view(val: Any) -> Any:
    return prims.real_view(val)


def _imag_view(val: Any) -> Any:
    return prims.imag_view(val)


def _zeros_like(val: Any) -> Any:
    return np.zeros_like(val)


@body.typed(np.imag)
def _(val: Any) -> Any:
    if not is_array(val):
        return None
    return _imag_view if dtype(val).kind == "c" else _zeros_like


@body(np.shape)
def shape(a: Any) -> Any:
    return a.shape


@body(np.ndim)
def rank(a: Any) -> int:
    return int(a.ndim)


@body.typed(np.size)
def _(a: Any, axis: Any = None) -> Any:
    return _size if is_none(axis) else _length


def _size(a: Any, axis: Any = None) -> int:
    return int(a.size)


def _length(a: Any, axis: int) -> int:
    return int(a.shape[axis])


def conjugate_method(x: Any) -> Any:
    return np.conjugate(x)


@body.typed(conjugate_method)
def _(x: Any) -> Any:
    """``x.conj()`` of a real array is ``x`` itself, that of `np.conjugate` a copy."""
    if is_complex(x):
        return calling(np.conjugate, "x", "x")
    return function("conjugate", "def conjugate(x):\n    return x\n")


method_is(
    transpose=transpose_method,
    swapaxes=np.swapaxes, squeeze=np.squeeze, diagonal=np.diagonal, trace=np.trace,
    conj=conjugate_method, conjugate=conjugate_method,
)  # fmt: skip
