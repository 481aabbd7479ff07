"""The value without its derivative, in plain Python and in compiled code."""

from collections import namedtuple

import numpy as np
import pytest

import pullback as pb

from . import NATIVE, PYTHON

Pair = namedtuple("Pair", "a b")


@pytest.fixture(params=[PYTHON, NATIVE], ids=["python", "native"])
def options(request):
    return request.param


def test_in_plain_python():
    x = np.ones(3)
    y = pb.stop_gradient(x)
    assert np.array_equal(x, y) and not np.shares_memory(x, y)
    assert pb.stop_gradient(3.0) == 3.0 and pb.stop_gradient("s") == "s"
    p = pb.stop_gradient(Pair(1.0, (2, x)))
    assert isinstance(p, Pair) and p.b[0] == 2 and p.b[1] is not x


def test_a_number(options):
    g = pb.value_and_grad(lambda x: x * pb.stop_gradient(x * x), options=options)
    assert g(3.0) == (27.0, 9.0)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_an_array(shape, options):
    x = np.full(shape, 3.0)
    g = pb.grad(lambda x: (x * pb.stop_gradient(x)).sum(), options=options)(x)
    assert np.array_equal(g, x)


def test_the_array_is_a_copy(options):
    def f(x):
        y = pb.stop_gradient(x)
        y[0] = 7.0
        return x[0] * y[0]

    x = np.array([2.0, 3.0])
    assert np.array_equal(pb.grad(f, options=options)(x), [7.0, 0.0])
    assert x[0] == 2.0


def test_a_tuple(options):
    def f(x, n):
        a, (b, c) = pb.stop_gradient((x, (x * x, n)))
        return x * a + b * c

    assert pb.grad(f, options=options)(3.0, 2) == 3.0


def test_integers_and_forward_mode(options):
    def f(x, n):
        return x * pb.stop_gradient(n) + pb.stop_gradient(np.arange(3))[1] + pb.stop_gradient(x)

    assert pb.jvp(f, (3.0, 2), (1.0, None), options=options) == (10.0, 2.0)


def test_second_derivatives(options):
    g = pb.grad(pb.grad(lambda x: x * x * pb.stop_gradient(x)), options=options)
    assert g(3.0) == 6.0


@pytest.mark.parametrize("to", [np.int64, np.uint8, bool])
def test_no_derivative_flows_through_a_cast_to_integers(to):
    """The user asked for it; the result may be one of several, or be read later."""
    x = np.array([1.5, 2.25, 0.0])
    y, back = pb.vjp(lambda x: (x * x, x.astype(to)), x, options=PYTHON)
    assert y[1].dtype == to and np.array_equal(y[1], x.astype(to))
    assert np.array_equal(back((np.ones(3), None))[0], 2 * x)
    weighted = pb.grad(lambda x: (x.astype(to) * x).sum(), options=PYTHON)
    assert np.array_equal(weighted(x), x.astype(to))
