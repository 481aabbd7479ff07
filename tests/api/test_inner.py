"""Gradients taken inside a function that is differentiated."""

import functools

import numpy as np
import pytest

import pullback as pb
from pullback.errors import NoDerivativeError, ReadOnlyArgument, TypingError

from . import NATIVE, PYTHON

grad = functools.partial(pb.grad, options=PYTHON)
hessian = functools.partial(pb.hessian, options=PYTHON)
factor = 2.0


def cubic(x):
    return factor * x * x * x


slope = pb.grad(cubic)


@pb.value_and_grad
def square_sum(x):
    return (x * x).sum()


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * pb.grad(lambda y: x * y)(1.0))(3.0) == 6.0
    assert grad(lambda x: x * pb.grad(lambda y: x + y)(1.0))(3.0) == 1.0
    assert grad(lambda x: pb.grad(lambda y: x * y * y)(x))(3.0) == 12.0


def test_three_deep():
    def f(x):
        return pb.grad(lambda y: pb.grad(lambda z: x * y * z * z * y)(x * y))(x)

    # ∂/∂z is 2 x y² z, at z = xy: 2 x² y³; ∂/∂y, with x fixed, 6 x² y², at y = x: 6 x⁴
    assert grad(f)(2.0) == 24 * 2.0**3


def test_all_modes_on_the_outside():
    def f(x):
        return x * pb.grad(cubic)(x)

    assert grad(f)(3.0) == 18 * 9.0
    assert pb.jvp(f, (3.0,), (1.0,), options=PYTHON)[1] == 18 * 9.0
    assert pb.vjp(f, 3.0, options=PYTHON)[1](1.0) == (18 * 9.0,)
    assert hessian(f)(3.0) == 36 * 3.0
    assert grad(grad(f))(3.0) == 36 * 3.0


def penalty(x):
    g = pb.grad(lambda w: (w * w * w).sum())(x)
    return (g * g).sum()


def test_a_gradient_by_an_array():
    x = np.array([1.0, 2.0])
    assert np.array_equal(grad(penalty)(x), 36 * x**3)
    assert np.array_equal(hessian(penalty)(x), np.diag(108 * x**2))


def test_operator_objects():
    global factor
    g = grad(lambda x: slope(x) * x)
    assert g(3.0) == 18 * 9.0
    factor = 4.0
    assert g(3.0) == 36 * 9.0
    factor = 2.0

    def f(x):
        v, d = square_sum(x)
        return v * d[0]

    assert np.array_equal(grad(f)(np.array([1.0, 2.0])), [14.0, 8.0])


def test_operators_of_different_closures():
    def scaled(a):
        return pb.grad(lambda y: a * y * y)

    def outer(g):
        return grad(lambda x: g(x) * x)

    assert [outer(scaled(a))(3.0) for a in (1.0, 2.0)] == [12.0, 24.0]


def newton(a):
    def f(y):
        return y * y * y - a

    x = a
    for _ in range(30):
        v, d = pb.value_and_grad(f)(x)
        x = x - v / d
    return x


@pytest.mark.parametrize("options", [PYTHON, NATIVE], ids=["python", "native"])
def test_in_a_loop(options):
    assert pb.grad(newton, options=options)(2.0) == pytest.approx(2 ** (-2 / 3) / 3, rel=1e-12)
    second = pb.hessian(newton, options=options)(2.0)
    assert second == pytest.approx(-2 / 9 * 2 ** (-5 / 3), rel=1e-10)


def test_aux_and_several_arguments():
    def f(x):
        g, a = pb.grad(lambda y: (y * y * x, y + x), has_aux=True)(x)
        return g + a

    assert grad(f)(3.0) == 14.0

    def h(x, w):
        ga, gb = pb.grad(lambda a, b: (a * b * w).sum(), (0, 1))(x, x * x)
        return (ga * gb).sum()

    assert np.array_equal(grad(h)(np.ones(2), np.array([1.0, 2.0])), [3.0, 12.0])


def test_the_inner_function_writes_to_copies():
    def inner(x, y):
        y[0] = x * x
        return y[0] * y[1]

    def f(x, y):
        return pb.grad(inner)(x, y) + y[0]

    y = np.array([5.0, 3.0])
    assert grad(f)(2.0, y) == 6.0 and np.array_equal(y, [5.0, 3.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: pb.hessian(cubic)(x),
        lambda x: pb.jvp(cubic, (x,), (1.0,))[1],
        lambda x: pb.vjp(cubic, x)[0],
        lambda x: pb.jacobian(cubic)(x),
        lambda x: pb.hvp(cubic)(x, 1.0),
        lambda x: pb.grad(lambda p: p[0])((x, x))[0],
        lambda x: pb.grad(lambda n: n)(3) * x,
        lambda x: pb.grad(cubic, 1)(x),
        lambda x: pb.grad(cubic, -1)(x),
    ],
)
def test_what_is_refused_has_a_code(f):
    with pytest.raises(TypingError) as e:
        grad(f)(2.0)
    assert e.value.loc.file == __file__


memory = np.zeros(3)


def test_writes_to_what_was_captured_are_refused():
    def by_global(y):
        memory[0] += y[0] * y[0]
        return memory[0] * y[1]

    def f(x):
        return pb.grad(by_global)(x).sum()

    with pytest.raises(NoDerivativeError, match="writes to an array") as e:
        grad(f)(np.ones(3))
    assert e.value.loc.line == by_global.__code__.co_firstlineno + 1
    assert not memory.any()


def test_writes_to_what_the_caller_made_are_refused():
    def f(x):
        kept = np.zeros(2)

        def inner(y):
            kept[1] = y * y
            return kept[1] * y

        return pb.grad(inner)(x)

    with pytest.raises(NoDerivativeError, match="writes to an array"):
        grad(f)(2.0)


def fill(a, n, v):
    if n > 0:
        a[n - 1] = v
        fill(a, n - 1, v * v)
    return 0.0


def test_writes_of_a_recursive_function_are_refused():
    def f(x):
        def inner(y):
            fill(memory, 3, y)
            return memory[0]

        return pb.grad(inner)(x)

    with pytest.raises(NoDerivativeError, match="writes to an array"):
        grad(f)(2.0)


def test_the_inner_function_may_write_to_its_own():
    def f(x):
        def inner(y, scale):
            scale[0] = 3.0 * y[1]
            y[1] = y[0] * scale[0]
            made = np.zeros(2)
            made[:] = y[1] * y[1]
            return made[0]

        g = pb.grad(inner)(x, memory)
        return g[0] + memory[0]

    # (3 y0 y1)^2 by y0: 18 y0 y1^2
    value, g = pb.value_and_grad(f, options=PYTHON)(np.array([2.0, 5.0]))
    assert value == 18 * 2.0 * 25.0
    np.testing.assert_array_equal(g, [18 * 25.0, 36 * 2.0 * 5.0])


def test_an_array_that_a_recursive_function_writes_to_is_written_to():
    fixed = np.ones(3)
    fixed.flags.writeable = False
    with pytest.raises(ReadOnlyArgument):
        grad(lambda a, x: fill(a, 3, x) + a[0], 1)(fixed, 2.0)
