"""Differences, integrals, interpolation, convolution, statistics of several variables, polynomials:
NumPy functions that are short compositions of others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from ..registry import body, method_is
from ..source import Writer, function
from ..types import dtype, is_array, is_none, is_scalar, is_tuple, known, ndim
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


# -- several variables -----------------------------------------------------------------------------
@body.typed(np.cov)
def _(m: Any, y: Any = None, rowvar: Any = None, bias: Any = None, ddof: Any = None) -> Any:
    if not is_array(m) or not (is_none(y) or is_array(y)):
        return None
    return _variance if ndim(m) == 1 and is_none(y) else _covariance


def _variance(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
              ) -> Any:  # fmt: skip
    return np.var(m, ddof=(0 if bias else 1) if ddof is None else ddof)


def _rows(m: Any, rowvar: bool) -> Any:
    if m.ndim == 1:
        return m[None, :]
    return m if rowvar else m.T


def _covariance(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
                ) -> Any:  # fmt: skip
    x = _rows(m, rowvar) if y is None else np.concatenate((_rows(m, rowvar), _rows(y, rowvar)))
    d = x - np.mean(x, axis=1, keepdims=True)
    less = (0 if bias else 1) if ddof is None else ddof
    return d @ np.conjugate(d.T) / (x.shape[1] - less)


@body.typed(np.corrcoef)
def _(x: Any, y: Any = None, rowvar: Any = None) -> Any:
    if not is_array(x) or (ndim(x) == 1 and is_none(y)) or not (is_none(y) or is_array(y)):
        return None
    return _correlation


def _correlation(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    c = np.cov(x, y, rowvar)
    s = np.sqrt(np.diag(c).real)
    return c / s[:, None] / s


# -- elementwise -----------------------------------------------------------------------------------
def _nan_to_num(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if x != x:
        return nan
    if x == math.inf:
        return posinf
    return neginf if x == -math.inf else x


@body.typed(np.nan_to_num)
def _(x: Any, copy: Any = None, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    signature = "x, copy=True, nan=0.0, posinf=None, neginf=None"
    if is_tuple(x):
        return calling(np.nan_to_num, signature, "array(x), copy, nan, posinf, neginf",
                       array=np.array)  # fmt: skip
    if not known(copy, True) or dtype(x) is None or dtype(x).kind == "c":
        return None
    if dtype(x).kind != "f":
        return calling(np.copy, signature, "x") if is_array(x) else calling(_same, signature, "x")
    largest = float(np.finfo(dtype(x)).max)
    ends = ["LARGE" if is_none(posinf) else "posinf", "-LARGE" if is_none(neginf) else "neginf"]
    return Elementwise(
        name="nan_to_num",
        expr=f"f({{0}}, nan, {ends[0]}, {ends[1]})",
        parameters=("x",),
        ndims=(ndim(x),),
        dtype=dtype(x),
        order=order_of([x]) if is_array(x) else "C",
        scope=(("f", _nan_to_num), ("LARGE", largest)),
        signature=signature,
        zero_d=zero_d(x),
    ).build()


def _same(x: Any) -> Any:
    return x


@body.typed(np.round, np.around)
def _(a: Any, decimals: Any = None, out: Any = None) -> Any:
    signature = "a, decimals=0, out=None"
    if is_tuple(a):
        return calling(np.round, signature, "array(a), decimals", array=np.array)
    if not is_none(out) or not is_array(a):
        return None
    if dtype(a).kind in "iu":
        return calling(np.copy, signature, "a") if known(decimals, 0) >= 0 else None
    places = known(decimals, 0)
    scaled = "rint(a)" if places == 0 else "rint(a * P) / P" if places > 0 else "rint(a / P) * P"
    source = f"def round({signature}):\n    return {scaled}\n"
    return function("round", source, rint=np.rint, P=float(10 ** abs(places)))


@body(np.fix)
def fix(x: Any) -> Any:
    return np.trunc(x)


@body(np.isposinf)
def isposinf(x: Any) -> Any:
    return np.equal(x, math.inf)


@body(np.isneginf)
def isneginf(x: Any) -> Any:
    return np.equal(x, -math.inf)


@body.typed(np.angle)
def _(z: Any, deg: Any = None) -> Any:
    """Of arrays; a number goes to the scalar rule unless degrees are wanted."""
    if is_scalar(z) and deg is None:
        return None
    if dtype(z) is None:
        return None
    scale = " * SCALE" if known(deg, False) else ""
    kernel = "arctan2(imag({0}), real({0}))" if dtype(z).kind == "c" else "arctan2(0.0, {0})"
    to = np.empty(0, dtype(z)).real.dtype if dtype(z).kind in "fc" else np.dtype(float)
    return Elementwise(
        name="angle",
        expr=kernel + scale,
        parameters=("z",),
        ndims=(ndim(z),),
        dtype=to,
        order=order_of([z]) if is_array(z) else "C",
        scope=(("arctan2", np.arctan2), ("SCALE", 180.0 / math.pi)),
        signature="z, deg=False",
        zero_d=zero_d(z),
    ).build()


@body.typed(np.sinc)
def _(x: Any) -> Any:
    if is_tuple(x):
        return calling(np.sinc, "x", "array(x)", array=np.array)
    if not is_array(x):
        return None
    return Elementwise(
        name="sinc",
        expr="f({0})",
        parameters=("x",),
        ndims=(ndim(x),),
        dtype=dtype(x) if dtype(x).kind in "fc" else np.dtype(float),
        order=order_of([x]),
        scope=(("f", np.sinc),),
        zero_d=zero_d(x),
    ).build()


@body.typed(np.select)
def _(condlist: Any, choicelist: Any, default: Any = None) -> Any:
    if not (is_tuple(condlist) and is_tuple(choicelist)):
        return None
    text = "default"
    for k in reversed(range(len(condlist.elements))):
        text = f"where(condlist[{k}], choicelist[{k}], {text})"
    source = f"def select(condlist, choicelist, default=0):\n    return {text}\n"
    return function("select", source, where=np.where)


@body.typed(np.unwrap)
def _(p: Any, discont: Any = None, axis: Any = None, *, period: Any = None) -> Any:
    return _unwrap if ndim(p) == 1 and is_none(discont) else None


def _unwrap(p: Any, discont: Any = None, axis: int = -1, period: float = 2 * math.pi) -> Any:
    out = p * 1.0
    shift = 0.0
    for i in range(1, p.shape[0]):
        d = p[i] - p[i - 1]
        turned = (d + period / 2) % period - period / 2
        if turned == -period / 2 and d > 0:
            turned = period / 2
        if abs(d) >= period / 2:
            shift += turned - d
        out[i] = p[i] + shift
    return out


# -- closeness -------------------------------------------------------------------------------------
def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> bool:
    if a == b:
        return True
    if a != a or b != b:
        return bool(equal_nan and a != a and b != b)
    size = abs(b)
    return bool(size != math.inf and abs(a - b) <= atol + rtol * size)


@body.typed(np.isclose)
def _(a: Any, b: Any, rtol: Any = None, atol: Any = None, equal_nan: Any = None) -> Any:
    signature = "a, b, rtol=1e-05, atol=1e-08, equal_nan=False"
    if is_tuple(a) or is_tuple(b):
        arguments = "asarray(a), asarray(b), rtol, atol, equal_nan"
        return calling(np.isclose, signature, arguments, asarray=np.asarray)
    if dtype(a) is None or dtype(b) is None:
        return None
    return Elementwise(
        name="isclose",
        expr="f({0}, {1}, rtol, atol, equal_nan)",
        parameters=("a", "b"),
        ndims=(ndim(a), ndim(b)),
        dtype=np.dtype(bool),
        order=order_of([x for x in (a, b) if is_array(x)]),
        scope=(("f", _close),),
        signature=signature,
        zero_d=zero_d(a, b),
    ).build()


@body(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
             ) -> bool:  # fmt: skip
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@body.typed(np.array_equal)
def _(a1: Any, a2: Any, equal_nan: Any = None) -> Any:
    if not (is_array(a1) and is_array(a2)) or known(equal_nan, False):
        return None
    return _array_equal if ndim(a1) == ndim(a2) else _never


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    return a1.shape == a2.shape and bool(np.all(a1 == a2))


def _never(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    return False


# -- polynomials -----------------------------------------------------------------------------------
@body(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    y = x * 0 + p[0]
    for i in range(1, len(p)):
        y = y * x + p[i]
    return y


@body(polynomial.polyval)
def polynomial_polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    y = x * 0 + c[len(c) - 1]
    for i in range(len(c) - 2, -1, -1):
        y = c[i] + y * x
    return y


def _trimmed(c: Any) -> Any:
    """Without zeros at the end, but one coefficient at least."""
    n = len(c)
    while n > 1 and c[n - 1] == 0:
        n -= 1
    return c[:n]


@body(polynomial.polyadd)
def polyadd(c1: Any, c2: Any) -> Any:
    a, b = _trimmed(np.asarray(c1)), _trimmed(np.asarray(c2))
    out = np.zeros(max(len(a), len(b)), (a[:1] * b[:1] * 1.0).dtype)
    out[: len(a)] += a
    out[: len(b)] += b
    return _trimmed(out)


@body(polynomial.polysub)
def polysub(c1: Any, c2: Any) -> Any:
    return polyadd(c1, -np.asarray(c2))


@body(polynomial.polymul)
def polymul(c1: Any, c2: Any) -> Any:
    return np.convolve(c1, c2)


@body.typed(np.vander)
def _(x: Any, N: Any = None, increasing: Any = None) -> Any:
    return _vander if ndim(x) == 1 else None


def _vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    n = x.shape[0] if N is None else N
    out = np.empty((x.shape[0], n), x.dtype)
    for i in range(x.shape[0]):
        power = x.dtype.type(1)
        for j in range(n):
            out[i, j if increasing else n - 1 - j] = power
            power = power * x[i]
    return out


method_is(round=np.round, searchsorted=np.searchsorted)
