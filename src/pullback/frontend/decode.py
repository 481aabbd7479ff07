"""Bytes of a code object -> instructions with resolved arguments, jump targets and places."""

from __future__ import annotations

import dis
import opcode
import sys
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from ..ir.core import Loc

_CACHE_ENTRIES = opcode._inline_cache_entries  # type: ignore[attr-defined]
CACHES: dict[int, int] = (
    {dis.opmap[name]: n for name, n in _CACHE_ENTRIES.items() if name in dis.opmap}
    if isinstance(_CACHE_ENTRIES, dict)
    else {op: n for op, n in enumerate(_CACHE_ENTRIES) if n}
)
"""How many cache units follow an instruction."""

_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_FOR_ITER = dis.opmap["FOR_ITER"]
_LOOP_END = {(3, 11): 0, (3, 12): 2, (3, 13): 4}.get(sys.version_info[:2], 0)
"""FOR_ITER jumps behind the END_FOR (3.12), the END_FOR and POP_TOP (3.13) at its target: with the
iterator popped."""

_RELATIVE = frozenset(dis.hasjrel)
_BACKWARD = frozenset(op for op in dis.hasjrel if "BACKWARD" in dis.opname[op])


class Instr(NamedTuple):
    """One instruction; ``target`` is the offset it may jump to, ``next`` that of the following."""

    offset: int
    op: str
    arg: int
    target: int | None
    next: int
    loc: Loc


class Handler(NamedTuple):
    """An entry of the exception table: offsets in bytes, ``end`` exclusive. The handler at
    ``target`` finds the lowest ``depth`` entries of the stack, with ``lasti`` the place of the
    exception, and the exception."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


def decode(code: CodeType) -> list[Instr]:
    """All instructions in order of offset, extended arguments folded in."""
    out = []
    raw, names = code.co_code, dis.opname
    places = _places(code)
    i, start, extended, n = 0, 0, 0, len(raw)
    while i < n:
        op = raw[i]
        arg = raw[i + 1] | extended
        if op == _EXTENDED_ARG:
            extended = arg << 8
            i += 2
            continue
        after = i + 2 + 2 * CACHES.get(op, 0)
        target = None
        if op in _RELATIVE:
            target = after + (-2 * arg if op in _BACKWARD else 2 * arg)
            if op == _FOR_ITER:
                target += _LOOP_END
        out.append(Instr(start, names[op], arg, target, after, places[i // 2]))
        extended, i, start = 0, after, after
    return out


def _places(code: CodeType) -> list[Loc]:
    """The place of each code unit; equal neighbours share one object."""
    file, function = code.co_filename, code.co_qualname
    out: list[Loc] = []
    last, loc = None, None
    for place in code.co_positions():
        if place != last:
            last = place
            line, end_line, col, end_col = place
            loc = Loc(file, line or 0, function, col, end_line, end_col)
        out.append(loc)  # type: ignore[arg-type]
    return out


def handlers(code: CodeType) -> list[Handler]:
    """The exception table."""
    units = iter(code.co_exceptiontable)
    out = []
    for first in units:
        start = 2 * _varint(first, units)
        size = 2 * _varint(next(units), units)
        target = 2 * _varint(next(units), units)
        last = _varint(next(units), units)
        out.append(Handler(start, start + size, target, last >> 1, bool(last & 1)))
    return out


def _varint(first: int, units: Iterator[int]) -> int:
    value = first & 63
    while first & 64:
        first = next(units)
        value = value << 6 | first & 63
    return value


def local_names(code: CodeType) -> tuple[str, ...]:
    """The names of all local slots: variables, then cells that are no variables, then free ones."""
    cells = [c for c in code.co_cellvars if c not in code.co_varnames]
    return (*code.co_varnames, *cells, *code.co_freevars)
