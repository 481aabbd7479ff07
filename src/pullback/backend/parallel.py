"""Whether the elementary functions of a program are called for many numbers at once.

A call in an innermost counted loop that does not, over the iterations, depend on its own result
can be made for several iterations at once: by vector instructions, or else overlapping, and it
counts how many are done in a time. Elsewhere it counts how long one takes. Elementary functions
have an implementation for each (`runtime.vmath`, and the C library's).

The two may differ in the last bit, so one is chosen for the whole of a program and all code that
is derived from it: a derivative may evaluate again, at another place, what a branch, a subscript
or the search for a maximum depends on, and must find the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from numba import types

from ..ir.core import IR, Branch, Const, Op, Operand, Value
from ..ir.loops import Loop, loop_forest
from ..passes.copy_prop import components
from ..runtime import prims, vmath
from ..runtime.native_core import PRIMITIVES, VIEWS

COMPARISONS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


def elementary(op: Op) -> str | None:
    """The name of the kernel that could do the call. None if it is a power that LLVM turns into a
    product or a root."""
    name = vmath.NAMES.get(op.callee)
    last = op.posargs[-1] if name else None
    simple = isinstance(last, Const) and last.value in (-1, 0, 0.5, 1, 2)
    return None if simple else name


def kernels_for(functions: Iterable[IR]) -> frozenset[str]:
    """The names of the elementary functions for which the kernels are to be used in a program of
    these functions: all that never wait for their own result, if one at least is called for many
    numbers at once."""
    parallel: set[str] = set()
    serial: set[str] = set()
    for ir in functions:
        if any(map(elementary, ir.ops())):
            _judge(ir, parallel, serial)
    return frozenset(vmath.KERNELS) - serial if parallel - serial else frozenset()


def _judge(ir: IR, parallel: set[str], serial: set[str]) -> None:
    definitions = {op.result: op for op in ir.ops()}
    forest = loop_forest(ir)
    for loop in forest:
        ops = [op for n in sorted(loop.blocks) if forest.innermost(n) is loop
               for op in ir.blocks[n].ops]  # fmt: skip
        calls = {op: name for op in ops if (name := elementary(op))}
        if not calls:
            continue
        waiting = recurrent(ir, loop, definitions)
        counted = not loop.children and is_counted(ir, loop, definitions)
        smooth = not any(can_stop(op, definitions) for op in ops)
        for op, name in calls.items():
            if op.result in waiting or not (smooth or vmath.is_short(name)):
                serial.add(name)
            elif counted:
                parallel.add(name)


def can_stop(op: Op, definitions: dict[Value, Op]) -> bool:
    """Whether the operation calls who knows what, or can leave the loop in an iteration that cannot
    be told beforehand."""
    callee = op.callee
    if op.is_call(prims.index):
        return not is_affine(op.posargs[0], definitions)
    return hasattr(callee, "flat") or (callee in PRIMITIVES and PRIMITIVES[callee].fails)


def is_affine(x: Operand, definitions: dict[Value, Op]) -> bool:
    """Whether an integer is made of others, not of what is in memory, so that LLVM knows how it
    goes from iteration to iteration."""
    op = definitions.get(x) if isinstance(x, Value) else None
    if op is None or op.is_call(prims.dim):
        return True
    made = op.is_call(operator.add, operator.sub, operator.mul, operator.neg, prims.index)
    return made and all(is_affine(y, definitions) for y in op.posargs)


def is_counted(ir: IR, loop: Loop, definitions: dict[Value, Op]) -> bool:
    """Whether the loop has one exit, and integers decide on it."""
    if len(loop.exits) != 1:
        return False
    term = ir.blocks[loop.exits[0][0]].term
    if not isinstance(term, Branch) or not isinstance(term.cond, Value):
        return False
    test = definitions.get(term.cond)
    return test is not None and test.callee in COMPARISONS and all(map(is_integer, test.posargs))


def is_integer(x: Operand) -> bool:
    if isinstance(x, Const):
        return type(x.value) is int
    return isinstance(x, Value) and isinstance(x.type, types.Integer)


# -- what waits for itself -------------------------------------------------------------------------
def recurrent(ir: IR, loop: Loop, definitions: dict[Value, Op]) -> set[Value]:
    """The values in the loop that depend on their own in an earlier iteration. In a loop around
    others, by way of memory is not seen."""
    feeds: dict[Value, list[Operand]] = {}
    for n in loop.blocks:
        for op in ir.blocks[n].ops:
            feeds[op.result] = list(op.args)
        for edge in ir.blocks[n].edges:
            if edge.target in loop:
                for p, x in zip(ir.blocks[edge.target].params, edge.args):
                    feeds.setdefault(p, []).append(x)
    if not loop.children:
        for load, stored in through_memory(ir, loop, definitions, feeds.__contains__):
            feeds[load].append(stored)
    groups = components(feeds, list(feeds))
    return {v for group in groups if len(group) > 1 or group[0] in feeds[group[0]] for v in group}


def through_memory(
    ir: IR, loop: Loop, definitions: dict[Value, Op], inside: Callable[[Any], bool]
) -> Iterator[tuple[Value, Operand]]:
    """Each load with what is stored into the same array, unless both are at one place that moves on
    from iteration to iteration."""
    ops = [op for n in sorted(loop.blocks) for op in ir.blocks[n].ops]
    stores = [op for op in ops if op.is_call(prims.store)]
    for load in ops:
        if load.is_call(prims.load):
            x, *place = load.posargs
            for store in stores:
                y, value, *target = store.posargs
                if root(x, definitions) is root(y, definitions):
                    same = x is y and list(map(key, place)) == list(map(key, target))
                    if not same or not any(isinstance(k, Value) and inside(k) for k in place):
                        yield load.result, value


def root(x: Operand, definitions: dict[Value, Op]) -> Operand:
    """The array that a view is of."""
    while isinstance(x, Value) and x in definitions and definitions[x].callee in VIEWS:
        x = definitions[x].posargs[0]
    return x


def key(x: Operand) -> Any:
    return x.value if isinstance(x, Const) else x
