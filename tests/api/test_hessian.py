"""Second derivatives, and operators of operators to any depth."""

import functools
import inspect
import math

import numpy as np
import pytest

import pullback as pb
from pullback.errors import CotangentMismatch, NonScalarOutput, PullbackError
from pullback.runtime import prims

from . import NATIVE, PYTHON

grad = functools.partial(pb.grad, options=PYTHON)
value_and_grad = functools.partial(pb.value_and_grad, options=PYTHON)
hessian = functools.partial(pb.hessian, options=PYTHON)
hvp = functools.partial(pb.hvp, options=PYTHON)
jvp = functools.partial(pb.jvp, options=PYTHON)
vjp = functools.partial(pb.vjp, options=PYTHON)
jacobian = functools.partial(pb.jacobian, options=PYTHON)

X = np.array([0.5, 1.2, -0.7])
V = np.array([1.0, -0.5, 2.0])
K = 1.3


def f(x, k):
    """Not linear, not quadratic, and it overwrites its argument."""
    s = 1.0
    for i in range(x.size):
        x[i] = x[i] * s
        s = s * math.sin(k * x[i]) + x[i]
    return s * s


def exact_hessian():
    """By complex steps of complex-step-free central differences of second order in longdouble."""

    def g(x, k):
        x, s = x.copy(), 1.0
        for i in range(3):
            x[i] = x[i] * s
            s = s * np.sin(k * x[i]) + x[i]
        return s * s

    H = np.empty((4, 4))
    h = 1e-4
    z = np.array([*X, K])
    for i, a in enumerate(np.eye(4)):
        for j, b in enumerate(np.eye(4)):

            def slope(t):
                w = z + 1e-30j * a + t * b
                return g(w[:3], w[3]).imag / 1e-30

            H[i, j] = (8 * (slope(h) - slope(-h)) - (slope(2 * h) - slope(-2 * h))) / (12 * h)
    return H


H = exact_hessian()


def close(a, b, rtol=1e-9):
    return np.allclose(a, b, rtol=rtol, atol=rtol)


def test_hessian_and_mutation():
    x, plain = X.copy(), X.copy()
    f(plain, K)
    found = hessian(f)(x, K)
    assert close(found, H[:3, :3]) and np.array_equal(x, plain)
    assert close(found, found.T, 1e-13)


def test_blocks():
    ((xx, xk), (kx, kk)) = hessian(f, (0, "k"))(X.copy(), K)
    assert close(xx, H[:3, :3]) and close(xk, H[:3, 3]) and close(kx, H[3, :3])
    assert type(kk) is float and close(kk, H[3, 3])
    assert close(hessian(f, 1)(X.copy(), K), H[3, 3])
    assert close(hessian(f, (1,))(X.copy(), K)[0][0], H[3, 3])


def test_hvp_in_scipys_order():
    x, plain = X.copy(), X.copy()
    f(plain, K)
    assert close(hvp(f)(x, V, K), H[:3, :3] @ V) and np.array_equal(x, plain)
    assert hvp(lambda x, k: k * x**3)(2.0, 5.0, 1.0) == 60.0
    p = hvp(lambda p: p[0] * p[0] * p[1])((2.0, 3.0, 4), (1.0, None, None))
    assert p == (6.0, 4.0, None)


def test_hvp_checks_the_vector():
    with pytest.raises(CotangentMismatch, match="the vector"):
        hvp(f)(X.copy(), np.ones(2), K)


def test_signature_of_hvp():
    assert list(inspect.signature(hvp(f)).parameters) == ["x", "v", "k"]


def test_the_ways_to_second_derivatives_agree():
    """Forward over reverse, reverse over reverse (by symmetry), forward over forward."""
    by_jvp = np.array([jvp(grad(f), (X.copy(), K), (e, None))[1] for e in np.eye(3)])
    y, back = vjp(grad(f), X.copy(), K)
    by_vjp = np.array([back(e)[0] for e in np.eye(3)])
    by_jacobian = jacobian(grad(f))(X.copy(), K)
    forward = jacobian(jacobian(f))(X.copy(), K)
    for found in (by_jvp, by_vjp, by_jacobian, forward):
        assert close(found, H[:3, :3]) and close(found, found.T, 1e-12)
    assert close(y, grad(f)(X.copy(), K), 1e-14)
    assert close(back(V)[1], H[3, :3] @ V)


