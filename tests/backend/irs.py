"""IR written by hand: one primitive as a function, and whole functions through a small writer."""

from __future__ import annotations

import operator

import numpy as np
from numba import typeof, types
from numba.core.registry import cpu_target

from pullback.backend.native import compile_native
from pullback.ir.builder import Builder
from pullback.ir.core import IR, Const, Info, Loc
from pullback.runtime import native_prims, prims  # noqa: F401
from pullback.runtime.native_core import PRIMITIVES, plain, specialise

cpu_target.typing_context.refresh()
LOC = Loc("user.py", 7, "f")


class Writer(Builder):
    """A builder that finds the types of the primitives it calls."""

    def __init__(self, *params: tuple[str, object]) -> None:
        ir = IR(Info(name="f", qualname="f"))
        self.params = [ir.value(name, type) for name, type in params]
        super().__init__(ir, ir.block(self.params), LOC)

    def __call__(self, callee, *args, type=None):
        op = self.ir.call(callee, *args, loc=self.loc, type=type)
        if type is None and callee in PRIMITIVES:
            made = specialise(callee, op.posargs)
            kinds = [type_of(op.posargs[k]) for k in made.kept]
            op.result.type = made.typer(cpu_target.typing_context, *kinds).return_type
        return self.append(op)

    def loop(self, n, start=0):
        """A counted loop: (counter, exit block); write the body, then call ``close``."""
        i = self.ir.value("i", types.int64)
        head, body, done = self.ir.block([i]), self.ir.block(), self.ir.block()
        self.jump(head, [start])
        self.at(head)
        self.branch(self(operator.lt, i, n, type=types.boolean), body, done)
        self.at(body)

        def close():
            self.jump(head, [self(operator.add, i, 1, type=types.int64)])
            self.at(done)

        return i, close

    def returns(self, *xs):
        self.ret(self(prims.pack, *xs))
        return self.ir

    def compile(self, *xs, **options):
        return compile_native(self.returns(*xs), options)


def type_of(x):
    return plain(typeof(x.value)) if isinstance(x, Const) else x.type


def one_call(prim, *args):
    """Call a primitive natively: constants and None stay constants, the rest are parameters."""
    statics = PRIMITIVES[prim].statics
    free = [k for k, a in enumerate(args) if k not in statics and a is not None]
    w = Writer(*((f"x{k}", plain(typeof(args[k]))) for k in free))
    given = dict(zip(free, w.params))
    result = w(prim, *(given.get(k, args[k]) for k in range(len(args))))
    if isinstance(result.type, types.Array):
        result = w(prims.own, result)
    return w.compile(result)(*(args[k] for k in free))[0]


def same(a, b, tol=0.0):
    """Whether two results agree in shape, dtype and value; scalars are Python's, of any width."""
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y, tol)
        return
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert a.dtype == b.dtype if a.ndim else a.dtype.kind == b.dtype.kind
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)
