"""Each family of rules and bodies, differentiated: reverse mode against differences, forward mode
against reverse, and against the naive plan. The derivative runs on CPython, a sample natively."""

import copy

import numpy as np
import pytest

import pullback as pb
from tests.ad.harness import Derived, jvp

from .ad_programs import PROGRAMS, C, weighted
from .numpy_arrays import values


def is_active(a):
    return isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype.kind == "f")


def shifted(args, k, t, h):
    """The arguments with h * t added to the k-th."""
    args = list(copy.deepcopy(args))
    args[k] = args[k] + h * t
    return args


def slope(f, args, k, t):
    """The derivative along t, by Richardson's extrapolation of central differences."""

    def central(h):
        return (f(*shifted(args, k, t, h)) - f(*shifted(args, k, t, -h))) / (2 * h)

    h = 1e-3
    return (4 * central(h / 2) - central(h)) / 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name):
    f, args = PROGRAMS[name]
    with np.errstate(all="ignore"):
        got = Derived(f, args)(*args)
        naive = Derived(f, args, naive=True)(*args)
        assert np.isclose(got.value, f(*copy.deepcopy(args)), rtol=1e-12)
        for g, n, k in zip(got.grads, naive.grads, filter(lambda k: is_active(args[k]), range(9))):
            np.testing.assert_allclose(g, n, rtol=1e-11, atol=1e-12)
            t = values(np.shape(args[k])) if np.ndim(args[k]) else 1.0
            expected = slope(f, args, k, t)
            np.testing.assert_allclose(np.sum(g * t), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_tangent(name):
    f, args = PROGRAMS[name]
    active = [a for a in args if is_active(a)]
    tangents = tuple(values(np.shape(a)) if np.ndim(a) else 0.7 for a in active)
    with np.errstate(all="ignore"):
        _, ty = jvp(f, args, tangents)
        reverse = sum(np.sum(g * t) for g, t in zip(Derived(f, args)(*args).grads, tangents))
    np.testing.assert_allclose(ty, reverse, rtol=1e-10, atol=1e-11)


# -- conventions at kinks --------------------------------------------------------------------------
def gradient(f, *args):
    with np.errstate(all="ignore"):
        return Derived(f, args)(*args).grads[0]


TIES = np.array([1.0, 3.0, 3.0, 2.0, 3.0])
ZERO = np.zeros(3)
KINKS = {
    "ties of max": (lambda x: np.max(x), TIES, [0, 1 / 3, 1 / 3, 0, 1 / 3]),
    "ties of min": (lambda x: x.min(), -TIES, [0, 1 / 3, 1 / 3, 0, 1 / 3]),
    "ties along an axis": (
        lambda x: np.sum(np.max(x, axis=0)),
        np.array([[1.0, 2.0], [1.0, 3.0]]),
        [[0.5, 0], [0.5, 1]],
    ),
    "ties of maximum": (lambda x: np.sum(np.maximum(x, 1.0)), np.array([0.0, 1, 2]), [0, 0.5, 1]),
    "an infinite maximum": (lambda x: np.max(x), np.array([1.0, np.inf]), [0, 1]),
    "clip at its bounds": (
        lambda x: np.sum(np.clip(x, 0, 1)),
        np.array([-1.0, 0, 1, 2]),
        [0, 1, 1, 0],
    ),
    "abs at zero": (lambda x: np.sum(np.abs(x)), np.array([-2.0, 0, 2]), [-1, 0, 1]),
    "norm at zero": (lambda x: np.linalg.norm(x), ZERO, [0, 0, 0]),
    "norms at zero": (lambda x: np.sum(np.linalg.norm(x, axis=1)), np.eye(2)[:1] * 0, [[0, 0]]),
    "squared norm at zero": (lambda x: np.linalg.norm(x) ** 2, ZERO, [0, 0, 0]),
    "std of equal numbers": (lambda x: np.std(x), ZERO, [0, 0, 0]),
    "x**0 and x**1 at zero": (lambda x: np.sum(x**0 + x**1 + x**2), ZERO, [1, 1, 1]),
    "0**x": (lambda x: np.sum(0.0**x), np.ones(3), [0, 0, 0]),
    "prod with one zero": (lambda x: np.prod(x), np.array([2.0, 0, 3]), [0, 6, 0]),
    "prod with two zeros": (lambda x: np.prod(x), np.array([2.0, 0, 0]), [0, 0, 0]),
    "sqrt where it is not used": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
        np.array([0.0, 4.0]),
        [0, 0.25],
    ),
    "log where it is not used": (
        lambda x: np.sum(np.where(x > 0, np.log(x), x)),
        np.array([0.0, 4.0]),
        [1, 0.25],
    ),
    "hypot at the origin": (lambda x: np.hypot(x[0], x[1]), np.zeros(2), [0, 0]),
    "repeated positions": (lambda x: np.sum(x[np.array([0, 0, 2])]), ZERO, [2, 0, 1]),
    "overwritten": (lambda x: _overwritten(x), np.array([1.0, 2, 3]), [0, 0, 8]),
}


