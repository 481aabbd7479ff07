"""Differences, integrals, interpolation and convolution: compositions of other bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import body
from ..source import Writer, function
from ..types import dtype, is_array, is_none, is_tuple, known, ndim
from .assign import assign, calling, common_dtype, zero_d
from .loops import Elementwise, make
from .shape import _axis, checked
from .ufuncs import order_of


def _sliced(k: int, part: str) -> str:
    return "[" + ":, " * k + part + "]"


# -- differences and integrals ---------------------------------------------------------------------
@body.typed(np.diff)
def _(a: Any, n: Any = None, axis: Any = None, prepend: Any = None, append: Any = None) -> Any:
    signature = "a, n=1, axis=-1"
    if is_tuple(a):
        return calling(np.diff, signature, "array(a), n, axis", array=np.array)
    if not (is_none(prepend) and is_none(append)) or not is_array(a) or not ndim(a):
        return None

    def build() -> Any:
        k = _axis(known(axis, -1), ndim(a))
        times = int(known(n, 1))
        minus = "!=" if dtype(a).kind == "b" else "-"
        step = f"    a = a{_sliced(k, '1:')} {minus} a{_sliced(k, ':-1')}\n"
        source = f"def diff({signature}):\n{step * times}    return a\n"
        return function("diff", source)

    return checked("diff", signature, build)


@body(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    d = np.diff(np.ravel(ary))
    if to_begin is not None:
        d = np.concatenate((np.ravel(np.asarray(to_begin)), d))
    if to_end is not None:
        d = np.concatenate((d, np.ravel(np.asarray(to_end))))
    return d


@body.typed(np.trapezoid)
def _(y: Any, x: Any = None, dx: Any = None, axis: Any = None) -> Any:
    signature = "y, x=None, dx=1.0, axis=-1"
    if is_tuple(y) or is_tuple(x):
        other = "x" if is_none(x) else "asarray(x)"
        return calling(np.trapezoid, signature, f"asarray(y), {other}, dx, axis",
                       asarray=np.asarray)  # fmt: skip

    def build() -> Any:
        k = _axis(known(axis, -1), ndim(y))
        width = "dx"
        if not is_none(x):
            width = "diff(x)" if ndim(x) == 1 else f"diff(x, 1, {k})"
            if ndim(x) == 1 and k < ndim(y) - 1:
                width += "[:" + ", None" * (ndim(y) - 1 - k) + "]"
        pairs = f"y{_sliced(k, '1:')} + y{_sliced(k, ':-1')}"
        source = f"def trapezoid({signature}):\n    return sum({width} * ({pairs}) / 2.0, {k})\n"
        return function("trapezoid", source, diff=np.diff, sum=np.sum)

    return checked("trapezoid", signature, build)


def _gradient_along(f: Any, h: Any, edge_order: int) -> Any:
    """Differences of a vector: central inside, one-sided at the ends; ``h`` a step or positions."""
    n = f.shape[0]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    out = np.empty(n, (f * 1.0).dtype)
    if np.ndim(h) == 0:
        for i in range(1, n - 1):
            out[i] = (f[i + 1] - f[i - 1]) / (2.0 * h)
        if edge_order == 1:
            out[0] = (f[1] - f[0]) / h
            out[n - 1] = (f[n - 1] - f[n - 2]) / h
        else:
            out[0] = (-1.5 * f[0] + 2.0 * f[1] - 0.5 * f[2]) / h
            out[n - 1] = (0.5 * f[n - 3] - 2.0 * f[n - 2] + 1.5 * f[n - 1]) / h
    else:
        for i in range(1, n - 1):
            a, b = h[i] - h[i - 1], h[i + 1] - h[i]
            out[i] = -b / (a * (a + b)) * f[i - 1] + (b - a) / (a * b) * f[i]
            out[i] += a / (b * (a + b)) * f[i + 1]
        if edge_order == 1:
            out[0] = (f[1] - f[0]) / (h[1] - h[0])
            out[n - 1] = (f[n - 1] - f[n - 2]) / (h[n - 1] - h[n - 2])
        else:
            a, b = h[1] - h[0], h[2] - h[1]
            out[0] = -(2.0 * a + b) / (a * (a + b)) * f[0] + (a + b) / (a * b) * f[1]
            out[0] -= a / (b * (a + b)) * f[2]
            a, b = h[n - 2] - h[n - 3], h[n - 1] - h[n - 2]
            out[n - 1] = b / (a * (a + b)) * f[n - 3] - (a + b) / (a * b) * f[n - 2]
            out[n - 1] += (2.0 * b + a) / (b * (a + b)) * f[n - 1]
    return out


@body.typed(np.gradient)
def _(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = None) -> Any:
    names = [f"h{j}" for j in range(len(varargs))]
    signature = ", ".join(["f", *names]) + ", *, axis=None, edge_order=1"
    if is_tuple(f):
        rest = "".join(f", {n}" for n in names)
        arguments = f"array(f){rest}, axis=axis, edge_order=edge_order"
        return calling(np.gradient, signature, arguments, array=np.array)
    rank, wanted = ndim(f), known(axis)
    axes = list(range(rank)) if wanted is None else [wanted] if isinstance(wanted, int) else wanted
    if not is_array(f) or len(varargs) not in (0, 1, len(axes)):
        return None

    def build() -> Any:
        steps = (names or ["1.0"]) * (1 if len(names) == len(axes) else len(axes))
        w = Writer()
        with w(f"def gradient({signature}):"):
            for j, (k, h) in enumerate(zip([_axis(k, rank) for k in axes], steps)):
                if rank == 1:
                    w(f"y{j} = along(f, {h}, edge_order)")
                    continue
                line = ", ".join(":" if i == k else f"i{i}" for i in range(rank))
                w(f"y{j} = empty_like(f, dtype=TO)")
                with w.nest([(f"i{i}", f"dim(f, {i})") for i in range(rank) if i != k]):
                    w(f"assign(y{j}[{line}], along(f[{line}], {h}, edge_order))")
            made = ", ".join(f"y{j}" for j in range(len(axes)))
            w(f"return {made}" if len(axes) == 1 else f"return ({made})")
        to = dtype(f) if dtype(f).kind in "fc" else np.dtype(float)
        return make("gradient", w, along=_gradient_along, assign=assign, TO=to,
                    empty_like=np.empty_like)  # fmt: skip

    return checked("gradient", signature, build)


# -- interpolation ---------------------------------------------------------------------------------
def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    """The line through the two points around x; fp's ends, or left and right, outside."""
    n = xp.shape[0]
    if x != x:
        return x
    if x < xp[0]:
        return fp[0] if left is None else left
    if x > xp[n - 1]:
        return fp[n - 1] if right is None else right
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if xp[middle] <= x:
            low = middle
        else:
            high = middle
    if low == n - 1:
        return fp[n - 1]
    slope = (fp[low + 1] - fp[low]) / (xp[low + 1] - xp[low])
    return slope * (x - xp[low]) + fp[low]


