"""Products of arrays: matrix products of any rank, inner and outer products, contractions.

Float and complex matrices go to the leaf `prims.matmul`; integers, which BLAS does not know, and
`einsum` are loops.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import prims
from ..registry import body, method_is
from ..source import Writer, function
from ..types import dtype, is_array, is_none, is_scalar, is_tuple, known, ndim
from .assign import assign, calling
from .loops import dims, loops, make, mismatch, subscript
from .reduce import ZEROS
from .ufuncs import fails

INNER = (
    "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
    "(n?,k),(k,m?)->(n?,m?) (size {dim(b, 0)} is different from {inner})"
)


def product_dtype(*operands: Any) -> Any:
    return np.result_type(*map(dtype, operands))


def leaf_product(a: Any, b: Any) -> Callable[..., Any]:
    """``a @ b`` of vectors and matrices."""
    to = product_dtype(a, b)
    if to.kind not in "fc":
        return _integer_product(a, b, to)
    casts = [f"{x}.astype(TO)" if dtype(v) != to else x for x, v in (("a", a), ("b", b))]
    source = f"def matmul(a, b):\n    return product({casts[0]}, {casts[1]})\n"
    return function("matmul", source, product=prims.matmul, TO=to)


def _integer_product(a: Any, b: Any, to: Any) -> Callable[..., Any]:
    """Loops over rows, inner index, columns."""
    rows, columns = ndim(a) == 2, ndim(b) == 2
    i, j = (", i" if rows else ""), (", j" if columns else "")
    w = Writer()
    with w("def matmul(a, b):"):
        w(f"inner = dim(a, {ndim(a) - 1})")
        with w("if dim(b, 0) != inner:"):
            w(f'raise ValueError(f"{INNER}")')
        nest = ([("i", "dim(a, 0)")] if rows else []) + [("k", "inner")]
        nest += [("j", "dim(b, 1)")] if columns else []
        if not rows and not columns:
            w(f"s = {ZEROS.get(to.name, 'cast(TO, 0)')}")
        else:
            sizes = (", dim(a, 0)" if rows else "") + (", dim(b, 1)" if columns else "")
            w(f'out = zeros(TO, "C"{sizes})')
        plus, times = ("|", "&") if to.kind == "b" else ("+", "*")
        with w.nest(nest):
            term = f"load(a{i}, k) {times} load(b, k{j})"
            if rows or columns:
                w(f"store(out, load(out{i}{j}) {plus} ({term}){i}{j})")
            else:
                w(f"s = s {plus} ({term})")
        w("return out" if rows or columns else "return s")
    return make("matmul", w, TO=to)


# -- @ ---------------------------------------------------------------------------------------------
def _batched(a: Any, b: Any) -> Callable[..., Any]:
    """Matrix products over leading axes, which broadcast."""
    to = product_dtype(a, b)
    vector_a, vector_b = ndim(a) == 1, ndim(b) == 1
    lead_a, lead_b = max(0, ndim(a) - 2), max(0, ndim(b) - 2)
    lead = max(lead_a, lead_b)
    matrix = leaf_product(_Rank(a, min(2, ndim(a))), _Rank(b, min(2, ndim(b))))
    w = Writer()
    with w("def matmul(a, b):"):
        sources = [(x, n) for x, n in (("a", lead_a), ("b", lead_b)) if n]
        bound = set()
        for x, n in sources:
            for k in range(n):
                name, d = f"n{k + lead - n}", f"dim({x}, {k})"
                w(
                    f"{name} = select({name} == 1, {d}, {name})"
                    if name in bound
                    else f"{name} = {d}"
                )
                bound.add(name)
        for x, n in sources:
            for k in range(n):
                name, d = f"n{k + lead - n}", f"dim({x}, {k})"
                with w(f"if ({d} != {name}) & ({d} != 1):"):
                    w(mismatch(("a", ndim(a)), ("b", ndim(b))))
                w(f"{x}{k} = select({d} == 1, 0, 1)")
        rows = "" if vector_a else f", dim(a, {ndim(a) - 2})"
        columns = "" if vector_b else f", dim(b, {ndim(b) - 1})"
        w(f'out = empty(TO, "C"{subscript(lead, "n")}{rows}{columns})')
        with w.nest(loops(lead)):
            parts = []
            for x, n in (("a", lead_a), ("b", lead_b)):
                index = ", ".join(f"i{k + lead - n} * {x}{k}" for k in range(n))
                parts.append(f"{x}[{index}]" if index else x)
            value = f"matrix({', '.join(parts)})"
            index = ", ".join(f"i{k}" for k in range(lead))
            # two vectors cannot have leading axes, so the result is never a number here
            w(f"assign(out[{index}], {value})")
        w("return out")
    return make("matmul", w, TO=to, matrix=matrix, assign=assign)


class _Rank:
    """An abstract array like another one, of another rank."""

    def __init__(self, a: Any, rank: int) -> None:
        self.type = _Type(a.type.dtype, rank)
        self.known = self.py = False


class _Type:
    layout = "A"

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim


@body.typed(operator.matmul, np.matmul, np.linalg.matmul)
def matmul_body(a: Any, b: Any) -> Any:
    if is_tuple(a) or is_tuple(b):
        return calling(np.matmul, "a, b", "asarray(a), asarray(b)", asarray=np.asarray)
    if not (is_array(a) and is_array(b)):
        return fails("matmul", "a, b", "ValueError", "matmul takes arrays")
    if not ndim(a) or not ndim(b):
        message = "matmul: Input operand does not have enough dimensions"
        return fails("matmul", "a, b", "ValueError", message)
    return leaf_product(a, b) if max(ndim(a), ndim(b)) <= 2 else _batched(a, b)


@body(operator.imatmul)
def imatmul(a: Any, b: Any) -> Any:
    return assign(a, np.matmul(a, b))


# -- dot and its relatives -------------------------------------------------------------------------
def dot_method(x: Any, b: Any) -> Any:
    return np.dot(x, b)


@body.typed(np.dot)
def _(a: Any, b: Any, out: Any = None) -> Any:
    if not is_none(out):
        return _dot_into
    if is_tuple(a) or is_tuple(b):
        return calling(np.dot, "a, b, out=None", "asarray(a), asarray(b)", asarray=np.asarray)
    if not ndim(a) or not ndim(b):
        return _scaled
    if max(ndim(a), ndim(b)) <= 2:
        return leaf_product(a, b)
    return _dot_of_ranks(a, b)


def _dot_into(a: Any, b: Any, out: Any) -> Any:
    return assign(out, np.dot(a, b))


def _scaled(a: Any, b: Any, out: Any = None) -> Any:
    return a * b


def _dot_of_ranks(a: Any, b: Any) -> Callable[..., Any]:
    """The last axis of a with the last but one of b."""
    return _contraction("dot", "a, b", a, b, [ndim(a) - 1], [max(0, ndim(b) - 2)])


def _contraction(name: str, signature: str, a: Any, b: Any, axes_a: list[int], axes_b: list[int]
                 ) -> Callable[..., Any]:  # fmt: skip
    """Sum over pairs of axes: a transposed and reshaped to (free, summed), b to (summed, free),
    and the product of the two matrices reshaped back."""
    free_a = [k for k in range(ndim(a)) if k not in axes_a]
    free_b = [k for k in range(ndim(b)) if k not in axes_b]

    def size(x: str, axes: list[int]) -> str:
        return " * ".join(f"dim({x}, {k})" for k in axes) or "1"

    w = Writer()
    with w(f"def {name}({signature}):"):
        for i, j in zip(axes_a, axes_b):
            with w(f"if dim(a, {i}) != dim(b, {j}):"):
                w('raise ValueError("shape-mismatch for sum")')
        for x, perm, rows, columns in (
            ("a", free_a + axes_a, size("a", free_a), size("a", axes_a)),
            ("b", axes_b + free_b, size("b", axes_b), size("b", free_b)),
        ):
            w(f"m{x} = reshape(transpose({x}, {tuple(perm)}), ({rows}, {columns}))")
        sizes = [f"dim(a, {k})" for k in free_a] + [f"dim(b, {k})" for k in free_b]
        if sizes:
            w(f"return reshape(matmul(ma, mb), ({', '.join(sizes)},))")
        else:
            w("return matmul(ma, mb)[0, 0]")
    return make(name, w, reshape=np.reshape, transpose=np.transpose, matmul=np.matmul)


@body.typed(np.tensordot, np.linalg.tensordot)
def _(a: Any, b: Any, axes: Any = None) -> Any:
    if is_tuple(a) or is_tuple(b):
        return calling(np.tensordot, "a, b, axes=2", "asarray(a), asarray(b), axes",
                       asarray=np.asarray)  # fmt: skip
    wanted = known(axes, 2)
    if isinstance(wanted, int):
        wanted = (list(range(ndim(a) - wanted, ndim(a))), list(range(wanted)))
    pair = [[k] if isinstance(k, int) else list(k) for k in wanted]
    axes_a, axes_b = [k % ndim(a) for k in pair[0]], [k % ndim(b) for k in pair[1]]
    if len(axes_a) != len(axes_b):
        return fails("tensordot", "a, b, axes=2", "ValueError", "shape-mismatch for sum")
    return _contraction("tensordot", "a, b, axes=2", a, b, axes_a, axes_b)


@body(np.vdot)
def vdot(a: Any, b: Any) -> Any:
    return np.dot(np.conjugate(np.ravel(a)), np.ravel(b))


@body.typed(np.inner)
def _(a: Any, b: Any) -> Any:
    if not is_array(a) or not is_array(b):
        return np_inner_of_others
    if not ndim(a) or not ndim(b):
        return _inner_scaled
    return _contraction("inner", "a, b", a, b, [ndim(a) - 1], [ndim(b) - 1])


def np_inner_of_others(a: Any, b: Any) -> Any:
    return np.inner(np.asarray(a), np.asarray(b))


def _inner_scaled(a: Any, b: Any) -> Any:
    return a * b


@body.typed(np.outer, np.linalg.outer)
def _(a: Any, b: Any, out: Any = None) -> Any:
    if not is_array(a) or not is_array(b):
        return calling(np.outer, "a, b, out=None", "asarray(a), asarray(b)", asarray=np.asarray)
    return _outer


def _outer(a: Any, b: Any, out: Any = None) -> Any:
    return np.ravel(a)[:, None] * np.ravel(b)


@body.typed(np.kron)
def _(a: Any, b: Any) -> Any:
    if not is_array(a) or not is_array(b) or ndim(a) != ndim(b) or not ndim(a):
        return None
    rank = ndim(a)
    w = Writer()
    with w("def kron(a, b):"):
        dims(w, "a", rank)
        dims(w, "b", rank, "m")
        w(f'out = empty(TO, "C"{"".join(f", n{k} * m{k}" for k in range(rank))})')
        with w.nest(loops(rank) + loops(rank, "C", "j", "m")):
            at = "".join(f", i{k} * m{k} + j{k}" for k in range(rank))
            w(f"store(out, load(a{subscript(rank)}) * load(b{subscript(rank, 'j')}){at})")
        w("return out")
    return make("kron", w, TO=product_dtype(a, b))


@body.typed(np.cross, np.linalg.cross)
def _(a: Any, b: Any, axisa: Any = None, axisb: Any = None, axisc: Any = None, axis: Any = None
      ) -> Any:  # fmt: skip
    if not (is_array(a) and is_array(b)):
        return calling(np.cross, "a, b", "asarray(a), asarray(b)", asarray=np.asarray)
    ends = [known(k, -1) for k in (axisa, axisb, axisc, axis)]
    if any(e is not None and e != -1 for e in ends):
        return None
    rank = max(ndim(a), ndim(b)) - 1
    w = Writer()
    with w("def cross(a, b):"):
        with w(f"if (dim(a, {ndim(a) - 1}) != 3) | (dim(b, {ndim(b) - 1}) != 3):"):
            w('raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")')
        parts = [f"a[..., {i}] * b[..., {j}] - a[..., {j}] * b[..., {i}]"
                 for i, j in ((1, 2), (2, 0), (0, 1))]  # fmt: skip
        if rank == 0:
            parts = [p.replace("..., ", "") for p in parts]
        w(f"return stack(({', '.join(parts)}), {rank})")
    return make("cross", w, stack=np.array if rank == 0 else np.stack) if rank else _cross


def _cross(a: Any, b: Any) -> Any:
    if a.shape[0] != 3 or b.shape[0] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return np.array(
        (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    )


# -- einsum ----------------------------------------------------------------------------------------
@body.typed(np.einsum)
def _(subscripts: Any, *operands: Any, optimize: Any = None) -> Any:
    """Loops over the letters: those of the result outside, those summed over inside."""
    text = known(subscripts)
    if not isinstance(text, str) or "." in text or not all(map(is_array, operands)):
        return None
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if not arrow:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    if [len(t) for t in terms] != [ndim(a) for a in operands] or not set(right) <= set(left):
        return None
    summed = [c for c in dict.fromkeys(left.replace(",", "")) if c not in right]
    names = [f"x{k}" for k in range(len(operands))]
    to = product_dtype(*operands)
    w = Writer()
    with w(f"def einsum(subscripts, {', '.join(names)}, optimize=False):"):
        lengths: dict[str, str] = {}
        for x, term in zip(names, terms):
            for k, c in enumerate(term):
                if c in lengths:
                    with w(f"if dim({x}, {k}) != n{c}:"):
                        w(mismatch(*zip(names, map(ndim, operands))))
                else:
                    lengths[c] = f"n{c}"
                    w(f"n{c} = dim({x}, {k})")
        index = "".join(f", i{c}" for c in right)
        if right:
            w(f'out = empty(TO, "C"{"".join(f", n{c}" for c in right)})')
        with w.nest([(f"i{c}", f"n{c}") for c in right]):
            w(f"s = {ZEROS.get(to.name, 'cast(TO, 0)')}")
            with w.nest([(f"i{c}", f"n{c}") for c in summed]):
                factors = [
                    f"load({x}{''.join(f', i{c}' for c in t)})" for x, t in zip(names, terms)
                ]
                w(f"s = s + {' * '.join(factors)}")
            if right:
                w(f"store(out, s{index})")
        w("return out" if right else "return s")
    return make("einsum", w, TO=to)


method_is(dot=dot_method)
__all__ = ["is_scalar", "leaf_product"]
