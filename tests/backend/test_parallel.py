"""Which calls in loops do not wait for one another, and what becomes of those that do."""

import math
import operator

import numpy as np
import pytest
from numba import types

import pullback as pb
from pullback.backend import reductions
from pullback.backend.parallel import kernels_for
from pullback.runtime import prims
from tests.backend.irs import Writer
from tests.runtime.vmath_cases import apply

F8, I8, B1 = types.float64, types.int64, types.boolean
V = types.float64[::1]


def kernel(w, *xs, name="exp"):
    """Whether the program uses the kernel."""
    return name in kernels_for([w.returns(*xs)])


def elementwise(load_at, store_at, view=False, check=None, f=lambda x: (math.exp, x)):
    """``y[i + store_at] = f(y[i + load_at])`` for all i; or of x, the place in y checked."""
    w = Writer(("x", V), ("y", V))
    x, y = w.params
    i, close = w.loop(w(prims.dim, x, 0))

    def shifted(k):
        return i if k == 0 else w(operator.add, i, k, type=I8)

    source = x if check else w(prims.subview, y, "u", 0, 5) if view else y
    value = w(*f(w(prims.load, source, shifted(load_at))), type=F8)
    place = shifted(store_at)
    if check:
        if check == "of memory":
            place = w(prims.cast, np.dtype("i8"), w(prims.load, x, i))
        place = w(prims.index, place, w(prims.dim, y, 0))
    w(prims.store, y, value, place)
    close()
    return w


def test_elements_do_not_wait():
    assert kernel(elementwise(0, 0))
    assert kernel(elementwise(0, 0), name="log")  # which a derivative may need


def test_elements_that_wait_for_others():
    assert not kernel(elementwise(0, 1))
    assert not kernel(elementwise(0, 0, view=True))


def test_one_element_again_and_again():
    w = Writer(("x", V))
    (x,) = w.params
    _, close = w.loop(10)
    w(prims.store, x, w(math.exp, w(prims.load, x, 0), type=F8), 0)
    close()
    assert not kernel(w)


def test_checks_are_noticed():
    """They matter for powers, whose kernel is only good in vectors."""
    for check, good in [("of memory", False), ("of the counter", True)]:
        w = elementwise(0, 0, check=check, f=lambda x: (operator.pow, x, x))
        assert kernel(w, name="pow") == good
        assert kernel(elementwise(0, 0, check=check))


def test_powers_that_are_products_need_no_kernel():
    assert not kernel(elementwise(0, 0, f=lambda x: (operator.pow, x, 2.0)), name="pow")
    assert kernel(elementwise(0, 0, f=lambda x: (operator.pow, x, 1.7)), name="pow")


def test_other_arrays_are_others():
    w = Writer(("x", V), ("y", V))
    x, y = w.params
    i, close = w.loop(w(prims.dim, x, 0))
    later = w(operator.add, i, 1, type=I8)
    w(prims.store, y, w(math.exp, w(prims.load, x, i), type=F8), later)
    close()
    assert kernel(w)


def test_outside_of_loops():
    w = Writer(("x", F8))
    assert not kernel(w, w(math.exp, w.params[0], type=F8))


def test_one_that_waits_decides_for_all_calls_of_the_function():
    w = elementwise(0, 0)
    _, y = w.params
    i, close = w.loop(3)
    later = w(operator.add, i, 1, type=I8)
    w(prims.store, y, w(math.exp, w(prims.load, y, i), type=F8), later)
    close()
    ir = w.returns()
    names = kernels_for([ir])
    assert "exp" not in names and "log" not in names  # none is called for many numbers
    assert "exp" not in kernels_for([ir, elementwise(0, 0).returns()])
    sines = elementwise(0, 0, f=lambda x: (math.sin, x)).returns()
    assert kernels_for([ir, sines]) == kernels_for([sines]) - {"exp"}


