"""Failures of compiled code: what is raised, and where the user sees it come from.

Compiled code leaves the number of the failing site and the numbers it was working on at its call's
frame. A site knows the Python function that raises for such operands (the primitive itself, or the
recipe of the exception of a ``raise`` statement) and the user's file and line.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype

from ..errors import TypingError
from ..ir.core import IR, Const, Loc, Op, Operand, Raise, Value
from ..runtime import frame, prims
from ..runtime.memory import Memory
from ..runtime.native_core import PRIMITIVES, operand_type, specialise, value_type
from ..runtime.tape import Tape


class Site(NamedTuple):
    """``raiser(*operands)`` raises; ``types`` are those of the operands that are passed."""

    raiser: Callable[..., Any]
    types: tuple[Any, ...]
    loc: Loc


class Sites:
    """The places where some functions can fail, numbered from 1 in the order of their code."""

    def __init__(self, functions: Iterable[IR], typing: Any) -> None:
        self.found: list[Site] = []
        self.number: dict[Op | Raise, int] = {}
        self.recipes: dict[Raise, Recipe] = {}
        for ir in functions:
            defined = {op.result: op for op in ir.ops()}
            for b in ir:
                for op in b.ops:
                    self._primitive(op, typing)
                if isinstance(b.term, Raise):
                    self._raise(b.term, defined)
        self.unread = {op for r in self.recipes.values() for op in r.ops}

    def _primitive(self, op: Op, typing: Any) -> None:
        callee = op.callee
        if callee not in PRIMITIVES or not PRIMITIVES[callee].fails:
            return
        made = specialise(callee, op.posargs)
        sig = made.typer(typing, *(operand_type(op.posargs[k]) for k in made.kept))
        if sig is not None:
            self._add(op, Site(primitive_raiser(op, made.kept), sig.args, op.loc))

    def _raise(self, term: Raise, defined: Mapping[Value, Op]) -> None:
        recipe = self.recipes[term] = Recipe(term, defined)
        kinds = tuple(value_type(v) for v in recipe.operands)
        self._add(term, Site(recipe.raiser, kinds, term.loc))

    def _add(self, at: Op | Raise, site: Site) -> None:
        self.found.append(site)
        self.number[at] = len(self.found)

    def failure(self, memory: Memory) -> tuple[BaseException, Loc]:
        """What the call that ran on ``memory`` failed with, and where in the user's code."""
        site = self.found[memory.words[frame.SITE] - 1]
        operands = decode(site.types, memory.words[frame.SITE + 1 :])
        return caught(site.raiser, operands), site.loc


def caught(raiser: Callable[..., Any], operands: Sequence[Any]) -> BaseException:
    try:
        raiser(*operands)
    except Exception as e:
        e.__context__ = None  # not while handling what Numba raised
        return e.with_traceback(None)
    return RuntimeError(f"compiled code failed where {raiser} does not: {operands}")


def decode(operand_types: Sequence[Any], words: Sequence[int]) -> list[Any]:
    """The operands that `native_core.encode` wrote; an array is zeros of the shape it had."""
    rest = iter(words)

    def number() -> float:
        return float(struct.unpack("d", struct.pack("q", next(rest)))[0])

    def one(t: Any) -> Any:
        if isinstance(t, types.Array):
            shape = [next(rest) for _ in range(t.ndim)]
            return np.zeros(shape, as_dtype(t.dtype), "F" if t.layout == "F" else "C")
        if isinstance(t, types.Complex):
            return complex(number(), number())
        if isinstance(t, types.Float):
            return number()
        return bool(next(rest)) if isinstance(t, types.Boolean) else next(rest)

    return [one(t) for t in operand_types]