@body.typed(np.interp)
def _(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    if not is_none(period):
        return None
    signature = "x, xp, fp, left=None, right=None"
    if any(map(is_tuple, (x, xp, fp))):
        items = [
            f"asarray({n})" if is_tuple(a) else n for n, a in zip(("x", "xp", "fp"), (x, xp, fp))
        ]
        return calling(np.interp, signature, f"{', '.join(items)}, left, right", asarray=np.asarray)
    inner = Elementwise(
        name="interp",
        expr="cast(DTYPE, f({0}, xp, fp, left, right))",
        parameters=("x",),
        ndims=(ndim(x),),
        dtype=common_dtype(fp, np_float),
        order=order_of([x]) if is_array(x) else "C",
        scope=(("f", _interp),),
        signature="x, xp, fp, left, right",
        zero_d=zero_d(x),
    ).build()
    converted = "fp" if dtype(fp).kind in "fc" else "fp.astype(FLOAT)"
    w = Writer()
    with w(f"def interp({signature}):"):
        with w("if len(xp) == 0:"):
            w('raise ValueError("array of sample points is empty")')
        with w("if len(xp) != len(fp):"):
            w('raise ValueError("fp and xp are not of the same length.")')
        w(f"return inner(x, xp, {converted}, left, right)")
    return make("interp", w, inner=inner, FLOAT=float)


class _Float:
    type = "float64"
    py = False


np_float = _Float()


# -- convolution -----------------------------------------------------------------------------------
def _full_convolution(a: Any, v: Any) -> Any:
    out = np.zeros(a.shape[0] + v.shape[0] - 1, (a[:1] * v[:1]).dtype)
    for i in range(a.shape[0]):
        for j in range(v.shape[0]):
            out[i + j] += a[i] * v[j]
    return out


@body(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = np.asarray(a), np.asarray(v)
    n, m = a.shape[0], v.shape[0]
    if n == 0 or m == 0:
        raise ValueError("a and v cannot be empty")
    full = _full_convolution(a, v)
    if mode == "full":
        return full
    longer, shorter = max(n, m), min(n, m)
    if mode == "same":
        start = (shorter - 1) // 2
        return full[start : start + longer]
    return full[shorter - 1 : longer]


@body(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    a, v = np.asarray(a), np.asarray(v)
    return np.convolve(a, np.conjugate(v)[::-1], mode)
