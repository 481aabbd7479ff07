"""Run a flattened function on CPython beside the function it came from."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from pullback.ir.verify import verify
from pullback.typing_ import ATuple, Flat, Specialised, abstract_of, flat, reflat

from ..ir.interp import Interpreter

FUEL = 10**5


class Calls(Interpreter):
    """Runs the flat code of specialised callees too."""

    def do_call(self, op: Any) -> Any:
        if isinstance(op.callee, Specialised):
            return Calls(op.callee.flat.ir, FUEL).run(*map(self.read, op.args[1:]))
        return super().do_call(op)


def leaves_of(value: Any, a: Any) -> list[Any]:
    """The run-time parts of an argument, in the order of the flat function's parameters."""
    if isinstance(a, ATuple):
        return [x for v, e in zip(value, a.elements) for x in leaves_of(v, e)]
    return [] if a.known else [value]


def rebuilt(a: Any, items: Any) -> Any:
    """A result from its leaves."""
    if isinstance(a, ATuple):
        parts = [rebuilt(e, items) for e in a.elements]
        return (a.cls or tuple)(parts) if a.cls in (None, list) else a.cls(*parts)
    return a.const if a.known else next(items)


def missing(f: Any, args: Any) -> tuple[Any, ...]:
    """The defaults of the parameters for which no argument is given."""
    n = f.__code__.co_argcount - len(args)
    return f.__defaults__[len(f.__defaults__) - n :] if n else ()


def flattened(f: Any, *args: Any) -> Flat:
    made = flat(f, [abstract_of(x) for x in args])
    verify(made.ir, typed=True)
    for callee in made.specialised:
        verify(callee.flat.ir, typed=True)
    return made


def call_flat(made: Flat, f: Any, *args: Any) -> Any:
    operands = [x for v, a in zip(args, made.args) for x in leaves_of(v, a)]
    operands += [h.read(f) for h in made.hidden]
    with np.errstate(all="ignore"):
        return rebuilt(made.result, iter(Calls(made.ir, FUEL).run(*operands)))


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
    elif x is None or isinstance(x, str):
        assert y == x
    else:
        assert np.asarray(x).dtype == np.asarray(y).dtype, (x, y, type(x), type(y))
        np.testing.assert_allclose(y, x, rtol=rtol)


def check(f: Any, *args: Any, rtol: float = 0.0) -> Flat:
    """Flattened, flattened twice and original agree: in result, exceptions and what they do to
    their arguments."""
    python = getattr(f, "py_func", f)
    args = (*args, *missing(python, args))
    made = flattened(f, *args)
    again = verify(reflat(made.ir), typed=True)
    theirs = copy.deepcopy(args)
    want = outcome(f, *theirs)
    for version in (made, dataclasses.replace(made, ir=again)):
        ours = copy.deepcopy(args)
        got = outcome(call_flat, version, python, *ours)
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
    except TypeError:
        raise
    except Exception as e:
        return e
