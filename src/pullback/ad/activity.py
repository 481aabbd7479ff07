"""Activity: which values a derivative flows through.

*Varied*: depends on an argument selected for differentiation. *Useful*: something that is
differentiated depends on it. Active is both. Over SSA values, slots, and memory by root (flow
insensitive: a root is varied if anything varied is ever stored in it).

An array whose root is active has a shadow. If one value may be any of several roots and one of
them is active, all have shadows: a reversed access must find one whichever it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.core import CALL, IR, SLOTGET, SLOTSET, Op, Operand, Return, Slot, Value
from ..passes.roots import CELLS, Root, Roots, _edges, is_view
from ..rules import registry
from ..runtime import prims
from ..typing_.specialised import is_outlined
from .calls import tapes_of
from .kinds import carries, is_active_array, is_array, is_scalar

Node = Value | Slot | tuple[str, Root]


def memory(root: Root) -> tuple[str, Root]:
    """The node that stands for what is stored under a root."""
    return ("memory", root)


class Activity:
    """``values``: the active scalars; ``shadowed``: the roots that have a shadow."""

    def __init__(
        self,
        ir: IR,
        roots: Roots,
        active_args: Iterable[Value],
        *,
        useful_results: Iterable[bool] | None = None,
        useful_args: Iterable[Value] = (),
        half: bool = False,
    ) -> None:
        self.ir, self.roots = ir, roots
        flows: dict[Node, set[Node]] = {}
        for source, target in _flows(ir, roots):
            flows.setdefault(source, set()).add(target)
        seeds: set[Node] = set()
        for a in active_args:
            seeds.add(memory(a) if is_active_array(a.type) else a)
        shared = _on_tape(ir, roots) if half else set()
        self.varied = _reach(flows, seeds | shared)
        back: dict[Node, set[Node]] = {}
        for source, targets in flows.items():
            for t in targets:
                back.setdefault(t, set()).add(source)
        ends: set[Node] = shared | {memory(a) for a in useful_args}
        for v in _results(ir, useful_results):
            if is_active_array(v.type):
                ends.update(memory(r) for r in roots[v])
            else:
                ends.add(v)
        self.useful = _reach(back, ends)
        both = self.varied & self.useful
        self.values = {n for n in both if isinstance(n, Value) and is_scalar(n.type)}
        self.slots = {n for n in both if isinstance(n, Slot) and is_scalar(n.type)}
        self.shadowed = _close({n[1] for n in both if isinstance(n, tuple)}, roots)

    def active(self, x: Operand) -> bool:
        """Whether a derivative flows through the operand."""
        if not isinstance(x, Value):
            return False
        if is_active_array(x.type):
            return self.has_shadow(x)
        return x in self.values

    def has_shadow(self, x: Operand) -> bool:
        return (
            isinstance(x, Value)
            and is_active_array(x.type)
            and any(r in self.shadowed for r in self.roots[x])
        )


def _on_tape(ir: IR, roots: Roots) -> set[Node]:
    """What one half of a pair and the other both know: all that is on the tape."""
    arrays = set(roots.slots.get(CELLS, frozenset()))
    arrays.update(*(roots[op.result] for op in ir.ops() if op.is_call(prims.peek)))
    return {CELLS, *map(memory, arrays)}


def _close(shadowed: set[Root], roots: Roots) -> frozenset[Root]:
    groups = {g for g in roots.of.values() if len(g) > 1} | set(roots.slots.values())
    changed = True
    while changed:
        changed = False
        for g in groups:
            if g & shadowed and not g <= shadowed:
                shadowed |= g
                changed = True
    return frozenset(shadowed)


def _results(ir: IR, useful: Iterable[bool] | None) -> list[Value]:
    """The values that ``prims.pack`` returns, those that count."""
    out: list[Value] = []
    for b in ir:
        if isinstance(b.term, Return):
            parts = returned(ir, b.id)
            flags = [True] * len(parts) if useful is None else list(useful)
            out += [p for p, u in zip(parts, flags) if u and isinstance(p, Value)]
    return out


def returned(ir: IR, block: int) -> tuple[Operand, ...]:
    """The operands that the Return of ``block`` packs."""
    b = ir.blocks[block]
    assert isinstance(b.term, Return)
    value = b.term.value
    for op in reversed(b.ops):
        if op.result is value and op.is_call(prims.pack):
            return op.posargs
    raise ValueError("a flat function returns prims.pack(...)")


def flowing(op: Op) -> tuple[int, ...]:
    """Positions (of posargs) from which a derivative flows into the scalar result of a call."""
    rule = registry.scalar(op.callee)
    if rule is None:
        return ()
    return tuple(i for i, p in enumerate(rule.partials) if p is not None or has_wirtinger(rule, i))


def has_wirtinger(rule: registry.ScalarRule, i: int) -> bool:
    return rule.wirtinger is not None and any(p is not None for p in rule.wirtinger[i])


def _flows(ir: IR, roots: Roots):
    for block in ir:
        for op in block.ops:
            yield from _op_flows(op, roots)
        for args, params in _edges(ir, block.id):
            for p, a in zip(params, args):
                if isinstance(a, Value) and is_scalar(p.type):
                    yield a, p


def _op_flows(op: Op, roots: Roots):
    if op.kind == SLOTSET and isinstance(op.args[0], Value) and is_scalar(op.args[0].type):
        yield op.args[0], op.attr
    elif op.kind == SLOTGET and is_scalar(op.result.type):
        yield op.attr, op.result
    elif op.kind != CALL:
        return
    elif op.is_call(prims.load):
        for r in roots[op.args[1]]:
            if carries(op.result.type):
                yield memory(r), op.result
    elif op.is_call(prims.store):
        if isinstance(op.args[2], Value) and is_scalar(op.args[2].type):
            for r in roots[op.args[1]]:
                yield op.args[2], memory(r)
    elif op.is_call(prims.overlap_copy):
        for r in roots[op.args[1]]:
            yield memory(r), memory(op.result)
    elif op.is_call(prims.poke):
        if isinstance(op.args[3], Value) and is_scalar(op.args[3].type):
            yield op.args[3], CELLS
    elif op.is_call(prims.peek):
        if is_scalar(op.result.type):
            yield CELLS, op.result
    elif op.is_call(prims.assign, prims.accumulate):
        for source in roots[op.args[2]]:
            for target in roots[op.args[1]]:
                yield memory(source), memory(target)
    elif op.is_call(prims.own, prims.heap_own, prims.contiguous):
        for r in roots[op.args[-1]]:
            yield memory(r), memory(op.result)
    elif is_view(op) or registry.is_inactive(op.callee) or op.callee in ALLOCATIONS:
        return
    elif registry.scalar(op.callee) is not None and is_scalar(op.result.type):
        args = op.posargs
        for i in flowing(op):
            a = args[i] if i < len(args) else None
            if isinstance(a, Value) and is_scalar(a.type):
                yield a, op.result
    elif is_outlined(op):
        yield from _everything(op, roots, writes=True, tape=bool(tapes_of(op.callee)))
    else:  # a leaf with an array rule, or one without any rule: an error if it turns out active
        yield from _everything(op, roots, writes=False)


ALLOCATIONS = (
    prims.empty,
    prims.zeros,
    prims.heap_empty,
    prims.heap_zeros,
    prims.heap_zeros_like,
    prims.same_layout_zeros,
    prims.null,
    prims.pack,
)


def _everything(op: Op, roots: Roots, writes: bool, tape: bool = False):
    """From every operand to every result, and to the memory of array operands if it ``writes``;
    from and to the ``tape`` if it has one."""
    starts: list[Node] = [CELLS] if tape else []
    for a in op.posargs:
        if isinstance(a, Value):
            starts += [memory(r) for r in roots[a]] if is_array(a.type) else [a]
    ends: list[Node] = [op.result, *starts[:tape]]
    ends += [memory(r) for r in roots[op.result]]
    if writes:
        ends += [n for n in starts if isinstance(n, tuple)]
    for s in starts:
        for e in ends:
            yield s, e


def _reach(flows: dict[Node, set[Node]], seeds: set[Node]) -> set[Node]:
    seen, stack = set(seeds), list(seeds)
    while stack:
        for n in flows.get(stack.pop(), ()):
            if n not in seen:
                seen.add(n)
                stack.append(n)
    return seen