def test_mixed_partials():
    assert close(grad(grad(f, 1), 0)(X.copy(), K), H[:3, 3])
    assert close(grad(grad(f, 1), 1)(X.copy(), K), H[3, 3])
    assert close(jacobian(grad(f, 0), 1)(X.copy(), K), H[:3, 3])
    both = jacobian(grad(f, (0, 1)), (1,))(X.copy(), K)
    assert close(both[0][0], H[:3, 3]) and close(both[1][0], H[3, 3])


@pytest.mark.parametrize("depth", range(1, 6))
def test_repeated_gradients_of_a_number(depth):
    g = math.sin
    for _ in range(depth):
        g = grad(g)
    expected = [math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x), math.sin][(depth - 1) % 4]
    assert g(0.7) == pytest.approx(expected(0.7), rel=1e-13)


def test_third_derivatives():
    def cubic(x):
        return x[0] ** 3 + 2 * x[0] * x[1] * x[1]

    T = jacobian(hessian(cubic))(np.array([1.0, 2.0]))
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0] = 6
    expected[0, 1, 1] = expected[1, 0, 1] = expected[1, 1, 0] = 4
    assert np.array_equal(T, expected)
    v = np.array([1.0, 3.0])
    assert np.array_equal(jvp(hessian(cubic), (np.array([1.0, 2.0]),), (v,))[1], expected @ v)
    _, back = vjp(hessian(cubic), np.array([1.0, 2.0]))
    w = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(back(w)[0], np.einsum("ij,ijk", w, expected))


def test_perturbations_are_not_confused():
    """d/dx (x · d/dy (x y)) is 2x, also where both derivatives are of the same function."""

    def g(x, y):
        return x * x * y

    # d/dx at y=1 of x·∂(xy)/∂y with the inner derivative by the other argument
    assert grad(grad(g, 1), 0)(3.0, 1.0) == 6.0
    assert grad(grad(g, 0), 0)(3.0, 1.0) == 2.0
    assert jvp(grad(g, (0, 1)), (3.0, 1.0), (1.0, 0.0))[1] == (2.0, 6.0)
    assert jvp(grad(g, (0, 1)), (3.0, 1.0), (0.0, 1.0))[1] == (6.0, 0.0)


def test_value_and_grad_inside():
    (y, g), (dy, dg) = jvp(value_and_grad(f), (X.copy(), K), (V, None))
    assert close(y, f(X.copy(), K), 1e-14) and close(g, grad(f)(X.copy(), K), 1e-14)
    assert close(dy, g @ V, 1e-12) and close(dg, H[:3, :3] @ V)
    _, back = vjp(value_and_grad(f), X.copy(), K)
    gx, gk = back((2.0, V))
    assert close(gx, 2 * g + H[:3, :3] @ V) and gk != 0.0


def test_aux_inside():
    def with_aux(x):
        return (x * x * x).sum(), x * 2.0

    g = grad(with_aux, has_aux=True)
    (d, aux), (dd, daux) = jvp(g, (X,), (V,))
    assert close(d, 3 * X * X) and close(dd, 6 * X * V) and close(aux, 2 * X) and close(daux, 2 * V)
    _, back = vjp(g, X)
    assert close(back((V, V))[0], 6 * X * V + 2 * V)
    n, a = grad(lambda x: (x * x, x), has_aux=True)(3.0)
    assert (n, a) == (6.0, 3.0)


def test_a_gradient_is_no_scalar():
    with pytest.raises(NonScalarOutput):
        grad(grad(f))(X.copy(), K)
    with pytest.raises(NonScalarOutput):
        hessian(lambda x: x)(X)


def test_what_cannot_be_nested_says_so():
    with pytest.raises(PullbackError, match="cannot be differentiated again"):
        grad(hvp(lambda x: x**3))(1.0)


