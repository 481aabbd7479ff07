"""What the digest of machine code depends on, and what it does not."""

import operator

import numpy as np
import pytest
from numba import types
from numba.core.registry import cpu_target

from pullback.backend.fingerprint import fingerprint
from pullback.backend.native import callees_of
from pullback.backend.sites import Sites
from pullback.ir.core import Loc
from pullback.runtime import prims
from tests.backend.irs import Writer

F8, V = types.float64, types.float64[::1]


def key(ir, extra=("",)):
    callees = callees_of(ir)
    functions = [ir, *(c.flat.ir for c in callees)]
    return fingerprint(functions, callees, Sites(functions, cpu_target.typing_context), extra)


def function(
    constant=2.0, op=operator.mul, type=V, loc=Loc("a.py", 1, "f"), name="x", axis=0, swap=False
):
    w = Writer((name, type))
    (x,) = w.params
    w.loc = loc
    v = w(prims.load, x, w(prims.index, 0, w(prims.dim, x, 0), axis))
    args = (constant, v) if swap else (v, constant)
    return w.returns(w(op, *args, type=F8))


def test_the_same_function_has_the_same_digest():
    assert key(function()) == key(function())
    assert len(key(function())) == 64


def test_places_and_names_do_not_count():
    assert key(function(loc=Loc("b.py", 99, "g"))) == key(function(name="y")) == key(function())


@pytest.mark.parametrize(
    "change",
    [
        {"constant": 3.0}, {"constant": 2}, {"constant": -0.0}, {"constant": np.float32(2)},
        {"op": operator.add}, {"type": types.float64[:]}, {"type": types.float32[::1]},
        {"axis": 1}, {"swap": True}, {"op": np.power},
    ],
    ids=str,
)  # fmt: skip
def test_everything_that_machine_code_depends_on_counts(change):
    assert key(function(**change)) != key(function())
    assert key(function(**change)) is not None


def test_zero_and_minus_zero_differ():
    assert key(function(constant=0.0)) != key(function(constant=-0.0))


def test_options_count():
    assert key(function(), ("fastmath",)) != key(function())


def test_objects_that_another_process_cannot_find_have_no_digest():
    def local(a, b):
        return a

    assert key(function(op=local)) is None
    assert key(function(op=max)) is not None
