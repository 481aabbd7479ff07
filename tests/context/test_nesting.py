"""Contexts within contexts; threads and tasks."""

import asyncio
import contextvars
import math
import operator
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import pullback as pb


def named(name):
    """A context that notes the calls of math.sin, and adds one to them."""

    class Named(pb.Context):
        log: list

        def prehook(self, f, *args, **kw):
            if f is math.sin:
                events.append((name, "pre"))

        def posthook(self, out, f, *args, **kw):
            if f is math.sin:
                events.append((name, "post"))

    @Named.primitive(math.sin)
    def _(ctx, x):
        events.append(name)
        return math.sin(x) + 1

    return Named()


events = []


def body(x):
    return math.sin(x)


@pytest.fixture(autouse=True)
def fresh():
    events.clear()


def test_three_levels_the_innermost_decides_and_runs_under_the_others():
    a, b, c = named("a"), named("b"), named("c")
    got = a.overdub(lambda: b.overdub(lambda: c.overdub(body, 0.0)))
    assert got == 3.0
    assert events == [
        ("c", "pre"), ("b", "pre"), ("a", "pre"), "c",
        ("b", "pre"), ("a", "pre"), "b",
        ("a", "pre"), "a", ("a", "post"),
        ("a", "post"), ("b", "post"),
        ("a", "post"), ("b", "post"), ("c", "post"),
    ]  # fmt: skip


def test_a_context_within_itself_is_itself():
    a = named("a")
    assert a.overdub(lambda: a.overdub(body, 0.0)) == 1.0
    assert events.count("a") == 1


def test_recurse_in_a_primitive_of_an_outer_context_goes_on_with_the_whole_stack():
    class Outer(pb.Context):
        pass

    @Outer.primitive(body)
    def _(ctx, x):
        return 10 * ctx.recurse(body, x)

    inner = named("inner")
    assert Outer().overdub(lambda: inner.overdub(lambda: body(0.0))) == 10.0
    assert "inner" in events


def test_a_filter_counts_for_its_own_context():
    a, b = named("a"), named("b")
    a.exclude = [body]
    assert a.overdub(lambda: b.overdub(lambda: body(0.0))) == 1.0
    assert [e for e in events if isinstance(e, str)] == ["b"]


# -- threads, tasks, context variables -------------------------------------------------------------
def test_what_is_handed_to_a_thread_stays_in_the_context():
    a, out = named("a"), []

    def program():
        thread = threading.Thread(target=lambda: out.append(math.sin(0.0)))
        thread.start()
        thread.join()
        with_pool = ThreadPoolExecutor(1)
        out.append(with_pool.submit(body, 0.0).result())
        with_pool.shutdown()

    a.overdub(program)
    assert out == [1.0, 1.0]


def test_other_threads_are_not_in_the_context():
    a, out = named("a"), []
    inside, done = threading.Event(), threading.Event()

    def other():
        inside.wait()
        out.append(body(0.0))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def program():
        inside.set()
        done.wait()
        return body(0.0)

    assert a.overdub(program) == 1.0 and out == [0.0]
    thread.join()


def test_context_variables_are_the_callers():
    variable = contextvars.ContextVar("variable", default=0)
    a = named("a")

    def program():
        variable.set(variable.get() + 1)
        return contextvars.copy_context().run(body, 0.0), variable.get()

    variable.set(5)
    assert a.overdub(program) == (1.0, 6) and variable.get() == 6


def test_a_task_made_elsewhere_is_not_in_the_context():
    a = named("a")

    async def plain():
        return body(0.0)

    async def main():
        task = asyncio.ensure_future(plain())
        got = a.overdub(body, 0.0)
        return got, await task

    assert asyncio.run(main()) == (1.0, 0.0)


def test_two_instances_in_two_threads_do_not_mix():
    class Adding(pb.Context):
        def __init__(self, k):
            self.k = k

    @Adding.primitive(operator.mul)
    def _(ctx, x, y):
        return x * y + ctx.k

    def program(n):
        total = 0
        for i in range(n):
            total += i * 2
        return total

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda k: Adding(k).overdub(program, 500), range(8)))
    assert results == [program(500) + 500 * k for k in range(8)]
