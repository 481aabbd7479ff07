"""Bodies of ``np.linalg``'s decompositions and of what is made of them, over the leaves that have
derivative rules. Of a matrix: stacks of matrices have no body.

The factors that a leaf gives in one array are copied out of it, so that what is written to them
touches nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime import prims
from ..linalg import adjoint
from ..registry import body
from ..source import function
from ..types import dtype, is_array, is_none, is_scalar, is_tuple, known, ndim
from .assign import calling
from .linalg import inexact
from .ufuncs import fails

# The classes of NumPy's results, which are named tuples.
_ONE = np.ones((1, 1))
EIG, EIGH, SVD, QR = (type(getattr(np.linalg, f)(_ONE)) for f in ("eig", "eigh", "svd", "qr"))


def _matrix(name: str, signature: str, source: str, **scope: Any) -> Callable[..., Any]:
    scope = {"real": np.real, "adjoint": adjoint, "LinAlgError": np.linalg.LinAlgError, **scope}
    return function(name, f"def {name}({signature}):\n{source}", **scope)


def _as_inexact(x: str, a: Any, to: Any = None) -> str:
    """``x`` in the precision that LAPACK works in."""
    to = inexact(a) if to is None else to
    return x if dtype(a) == to else f"{x}.astype(TO)"


def _not_a_matrix(f: Any, a: Any, signature: str, arguments: str) -> tuple[Any, bool]:
    """The body for what is no matrix, and whether ``a`` is none: sequences are made arrays."""
    if is_tuple(a):
        return calling(f, signature, arguments, array=np.array), True
    if ndim(a) < 2 and (is_array(a) or is_scalar(a)):
        return fails(f.__name__, signature, "ValueError", "the array must be two-dimensional"), True
    return None, ndim(a) != 2


# -- eigenvalues -----------------------------------------------------------------------------------
EIGH_BODY = """\
    if a.shape[0] != a.shape[1]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    p = leaf({matrix})
    if a.size > 0 and p[0, 0] != p[0, 0]{finite}:
        raise LinAlgError("Eigenvalues did not converge")
    return {result}
"""
FINITE = " and not is_nan(a)"  # NumPy's `eigh` lets them pass


def _is_nan(x: Any) -> bool:
    """Whether there is a NaN among the elements."""
    total = np.sum(x)
    return total != total


def _eigh(f: Any, result: str) -> None:
    signature = "a, UPLO='L'"

    @body.typed(f)
    def resolve(a: Any, UPLO: Any = None) -> Any:
        other, found = _not_a_matrix(f, a, signature, "array(a), UPLO")
        if found:
            return other
        uplo = str(known(UPLO, "L")).upper()
        if uplo not in ("L", "U"):
            return fails(f.__name__, signature, "ValueError", "UPLO argument must be 'L' or 'U'")
        matrix = _as_inexact("a", a) if uplo == "L" else f"adjoint({_as_inexact('a', a)})"
        source = EIGH_BODY.format(matrix=matrix, result=result, finite=FINITE)
        return _matrix(f.__name__, signature, source, leaf=prims.eigh, EighResult=EIGH,
                       is_nan=_is_nan, TO=inexact(a))  # fmt: skip


_eigh(np.linalg.eigh, "EighResult(real(p[0]).copy(), p[1:].copy())")
_eigh(np.linalg.eigvalsh, "real(p[0]).copy()")


def _eig(f: Any, result: str) -> None:
    """Of complex matrices: whether the eigenvalues of a real one are real, only they tell."""

    @body.typed(f)
    def resolve(a: Any) -> Any:
        if ndim(a) != 2 or dtype(a).kind != "c":
            return None
        source = EIGH_BODY.format(matrix="a", result=result, finite="")
        return _matrix(f.__name__, "a", source, leaf=prims.eig, EigResult=EIG)


_eig(np.linalg.eig, "EigResult(p[0].copy(), p[1:].copy())")
_eig(np.linalg.eigvals, "p[0].copy()")


# -- singular values -------------------------------------------------------------------------------
SVD_SIGNATURE = "a, full_matrices=True, compute_uv=True, hermitian=False"
SVD_BODY = """\
    m, n = {a}.shape
    k = min(m, n)
    p = leaf({matrix})
    if k > 0 and p[m, 0] != p[m, 0]:
        raise LinAlgError("SVD did not converge")
    return {result}
