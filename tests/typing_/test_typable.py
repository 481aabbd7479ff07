"""What lifts but is not compiled is refused by name, with file and line, wherever it is met."""

from __future__ import annotations

import pytest

from pullback import grad
from pullback.errors import LiftError
from pullback.frontend import lift
from pullback.ir import intrinsics
from pullback.typing_ import infer


def tries(x):
    y = 2.0 * x
    try:
        return 1 / y
    except ZeroDivisionError:
        return 0.0


def finally_(x):
    try:
        y = 1 / x
    finally:
        print(x)
    return y


def withs(x):
    with x as y:
        return y


def generator(x):
    yield x


async def coroutine(x):
    return x


async def async_generator(x):
    yield x


REFUSED = [
    (tries, "a try statement", 3),
    (finally_, "a try statement", 2),
    (withs, "a with statement", 1),
    (generator, "a generator", 0),
    (coroutine, "a coroutine", 0),
    (async_generator, "an async generator", 0),
]


@pytest.mark.parametrize("f,construct,line", REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_refused_with_construct_file_and_line(f, construct, line):
    lift(f)
    for use in (lambda: infer(f, 1.0), lambda: grad(f)(1.0), lambda: grad(calls(f))(1.0)):
        with pytest.raises(LiftError) as info:
            use()
        error = info.value
        assert error.code == "PB102" and construct in str(error) and f.__name__ in str(error)
        assert error.loc.file == __file__
        assert error.loc.line == f.__code__.co_firstlineno + line


def calls(f):
    return lambda x: 2.0 * f(x)


def test_del_is_nothing_to_typed_code():
    def f(x):
        y = x * x
        z = y * 3.0
        del y
        return z

    assert any(op.is_call(intrinsics.release) for op in lift(f).ops())
    assert grad(f)(2.0) == 12.0
