"""Which calls in loops do not wait for one another.

A call in an innermost counted loop that does not, over the iterations, depend on its own result
can be made for several iterations at once: by vector instructions, or else overlapping, and it
counts how many are done in a time. Elsewhere it counts how long one takes. Elementary functions
have an implementation for each (`runtime.vmath`, and the C library's).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from numba import types

from ..ir.core import IR, Branch, Const, Op, Operand, Value
from ..ir.loops import Loop, loop_forest
from ..passes.copy_prop import components
from ..runtime import prims
from ..runtime.native_core import PRIMITIVES, VIEWS

COMPARISONS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


def parallel_calls(ir: IR, wanted: Callable[[Op], bool]) -> dict[Op, bool]:
    """The calls among those ``wanted`` that do not wait for one another; each with whether nothing
    else in the loop keeps it from being vectorised, as far as can be seen here."""
    if not any(map(wanted, ir.ops())):
        return {}
    found: dict[Op, bool] = {}
    definitions = {op.result: op for op in ir.ops()}
    for loop in loop_forest(ir):
        ops = [op for n in sorted(loop.blocks) for op in ir.blocks[n].ops]
        calls = [op for op in ops if wanted(op)]
        if calls and not loop.children and is_counted(ir, loop, definitions):
            smooth = not any(can_stop(op, definitions) for op in ops)
            waiting = recurrent(ir, loop, definitions)
            found.update((op, smooth) for op in calls if op.result not in waiting)
    return found


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


def recurrent(ir: IR, loop: Loop, definitions: dict[Value, Op]) -> set[Value]:
    """The values in the loop that depend on their own in an earlier iteration."""
    feeds: dict[Value, list[Operand]] = {}
    for n in loop.blocks:
        for op in ir.blocks[n].ops:
            feeds[op.result] = list(op.args)
        for edge in ir.blocks[n].edges:
            if edge.target in loop:
                for p, x in zip(ir.blocks[edge.target].params, edge.args, strict=True):
                    feeds.setdefault(p, []).append(x)
    for load, stored in through_memory(ir, loop, definitions):
        feeds[load].append(stored)
    groups = components(feeds, list(feeds))
    return {v for group in groups if len(group) > 1 or group[0] in feeds[group[0]] for v in group}


def through_memory(
    ir: IR, loop: Loop, definitions: dict[Value, Op]
) -> Iterator[tuple[Value, Operand]]:
    """Each load with what is stored into the same array, at another place than the load reads in
    the same iteration."""
    ops = [op for n in loop.blocks for op in ir.blocks[n].ops]
    stores = [op for op in ops if op.is_call(prims.store)]
    for load in ops:
        if load.is_call(prims.load):
            x, *place = load.posargs
            for store in stores:
                y, value, *target = store.posargs
                same = root(x, definitions) is root(y, definitions)
                if same and (x is not y or list(map(key, place)) != list(map(key, target))):
                    yield load.result, value


def root(x: Operand, definitions: dict[Value, Op]) -> Operand:
    """The array that a view is of."""
    while isinstance(x, Value) and x in definitions and definitions[x].callee in VIEWS:
        x = definitions[x].posargs[0]
    return x


def key(x: Operand) -> Any:
    return x.value if isinstance(x, Const) else x
