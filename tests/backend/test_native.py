"""Whole functions in machine code: control flow, counts of memory, failures, calls."""

import gc
import math
import operator
import sys
import threading
import traceback

import numpy as np
import pytest
from numba import types
from numba.core.runtime import rtsys

from pullback.backend.native import compile_native
from pullback.backend.sites import raise_at
from pullback.errors import TypingError
from pullback.ir.core import Const, Loc, Slot, Undef
from pullback.runtime import memory, prims
from tests.backend.irs import Writer

F8, I8, B1 = types.float64, types.int64, types.boolean
V = types.float64[::1]
M = types.float64[:, ::1]


def allocations():
    stats = rtsys.get_allocation_stats()
    return stats.alloc - stats.free, stats.mi_alloc - stats.mi_free


@pytest.fixture
def balanced():
    """The test must leave as many allocations as it found."""
    from numba.core.runtime import _nrt_python

    _nrt_python.memsys_enable_stats()
    before = allocations()
    yield
    gc.collect()  # arrays in the frames of exceptions that were caught
    assert allocations() == before


def swap_loop(w, n, a, b, step=None):
    """``for _ in range(n): a, b = b, a`` with an optional body; returns the final pair."""
    i, u, v = w.ir.value("i", I8), w.ir.value("u", a.type), w.ir.value("v", b.type)
    head, body, done = w.ir.block([i, u, v]), w.ir.block(), w.ir.block()
    w.jump(head, [0, a, b])
    w.at(head)
    w.branch(w(operator.lt, i, n, type=B1), body, done)
    w.at(body)
    x, y = (v, u) if step is None else step(u, v)
    w.jump(head, [w(operator.add, i, 1, type=I8), x, y])
    w.at(done)
    return u, v


@pytest.mark.parametrize("n", range(7))
def test_swapped_numbers(n):
    w = Writer(("n", I8), ("a", F8), ("b", F8))
    f = w.compile(*swap_loop(w, w.params[0], *w.params[1:]))
    assert f(n, 1.0, 2.0) == ((1.0, 2.0) if n % 2 == 0 else (2.0, 1.0))


@pytest.mark.parametrize("n", range(4))
def test_swapped_arrays_of_the_caller(n, balanced):
    w = Writer(("n", I8), ("a", V), ("b", V))
    u, _ = swap_loop(w, w.params[0], *w.params[1:])
    w(prims.store, u, 7.0, 0)
    f = w.compile(u)
    a, b = np.zeros(1), np.zeros(1)
    (got,) = f(n, a, b)
    assert (a[0], b[0]) == ((7, 0) if n % 2 == 0 else (0, 7))
    assert got[0] == 7


@pytest.mark.parametrize("n", range(4))
def test_swapped_arrays_of_its_own(n, balanced):
    w = Writer(("n", I8))
    a, b = (w(prims.zeros, np.dtype("f8"), "C", 2) for _ in range(2))
    w(prims.store, a, 1.0, 0)
    u, v = swap_loop(w, w.params[0], a, b)
    got, other = w.compile(u, v)(n)
    assert (got[0], other[0]) == ((1, 0) if n % 2 == 0 else (0, 1))


def test_arrays_made_in_a_loop_die_in_it(balanced):
    w = Writer(("n", I8), ("x", V))
    n, x = w.params

    def step(u, v):
        fresh = w(prims.own, u)
        view = w(prims.subview, fresh, "u", 1, 1)
        w(prims.store, view, 3.0, 0)
        w(prims.zeros, np.dtype("f8"), "C", 4)  # never used
        return fresh, u

    u, v = swap_loop(w, n, w(prims.own, x), x, step)
    f = w.compile(u, w(prims.subview, v, "u", 0, 1))
    for k in range(3):
        u, v = f(k, np.ones(2))
        assert u.tolist() == ([1, 1] if k == 0 else [1, 3])
        assert v.tolist() == [1]


def test_a_view_keeps_its_array_alive(balanced):
    w = Writer()
    a = w(prims.zeros, np.dtype("f8"), "C", 1000)
    view = w(prims.subview, a, "s", 999, 1000, -1)
    w(prims.store, view, 4.0, 0)
    part = w(prims.subview, w(prims.subview, view, "u", 0, 10), "u", 0, 2)
    (got,) = w.compile(part)()
    np.zeros(1000)
    assert got.tolist() == [4.0, 0.0]


def test_the_same_array_twice_in_the_result(balanced):
    w = Writer(("x", V))
    a = w(prims.own, w.params[0])
    x, y = w.compile(a, a)(np.ones(3))
    x[0] = 5
    assert y[0] == 5


