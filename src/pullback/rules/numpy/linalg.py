"""Bodies of ``np.linalg``: over the leaves that have derivative rules, stacks of matrices one by
one. Norms are loops with slope zero at zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import prims
from ..registry import body
from ..sequences import root
from ..source import Writer, function
from ..types import dtype, is_array, is_tuple, known, ndim
from .assign import assign, calling
from .loops import dims, loops, make, subscript
from .reduce import Plan, build, normalized
from .ufuncs import fails, fails_as


def inexact(*operands: Any) -> Any:
    """The float or complex dtype that LAPACK works in."""
    to = np.result_type(*map(dtype, operands))
    return to if to.kind in "fc" else np.dtype(float)


def _converted(names: str, operands: Any, to: Any) -> str:
    return ", ".join(
        x if dtype(a) == to else f"{x}.astype(TO)" for x, a in zip(names.split(), operands)
    )


def _of_matrix(f: Any, leaf: Any, result_rank: int, real: bool = False) -> None:
    """A function of one square matrix or of a stack of them."""
    name = f.__name__

    @body.typed(f)
    def resolve(a: Any) -> Any:
        if is_tuple(a):
            return calling(f, "a", "array(a)", array=np.array)
        if ndim(a) < 2:
            rank = f"{ndim(a)}-dimensional array given"
            message = f"{rank}. Array must be at least two-dimensional"
            return fails_as(name, "a", np.linalg.LinAlgError(message))
        return matrices(leaf, a, result_rank, real)


def matrices(leaf: Any, a: Any, result_rank: int, real: bool = False) -> Callable[..., Any]:
    """``leaf`` of a matrix, or of each matrix of a stack."""
    to = inexact(a)
    convert = _converted("a", [a], to)
    lead = ndim(a) - 2
    if lead == 0:
        source = f"def of_matrix(a):\n    return leaf({convert})\n"
        return function("of_matrix", source, leaf=leaf, TO=to)
    w = Writer()
    with w("def of_matrices(a):"):
        dims(w, "a", ndim(a))
        w(f'out = empty(RES, "C"{subscript(lead + result_rank, "n")})')
        with w.nest(loops(lead)):
            index = ", ".join(f"i{k}" for k in range(lead))
            value = f"leaf({convert.replace('a', f'a[{index}]', 1)})"
            w(f"assign(out[{index}], {value})" if result_rank else f"out[{index}] = {value}")
        w("return out")
    result = np.empty(0, to).real.dtype if real else to
    return make("of_matrices", w, leaf=leaf, TO=to, RES=result, assign=assign)


_of_matrix(np.linalg.inv, prims.inv, 2)
_of_matrix(np.linalg.det, prims.det, 0)


@body.typed(np.linalg.cholesky)
def _(a: Any, upper: Any = None) -> Any:
    if is_tuple(a) or ndim(a) < 2 or known(upper, False):
        return None
    return calling(matrices(prims.cholesky, a, 2), "a, upper=False", "a")


SLOGDET = type(np.linalg.slogdet(np.ones((1, 1))))  # a named tuple


@body.typed(np.linalg.slogdet)
def _(a: Any) -> Any:
    if not is_array(a) or ndim(a) < 2:
        return None
    source = "def slogdet(a):\n    return SlogdetResult(sign(a), log(a))\n"
    return function("slogdet", source, SlogdetResult=SLOGDET, sign=matrices(prims.detsign, a, 0),
                    log=matrices(prims.logabsdet, a, 0, True))  # fmt: skip


@body.typed(np.linalg.solve)
def _(a: Any, b: Any) -> Any:
    if is_tuple(a) or is_tuple(b):
        return calling(np.linalg.solve, "a, b", "asarray(a), asarray(b)", asarray=np.asarray)
    if ndim(a) < 2 or not ndim(b):
        message = f"{ndim(a)}-dimensional array given. Array must be at least two-dimensional"
        return fails_as("solve", "a, b", np.linalg.LinAlgError(message))
    to = inexact(a, b)
    if ndim(a) == 2 and ndim(b) <= 2:
        source = f"def solve(a, b):\n    return leaf({_converted('a b', (a, b), to)})\n"
        return function("solve", source, leaf=prims.solve, TO=to)
    if ndim(b) not in (1, ndim(a)):
        return None
    return _stacked_solve(a, b, to)


def _stacked_solve(a: Any, b: Any, to: Any) -> Callable[..., Any]:
    lead = ndim(a) - 2
    index = ", ".join(f"i{k}" for k in range(lead))
    each = ndim(b) > 1
    w = Writer()
    with w("def solve(a, b):"):
        dims(w, "a", lead + 1)
        if each:
            for k in range(lead):
                with w(f"if dim(b, {k}) != n{k}:"):
                    w('raise ValueError("the stacks of matrices differ in shape")')
        columns = f", dim(b, {lead + 1})" if each else ""
        w(f'out = empty(TO, "C"{subscript(lead + 1, "n")}{columns})')
        with w.nest(loops(lead)):
            left = f"a[{index}]" + (".astype(TO)" if dtype(a) != to else "")
            right = (f"b[{index}]" if each else "b") + (".astype(TO)" if dtype(b) != to else "")
            w(f"assign(out[{index}], leaf({left}, {right}))")
        w("return out")
    return make("solve", w, leaf=prims.solve, TO=to, assign=assign)


@body.typed(np.linalg.matrix_power)
def _(a: Any, n: Any) -> Any:
    power = known(n)
    if not is_array(a) or ndim(a) != 2:
        return None
    if power == 0:
        return _identity_like
    w = Writer()
    with w("def matrix_power(a, n):"):
        if power < 0:
            w("a = inv(a)")
        result, have = "a", bin(abs(power))[3:]
        w(f"y = {result}.copy()" if not have else "y = a")
        for digit in have:  # squares, and a once more for each binary digit that is set
            w("y = y @ y")
            if digit == "1":
                w("y = y @ a")
        w("return y")
    return make("matrix_power", w, inv=np.linalg.inv)


def _identity_like(a: Any, n: int) -> Any:
    return np.eye(a.shape[0], dtype=a.dtype)


@body.typed(np.linalg.multi_dot)
def _(arrays: Any) -> Any:
    if not is_tuple(arrays):
        return None
    chain = " @ ".join(f"arrays[{k}]" for k in range(len(arrays.elements)))
    return function("multi_dot", f"def multi_dot(arrays):\n    return {chain}\n")


# -- norms -----------------------------------------------------------------------------------------
NORM = "x, ord=None, axis=None, keepdims=False"


def _norm_cell(step: str, end: str) -> Callable[..., str]:
    """Sum ``step`` of each element v; the result is ``end`` of the sum s."""

    def cell(w: Writer, p: Plan) -> str:
        w("s = 0.0")
        with w.nest(p.ordered(p.reduced)):
            w(f"v = {p.element(None if dtype(p.a).kind == 'c' else p.accumulator)}")
            w(f"s = s + {step}")
        return p.rounded(end)

    return cell


def _power_root(s: Any, p: Any) -> Any:
    """s ** (1 / p), with slope zero at zero."""
    if s == 0.0:
        return 0.0
    return s ** (1.0 / p)


def _vector_norm(a: Any, ord: Any, axes: tuple[int, ...], keepdims: bool, signature: str) -> Any:
    real = np.empty(0, inexact(a)).real.dtype
    plan = Plan(a, axes, keepdims, real)
    is_complex = dtype(a).kind == "c"
    square = "real(v) * real(v) + imag(v) * imag(v)" if is_complex else "v * v"
    order = known(ord)
    if order in (None, 2, "fro", "f"):
        cell = _norm_cell(square, "root(s)")
    elif order == 1:
        cell = _norm_cell("abs(v)", "s")
    elif order == 0:
        cell = _norm_cell("select(v != 0, 1.0, 0.0)", "s")
    elif isinstance(order, int | float) and abs(order) != np.inf:
        cell = _norm_cell("abs(v) ** ORD", "power_root(s, ORD)")
    else:
        return None
    # the parameter is called x in NumPy and a in the plan: bind it first
    inner = build("norm", "a", plan, cell, root=root, power_root=_power_root, ORD=order)
    return calling(inner, signature, "x")


@body.typed(np.linalg.norm)
def _(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = None) -> Any:
    if is_tuple(x):
        return calling(np.linalg.norm, NORM, "array(x), ord, axis, keepdims", array=np.array)
    if not is_array(x):
        return None
    order, keep = known(ord), bool(known(keepdims, False))
    try:
        axes = normalized(known(axis), ndim(x))
    except ValueError as error:
        return fails_as("norm", NORM, error)
    pair = known(axis)
    if isinstance(pair, tuple) and len(pair) == 2:
        axes = (pair[0] % ndim(x), pair[1] % ndim(x))
    return _norm(x, ord, order, axes, keep)


def _norm(x: Any, ord: Any, order: Any, axes: tuple[int, ...], keep: bool) -> Any:
    if order is None or (len(axes) == 2 and order in ("fro", "f")):
        return _vector_norm(x, ord, tuple(sorted(axes)), keep, NORM)
    values = "abs(x)" if dtype(x).kind in "fc" else "abs(x.astype(FLOAT))"
    if len(axes) == 1:
        if order in ("fro", "f", "nuc"):
            return fails("norm", NORM, "ValueError", f"Invalid norm order '{order}' for vectors")
        if abs(order) == np.inf:
            extreme = np.max if order > 0 else np.min
            source = f"def norm({NORM}):\n    return extreme({values}, AXES, keepdims=keepdims)\n"
            return function("norm", source, extreme=extreme, AXES=axes[0], FLOAT=float)
        return _vector_norm(x, ord, axes, keep, NORM)
    if len(axes) != 2:
        return fails("norm", NORM, "ValueError", "Improper number of dimensions to norm.")
    if order in (2, -2, "nuc"):
        return _spectral_norm(x, order, keep)
    if order not in (1, -1, np.inf, -np.inf):
        return None
    inner, outer = axes if abs(order) == 1 else axes[::-1]
    extreme = np.max if order > 0 else np.min
    if keep:
        text = f"extreme(sum({values}, INNER, keepdims=True), OUTER, keepdims=True)"
    else:
        outer = outer - 1 if outer > inner else outer
        text = f"extreme(sum({values}, INNER), OUTER)"
    source = f"def norm({NORM}):\n    return {text}\n"
    return function(
        "norm", source, extreme=extreme, sum=np.sum, INNER=inner, OUTER=outer, FLOAT=float
    )


def _spectral_norm(x: Any, order: Any, keep: bool) -> Any:
    """A norm by singular values, of a matrix. At ties of the largest it is one of the subgradients;
    the nuclear norm has slope zero in those that are zero."""
    if ndim(x) != 2:
        return None
    of = {2: np.max, -2: np.min, "nuc": np.sum}[order]
    value = "of(svdvals(x))"
    source = f"def norm({NORM}):\n    return {f'full((1, 1), {value})' if keep else value}\n"
    return function("norm", source, of=of, svdvals=np.linalg.svdvals, full=np.full)


@body.typed(np.linalg.matrix_norm)
def _(x: Any, *, keepdims: Any = None, ord: Any = None) -> Any:
    signature = "x, *, keepdims=False, ord='fro'"
    return calling(np.linalg.norm, signature, "x, ord, (-2, -1), keepdims") if ndim(x) > 1 else None


@body.typed(np.linalg.vector_norm)
def _(x: Any, *, axis: Any = None, keepdims: Any = None, ord: Any = None) -> Any:
    order = known(ord, 2)
    if not is_array(x) or abs(order) == np.inf:
        return None
    axes = normalized(known(axis), ndim(x))
    signature = "x, *, axis=None, keepdims=False, ord=2"
    return _vector_norm(x, ord, axes, bool(known(keepdims, False)), signature)


@body(np.linalg.trace)
def trace(x: Any, offset: int = 0) -> Any:
    return np.trace(x, offset)
