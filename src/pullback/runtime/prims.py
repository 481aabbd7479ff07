"""The primitives of flat typed IR: what array code is made of once everything else is entered.

Each is a plain function here, with the meaning that Python and NumPy give it; `native_prims` gives
the same ones machine code. Dimensions and indices are separate integers, never tuples. Parameters
called ``dtype``, ``order``, ``spec``, ``perm``, ``axis``, ``offset`` and ``type`` are constants.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .decompositions import eig, eigh, lstsq, pinv, qr, svd, svd_full
from .linalg import (
    add_product,
    cholesky,
    det,
    detsign,
    inv,
    logabsdet,
    matmul,
    product,
    slogdet,
    solve,
)
from .tape import Tape, tape_at

__all__ = [
    "accumulate",
    "add_product",
    "assign",
    "cast",
    "cholesky",
    "contiguous",
    "det",
    "detsign",
    "dim",
    "eig",
    "eigh",
    "empty",
    "heap_empty",
    "heap_own",
    "heap_zeros",
    "heap_zeros_like",
    "imag",
    "imag_view",
    "index",
    "instead_of_view",
    "inv",
    "likely",
    "load",
    "logabsdet",
    "lstsq",
    "matmul",
    "nbytes_of",
    "null",
    "overlap_copy",
    "own",
    "pack",
    "peek",
    "pinv",
    "plus",
    "poke",
    "product",
    "pydiv",
    "pyfloordiv",
    "pymod",
    "qr",
    "real",
    "real_view",
    "record",
    "reshape",
    "same_layout_zeros",
    "select",
    "slice_count",
    "slice_start",
    "slogdet",
    "solve",
    "store",
    "subview",
    "svd",
    "svd_full",
    "transpose",
    "unit",
    "unrecord",
    "wrap",
    "zeros",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Order = Literal["C", "F"]


# -- indices ---------------------------------------------------------------------------------------
def index(i: int, n: int, axis: int = 0) -> int:
    """The index ``i`` of an axis of length ``n``, counted from its start: 0 <= result < n.

    IndexError, naming ``axis``, if there is no such element."""
    k = i + n if i < 0 else i
    if k < 0 or k >= n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return k


def wrap(i: int, n: int) -> int:
    """The index ``i`` counted from the start, unchecked: what code without bounds checks does."""
    return i + n if i < 0 else i


def slice_start(start: int | None, step: int, n: int) -> int:
    """The first index of ``start::step`` on an axis of length ``n``, clipped as Python clips it.

    ValueError if ``step`` is zero."""
    return slice(start, None, step).indices(n)[0]


def slice_count(start: int | None, stop: int | None, step: int, n: int) -> int:
    """How many elements ``start:stop:step`` takes of an axis of length ``n``.

    ValueError if ``step`` is zero."""
    return len(range(*slice(start, stop, step).indices(n)))


def unit(n: int) -> bool:
    """Whether the length ``n`` is known to be 1 when the program is compiled; False if it only
    turns out to be. Passes put the answer in its place."""
    return False


def likely(c: bool) -> bool:
    """The condition ``c``, which is expected to be true."""
    return c


# -- arrays ----------------------------------------------------------------------------------------
def empty(dtype: Any, order: Order, *dims: int) -> Array:
    """An array with undefined elements; order "C" or "F". ValueError if a dimension is negative."""
    return np.empty(dims, dtype, order)


def zeros(dtype: Any, order: Order, *dims: int) -> Array:
    """An array of zeros; order "C" or "F". ValueError if a dimension is negative."""
    return np.zeros(dims, dtype, order)


def dim(x: Array, axis: int) -> int:
    """The length of an axis."""
    return x.shape[axis]


def load(x: Array, *idx: int) -> Any:
    """One element. One index an axis, each in range: natively nothing is checked."""
    return x[idx]


def store(x: Array, v: Any, *idx: int) -> None:
    """Set one element, cast to the array's dtype. One index an axis, each in range."""
    x[idx] = v


# -- views -----------------------------------------------------------------------------------------
SPEC_INTS = {"i": 1, "u": 2, "s": 3, ":": 0, "n": 0}
"""The steps of a `subview`, and how many integers each takes."""


