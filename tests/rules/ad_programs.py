"""Programs of one NumPy function each, that return a number: ``name: (function, arguments)``."""

import math

import numpy as np

from .numpy_arrays import values

V = np.array([0.3, -1.2, 0.7, 1.9])  # no element is near a kink of any program
W = np.array([-0.8, 0.4, 1.5, -0.25])
M = np.sin(np.arange(12.0)).reshape(3, 4) + 0.1
N = np.cos(np.arange(12.0)).reshape(3, 4)
S = values((3, 3)) + 4 * np.eye(3)
P = np.abs(V) + 0.5
Q = np.abs(M) + 0.5
T = values((2, 3, 4))
I = np.array([2, 0, 2, -1])
B = np.array([True, False, True, True])
SPD = S @ S.T
C = values(4, "c16")


def weighted(y):
    """A number that feels every element differently."""
    w = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
    return np.sum(y * w)


PROGRAMS = {
    # -- elementwise
    "add": (lambda x, y: weighted(x + y * 2.0), (V, W)),
    "broadcast": (lambda x, y: weighted(x * y), (M, V)),
    "broadcast column": (lambda x, y: weighted(x / y), (M, Q[:, :1].copy())),
    "broadcast up": (lambda x, y: weighted(x - y), (V, Q[:, :1].copy())),
    "number and array": (lambda x, a: weighted(a * x + 1.0 / (a + x * x)), (V, 1.7)),
    "power": (lambda x, k: weighted(x**k + x**3 + 2.0**x), (P, 1.3)),
    "power in place": (lambda x: (lambda y: weighted(y))(_ipow(x.copy())), (P,)),
    "unary": (lambda x: weighted(np.sin(x) * np.exp(x) + np.tanh(x) - np.sqrt(x * x + 1)), (V,)),
    "logs": (lambda x: weighted(np.log(x) + np.log1p(x) + np.log2(x) * np.log10(x)), (P,)),
    "abs": (lambda x: weighted(abs(x) + np.abs(x) * np.fabs(x)), (V,)),
    "hypot": (lambda x, y: weighted(np.hypot(x, y) + np.arctan2(x, y)), (V, W)),
    "maximum": (lambda x, y: weighted(np.maximum(x, y) + np.minimum(x, 0.1)), (V, W)),
    "logaddexp": (lambda x, y: weighted(np.logaddexp(x, y)), (V, W)),
    "remainders": (lambda x, y: weighted(x % y + np.fmod(x, y) + x // y), (V, P)),
    "steps": (lambda x: weighted(np.floor(x) * x + np.sign(x) * x), (V,)),
    "iadd": (lambda x, y: _iadd(x.copy(), y), (M, V)),
    "out": (lambda x: _out(x), (V,)),
    "overlapping update": (lambda x: _overlap(x.copy()), (V,)),
    "where": (lambda x, y: weighted(np.where(x > 0, x * y, y)), (V, W)),
    "where hides nan": (
        lambda x: weighted(np.where(x > 0, np.sqrt(np.maximum(x, 0.0)), 0.0)),
        (V,),
    ),
    "clip": (lambda x: weighted(np.clip(x, -0.5, 0.5) * x), (V,)),
    "clip by arrays": (lambda x, y: weighted(np.clip(x, y, y + 1.0)), (V, W)),
    "sinc": (lambda x: weighted(np.sinc(x)), (V,)),
    # -- reductions
    "sum": (lambda x: np.sum(x * x), (M,)),
    "sum axis 0": (lambda x: weighted(np.sum(x * x, axis=0)), (M,)),
    "sum axis 1": (lambda x: weighted((x * x).sum(axis=1)), (M,)),
    "sum keepdims": (lambda x: weighted(x / np.sum(x * x, axis=-1, keepdims=True)), (M,)),
    "sum axes": (lambda x: weighted(np.sum(x * x, axis=(0, 2))), (T,)),
    "sum F": (lambda x: weighted(np.sum(x * x, axis=0)), (np.asfortranarray(M),)),
    "mean": (lambda x: np.mean(x * x) + weighted(np.mean(x, axis=0) ** 2), (M,)),
    "prod": (lambda x: np.prod(x) + weighted(np.prod(x, axis=0)), (M,)),
    "prod with zeros": (lambda x: np.prod(x - x[0]) + np.prod(x - 1.0), (V,)),
    "var": (lambda x: np.var(x) + np.std(x, ddof=1), (V,)),
    "var axis": (lambda x: weighted(np.var(x, axis=0) + np.std(x, axis=0, ddof=1)), (M,)),
    "max": (lambda x: np.max(x * x) - x.min(), (M,)),
    "max axis": (lambda x: weighted(np.max(x, axis=1) * np.min(x, axis=1)), (M,)),
    "nan functions": (lambda x: np.nansum(x * x) + np.nanmean(x) ** 2 + np.nanmax(x), (V,)),
    "ptp, average": (lambda x, w: np.ptp(x) * np.average(x, weights=w * w), (V, W)),
    "cumsum": (lambda x: weighted(np.cumsum(x * x)), (V,)),
    "cumprod axis": (lambda x: weighted(np.cumprod(x, axis=1)), (M,)),
    # -- creation
    "zeros and stores": (lambda x: _table(x), (V,)),
    "full": (lambda a: weighted(np.full((2, 3), a) * np.full_like(np.zeros(3), a * a)), (1.5,)),
    "linspace": (lambda a, b: weighted(np.linspace(a, b, 5) ** 2), (0.3, 2.1)),
    "arange": (lambda a: weighted(np.arange(a, a + 4.5, 1.0) ** 2), (0.3,)),
    "array of numbers": (lambda a, b: weighted(np.array([a, a * b, b]) ** 2), (0.3, 2.1)),
    "array of arrays": (lambda x, y: weighted(np.array([x, y, x * y])), (V, W)),
    "diag": (lambda x: weighted(np.diag(x, 1)) + weighted(np.diag(np.diag(x) @ np.diag(x))), (V,)),
    "triangles": (lambda x: weighted(np.tril(x) * x + np.triu(x, 1)), (M,)),
    "meshgrid": (lambda x, y: _mesh(x, y), (V, W)),
    "astype": (lambda x: weighted(x.astype(np.complex128).real ** 2), (V,)),
    # -- shape
    "reshape": (lambda x: weighted(np.reshape(x * x, (2, -1)) @ np.ones(6)), (M,)),
    "reshape of a view": (lambda x: weighted(x.T.reshape(6, 2) ** 2), (M,)),
    "write through a reshape": (lambda x: _through(x.copy()), (M,)),
    "ravel, flatten": (lambda x: weighted(x.ravel() * x.T.flatten()), (M,)),
    "transpose": (lambda x: weighted(x.T @ x) + weighted(np.swapaxes(x, 0, 1)), (M,)),
    "moveaxis": (lambda x: weighted(np.moveaxis(x, 0, -1) ** 2), (T,)),
    "expand, squeeze": (lambda x: weighted(np.squeeze(x[None] * x[:, None], axis=0)), (V[:1],)),
    "flip, roll": (lambda x: weighted(np.flip(x) * np.roll(x, 1) + x[::-1]), (V,)),
    "broadcast_to": (lambda x: weighted(np.broadcast_to(x, (3, 4)) ** 2), (V,)),
    # -- joins
    "concatenate": (lambda x, y: weighted(np.concatenate((x, y, x * y)) ** 2), (V, W)),
    "concatenate axis": (lambda x, y: weighted(np.concatenate((x, y), axis=1)), (M, M * 2)),
    "stack": (lambda x, y: weighted(np.stack((x, y), axis=1) ** 2), (V, W)),
    "vstack, hstack": (lambda x, y: weighted(np.vstack((x, y)) @ np.hstack((x, y))[:4]), (V, W)),
    "column_stack": (lambda x, y: weighted(np.column_stack((x, y)) ** 2), (V, W)),
    "append": (lambda x, a: weighted(np.append(x, a) ** 2), (V, 1.5)),
    "repeat, tile": (lambda x: weighted(np.repeat(x, 2) * np.tile(x, 2)), (V,)),
    "split": (lambda x: _split(x), (V,)),
    # -- indexing
    "gather": (lambda x, i: weighted(x[i] ** 2), (V, I)),
    "gather rows": (lambda x: weighted(x[np.array([2, 0, 2])] ** 2), (M,)),
    "gather pairs": (lambda x: weighted(x[np.array([2, 0, 2]), np.array([1, 1, 1])] ** 2), (M,)),
    "gather columns": (lambda x, i: weighted(x[:, i] ** 2), (M, I)),
    "mask": (lambda x, b: weighted(x[b] ** 2) + np.sum(x[x > 0] ** 3), (V, B)),
    "scatter": (lambda x, y, i: _scatter(x.copy(), y, i), (V, W, I)),
    "scatter number": (lambda x, a, i: _scatter_number(x.copy(), a, i), (V, 1.5, I)),
    "masked store": (lambda x, a, b: _masked(x.copy(), a, b), (V, 1.5, B)),
    "augmented gather": (lambda x, y, i: _augmented(x.copy(), y, i), (V, W, I)),
    "take": (lambda x, i: weighted(np.take(x, i) * np.take(x, 1)), (V, I)),
    "add.at": (lambda x, y, i: _add_at(x.copy(), y, i), (V, W, I)),
    "slices": (lambda x: weighted(x[1:, ::-2] * x[:-1, ::2]), (M,)),
    "slice stores": (lambda x, y: _slices(x.copy(), y), (M, V)),
    "overlapping store": (lambda x: _shift(x.copy()), (V,)),
    # -- products
    "matrix times matrix": (lambda x, y: weighted(x @ y.T), (M, N)),
    "matrix times vector": (lambda x, y: weighted(x @ y) + weighted(y @ x.T), (M, V)),
    "dot": (lambda x, y: np.dot(x, y) * np.vdot(x, x) + np.inner(y, y), (V, W)),
    "stack of matrices": (lambda x, y: weighted(x @ y.T), (T, M)),
    "outer": (lambda x, y: weighted(np.outer(x, y)), (V, W)),
    "tensordot": (lambda x, y: weighted(np.tensordot(x, y, ((2,), (1,)))), (T, M)),
    "einsum": (lambda x, y: weighted(np.einsum("ij,kj->ik", x, y)), (M, N)),
    "kron, trace": (lambda x: np.trace(np.kron(x, x)), (S,)),
    "cross": (lambda x, y: weighted(np.cross(x, y)), (V[:3].copy(), W[:3].copy())),
    # -- linear algebra
    "solve": (lambda a, b: weighted(np.linalg.solve(a, b)), (S, V[:3].copy())),
    "solve for a matrix": (lambda a, b: weighted(np.linalg.solve(a, b)), (S, M)),
    "inv": (lambda a: weighted(np.linalg.inv(a)), (S,)),
    "det": (lambda a: np.linalg.det(a), (S,)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], (S,)),
    "cholesky": (lambda a: weighted(np.linalg.cholesky(a)), (SPD,)),
    "norm": (lambda x: np.linalg.norm(x) + np.linalg.norm(x, 1), (V,)),
    "norm axis": (lambda x: weighted(np.linalg.norm(x, axis=1)), (M,)),
    "matrix_power": (lambda a: weighted(np.linalg.matrix_power(a, 3)), (S,)),
    # -- numbers
    "builtins": (lambda a, b: max(a, b, a * b) + sum((a, b)) + min(a, b) + abs(a), (0.3, -1.2)),
    "math": (lambda a, b: math.hypot(a, b) + math.atan2(a, b) + math.log(b, 3.0), (0.3, 1.2)),
    "gamma": (lambda a: math.gamma(a) + math.lgamma(a) + math.erf(a), (1.3,)),
    "dist, prod": (lambda x, y: math.dist(x, y) + math.prod((x[0], y[1])), (V, W)),
    "modf, frexp": (lambda a: math.modf(a)[0] ** 2 + math.frexp(a)[0] ** 2, (5.3,)),
}


def _ipow(y):
    y **= 2.5
    return y


def _iadd(x, y):
    x += y * y
    x *= 2.0
    x /= y + 3.0
    return weighted(x * x)


def _out(x):
    y = np.empty_like(x)
    np.multiply(x, x, out=y)
    np.sin(y, y)
    return weighted(y)


def _overlap(x):
    x[1:] += x[:-1]
    x[:-1] *= x[1:]
    return weighted(x)


def _table(x):
    y = np.zeros((4, 3))
    for i in range(4):
        y[i, 0] = 1.0
        for j in range(1, 3):
            y[i, j] = y[i, j - 1] * x[i]
    return weighted(y * y)


def _mesh(x, y):
    a, b = np.meshgrid(x, y)
    return weighted(a * a * b)


def _through(x):
    y = x.reshape(2, 6)
    y[0] = y[1] * 2.0
    x[2, 3] *= 3.0
    return weighted(x * y.reshape(3, 4))


def _split(x):
    a, b = np.split(x, 2)
    return weighted(a * b * b)


def _scatter(x, y, i):
    x[i] = y * y
    return weighted(x * x)


def _scatter_number(x, a, i):
    x[i] = a * a
    return weighted(x * x)


def _masked(x, a, b):
    x[x > 0] = a
    x[b] *= a
    return weighted(x * x)


def _augmented(x, y, i):
    x[i] += y
    return weighted(x * x)


def _add_at(x, y, i):
    np.add.at(x, i, y * y)
    return weighted(x * x)


def _slices(x, y):
    x[1] = y
    x[:, 1] = 2.0
    x[0, ::2] = y[1::2] * x[2, 2]
    x[2:, ...] *= y
    return weighted(x * x)


def _shift(x):
    x[1:] = x[:-1]
    x[:2] = x[2:] * x[0]
    return weighted(x)
