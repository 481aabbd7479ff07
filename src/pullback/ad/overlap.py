"""Copies that are made only if memory overlaps, decided before differentiation.

``overlap_copy(src, dst)`` is ``src`` where the two have no root in common, else a copy: so that
every array value of the program that is differentiated is either a view or memory of its own.
"""

from __future__ import annotations

from ..ir.core import CALL, IR, Const, Operand, Value
from ..passes.roots import Roots
from ..runtime import prims


def decide_copies(ir: IR, *, apart: bool = True) -> bool:
    """``apart``: whether the arguments do not overlap each other. Whether there were any."""
    if not any(op.is_call(prims.overlap_copy, prims.contiguous) for op in ir.ops()):
        return False
    roots = Roots(ir)
    args = set(roots.args)
    gone: dict[Value, Operand] = {}
    for b in ir:
        kept = []
        for op in b.ops:
            if op.is_call(prims.overlap_copy):
                src, dst = op.args[1:]
                both_given = not apart and roots[src] & args and roots[dst] & args
                if not roots[src] & roots[dst] and not both_given:
                    gone[op.result] = src
                    continue
                op.args = (Const(prims.own), src)
            elif op.is_call(prims.contiguous):
                op.args = (Const(prims.own), op.args[1])
            assert op.kind != CALL or op.callee is not prims.overlap_copy
            kept.append(op)
        b.ops = kept
    ir.substitute(gone)
    return True
