"""The text of the IR is what its specification says."""

from __future__ import annotations

import cmath
import operator

import numpy as np
import pytest

from pullback.ir import intrinsics
from pullback.ir.builder import Builder
from pullback.ir.core import (
    CLOSURE,
    FREECELL,
    GETCELL,
    GLOBAL,
    IR,
    NEWCELL,
    SETCELL,
    Block,
    ClosureSpec,
    Const,
    Edge,
    ForIter,
    Info,
    Loc,
    Raise,
    Slot,
    Undef,
)
from pullback.ir.printer import format_const, format_ir, format_op, format_term, signature


def function(*argnames):
    ir = IR(Info(name="f", qualname="f", argnames=argnames))
    b = Builder(ir)
    b.block.params += [ir.value(n) for n in argnames]
    return ir, b


def last(b):
    return format_op(b.block.ops[-1])


def test_whole_function():
    ir, b = function("x", "n")
    x, n = ir.args
    b.loc = Loc("a.py", 4)
    y = b.call(operator.mul, x, 2.0, name="y")
    done, more = ir.block(), ir.block([ir.value("i")])
    b.loc = Loc("a.py", 5)
    b.branch(b.call(operator.gt, n, 0), more, done, [n])
    b.at(more).jump(done)
    b.loc = Loc()
    b.at(done).ret(y)
    assert (
        format_ir(ir)
        == str(ir)
        == (
            "function f(x, n)\n"
            "b0(%0.x, %1.n):\n"
            "  %2.y = mul(%0.x, 2.0)  # 4\n"
            "  %4 = gt(%1.n, 0)  # 5\n"
            "  branch %4 ? b2(%1.n) : b1()  # 5\n"
            "b1():\n"
            "  return %2.y\n"
            "b2(%3.i):\n"
            "  jump b1()"
        )
    )


def test_calls():
    ir, b = function("x")
    (x,) = ir.args
    cases = [
        (b.call(operator.add, x, 1), "add(%0.x, 1)"),
        (b.call(cmath.sin, x), "cmath.sin(%0.x)"),
        (b.call(np.sin, x), "numpy.sin(%0.x)"),
        (b.call(getattr, x, "f"), "getattr(%0.x, 'f')"),
        (b.call(intrinsics.build_list, x), "build_list(%0.x)"),
        (b.call(x, 1, x, kwnames=("k",)), "%0.x(1, k=%0.x)"),
        (b.call(3), "(3)()"),
        (b.call(lambda: 0), f"{__name__}.test_calls.<locals>.<lambda>()"),
    ]
    for value, expected in cases:
        assert format_op(ir[value]) == f"%{value.id} = {expected}"


def test_other_operations():
    _, b = function("x")
    code = compile("lambda: 0", "a", "eval").co_consts[0]
    spec = ClosureSpec(code, "f.g", 1, 1, ("k",))
    cell = b.op(NEWCELL, Undef("x"), attr="x")
    b.op(CLOSURE, cell, 1, 2, attr=spec)
    assert last(b) == "%2 = closure[f.g cells=1 defaults=1 kwdefaults=k](%1, 1, 2)"
    for kind, args, attr, expected in [
        (GLOBAL, (), "range", "global[range]"),
        (NEWCELL, (Undef("x"),), "x", "newcell[x](undef x)"),
        (FREECELL, (), "y", "freecell[y]"),
        (GETCELL, (cell,), "x", "getcell[x](%1)"),
        (SETCELL, (cell, None), "x", "setcell[x](%1, None)"),
    ]:
        b.op(kind, *args, attr=attr)
        assert last(b).split(" = ")[1] == expected
    b.set(Slot("acc"), 1.5)
    assert last(b).endswith("slotset[acc](1.5)")
    b.get(Slot("acc"))
    assert last(b).endswith("slotget[acc]")
    b.cut()
    assert last(b).endswith("= cut")


@pytest.mark.parametrize(
    "value,expected",
    [
        (None, "None"), (..., "Ellipsis"), (True, "True"), (-0.0, "-0.0"), ("a'b", '"a\'b"'),
        ((1,), "(1,)"), ((1, (2.0, "x")), "(1, (2.0, 'x'))"),
        (slice(1, None), "slice(1, None, None)"),
        (frozenset({"b", "a"}), "frozenset({'a', 'b'})"), (np, "numpy"), (int, "int"),
        (np.float32, "numpy.float32"), (object(), "<object>"), ([1], "<list>"),
    ],
)  # fmt: skip
def test_constants(value, expected):
    assert format_const(value) == expected


def test_types():
    ir, b = function("x")
    ir.args[0].type = "float64"
    b.ret(b.call(operator.neg, ir.args[0], type="float64"))
    assert "b0(%0.x: float64):\n  %1: float64 = neg(%0.x)" in format_ir(ir)
    assert "float64" not in format_ir(ir, typed=False)


def test_terminators_and_handlers():
    ir, _ = function("x")
    x = ir.args[0]
    assert format_term(ForIter(x, Edge(1, [x]), Edge(2))) == "for %0.x ? b1(next, %0.x) : b2()"
    assert format_term(Raise(None)) == "raise"
    assert format_term(Raise(x, Const(None))) == "raise %0.x from None"
    assert format_term(Block(0).term) == "unterminated"
    ir.entry.handler = 3
    assert "b0(%0.x) handler b3:" in format_ir(ir)


def test_signature():
    info = Info(qualname="f", argnames=("a", "b", "k", "r", "o"), posonly=1, kwonly=1)
    info.varargs = info.varkw = True
    info.defaults, info.kwdefaults = (1,), {"k": 2}
    assert signature(info) == "f(a, /, b=..., *r, k=..., **o)"
    assert signature(Info(qualname="f", argnames=("k",), kwonly=1)) == "f(*, k)"