def test_an_array_on_one_of_two_paths(balanced):
    w = Writer(("c", B1), ("x", V))
    c, x = w.params
    p = w.ir.value("p", V)
    yes, no, end = w.ir.block(), w.ir.block(), w.ir.block([p])
    a, unused = w(prims.own, x), w(prims.own, x)
    w.branch(c, yes, no)
    w.at(yes)
    w.jump(end, [a])
    w.at(no)
    w(prims.store, unused, 2.0, 0)
    w.jump(end, [unused])
    w.at(end)
    f = w.compile(p)
    assert f(True, np.zeros(1))[0][0] == 0
    assert f(False, np.zeros(1))[0][0] == 2


@pytest.mark.parametrize("n", range(4))
def test_slots_hold_arrays(n, balanced):
    w = Writer(("n", I8), ("x", V))
    n_, x = w.params
    slot = Slot("kept", V)
    w.set(slot, x)
    i, close = w.loop(n_)
    old = w.get(slot)
    w(prims.store, w(prims.subview, old, "u", 0, 1), w(prims.cast, F8, i), 0)
    w.set(slot, w(prims.own, old))
    w(prims.index, i, 3)
    close()
    f = w.compile(w.get(slot))
    x = np.full(2, 5.0)
    before = sys.getrefcount(x)
    for _ in range(3):
        expected = x[0] if n == 0 else n - 1
        assert f(n, x)[0][0] == expected
        with pytest.raises(IndexError):
            f(4, x)
    gc.collect()
    assert sys.getrefcount(x) == before


def test_both_edges_to_one_block():
    w = Writer(("c", B1), ("x", F8))
    p = w.ir.value("p", F8)
    end = w.ir.block([p])
    w.branch(w.params[0], end, end, [w.params[1]], [Const(3)])
    w.at(end)
    f = w.compile(p)
    assert (f(True, 1.5), f(False, 1.5)) == ((1.5,), (3.0,))


def test_undefined_values_are_null():
    w = Writer(("c", B1), ("x", V))
    p, q = w.ir.value("p", V), w.ir.value("q", F8)
    a, end = w.ir.block(), w.ir.block([p, q])
    w.branch(w.params[0], a, end, [], [Undef(type=V), Undef()])
    w.at(a)
    w.jump(end, [w(prims.own, w.params[1]), 2])
    w.at(end)
    f = w.compile(q)
    assert (f(True, np.zeros(2)), f(False, np.zeros(2))) == ((2.0,), (0.0,))


