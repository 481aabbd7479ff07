"""The kernels that are timed: ordinary functions, and what to call them with."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kernel:
    """A scalar function of ``arguments()``, differentiated with respect to the first."""

    name: str
    f: Callable[..., float]
    arguments: Callable[[], tuple[Any, ...]]


def seidel(a, steps):
    """Gauss-Seidel sweeps over a grid, in place: linear."""
    n = a.shape[0]
    a = a.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return a.sum()


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


KERNELS = [
    Kernel("seidel 200², 20 sweeps", seidel, lambda: (_random(200, 200), 20)),
    Kernel(
        "Lotka-Volterra, 1e5 steps",
        lotka_volterra,
        lambda: (np.array([0.55, 0.028, 0.8, 0.024, 30.0, 4.0]), 100_000),
    ),
    Kernel(
        "mixture n=1000 d=10 K=25",
        mixture,
        lambda: (_random(25, 10), _random(25), _random(1000, 10)),
    ),
    Kernel("tanh chain 256², 20", network, lambda: (_random(256, 256) / 16, _random(256, 256), 20)),
]
