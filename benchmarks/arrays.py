"""The kernels in whole-array NumPy, as one writes them by hand, and what to call them with.

JAX and HIPS autograd run the same text, with their own ``np`` in the place of NumPy's; where they
cannot (assignment to slices), what their users write instead.
"""

from __future__ import annotations

import numpy as np
from kernels import Kernel
from scipy.special import erf


def network(w1, b1, w2, b2, x, labels):
    """Softmax cross-entropy of a perceptron with one hidden layer; labels one-hot."""
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    scores = scores - scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -(labels * logs).sum() / x.shape[0]


def kmeans(centres, x):
    """Sum over the points of the squared distance to the nearest centre."""
    distances = ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return distances.min(axis=1).sum()


def stencil(u, k, steps):
    """Explicit steps of the heat equation on a square, in slices."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += k * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return (u * u).sum()


def normal(z):
    """The distribution function of the standard normal distribution."""
    return 0.5 * (1.0 + erf(z / np.sqrt(2.0)))


def black_scholes(spot, sigma, time, rate, strike):
    """Value of a portfolio of European calls; the Greeks are its derivatives."""
    width = sigma * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * time) / width
    d2 = d1 - width
    return (spot * normal(d1) - strike * np.exp(-rate * time) * normal(d2)).sum()


def logistic(w, b, x, y, decay):
    """Regularised logistic regression; labels -1 and 1."""
    margins = y * (x @ w + b)
    return np.mean(np.log1p(np.exp(-margins))) + 0.5 * decay * np.sum(w * w)


def _network_arguments():
    r = np.random.default_rng(0)
    x, labels = r.standard_normal((1000, 784)), np.eye(10)[r.integers(0, 10, 1000)]
    w1, w2 = 0.05 * r.standard_normal((784, 128)), 0.1 * r.standard_normal((128, 10))
    return w1, np.zeros(128), w2, np.zeros(10), x, labels


def _kmeans_arguments():
    r = np.random.default_rng(0)
    return r.standard_normal((20, 16)), r.standard_normal((10_000, 16))


def options(n):
    """Spots, volatilities, times, rates and strikes of n options."""
    uniform = np.random.default_rng(0).uniform
    return (
        uniform(80.0, 120.0, n),
        uniform(0.1, 0.5, n),
        uniform(0.1, 2.0, n),
        uniform(0.0, 0.05, n),
        uniform(80.0, 120.0, n),
    )


def _logistic_arguments():
    r = np.random.default_rng(0)
    x = r.standard_normal((100_000, 50))
    y = np.where(x @ r.standard_normal(50) + r.standard_normal(100_000) > 0, 1.0, -1.0)
    return 0.1 * r.standard_normal(50), 0.1, x, y, 1e-3


KERNELS = [
    Kernel("perceptron 1000 × 784", network, _network_arguments, argnums=(0, 1, 2, 3)),
    Kernel("k-means 1e4 × 16, 20 centres", kmeans, _kmeans_arguments),
    Kernel(
        "stencil in slices 500² × 100",
        stencil,
        lambda: (np.random.default_rng(0).standard_normal((500, 500)), 0.2, 100),
    ),
    Kernel(
        "Black-Scholes, 1e6 options",
        black_scholes,
        lambda: options(1_000_000),
        argnums=(0, 1, 2, 3),
    ),
    Kernel("logistic regression 1e5 × 50", logistic, _logistic_arguments, argnums=(0, 1)),
]
