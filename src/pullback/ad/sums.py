"""Cancel the zeros that cotangents begin with: ``0.0 + x`` is ``x``.

That is not so for every float (-0.0 + 0.0 is 0.0), so only additions that reverse mode wrote are
touched, for whose results the sign of a zero means nothing. Left in, each would be a step of a
chain that keeps loops from being vectorised.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.core import IR, Const, Operand, Value
from ..passes.mem2reg import mem2reg
from ..passes.simplify_cfg import simplify_cfg


def cancel_zeros(ir: IR, sums: Iterable[Value]) -> None:
    """Make slots values, then drop additions of zero among ``sums``."""
    written = set(sums)
    mem2reg(ir)
    _cancel(ir, written)
    simplify_cfg(ir)
    _cancel(ir, written)


def _cancel(ir: IR, sums: set[Value]) -> None:
    gone: dict[Value, Operand] = {}
    for b in ir:
        kept = []
        for op in b.ops:
            if op.result in sums:
                a, c = (_through(x, gone) for x in op.args[1:])
                if _is_zero(a) or _is_zero(c):
                    gone[op.result] = c if _is_zero(a) else a
                    continue
            kept.append(op)
        b.ops = kept
    ir.substitute(gone)


def _through(x: Operand, gone: dict[Value, Operand]) -> Operand:
    while isinstance(x, Value) and x in gone:
        x = gone[x]
    return x


def _is_zero(x: Operand) -> bool:
    return isinstance(x, Const) and x.value == 0
