"""pb.check finds what is wrong, and does not find what is right."""

import functools
import math

import numpy as np
import pytest

import pullback as pb
from pullback.api.differences import derivative
from pullback.errors import CheckFailed, NotDifferentiable

from . import PYTHON

check = functools.partial(pb.check, options=PYTHON)


def steps(x, k):
    s = 1.0
    for i in range(x.size):
        x[i] = x[i] * s
        s = s * math.sin(x[i] * k)
    return s, x * 2.0


def test_a_right_function_passes_and_its_arguments_are_left_alone():
    x = np.array([1.0, 2.0, 3.0])
    report = check(steps, x, 1.1)
    assert report.passed and np.array_equal(x, [1.0, 2.0, 3.0])
    text = str(report)
    assert text.startswith("check of steps(float64[3], 1.1)")
    assert "by x" in text and "by k" in text and "afterwards" in text


@pytest.mark.parametrize(
    ("f", "args", "kwargs"),
    [
        (lambda x: math.log(x), (1e-3,), {}),
        (lambda x: math.sqrt(x) * 1e9, (1e-12,), {}),
        (lambda x: (x * x).sum(), (np.ones(3, np.float32),), {}),
        (lambda z: (z * z.conjugate()).real, (1 + 2j,), {}),
        (lambda z: z * z, (np.array([1 + 2j, 3j]),), {}),
        (lambda x, k=1.0: x * k, (2.0,), {"k": 3.0}),
        (lambda p, n: (p[0] * p[1][0], n), ((2.0, (3.0, 1)), 4), {}),
        (lambda x: x[1:], (np.arange(3.0),), {}),
        (lambda x: 3.0, (2.0,), {}),
        (lambda x: x * 0.0, (np.zeros(3),), {}),
        (lambda x: x.sum(), (np.ones(0),), {}),
        (math.tanh, (0.5,), {}),
        (functools.partial(pow, 2.0), (0.5,), {}),
    ],
)
def test_what_passes(f, args, kwargs):
    assert check(f, *args, kwargs=kwargs).passed


def wrong_cube(x):
    return x**3


def test_a_wrong_rule_fails():
    pb.scalar_rule(wrong_cube, lambda y, x: 2 * x * x)
    with pytest.raises(CheckFailed, match="finite differences") as e:
        check(lambda x: wrong_cube(x), 2.0)
    assert e.value.code == "PB402" and isinstance(e.value, AssertionError)
    assert "FAILED by x: reverse mode" in str(e.value) and "ok     by x: forward" in str(e.value)


def test_a_kink_fails():
    with pytest.raises(CheckFailed, match="kink"):
        check(lambda x: x if x > 0 else 2 * x, 0.0)


calls = 0


def test_a_value_that_differs_from_cpythons_fails():
    class Odd:
        """Reads differently each time."""

        @property
        def k(self):
            global calls
            calls += 1
            return float(calls)

    odd = Odd()
    with pytest.raises(CheckFailed, match="FAILED value"):
        check(lambda x: odd.k * x, 2.0)


def test_integers_are_refused():
    with pytest.raises(NotDifferentiable):
        check(lambda x: x * x, 2)


def test_exceptions_of_the_function_come_through():
    def f(x):
        raise ValueError("too small")

    with pytest.raises(ValueError, match="too small"):
        check(f, 1.0)


# -- finite differences ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("phi", "slope"),
    [
        (math.exp, 1.0),
        (lambda t: math.log(1 + t), 1.0),
        (lambda t: math.log(0.01 + t), 100.0),  # without value at the first step
        (lambda t: math.sin(40 * t), 40.0),
        (lambda t: 1e8 + t, 1.0),
        (lambda t: 5.0, 0.0),
    ],
)
def test_differences(phi, slope):
    found, uncertain = derivative(phi)
    assert abs(found - slope) <= max(1e-9 * abs(slope), 4 * uncertain)
    assert uncertain <= 1e-6 * max(1.0, abs(slope))
