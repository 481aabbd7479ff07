"""Products of matrices without temporaries: BLAS writes where the result is wanted, and adds to
shadows itself. For code that is not differentiated again.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ..ir.builder import Builder
from ..ir.core import IR, Const, Op, Value
from ..ir.edit import use_counts
from ..rules.linalg import matmul_reverse, matmul_reverse_in_place
from ..runtime import prims
from .kinds import type_of


def products_in_place(ir: IR) -> None:
    """Rewrite what reverse mode wrote (before the rules are entered)."""
    uses = use_counts(ir)
    for block in ir:
        made: dict[Value, Op] = {}  # products of this block, not yet used
        ops: list[Op] = []
        for op in block.ops:
            product = made.get(op.args[2]) if op.is_call(prims.heap_own) else None  # type: ignore[arg-type]
            if op.is_call(matmul_reverse) and _adds_in_place(op):
                op.args = (Const(matmul_reverse_in_place), *op.args[1:])
            elif op.is_call(prims.matmul) and uses.get(op.result) == 1:
                made[op.result] = op
            elif product is not None:
                ops.remove(product)
                _write(ir, ops, op, product)
                continue
            ops.append(op)
        block.ops = ops


def _adds_in_place(op: Op) -> bool:
    dy, shadows = op.args[2], [t for x in op.args[4::2] if (t := type_of(x)) is not None]
    real = all(isinstance(t.dtype, types.Float) for t in shadows)
    return isinstance(type_of(dy), types.Array) and real and all(t.layout == "C" for t in shadows)


def _write(ir: IR, ops: list[Op], op: Op, product: Op) -> None:
    """``heap_own(tape, a @ b)`` as memory on the heap that the product is written to."""
    block = ir.block()
    b = Builder(ir, block, op.loc)
    x, y = product.args[1:]
    ranks = [t.ndim if (t := type_of(z)) is not None else 0 for z in (x, y)]
    dims: list[Any] = [b.call(prims.dim, x, 0, type=types.int64)] if ranks[0] == 2 else []
    dims += [b.call(prims.dim, y, 1, type=types.int64)] if ranks[1] == 2 else []
    dtype = np_dtype(op.result.type)
    out = ir.call(prims.heap_empty, op.args[1], dtype, "C", *dims, loc=op.loc)
    out.result = op.result
    ops += [*block.ops, out, ir.call(prims.product, op.result, x, y, type=types.none, loc=op.loc)]
    del ir.blocks[block.id]


def np_dtype(t: Any) -> Any:
    from numba.np.numpy_support import as_dtype

    return as_dtype(t.dtype)
