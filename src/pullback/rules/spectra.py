"""Derivatives of eigenvalues and singular values, and of their vectors, forward and reverse.

Formulas: Giles, *Collected matrix derivative results for forward and reverse mode algorithmic
differentiation* (2008); Townsend, *Differentiating the singular value decomposition* (2016); for
complex matrices, Wan and Zhang, arXiv:1909.02659.

Conventions:

- Vectors are defined up to a phase (a sign, if real), that of LAPACK. Their derivative keeps
  ``V^H dV`` without a diagonal, as a real one has to; what depends on the phase has no derivative.
- Vectors of values that are equal, to rounding errors, turn infinitely fast: a derivative through
  them is infinite or NaN, even of a function of the space that they span. That of the values is
  finite: the vectors that LAPACK found, out of all that span the same space, say which is whose.
- A singular value that is zero, to rounding errors, has slope zero, as ``abs`` at zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime import prims
from .linalg import adjoint, hermitian
from .registry import array_rule, body
from .source import function
from .types import dtype


# -- what counts as equal --------------------------------------------------------------------------
def rounding(x: Any) -> Any:
    """The rounding unit of the precision of an array."""
    return float(np.finfo(x.dtype).eps)


def over(x: Any, gap: Any, least: Any) -> Any:
    """``x / gap``; where the gap is not above ``least``, zero of zero and infinite of all else, of
    which the derivative is the same."""
    if abs(gap) <= least:
        return x * _huge(x) * _huge(x)
    return x / gap


def _over_or_unused(x: Any, gap: Any, least: Any, used: Any) -> Any:
    """`over` of a sum that can be zero by chance, though what it is made of (``used``) is not: that
    has no derivative where the gap is zero."""
    if abs(gap) <= least:
        return (x + used) * _huge(x) * _huge(x)
    return x / gap


def _used(dv: Any) -> Any:
    """The square of each column's length: whether a derivative flows through it."""
    used = np.zeros(dv.shape[1], np.real(dv).dtype)
    for i in range(dv.shape[0]):
        for j in range(dv.shape[1]):
            used[j] += np.real(dv[i, j] * np.conjugate(dv[i, j]))
    return used


def _huge(x: Any) -> Any:
    return float(np.finfo(np.asarray(x).dtype).max)


@body.typed(rounding)
def _(x: Any) -> Any:
    return function("rounding", f"def rounding(x):\n    return {float(np.finfo(dtype(x)).eps)!r}\n")


@body.typed(_huge)
def _(x: Any) -> Any:
    return function("huge", f"def huge(x):\n    return {float(np.finfo(dtype(x)).max)!r}\n")


# -- Hermitian matrices ----------------------------------------------------------------------------
def _eigenvalue_error(y: Any) -> Any:
    n = y.shape[1]
    return n * rounding(y) * max(abs(y[0, 0]), abs(y[0, n - 1])) if n else 0.0


def eigh_forward(y: Any, a: Any, ta: Any) -> Any:
    n = a.shape[0]
    v = y[1:]
    p = prims.matmul(adjoint(v), prims.matmul(hermitian(ta), v))
    least = _eigenvalue_error(y)
    ty = np.empty_like(y)
    for j in range(n):
        ty[0, j] = np.real(p[j, j])
        p[j, j] = 0.0
        for i in range(n):
            if i != j:
                p[i, j] = over(p[i, j], np.real(y[0, j] - y[0, i]), least)
    ty[1:] = prims.matmul(v, p)
    return ty


def eigh_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    """Contributions to the lower triangle, each element of which stands for its mirror too."""
    n = a.shape[0]
    v = y[1:]
    g, used = prims.matmul(adjoint(v), dy[1:]), _used(dy[1:])
    least = _eigenvalue_error(y)
    for j in range(n):
        g[j, j] = np.real(dy[0, j])
        for i in range(n):
            if i != j:
                gap = np.real(y[0, j] - y[0, i])
                g[i, j] = _over_or_unused(g[i, j], gap, least, used[i] + used[j])
    p = prims.matmul(v, prims.matmul(g, adjoint(v)))
    for i in range(n):
        for j in range(i):
            da[i, j] += p[i, j] + np.conjugate(p[j, i])
        da[i, i] += np.real(p[i, i])


