import numpy as np
import pytest
from numpy.polynomial import polynomial

from pullback.rules import registry

from .abstract import agree, run, same
from .numpy_arrays import layouts, values

X = values((4, 5))
V = values(6)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_sorting_along_axes(axis):
    for x in layouts(X):
        agree(np.sort, x, axis)
        same(np.take_along_axis(x, run(np.argsort, x, axis), axis), np.sort(x, axis))
        agree(np.median, x, axis)
        agree(np.median, x, axis, keepdims=True)
        agree(np.quantile, x, 0.3, axis)
        agree(np.percentile, x, 70, axis=axis)
        agree(np.take_along_axis, x, np.argsort(x, axis), axis)
        agree(np.nanmedian, x, axis)


def test_sorting_everything():
    agree(np.sort, V)
    agree(np.sort, X, None)
    agree(np.sort, (3.0, 1.0, 2.0))
    agree(np.sort, values(5, "i8"))
    y, z = V.copy(), V.copy()
    y.sort()
    registry.method("sort")(z)
    same(z, y)
    for x in (V, V[:5], X, values(5, "f4"), values(5, "i8")):
        agree(np.median, x)
        for q in (0, 0.25, 0.5, 0.9, 1.0):
            agree(np.quantile, x, q)
            agree(np.percentile, x, 100 * q)
    agree(np.quantile, V, np.array([0.1, 0.6]))
    agree(np.percentile, V, (10, 60))
    same(run(np.partition, V, 2)[2], np.sort(V)[2])
    same(V[run(np.argpartition, V, 2)], np.sort(V))
    agree(np.unique, np.array([2.0, 1.0, 2.0, 3.0, 1.0]))
    agree(np.union1d, V, V[:2])
    agree(np.take_along_axis, V, np.array([0, 5, 5]), None)
    i, j = np.array([5, 1, 1, 3]), np.array([[1, 2], [7, 3]])
    for f in (np.isin, np.setdiff1d, np.intersect1d, np.setxor1d, np.union1d):
        agree(f, i, j)


def test_order_statistics_with_nan():
    x = X.copy()
    x[1, 2] = np.nan
    agree(np.median, x)
    agree(np.nanmedian, x)
    agree(np.nanquantile, x, 0.3)
    agree(np.nanpercentile, x, 30, axis=1)
    agree(np.quantile, x, 0.3)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_differences(axis):
    for n in (0, 1, 2):
        agree(np.diff, X, n, axis)
    agree(np.trapezoid, X, axis=axis)
    agree(np.trapezoid, X, dx=0.5, axis=axis)
    agree(np.trapezoid, X, np.sort(values(X.shape[axis])), axis=axis)
    agree(np.trapezoid, X, np.sort(X, axis), axis=axis)
    for edge_order in (1, 2):
        agree(np.gradient, X, axis=axis, edge_order=edge_order)
        agree(np.gradient, X, 0.3, axis=axis, edge_order=edge_order)
        coordinates = np.cumsum(np.abs(values(X.shape[axis])))
        agree(np.gradient, X, coordinates, axis=axis, edge_order=edge_order, rtol=1e-11)


def test_differences_of_vectors():
    agree(np.diff, (1, 4, 9))
    agree(np.diff, values(5, "b"))
    agree(np.ediff1d, X)
    agree(np.ediff1d, V, 9.0, np.array([1.0, 2.0]))
    agree(np.trapezoid, V)
    agree(np.trapezoid, (1.0, 2.0, 4.0), (0.0, 1.0, 3.0))
    agree(np.gradient, V)
    agree(np.gradient, X)
    agree(np.gradient, X, 0.5, 2.0)
    assert isinstance(agree(np.gradient, V[:1]), ValueError)


@pytest.mark.parametrize("x", [0.3, -9.0, 9.0, 1.0, np.linspace(-3, 3, 13), X, np.float32(0.5)])
def test_interp(x):
    xp, fp = np.sort(V), values(6)
    agree(np.interp, x, xp, fp)
    agree(np.interp, x, xp, fp, left=-1.0, right=2)
    agree(np.interp, x, (0.0, 1.0, 2.0), (1, 5, 3))
    agree(np.interp, xp[2:3], xp, fp)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution(mode):
    for a, v in ((V, V[:3]), (V[:3], V), (V, V[:4]), (values(4, "c16"), values(2, "c16"))):
        agree(np.convolve, a, v, mode)
        agree(np.correlate, a, v, mode)
    agree(np.convolve, (1, 2, 3), (0, 1), mode)


def test_several_variables():
    for options in ({}, {"bias": True}, {"ddof": 0}, {"rowvar": False}):
        agree(np.cov, X, **options)
    agree(np.cov, V, V * V)
    agree(np.corrcoef, X)
    agree(np.corrcoef, V, V * V)
    assert np.isclose(run(np.cov, V), np.cov(V))


def test_elementwise():
    x = np.array([[1.5, np.nan, np.inf], [-np.inf, -0.5, 2.5]])
    agree(np.nan_to_num, x)
    agree(np.nan_to_num, x, nan=7.0, posinf=1.0, neginf=-1.0)
    agree(np.nan_to_num, x.astype("f4"))
    agree(np.nan_to_num, values(3, "i8"))
    for decimals in (0, 1, 2, -1):
        agree(np.round, 100 * X, decimals)
    agree(np.around, values(3, "i8"))
    for f in (np.fix, np.isposinf, np.isneginf, np.sinc):
        agree(f, X if f is np.sinc else x)
    agree(np.angle, values(4, "c16"))
    agree(np.angle, values(4, "c16"), deg=True)
    agree(np.angle, V)
    agree(np.select, [V > 1, V > 0], [V, V * V], 7.0)
    agree(np.unwrap, np.cumsum(3 * V) % (2 * np.pi))


def test_closeness():
    x = np.array([1.0, np.nan, np.inf, -np.inf, 0.0])
    y = np.array([1.0 + 1e-9, np.nan, np.inf, np.inf, 1e-9])
    for f in (np.isclose, np.allclose):
        agree(f, x, y)
        agree(f, x, y, equal_nan=True)
        agree(f, x[:1], y[0], 0.0, 1e-10)
        agree(f, X, V[:5])
        agree(f, 1.0, 1.0 + 1e-9)
    agree(np.array_equal, V, V.copy())
    agree(np.array_equal, V, V[1:])
    agree(np.array_equal, X, V)


def test_polynomials():
    agree(np.polyval, V, X)
    agree(np.polyval, (1.0, 2.0, 3.0), 0.5)
    agree(polynomial.polyval, X, V)
    agree(polynomial.polymul, V, V[:2])
    agree(polynomial.polyadd, V, V[:2])
    agree(polynomial.polysub, V, V)
    agree(polynomial.polysub, V[:2], V)
    agree(np.vander, V)
    agree(np.vander, V, 3, increasing=True)
