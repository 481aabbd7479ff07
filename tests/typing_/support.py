"""Run a flattened function on CPython beside the function it came from."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from pullback.ir.verify import verify
from pullback.typing_ import ATuple, Flat, abstract_of, flat

from ..ir.interp import run


def leaves_of(value: Any, a: Any) -> list[Any]:
    """The run-time parts of an argument, in the order of the flat function's parameters."""
    if isinstance(a, ATuple):
        return [x for v, e in zip(value, a.elements) for x in leaves_of(v, e)]
    return [] if a.known else [value]


def rebuilt(a: Any, items: Any) -> Any:
    """A result from its leaves."""
    if isinstance(a, ATuple):
        parts = [rebuilt(e, items) for e in a.elements]
        if a.cls is None or a.cls is list:
            return (a.cls or tuple)(parts)
        return a.cls(*parts)
    return a.const if a.known else next(items)


def flattened(f: Any, *args: Any) -> Flat:
    made = flat(f, [abstract_of(x) for x in args])
    verify(made.ir, typed=True)
    for callee in made.specialised:
        verify(callee.flat.ir, typed=True)
    return made


class Callable:
    """Lets the interpreter call a specialised callee."""

    def __init__(self, target: Any) -> None:
        self.target = target


def call_flat(made: Flat, f: Any, *args: Any) -> Any:
    for s in made.specialised:
        type(s).__call__ = lambda self, *leaves: run(self.flat.ir, *leaves, fuel=10**6)
    args = (*args, *missing(f, args))
    operands = [x for v, a in zip(args, made.args) for x in leaves_of(v, a)]
    operands += [h.read(f) for h in made.hidden]
    return rebuilt(made.result, iter(run(made.ir, *operands, fuel=10**6)))


def same(x: Any, y: Any, rtol: float = 0.0) -> None:
    """Equal values, dtypes and structure."""
    if isinstance(x, (tuple, list)):
        assert type(x) is type(y) and len(x) == len(y), (x, y)
        for a, b in zip(x, y):
            same(a, b, rtol)
    elif isinstance(x, np.ndarray):
        assert isinstance(y, np.ndarray), (x, y)
        assert x.dtype == y.dtype and x.shape == y.shape, (x, y)
        np.testing.assert_allclose(y, x, rtol=rtol)
    elif x is None:
        assert y is None
    else:
        assert np.asarray(x).dtype == np.asarray(y).dtype, (x, y, type(x), type(y))
        np.testing.assert_allclose(y, x, rtol=rtol)


def missing(f: Any, args: Any) -> tuple[Any, ...]:
    """The defaults of the parameters for which no argument is given."""
    n = f.__code__.co_argcount - len(args)
    return f.__defaults__[len(f.__defaults__) - n :] if n else ()


def check(f: Any, *args: Any, rtol: float = 0.0) -> Flat:
    """Flattened and original agree: in result, exceptions and what they do to their arguments."""
    made = flattened(f, *args, *missing(f, args))
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    want, got = outcome(f, *theirs), outcome(call_flat, made, f, *ours)
    if isinstance(want, Exception):
        assert type(got) is type(want), (got, want)
        assert str(got) == str(want)
    else:
        assert not isinstance(got, Exception), got
        same(want, got, rtol)
    same(theirs, ours, rtol)
    return made


def outcome(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except (AssertionError, TypeError):
        raise
    except Exception as e:
        return e
