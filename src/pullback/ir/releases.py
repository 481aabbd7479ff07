"""``del x``: when a function lets go of a value before it ends.

In SSA nothing is left of a variable that is deleted, but the object may live on in its local. So
lifting keeps a call ``release(value)`` where the source has ``del``; lowering clears the local.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import intrinsics
from .core import IR, Block, Jump, Op, Return, Value
from .edit import handlers
from .liveness import Liveness, liveness, values
from .raising import can_raise


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
        if any(map(is_release, b.ops)):
            idle = {op for op, after in _live_after(ir, b, live) if _is_idle(op, after | caught)}
            b.ops = [op for op in b.ops if op not in idle]


def _is_idle(op: Op, needed: set[Value]) -> bool:
    return is_release(op) and (not isinstance(op.args[1], Value) or op.args[1] in needed)


def _live_after(ir: IR, block: Block, live: Liveness) -> Iterator[tuple[Op, set[Value]]]:
    """The operations, last first, with what is live after each. What the handler needs is live
    before an operation that can raise."""
    caught = set() if block.handler is None else live.into[block.handler]
    now = set(values(block.term.operands))
    for e in block.edges:
        now |= live.into[e.target] | set(values(e.args))
    if not isinstance(block.term, Jump | Return):
        now |= caught
    for op in reversed(block.ops):
        yield op, now
        now = now - {op.result} | set(values(op.args))
        if can_raise(op):
            now |= caught


def without_releases(ir: IR) -> IR:
    """The function itself if it holds none, else a copy without them."""
    if not any(map(is_release, ir.ops())):
        return ir
    copy = ir.copy()
    for b in copy:
        b.ops = [op for op in b.ops if not is_release(op)]
    return copy
