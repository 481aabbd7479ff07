import warnings

import numpy as np
import pytest

from pullback.rules.numpy.extrema import EXTREMA
from pullback.rules.numpy.reduce import REDUCTIONS as SUMS

from .abstract import agree, run, same
from .numpy_arrays import SHAPES, layouts, values

REDUCTIONS = [*SUMS, *EXTREMA]
ORDERED = tuple(EXTREMA)
SCANS = (np.cumsum, np.cumprod, np.nancumsum, np.nancumprod)


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("f", REDUCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", SHAPES)
def test_axes(f, shape):
    for x in layouts(values(shape)):
        agree(f, x, rtol=1e-12)
        agree(f, x, keepdims=True, rtol=1e-12)
        for axis in range(-x.ndim, x.ndim):
            agree(f, x, axis=axis, rtol=1e-12)
            agree(f, x, axis=axis, keepdims=True, rtol=1e-12)
        if x.ndim > 1 and not f.__name__.startswith("arg"):
            agree(f, x, axis=(0, 1), rtol=1e-12)
            agree(f, x, axis=(x.ndim - 1, 0), keepdims=True, rtol=1e-12)


@pytest.mark.parametrize("f", REDUCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f4", "c16", "c8", "i8", "i4", "u1", "b"])
def test_dtypes(f, dtype):
    if f in ORDERED and dtype[0] == "c":
        return
    x = values((3, 4), dtype)
    agree(f, x)
    agree(f, x, axis=0)
    agree(f, x, axis=1)


@pytest.mark.parametrize("f", REDUCTIONS, ids=lambda f: f.__name__)
def test_nans(f):
    x = values((4, 5))
    x[0, 0] = x[1, :2] = x[:, 3] = np.nan
    agree(f, x)
    agree(f, x, axis=0)
    agree(f, x, axis=1, keepdims=True)


@pytest.mark.parametrize("f", [np.sum, np.prod, np.mean])
def test_dtype_and_out(f):
    x, out = values((2, 3), "i4"), np.empty(3)
    agree(f, x, dtype="f4")
    agree(f, x, axis=1, dtype=np.float64)
    assert run(f, x, axis=0, out=out) is out
    same(out, f(x, axis=0).astype("f8"))


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
def test_ddof(f):
    x = values((2, 3))
    for ddof in (1, 2, 3, 4, 0.5):
        agree(f, x, axis=1, ddof=ddof)
    agree(f, x, ddof=1)


def test_single_precision_sums_do_not_drift():
    x = np.full(100_001, 0.1, "f4")
    same(run(np.sum, x), np.sum(x.astype("f8")).astype("f4"))
    same(run(np.mean, x), np.float32(0.1))


@pytest.mark.parametrize("f", [*REDUCTIONS, *SCANS], ids=lambda f: f.__name__)
def test_tuples_and_lists(f):
    agree(f, (1.5, 2.5, 0.5))
    agree(f, [1, 2, 0])


def test_numbers():
    assert run(np.sum, 2.5) == 2.5 and run(np.max, 2.5) == 2.5 and run(np.mean, 2) == 2.0


@pytest.mark.parametrize("f", SCANS, ids=lambda f: f.__name__)
def test_scans(f):
    for shape in SHAPES[1:]:
        for x in layouts(values(shape)):
            agree(f, x)
            for axis in range(-x.ndim, x.ndim):
                agree(f, x, axis=axis)
    for dtype in ("f4", "i4", "b", "c8"):
        agree(f, values((2, 3), dtype), axis=1)
    x = values((2, 3))
    x[0, 1] = np.nan
    agree(f, x)


def test_extrema_with_ties_infinities_and_no_elements():
    x = np.array([[1.0, 3.0, 3.0], [3.0, -np.inf, np.inf], [np.inf, np.inf, 0.0]])
    for f in ORDERED:
        agree(f, x)
        agree(f, x, axis=1)
    with pytest.raises(ValueError):
        run(np.max, np.zeros((0, 3)), axis=0)
    agree(np.max, np.zeros((3, 0)), axis=0)


def test_ptp_and_average():
    x, w = values((2, 3)), abs(values((2, 3)))
    agree(np.ptp, x)
    agree(np.ptp, x, axis=1)
    agree(np.average, x, axis=0)
    agree(np.average, x, weights=w)
    agree(np.average, x, axis=1, weights=w)


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, 5)])
def test_no_such_axis(axis):
    assert isinstance(agree(np.sum, values((2, 3)), axis=axis), ValueError)