def subview(x: Array, spec: str, *ints: int) -> Array:
    """Basic indexing as a view. ``spec`` has one character a step, each with its integers:

    - ``i`` an index (1 integer): the axis is dropped;
    - ``u`` a slice of step 1: start, count;
    - ``s`` a slice of any step: start, count, step;
    - ``:`` a whole axis; those that the spec does not reach stay whole too;
    - ``n`` a new axis of length 1.

    Indices and starts are counted from the start of the axis and in range, counts are >= 0."""
    rest = iter(ints)
    key: list[Any] = []
    for step in spec:
        if step == "i":
            key.append(next(rest))
        elif step == "n":
            key.append(None)
        elif step == ":":
            key.append(slice(None))
        else:
            key.append(_slice(next(rest), next(rest), next(rest) if step == "s" else 1))
    return x[(*key, ...)]


def _slice(start: int, count: int, step: int) -> slice:
    if count == 0:
        return slice(0, 0)
    stop = start + count * step
    return slice(start, stop if stop >= 0 else None, step)


def subview_ndim(ndim: int, spec: str) -> int:
    """The rank of a subview of an array of rank ``ndim``."""
    return ndim - spec.count("i") + spec.count("n")


def subview_layout(layout: str, ndim: int, spec: str) -> str:
    """The layout ("C", "F" or "A") that a subview has for certain, from that of its array."""
    if layout == "A":
        return "A"
    axes = spec.replace("n", "")
    axes += ":" * (ndim - len(axes))
    if layout == "F":
        axes = axes[::-1]
    tail = axes.lstrip("i")
    contiguous = not tail or (tail[0] in "u:" and set(tail[1:]) <= {":"})
    if not contiguous:
        return "A"
    if subview_ndim(ndim, spec) <= 1:
        return "C"
    return layout


def transpose(x: Array, perm: tuple[int, ...]) -> Array:
    """The view whose axis k is x's axis ``perm[k]``."""
    return np.transpose(x, perm)


def transpose_layout(layout: str, perm: tuple[int, ...]) -> str:
    """The layout that a transposed view has for certain."""
    if perm == tuple(range(len(perm))):
        return layout
    if perm == tuple(reversed(range(len(perm)))) and layout in "CF":
        return "F" if layout == "C" else "C"
    return "A"


def reshape(x: Array, *dims: int) -> Array:
    """A view of a C-contiguous array with other dimensions, none of them -1.

    ValueError if the number of elements differs."""
    if not x.flags.c_contiguous or any(d < 0 for d in dims):
        raise ValueError("reshape takes C-contiguous arrays and explicit dimensions")
    return x.reshape(dims)


def real_view(x: Array) -> Array:
    """The real parts of a complex array, as a view."""
    return x.real


def imag_view(x: Array) -> Array:
    """The imaginary parts of a complex array, as a view."""
    return x.imag


def same_layout_zeros(x: Array) -> Array:
    """Zeros of x's shape and dtype, in x's memory order: F if its first stride is the smaller."""
    return np.zeros(x.shape, x.dtype, _order(x))


def _order(x: Array) -> Order:
    if x.flags.c_contiguous or x.ndim < 2:
        return "C"
    return "F" if abs(x.strides[0]) < abs(x.strides[-1]) else "C"


def contiguous(x: Array) -> Array:
    """x in C order: itself if it is so already, else a copy. Not to be written to."""
    return np.ascontiguousarray(x)


def overlap_copy(src: Array, dst: Array) -> Array:
    """``src``, or a copy of it if writing to ``dst`` element by element could change elements of
    src not yet read: what gives overlapping assignment NumPy's meaning. Not to be written to."""
    same = (
        src.shape == dst.shape
        and src.strides == dst.strides
        and src.__array_interface__["data"][0] == dst.__array_interface__["data"][0]
    )
    return src if same or not np.may_share_memory(src, dst) else src.copy()


def instead_of_view(x: Array, base: Array) -> Array:
    """The copy ``x``, made of ``base`` where NumPy would have a view of it. Compilation refuses
    what could see the difference."""
    return x


def own(x: Array) -> Array:
    """A copy in ordinary memory, in x's memory order."""
    return np.array(x, order=_order(x))


# -- scalars ---------------------------------------------------------------------------------------
def real(x: Any) -> Any:
    """The real part of a scalar."""
    return x.real


def imag(x: Any) -> Any:
    """The imaginary part of a scalar."""
    return x.imag


