"""Who holds counts, by hand-made functions: what is counted, what outlives, what dies where."""

import operator

import numpy as np
from numba import types

from pullback.backend.emit import whole
from pullback.backend.ownership import Ownership
from pullback.runtime import prims
from tests.backend.irs import Writer

V, I8, B1 = types.float64[::1], types.int64, types.boolean


def ownership(ir):
    return Ownership(ir, lambda t: isinstance(t, types.Array | types.BaseTuple), whole)


def test_arguments_and_their_views_have_no_owner():
    w = Writer(("x", V), ("tape", I8))
    x, tape = w.params
    view = w(prims.subview, x, "u", 0, 1)
    heap = w(prims.heap_zeros, tape, np.dtype("f8"), "C", 2)
    peeked = w(prims.peek, w(prims.unrecord, tape, 24), 0, V)
    own = ownership(w.returns(view, heap, peeked))
    assert not {x, view, heap, peeked} & set(own.owner)


def test_a_view_belongs_to_the_array_that_it_was_made_from():
    w = Writer(("x", V))
    a = w(prims.own, w.params[0])
    view = w(prims.subview, w(prims.subview, a, "u", 0, 2), "u", 0, 1)
    s = w(prims.load, view, 0)
    own = ownership(w.returns(s))
    assert own.owner[view] is a
    before = own.before(w.ir.entry)
    load = next(k for k, op in enumerate(w.ir.entry.ops) if op.result is s)
    assert a in before[load]
    assert a not in before[load + 1]


def loop_with(w, first, make):
    """A loop whose array parameter starts as ``first`` and goes on as ``make(it)``."""
    p, i = w.ir.value("p", V), w.ir.value("i", I8)
    head, body, done = w.ir.block([i, p]), w.ir.block(), w.ir.block()
    start = w.block
    w.jump(head, [0, first])
    w.at(head)
    w.branch(w(operator.lt, i, 3, type=B1), body, done)
    w.at(body)
    w.jump(head, [w(operator.add, i, 1, type=I8), make(p)])
    w.at(done)
    w.returns(p)
    return p, start, body


def test_a_parameter_that_only_arguments_reach_is_not_counted():
    w = Writer(("x", V))
    p, *_ = loop_with(w, w.params[0], lambda p: w(prims.subview, p, "u", 0, 1))
    assert p not in ownership(w.ir).owner


def test_a_parameter_that_a_fresh_array_reaches_is_counted():
    w = Writer(("x", V))
    p, start, body = loop_with(w, w.params[0], lambda p: w(prims.own, p))
    own = ownership(w.ir)
    assert own.owner[p] is p
    assert own.crossing(start, start.edges[0]) == ([1], [])  # the argument is counted once more
    assert own.crossing(body, body.edges[0]) == ([], [])  # the fresh one moves
    copy = next(k for k, op in enumerate(body.ops) if op.is_call(prims.own))
    assert (p in own.before(body)[copy], p in own.before(body)[copy + 1]) == (True, False)


def test_an_array_of_which_less_is_known_is_no_other():
    loose = types.Array(types.float64, 1, "A")
    w = Writer(("x", V))
    a = w(prims.own, w.params[0])
    of_argument = w(prims.cast, loose, w.params[0], type=loose)
    of_fresh = w(prims.cast, loose, a, type=loose)
    own = ownership(w.returns(of_argument, of_fresh))
    assert of_argument not in own.owner
    assert own.owner[of_fresh] is a
