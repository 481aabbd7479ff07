"""Operator objects: decorators, names, pickling, threads, sharing of compiled code, options."""

import functools
import inspect
import math
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import njit

import pullback as pb
from pullback.ad import compile as kernels
from pullback.errors import UnknownOption
from pullback.typing_ import api as typing_api

from . import PYTHON

grad = functools.partial(pb.grad, options=PYTHON)


def poly(x, k=2.0, *, shift=0.0):
    """A polynomial."""
    return k * x * x + shift


@pb.grad
def slope(x):
    """Of a square."""
    return x * x


@pb.grad(argnums=1, options=PYTHON)
def second(x, y):
    return x * y * y


@pb.value_and_grad(argnums=("y",), options=PYTHON)
def both(x, y):
    return x * y


@pb.hessian(options=PYTHON)
def curvature(x):
    return x**3


# -- decorators ------------------------------------------------------------------------------------
def test_decorators_with_and_without_arguments():
    assert slope(3.0) == 6.0
    assert second(2.0, 3.0) == 12.0
    assert both(2.0, 3.0) == (6.0, (2.0,))
    assert curvature(2.0) == 12.0


def test_in_a_class_it_binds_as_a_method_does():
    class Model:
        k = 3.0

        @pb.grad(argnums=1, options=PYTHON)
        def slope(self, x):
            return self.k * x * x

    m = Model()
    assert m.slope(2.0) == 12.0
    m.k = 5.0
    assert m.slope(2.0) == 20.0


# -- what it looks like ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "make", [pb.grad, pb.value_and_grad, pb.jacobian, pb.hessian], ids=lambda m: m.__name__
)
def test_it_looks_like_the_function(make):
    g = make(poly)
    assert g.__wrapped__ is poly and g.__name__ == "poly" and g.__doc__ == "A polynomial."
    assert g.__module__ == __name__
    assert inspect.signature(g) == inspect.signature(poly)
    assert f"{make.__name__}(poly" in repr(g)
    assert callable(g)


# -- pickling --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "g",
    [
        pb.grad(poly, 1, options=PYTHON),
        pb.value_and_grad(poly, ("x", "k"), options=PYTHON),
        pb.jacobian(poly, mode="reverse", options=PYTHON),
        pb.hessian(poly, options=PYTHON),
        pb.hvp(poly, options=PYTHON),
        pb.grad(pb.grad(poly), options=PYTHON),
        pb.grad(functools.partial(poly, k=3.0), options=PYTHON),
        pb.grad(math.sin, options=PYTHON),
    ],
)
def test_pickle(g):
    again = pickle.loads(pickle.dumps(g))
    args = (1.5,) if g.f is math.sin or g.f.__class__ is functools.partial else (1.5, 3.0)
    if isinstance(g, pb.hvp(poly).__class__):
        args = (1.5, 1.0, 3.0)
    assert again(*args) == g(*args)
    assert again.settings == g.settings and again.options == g.options
    assert again is not g


def test_a_decorated_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(slope)) is slope
    assert pickle.loads(pickle.dumps(second)) is second


# -- what is differentiated ------------------------------------------------------------------------
class Cubic:
    def __init__(self, k):
        self.k = k

    def value(self, x):
        return self.k * x**3

    __call__ = value


CALLABLES = [
    Cubic(2.0).value,
    Cubic(2.0),
    functools.partial(lambda k, x: k * x**3, 2.0),
    functools.partial(lambda x, *, k: k * x**3, k=2.0),
    njit(lambda x: 2.0 * x**3),
]


@pytest.mark.parametrize("f", CALLABLES)
def test_every_operator_takes_methods_partials_objects_and_njit_functions(f):
    assert pb.value_and_grad(f, options=PYTHON)(3.0) == (54.0, 54.0)
    y, back = pb.vjp(f, 3.0, options=PYTHON)
    assert y == 54.0 and back(1.0) == (54.0,)
    assert pb.jvp(f, (3.0,), (1.0,), options=PYTHON) == (54.0, 54.0)
    assert pb.jacobian(f, options=PYTHON)(3.0) == 54.0
    assert pb.hessian(f, options=PYTHON)(3.0) == pb.hvp(f, options=PYTHON)(3.0, 1.0) == 36.0
    assert pb.grad(pb.grad(f, options=PYTHON), options=PYTHON)(3.0) == 36.0
    assert f(pb.stop_gradient(3.0)) == 54.0


