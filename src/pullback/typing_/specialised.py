"""A function specialised to abstract arguments: what inference fills in and flattening reads.

`Spec` is the working state. `Flat` is the result for one entry point, `Specialised` a callee that
stays a call: recursive, or too big to inline.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..ir.core import IR, Op, Slot
from .access import Hidden, Static
from .lattice import Abstract

MAX_INLINE = 3000
"""Callees with more operations than this stay calls."""

MAX_FUNCTION, MAX_LATE = 6000, 150
"""In a function that has grown beyond the first, so do those with more than the second."""


class Semantics(NamedTuple):
    """Whose meaning a function has: CPython's and NumPy's, or Numba's with the options of njit."""

    numba: bool = False
    boundscheck: bool = True
    error_model: str = "python"
    fastmath: Any = False

    @property
    def checked_division(self) -> bool:
        """Whether every division by zero raises, whatever the operands."""
        return self.numba and self.error_model == "python"


PYTHON = Semantics()


class Cell:
    """A cell that analysed code made: what is known of its content, whoever set it, and the slots
    that hold it once flattened. ``version`` grows when the content widens."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.content: Abstract | None = None
        self.version = 0

    def __repr__(self) -> str:
        return f"<cell {self.name}: {self.content}>"


class Spec:
    """One function for one tuple of abstract arguments."""

    def __init__(self, ir: IR, args: tuple[Abstract, ...], semantics: Semantics, name: str) -> None:
        self.ir = ir
        self.args = args
        self.semantics = semantics
        self.name = name
        self.code: Any = None
        self.place: Any = None  #     where the function is found again, see `access`
        self.cells: dict[str, Any] = {}  # free variable -> abstract cell, for nested functions
        self.result: Any = None  # abstract; None until some path returns
        self.values: dict[Any, Abstract] = {}
        self.constants: dict[int, Abstract] = {}  # of constant operands, by identity
        self.actions: dict[Any, Any] = {}  # Op -> Action
        self.edges: set[Any] = set()  #      feasible edges
        self.order: list[int] = []  #        feasible blocks in reverse postorder
        self.loops: dict[int, Any] = {}  #   block with ForIter -> Iteration
        self.maybe: set[Any] = set()  #      values not bound on some path
        self.made_cells: dict[Any, Cell] = {}  # NEWCELL op -> its cell
        self.stable: bool | None = None  # whether nothing in it depends on the user's code
        self.running = False
        self.recursive = False
        self.trusted = False
        self.rewritten = False  # whether the IR is flat already, written by a transform
        self.heads: set[Spec] = set()  #     running specs whose provisional result was used
        self.callees: set[Spec] = set()
        self.size = 0  #                     operations after inlining

    def reset(self) -> None:
        """Forget all findings but the result."""
        for found in (self.values, self.actions, self.edges, self.loops, self.maybe, self.heads):
            found.clear()
        self.callees.clear()

    def __repr__(self) -> str:
        return f"<spec {self.name}{self.args!r} -> {self.result!r}>"


@dataclass(eq=False)
class Specialised:
    """A callee that is called instead of inlined: ``call Const(self)(*leaves)`` gives a tuple of
    result leaves. ``flat`` is filled in before the caller's own flattening ends; its hidden
    arguments are the caller's too, passed after the other leaves."""

    name: str
    params: tuple[Any, ...] = ()
    result: tuple[Any, ...] = ()
    flat: Any = None
    run: Any = None  # the function on CPython, where code runs there

    def __call__(self, *args: Any) -> Any:
        return self.run(*args)

    @property
    def __name__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<specialised {self.name}>"


@dataclass(eq=False)
class Flat:
    """A flattened function. ``ir``'s entry parameters are the leaves of ``args`` in order, then one
    for each of ``hidden``; it returns ``prims.pack(*leaves)`` of ``result``."""

    ir: IR
    args: tuple[Abstract, ...]
    result: Abstract
    hidden: list[Hidden] = field(default_factory=list)
    statics: list[Static] = field(default_factory=list)
    specialised: list[Specialised] = field(default_factory=list)
    semantics: Semantics = PYTHON


def is_outlined(op: Op) -> bool:
    """Whether the call is to a ``Specialised`` function."""
    return isinstance(op.callee, Specialised)


class CellSlots(NamedTuple):
    """A cell in flattened code: the slots of its content's leaves, and their abstract value."""

    slots: tuple[Slot, ...]
    content: Abstract