def carried(feedback):
    """``s = s + exp(s)`` or ``s = s + exp(i)``, over i."""
    w = Writer(("n", I8), ("s", F8))
    n, first = w.params
    i, s = w.ir.value("i", I8), w.ir.value("s", F8)
    head, body, done = w.ir.block([i, s]), w.ir.block(), w.ir.block()
    w.jump(head, [0, first])
    w.at(head)
    w.branch(w(operator.lt, i, n, type=B1), body, done)
    w.at(body)
    x = s if feedback else w(prims.cast, np.dtype("f8"), i)
    more = w(operator.add, s, w(math.exp, x, type=F8), type=F8)
    w.jump(head, [w(operator.add, i, 1, type=I8), more])
    w.at(done)
    return w, s


def test_a_sum_is_no_obstacle_and_feedback_is():
    for feedback in (False, True):
        w, s = carried(feedback)
        assert kernel(w, s) != feedback


def test_a_loop_that_ends_when_a_number_is_small():
    w = Writer(("x", F8))
    u = w.ir.value("u", F8)
    head, body, done = w.ir.block([u]), w.ir.block(), w.ir.block()
    w.jump(head, [w.params[0]])
    w.at(head)
    w.branch(w(operator.gt, u, 1.0, type=B1), body, done)
    w.at(body)
    w(math.exp, 1.0, type=F8)
    w.jump(head, [w(operator.mul, u, 0.5, type=F8)])
    w.at(done)
    assert not kernel(w, u)


def test_only_innermost_loops():
    for inside in (False, True):
        w = Writer(("x", V), ("y", V))
        x, y = w.params
        i, close = w.loop(w(prims.dim, x, 0))
        value = w(math.exp, w(prims.load, x, i), type=F8)
        k, close_inner = w.loop(w(prims.dim, y, 0))
        again = w(math.exp if inside else operator.neg, w(prims.load, y, k), type=F8)
        w(prims.store, y, again, k)
        close_inner()
        w(prims.store, x, value, i)
        close()
        assert kernel(w) == inside


def largest(x):
    e = np.exp(x)
    return (e.max(axis=1) * np.arange(1.0, 21.0)).sum() + np.exp(np.sin(x)).max()


def test_a_maximum_is_found_again():
    """What the derivative evaluates again is equal to what was the maximum."""
    x = np.random.default_rng(0).uniform(-2, 2, (20, 33))
    want = np.zeros_like(x)
    rows = np.arange(20)
    want[rows, x.argmax(1)] = np.exp(x.max(1)) * (rows + 1)
    top = np.unravel_index(np.sin(x).argmax(), x.shape)
    want[top] += np.exp(np.sin(x[top])) * np.cos(x[top])
    np.testing.assert_allclose(pb.grad(largest)(x), want, rtol=1e-13)


@pytest.mark.parametrize("feedback", [False, True])
def test_what_waits_is_the_library_s(feedback):
    w, s = carried(feedback)
    f = w.compile(s)
    (got,) = f(3, -2.0)
    exact = -2.0
    for i in range(3):
        exact += math.exp(exact if feedback else i)
    assert got == exact if feedback else math.isclose(got, exact, rel_tol=1e-15)
    assert ("exp" in called(f)) == feedback


def called(f):
    """The names in the assembly that are called."""
    words = f.asm().replace("@PLT", "").replace("$", "").replace(",", " ").split()
    return {word for word in words if word in ("exp", "log")}


def test_sums_in_vector_loops_are_in_order():
    w, s = carried(False)
    (got,) = w.compile(s)(40, 1e-3)
    total = 1e-3
    for v in apply("exp", np.arange(40.0)):
        total += float(v)
    assert got == total


def test_the_option_of_the_process_is_put_back(monkeypatch):
    given = []
    monkeypatch.setattr(reductions.binding, "set_option", lambda name, option: given.append(option))
    with pytest.raises(KeyError), reductions.ordered_reductions():
        raise KeyError
    assert given == [f"{reductions.OPTION}=true", f"{reductions.OPTION}=false"]


def test_a_later_version_is_not_given_the_option(monkeypatch):
    """It would end the process if it did not know it."""
    monkeypatch.setattr(reductions.binding, "llvm_version_info", (max(reductions.KNOWN_TO) + 1, 0))
    monkeypatch.setattr(reductions.binding, "set_option", None)
    with reductions.ordered_reductions():
        pass
