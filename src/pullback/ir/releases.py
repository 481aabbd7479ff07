"""``del x``: when a function lets go of a value before it ends.

In SSA nothing is left of a variable that is deleted, but the object may live on in its local. So
lifting keeps a call ``release(value)`` where the source has ``del``; lowering clears the local.
"""

from __future__ import annotations

from . import intrinsics
from .core import IR, Op, Value
from .edit import handlers
from .liveness import liveness


def is_release(op: Op) -> bool:
    return op.is_call(intrinsics.release)


def drop_idle_releases(ir: IR) -> None:
    """Remove the releases of what is not held: constants, values that are used further on, and
    exceptions that a handler caught, which are let go in any case."""
    if not any(map(is_release, ir.ops())):
        return
    live = liveness(ir)
    caught = {p for h in handlers(ir) for p in ir.blocks[h].params}
    for b in ir:
        kept: list[Op] = []
        for i, op in enumerate(b.ops):
            x = op.args[1] if is_release(op) else None
            if is_release(op) and (
                not isinstance(x, Value) or x in caught or x in live.before(b, i + 1)
            ):
                continue
            kept.append(op)
        b.ops = kept


def without_releases(ir: IR) -> IR:
    """The function itself if it holds none, else a copy without them."""
    if not any(map(is_release, ir.ops())):
        return ir
    copy = ir.copy()
    for b in copy:
        b.ops = [op for op in b.ops if not is_release(op)]
    return copy
