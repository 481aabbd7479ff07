"""Elements of views as elements of the arrays they are views of.

``load(x[2:, 1:-1], i, j)`` is ``load(x, i + 2, j + 1)``. Then all accesses to an array have
subscripts that can be compared, inner loops go through arrays of known layout, and the reverse half
adds to the array's shadow and needs no views of it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ...ir.core import IR, Block, Const, Op, Operand, Value
from ...runtime import prims


def look_through(ir: IR) -> bool:
    """Take the element itself wherever a view of known steps is loaded from or stored to."""
    definition = {op.result: op for op in ir.ops()}
    changed = False
    for block in ir:
        if any(_of_view(op, definition) for op in block.ops):
            _Rewriter(ir, block, definition).run()
            changed = True
    return changed


def _of_view(op: Op, definition: dict[Value, Op]) -> Op | None:
    """The view that an element is loaded from or stored to."""
    if not op.is_call(prims.load, prims.store):
        return None
    view = definition.get(op.args[1])  # type: ignore[arg-type]
    return view if view is not None and view.is_call(prims.subview, prims.transpose) else None


class _Rewriter:
    """Rewrites the loads and stores of one block."""

    def __init__(self, ir: IR, block: Block, definition: dict[Value, Op]) -> None:
        self.ir, self.block, self.definition = ir, block, definition
        self.ops: list[Op] = []
        self.made: dict[tuple[object, Operand, Operand], Operand] = {}

    def run(self) -> None:
        for op in self.block.ops:
            while (view := _of_view(op, self.definition)) is not None:
                at = 2 if op.is_call(prims.load) else 3
                idx = self.below(view, op.args[at:])
                op.args = (op.fn, view.args[1], *op.args[2:at], *idx)
            self.ops.append(op)
        self.block.ops = self.ops

    def below(self, view: Op, idx: Sequence[Operand]) -> list[Operand]:
        """The subscripts of the array for those of its view."""
        spec = view.args[2]
        assert isinstance(spec, Const)
        if view.is_call(prims.transpose):
            return [idx[spec.value.index(axis)] for axis in range(len(idx))]
        rest, ints, out = iter(idx), iter(view.args[3:]), []
        for step in spec.value:
            if step == "i":
                out.append(next(ints))
            elif step == "n":
                next(rest)
            elif step == ":":
                out.append(next(rest))
            else:
                start, _, i = self.start(next(ints)), next(ints), next(rest)
                if step == "s":
                    i = self.arithmetic(operator.mul, i, next(ints))
                out.append(self.arithmetic(operator.add, i, start))
        return [*out, *rest]

    def start(self, x: Operand) -> Operand:
        """Where a slice begins, given that it has an element: so it was not clipped at its end."""
        op = self.definition.get(x)  # type: ignore[arg-type]
        if op is not None and op.is_call(prims.slice_start):
            first, step = op.args[1:3]
            up = isinstance(step, Const) and (step.value is None or step.value > 0)
            if up and isinstance(first, Const) and type(first.value) is int and first.value >= 0:
                return first
        return x

    def arithmetic(self, f: object, x: Operand, y: Operand) -> Operand:
        """Write ``f(x, y)``, once in a block."""
        from numba import types

        if isinstance(x, Const) and isinstance(y, Const):
            return Const(f(x.value, y.value))  # type: ignore[operator]
        if y == Const(0 if f is operator.add else 1):
            return x
        if x == Const(0):
            return y if f is operator.add else x
        if (f, x, y) not in self.made:
            op = self.ir.call(f, x, y, type=types.int64, loc=self.block.term.loc)
            self.ops.append(op)
            self.made[f, x, y] = op.result
        return self.made[f, x, y]
