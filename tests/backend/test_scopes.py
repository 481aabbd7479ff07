"""What accesses cannot meet: the scopes of their arrays, and what LLVM makes of it."""

import operator

import llvmlite.ir as ll
import numpy as np
from numba import types

from pullback.backend import scopes
from pullback.backend.native import compile_native
from pullback.backend.scopes import FRAME, GIVEN, TAPE, Builder, Memory
from pullback.runtime import prims
from tests.backend.irs import Writer

V, F8, I8 = types.float64[::1], types.float64, types.int64


def memory(ir, apart=True):
    function = ll.Function(ll.Module(), ll.FunctionType(ll.VoidType(), []), "f")
    return Memory(ir, function, apart)


def program():
    """Arguments, a view, a fresh array, one of two arrays, one from the tape: loads from each."""
    w = Writer(("tape", I8), ("x", V), ("y", V), ("b", types.boolean))
    tape, x, y, b = w.params
    fresh = w(prims.zeros, np.dtype("f8"), "C", 3)
    chosen = w.ir.value("chosen", V)
    then, done = w.ir.block(), w.ir.block([chosen])
    w.branch(b, then, done, (), (x,))
    w.at(then)
    w.jump(done, [fresh])
    w.at(done)
    view = w(prims.subview, x, "u", 0, 2)
    cell = w(prims.record, tape, 64)
    w(prims.poke, cell, 0, 1.5)
    kept = w(prims.peek, cell, 8, V)
    found = {}
    arrays = {"x": x, "y": y, "fresh": fresh, "chosen": chosen, "view": view, "kept": kept}
    for name, a in arrays.items():
        w(prims.load, a, 0)
        found[name] = w.block.ops[-1]
    w.returns(1.5)
    ops = {op.callee: op for op in w.ir.ops()}
    return w.ir, arrays, found | {"record": ops[prims.record], "poke": ops[prims.poke]}


def test_an_access_is_to_what_its_array_may_be():
    ir, arrays, ops = program()
    made = memory(ir)
    of = {name: made.scopes(op) for name, op in ops.items()}
    assert of["x"] == of["view"] == {arrays["x"]}
    assert of["y"] == {arrays["y"]}
    assert of["fresh"] == {arrays["fresh"]}
    assert of["chosen"] == {arrays["x"], arrays["fresh"]}
    assert of["record"] == {FRAME} and of["poke"] == {TAPE}


def test_what_comes_from_the_tape_may_be_any_memory():
    ir, _, ops = program()
    made = memory(ir)
    assert made.scopes(ops["kept"]) is None
    assert made.of(ops["kept"]) == {}


def test_arguments_that_may_overlap_share_a_scope():
    ir, arrays, ops = program()
    made = memory(ir, apart=False)
    of = {name: made.scopes(op) for name, op in ops.items()}
    assert of["x"] == of["y"] == of["view"] == {GIVEN}
    assert of["fresh"] == {arrays["fresh"]}


def test_marks_name_the_own_scopes_and_all_others():
    ir, _, ops = program()
    made = memory(ir)
    marks = made.of(ops["chosen"])
    own, others = (set(marks[k].operands) for k in ("alias.scope", "noalias"))
    assert len(own) == 2 and not own & others
    assert own | others == {made._node(s) for s in made.every}


def test_a_builder_marks_only_inside():
    function = ll.Function(ll.Module(), ll.FunctionType(ll.VoidType(), []), "f")
    b = Builder(function.append_basic_block())
    place = b.alloca(ll.DoubleType())
    node = function.module.add_metadata([ll.MetaDataString(function.module, "scope")])
    with b.marking({"noalias": node}):
        inside = b.load(place)
    outside = b.load(place)
    assert inside.metadata == {"noalias": node} and not outside.metadata


def scaled(w, source, target):
    """``target[k] = 3 * source[k]`` for all k."""
    i, close = w.loop(w(prims.dim, source, 0))
    w(prims.store, target, w(operator.mul, w(prims.load, source, i), 3.0, type=F8), i)
    close()


def loads_of_a_factor(**options):
    """How many places read ``x[0]`` in ``for k in …: s *= x[0]; y[k] = s``, where ``y`` is
    an array on the heap and ``x`` any other."""
    w = Writer(("tape", I8), ("x", V), ("n", I8))
    tape, x, n = w.params
    y = w(prims.heap_zeros, tape, np.dtype("f8"), "C", n)
    k, s = w.ir.value("k", I8), w.ir.value("s", F8)
    head, body, done = w.ir.block([k, s]), w.ir.block(), w.ir.block()
    w.jump(head, [0, 1.0])
    w.at(head)
    w.branch(w(operator.lt, k, n, type=types.boolean), body, done)
    w.at(body)
    product = w(operator.mul, s, w(prims.load, x, 0), type=F8)
    w(prims.store, y, product, k)
    w.jump(head, [w(operator.add, k, 1, type=I8), product])
    w.at(done)
    llvm = w.compile(s, **options).machine.library.get_llvm_str()
    return llvm.count("load double")


def test_what_a_store_cannot_meet_is_read_once(monkeypatch):
    known = loads_of_a_factor()
    monkeypatch.setattr(Memory, "of", lambda self, op: {})
    assert known < loads_of_a_factor(marked=False)  # LLVM does not find it out by itself


def test_overlapping_arguments_of_a_function_without_promise():
    """In order, element by element, although the two arrays share memory."""
    w = Writer(("x", V), ("y", V))
    scaled(w, *w.params)
    f = w.compile(1.5)
    memory = np.ones(6)
    f(memory[:-1], memory[1:])
    np.testing.assert_array_equal(memory, 3.0 ** np.arange(6))


def test_the_same_memory_under_two_roots_in_turn():
    """The second array gets the memory that the first has given back."""
    w = Writer(("n", I8), ("out", V))
    n, out = w.params
    i, close = w.loop(w(prims.dim, out, 0))
    total = 0.0
    for k in (1.0, 2.0):
        x = w(prims.zeros, np.dtype("f8"), "C", n)
        w(prims.store, x, w(operator.add, w(prims.load, x, 0), k, type=F8), 0)
        total = w(operator.add, total, w(prims.load, x, 0), type=F8)
    w(prims.store, out, total, i)
    close()
    out = np.zeros(100)
    w.compile(1.5, noalias=True)(4, out)
    assert (out == 3.0).all()


def test_a_scope_too_many_would_be_noticed(monkeypatch):
    """A planted fault: views taken for memory of their own, so that one element is read once."""
    w = Writer(("x", V), ("k", I8))
    x, k = w.params
    one, two = (w(prims.subview, x, "u", k, n) for n in (9, 10))
    i, close = w.loop(w(prims.dim, two, 0))
    w(prims.store, two, w(operator.add, w(prims.load, one, 5), 1.0, type=F8), i)
    close()
    ir = w.returns(1.5)
    got = {}
    for faulty in (False, True):
        if faulty:
            monkeypatch.setattr(scopes, "is_view", lambda op: False)
            monkeypatch.setattr(Memory, "scopes", lambda self, op: frozenset(op.args[1:2]))
        got[faulty] = np.zeros(10)
        compile_native(ir, {"noalias": True, "faulty": faulty})(got[faulty], 0)
    assert got[False][-1] == 2.0 != got[True][-1]