array_rule(prims.eigh, forward=eigh_forward, reverse=eigh_reverse)


# -- other square matrices -------------------------------------------------------------------------
def _check_independent(v: Any) -> None:
    """Eigenvalues that meet while their vectors do move infinitely fast."""
    n = v.shape[0]
    s = np.real(prims.svd(v)[n])
    if s[n - 1] <= n * rounding(v) ** 0.5 * s[0]:
        raise np.linalg.LinAlgError("eig has no derivative where eigenvectors are dependent")


def _without_part_along(v: Any, t: Any) -> Any:
    """The columns of t without their parts along those of v, which have length one."""
    out = np.empty_like(t)
    for j in range(v.shape[1]):
        along = 0.0 * t[0, j]
        for i in range(v.shape[0]):
            along += np.conjugate(v[i, j]) * t[i, j]
        for i in range(v.shape[0]):
            out[i, j] = t[i, j] - v[i, j] * along
    return out


def eig_forward(y: Any, a: Any, ta: Any) -> Any:
    n = a.shape[0]
    ty = np.zeros_like(y)
    if n == 0:
        return ty
    v = y[1:]
    _check_independent(v)
    p = prims.solve(v, prims.matmul(ta, v))
    least = n * rounding(y) * np.max(np.abs(y[0]))
    for j in range(n):
        ty[0, j] = p[j, j]
        p[j, j] = 0.0
        for i in range(n):
            if i != j:
                p[i, j] = over(p[i, j], y[0, j] - y[0, i], least)
    ty[1:] = _without_part_along(v, prims.matmul(v, p))
    return ty


def eig_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    n = a.shape[0]
    if n == 0:
        return
    v = y[1:]
    _check_independent(v)
    g, used = prims.matmul(adjoint(v), _without_part_along(v, dy[1:])), _used(dy[1:])
    least = n * rounding(y) * np.max(np.abs(y[0]))
    for j in range(n):
        g[j, j] = dy[0, j]
        for i in range(n):
            if i != j:
                gap = np.conjugate(y[0, j] - y[0, i])
                g[i, j] = _over_or_unused(g[i, j], gap, least, used[i] + used[j])
    da += prims.solve(adjoint(v), prims.matmul(g, adjoint(v)))


array_rule(prims.eig, forward=eig_forward, reverse=eig_reverse)


# -- singular values -------------------------------------------------------------------------------
def _singular_value_error(s: Any, m: int, n: int) -> Any:
    """What `numpy.linalg.matrix_rank` takes for zero."""
    return max(m, n) * rounding(s) * s[0] if s.size else rounding(s)


def _nonzero(total: Any) -> Any:
    """The sum of two singular values; one of two zeros, whose gap is zero too."""
    return total if total > 0.0 else 1.0 + total


