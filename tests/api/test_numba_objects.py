"""What Numba adds to Python: differentiated rightly, or refused with a code."""

import numba
import numpy as np
import pytest
from numba import float64, njit, prange, vectorize
from numba.experimental import jitclass

import pullback as pb
from pullback.errors import TypingError, UnsupportedArgument

from . import PYTHON


@njit(parallel=True)
def parallel(x):
    s = 0.0
    for i in prange(x.size):
        s += x[i] * x[i]
    return s


@vectorize
def lazily(x):
    return x * x


@vectorize([float64(float64)])
def eagerly(x):
    return x * x


@jitclass([("k", float64)])
class Jitted:
    def __init__(self, k):
        self.k = k

    def scale(self, x):
        return self.k * x


def first_times(values, x):
    return values[0] * x


@njit(parallel=True)
def parallel_array(x):
    y = np.empty(x.size)
    for i in numba.prange(x.size):
        y[i] = x[i] * x[i]
    return y.sum()


@pytest.mark.parametrize("f", [parallel, parallel_array, parallel.py_func])
def test_prange(f):
    g = pb.grad(f, options=PYTHON)(np.arange(3.0))
    assert np.array_equal(g, [0.0, 2.0, 4.0])


@vectorize
def chosen(x, y):
    return x / y if x > 1 else x * y


@pytest.mark.parametrize("u", [lazily, eagerly], ids=["lazy", "eager"])
def test_vectorize(u):
    assert np.array_equal(pb.grad(lambda x: u(x).sum())(np.arange(3.0)), [0.0, 2.0, 4.0])
    assert pb.grad(lambda x: u(x))(3.0) == pb.grad(u)(3.0) == 6.0
    assert np.array_equal(pb.hessian(lambda x: u(x).sum())(np.ones(2)), [[2.0, 0.0], [0.0, 2.0]])


def test_vectorize_broadcasts():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0])
    f = lambda x, y: chosen(x[:, None], y).sum()
    value, (dx, dy) = pb.value_and_grad(f, (0, 1))(x, y)
    assert value == f(x, y)
    assert np.array_equal(dx, [6.0, 0.75, 0.75])
    assert np.allclose(dy, [1 - 5 / 4, 1 - 5 / 16])


def test_vectorize_has_the_types_of_its_signatures():
    single = vectorize(["float32(float32)"])(lambda x: x * x)
    x = np.array([1.0, 2.0], np.float32)
    g = pb.grad(lambda x: single(x).sum())(x)
    assert g.dtype == np.float32 and np.array_equal(g, [2.0, 4.0])
    with np.errstate(divide="ignore"):  # as loops do, without ZeroDivisionError
        assert pb.value_and_grad(lambda x, y: chosen(x, y))(2.0, 0.0)[0] == np.inf


def test_jitclass():
    c = Jitted(3.0)
    g = pb.grad(lambda x: c.k * x, options=PYTHON)
    assert g(2.0) == 3.0
    c.k = 5.0
    assert g(2.0) == 5.0
    for f in (lambda x: c.scale(x), c.scale):
        with pytest.raises(UnsupportedArgument, match="ordinary class"):
            pb.grad(f, options=PYTHON)(2.0)
    with pytest.raises(TypingError, match="has no attribute 'scale'"):
        pb.grad(lambda x: Jitted(x).scale(x), options=PYTHON)(2.0)
    with pytest.raises(UnsupportedArgument, match="pass its attributes"):
        pb.grad(lambda c, x: c.k * x, 1, options=PYTHON)(c, 2.0)


def test_typed_containers():
    values = numba.typed.List([3.0, 4.0])
    with pytest.raises(UnsupportedArgument, match=r"np\.array"):
        pb.grad(first_times, 1, options=PYTHON)(values, 2.0)
    names = numba.typed.Dict()
    names["a"] = 1.0
    with pytest.raises(UnsupportedArgument, match="dict"):
        pb.grad(first_times, 1, options=PYTHON)(names, 2.0)
