"""What a pass may leave in the IR for the rewriting of calls that comes after it."""

from __future__ import annotations

from ..ir.core import Op


class Marker:
    """A constant that stands for something of the run."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


CONTEXT = Marker("CONTEXT")
"""As an operand, ``Const(CONTEXT)`` becomes the instance whose class holds the pass."""


class Addressed(Marker):
    """`CONTEXT` in a pass of context ``number`` of the stack."""

    def __init__(self, number: int) -> None:
        super().__init__(f"CONTEXT {number}")
        self.number = number


PLAIN = Marker("PLAIN")


def leave(op: Op) -> Op:
    """Exclude a call from rewriting: it is called plainly, with no hook and no primitive."""
    op.target = PLAIN
    return op
