"""Choices between operands: what is not chosen gets nothing, whatever arrives."""

import numpy as np
import pytest

import pullback as pb

PYTHON = {"run": "python"}
X, Z = np.array([2.0, -1.0]), np.array([3.0, 4.0])
CHOICES = {
    "where": (lambda x, z: np.where(x > 0, x, z), [True, False]),
    "conditional": (lambda x, z: np.array([x[0], z[1] if x[1] < 0 else x[1]]), [True, False]),
    "maximum": (np.maximum, [False, False]),
    "minimum": (lambda x, z: np.minimum(x, z), [True, True]),
    "max": (lambda x, z: np.array([max(x[0], z[0]), min(x[1], z[1])]), [False, True]),
}


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("name", CHOICES)
def test_what_is_not_chosen_gets_nothing(name, bad):
    f, first = CHOICES[name]
    _, back = pb.vjp(lambda x, z: f(x, z), X, Z, options=PYTHON)
    dx, dz = back(np.full(2, bad))
    np.testing.assert_array_equal(dx, np.where(first, bad, 0.0))
    np.testing.assert_array_equal(dz, np.where(first, 0.0, bad))


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("name", CHOICES)
def test_nothing_comes_from_what_is_not_chosen(name, bad):
    f, first = CHOICES[name]
    directions = np.where(first, 1.0, bad), np.where(first, bad, 2.0)
    _, t = pb.jvp(lambda x, z: f(x, z), (X, Z), directions, options=PYTHON)
    np.testing.assert_array_equal(t, np.where(first, 1.0, 2.0))


def test_what_is_chosen_of_complex_numbers_and_single_precision():
    def f(x, z):
        return np.where(x.real > 0, x, z)

    for dtype in (np.complex128, np.complex64, np.float32):
        x, z = X.astype(dtype), Z.astype(dtype)
        bar = np.full(2, np.inf if dtype is np.float32 else np.inf + 1j).astype(dtype)
        dx, dz = pb.vjp(f, x, z, options=PYTHON)[1](bar)
        assert dx.dtype == dz.dtype == dtype
        np.testing.assert_array_equal(dx, [bar[0], 0])
        np.testing.assert_array_equal(dz, [0, bar[1]])
