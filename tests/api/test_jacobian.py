"""Jacobians: shapes, modes, structures."""

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.errors import NotDifferentiable, UnknownOption

from . import PYTHON

MODES = ["forward", "reverse", "auto"]


def jacobian(f, argnums=0, mode="auto"):
    return pb.jacobian(f, argnums, mode=mode, options=PYTHON)


def matrix(x):
    """Three results of two arguments."""
    out = np.zeros((3, 1))
    out[0, 0] = x[0] * x[1]
    out[1, 0] = x[0] ** 3
    out[2, 0] = x[1] * 2.0
    return out


@pytest.mark.parametrize("mode", MODES)
def test_shape_is_out_then_in(mode):
    J = jacobian(matrix, mode=mode)(np.array([2.0, 3.0]))
    assert J.shape == (3, 1, 2) and J.flags.c_contiguous and J.flags.writeable
    assert np.array_equal(J[:, 0], [[3.0, 2.0], [12.0, 0.0], [0.0, 2.0]])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: x * x, 3.0, 6.0),
        (lambda x: (x * x).sum(), np.array([1.0, 2.0]), np.array([2.0, 4.0])),
        (lambda x: np.array([x, x * x]), 3.0, np.array([1.0, 6.0])),
        (lambda x: x * 2.0, np.ones((2, 2)), 2 * np.eye(4).reshape(2, 2, 2, 2)),
        (lambda x: x * 2.0, np.ones(0), np.zeros((0, 0))),
        (lambda x: np.zeros(3), np.ones(2), np.zeros((3, 2))),
        (lambda x: 1.0, 2.0, 0.0),
    ],
)
def test_numbers_and_arrays(f, x, expected, mode):
    J = jacobian(f, mode=mode)(x)
    assert type(J) is type(expected) and np.array_equal(J, expected)


@pytest.mark.parametrize("mode", MODES)
def test_tuples_of_results_outside_of_arguments_inside(mode):
    def f(x, p):
        return x * p[0], (p[0] * p[0], 3)

    x = np.array([1.0, 2.0])
    J = jacobian(f, (0, 1), mode)(x, (5.0, 2))
    (dy_dx, (dy_dp, none)), ((ds_dx, (ds_dp, _)), n) = J
    assert np.array_equal(dy_dx, 5 * np.eye(2)) and np.array_equal(dy_dp, x) and none is None
    assert np.array_equal(ds_dx, [0.0, 0.0]) and ds_dp == 10.0 and n is None
    assert jacobian(f, "p", mode)(x, (5.0, 2))[1][0] == (10.0, None)


def rolled(x, k):
    for i in range(x.size - 1):
        x[i + 1] = x[i] * x[i + 1] * k
    return x * x


@pytest.mark.parametrize("mode", MODES)
def test_mutation_and_agreement(mode):
    x, plain = np.arange(1.0, 5.0), np.arange(1.0, 5.0)
    rolled(plain, 0.5)
    J = jacobian(rolled, mode=mode)(x, 0.5)
    assert np.array_equal(x, plain)
    columns = []
    for e in np.eye(4):
        y = np.arange(1.0, 5.0) + 1e-30j * e
        columns.append(rolled(y, 0.5).imag / 1e-30)
    assert np.allclose(J, np.array(columns).T, rtol=1e-13)


def test_auto_turns_to_rows_where_they_are_few():
    seen = []
    A = np.arange(40.0).reshape(2, 20)

    def f(x):
        return A @ (x * x)

    J = jacobian(f)(np.ones(20))
    assert np.array_equal(J, 2 * A)
    assert not seen


@pytest.mark.parametrize("mode", ["forward", "auto"])
def test_complex_results(mode):
    J = jacobian(lambda x: x * (1 + 2j), mode=mode)(np.ones(2))
    assert np.array_equal(J, (1 + 2j) * np.eye(2))


def test_complex_by_rows_is_refused():
    with pytest.raises(NotDifferentiable, match='mode="forward"'):
        jacobian(lambda x: x * (1 + 2j), mode="reverse")(np.ones(2))


def test_complex_arguments_are_refused():
    with pytest.raises(NotDifferentiable, match="complex argument 'z'"):
        jacobian(lambda z: z * z)(1j)


def test_an_unknown_mode():
    with pytest.raises(UnknownOption, match='"forward", "reverse" or "auto"'):
        pb.jacobian(matrix, mode="backward")


@pytest.mark.parametrize("mode", MODES)
def test_single_precision(mode):
    J = jacobian(lambda x: x * x, mode=mode)(np.array([1.0, 2.0], np.float32))
    assert J.dtype == np.float32 and np.array_equal(J, np.diag([2.0, 4.0]))


def test_as_a_decorator():
    @functools.partial(pb.jacobian, options=PYTHON)
    def f(x):
        return x * x

    assert np.array_equal(f(np.array([1.0, 2.0])), np.diag([2.0, 4.0]))
