import inspect
import operator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pullback.ir.builder import Builder
from pullback.ir.core import FREECELL, GLOBAL, IR, SLOTSET, YIELD, Info, Loc, Slot
from pullback.ir.verify import verify
from pullback.passes.inline import inline_call
from pullback.passes.simplify_cfg import simplify_cfg
from tests.ir.interp import Interpreter, OutOfFuel, run
from tests.ir.programs import FLOAT, INT, TRACE, agree, arguments, structured, unstructured


class Called(Interpreter):
    """Runs calls of another function's IR."""

    def do_call(self, op):
        if isinstance(op.callee, IR):
            return Called(op.callee, self.fuel).run(*map(self.read, op.args[1:]))
        return super().do_call(op)


def caller(draw, callee):
    """A loop that calls ``callee`` in both arms of a branch."""
    ir = IR()
    a, b, x = (ir.value(n, t) for n, t in zip("abx", (INT, INT, FLOAT)))
    i, s = ir.value("i", INT), ir.value("s", INT)
    entry, head = ir.block([a, b, x]), ir.block([i, s])
    body, left, right, end = (ir.block() for _ in range(4))
    at = Builder(ir, entry)
    at.jump(head, [0, a])
    at.at(head).branch(at.call(operator.lt, i, 2), body, end)
    at.at(body).branch(at.call(operator.lt, s, b), left, right)
    n = at.at(left).call(operator.add, i, 1, type=INT)
    at.call(callee, s, b, x, type=INT)
    at.jump(head, [n, n])
    n = at.at(right).call(operator.add, i, 1, type=INT)
    r = at.call(callee, b, i, x, type=INT)
    at.jump(head, [n, at.call(operator.add, n, at.call(lambda r: int(r), r), type=INT)])
    at.at(end).ret(s)
    return ir


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(structured() | unstructured(), arguments, st.data())
def test_inlined_is_called(callee, args, data):
    ir = caller(data.draw, callee)
    before = ir.copy()
    printed = str(callee)
    for op in [op for op in ir.ops() if op.callee is callee]:
        inline_call(ir, op, callee, op.args[1:])
        verify(ir)
    assert str(callee) == printed
    assert not any(op.callee is callee for op in ir.ops())
    inlined = ir.copy()
    simplify_cfg(ir)
    verify(ir)
    agree(inlined, ir, args)
    expected = _outcome(Called, before, args)
    if expected is not None:
        assert _outcome(Interpreter, inlined, args) == expected


def _outcome(interpreter, ir, args):
    TRACE.clear()
    try:
        end = repr(interpreter(ir, 300 if interpreter is Called else 5000).run(*args))
    except OutOfFuel:
        return None
    except Exception as e:
        end = f"{type(e).__name__}: {e}"
    return end, repr(TRACE)


def negation():
    """def g(x): return -x, from another file."""
    ir = IR(Info(name="g", qualname="g"))
    x = ir.value("x")
    at = Builder(ir, ir.block([x]), Loc("g.py", 7, "g"))
    at.ret(at.call(operator.neg, x))
    return ir


def doubled_call(callee):
    """def f(x): y = g(x); return y + y"""
    ir = IR()
    x = ir.value("x")
    at = Builder(ir, ir.block([x]), Loc("f.py", 1, "f"))
    y = at.call(callee, x, name="y")
    at.ret(at.call(operator.add, y, y))
    return ir, y


def test_the_result_keeps_its_identity_and_operations_their_places():
    callee = negation()
    ir, y = doubled_call(callee)
    rest = inline_call(ir, ir[y], callee, ir.args)
    assert rest.params == [y] and y not in ir
    assert [op.loc.file for op in ir.ops() if op.callee is operator.neg] == ["g.py"]
    assert run(ir, 3) == -6


def test_a_callee_that_never_returns():
    callee = IR()
    at = Builder(callee, callee.block([callee.value("x")]))
    at.raise_(at.call(ValueError, "no"))
    ir, y = doubled_call(callee)
    inline_call(ir, ir[y], callee, ir.args)
    simplify_cfg(ir)
    verify(ir)
    assert len(ir.blocks) == 1
    with pytest.raises(ValueError, match="no"):
        run(ir, 1)


def test_refused():
    callee = negation()
    ir, y = doubled_call(callee)
    with pytest.raises(ValueError, match="g takes 1"):
        inline_call(ir, ir[y], callee, [])
    for kind in (GLOBAL, FREECELL):
        callee = negation()
        Builder(callee, callee.entry).op(kind, attr="name")
        ir, y = doubled_call(callee)
        with pytest.raises(ValueError, match="of its own"):
            inline_call(ir, ir[y], callee, ir.args)


def test_exceptions_of_the_callee_reach_the_callers_handler():
    callee = IR()
    at = Builder(callee, callee.block([callee.value("x")]))
    at.ret(at.call(operator.truediv, 1, callee.args[0]))
    ir, y = doubled_call(callee)
    handler = ir.block([ir.value("exc")])
    Builder(ir, handler).ret("handled")
    ir.entry.handler = handler.id
    inline_call(ir, ir[y], callee, ir.args)
    assert run(ir, 2) == 1.0 and run(ir, 0) == "handled"


def test_generators_are_not_inlined():
    callee = IR(Info(flags=inspect.CO_GENERATOR))
    at = Builder(callee, callee.block([callee.value("x")]))
    at.ret(at.op(YIELD, callee.args[0]))
    ir, y = doubled_call(callee)
    with pytest.raises(ValueError, match="a generator"):
        inline_call(ir, ir[y], callee, ir.args)


def test_slots_of_two_copies_are_two():
    callee = IR()
    x = callee.value("x", INT)
    at = Builder(callee, callee.block([x]))
    slot = Slot("s", INT)
    at.set(slot, x)
    at.ret(at.get(slot))
    ir = IR()
    a = ir.value("a", INT)
    at = Builder(ir, ir.block([a]))
    calls = [at.call(callee, a, type=INT) for _ in range(2)]
    at.ret(calls[1])
    for y in calls:
        inline_call(ir, ir[y], callee, [a])
    slots = {op.attr for op in ir.ops() if op.kind == SLOTSET}
    assert len(slots) == 2 and slot not in slots