SCALAR_CALLS = [
    (operator.add, 2, 3.5), (operator.mul, 2, 3), (operator.truediv, 1.0, 4), (operator.mod, -7, 3),
    (operator.floordiv, -7, 2), (operator.pow, 1.5, 2.5), (operator.neg, 2.5), (operator.abs, -3),
    (abs, -2.5), (max, 1.5, 2), (min, 1, 2), (math.sin, 0.3), (math.atan2, 1.0, -2.0),
    (np.exp, 0.5), (np.logaddexp, 0.5, 1.0), (np.hypot, 3.0, 4.0), (operator.lt, 1, 2.0),
    (operator.and_, True, False), (operator.not_, True), (operator.lshift, 3, 2), (float, 3),
    (int, 2.9), (bool, 0.0), (complex, 2.5), (operator.mul, 1 + 2j, 2.0), (np.conjugate, 1 + 2j),
    (operator.eq, 2, 2), (math.floor, -2.5), (round, 2.5), (np.sign, -2.0), (math.isnan, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("call", SCALAR_CALLS, ids=lambda c: c[0].__name__)
def test_scalar_functions(call):
    fn, *args = call
    w = Writer(*((f"x{k}", _kind(a)) for k, a in enumerate(args)))
    f = w.compile(w(fn, *w.params, type=_kind(fn(*args))))
    assert f(*args)[0] == pytest.approx(fn(*args), rel=1e-15)


def _kind(x):
    from numba import typeof

    return typeof(x)


def test_constant_powers():
    w = Writer(("x", F8))
    f = w.compile(*(w(operator.pow, w.params[0], k, type=F8) for k in (0, 1, 2, -1, 3)))
    assert f(3.0) == (1.0, 3.0, 9.0, 1 / 3, 27.0)


def test_division_by_zero_follows_numpy():
    w = Writer(("a", F8))
    f = w.compile(w(operator.truediv, 1.0, w.params[0], type=F8))
    assert f(0.0) == (math.inf,)


def test_what_has_no_machine_code_is_an_error_with_its_line():
    w = Writer(("x", V))
    with pytest.raises(TypingError, match=r"user\.py"):
        w.compile(w(math.sin, w.params[0], type=F8))


def test_strings_and_printing_are_not_for_machine_code():
    w = Writer()
    with pytest.raises(TypingError, match="no machine code for ord"):
        w.compile(w(ord, Const(3.5), type=I8))


# -- failures --------------------------------------------------------------------------------------
def failing_sum():
    """Sums x[i] for i < n, with arrays alive at the failing index."""
    w = Writer(("x", V), ("n", I8))
    x, n = w.params
    keep = w(prims.own, x)
    view = w(prims.subview, w(prims.own, x), "u", 0, 1)

    def step(u, v):
        scratch = w(prims.own, keep)
        w.loc = Loc("user.py", 12, "inner")
        i = w(prims.index, w(prims.cast, I8, w(prims.load, u, 0)), 3)
        w(prims.store, scratch, 1.0, i)
        w(prims.store, u, w(operator.add, w(prims.load, u, 0), 1.0, type=F8), 0)
        return u, scratch

    _, v = swap_loop(w, n, keep, w(prims.own, x), step)
    return w.compile(v, view)


def test_a_failure_leaks_nothing_and_the_next_call_works(balanced):
    f = failing_sum()
    x = np.zeros(3)
    for _ in range(1000):
        f(x, 3)
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
            f(x, 4)
    assert f(x, 2)[0].tolist() == [1, 1, 0]


def test_a_failure_points_to_the_users_line():
    with pytest.raises(IndexError) as caught:
        failing_sum()(np.zeros(3), 4)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.lineno, last.name) == ("user.py", 12, "inner")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("loc", [Loc("a.py", 3, "g"), Loc("a.py", 3, "g", 70, 5, 200)])
def test_tracebacks_show_the_columns_if_they_are_known(loc):
    with pytest.raises(KeyError) as caught:
        raise_at(KeyError("x"), loc)
    code = caught.traceback[-1].frame.code.raw
    assert set(code.co_positions()) == {(3, loc.end_line or 3, loc.col, loc.end_col)}


def raising(*parts, cause=None):
    """``if x < 0: raise ...`` else return x."""
    from pullback.ir.intrinsics import build_string, format_value

    w = Writer(("x", F8), ("k", I8))
    x, k = w.params
    bad, good = w.ir.block(), w.ir.block()
    w.branch(w(operator.lt, x, 0.0, type=B1), bad, good)
    w.at(bad)
    pieces = [
        w(format_value, {"x": x, "k": k}[p[1:]], None, ".3f" if p == "$x" else "")
        if p[0] == "$"
        else Const(p)
        for p in parts
    ]
    text = w(build_string, *pieces)
    w.raise_(w(ValueError, text, k), cause)
    w.at(good)
    return w.compile(x)


def test_exceptions_keep_type_arguments_and_formatted_message():
    f = raising("x is ", "$x", ", k is ", "$k")
    assert f(2.0, 1) == (2.0,)
    with pytest.raises(ValueError) as caught:
        f(-2.0, 4)
    assert caught.value.args == ("x is -2.000, k is 4", 4)


def test_exceptions_with_a_cause():
    f = raising("no", cause=Const(KeyError))
    with pytest.raises(ValueError) as caught:
        f(-1.0, 0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_arrays_in_messages_are_named_by_their_shape():
    w = Writer(("x", V))
    w.raise_(w(ValueError, w(str, w.params[0])))
    with pytest.raises(ValueError, match=r"<array of shape \(3,\)>"):
        compile_native(w.ir)(np.ones(3))


def test_an_exception_class_alone():
    w = Writer()
    w.raise_(Const(NotImplementedError))
    with pytest.raises(NotImplementedError):
        compile_native(w.ir)()


# -- calls -----------------------------------------------------------------------------------------
class Callee:
    """What typing makes of a recursive function."""

    def __init__(self):
        self.flat = self
        self.ir = None


def test_recursion(balanced):
    fact = Callee()
    w = Writer(("n", I8), ("x", V))
    n, x = w.params
    stop, go = w.ir.block(), w.ir.block()
    w.branch(w(operator.le, n, 1, type=B1), stop, go)
    w.at(stop)
    w.ret(w(prims.pack, 1.0, w(prims.own, x)))
    w.at(go)
    m = w(operator.sub, n, 1, type=I8)
    pair = types.Tuple((F8, V))
    got = w(fact, m, x, type=pair)
    value, array = w(operator.getitem, got, 0, type=F8), w(operator.getitem, got, 1, type=V)
    i = w(prims.index, n, 6)
    w(prims.store, array, w(prims.cast, F8, n), i)
    w.ret(w(prims.pack, w(operator.mul, value, w(prims.cast, F8, n), type=F8), array))
    fact.ir = w.ir
    f = compile_native(w.ir)
    value, array = f(5, np.zeros(6))
    assert value == 120
    assert array.tolist() == [0, 0, 2, 3, 4, 5]
    with pytest.raises(IndexError, match="index 6"):
        f(8, np.zeros(6))


def test_mutual_recursion_with_a_tape():
    even, odd = Callee(), Callee()
    for this, other in ((even, odd), (odd, even)):
        w = Writer(("tape", I8), ("n", I8))
        tape, n = w.params
        w(prims.poke, w(prims.record, tape, 8), 0, n)
        stop, go = w.ir.block(), w.ir.block()
        w.branch(w(operator.eq, n, 0, type=B1), stop, go)
        w.at(stop)
        w.ret(w(prims.pack, this is even))
        w.at(go)
        got = w(other, tape, w(operator.sub, n, 1, type=I8), type=types.Tuple((B1,)))
        w.ret(w(prims.pack, w(operator.getitem, got, 0, type=B1)))
        this.ir = w.ir
    m = memory.Memory()
    f = compile_native(even.ir)
    assert [f(k)[0] for k in range(5)] == [True, False, True, False, True]
    assert f.run(m, 3) == (False,)
    assert m.tape_bytes == 4 * 8


def test_the_cut_notes_how_much_was_on_the_tape():
    from pullback.ir.core import CUT

    w = Writer(("tape", I8), ("n", I8))
    tape, n = w.params
    _, close = w.loop(n)
    w(prims.record, tape, 8)
    close()
    w.op(CUT)
    _, close = w.loop(n)
    w(prims.unrecord, tape, 8)
    close()
    f = w.compile(0)
    for n in (3, 100_000):
        m = memory.Memory()
        f.run(m, n)
        assert m.tape_bytes == 8 * n


def test_threads_do_not_meet():
    w = Writer(("tape", I8), ("n", I8), ("x", F8))
    tape, n, x = w.params
    i, close = w.loop(n)
    w(prims.poke, w(prims.record, tape, 8), 0, x)
    close()
    out = w(prims.zeros, np.dtype("f8"), "C", n)
    i, close = w.loop(n)
    w(prims.store, out, w(prims.peek, w(prims.unrecord, tape, 8), 0, F8), i)
    close()
    f = w.compile(out)
    wrong = []

    def work(k):
        for _ in range(50):
            if not (f(20_000, float(k))[0] == k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_options():
    w = Writer(("x", V))
    total = w.ir.value("s", F8)
    i = w.ir.value("i", I8)
    head, body, done = w.ir.block([i, total]), w.ir.block(), w.ir.block()
    n = w(prims.dim, w.params[0], 0)
    w.jump(head, [0, 0.0])
    w.at(head)
    w.branch(w(operator.lt, i, n, type=B1), body, done)
    w.at(body)
    s = w(operator.add, total, w(prims.load, w.params[0], i), type=F8)
    w.jump(head, [w(operator.add, i, 1, type=I8), s])
    w.at(done)
    ir = w.returns(total)
    strict, fast = compile_native(ir), compile_native(ir, {"fastmath": True})
    assert "vaddpd" not in strict.asm()  # a sum in order cannot be vectorised
    assert "addpd" in fast.asm()
    assert strict(np.arange(10.0)) == fast(np.arange(10.0)) == (45.0,)


def test_a_loop_over_elements_is_vectorised():
    w = Writer(("x", V), ("y", V))
    x, y = w.params
    i, close = w.loop(w(prims.dim, x, 0))
    k = w(prims.index, i, w(prims.dim, y, 0))
    w(prims.store, y, w(operator.mul, w(prims.load, x, i), 3.0, type=F8), k)
    close()
    assert "mulpd" in w.compile().asm()


def test_objects_of_another_kind_are_refused():
    w = Writer(("x", V))
    f = w.compile(w(prims.load, w.params[0], 0))
    for bad in (np.zeros(2, np.float32), 3.0, None):
        with pytest.raises(TypeError):
            f(bad)
    with pytest.raises(TypeError):
        f()