def _overwritten(x):
    y = x * 1.0
    y[np.array([1, 1])] = np.array([5.0, 4.0]) * x[2]
    return y[1] * 2.0


@pytest.mark.parametrize("name", KINKS)
def test_kink(name):
    f, x, expected = KINKS[name]
    np.testing.assert_allclose(gradient(f, x), expected, atol=1e-14)


# -- other dtypes ----------------------------------------------------------------------------------
SINGLE = (
    *("add", "broadcast", "unary", "sum axis 0", "var axis", "max axis", "cumprod axis", "where"),
    *("clip", "matrix times matrix", "solve", "stack", "reshape of a view", "norm"),
)


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision(name):
    f, args = PROGRAMS[name]
    single = tuple(a.astype("f4") for a in args)
    with np.errstate(all="ignore"):
        got = Derived(f, single)(*single).grads
        expected = Derived(f, args)(*args).grads
    for g, e in zip(got, expected):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, e, rtol=2e-3, atol=2e-3)


COMPLEX = {
    "arithmetic": lambda z: weighted((z * z + 1 / (z + 3) - z**3).real),
    "functions": lambda z: weighted((np.sin(z) * np.exp(z) + np.sqrt(z) + np.log(z)).imag),
    "modulus": lambda z: weighted(np.abs(z)) + np.sum(np.angle(z) ** 2),
    "conjugate": lambda z: np.sum((z * np.conj(z * z)).real),
    "sum": lambda z: abs(np.sum(z * z)) + np.abs(np.prod(z)) + np.var(z),
    "product": lambda z: weighted(np.abs(np.outer(z, z) @ z) ** 2),
    "vdot": lambda z: np.vdot(z, z * (1 + 2j)).imag,
    "solve": lambda z: weighted(np.abs(np.linalg.solve(np.outer(z, z.conj()) + 3 * np.eye(4), z))),
    "determinant": lambda z: np.linalg.slogdet(np.diag(z) + np.outer(z, z * z))[1],
    "phase of a determinant": lambda z: np.linalg.slogdet(np.diag(z) + np.outer(z, z * z))[0].real,
    "norm": lambda z: np.linalg.norm(z),
    "indexing": lambda z: weighted(np.abs(z[np.array([1, 1, 3])] * z[::-2][0])),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name):
    """The gradient is dF/dRe + i dF/dIm."""
    f = COMPLEX[name]
    g = gradient(f, C)
    assert g.dtype == C.dtype
    for t in (values(4), 1j * values(4)):
        got = np.sum((np.conjugate(g) * t).real)
        np.testing.assert_allclose(got, slope(f, (C,), 0, t), rtol=1e-7, atol=1e-8)
        native = {} if name == "modulus" else {"run": "python"}
        _, forward = pb.jvp(f, (C,), (t.astype(C.dtype),), options=native)
        assert isinstance(forward, float)
        np.testing.assert_allclose(forward, got, rtol=1e-12, atol=1e-12)


# -- natively --------------------------------------------------------------------------------------
NATIVE = (
    *("broadcast", "power", "max axis", "scatter", "slice stores", "matrix times vector", "solve"),
    *("concatenate", "var axis", "where hides nan", "modf, frexp", "cholesky", "astype"),
)


@pytest.mark.parametrize("name", NATIVE)
def test_natively(name):
    from pullback.api.gradient import value_and_grad

    f, args = PROGRAMS[name]
    argnums = tuple(k for k, a in enumerate(args) if is_active(a))
    value, grads = value_and_grad(f, argnums)(*copy.deepcopy(args))
    with np.errstate(all="ignore"):
        expected = Derived(f, args)(*args)
    np.testing.assert_allclose(value, expected.value, rtol=1e-12)
    for g, e in zip(grads, expected.grads):
        np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-12)


# -- twice -----------------------------------------------------------------------------------------
TWICE = (
    *("power", "cholesky", "solve", "det", "norm", "sinc", "gamma", "max axis", "cumprod axis"),
    *("scatter", "where hides nan", "logaddexp"),
)


@pytest.mark.parametrize("name", TWICE)
def test_second_derivative(name):
    """Along a direction, against differences of the gradient."""
    from pullback.api.gradient import grad
    from pullback.api.hessian import hvp

    f, (x, *rest) = PROGRAMS[name]
    v = np.cos(np.arange(x.size)).reshape(x.shape) if isinstance(x, np.ndarray) else 0.7
    h, g = 1e-5, grad(f, 0)
    expected = (g(x + h * v, *rest) - g(x - h * v, *rest)) / (2 * h)
    np.testing.assert_allclose(hvp(f)(x, v, *rest), expected, rtol=1e-5, atol=1e-6)
