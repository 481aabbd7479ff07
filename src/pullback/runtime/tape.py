"""The tape on CPython: addresses are integers, cells are Python objects.

Machine code has the same interface over raw bytes (`memory.Memory`). Here every mistake that raw
bytes would hide raises: reading a cell that was never written, or that was given up since.
"""

from __future__ import annotations

import itertools
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

ALIGNMENT = 8
_SPACE = 40  # bits of addresses that each tape has to itself
_numbers = itertools.count(1)
_tapes: WeakValueDictionary[int, Tape] = WeakValueDictionary()


def aligned(nbytes: int) -> int:
    """``nbytes`` rounded up to what a record really takes."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class Snapshot:
    """What a tape and its heap held at one moment."""

    __slots__ = ("cells", "heap", "position")

    def __init__(
        self, position: int, cells: dict[int, Any], heap: list[tuple[np.ndarray, np.ndarray]]
    ) -> None:
        self.position, self.cells, self.heap = position, cells, heap


class Tape:
    """A last-in-first-out stack of records, and the arrays that live as long as it does."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.base = number << _SPACE
        self.position = self.base
        self.cells: dict[int, Any] = {}
        self.heap: list[np.ndarray] = []
        _tapes[number] = self

    def record(self, nbytes: int) -> int:
        """Room for ``nbytes`` bytes at the end: its address. What was there is forgotten."""
        address = self.position
        self.position += aligned(nbytes)
        if self.position - address < len(self.cells):
            for cell in range(address, self.position):
                self.cells.pop(cell, None)
        else:
            self.cells = {c: v for c, v in self.cells.items() if c < address}
        return address

    def unrecord(self, nbytes: int) -> int:
        """Give up the last record, of ``nbytes`` bytes: its address, readable until the next."""
        self.position -= aligned(nbytes)
        if self.position < self.base:
            raise IndexError("more was taken from the tape than was put on it")
        return self.position

    def own(self, array: np.ndarray) -> np.ndarray:
        """Count ``array`` among those that live as long as the tape."""
        self.heap.append(array)
        return array

    @property
    def tape_bytes(self) -> int:
        return self.position - self.base

    @property
    def heap_bytes(self) -> int:
        return sum(a.nbytes for a in self.heap)

    def snapshot(self) -> Snapshot:
        return Snapshot(self.position, dict(self.cells), [(a, a.copy()) for a in self.heap])

    def restore(self, snapshot: Snapshot) -> None:
        """Put back what the tape and its arrays held then; what was allocated since is dropped."""
        self.position = snapshot.position
        self.cells = dict(snapshot.cells)
        self.heap = [array for array, _ in snapshot.heap]
        for array, content in snapshot.heap:
            array[...] = content

    def reset(self) -> None:
        """Empty it: everything recorded and allocated is given up."""
        self.position = self.base
        self.cells.clear()
        self.heap.clear()


def tape_at(address: int) -> Tape:
    """The tape that ``address`` belongs to."""
    return _tapes[address >> _SPACE]
