"""Derivatives of least squares, of the pseudo-inverse, and of the orthogonal factorisation.

Golub and Pereyra, *The differentiation of pseudo-inverses and nonlinear least squares problems
whose variables separate* (1973). For the orthogonal factorisation: Walter and Lehmann, *Algorithmic
differentiation of linear algebra functions with application in optimum experimental design* (2010);
for complex and wide matrices Roberts and Roberts, arXiv:2009.10071.

The rank of the matrix is taken to stay what it is: where a small change of the matrix changes it,
the pseudo-inverse is not continuous, and the derivative is that along the matrices of equal rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime import prims
from .linalg import adjoint
from .registry import array_rule
from .spectra import rounding


# -- least squares ---------------------------------------------------------------------------------
# With Y the pseudo-inverse of A, x = Y b and r = b - A x:
#   dx = Y (db - dA x) + Y Y^H dA^H r + (I - Y A) dA^H Y^H x
def lstsq_forward(x: Any, a: Any, ta: Any, b: Any, tb: Any, rcond: Any, _: Any) -> Any:
    y = prims.pinv(a, rcond)
    tx = np.zeros_like(x)
    if tb is not None:
        tx += prims.matmul(y, tb)
    if ta is not None:
        tx -= prims.matmul(y, prims.matmul(ta, x))
        r = b - prims.matmul(a, x)
        tx += prims.matmul(y, prims.matmul(adjoint(y), prims.matmul(adjoint(ta), r)))
        z = prims.matmul(adjoint(ta), prims.matmul(adjoint(y), x))
        tx += z - prims.matmul(y, prims.matmul(a, z))
    return tx


def lstsq_reverse(x: Any, dx: Any, a: Any, da: Any, b: Any, db: Any, rcond: Any, _: Any) -> None:
    y = prims.pinv(a, rcond)
    w = prims.matmul(adjoint(y), dx)
    if db is not None:
        db += w
    if da is not None:
        da -= prims.matmul(w, adjoint(x))
        r = b - prims.matmul(a, x)
        da += prims.matmul(r, adjoint(prims.matmul(y, w)))
        z = dx - prims.matmul(adjoint(a), w)  # (I - Y A) dx: the projector is Hermitian
        da += prims.matmul(prims.matmul(adjoint(y), x), adjoint(z))


def pinv_forward(y: Any, a: Any, ta: Any, rcond: Any, _: Any) -> Any:
    ty = -prims.matmul(y, prims.matmul(ta, y))
    z = prims.matmul(y, prims.matmul(adjoint(y), adjoint(ta)))
    ty += z - prims.matmul(prims.matmul(z, a), y)
    z = prims.matmul(prims.matmul(adjoint(ta), adjoint(y)), y)
    ty += z - prims.matmul(y, prims.matmul(a, z))
    return ty


def pinv_reverse(y: Any, dy: Any, a: Any, da: Any, rcond: Any, _: Any) -> None:
    w = prims.matmul(adjoint(y), dy)
    da -= prims.matmul(w, adjoint(y))
    z = adjoint(prims.matmul(y, w))
    da += z - prims.matmul(a, prims.matmul(y, z))
    z = prims.matmul(prims.matmul(adjoint(y), y), adjoint(dy))
    da += z - prims.matmul(prims.matmul(z, y), a)


array_rule(prims.lstsq, forward=lstsq_forward, reverse=lstsq_reverse)
array_rule(prims.pinv, forward=pinv_forward, reverse=pinv_reverse)


# -- orthogonal and triangular factor --------------------------------------------------------------
# With E upper triangular, its diagonal real, and E + E^H = Q^H dA R^-1 + (Q^H dA R^-1)^H:
#   dR = E R,  dQ = dA R^-1 - Q E
# Of a wide matrix (A, B), Q is that of A, and the rest of R is Q^H B.
def _check_rank(r: Any, m: int, n: int) -> None:
    k = r.shape[0]
    least, most = abs(r[0, 0]), abs(r[0, 0])
    for i in range(1, k):
        least, most = min(least, abs(r[i, i])), max(most, abs(r[i, i]))
    if least <= max(m, n) * rounding(r) * most:
        raise np.linalg.LinAlgError("qr has no derivative where the leading columns are dependent")


def _over_triangle(x: Any, r: Any) -> Any:
    """x @ inv(r)."""
    return adjoint(prims.solve(adjoint(r), adjoint(x)))


def qr_forward(y: Any, a: Any, ta: Any) -> Any:
    m, n = a.shape
    k = y.shape[1]
    ty = np.zeros_like(y)
    if k == 0:
        return ty
    q, r = y[:m], y[m : m + k].T
    _check_rank(r, m, n)
    x = _over_triangle(ta[:, :k], r)
    e = prims.matmul(adjoint(q), x)
    for i in range(k):
        e[i, i] = np.real(e[i, i])
        for j in range(i):
            e[j, i] += np.conjugate(e[i, j])
            e[i, j] = 0.0
    ty[:m] = x - prims.matmul(q, e)
    ty[m : m + k] = prims.matmul(e, r).T
    if n > k:
        b, tb = a[:, k:], ta[:, k:]
        ty[m + k :] = (prims.matmul(adjoint(ty[:m]), b) + prims.matmul(adjoint(q), tb)).T
    return ty


def qr_reverse(y: Any, dy: Any, a: Any, da: Any) -> None:
    m, n = a.shape
    k = y.shape[1]
    if k == 0:
        return
    q, r = y[:m], y[m : m + k].T
    _check_rank(r, m, n)
    dq = dy[:m].copy()
    if n > k:
        dr = dy[m + k :].T
        da[:, k:] += prims.matmul(q, dr)
        dq += prims.matmul(a[:, k:], adjoint(dr))
    dr = dy[m : m + k].T.copy()
    for i in range(k):
        for j in range(i):
            dr[i, j] = 0.0
    e = prims.matmul(dr, adjoint(r)) - prims.matmul(adjoint(q), dq)
    for i in range(k):
        e[i, i] = np.real(e[i, i])
        for j in range(i):
            e[i, j] = np.conjugate(e[j, i])
    da[:, :k] += adjoint(prims.solve(r, adjoint(dq + prims.matmul(q, e))))


array_rule(prims.qr, forward=qr_forward, reverse=qr_reverse)
