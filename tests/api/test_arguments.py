"""Which argument is differentiated, however it is passed."""

import functools
import math

import numpy as np
import pytest

import pullback as pb
from pullback.errors import ArgnumsError, NonScalarOutput, NotLiftable

from . import PYTHON

grad = functools.partial(pb.grad, options=PYTHON)
value_and_grad = functools.partial(pb.value_and_grad, options=PYTHON)


def f(x, y, k=2.0, *, z=1.0):
    return x * y * y * k * z


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 18.0),
        (1, 12.0),
        (-1, 12.0),
        (-2, 18.0),
        (2, 9.0),  # an argument with a default can be selected by its position
        ("x", 18.0),
        ("y", 12.0),
        ("k", 9.0),
        ("z", 18.0),
        ((0,), (18.0,)),
        ((1, 0), (12.0, 18.0)),
        (("y", -2), (12.0, 18.0)),
        ((), ()),
        (np.int64(1), 12.0),
    ],
)
def test_argnums(argnums, expected):
    assert grad(f, argnums)(1.0, 3.0) == expected


@pytest.mark.parametrize("argnums", [3, -3, "w", "K", 1.0, True, None, (0, 0), (0, "x"), (1, -1)])
def test_argnums_that_name_no_argument(argnums):
    with pytest.raises(ArgnumsError) as e:
        grad(f, argnums)(1.0, 3.0)
    assert e.value.code == "PB401"


def test_an_unknown_name_is_answered_with_those_that_there_are():
    with pytest.raises(ArgnumsError, match="'x', 'y', 'k', 'z'"):
        grad(f, "w")(1.0, 3.0)


def test_keyword_arguments_keep_their_position():
    assert grad(f, 1)(y=3.0, x=1.0) == 12.0
    assert grad(f, "z")(1.0, 3.0, z=4.0) == 18.0
    assert grad(f)(1.0, k=1.0, y=3.0) == 9.0
    assert grad(f, -1)(1.0, 3.0, 5.0) == 9.0  # the last that was given


def test_binding_errors_are_pythons():
    g = grad(f)
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        g(1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
        g(1.0, 2.0, w=1.0)
    with pytest.raises(TypeError, match="too many positional arguments"):
        g(1.0, 2.0, 3.0, 4.0)
    with pytest.raises(TypeError, match="multiple values for argument 'x'"):
        g(1.0, 2.0, x=3.0)


def variadic(a, *rest, scale=1.0, **named):
    total = a
    for r in rest:
        total = total * r
    return total * scale * named["extra"]


def test_extra_arguments():
    assert grad(variadic, 0)(2.0, 3.0, 5.0, extra=7.0) == 105.0
    assert grad(variadic, 1)(2.0, 3.0, 5.0, extra=7.0) == 70.0
    assert grad(variadic, -1)(2.0, 3.0, 5.0, extra=7.0) == 42.0
    assert grad(variadic, "extra")(2.0, 3.0, extra=7.0) == 6.0
    assert grad(variadic, ("scale", 0))(2.0, 3.0, extra=7.0) == (42.0, 21.0)
    with pytest.raises(ArgnumsError):
        grad(variadic, 2)(2.0, 3.0, extra=7.0)


def test_positional_only_parameters():
    def g(x, /, y):
        return x * y

    assert grad(g)(2.0, y=3.0) == 3.0
    with pytest.raises(TypeError):
        grad(g)(x=2.0, y=3.0)


class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness

    def energy(self, x, scale=1.0):
        return 0.5 * self.stiffness * x * x * scale

    def __call__(self, x, scale=1.0):
        return self.energy(x, scale)

    @staticmethod
    def cube(x):
        return x**3

    @classmethod
    def square(cls, x):
        return x * x


def test_a_bound_method_counts_the_remaining_arguments():
    s = Spring(3.0)
    assert grad(s.energy)(2.0) == 6.0
    assert grad(s.energy, 1)(2.0) == 6.0
    assert grad(s.energy, "scale")(2.0, scale=5.0) == 6.0
    assert grad(Spring.cube)(2.0) == 12.0
    assert grad(Spring.square)(2.0) == 4.0


def test_attributes_of_the_object_are_read_at_each_call():
    s = Spring(3.0)
    g = grad(s.energy)
    assert g(2.0) == 6.0
    s.stiffness = 10.0
    assert g(2.0) == 20.0
    assert grad(Spring(7.0).energy)(2.0) == 14.0


def test_a_callable_object():
    assert grad(Spring(3.0))(2.0) == 6.0
    assert grad(Spring(3.0), "scale")(2.0) == 6.0


def test_a_partial_counts_the_remaining_arguments():
    assert grad(functools.partial(f, 2.0))(3.0) == 24.0
    assert grad(functools.partial(f, 2.0), "y")(3.0) == 24.0
    assert grad(functools.partial(f, y=3.0))(2.0) == 18.0
    assert grad(functools.partial(functools.partial(f, 2.0), k=1.0))(3.0) == 12.0
    assert grad(functools.partial(Spring(3.0).energy, scale=2.0))(2.0) == 12.0
    assert grad(functools.partial(f, y=3.0), "y")(2.0) == 24.0


def test_a_partial_with_an_array():
    w = np.array([1.0, 2.0])
    g = grad(functools.partial(lambda w, x: (w * x).sum(), w))
    assert np.array_equal(g(np.ones(2)), w)
    w[0] = 5.0
    assert np.array_equal(g(np.ones(2)), [5.0, 2.0])


def test_builtins_and_numpy_functions():
    assert grad(math.sin)(0.5) == math.cos(0.5)
    assert grad(abs)(-2.0) == -1.0
    assert grad(max, (0, 1))(1.0, 1.0) == (0.5, 0.5)
    assert np.array_equal(grad(np.sum)(np.ones(3)), np.ones(3))
    assert grad(np.hypot, 1)(3.0, 4.0) == pytest.approx(0.8)
    assert grad(functools.partial(math.pow, 2.0))(3.0) == pytest.approx(8 * math.log(2))


@pytest.mark.parametrize("f", [3, "f", None, np.ones(2)])
def test_what_is_no_function(f):
    with pytest.raises((NotLiftable, TypeError)):
        pb.grad(f)(1.0) if f is not None else pb.vjp(f, 1.0)


# -- has_aux ---------------------------------------------------------------------------------------
def with_aux(x):
    r = x * x
    return r.sum(), (r, x.size)


def test_has_aux():
    x = np.array([1.0, 2.0])
    g, (r, n) = grad(with_aux, has_aux=True)(x)
    assert np.array_equal(g, 2 * x) and np.array_equal(r, x * x) and n == 2
    (y, (r, n)), g = value_and_grad(with_aux, has_aux=True)(x)
    assert y == 5.0 and np.array_equal(g, 2 * x) and np.array_equal(r, x * x) and n == 2


def test_aux_may_be_what_has_no_derivative():
    def g(x, name):
        return x * x, (name, None, 3)

    assert grad(g, has_aux=True)(3.0, "label") == (6.0, ("label", None, 3))


def test_forgotten_has_aux_is_suggested():
    with pytest.raises(NonScalarOutput, match="has_aux=True"):
        grad(with_aux)(np.ones(2))


def test_has_aux_of_a_plain_number():
    with pytest.raises(NonScalarOutput, match=r"Return \(y, aux\)"):
        grad(lambda x: x * x, has_aux=True)(1.0)
