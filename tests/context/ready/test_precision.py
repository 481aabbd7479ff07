"""Precision: results in three precisions, and the lines where digits go."""

import math

import numpy as np
import pytest

from pullback.context.ready.precision import Precision


def root(b, c):
    d = math.sqrt(b * b - 4.0 * c)
    return (d - b) / 2.0


def stable(b, c):
    d = math.sqrt(b * b - 4.0 * c)
    return -2.0 * c / (b + d)


def test_cancellation_is_found_at_its_line():
    p = Precision()
    x = p.overdub(root, 1e7, 1.0)
    assert x == root(1e7, 1.0)
    (worst, *_) = p.losses()
    assert worst.function == "sub" and worst.loc.line == root.__code__.co_firstlineno + 2
    assert worst.digits > 5 and worst.loc.file == __file__
    low, same, high = p.of(x)
    exact = -1e-7
    assert same is x and abs(high - exact) < abs(x - exact) < abs(low - exact)
    fine = Precision()
    fine.overdub(stable, 1e7, 1.0)
    assert not fine.losses(least=2.0)


def accumulate(x):
    y = np.zeros(2)
    for v in x:
        y[0] = y[0] + v
        y += 0.5
    return y


def test_arrays_and_stores():
    p = Precision()
    x = np.full(100, 0.1)
    y = p.overdub(accumulate, x)
    np.testing.assert_array_equal(y, accumulate(x))
    low, _, high = p.of(y)
    assert low.dtype == np.float32 and high.dtype == np.longdouble
    np.testing.assert_allclose(np.asarray(high, float), [60.0, 50.0], rtol=1e-14)
    assert abs(low[0] - 60.0) > abs(y[0] - 60.0) >= abs(float(high[0]) - 60.0)


def test_views_share_and_what_changes_unseen_starts_anew():
    def through_a_view(y):
        y[1:] += 0.1
        y[1:][0] = y[0] * 0.1
        return y

    p = Precision()
    y = p.overdub(through_a_view, np.full(3, 0.1))
    np.testing.assert_array_equal(y, through_a_view(np.full(3, 0.1)))
    high = p.of(y)[2]
    tenth = np.longdouble(0.1)
    np.testing.assert_array_equal(high, [tenth, tenth * tenth, tenth + tenth])
    y.fill(7.0)
    assert p.of(y)[2].tolist() == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("f", [
    lambda x: [1.0, 2.0][int(x)] + x, lambda x: x if x > 0 else -x, lambda x: math.floor(x) + 0.5,
])  # fmt: skip
def test_decisions_and_indices_are_those_of_float64(f):
    p = Precision()
    assert p.overdub(f, 1.25) == f(1.25) and not p.losses()


@pytest.mark.parametrize("f", [
    lambda x: x.sum() / x.mean(axis=0), lambda x: np.outer(x, x).sum(axis=1, keepdims=True),
    lambda x: np.exp(x).dot(x / 3.0), lambda x: (x / 3.0).prod() + np.inner(x, x),
])  # fmt: skip
def test_all_three_are_what_each_would_be_alone(f):
    x = np.linspace(0.1, 1.0, 7)
    p = Precision()
    y = p.overdub(f, x)
    low, same, high = p.of(y)
    np.testing.assert_array_equal(same, f(x))
    np.testing.assert_allclose(low, f(x.astype(np.float32)), rtol=1e-7)
    exact = f(x.astype(np.longdouble))
    assert np.max(np.abs(high - exact) / np.abs(exact)) < 1e-18