def raise_at(exc: BaseException, loc: Loc) -> NoReturn:
    """Raise ``exc`` with a frame of the user's file, line and function as the innermost, unless it
    is for ourselves (``ours``)."""
    if getattr(exc, "ours", False):
        raise exc
    code = compile("raise exc", loc.file, "exec")
    code = code.replace(
        co_name=loc.function,
        co_firstlineno=max(loc.line, 1),
        co_linetable=_one_place(len(code.co_code) // 2, loc),
    )
    exec(code, {"exc": exc})
    raise AssertionError


def _one_place(units: int, loc: Loc) -> bytes:
    """A table of locations that says ``loc`` for each of ``units`` code units."""
    if None in (loc.col, loc.end_line, loc.end_col):
        kind, entry = 13, [0]  # the line alone
    else:
        kind = 14
        entry = [0, *_varint(loc.end_line - loc.line), *_varint(loc.col + 1)]  # type: ignore[operator]
        entry += _varint(loc.end_col + 1)  # type: ignore[operator]
    table: list[int] = []
    for start in range(0, units, 8):
        table += [0x80 | kind << 3 | min(units - start, 8) - 1, *entry]
    return bytes(table)


def _varint(n: int) -> list[int]:
    return [n] if n < 64 else [n & 63 | 64, *_varint(n >> 6)]


# -- primitives ------------------------------------------------------------------------------------
def primitive_raiser(op: Op, kept: Sequence[int]) -> Callable[..., Any]:
    """The Python function of a primitive, its constant operands put back, to be called with those
    at the positions ``kept``."""
    prim = op.callee
    fixed = {k: x.value for k, x in enumerate(op.posargs) if k not in kept}  # type: ignore[union-attr]

    def raiser(*operands: Any) -> Any:
        args = {**fixed, **dict(zip(kept, operands, strict=True))}
        if prim in TAKES_TAPE:
            args[0] = Tape()
        prim(*(args[k] for k in sorted(args)))
        if prim in TAKES_TAPE:
            raise MemoryError("no memory for the tape")

    return raiser


TAKES_TAPE = {
    prims.record, prims.heap_empty, prims.heap_zeros, prims.heap_zeros_like, prims.heap_own,
}  # fmt: skip


# -- raise statements ------------------------------------------------------------------------------
class Unread:
    """An array in a message: its elements stay behind."""

    def __init__(self, zeros: np.ndarray) -> None:
        self.text = f"<array of shape {zeros.shape}>"

    def __repr__(self) -> str:
        return self.text

    def __format__(self, spec: str) -> str:
        return self.text


class Recipe:
    """How the exception of a ``raise`` is made from numbers: the operations that make it (calls of
    classes, string formatting) are done in Python after the failure, from their numeric operands.

    ``ops`` are those operations; nothing else reads their results."""

    def __init__(self, term: Raise, defined: Mapping[Value, Op]) -> None:
        self.operands: list[Value] = []
        self.ops: set[Op] = set()
        self.defined, self.loc = defined, term.loc
        self.exc = self._plan(term.exc)
        self.cause = None if term.cause is None else self._plan(term.cause)

    def _plan(self, x: Operand | None) -> Callable[[Sequence[Any]], Any]:
        if isinstance(x, Const):
            return lambda _: x.value
        if not isinstance(x, Value):
            return lambda _: None
        if isinstance(x.type, types.Number | types.Boolean | types.Array):
            k = len(self.operands)
            self.operands.append(x)
            if isinstance(x.type, types.Array):
                return lambda values: Unread(values[k])
            return lambda values: values[k]
        if x not in self.defined:
            raise TypingError(
                "what is raised here differs from path to path",
                loc=self.loc,
                hint="Raise each exception where it is made.",
            )
        op = self.defined[x]
        self.ops.add(op)
        fn, *args = [self._plan(a) for a in op.args]
        names = op.kwnames

        def make(values: Sequence[Any]) -> Any:
            made = [a(values) for a in args]
            plain = made[: len(made) - len(names)]
            return fn(values)(*plain, **dict(zip(names, made[len(plain) :], strict=True)))

        return make

    def raiser(self, *values: Any) -> NoReturn:
        raise self.exc(values) from (None if self.cause is None else self.cause(values))