"""


def _singular_values(name: str, a: Any, x: str, signature: str) -> Any:
    source = SVD_BODY.format(a=x, matrix=_as_inexact(x, a), result="real(p[m]).copy()")
    return _matrix(name, signature, source, leaf=prims.svd, TO=inexact(a))


@body.typed(np.linalg.svd)
def _(a: Any, full_matrices: Any = None, compute_uv: Any = None, hermitian: Any = None) -> Any:
    arguments = "array(a), full_matrices, compute_uv, hermitian"
    other, found = _not_a_matrix(np.linalg.svd, a, SVD_SIGNATURE, arguments)
    if found or known(hermitian, False):
        return other
    if not known(compute_uv, True):
        return _singular_values("svd", a, "a", SVD_SIGNATURE)
    full = known(full_matrices, True)
    left, right = ("m", "n") if full else ("k", "k")
    result = f"SVDResult(p[:m, :{left}].copy(), real(p[m, :k]).copy(), "
    result += f"adjoint(p[m + 1:, :{right}]).copy())"
    source = SVD_BODY.format(a="a", matrix=_as_inexact("a", a), result=result)
    leaf = prims.svd_full if full else prims.svd
    return _matrix("svd", SVD_SIGNATURE, source, leaf=leaf, SVDResult=SVD, TO=inexact(a))


@body.typed(np.linalg.svdvals)
def svdvals(x: Any) -> Any:
    other, found = _not_a_matrix(np.linalg.svdvals, x, "x", "array(x)")
    return other if found else _singular_values("svdvals", x, "x", "x")


COND_BODY = """\
    if x.size == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    s = svdvals(x)
    if s[0] == 0.0:
        return 1.0 / s[0]
    return {ratio}
"""


@body.typed(np.linalg.cond)
def _(x: Any, p: Any = None) -> Any:
    other, found = _not_a_matrix(np.linalg.cond, x, "x, p=None", "array(x), p")
    if found:
        return other
    order = known(p)
    if order in (None, 2, -2):
        source = COND_BODY.format(ratio="s[-1] / s[0]" if order == -2 else "s[0] / s[-1]")
        return _matrix("cond", "x, p=None", source, svdvals=np.linalg.svdvals)
    source = "    return norm(x, p) * norm(inv(x), p)\n"
    return _matrix("cond", "x, p=None", source, norm=np.linalg.norm, inv=np.linalg.inv)


# -- orthogonal and triangular factor --------------------------------------------------------------
@body.typed(np.linalg.qr)
def _(a: Any, mode: Any = None) -> Any:
    signature = "a, mode='reduced'"
    other, found = _not_a_matrix(np.linalg.qr, a, signature, "array(a), mode")
    how = known(mode, "reduced")
    if found or how not in ("reduced", "r"):
        return other
    r = "p[m:].T.copy()"
    result = r if how == "r" else f"QRResult(p[:m].copy(), {r})"
    source = f"    m = a.shape[0]\n    p = leaf({_as_inexact('a', a)})\n    return {result}\n"
    return _matrix("qr", signature, source, leaf=prims.qr, QRResult=QR, TO=inexact(a))


# -- least squares ---------------------------------------------------------------------------------
def truncated_inverse(a: Any, rcond: Any) -> Any:
    """The pseudo-inverse without the singular values below ``rcond`` times the largest. They need
    not be small, so that all of the decomposition is differentiated."""
    u, s, vh = np.linalg.svd(a, False)
    t = np.zeros_like(s)
    for i in range(s.shape[0]):
        if s[i] > rcond * s[0]:
            t[i] = 1.0 / s[i]
    return (adjoint(vh) * t) @ adjoint(u)


PINV_SIGNATURE = "a, rcond=None, hermitian=False, *, rtol=None"
PINV_BODY = """\
    y = leaf({matrix}, 1e-15)
    if y.size > 0 and y[0, 0] != y[0, 0]:
        raise LinAlgError("SVD did not converge")
    return y