def test_every_operator_takes_defaults_and_keyword_arguments():
    def f(x, k=2.0, *, z=1.0):
        return x * x * k * z

    assert pb.value_and_grad(f, options=PYTHON)(3.0, z=2.0) == (36.0, 24.0)
    assert pb.vjp(f, 3.0, kwargs={"z": 2.0}, options=PYTHON)[1](1.0) == (24.0,)
    assert pb.jvp(f, (3.0,), (1.0,), {"z": 2.0}, options=PYTHON) == (36.0, 24.0)
    assert pb.jacobian(f, options=PYTHON)(3.0, z=2.0) == 24.0
    assert pb.hessian(f, options=PYTHON)(3.0, z=2.0) == 8.0
    assert pb.hvp(f, options=PYTHON)(3.0, 1.0, z=2.0) == 8.0
    assert pb.check(f, 3.0, kwargs={"z": 2.0}).passed


def test_every_operator_with_argnums_takes_names_negative_ones_and_tuples():
    def f(x, y):
        return x * y * y

    for make, of_y in ((pb.grad, 12.0), (pb.jacobian, 12.0), (pb.hessian, 4.0)):
        for argnums in (1, -1, "y"):
            assert make(f, argnums, options=PYTHON)(2.0, 3.0) == of_y
    assert pb.jacobian(f, ("y",), options=PYTHON)(2.0, 3.0) == (12.0,)
    assert pb.hessian(f, (1,), options=PYTHON)(2.0, 3.0) == ((4.0,),)
    assert pb.hessian(f, (0, 1), options=PYTHON)(2.0, 3.0) == ((0.0, 6.0), (6.0, 4.0))


ON_ARRAYS = {
    "grad": lambda f, x, y: pb.grad(f, (0, 1), options=PYTHON)(x, y),
    "value_and_grad": lambda f, x, y: pb.value_and_grad(f, (0, 1), options=PYTHON)(x, y)[1],
    "vjp": lambda f, x, y: pb.vjp(f, x, y, options=PYTHON)[1](1.0),
    "by rows": lambda f, x, y: pb.jacobian(f, (0, 1), mode="reverse", options=PYTHON)(x, y),
    "by columns": lambda f, x, y: pb.jacobian(f, (0, 1), mode="forward", options=PYTHON)(x, y),
    "jvp": lambda f, x, y: [
        np.array([pb.jvp(f, (x.copy("K"), y.copy("K")), dots, options=PYTHON)[1] for dots in moved])
        for moved in ([(e, None) for e in np.eye(4)], [(None, e) for e in np.eye(4)])
    ],
    "hvp": lambda f, x, y: pb.hvp(f, options=PYTHON)(x, np.ones(4), y),
    "hessian": lambda f, x, y: pb.hessian(f, (0, 1), options=PYTHON)(x, y),
}


@pytest.mark.parametrize("operator", ON_ARRAYS)
def test_the_same_array_twice_has_separate_partials(operator):
    x = np.arange(1.0, 5.0)
    found = ON_ARRAYS[operator](lambda a, b: (a * a * b).sum(), x, x)
    if operator == "hvp":
        assert np.array_equal(found, 2 * x)
    elif operator == "hessian":
        (aa, ab), (ba, bb) = found
        assert np.array_equal(aa, 2 * np.diag(x)) and np.array_equal(ab, aa)
        assert np.array_equal(ba, aa) and not bb.any()
    else:
        assert np.array_equal(found[0], 2 * x * x) and np.array_equal(found[1], x * x)


@pytest.mark.parametrize("operator", [k for k in ON_ARRAYS if k != "jvp"])
@pytest.mark.parametrize("part", [np.s_[2:6], np.s_[1:8:2], np.s_[8:0:-2]])
def test_parts_of_arrays_are_left_as_a_plain_call_leaves_them(operator, part):
    def f(x, y):
        for i in range(x.size):
            x[i] *= y[i]
            y[i] += x[0]
        return (x * y).sum()

    own, plain = (np.arange(20.0).reshape(2, 10) for _ in range(2))
    f(plain[0, part], plain[1, part])
    ON_ARRAYS[operator](f, own[0, part], own[1, part])
    np.testing.assert_allclose(own, plain, rtol=1e-14)


