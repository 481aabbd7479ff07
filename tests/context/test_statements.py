"""Statements with a flow of their own: exceptions, context managers, generators, coroutines."""

import asyncio
import sys

import pytest

import pullback as pb

from .test_calls import Counting, Empty, leaf, through


def caught(x):
    try:
        leaf(1.0)
        return leaf(x) / 0
    except ZeroDivisionError as e:
        return leaf(2.0), type(e), type(sys.exc_info()[1])
    finally:
        leaf(3.0)


pytestmark = pytest.mark.skipif(
    not Empty().can_recurse(caught), reason="try statements have no IR in this version"
)


class Manager:
    def __init__(self, settles=False):
        self.settles = settles

    def __enter__(self):
        return leaf(4.0)

    def __exit__(self, kind, exc, tb):
        leaf(5.0)
        return self.settles


def managed(x):
    with Manager() as four:
        y = leaf(x) + four
    with Manager(settles=True):
        raise ValueError
    return y


def items(n):
    for k in range(n):
        sent = yield leaf(float(k))
        if sent:
            leaf(9.0)
    return leaf(7.0)


def delegating(n):
    end = yield from items(n)
    yield end


def test_exceptions_and_managers():
    assert through(caught, 1.0) == 4
    assert through(managed, 1.0) == 5


def test_generators_stay_in_the_context():
    assert through(lambda: list(items(3))) == 4
    assert through(lambda: sum(leaf(v) for v in items(2))) == 5
    assert through(lambda: [v for v in delegating(2)]) == 3
    ctx = Counting()
    generator = ctx.overdub(items, 2)
    assert next(generator) == 0.0 and generator.send(1) == 1.0
    assert ctx.calls == [0.0, 9.0, 1.0]  # also when the run is over


def test_coroutines_stay_in_the_context_they_were_made_in():
    async def child(x):
        await asyncio.sleep(0)
        return leaf(x)

    async def parent():
        task = asyncio.create_task(child(1.0))
        return await child(2.0) + await task + sum(await asyncio.gather(child(3.0), child(4.0)))

    ctx = Counting()
    assert asyncio.run(ctx.overdub(parent)) == 10.0
    assert sorted(ctx.calls) == [1.0, 2.0, 3.0, 4.0]


def test_what_is_no_manager_fails_as_it_does():
    class Half:
        def __enter__(self):
            pass

    def use(x):
        with x:
            pass

    for x in (3, Half()):
        messages = []
        for run in (lambda: use(x), lambda: Empty().overdub(use, x)):
            with pytest.raises(TypeError) as e:
                run()
            messages.append(str(e.value))
        assert messages[0] == messages[1]


def test_hooks_see_the_methods_of_managers():
    class Log(pb.Context):
        def __init__(self):
            self.names = []

        def prehook(self, f, *args, **kw):
            self.names.append(getattr(f, "__qualname__", ""))

    log = Log()
    log.overdub(managed, 1.0)
    assert log.names.count("Manager.__enter__") == log.names.count("Manager.__exit__") == 2


# -- lifetimes -------------------------------------------------------------------------------------
class Watched:
    """Notes in ``self.log`` when it goes."""

    log: list

    def __init__(self, name="it"):
        self.name = name

    def __del__(self):
        self.log.append(f"{self.name} gone")

    def __add__(self, other):
        return 1

    def method(self):
        return 1

    def __getitem__(self, key):
        return key


def passes_on(log):
    identity(Watched())
    log.append("end")


def deletes(log):
    x = Watched()
    x.method()
    del x
    log.append("end")


def rebinds(log):
    x = Watched("first")
    x = Watched("second")
    x.method()
    log.append("end")


def operands(log):
    Watched("left") + Watched("right")
    log.append("end")


def part_of_an_expression(log):
    y = Watched().method() + Watched()[2]
    log.append(f"end {y}")


def loops(log):
    for k in range(2):
        Watched(f"{k}").method()
        log.append("round")


def identity(x):
    return x


@pytest.mark.parametrize(
    "program", [passes_on, deletes, rebinds, operands, part_of_an_expression, loops]
)
def test_objects_go_when_they_do_without_a_context(program):
    logs = [], []
    for log, run in zip(logs, (lambda f, log: f(log), Empty().overdub)):
        Watched.log = log
        run(program, log)
    assert logs[0] == logs[1]
    assert any("gone" in entry for entry in logs[0][:-1])
