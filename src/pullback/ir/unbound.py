"""Locals that may be unbound: where, and which reads of them need a check.

A name that is not bound on a path is the operand `Undef`; ``check_bound(x, "x")`` is the read of a
local that may be unbound.
"""

from __future__ import annotations

from . import intrinsics
from .core import CALL, IR, Block, Const, Op, Operand, Raise, Undef, Value
from .dominators import dominators
from .edit import implicit


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
    tree = dominators(ir)
    for b in [ir.blocks[n] for n in tree.preorder()]:
        for i, op in enumerate(b.ops):
            x = op.args[1] if op.is_call(intrinsics.check_bound) else None
            if not isinstance(x, Value):
                continue

            def checked(a: Operand, x: Value = x, y: Value = op.result) -> Operand:
                return y if a is x else a

            for later in b.ops[i + 1 :]:
                later.map(checked)
            below = [d for d in ir if tree.strictly_dominates(b.id, d.id)]
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
