"""What lifting makes of exceptions, generators and coroutines."""

from __future__ import annotations

import sys

import pytest

from pullback.frontend import lift
from pullback.frontend.decode import handlers
from pullback.ir import intrinsics
from pullback.ir.core import AWAIT, DELEGATE, SLOTGET, SLOTSET, YIELD, Raise, Reraise
from pullback.ir.printer import format_ir
from pullback.ir.verify import verify

GENERATED = sys.version_info >= (3, 12)  # where a handler guards all of a generator


def slots(f):
    return {op.attr.name for op in verify(lift(f)).ops() if op.kind in (SLOTGET, SLOTSET)}


def calls(f, fn):
    return sum(op.is_call(fn) for op in lift(f).ops())


# -- which locals are in slots ---------------------------------------------------------------------
def test_what_a_handler_does_not_read_is_a_value():
    def f(x):
        try:
            y = 1 / x
            z = y + 1
        except ZeroDivisionError:
            y, z = 0, x
        return y, z

    assert slots(f) == set()


def test_what_does_not_change_is_a_value():
    def f(x, n):
        scale = n * 2
        for i in x:
            try:
                print(i)
            except OSError:
                return scale, i
            finally:
                print(scale)

    assert slots(f) == set()


def test_what_was_bound_before_and_is_last_bound_is_a_value():
    """No exception leaves behind the assignment."""

    def f(x):
        y = None
        try:
            y = x.read()
        except OSError:
            pass
        return y

    assert slots(f) == set()


def test_what_changes_while_exceptions_may_leave_is_in_a_slot():
    def f(x):
        total, last = 0, None
        try:
            for last in x:
                total += last
        except TypeError as e:
            return total, last, e
        return total

    assert slots(f) == {"total", "last"}


def test_what_may_be_unbound_in_a_handler_is_in_a_slot():
    def f(x):
        try:
            y = x()
            y()
        except TypeError:
            return y

    assert slots(f) == {"y"}


def test_an_interrupt_leads_to_a_handler_that_nothing_else_leads_to():
    def f():
        n = 0
        try:
            while True:
                n = 1
        except KeyboardInterrupt:
            return n

    ir = verify(lift(f))
    assert any(b.handler is not None for b in ir)
    assert any(op.is_call(intrinsics.exc_match) for op in ir.ops())


# -- handlers --------------------------------------------------------------------------------------
def test_a_handler_has_the_exception_as_its_parameter():
    def f(x):
        try:
            x()
        except ValueError as e:
            print(e)

    ir = verify(lift(f))
    handler = ir.blocks[ir.entry.handler]
    assert [p.name for p in handler.params] == ["e"]
    assert handler.ops[0].is_call(intrinsics.push_exc_info)
    assert any(op.is_call(intrinsics.exc_match) for op in handler.ops)


def test_bare_raise_and_no_match():
    def f(x):
        try:
            x()
        except ValueError:
            raise
        except KeyError as e:
            raise TypeError from e

    raises = [b.term for b in lift(f) if isinstance(b.term, Raise)]
    assert [(t.exc is None, t.cause is None) for t in raises] == [(True, True), (False, False)]
    assert any(isinstance(b.term, Reraise) for b in lift(f))


def test_nothing_is_left_of_a_try_where_nothing_raises():
    def f(x):
        try:
            y = x
        except ValueError:
            y = None
        return y

    assert len(list(lift(f))) == 1


def test_comprehensions_need_no_handler():
    def f(xs, x):
        return [x for x in xs], x

    assert all(b.handler is None for b in lift(f))


def test_with():
    def f(x, y):
        with x as a, y:
            print(a)

    assert calls(f, intrinsics.before_with) == calls(f, intrinsics.with_except_start) == 2
    assert slots(f) == set()


def test_entries_of_the_exception_table():
    def f(x):
        try:
            x()
        except ValueError:
            pass

    table = handlers(f.__code__)
    assert all(h.start < h.end <= h.target for h in table[:1])
    assert {(h.depth, h.lasti) for h in table} == {(0, False), (1, True)}
    assert len({h.target for h in table}) == 2


# -- suspensions -----------------------------------------------------------------------------------
def test_yield_is_an_operation():
    def f(x):
        y = yield x
        z = yield from y
        return z

    ir = verify(lift(f))
    kinds = [op.kind for op in ir.entry.ops if op.kind != "call"]
    assert kinds == [YIELD, DELEGATE]
    assert format_ir(ir).startswith("generator ")
    assert len(list(ir)) == 1 + GENERATED


def test_await():
    async def f(x):
        async with x as y:
            async for z in y:
                await z

    ir = verify(lift(f))
    assert sum(op.kind == AWAIT for op in ir.ops()) == 5
    assert format_ir(ir).startswith("coroutine ")


def test_asynchronous_generator():
    async def f(x):
        yield x

    ir = verify(lift(f))
    assert [op.kind for op in ir.ops()].count(YIELD) == 1
    assert calls(f, intrinsics.async_gen_wrap) == 1
    assert format_ir(ir).startswith("async generator ")


@pytest.mark.parametrize("kind", ["", "async "])
def test_deterministic(kind):
    from tests.backend.flow_programs import make

    f = make(3, "coroutine" if kind else "function")
    assert len({format_ir(lift(f)) for _ in range(4)}) == 1


# -- del -------------------------------------------------------------------------------------------
def test_del_is_a_release():
    def f(x):
        y = x()
        del y
        z = x()
        w = z
        del z
        return w

    assert calls(f, intrinsics.release) == 1  # z is w