def _columns_over(x: Any, s: Any, least: Any, used: Any) -> None:
    """x[:, j] /= s[j]."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = _over_or_unused(x[i, j], s[j], least, used[j])


def _svd_forward(u: Any, s: Any, v: Any, ta: Any, tu: Any, ts: Any, tv: Any) -> None:
    """Fills the tangents of the thin factors."""
    m, n, k = u.shape[0], v.shape[0], s.shape[0]
    least = _singular_value_error(s, m, n)
    right = prims.matmul(ta, v)
    p = prims.matmul(adjoint(u), right)
    dp, dq, nothing = np.zeros_like(p), np.zeros_like(p), np.zeros_like(s)
    for j in range(k):
        ts[j] = np.real(p[j, j]) if s[j] > least else 0.0
        if np.iscomplexobj(p):
            dp[j, j] = over(1j * np.imag(p[j, j]), s[j], least)
        for i in range(k):
            if i != j:
                mirror = np.conjugate(p[j, i])
                total = _nonzero(s[j] + s[i])
                of_u = (p[i, j] * s[j] + s[i] * mirror) / total
                of_v = (s[i] * p[i, j] + mirror * s[j]) / total
                dp[i, j] = over(of_u, s[j] - s[i], least)
                dq[i, j] = over(of_v, s[j] - s[i], least)
    tu[:, :] = prims.matmul(u, dp)
    tv[:, :] = prims.matmul(v, dq)
    if m > k:
        rest = right - prims.matmul(u, p)
        _columns_over(rest, s, least, nothing)
        tu += rest
    if n > k:
        rest = prims.matmul(adjoint(ta), u) - prims.matmul(v, adjoint(p))
        _columns_over(rest, s, least, nothing)
        tv += rest


def _svd_reverse(u: Any, s: Any, v: Any, du: Any, ds: Any, dv: Any, da: Any) -> None:
    """Contributions of the cotangents of the thin factors."""
    m, n, k = u.shape[0], v.shape[0], s.shape[0]
    least = _singular_value_error(s, m, n)
    g, h = prims.matmul(adjoint(u), du), prims.matmul(adjoint(v), dv)
    of_u, of_v = _used(du), _used(dv)
    used = of_u + of_v
    p = np.empty_like(g)
    for j in range(k):
        p[j, j] = ds[j] if s[j] > least else 0.0
        if np.iscomplexobj(p):
            p[j, j] += over(1j * np.imag(g[j, j]), s[j], least)
        for i in range(k):
            if i != j:
                left, right = g[i, j] - np.conjugate(g[j, i]), h[i, j] - np.conjugate(h[j, i])
                turn = (s[j] * left + s[i] * right) / _nonzero(s[j] + s[i])
                p[i, j] = _over_or_unused(turn, s[j] - s[i], least, used[i] + used[j])
    da += prims.matmul(u, prims.matmul(p, adjoint(v)))
    if m > k:
        rest = du - prims.matmul(u, g)
        _columns_over(rest, s, least, of_u)
        da += prims.matmul(rest, adjoint(v))
    if n > k:
        rest = dv - prims.matmul(v, h)
        _columns_over(rest, s, least, of_v)
        da += prims.matmul(u, adjoint(rest))


def svd_forward(y: Any, a: Any, ta: Any) -> Any:
    m = a.shape[0]
    ty = np.empty_like(y)
    ts = np.zeros(y.shape[1], np.real(y[m]).dtype)
    _svd_forward(y[:m], np.real(y[m]), y[m + 1 :], ta, ty[:m], ts, ty[m + 1 :])
    ty[m] = ts
    return ty


def svd_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    m = a.shape[0]
    _svd_reverse(y[:m], np.real(y[m]), y[m + 1 :], dy[:m], np.real(dy[m]), dy[m + 1 :], da)


array_rule(prims.svd, forward=svd_forward, reverse=svd_reverse)


# -- with a basis of the rest ----------------------------------------------------------------------
# Of the columns beyond the first k, U' (m, m - k), only the space that they span is defined. It is
# the complement of what U spans: dU' = -U dU^H U', without a part in U' itself.
def svd_full_forward(y: Any, a: Any, ta: Any) -> Any:
    m, n = a.shape
    k = min(m, n)
    ty = np.zeros_like(y)
    u, v = y[:m, :k], y[m + 1 :, :k]
    tu, tv = ty[:m, :k], ty[m + 1 :, :k]
    ts = np.zeros(k, np.real(y[m]).dtype)
    _svd_forward(u, np.real(y[m, :k]), v, ta, tu, ts, tv)
    ty[m, :k] = ts
    if m > k:
        ty[:m, k:] = -prims.matmul(u, prims.matmul(adjoint(tu), y[:m, k:]))
    if n > k:
        ty[m + 1 :, k:] = -prims.matmul(v, prims.matmul(adjoint(tv), y[m + 1 :, k:]))
    return ty


def svd_full_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    m, n = a.shape
    k = min(m, n)
    u, s, v = y[:m, :k], np.real(y[m, :k]), y[m + 1 :, :k]
    du, dv = dy[:m, :k], dy[m + 1 :, :k]
    if m > k:
        du = du - prims.matmul(y[:m, k:], prims.matmul(adjoint(dy[:m, k:]), u))
    if n > k:
        dv = dv - prims.matmul(y[m + 1 :, k:], prims.matmul(adjoint(dy[m + 1 :, k:]), v))
    _svd_reverse(u, s, v, du, np.real(dy[m, :k]), dv, da)


array_rule(prims.svd_full, forward=svd_full_forward, reverse=svd_full_reverse)
