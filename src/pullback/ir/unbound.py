"""Locals that may be unbound: where, and which reads of them need a check.

A name that is not bound on a path is the operand `Undef`; ``check_bound(x, "x")`` is the read of a
local that may be unbound.
"""

from __future__ import annotations

from . import intrinsics
from .core import (
    CALL,
    IR,
    SLOTGET,
    SLOTSET,
    Block,
    Const,
    Op,
    Operand,
    Raise,
    Slot,
    Undef,
    Value,
)
from .dominators import dominators, executed_before
from .edit import implicit, use_counts


def param_arguments(ir: IR) -> dict[Value, list[Operand]]:
    """What each parameter that edges supply receives."""
    args: dict[Value, list[Operand]] = {}
    for b in ir:
        for e in b.term.edges:
            for p, x in zip(ir.blocks[e.target].params[implicit(b.term, e) :], e.args):
                args.setdefault(p, []).append(x)
    return args


def may_be_unbound(ir: IR) -> set[Value]:
    """The parameters that an unbound name may reach."""
    flows: dict[Value, list[Value]] = {}
    work: list[Value] = []
    for p, xs in param_arguments(ir).items():
        for x in xs:
            if isinstance(x, Undef):
                work.append(p)
            elif isinstance(x, Value):
                flows.setdefault(x, []).append(p)
    unbound: set[Value] = set()
    while work:
        p = work.pop()
        if p not in unbound:
            unbound.add(p)
            work += flows.get(p, ())
    return unbound


def resolve_checks(ir: IR) -> bool:
    """Remove the checks of what is bound; raise where a name is unbound for certain. Returns
    whether the flow changed."""
    if not any(op.is_call(intrinsics.check_bound) for op in ir.ops()):
        return False
    use_checked(ir)
    unbound = may_be_unbound(ir)
    mapping: dict[Value, Operand] = {}
    changed = False
    for b in ir:
        for i, op in enumerate(b.ops):
            if not op.is_call(intrinsics.check_bound):
                continue
            x = op.args[1]
            if isinstance(x, Undef):
                _raise_unbound(ir, b, i)
                changed = True
                break
            if not (isinstance(x, Value) and x in unbound):
                mapping[op.result] = x
    if mapping:
        for b in ir:
            b.ops = [op for op in b.ops if op.result not in mapping]
        ir.substitute(mapping)
    return changed or bool(mapping)


def use_checked(ir: IR) -> None:
    """Where a check has been passed, name the checked value."""
    if not any(op.is_call(intrinsics.check_bound) for op in ir.ops()):
        return
    tree, before = dominators(ir), executed_before(ir)
    for b in [ir.blocks[n] for n in tree.preorder()]:
        for i, op in enumerate(b.ops):
            x = op.args[1] if op.is_call(intrinsics.check_bound) else None
            if not isinstance(x, Value):
                continue

            def checked(a: Operand, x: Value = x, y: Value = op.result) -> Operand:
                return y if a is x else a

            for later in b.ops[i + 1 :]:
                later.map(checked)
            below = [d for d in ir if d is not b and before(b.id, d.id)]
            for d in below:
                for later in d.ops:
                    later.map(checked)
            for d in (b, *below):
                d.term.map(checked)


def _raise_unbound(ir: IR, block: Block, i: int) -> None:
    """Replace the check at i, and all after it, by what CPython does there."""
    check = block.ops[i]
    name = check.args[2]
    assert isinstance(name, Const)
    text = f"cannot access local variable '{name.value}' where it is not associated with a value"
    exc = ir.value()
    call = Op(CALL, exc, (Const(UnboundLocalError), Const(text)), None, check.loc)
    block.ops[i:] = [call]
    block.term = Raise(exc, None, check.loc)


# -- slots -----------------------------------------------------------------------------------------
def may_be_empty(ir: IR) -> set[Op]:
    """The operations on slots that may find theirs empty."""
    ops = [op for op in ir.ops() if op.kind in (SLOTGET, SLOTSET)]
    if not ops:
        return set()
    every = frozenset(op.attr for op in ops)
    full: dict[int, frozenset[Slot]] = {b: every for b in ir.blocks}
    full[ir.entry.id] = frozenset()
    work = list(ir.blocks)
    while work:
        b = ir.blocks[work.pop(0)]
        out = _filled(b, full[b.id], None)
        ways = [(s, out) for s in b.successors]
        if b.handler is not None:
            ways.append((b.handler, full[b.id] - _emptied(b)))
        for target, state in ways:
            if not full[target] <= state:
                full[target] &= state
                work.append(target)
    found: set[Op] = set()
    for b in ir:
        _filled(b, full[b.id], found)
    return found


def _filled(block: Block, full: frozenset[Slot], found: set[Op] | None) -> frozenset[Slot]:
    """The slots that are full for certain at the end; ``found`` gets the operations on others."""
    for op in block.ops:
        if op.kind not in (SLOTGET, SLOTSET):
            continue
        if found is not None and op.attr not in full:
            found.add(op)
        full = full - {op.attr} if _empties(op) else full | {op.attr}
    return full


def _emptied(block: Block) -> frozenset[Slot]:
    return frozenset(op.attr for op in block.ops if _empties(op))


def _empties(op: Op) -> bool:
    return op.kind == SLOTSET and isinstance(op.args[0], Undef)


def drop_idle_slots(ir: IR) -> None:
    """Remove reads of full slots whose result is not used, and writes right before the slot is
    emptied."""
    if not any(op.kind == SLOTGET or _empties(op) for op in ir.ops()):
        return
    while _drop_idle_slots(ir):
        pass


def _drop_idle_slots(ir: IR) -> bool:
    before = len(ir)
    empty, uses = may_be_empty(ir), use_counts(ir)
    for b in ir:
        kept: list[Op] = []
        for op in b.ops:
            if op.kind == SLOTGET and op not in empty and not uses.get(op.result):
                continue
            if _empties(op) and kept and kept[-1].kind == SLOTSET and kept[-1].attr is op.attr:
                kept.pop()
            kept.append(op)
        b.ops = kept
    return len(ir) < before
