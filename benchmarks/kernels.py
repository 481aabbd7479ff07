"""The kernels that are timed: ordinary functions, and what to call them with.

Each is differentiated with respect to its first argument, if nothing else is said, which it copies
before it writes to it. ``target`` is the ratio of value-and-gradient to the function under plain
``@njit`` that we mean to reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kernel:
    """A scalar function of ``arguments()``, differentiated with respect to those of ``argnums``."""

    name: str
    f: Callable[..., float]
    arguments: Callable[[], tuple[Any, ...]]
    target: float | None = None
    argnums: int | tuple[int, ...] = 0


def seidel(a, sweeps):
    """Gauss-Seidel sweeps over nine points, in place: linear."""
    a = a.copy()
    n = a.shape[0]
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                beside = a[i, j - 1] + a[i, j] + a[i, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + beside + below) / 9.0
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += a[i, j] * a[i, j]
    return s


def lotka_volterra(p, steps):
    """Runge-Kutta on scalars."""
    a, b, c, d, u, v = p[0], p[1], p[2], p[3], p[4], p[5]
    h = 0.01
    for _ in range(steps):
        k1, l1 = (a - b * v) * u, (d * u - c) * v
        x, y = u + h / 2 * k1, v + h / 2 * l1
        k2, l2 = (a - b * y) * x, (d * x - c) * y
        x, y = u + h / 2 * k2, v + h / 2 * l2
        k3, l3 = (a - b * y) * x, (d * x - c) * y
        x, y = u + h * k3, v + h * l3
        k4, l4 = (a - b * y) * x, (d * x - c) * y
        u += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        v += h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return u + v


def heat(u, k, steps):
    """Explicit steps of the heat equation in two buffers that change places."""
    u = u.copy()
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
    s = 0.0
    for i in range(n):
        s += u[i] * u[i]
    return s


def heat_conductivity(k, u, steps):
    """The same with a conductivity for each cell, differentiated with respect to it."""
    u = u.copy()
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
    s = 0.0
    for i in range(n):
        s += u[i] * u[i]
    return s


def cholesky(A):
    """Log-determinant by a factorisation in place, sums in a scalar."""
    A = A.copy()
    n = A.shape[0]
    for j in range(n):
        s = A[j, j]
        for k in range(j):
            s -= A[j, k] * A[j, k]
        A[j, j] = math.sqrt(s)
        for i in range(j + 1, n):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / A[j, j]
    r = 0.0
    for i in range(n):
        r += math.log(A[i, i])
    return 2.0 * r


def cholesky_updates(A):
    """The same with updates of the matrix innermost."""
    A = A.copy()
    n = A.shape[0]
    for k in range(n):
        A[k, k] = math.sqrt(A[k, k])
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
        for j in range(k + 1, n):
            for i in range(j, n):
                A[i, j] -= A[i, k] * A[j, k]
    r = 0.0
    for i in range(n):
        r += math.log(A[i, i])
    return 2.0 * r


def newton(x):
    """Square roots by Newton's iteration, as often as it takes."""
    s = 0.0
    for i in range(len(x)):
        a = x[i]
        y = 1.0
        while abs(y * y - a) > 1e-12 * a:
            y = 0.5 * (y + a / y)
        s += y
    return s


def bodies(q, v, m, steps):
    """Bodies that attract each other, leapfrog in place."""
    q = q.copy()
    v = v.copy()
    n = q.shape[0]
    h = 1e-3
    pull = np.zeros((n, 3))
    for _ in range(steps):
        for i in range(n):
            ax, ay, az = 0.0, 0.0, 0.0
            for j in range(n):
                dx = q[j, 0] - q[i, 0]
                dy = q[j, 1] - q[i, 1]
                dz = q[j, 2] - q[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + 1e-2
                w = m[j] / (r2 * math.sqrt(r2))
                ax += w * dx
                ay += w * dy
                az += w * dz
            pull[i, 0] = ax
            pull[i, 1] = ay
            pull[i, 2] = az
        for i in range(n):
            for c in range(3):
                v[i, c] += h * pull[i, c]
                q[i, c] += h * v[i, c]
    s = 0.0
    for i in range(n):
        for c in range(3):
            s += q[i, c] * q[i, c] + v[i, c] * v[i, c]
    return s


def mixture(means, logs, x):
    """Negative log likelihood of points under a mixture of Gaussians, means (K, d)."""
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(means.shape[0]):
            r = 0.0
            for j in range(x.shape[1]):
                z = (x[i, j] - means[k, j]) * math.exp(-logs[k])
                r += z * z
            s += math.exp(-0.5 * r - x.shape[1] * logs[k])
        total -= math.log(s)
    return total


def network(w, x, layers):
    """A chain of matrix products and tanh."""
    h = x
    for _ in range(layers):
        h = np.tanh(w @ h)
    return h.sum()


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


def _positive(n: int) -> np.ndarray:
    a = _random(n, n)
    return a @ a.T + n * np.eye(n)


RATES = np.array([0.55, 0.028, 0.8, 0.024, 30.0, 4.0])

KERNELS = [
    Kernel("Gauss-Seidel 400², 40 sweeps", seidel, lambda: (_random(400, 400), 40), 2.0),
    Kernel("Lotka-Volterra, 1e5 steps", lotka_volterra, lambda: (RATES, 100_000), 2.8),
    Kernel("heat 1000 × 1000", heat, lambda: (_random(1000), 0.2, 1000), 3.0),
    Kernel(
        "heat 1000 × 1000, conductivities",
        heat_conductivity,
        lambda: (0.2 + 0.01 * np.abs(_random(1000)), _random(1000), 1000),
        8.0,
    ),
    Kernel("Cholesky 200", cholesky, lambda: (_positive(200),), 3.0),
    Kernel("Cholesky 200, updates innermost", cholesky_updates, lambda: (_positive(200),), 4.0),
    Kernel("Newton, 1e5 elements", newton, lambda: (0.5 + np.abs(_random(100_000)),), 2.5),
    Kernel(
        "N-body, 200 bodies, 100 steps",
        bodies,
        lambda: (_random(200, 3), _random(200, 3), np.abs(_random(200)), 100),
        4.0,
    ),
    Kernel(
        "mixture n=1000 d=10 K=25",
        mixture,
        lambda: (_random(25, 10), _random(25), _random(1000, 10)),
    ),
    Kernel("tanh chain 256², 20", network, lambda: (_random(256, 256) / 16, _random(256, 256), 20)),
]
