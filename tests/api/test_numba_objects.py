"""What Numba adds to Python: differentiated rightly, or refused with a code."""

import numba
import numpy as np
import pytest
from numba import float64, njit, prange, vectorize
from numba.experimental import jitclass

import pullback as pb
from pullback.errors import PullbackError, UnsupportedArgument

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


def right_or_coded(f, *args, argnums=0, expected):
    """The derivative is right, or there is an error of ours."""
    try:
        found = pb.grad(f, argnums, options=PYTHON)(*args)
    except PullbackError as e:
        assert e.code != "PB000"
        return
    assert np.allclose(found, expected)


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


@pytest.mark.parametrize("u", [lazily, eagerly], ids=["lazy", "eager"])
def test_vectorize(u):
    right_or_coded(lambda x: u(x).sum(), np.arange(3.0), expected=[0.0, 2.0, 4.0])
    right_or_coded(lambda x: u(x), 3.0, expected=6.0)
    right_or_coded(u, 3.0, expected=6.0)


def test_jitclass():
    c = Jitted(3.0)
    right_or_coded(lambda x: c.scale(x), 2.0, expected=3.0)
    right_or_coded(lambda x: c.k * x, 2.0, expected=3.0)
    right_or_coded(c.scale, 2.0, expected=3.0)
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
