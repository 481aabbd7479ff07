"""Frames of the package between the user's count neither for warnings nor for who asks for them."""

import functools
import sys
import traceback
import warnings

import pytest

import pullback as pb


class Empty(pb.Context):
    pass


class Hooked(pb.Context):
    def prehook(self, f, *args, **kw):
        pass

    def errorhook(self, exc, f, *args, **kw):
        pass


def deprecated(result=None):
    warnings.warn("called", DeprecationWarning, stacklevel=2)
    return result


class Thing:
    """Each method complains about the line that uses it."""

    def __init__(self):
        deprecated_here()

    def __add__(self, other):
        return deprecated_here(1)

    def __eq__(self, other):
        return deprecated_here(True)

    def __getitem__(self, key):
        return deprecated_here(1)

    def __setitem__(self, key, value):
        deprecated_here()

    def __setattr__(self, name, value):
        deprecated_here()

    @property
    def half(self):
        return deprecated_here(1)

    def __len__(self):
        return deprecated_here(1)

    def __bool__(self):
        return deprecated_here(True)

    def __iter__(self):
        return iter(deprecated_here([1]))

    def __call__(self):
        deprecated_here()

    def method(self, x=None):
        deprecated_here()


def deprecated_here(result=None):
    warnings.warn("used", DeprecationWarning, stacklevel=3)
    return result


def program(x):
    """One use a line."""
    Thing()
    x + 1
    x == 1
    x[0]
    x[0] = 1
    x.a = 1
    x.half
    len(x)
    1 if x else 2
    [y for y in x]
    for _ in x:
        pass
    [_a] = x
    list(x)
    x()
    x.method()
    x.method(x=1)
    x.method(*(1,))
    sorted([1, 2], key=lambda y: deprecated(y))
    list(map(deprecated, [1]))
    functools.partial(deprecated, 1)()
    deprecated()
    warnings.warn("here", stacklevel=1)


def places(run):
    """File and line of the warnings."""
    x = Thing.__new__(Thing)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(program, x)
    return [(str(w.message), w.filename, w.lineno) for w in caught]


@pytest.mark.parametrize("kind", [Empty, Hooked])
@pytest.mark.parametrize("entered", [True, False], ids=["entered", "plain"])
def test_warnings_are_blamed_on_the_users_line(kind, entered):
    ctx = kind(exclude=[] if entered else [Thing])
    expected = places(lambda f, x: f(x))
    assert len(expected) > 20
    assert places(ctx.overdub) == expected


class Asked:
    def __add__(self, depth):
        return sys._getframe(depth).f_code.co_name


@pytest.mark.parametrize("kind", [Empty, Hooked])
def test_who_asks_for_frames_gets_the_users(kind):
    def direct():
        return [sys._getframe(*d).f_code.co_name for d in ((), (0,), (1,))]

    def through_an_operator():
        return [Asked() + d for d in (0, 1)]

    def outer(f):
        return f()

    for f in (direct, through_an_operator):
        assert kind().overdub(outer, f) == outer(f)
    with pytest.raises(ValueError, match="call stack is not deep enough"):
        kind().overdub(lambda: sys._getframe(10_000))


def test_source_lines_of_the_package_are_found():
    """For those who debug it: tracebacks that nobody cleans."""
    seen = []

    class Looking:
        def __add__(self, other):
            seen.extend(traceback.extract_stack())

    Empty().overdub(lambda: Looking() + 1)
    ours = [s for s in seen if "importlib._bootstrap" in s.filename]
    assert ours and all(s.line for s in ours)
