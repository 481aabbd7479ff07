"""What lifts but has no types: exceptions that are handled, generators, coroutines."""

from __future__ import annotations

from ..errors import LiftError
from ..ir import intrinsics
from ..ir.core import IR, SUSPENSIONS, Loc
from ..ir.printer import kind_of
from ..ir.raising import can_raise
from ..ir.releases import without_releases

HINT = "Only functions without it are compiled and differentiated."


def typable(ir: IR) -> IR:
    """The function as it can be typed. LiftError where it handles exceptions or is suspended."""
    info = ir.info
    kind = kind_of(info)
    if kind != "function" or any(op.kind in SUSPENSIONS for op in ir.ops()):
        article = "an" if kind[0] in "aeiou" else "a"
        where = Loc(info.file, info.line, info.qualname)
        raise LiftError(f"{info.qualname} is {article} {kind}: not compiled", loc=where, hint=HINT)
    construct, where = _handled(ir)
    if construct:
        raise LiftError(f"{construct} in {info.qualname}: not compiled", loc=where, hint=HINT)
    return without_releases(ir)


def _handled(ir: IR) -> tuple[str, Loc]:
    """What the first handler is for, and its place. (A with statement may need none.)"""
    for op in ir.ops():
        if op.is_call(intrinsics.before_with):
            return "a with statement", op.loc
    for b in ir:
        if b.handler is not None:
            return "a try statement", next((op.loc for op in b.ops if can_raise(op)), b.term.loc)
    return "", Loc()