"""
NOT_GIVEN = object()


@body.typed(np.linalg.pinv)
def _(a: Any, rcond: Any = None, hermitian: Any = None, *, rtol: Any = NOT_GIVEN) -> Any:
    arguments = "array(a), rcond, hermitian"
    other, found = _not_a_matrix(np.linalg.pinv, a, PINV_SIGNATURE, arguments)
    if found or known(hermitian, False):
        return other
    scope = dict(leaf=prims.pinv, truncated=truncated_inverse, TO=inexact(a))
    if is_none(rcond) and rtol is NOT_GIVEN:
        source = PINV_BODY.format(matrix=_as_inexact("a", a))
    elif not is_none(rcond):
        source = f"    return truncated({_as_inexact('a', a)}, rcond)\n"
    elif is_none(rtol):
        source = f"    return truncated({_as_inexact('a', a)}, max(a.shape[0], a.shape[1]) * EPS)\n"
        source = source.replace("EPS", repr(float(np.finfo(inexact(a)).eps)))
    else:
        source = f"    return truncated({_as_inexact('a', a)}, rtol)\n"
    return _matrix("pinv", PINV_SIGNATURE, source, **scope)


LSTSQ_SIGNATURE = "a, b, rcond=None"
LSTSQ_BODY = """\
    m, n = a.shape
    if b.shape[0] != m:
        raise LinAlgError("Incompatible dimensions")
    a, b = {a}, {b}
    cutoff = {cutoff}
    x = {solution}
    if x.size > 0 and x[0, 0] != x[0, 0] and is_nan(a):
        raise LinAlgError("SVD did not converge in Linear Least Squares")
    s = real(svd(a)[m]).copy()
    rank = 0
    for i in range(s.shape[0]):
        if s[i] > cutoff * s[0]:
            rank += 1
    rest = zeros(b.shape[1] if rank == n and m > n else 0, REAL)
    if rest.shape[0] > 0:
        r = b - a @ x
        for i in range(m):
            for j in range(r.shape[1]):
                rest[j] += real(r[i, j] * conjugate(r[i, j]))
    return {result}, rest, rank, s
"""


@body.typed(np.linalg.lstsq)
def _(a: Any, b: Any, rcond: Any = None) -> Any:
    if is_tuple(a) or is_tuple(b):
        arguments = "asarray(a), asarray(b), rcond"
        return calling(np.linalg.lstsq, LSTSQ_SIGNATURE, arguments, asarray=np.asarray)
    if ndim(a) != 2 or ndim(b) not in (1, 2):
        return None
    to = inexact(a, b)
    eps = repr(float(np.finfo(to).eps))
    right = _as_inexact("b", b, to)
    limit = None if is_none(rcond) else known(rcond)
    default = limit is None or limit < 0
    cutoff = (
        f"cutoff = {eps} * max(m, n)"
        if limit is None
        else f"cutoff = {eps if default else 'rcond'}"
    )
    source = LSTSQ_BODY.format(
        a=_as_inexact("a", a, to),
        b=right if ndim(b) == 2 else f"({right})[:, None]",
        cutoff=cutoff,
        solution="leaf(a, b, cutoff)" if default else "truncated(a, cutoff) @ b",
        result="x" if ndim(b) == 2 else "x[:, 0].copy()",
    )
    return _matrix("lstsq", LSTSQ_SIGNATURE, source, leaf=prims.lstsq, svd=prims.svd,
                   truncated=truncated_inverse, is_nan=_is_nan, zeros=np.zeros,
                   conjugate=np.conjugate, TO=to, REAL=np.empty(0, to).real.dtype)  # fmt: skip
