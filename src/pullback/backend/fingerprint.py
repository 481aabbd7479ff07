"""What machine code depends on, as a digest: two functions with the same one have the same code.

Values and blocks are numbered in the order of the text, so neither ids nor names nor places in the
source count; those only matter when something fails, and are kept apart from the code. A function
that refers to an object which another process could not be sure to know again has no digest.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import types

from ..ir.core import (
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Const,
    Op,
    Operand,
    Raise,
    Slot,
    Terminator,
    Value,
)
from .sites import Sites

KNOWN_MODULES = ("builtins", "math", "cmath", "_operator", "operator", "numpy", "pullback.runtime")


class NotKnownAgain(Exception):
    """A constant has no name by which another process finds the same object."""


def fingerprint(
    functions: Sequence[IR], callees: Mapping[Any, int], sites: Sites, extra: Iterable[str]
) -> str | None:
    """The digest of some functions that call each other as ``callees`` (object -> position) and of
    the words of ``extra``; None if there can be none."""
    digest = hashlib.sha256()
    try:
        for text in (*extra, *(t for ir in functions for t in Text(ir, callees, sites).lines())):
            digest.update(text.encode())
            digest.update(b"\n")
    except NotKnownAgain:
        return None
    return digest.hexdigest()


class Text:
    """The lines that describe one function."""

    def __init__(self, ir: IR, callees: Mapping[Any, int], sites: Sites) -> None:
        self.ir, self.callees, self.sites = ir, callees, sites
        self.values: dict[Value, int] = {}
        self.slots: dict[Slot, int] = {}
        self.blocks = {b.id: k for k, b in enumerate(ir)}

    def lines(self) -> Iterable[str]:
        yield f"function {self.ir.info.qualname}"
        for b in self.ir:
            yield self.block(b)
            for op in b.ops:
                if op not in self.sites.unread:
                    yield self.op(op)
            yield self.terminator(b.term)

    def block(self, b: Block) -> str:
        named = [f"{self.operand(p)} {p.type} {p.name == 'tape'}" for p in b.params]
        return f"block {named}"

    def op(self, op: Op) -> str:
        parts = [self.operand(a) for a in op.args]
        if op.kind in (SLOTGET, SLOTSET):
            slot = self.slots.setdefault(op.attr, len(self.slots))
            parts.append(f"slot {slot} {op.attr.type}")
        elif op.attr is not None:
            raise NotKnownAgain(op.attr)
        failing = self.sites.number.get(op, 0)
        return f"{op.kind} {failing} {parts} {self.operand(op.result)} {op.result.type}"

    def terminator(self, term: Terminator) -> str:
        operands: Iterable[Operand] = term.operands
        if isinstance(term, Raise):
            operands = self.sites.recipes[term].operands
        edges = [(self.blocks[e.target], [self.operand(a) for a in e.args]) for e in term.edges]
        number = self.sites.number.get(term, 0) if isinstance(term, Raise) else 0
        return f"{type(term).__name__} {number} {[self.operand(x) for x in operands]} {edges}"

    def operand(self, x: Operand) -> str:
        if isinstance(x, Value):
            return f"%{self.values.setdefault(x, len(self.values))}"
        if isinstance(x, Const):
            return self.constant(x.value)
        return f"undef {x.type}"

    def constant(self, c: Any) -> str:
        if c is None or type(c) in (bool, int, float, complex, str, bytes):
            return f"{type(c).__name__} {c!r}"
        if type(c) is tuple:
            return f"tuple {[self.constant(x) for x in c]}"
        if isinstance(c, np.generic):
            return f"{c.dtype.str} {c.tobytes().hex()}"
        if isinstance(c, np.dtype | types.Type):
            return f"type {c!s}"
        try:
            if c in self.callees:
                return f"function {self.callees[c]}"
        except TypeError:
            raise NotKnownAgain(c) from None
        return known_name(c)


def known_name(c: Any) -> str:
    """The name of a function or class of Python, NumPy or the runtime."""
    name = getattr(c, "__qualname__", getattr(c, "__name__", ""))
    module = getattr(c, "__module__", None) or ("numpy" if isinstance(c, np.ufunc) else "")
    if not any(module == m or module.startswith(m + ".") for m in KNOWN_MODULES):
        raise NotKnownAgain(c)
    if getattr(sys.modules.get(module), name, None) is not c:
        raise NotKnownAgain(c)
    return f"{module}.{name}"
