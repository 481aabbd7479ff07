"""Machine code: a smoke test of each operator, what it leaks, how it is bound."""

import gc
import math

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

import pullback as pb
from pullback.runtime.memory import clear_buffers


def model(x, w, p, n):
    """Reads, writes, allocates; returns a number."""
    y = np.zeros(n)
    for i in range(n):
        y[i] = math.tanh(w[i, 0] * x[i]) + p[0]
        x[i] = y[i] * w[i, 1]
    return (y * x).sum() * p[1][0]


def arguments():
    rng = np.random.default_rng(0)
    return rng.normal(size=4), rng.normal(size=(4, 2)), (0.3, (1.5, 2)), 4


def loss(x, w, a, b):
    return model(x, w, (a, (b, 2)), 4)


ALL = ("x", "w", "p")


def test_gradients_are_those_on_cpython():
    native = pb.value_and_grad(model, ALL)(*arguments())
    python = pb.value_and_grad(model, ALL, options={"run": "python"})(*arguments())
    assert native[0] == pytest.approx(python[0], rel=1e-14)
    for a, b in zip(native[1][:2], python[1][:2]):
        assert np.allclose(a, b, rtol=1e-13)
    assert native[1][2][0] == pytest.approx(python[1][2][0], rel=1e-13)
    assert native[1][2][1][1] is None


def test_check():
    assert pb.check(model, *arguments()).passed


def test_layouts():
    w = np.asfortranarray(arguments()[1])
    x, _, p, n = arguments()
    expected = pb.grad(model, 1)(x.copy(), np.ascontiguousarray(w), p, n)
    for layout in (w, np.repeat(w, 2, axis=1)[:, ::2], w[::-1].copy()[::-1]):
        assert np.allclose(pb.grad(model, 1)(x.copy(), layout, p, n), expected)
    wide = np.repeat(x, 3)
    assert np.allclose(pb.grad(model, 1)(wide[::3], w, p, n), expected)


def test_read_only_and_broadcast():
    x = np.broadcast_to(2.0, 3)
    assert np.array_equal(pb.grad(lambda x: (x * x).sum())(x), [4.0, 4.0, 4.0])


def test_single_precision():
    g = pb.grad(lambda x: (x * x).sum())(np.arange(3, dtype=np.float32))
    assert g.dtype == np.float32 and np.array_equal(g, [0.0, 2.0, 4.0])
    g = pb.grad(lambda x: x * x)(np.float32(3.0))
    assert isinstance(g, np.float32) and g == 6.0


def test_results_of_every_kind():
    def f(x):
        return (x * x).sum(), (x.size, x[0] > 0, x * 2.0, "name", x, x[1:])

    x = np.array([1.0, 2.0])
    (y, (n, positive, twice, name, same, tail)), _ = pb.value_and_grad(f, has_aux=True)(x)
    assert y == 5.0 and type(n) is int and positive is True and name == "name"
    assert np.array_equal(twice, 2 * x) and same is x and np.shares_memory(tail, x)


@pytest.mark.parametrize("raising", [False, True])
def test_nothing_leaks(raising):
    def f(x, n):
        y = x * 2.0
        z = y * y
        if n > x.size:
            raise ValueError("half-way")
        return (z * y).sum()

    n = 9 if raising else 1
    x = np.ones(5)
    operators = [
        lambda: pb.grad(f)(x, n),
        lambda: pb.vjp(f, x, n)[1](1.0),
        lambda: pb.jvp(f, (x, n), (x, None)),
        lambda: pb.hvp(f)(x, x, n),
    ]

    def run(times):
        for _ in range(times):
            for op in operators:
                try:
                    op()
                except ValueError:
                    assert raising

    _nrt_python.memsys_enable_stats()
    run(3)
    clear_buffers()
    gc.collect()  # what other tests left
    before = rtsys.get_allocation_stats()
    run(250)
    after = rtsys.get_allocation_stats()
    assert after.alloc - after.free == before.alloc - before.free
    assert after.mi_alloc - after.mi_free == before.mi_alloc - before.mi_free


def deep(x, n, limit):
    y = x * 1.5
    if n == 0:
        if limit > 2:
            raise ValueError("deep")
        return y
    return deep(y, n - 1, limit) * x


def recursive(x, limit):
    return deep(x, 3, limit).sum()


@njit
def jitted(x, limit):
    y = x * 2.0
    if limit > 2:
        raise ValueError("jitted")
    return y.sum()


