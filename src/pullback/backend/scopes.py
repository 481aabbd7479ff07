"""What an access to memory cannot meet, told to LLVM.

Parameters that do not overlap are ``noalias``, but of the arrays that a function makes, of the tape
and of the call's frame LLVM knows nothing: it would load again after each store to one of them, and
check for overlap before it turns a loop into vector code. So accesses carry scopes: an element is
in those of the roots that its array may be, and meets no access of other scopes. (See
https://llvm.org/docs/LangRef.html#noalias-and-alias-scope-metadata.)

Memory that is given back and taken anew may be of two roots in turn. Between them lie calls of the
memory manager, which LLVM moves no access across.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import llvmlite.ir as ll

from ..ir.core import IR, Op, Value
from ..passes.roots import Roots, is_view
from ..runtime import prims
from ..runtime.native_core import PRIMITIVES
from ..typing_.lattice import is_array

GIVEN, TAPE, FRAME = "given", "tape", "frame"
"""Scopes that are no roots: arrays that may overlap, cells, what the call leaves."""

OF_ARRAYS = (prims.load, prims.store)
UNKNOWN = (prims.peek, prims.contiguous)
"""Primitives whose result may be memory that was there before."""
OTHERS = {prims.peek: TAPE, prims.poke: TAPE, prims.record: FRAME, prims.unrecord: FRAME}

Scopes = frozenset[Any]


class Builder(ll.IRBuilder):
    """Marks the loads and stores that it makes with ``marks``: metadata by name."""

    marks: Mapping[str, Any] = {}

    @contextmanager
    def marking(self, marks: Mapping[str, Any]) -> Iterator[None]:
        before, self.marks = self.marks, marks
        try:
            yield
        finally:
            self.marks = before

    def load(self, *args: Any, **kw: Any) -> Any:
        return self._marked(super().load(*args, **kw))

    def store(self, *args: Any, **kw: Any) -> Any:
        return self._marked(super().store(*args, **kw))

    def _marked(self, access: Any) -> Any:
        for name, node in self.marks.items():
            access.set_metadata(name, node)
        return access


class Memory:
    """The scopes of the accesses of ``ir``, as metadata of its LLVM ``function``.

    ``apart``: whether its array parameters share no memory."""

    def __init__(self, ir: IR, function: Any, apart: bool) -> None:
        self.module, self.name = function.module, function.name
        self.roots = Roots(ir, half=True)
        self.known = self._known(ir, apart)
        self.every = [*dict.fromkeys(self.known.values()), TAPE, FRAME]
        self.nodes: dict[Any, Any] = {}
        self.marks: dict[Scopes, dict[str, Any]] = {}

    def _known(self, ir: IR, apart: bool) -> dict[Value, Any]:
        """The scopes of the roots that are arrays of their own. What comes from the tape, from
        other functions or from Numba's code may be any memory."""
        made = [op.result for op in ir.ops() if _makes_array(op)]
        return {v: v for v in made} | {a: a if apart else GIVEN for a in self.roots.args}

    def scopes(self, op: Op) -> Scopes | None:
        """What the accesses that ``op`` is made of are to; None if that is not known."""
        if op.is_call(*OF_ARRAYS):
            roots = self.roots[op.args[1]]
            known = roots and all(r in self.known for r in roots)
            return frozenset(self.known[r] for r in roots) if known else None
        return frozenset([OTHERS[op.callee]]) if op.callee in OTHERS else None

    def of(self, op: Op) -> dict[str, Any]:
        """The marks of the accesses that ``op`` is made of."""
        scopes = self.scopes(op)
        if scopes is None:
            return {}
        if scopes not in self.marks:
            self.marks[scopes] = {
                "alias.scope": self._list(s for s in self.every if s in scopes),
                "noalias": self._list(s for s in self.every if s not in scopes),
            }
        return self.marks[scopes]

    def _list(self, scopes: Iterable[Any]) -> Any:
        return self.module.add_metadata([self._node(s) for s in scopes])

    def _node(self, scope: Any) -> Any:
        """The scope's node: its name, which nothing else in the module has, and the function's."""
        if scope not in self.nodes:
            text = f"{self.name} {self.every.index(scope)}"
            domain = self.module.add_metadata([ll.MetaDataString(self.module, self.name)])
            name = ll.MetaDataString(self.module, text)
            self.nodes[scope] = self.module.add_metadata([name, domain])
        return self.nodes[scope]


def _makes_array(op: Op) -> bool:
    """Whether the result is memory that nobody else has."""
    made = op.callee in PRIMITIVES and is_array(op.result.type)
    return made and not is_view(op) and not op.is_call(*UNKNOWN)