def test_mutation_by_nested_operators():
    plain = X.copy()
    f(plain, K)
    for run in (
        lambda x: jvp(grad(f), (x, K), (V, None)),
        lambda x: vjp(grad(f), x, K),
        lambda x: jacobian(grad(f))(x, K),
        lambda x: grad(grad(f, 1))(x, K),
    ):
        x = X.copy()
        run(x)
        assert np.array_equal(x, plain)


def test_a_pullback_of_a_gradient_may_be_called_again():
    x = X.copy()
    _, back = vjp(grad(f), x, K)
    first = back(V)
    x[:] = np.nan
    back(np.ones(3))
    assert np.array_equal(first[0], back(V)[0])
    assert len(repr(back).splitlines()) <= 3


def test_a_copy_of_a_constant_array_beside_one_of_the_argument():
    """Their handles share the tape; the tangent of the constant's copy is zero, not the copy."""

    def f(x):
        g, e = np.zeros_like(x), np.zeros_like(x)
        for i in range(x.size):
            e[i] = 1.0
            w, d = prims.own(x), prims.own(e)
            for j in range(x.size):
                g[i] += 3 * w[j] * w[j] * d[j]
            e[i] = 0.0
        return (g * g).sum()

    x = np.array([1.0, 2.0])
    assert np.array_equal(hessian(f)(x), np.diag(108 * x * x))


def heat(u, k, steps):
    """Two buffers: its gradient is gathered."""
    v = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + k * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u, v = v, u
    return (u * u).sum()


def seidel(u, k, steps):
    """In place: its gradient keeps neighbours in registers."""
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] = math.sin(k * (u[i - 1] + u[i + 1])) + 0.5 * u[i]
    return (u * u).sum()


def pairs(u, k, steps):
    """Sums that its gradient keeps in scalars."""
    s = 0.0
    for i in range(len(u)):
        for j in range(steps):
            s += math.cos(k * (u[i] - u[j])) * u[i]
    return s


def arrays(u, k, steps):
    """Whole arrays, whose loops become one."""
    for _ in range(steps):
        u = np.sin(u) * k + u * u[::-1]
    return (u * u).sum()


@pytest.mark.parametrize("f", [heat, seidel, pairs, arrays])
def test_the_plan_makes_no_difference(f):
    fast, plain = hvp(f), pb.hvp(f, options={**PYTHON, "plan": "naive"})
    for n in range(1, 6):
        rng = np.random.default_rng(n)
        u, v = 0.3 * rng.normal(size=(2, n))
        for steps in range(min(n, 3) + 1):
            mine, other = u.copy(), u.copy()
            assert np.allclose(
                fast(mine, v, 0.7, steps), plain(other, v, 0.7, steps), rtol=1e-12, atol=1e-14
            )
            assert np.array_equal(mine, other)


def test_native():
    assert close(pb.hessian(f, options=NATIVE)(X.copy(), K), H[:3, :3])
    assert close(pb.hvp(f)(X.copy(), V, K), H[:3, :3] @ V)
    assert close(pb.grad(pb.grad(f, 1), 1)(X.copy(), K), H[3, 3])
    assert pb.grad(pb.grad(pb.grad(math.sin)))(0.7) == pytest.approx(-math.cos(0.7))


@pytest.mark.parametrize("again", [False, True])
def test_an_exception_leaves_what_a_plain_call_leaves(again):
    """The second call runs what the first has compiled."""

    def stops(x, n):
        for i in range(n):
            x[i] = x[i] * 2.0
        return (x * x).sum()

    for operator, rest in ((hessian, ()), (hvp, (V,)), (grad, ())):
        plain, own = X.copy(), X.copy()
        if again:
            operator(stops)(X.copy(), *rest, 3)
        with pytest.raises(IndexError):
            stops(plain, 4)
        with pytest.raises(IndexError):
            operator(stops)(own, *rest, 4)
        assert np.array_equal(plain, own)
    own = X.copy()
    with pytest.raises(IndexError):
        grad(grad(lambda a, x, n: a * a * stops(x, n)))(2.0, own, 4)
    assert np.array_equal(own, 2 * X)
