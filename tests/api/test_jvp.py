"""Forward mode as an operator."""

import functools
import math

import numpy as np
import pytest

import pullback as pb
from pullback.errors import CotangentMismatch

from . import PYTHON

jvp = functools.partial(pb.jvp, options=PYTHON)


def f(x, k):
    for i in range(x.size - 1):
        x[i + 1] = math.sin(x[i]) * x[i + 1] + k
    return x * x, x[0] * k, x.size


def complex_step(x, k, dx, dk):
    y, k = x + 1e-30j * dx, k + 1e-30j * dk
    for i in range(x.size - 1):
        y[i + 1] = np.sin(y[i]) * y[i + 1] + k
    return (y * y).imag / 1e-30, (y[0] * k).imag / 1e-30, y.imag / 1e-30


X, K = np.array([0.5, 1.5, -0.5]), 1.1
DX, DK = np.array([1.0, 0.3, -2.0]), 0.7


@pytest.mark.parametrize(("dx", "dk"), [(DX, DK), (DX, None), (None, DK)])
def test_value_tangent_and_mutation(dx, dk):
    x, plain = X.copy(), X.copy()
    given = None if dx is None else dx.copy()
    (y, s, n), (ty, ts, tn) = jvp(f, (x, K), (given, dk))
    expected = f(plain, K)
    assert np.array_equal(y, expected[0]) and s == expected[1] and n == 3
    assert np.array_equal(x, plain)
    ry, rs, _ = complex_step(X, K, 0 * X if dx is None else dx, dk or 0.0)
    assert np.allclose(ty, ry, rtol=1e-13) and ts == pytest.approx(rs, rel=1e-13) and tn is None
    assert dx is None or np.array_equal(given, dx)  # the tangent is not written to


def test_all_tangents_zero():
    _, (ty, ts, tn) = jvp(f, (X.copy(), K), (None, None))
    assert np.array_equal(ty, np.zeros(3)) and ts == 0.0 and type(ts) is float and tn is None


def test_tuples():
    def g(p):
        return p[0] * p[1][0], p[1][0].sum()

    x = np.array([1.0, 2.0])
    y, t = jvp(g, ((3.0, (x, 5)),), ((1.0, (np.ones(2), None)),))
    assert np.array_equal(y[0], 3 * x) and np.array_equal(t[0], x + 3.0) and t[1] == 2.0
    _, t = jvp(g, ((3.0, (x, 5)),), ((None, (np.ones(2), None)),))
    assert np.array_equal(t[0], [3.0, 3.0])
    _, t = jvp(g, ((3.0, (x, 5)),), ((1.0, None),))
    assert np.array_equal(t[0], x)


def test_lists_of_primals_and_keywords():
    assert jvp(lambda x, k: x * k, [2.0], [1.0], kwargs={"k": 3.0}) == (6.0, 3.0)


@pytest.mark.parametrize(
    ("primals", "tangents"),
    [
        ((1.0,), (1.0, 1.0)),
        ((1.0, 2.0), (1.0,)),
        ((np.ones(2), 1.0), (np.ones(3), 1.0)),
        ((np.ones(2), 1.0), (np.ones(2, np.float32), 1.0)),
        ((np.ones(2), 1.0), (1.0, 1.0)),
        ((1.0, 1.0), (np.ones(1), 1.0)),
        ((1.0, 1.0), (1j, 1.0)),
        (((1.0, 2.0), 1.0), (1.0, 1.0)),
    ],
)
def test_tangents_must_look_like_primals(primals, tangents):
    with pytest.raises(CotangentMismatch):
        jvp(lambda x, y=1.0: x, primals, tangents)


def test_the_message_names_the_argument():
    with pytest.raises(CotangentMismatch, match=r"the tangent of 'x' has shape \(3,\)"):
        jvp(lambda x: x, (np.ones(2),), (np.ones(3),))


def test_primals_without_a_tuple():
    with pytest.raises(TypeError, match="tuples"):
        jvp(lambda x: x, 1.0, 1.0)


def test_dot():
    rng = np.random.default_rng(3)
    seed = rng.normal(size=3), rng.normal(), None
    _, (ty, ts, _) = jvp(f, (X.copy(), K), (DX, DK))
    _, back = pb.vjp(f, X.copy(), K, options=PYTHON)
    gx, gk = back(seed)
    assert gx @ DX + gk * DK == pytest.approx(seed[0] @ ty + seed[1] * ts, rel=1e-12)


def test_shapes_that_agree_and_axes_that_are_stretched():
    """There is code for either; which comes first makes no difference."""

    def g(x, y):
        x *= np.sin(y) + y
        return (np.exp(-x) * y).sum(axis=0) * x

    rng = np.random.default_rng(3)
    shapes = [((2, 3), (2, 3)), ((2, 3), (1, 3)), ((2, 3), (2, 3)), ((2, 3), (2, 1))]
    for order in (shapes, shapes[::-1]):
        fresh = functools.partial(jvp, lambda x, y: g(x, y))
        for given in order:
            x, y, dx, dy = (rng.normal(size=s) for s in given * 2)
            plain = x.copy()
            value = g(plain, y)
            expected = g(x + 1e-30j * dx, y + 1e-30j * dy).imag / 1e-30
            found, tangent = fresh((x, y), (dx, dy))
            assert np.allclose(found, value, rtol=1e-13) and np.allclose(x, plain, rtol=1e-13)
            assert np.allclose(tangent, expected, rtol=1e-12)
