"""Exceptions, generators and coroutines: what lowered code does beyond results (see also the random
programs of `test_flow_programs`)."""

from __future__ import annotations

import asyncio
import gc
import inspect
import signal
import sys
import threading
import traceback
import types
import weakref

import pytest

from pullback.backend import lower
from pullback.frontend import lift
from pullback.ir.printer import format_ir
from pullback.ir.verify import verify

from .flow_cases import CASES
from .observed import drive


def again(f):
    """The function lowered, after the check that it lifts to the same IR."""
    ir = verify(lift(f))
    g = lower(ir)
    assert format_ir(verify(lift(g))) == format_ir(ir)
    return g


@pytest.mark.parametrize("f,calls", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_same_outcome(f, calls):
    g = again(f)
    for args in calls:

        def fresh(args=args):
            return [], *args

        assert drive(g, fresh, ("sent", ValueError, "close")) == drive(
            f, fresh, ("sent", ValueError, "close")
        )
        assert drive(g, fresh, ()) == drive(f, fresh, ())


# -- the exception being handled -------------------------------------------------------------------
def test_the_exception_being_handled():
    def f():
        seen = [sys.exc_info()[1]]
        try:
            raise KeyError(1)
        except KeyError:
            seen.append(repr(sys.exc_info()[1]))
            try:
                raise ValueError(2)
            except ValueError:
                seen.append(repr(sys.exc_info()[1]))
            seen.append(repr(sys.exc_info()[1]))
        seen.append(sys.exc_info()[1])
        return seen

    assert again(f)() == f() == [None, "KeyError(1)", "ValueError(2)", "KeyError(1)", None]


def test_a_generator_has_an_exception_of_its_own():
    def numbers():
        try:
            raise KeyError
        except KeyError:
            yield repr(sys.exc_info()[1])
        yield sys.exc_info()[1]

    def use(f):
        out = []
        try:
            raise OSError
        except OSError:
            for x in f():
                out.append((repr(x), repr(sys.exc_info()[1])))
        return out

    assert use(again(numbers)) == use(numbers)


def test_traceback_through_a_finally():
    def f(x):
        try:
            try:
                y = 1
                y / x
            finally:
                y = 2
        except ZeroDivisionError:
            y = 3
            raise

    def shown(g):
        try:
            g(0)
        except ZeroDivisionError as e:
            return "".join(traceback.format_exception(e)[1:])

    assert shown(again(f)).replace("test_flow", "") == shown(f).replace("test_flow", "")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
def test_an_interrupt_leads_to_the_handler_of_its_loop():
    def spin():
        n = 0
        try:
            while True:
                n = 1
        except Interrupt:
            return n

    def count(n):
        while True:
            try:
                while n >= 0:
                    n += 1
            except Interrupt:
                yield n > 3

    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals come to the main thread")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        spin, counted = again(spin), again(count)(0)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        assert spin() == 1
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            assert next(counted)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Interrupt(Exception):
    pass


def interrupt(*_):
    raise Interrupt


# -- what is let go, and when ----------------------------------------------------------------------
class Thing:
    pass


class Failure(ValueError):
    pass


def refs_after(f):
    """What f says, without the garbage collector's help."""
    gc.disable()
    try:
        return f()
    finally:
        gc.enable()


def test_an_exception_is_let_go_with_its_handler():
    def f():
        ref = None
        try:
            raise_thing()
        except ValueError as e:
            ref = weakref.ref(e.thing)
        return ref() is None

    def raise_thing():
        error = ValueError()
        error.thing = Thing()
        try:
            raise error
        finally:
            del error

    globals_ = {"raise_thing": raise_thing, "weakref": weakref}
    f = types.FunctionType(f.__code__, {**globals(), **globals_}, closure=f.__closure__)
    assert refs_after(f) and refs_after(again(f))


def test_an_unnamed_exception_is_let_go():
    def f(make, weak):
        try:
            raise make()
        except ValueError:
            pass
        return weak() is None

    def run(f):
        made = []

        def make():
            error = Failure()
            made.append(weakref.ref(error))
            return error

        return refs_after(lambda: f(make, lambda: made[0]()))

    assert run(f) and run(again(f))


def test_a_context_manager_is_let_go_with_its_block():
    class Manager(Thing):
        def __enter__(self):
            return None

        def __exit__(self, *what):
            return True

    def f(make, dead):
        with make():
            pass
        first = dead()
        with make():
            raise ValueError
        return first, dead()

    def run(f):
        made = []

        def make():
            manager = Manager()
            made.append(weakref.ref(manager))
            return manager

        return refs_after(lambda: f(make, lambda: [r() is None for r in made]))

    assert run(f) == run(again(f)) == ([True], [True, True])


def test_a_loop_that_an_exception_leaves_closes_its_generator():
    def numbers(log):
        try:
            yield from range(5)
        finally:
            log.append("closed")

    def f(log, numbers):
        try:
            for x in numbers(log):
                if x:
                    raise ValueError
        except ValueError:
            log.append("caught")
        return log

    assert f([], numbers) == again(f)([], numbers) == ["closed", "caught"]


def test_del_lets_go():
    def f(make, dead):
        thing = make()
        before = dead()
        del thing
        return before, dead()

    def run(f):
        made = []

        def make():
            thing = Thing()
            made.append(weakref.ref(thing))
            return thing

        return f(make, lambda: made[0]() is None)

    assert run(f) == run(again(f)) == (False, True)


# -- generators and coroutines as objects ----------------------------------------------------------
def test_kinds():
    def generator():
        yield

    async def coroutine():
        pass

    async def asyncgen():
        yield

    @types.coroutine
    def old():
        yield

    assert inspect.isgeneratorfunction(again(generator))
    assert inspect.iscoroutinefunction(again(coroutine))
    assert inspect.isasyncgenfunction(again(asyncgen))
    assert inspect.isawaitable(again(old)())


def test_what_a_generator_delegates_to_is_seen():
    def outer(inner):
        got = yield from inner
        yield got

    for f in (outer, again(outer)):
        inner = iter([1, 2])
        g = f(inner)
        assert g.gi_yieldfrom is None
        next(g)
        assert g.gi_yieldfrom is inner


def test_closing():
    def f(log):
        try:
            yield 1
        except GeneratorExit:
            log.append("exit")
            raise
        finally:
            log.append("finally")

    def run(f):
        log = []
        unstarted, started = f(log), f(log)
        next(started)
        unstarted.close()
        started.close()
        with pytest.raises(StopIteration):
            next(started)
        return log

    assert run(again(f)) == run(f) == ["exit", "finally"]


def test_stop_iteration_leaves_a_generator_as_runtime_error():
    def f():
        yield 1
        raise StopIteration(3)

    for g in (f, again(f)):
        with pytest.raises(RuntimeError, match="generator raised StopIteration") as info:
            list(g())
        assert isinstance(info.value.__cause__, StopIteration)


def test_asyncio():
    async def worker(log, queue):
        async with asyncio.timeout(5):
            while True:
                try:
                    item = await asyncio.wait_for(queue.get(), 1)
                    if item is None:
                        break
                    log.append(item)
                except ValueError:
                    log.append("never")
                finally:
                    await asyncio.sleep(0)
        return [x async for x in counted(2)]

    async def counted(n):
        for i in range(n):
            await asyncio.sleep(0)
            yield i

    async def run(worker):
        log, queue = [], asyncio.Queue()
        task = asyncio.create_task(worker(log, queue))
        for item in (1, 2, None):
            await queue.put(item)
        cancelled = asyncio.create_task(worker([], asyncio.Queue()))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        return log, await task

    assert asyncio.run(run(again(worker))) == asyncio.run(run(worker)) == ([1, 2], [0, 1])