def helped(x, limit):
    return jitted(x * x, limit) * x[0]


def collecting(x, limit):
    found = []
    for i in range(x.size):
        if x[i] > 0.0:
            found.append(x[i] * x[0])
        squares = x[::-1] * x
        if i == limit * 2 - 3:
            raise ValueError("collecting")
    return sum(found) * squares.sum()


def indefinite(x, limit):
    return np.linalg.cholesky(np.outer(x, x) + np.eye(x.size) * (3.0 - limit)).sum()


OPERATORS = {
    "value_and_grad": lambda f, x, n: pb.value_and_grad(f)(x, n),
    "by columns": lambda f, x, n: pb.jacobian(f, mode="forward")(x, n),
    "by rows": lambda f, x, n: pb.jacobian(f, mode="reverse")(x, n),
    "hessian": lambda f, x, n: pb.hessian(f)(x, n),
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("f", [recursive, helped, collecting, indefinite])
def test_nothing_leaks_from_deep_inside(f, operator):
    def counts():
        s = rtsys.get_allocation_stats()
        return s.alloc - s.free, s.mi_alloc - s.mi_free

    def run(times, limit):
        raised = 0
        for _ in range(times):
            try:
                OPERATORS[operator](f, np.ones(4), limit)
            except (ValueError, np.linalg.LinAlgError):
                raised += 1
        return raised

    _nrt_python.memsys_enable_stats()
    run(2, 1), run(2, 3)
    clear_buffers()
    gc.collect()
    before = counts()
    assert (run(100, 3), run(100, 1), run(100, 3)) == (100, 0, 100)
    assert counts() == before


def test_large_tapes_are_reused():
    def f(x, n):
        y = x
        for _ in range(n):
            y = math.sin(y) + x
        return y

    g = pb.grad(f)
    small, large = g(0.3, 10), g(0.3, 200_000)
    assert g(0.3, 10) == small and g(0.3, 200_000) == large
    clear_buffers()
    assert g(0.3, 200_000) == large


def test_views_from_the_tape_of_a_pullback():
    """The reverse half gets its argument, and from the tape a view of it that nobody shows to the
    compiler."""

    def f(x, turned):
        y = x[::-1] if turned else x[:]
        for i in range(x.size):
            y[i] = y[i] * x[0] + x[i]
        return (y * x).sum()

    x = np.array([-0.8, 0.5, 0.6, 0.2])
    for turned in (False, True):
        _, back = pb.vjp(f, x.copy(), turned)
        expected = pb.grad(f, options={"run": "python"})(x.copy(), turned)
        assert np.allclose(back(1.0)[0], expected, rtol=1e-12)


UNARY = """acos asin atan acosh(1+x) asinh atanh cbrt ceil cos cosh degrees erf erfc exp exp2 expm1
fabs floor gamma lgamma log log10 log1p log2 radians sin sinh sqrt tan tanh trunc"""
BINARY = (
    "atan2 copysign fmod hypot pow remainder dist((x,y),(y,1.0)) ldexp(x,3) log(x,y) comb(5,2)*x"
)


def test_all_of_math_is_machine_code():
    """Every function with a derivative, one after the other, against the complex step's cousin: an
    extrapolated difference."""
    calls = [n if "(" in n else f"{n}(x)" for n in UNARY.split()]
    calls += [n if "(" in n else f"{n}(x,y)" for n in BINARY.split()]
    terms = [f"math.{c}" for c in calls if hasattr(math, c.partition("(")[0])]
    names = [t[5:].partition("(")[0] for t in terms]
    source = "def f(x, y, w):\n" + "".join(f"    w[{i}] = {t}\n" for i, t in enumerate(terms))
    scope = {"math": math}
    exec(compile(source + "    return w\n", "<all of math>", "exec"), scope)
    f, w = scope["f"], np.zeros(len(terms))
    x, y, h = 0.6, 1.7, 1e-3
    value, tangent = pb.jvp(f, (x, y, w.copy()), (1.0, 0.5, None))
    assert np.allclose(value, f(x, y, w.copy()), rtol=1e-14)

    def difference(h):
        up, down = (f(x + t, y + 0.5 * t, w.copy()) for t in (h, -h))
        return (up - down) / (2 * h)

    slope = (64 * difference(h / 4) - 20 * difference(h / 2) + difference(h)) / 45
    for name, a, b in zip(names, tangent, slope):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9), name
