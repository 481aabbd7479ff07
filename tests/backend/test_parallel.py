"""Which calls in loops do not wait for one another, and what becomes of those that do."""

import math
import operator

import numpy as np
import pytest
from numba import types

from pullback.backend import reductions
from pullback.backend.parallel import parallel_calls
from pullback.runtime import prims
from tests.backend.irs import Writer
from tests.runtime.vmath_cases import apply

F8, I8, B1 = types.float64, types.int64, types.boolean
V = types.float64[::1]


def found(w, *xs):
    """For each call of exp in the text's order: whether alone in its loop, None if it waits."""
    ir = w.returns(*xs)
    calls = [op for op in ir.ops() if op.is_call(math.exp)]
    got = parallel_calls(ir, lambda op: op.is_call(math.exp))
    return [got.get(op) for op in calls]


def elementwise(load_at, store_at, view=False, check=None):
    """``y[i + store_at] = exp(y[i + load_at])`` for all i; or of x, the place in y checked."""
    w = Writer(("x", V), ("y", V))
    x, y = w.params
    i, close = w.loop(w(prims.dim, x, 0))

    def shifted(k):
        return i if k == 0 else w(operator.add, i, k, type=I8)

    source = x if check else w(prims.subview, y, "u", 0, 5) if view else y
    value = w(math.exp, w(prims.load, source, shifted(load_at)), type=F8)
    place = shifted(store_at)
    if check:
        if check == "of memory":
            place = w(prims.cast, np.dtype("i8"), w(prims.load, x, i))
        place = w(prims.index, place, w(prims.dim, y, 0))
    w(prims.store, y, value, place)
    close()
    return w


def test_elements_do_not_wait():
    assert found(elementwise(0, 0)) == [True]


def test_elements_that_wait_for_others():
    assert found(elementwise(0, 1)) == [None]
    assert found(elementwise(0, 0, view=True)) == [None]


def test_checks_are_noticed():
    assert found(elementwise(0, 0, check="of memory")) == [False]
    assert found(elementwise(0, 1, check="of the counter")) == [True]


def test_other_arrays_are_others():
    w = Writer(("x", V), ("y", V))
    x, y = w.params
    i, close = w.loop(w(prims.dim, x, 0))
    later = w(operator.add, i, 1, type=I8)
    w(prims.store, y, w(math.exp, w(prims.load, x, i), type=F8), later)
    close()
    assert found(w) == [True]


def test_outside_of_loops():
    w = Writer(("x", F8))
    assert found(w, w(math.exp, w.params[0], type=F8)) == [None]


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
    for feedback, want in [(False, [True]), (True, [None])]:
        w, s = carried(feedback)
        assert found(w, s) == want


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
    assert found(w, u) == [None]


def test_only_innermost_loops():
    w = Writer(("x", V), ("y", V))
    x, y = w.params
    i, close = w.loop(w(prims.dim, x, 0))
    value = w(math.exp, w(prims.load, x, i), type=F8)
    k, close_inner = w.loop(w(prims.dim, y, 0))
    w(prims.store, y, w(math.exp, w(prims.load, y, k), type=F8), k)
    close_inner()
    w(prims.store, x, value, i)
    close()
    assert found(w) == [None, True]


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
