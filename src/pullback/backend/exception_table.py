"""The exception table of a code object: which instructions lead to which handler.

An entry is four numbers (start, size, target in code units; depth of the stack, shifted, with the
flag that the place of the exception is wanted, which it is not here), each in groups of six bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Guard(NamedTuple):
    """The label of a handler, and how many entries of the stack it finds below the exception."""

    label: int
    depth: int = 0


def exception_table(sizes: Iterable[tuple[Guard | None, int]], targets: dict[int, int]) -> bytes:
    """``sizes``: for each instruction its guard and how many units it takes."""
    out = bytearray()
    start = position = 0
    running: Guard | None = None
    for guard, size in (*sizes, (None, 0)):
        if guard != running:
            if running is not None and position > start:
                _entry(out, start, position - start, targets[running.label], running.depth << 1)
            running, start = guard, position
        position += size
    return bytes(out)


def _entry(out: bytearray, *numbers: int) -> None:
    head = 0x80
    for n in numbers:
        groups = [n & 63]
        while n := n >> 6:
            groups.append(n & 63 | 64)
        groups.reverse()
        groups[0] |= head
        out += bytes(groups)
        head = 0
