"""Instructions with labels -> the bytes, the tables of lines and of exceptions, and the stack size
of a code object."""

from __future__ import annotations

import dis
import itertools
import sys
from functools import lru_cache
from typing import Any, NamedTuple

from ..frontend.decode import CACHES
from ..ir.core import Loc
from .exception_table import Guard, exception_table

_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_311 = sys.version_info[:2] == (3, 11)

CONDITIONS = {
    "JUMP_IF_FALSE": "IF_FALSE",
    "JUMP_IF_TRUE": "IF_TRUE",
    "JUMP_IF_NONE": "IF_NONE",
    "JUMP_IF_NOT_NONE": "IF_NOT_NONE",
}
"""The conditional jumps that `Assembler.jump` takes, besides ``JUMP`` and ``FOR_ITER``."""

CONDITIONAL_BACK = _311
"""Whether conditional jumps may lead back."""

_PAIRS = {
    (dis.opmap[a], dis.opmap[b]): dis.opmap[f"{a}_{b}"]
    for a, b in itertools.product(("LOAD_FAST", "STORE_FAST"), repeat=2)
    if f"{a}_{b}" in dis.opmap
}
"""The instructions that do the work of two on locals below 16 (3.13)."""


class Item(NamedTuple):
    """An instruction (``op``), or the place of a label (``op`` is None), where the stack has
    ``arg`` entries."""

    op: int | None
    arg: int
    label: int | None
    loc: Loc
    guard: Guard | None = None


class Assembled(NamedTuple):
    code: bytes
    linetable: bytes
    exceptiontable: bytes
    stacksize: int


