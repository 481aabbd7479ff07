"""Scalars instead of elements of arrays: what was stored is not loaded again, and an array that
nobody loads from is not made at all.
"""

from __future__ import annotations

from ...ir.core import CALL, IR, Op, Operand, Value
from ...ir.dominators import dominators
from ...passes import effects
from ...passes.roots import Roots
from ...runtime import prims


def forward_stores(ir: IR, *, stored: bool = True) -> None:
    """Within a block, a load of what was just stored is the stored value (unless ``stored`` is
    false), and a second load of what was not changed is the first."""
    roots = Roots(ir)
    gone: dict[Value, Operand] = {}
    for block in ir:
        known: dict[tuple[Operand, ...], Operand] = {}
        kept = []
        for op in block.ops:
            if op.is_call(prims.load):
                found = known.get(_place(op, gone))
                if found is not None:
                    gone[op.result] = found
                    continue
                known[_place(op, gone)] = op.result
            elif op.is_call(prims.store):
                written = roots[op.args[1]]
                known = {k: v for k, v in known.items() if not roots[k[0]] & written}
                v, x = op.args[2], op.args[1]
                if (
                    stored
                    and isinstance(v, Value)
                    and isinstance(x, Value)
                    and v.type == x.type.dtype
                ):
                    known[_place(op, gone)] = v
            elif op.kind != CALL or effects.effects(op) & effects.WRITE:
                known = {}
            kept.append(op)
        block.ops = kept
    ir.substitute(gone)


def _place(op: Op, gone: dict[Value, Operand]) -> tuple[Operand, ...]:
    def now(x: Operand) -> Operand:
        while isinstance(x, Value) and x in gone:
            x = gone[x]
        return x

    indices = op.args[2:] if op.is_call(prims.load) else op.args[3:]
    return tuple(now(x) for x in (op.args[1], *indices))


def drop_dead_arrays(ir: IR) -> None:
    """Remove arrays that are only stored to, with the stores."""
    made = {op.result for op in ir.ops() if op.callee in (prims.empty, prims.zeros)}
    used: set[Operand] = set()
    for block in ir:
        for op in block.ops:
            stored = op.is_call(prims.store)
            used.update(a for k, a in enumerate(op.args) if not (stored and k == 1))
        used.update(block.term.operands)
        for edge in block.edges:
            used.update(edge.args)
    dead = made - used
    for block in ir:
        block.ops = [
            op
            for op in block.ops
            if op.result not in dead and not (op.is_call(prims.store) and op.args[1] in dead)
        ]


def forward_single_stores(ir: IR) -> None:
    """A load that comes behind the only store to an array, with the same subscripts, is the stored
    value: for if the store dominates the load, it has run since the subscripts were computed."""
    stores = _only_stores(ir)
    if not stores:
        return
    tree = dominators(ir)
    home = {op: b.id for b in ir for op in b.ops if op in stores.values()}
    gone: dict[Value, Operand] = {}
    for block in ir:
        kept: list[Op] = []
        for op in block.ops:
            store = stores.get(op.args[1]) if op.is_call(prims.load) else None  # type: ignore[arg-type]
            if (
                store is not None
                and _place(store, gone) == _place(op, gone)
                and (store in kept or tree.strictly_dominates(home[store], block.id))
            ):
                gone[op.result] = store.args[2]
            else:
                kept.append(op)
        block.ops = kept
    ir.substitute(gone)


def _only_stores(ir: IR) -> dict[Value, Op]:
    """For each local array that is written to by one store alone, of its own type, that store."""
    made = {op.result for op in ir.ops() if op.is_call(prims.empty, prims.zeros)}
    stores: dict[Value, list[Op]] = {x: [] for x in made}
    for block in ir:
        for op in block.ops:
            if op.is_call(prims.store) and op.args[1] in stores:
                stores[op.args[1]].append(op)  # type: ignore[index]
            harmless = op.is_call(prims.load, prims.store, prims.dim)
            for k, x in enumerate(op.args):
                if x in made and not (harmless and k == 1):
                    stores.pop(x, None)  # type: ignore[arg-type]
        for x in (*block.term.operands, *(a for e in block.edges for a in e.args)):
            stores.pop(x, None)  # type: ignore[arg-type]
    return {
        x: found[0]
        for x, found in stores.items()
        if len(found) == 1 and getattr(found[0].args[2], "type", None) == x.type.dtype
    }