def pydiv(a: Any, b: Any) -> Any:
    """``a / b`` of Python scalars: ZeroDivisionError where NumPy would give inf or nan."""
    return _python(a) / _python(b)


def pyfloordiv(a: Any, b: Any) -> Any:
    """``a // b`` of Python scalars, with ZeroDivisionError."""
    return _python(a) // _python(b)


def pymod(a: Any, b: Any) -> Any:
    """``a % b`` of Python scalars, with ZeroDivisionError."""
    return _python(a) % _python(b)


def _python(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def plus(s: Any, x: Any) -> Any:
    """``s + x`` in a sum whose order is free, as NumPy's is: terms may be added up in several
    places at once. Both are of one type, float or complex."""
    return s + x


def select(c: Any, a: Any, b: Any) -> Any:
    """``a`` if ``c`` else ``b``, both already computed."""
    return a if c else b


def cast(type: Any, x: Any) -> Any:
    """The scalar ``x`` as ``type``, a scalar type named as NumPy names it ("float32"); floats are
    truncated to integers, and go to NumPy scalars (division by zero then gives inf, as natively).
    An array type says less of an array's layout: the array itself.

    TypeError from complex to real."""
    if hasattr(type, "layout"):
        return x
    name = str(type)
    if name in ("bool", "int64"):
        return (bool if name == "bool" else int)(x)
    if isinstance(x, complex | np.complexfloating) and not name.startswith("complex"):
        raise TypeError(f"a complex number is not cast to {name}")
    return np.dtype(name).type(x)


def pack(*xs: Any) -> tuple[Any, ...]:
    """The results of a function, as a tuple."""
    return xs


# -- tape and heap ---------------------------------------------------------------------------------
def record(tape: Tape, nbytes: int) -> int:
    """Room for ``nbytes`` bytes at the end of the tape: its address."""
    return tape.record(nbytes)


def unrecord(tape: Tape, nbytes: int) -> int:
    """Take back the last ``nbytes`` bytes of the tape: their address, readable until the next
    record. Records are taken back in reverse order, with the sizes they were made with."""
    return tape.unrecord(nbytes)


def poke(address: int, offset: int, v: Any) -> None:
    """Write a scalar, or the handle (pointer, shape, strides) of an array, at address + offset."""
    tape_at(address).cells[address + offset] = v


def peek(address: int, offset: int, type: Any, labels: tuple[int, ...] = ()) -> Any:
    """Read the scalar or array of ``type`` (a Numba type) at address + offset. ``labels`` say of an
    array which allocation it may be, for passes; they are gone before machine code is made."""
    return tape_at(address).cells[address + offset]


def nbytes_of(type: Any) -> int:
    """How many bytes `poke` writes for a value of ``type`` (a Numba type or a dtype)."""
    if hasattr(type, "layout"):
        return 8 * (1 + 2 * type.ndim)
    return np.dtype(str(type)).itemsize


def heap_empty(tape: Tape, dtype: Any, order: Order, *dims: int) -> Array:
    """`empty` in memory that lives as long as the tape, at a fixed address."""
    return tape.own(np.empty(dims, dtype, order))


def heap_zeros_like(tape: Tape, x: Array) -> Array:
    """Zeros of x's shape in x's memory order and natively of x's very type (layout "A" stays "A"),
    in memory that lives as long as the tape."""
    return tape.own(same_layout_zeros(x))


def heap_own(tape: Tape, x: Array) -> Array:
    """A copy of x in x's memory order and natively of x's very type, in memory that lives as long
    as the tape."""
    return tape.own(own(x))


def assign(dst: Array, src: Array) -> None:
    """Copy the elements of src into dst: same shape, no overlap."""
    dst[...] = src


def accumulate(dst: Array, src: Array) -> None:
    """Add the elements of src to those of dst: same shape, no overlap."""
    dst += src


def null(type: Any) -> Any:
    """A value of ``type`` (a Numba type) that is never read: zero, or an array without memory."""
    return None if hasattr(type, "layout") else np.dtype(str(type)).type(0)


def heap_zeros(tape: Tape, dtype: Any, order: Order, *dims: int) -> Array:
    """`zeros` in memory that lives as long as the tape, at a fixed address."""
    return tape.own(np.zeros(dims, dtype, order))