class Assembler:
    """Collects instructions. ``loc`` and ``guard``, where exceptions lead, are given to each until
    they are changed."""

    def __init__(self, first_line: int) -> None:
        self.items: list[Item] = []
        self.loc = Loc()
        self.guard: Guard | None = None
        self.first_line = first_line
        self._labels = 0
        self._placed: set[int] = set()

    def emit(self, name: str, arg: int = 0) -> None:
        self.items.append(Item(dis.opmap[name], arg, None, self.loc, self.guard))

    def label(self) -> int:
        """A new label, not yet placed."""
        self._labels += 1
        return self._labels

    def place(self, label: int, depth: int = 0) -> None:
        """Here, where the stack has ``depth`` entries, is the label."""
        self._placed.add(label)
        self.items.append(Item(None, depth, label, self.loc))

    def is_placed(self, label: int) -> bool:
        return label in self._placed

    def jump(self, name: str, label: int) -> None:
        """Jump to a label, which decides the direction."""
        op = dis.opmap[_jump_name(name, label in self._placed)]
        self.items.append(Item(op, 0, label, self.loc, self.guard))

    def assemble(self) -> Assembled:
        self.items = _paired(self.items) if _PAIRS else self.items
        offsets, targets = _lay_out(self.items)
        code = bytearray()
        lines = LineTable(self.first_line)
        for item, size in zip(self.items, offsets):
            if item.op is None:
                continue
            before = len(code)
            caches = CACHES.get(item.op, 0)
            arg = item.arg
            if item.label is not None:
                arg = abs(targets[item.label] - (before // 2 + size))
            for shift in range(8 * (size - caches - 1), 0, -8):
                code += bytes((_EXTENDED_ARG, arg >> shift & 255))
            code += bytes((item.op, arg & 255)) + bytes(2 * caches)
            lines.add(item.loc, size)
        handled = exception_table(
            ((x.guard, size) for x, size in zip(self.items, offsets) if x.op is not None), targets
        )
        return Assembled(bytes(code), lines.finish(), handled, _stack_size(self.items))


def _paired(items: list[Item]) -> list[Item]:
    """Two accesses to locals, of one line, in one instruction where there is one."""
    out: list[Item] = []
    for item in items:
        before = out[-1] if out else item
        pair = _PAIRS.get((before.op, item.op))  # type: ignore[arg-type]
        low = before.arg < 16 and item.arg < 16
        together = before.loc.line == item.loc.line and before.guard == item.guard
        if out and pair is not None and low and together:
            out[-1] = Item(pair, before.arg << 4 | item.arg, None, item.loc, item.guard)
        else:
            out.append(item)
    return out


def _jump_name(name: str, backward: bool) -> str:
    if name in ("FOR_ITER", "SEND", "JUMP_BACKWARD_NO_INTERRUPT"):
        return name
    if name == "JUMP":
        return "JUMP_BACKWARD" if backward else "JUMP_FORWARD"
    direction = ("BACKWARD_" if backward else "FORWARD_") if _311 else ""
    return f"POP_JUMP_{direction}{CONDITIONS[name]}"


def _lay_out(items: list[Item]) -> tuple[list[int], dict[int, int]]:
    """The size of each instruction in code units, caches and extended arguments included, and the
    position of each label. Jumps grow until nothing changes."""
    sizes = [0 if x.op is None else 1 + CACHES.get(x.op, 0) + _extensions(x.arg) for x in items]
    while True:
        targets, position, ends = {}, 0, []
        for item, size in zip(items, sizes):
            if item.op is None:
                targets[item.label] = position
            position += size
            ends.append(position)
        changed = False
        for i, item in enumerate(items):
            if item.op is not None and item.label is not None:
                distance = abs(targets[item.label] - ends[i])
                size = 1 + CACHES.get(item.op, 0) + _extensions(distance)
                if size > sizes[i]:
                    sizes[i] = size
                    changed = True
        if not changed:
            return sizes, targets  # type: ignore[return-value]


def _extensions(arg: int) -> int:
    return 0 if arg < 1 << 8 else 1 if arg < 1 << 16 else 2 if arg < 1 << 24 else 3


def _stack_size(items: list[Item]) -> int:
    """Labels say how deep the stack is (but at a loop's end, where it has up to two entries)."""
    depth = deepest = 0
    for item in items:
        if item.op is None:
            depth = item.arg
            continue
        depth = max(0, depth + _effect(item.op, item.arg))
        deepest = max(deepest, depth)
    return deepest + 3


@lru_cache(maxsize=4096)
def _effect(op: int, arg: int) -> int:
    return dis.stack_effect(op, arg if op >= dis.HAVE_ARGUMENT else None, jump=False)


class LineTable:
    """The table of places, in the form of CPython 3.11 and later: runs of at most eight units."""

    NONE, LONG, NO_COLUMNS, ONE_LINE = 15, 14, 13, 10

    def __init__(self, first_line: int) -> None:
        self.line = first_line
        self.out = bytearray()
        self.loc: Loc | None = None
        self.units = 0

    def add(self, loc: Loc, units: int) -> None:
        if loc is not self.loc and (self.loc is None or loc[1:] != self.loc[1:]):
            self.flush()
            self.loc = loc
        self.units += units

    def flush(self) -> None:
        while self.units > 0 and self.loc is not None:
            self._entry(self.loc, min(self.units, 8))
            self.units -= 8
        self.units = 0

    def finish(self) -> bytes:
        self.flush()
        return bytes(self.out)

    def _entry(self, loc: Loc, units: int) -> None:
        if not loc.line:
            self._head(self.NONE, units)
            return
        delta, self.line = loc.line - self.line, loc.line
        whole = None not in (loc.col, loc.end_col, loc.end_line)
        if not whole or loc.end_line < loc.line:  # type: ignore[operator]
            self._head(self.NO_COLUMNS, units)
            self._signed(delta)
            return
        col, end_col, end_line = _known(loc.col), _known(loc.end_col), _known(loc.end_line)
        if end_line == loc.line and 0 <= delta <= 2 and col < 128 and end_col < 128:
            self._head(self.ONE_LINE + delta, units)
            self.out += bytes((col, end_col))
            return
        self._head(self.LONG, units)
        self._signed(delta)
        for n in (end_line - loc.line, col + 1, end_col + 1):
            self._unsigned(n)

    def _head(self, kind: int, units: int) -> None:
        self.out.append(0x80 | kind << 3 | units - 1)

    def _unsigned(self, n: int) -> None:
        while n >= 64:
            self.out.append(64 | n & 63)
            n >>= 6
        self.out.append(n)

    def _signed(self, n: int) -> None:
        self._unsigned(-n << 1 | 1 if n < 0 else n << 1)


def _known(x: Any) -> int:
    return int(x)
