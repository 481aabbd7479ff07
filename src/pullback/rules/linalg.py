"""Derivatives of the linear algebra leaves, forward and reverse, real and complex.

With ``<a, b> = Re sum(conj(a) * b)`` each reverse is the adjoint of its forward: ``<dy, forward(t)>
== <reverse(dy), t>``. All are ordinary functions of the same leaves, so they differentiate again.
The leaves take arrays of any layout, so adjoints of real matrices are views.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime import prims
from .registry import array_rule, body
from .types import is_complex


# -- helpers ---------------------------------------------------------------------------------------
def adjoint(a: Any) -> Any:
    """The conjugate transpose of a matrix; of a real one, a view."""
    return np.conjugate(a.T) if np.iscomplexobj(a) else a.T


def conjugated(a: Any) -> Any:
    """The conjugate of an array; of a real one, itself."""
    return np.conjugate(a) if np.iscomplexobj(a) else a


def _complex_adjoint(a: Any) -> Any:
    return np.conjugate(prims.transpose(a, (1, 0)))


def _real_adjoint(a: Any) -> Any:
    return prims.transpose(a, (1, 0))


def _complex_conjugated(a: Any) -> Any:
    return np.conjugate(a)


def _itself(a: Any) -> Any:
    return a


@body.typed(adjoint)
def _(a: Any) -> Any:
    return _complex_adjoint if is_complex(a) else _real_adjoint


@body.typed(conjugated)
def _(a: Any) -> Any:
    return _complex_conjugated if is_complex(a) else _itself


def _add_outer(da: Any, u: Any, v: Any) -> None:
    """da += outer(u, conj(v))."""
    for i in range(da.shape[0]):
        for j in range(da.shape[1]):
            da[i, j] += u[i] * np.conjugate(v[j])


def _trace_of_product(a: Any, b: Any) -> Any:
    """trace(a @ b)."""
    s = a.dtype.type(0)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] * b[j, i]
    return s


def _add_scaled_adjoint(da: Any, s: Any, a: Any) -> None:
    """da += s * adjoint(a)."""
    for i in range(da.shape[0]):
        for j in range(da.shape[1]):
            da[i, j] += s * np.conjugate(a[j, i])


# -- matrix product --------------------------------------------------------------------------------
def matmul_forward(y: Any, a: Any, ta: Any, b: Any, tb: Any) -> Any:
    if ta is None:
        return prims.matmul(a, tb)
    if tb is None:
        return prims.matmul(ta, b)
    return prims.matmul(ta, b) + prims.matmul(a, tb)


def matmul_reverse(y: Any, dy: Any, a: Any, da: Any, b: Any, db: Any) -> None:
    if a.ndim == 2 and b.ndim == 2:
        if da is not None:
            da += prims.matmul(dy, adjoint(b))
        if db is not None:
            db += prims.matmul(adjoint(a), dy)
    elif a.ndim == 2:
        if da is not None:
            _add_outer(da, dy, b)
        if db is not None:
            db += prims.matmul(adjoint(a), dy)
    elif b.ndim == 2:
        if da is not None:
            da += prims.matmul(conjugated(b), dy)
        if db is not None:
            _add_outer_conjugated(db, a, dy)
    else:
        if da is not None:
            _add_scaled_conjugate(da, b, dy)
        if db is not None:
            _add_scaled_conjugate(db, a, dy)


def _add_outer_conjugated(db: Any, u: Any, v: Any) -> None:
    """db += outer(conj(u), v)."""
    for i in range(db.shape[0]):
        for j in range(db.shape[1]):
            db[i, j] += np.conjugate(u[i]) * v[j]


def _add_scaled_conjugate(da: Any, b: Any, s: Any) -> None:
    """da += conj(b) * s."""
    for i in range(da.shape[0]):
        da[i] += np.conjugate(b[i]) * s


array_rule(prims.matmul, forward=matmul_forward, reverse=matmul_reverse)


def matmul_reverse_in_place(y: Any, dy: Any, a: Any, da: Any, b: Any, db: Any) -> None:
    """What `matmul_reverse` does, for real arrays, at least one of them a matrix, whose shadows are
    in C order: BLAS adds to them itself."""
    if da is not None:
        if b.ndim == 1:
            _add_outer(da, dy, b)
        elif a.ndim == 1:
            prims.add_product(da, b, dy)
        else:
            prims.add_product(da, dy, adjoint(b))
    if db is not None:
        if a.ndim == 1:
            _add_outer_conjugated(db, a, dy)
        else:
            prims.add_product(db, adjoint(a), dy)


# -- linear systems --------------------------------------------------------------------------------
def solve_forward(x: Any, a: Any, ta: Any, b: Any, tb: Any) -> Any:
    if ta is None:
        return prims.solve(a, tb)
    if tb is None:
        return -prims.solve(a, prims.matmul(ta, x))
    return prims.solve(a, tb - prims.matmul(ta, x))


def solve_reverse(x: Any, dx: Any, a: Any, da: Any, b: Any, db: Any) -> None:
    adj = prims.solve(adjoint(a), dx)
    if db is not None:
        db += adj
    if da is not None:
        if x.ndim == 1:
            _add_outer(da, -adj, x)
        else:
            da -= prims.matmul(adj, adjoint(x))


def inv_forward(y: Any, a: Any, ta: Any) -> Any:
    return -prims.matmul(prims.matmul(y, ta), y)


def inv_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    z = adjoint(y)
    da -= prims.matmul(prims.matmul(z, dy), z)


array_rule(prims.solve, forward=solve_forward, reverse=solve_reverse)
array_rule(prims.inv, forward=inv_forward, reverse=inv_reverse)


# -- determinants ----------------------------------------------------------------------------------
def adjugate(y: Any, a: Any) -> Any:
    """The matrix c with d det(a) = trace(c @ da): det(a) * inv(a), by minors if a is singular."""
    if y != 0.0:
        return prims.inv(a) * y
    n = a.shape[0]
    c = np.empty((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            sign = 1.0 if (i + j) % 2 == 0 else -1.0
            c[j, i] = sign * prims.det(_without(a, i, j)) if n > 1 else 1.0
    return c


def _without(a: Any, row: int, column: int) -> Any:
    n = a.shape[0] - 1
    minor = np.empty((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            minor[i, j] = a[i if i < row else i + 1, j if j < column else j + 1]
    return minor


def det_forward(y: Any, a: Any, ta: Any) -> Any:
    return _trace_of_product(adjugate(y, a), ta)


def det_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    _add_scaled_adjoint(da, dy, adjugate(y, a))


def logabsdet_forward(y: Any, a: Any, ta: Any) -> Any:
    return np.real(_trace_of_product(prims.inv(a), ta))


def logabsdet_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    _add_scaled_adjoint(da, dy, prims.inv(a))


def detsign_forward(y: Any, a: Any, ta: Any) -> Any:
    t = _trace_of_product(prims.inv(a), ta)
    return 0.5 * y * (t - np.conjugate(t))


def detsign_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    """Zero for real matrices; in the complex plane the sign turns by the phase of the trace."""
    if np.iscomplexobj(a):
        dt = 0.5 * (np.conjugate(y) * dy - y * np.conjugate(dy))
        _add_scaled_adjoint(da, dt, prims.inv(a))


array_rule(prims.det, forward=det_forward, reverse=det_reverse)
array_rule(prims.logabsdet, forward=logabsdet_forward, reverse=logabsdet_reverse)
array_rule(prims.detsign, forward=detsign_forward, reverse=detsign_reverse)


# -- Cholesky factor -------------------------------------------------------------------------------
def _lower_half(m: Any) -> Any:
    """The lower triangle with half the diagonal."""
    out = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(i):
            out[i, j] = m[i, j]
        out[i, i] = 0.5 * m[i, i]
    return out


def hermitian(a: Any) -> Any:
    """The Hermitian matrix with a's lower triangle, which is all that is read of a."""
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(i):
            out[i, j] = a[i, j]
            out[j, i] = np.conjugate(a[i, j])
        out[i, i] = np.real(a[i, i])
    return out


def cholesky_forward(y: Any, a: Any, ta: Any) -> Any:
    x = prims.solve(y, hermitian(ta))
    x = adjoint(prims.solve(y, adjoint(x)))
    return prims.matmul(y, _lower_half(x))


def cholesky_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    """Contributions to the lower triangle, each element of which stands for its mirror too."""
    z = adjoint(y)
    p = prims.solve(z, _lower_half(prims.matmul(z, dy)))
    p = adjoint(prims.solve(z, adjoint(p)))
    for i in range(a.shape[0]):
        for j in range(i):
            da[i, j] += p[i, j] + np.conjugate(p[j, i])
        da[i, i] += np.real(p[i, i])


array_rule(prims.cholesky, forward=cholesky_forward, reverse=cholesky_reverse)