# -- threads ---------------------------------------------------------------------------------------
def test_many_threads_at_once():
    def f(x):
        s = 0.0
        for i in range(x.size):
            s += math.sin(x[i]) * s + x[i]
        return s

    g = pb.grad(f)  # not compiled yet: all threads come to that at once
    xs = [np.linspace(0, k // 2, 50 * (k // 2 + 1)) for k in range(8)]
    results = [[] for _ in xs]

    def work(k):
        for _ in range(100):
            results[k].append(g(xs[k]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(xs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for x, found in zip(xs, results):
        expected = g(x)
        assert len(found) == 100 and all(np.array_equal(r, expected) for r in found)


# -- compiling once --------------------------------------------------------------------------------
@pytest.fixture
def counted(monkeypatch):
    """Counts flattened functions and kernels."""
    counts = {"kernels": 0}
    made = kernels._executable

    def count(*args, **kw):
        counts["kernels"] += 1
        return made(*args, **kw)

    monkeypatch.setattr(kernels, "_executable", count)
    return counts


def test_a_lambda_in_a_loop_compiles_once(counted):
    found = []
    for k in (1.0, 2.0, 3.0):
        found.append(grad(lambda x: k * x)(5.0))
    assert found == [1.0, 2.0, 3.0] and counted["kernels"] == 1


def test_operators_share_code_and_types_do_not(counted):
    def f(x):
        return (x * x).sum()

    grad(f)(np.ones(2))
    grad(f)(np.ones(5))
    grad(f)(np.ones(5))
    assert counted["kernels"] == 1
    grad(f)(np.ones((2, 2)))
    grad(f)(np.ones(2, np.float32))
    assert counted["kernels"] == 3
    pb.grad(f, options={"run": "python", "plan": "naive"})(np.ones(2))
    assert counted["kernels"] == 4


def test_vjp_and_jvp_compile_once(counted):
    def f(x):
        return x * x

    for _ in range(3):
        pb.vjp(f, 3.0, options=PYTHON)[1](1.0)
        pb.jvp(f, (3.0,), (1.0,), options=PYTHON)
    assert counted["kernels"] == 3  # two halves and a pushforward


def test_function_arguments_share_code(counted):
    def f(h, x):
        return h(x)

    g = grad(f, 1)
    assert [g(lambda x: k * x, 1.0) for k in (1.0, 2.0)] == [1.0, 2.0]
    assert counted["kernels"] == 1
    assert len(g.plans) == 1


# -- njit ------------------------------------------------------------------------------------------
@njit
def jitted_helper(x):
    return x * x


@njit(fastmath=True)
def jitted(x, n):
    total = 0.0
    for _ in range(n):
        total += jitted_helper(x)
    return total


def test_njit_functions_as_they_are():
    assert grad(jitted)(3.0, 4) == 24.0
    assert grad(lambda x: jitted(x, 2))(3.0) == 12.0
    assert pb.grad(jitted)(3.0, 4) == 24.0


# -- engines and options ---------------------------------------------------------------------------
def test_engines():
    assert pb.grad(poly, engine="auto")(3.0) == pb.grad(poly, engine="native")(3.0) == 12.0
    with pytest.raises(UnknownOption, match="does not exist yet"):
        pb.grad(poly, engine="python")
    with pytest.raises(UnknownOption, match="'auto', 'native'"):
        pb.vjp(poly, 3.0, engine="jit")


def test_options():
    with pytest.raises(UnknownOption, match="there is no option 'plans'") as e:
        pb.grad(poly, options={"plans": "naive"})
    assert "'plan'" in str(e.value) and e.value.code == "PB403"
    with pytest.raises(UnknownOption, match="'full', 'naive'"):
        pb.grad(poly, options={"plan": "best"})
    assert pb.grad(poly, options={"plan": "naive", "run": "python"})(3.0) == 12.0


# -- the package -----------------------------------------------------------------------------------
def test_public_names_exist_and_are_imported_when_used():
    for name in pb.__all__:
        assert getattr(pb, name) is not None
        assert name in dir(pb)
    with pytest.raises(AttributeError, match="no attribute 'gard'"):
        pb.gard


def test_import_is_light():
    code = (
        "import sys, pullback as pb\n"
        "assert not {'numba', 'numpy', 'scipy', 'click'} & set(sys.modules)\n"
        "pb.PullbackError\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_typing_is_asked_once_for_each_type(monkeypatch):
    calls = []
    real = typing_api.flat
    monkeypatch.setattr("pullback.api.flats.flat", lambda *a: calls.append(1) or real(*a))

    def f(x):
        return x * x

    g = grad(f)
    for x in (1.0, 2.0, 3.0):
        g(x)
    grad(f)(1.0)
    pb.value_and_grad(f, options=PYTHON)(1.0)
    assert len(calls) == 1
