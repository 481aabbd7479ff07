"""What is taken from a cotangent and given back unchanged stays where it is.

The reverse of a store takes the cotangent of the element: it is read and set to zero. The reverse
of a load adds to it. So ``x[i] += v``, which loads and stores one element, takes its cotangent,
sets it to zero, and adds it to zero again. If nothing else can have met the element in between,
reading it is all that is to be done.

Within a block, and in the reverse half, where the sign of a zero means nothing: what was stored is
not loaded again, what is overwritten before anybody has seen it is not stored, nor is what the
element holds anyway.
"""

from __future__ import annotations

from ...ir.core import CALL, IR, Block, Const, Op, Operand, Value
from ...ir.edit import use_counts
from ...passes import effects
from ...passes.roots import Roots
from ...runtime import prims
from .. import kinds
from .dependence import subscripts
from .distinct import Distinct
from .line import behind_cut
from .promote import Place, additions_of

TAPE = (prims.peek, prims.poke, prims.record, prims.unrecord)


def give_back(ir: IR) -> bool:
    """Do so in all blocks of the reverse half; whether anything changed."""
    before = sum(len(b.ops) for b in ir)
    if any(map(_stores_again, ir)):
        behind, memory = behind_cut(ir), Memory(ir)
        for block in ir:
            if not behind(block.id):
                continue
            memory.block = block
            memory.forward()
            memory.drop_overwritten()
            memory.drop_unchanged()
        ir.substitute(memory.gone)
    return sum(len(b.ops) for b in ir) != before


def _stores_again(block: Block) -> bool:
    """Whether the block stores twice to one place."""
    places = [_place(op) for op in block.ops if op.is_call(prims.store)]
    return len(set(places)) < len(places)


class Memory:
    """What is known of the elements that one ``block`` touches."""

    block: Block

    def __init__(self, ir: IR) -> None:
        self.roots, self.distinct, self.uses = Roots(ir), Distinct(ir), use_counts(ir)
        self.gone: dict[Value, Operand] = {}

    def forward(self) -> None:
        """What was loaded or stored is not loaded again; a sum with the zero that was stored is
        the other term. Other sums stay as they are, for `gather` and `promote`."""
        sums = {a.add: a.load for a in additions_of(self.block, self.uses)}
        added_to = set(sums.values())
        known: dict[Place, Operand] = {}
        kept = []
        for op in self.block.ops:
            load = sums.get(op)
            if load is not None and _is_zero(self.gone.get(load.result)):
                other = next(x for x in op.args[1:] if x is not load.result)
                self.gone[op.result] = self.gone.get(other, other)  # type: ignore[arg-type]
                continue
            op.replace(self.gone)
            if op.is_call(prims.load):
                found = known.get(_place(op))
                if found is not None and (op not in added_to or _is_zero(found)):
                    self.gone[op.result] = found
                    continue
                known[_place(op)] = op.result
            elif op.is_call(prims.store):
                known = self.untouched(known, _place(op))
                if _keeps_type(op):
                    known[_place(op)] = op.args[2]
            elif not _harmless(op):
                known = {}
            kept.append(op)
        self.block.ops = kept

    def drop_overwritten(self) -> None:
        later: dict[Place, Operand] = {}
        kept = []
        for op in reversed(self.block.ops):
            if op.is_call(prims.load):
                later = self.untouched(later, _place(op))
                later.pop(_place(op), None)
            elif op.is_call(prims.store):
                if _place(op) in later:
                    continue
                later[_place(op)] = op.args[2]
            elif not _harmless(op):
                later = {}
            kept.append(op)
        self.block.ops = kept[::-1]

    def drop_unchanged(self) -> None:
        held: dict[Place, Operand] = {}
        kept = []
        for op in self.block.ops:
            if op.is_call(prims.load):
                held.setdefault(_place(op), op.result)
            elif op.is_call(prims.store):
                if held.get(_place(op)) is op.args[2]:
                    continue
                held = self.untouched(held, _place(op))
                held[_place(op)] = op.args[2]
            elif not _harmless(op):
                held = {}
            kept.append(op)
        self.block.ops = kept

    def untouched(self, places: dict[Place, Operand], by: Place) -> dict[Place, Operand]:
        """Those of the places that are another element for certain, or the very same."""
        return {p: x for p, x in places.items() if p == by or not self._may_meet(p, by)}

    def _may_meet(self, p: Place, q: Place) -> bool:
        (x, *i), (y, *j) = p, q
        if not self.roots[x] & self.roots[y]:
            return False
        return x is not y or not self.distinct.never(i, j, self.block.id)


def _place(op: Op) -> Place:
    return op.args[1], *subscripts(op)


def _harmless(op: Op) -> bool:
    """Whether the operation does nothing with arrays, and goes on for certain."""
    if op.kind != CALL:
        return False
    return op.is_call(*TAPE) or effects.pure(op)


def _is_zero(x: Operand | None) -> bool:
    return isinstance(x, Const) and bool(x.value == 0)


def _keeps_type(store: Op) -> bool:
    """Whether a load gives back the operand that is stored."""
    x, v = store.args[1:3]
    element = x.type.dtype  # type: ignore[union-attr]
    if isinstance(v, Const):
        return kinds.is_scalar(element) and type(v.value) is type(kinds.zero(element))
    return isinstance(v, Value) and bool(v.type == element)
