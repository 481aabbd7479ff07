"""Values -> local slots.

Walking the dominator tree, a value takes a slot that no live value holds. The values of one user
variable share the slot of its name (``x``, then ``x.1`` if two of them are live at once), so that
copies on edges vanish; a value without a name takes a slot of its own, ``%1``. Slots of different
names are never shared: for Numba a slot is a variable with one type, and in tracebacks and messages
it is the user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..errors import InvalidIR
from ..ir import intrinsics
from ..ir.core import (
    FREECELL,
    IR,
    NEWCELL,
    SLOTGET,
    SLOTSET,
    Block,
    Const,
    Op,
    Operand,
    Slot,
    Value,
)
from ..ir.dominators import dominators
from ..ir.liveness import liveness, values
from ..ir.unbound import may_be_unbound


class Slots:
    """``of`` maps each value that has one to its slot, ``names`` are the slots' names, ``ends``
    says where values die. ``held``: values that live in no slot (on the stack, parts of an
    unpacking)."""

    def __init__(self, ir: IR, held: set[Value]) -> None:
        self.ir, self.held = ir, held
        self.live = liveness(ir)
        self.names: list[str] = argument_names(ir)
        self.of: dict[Value, int] = {}
        self.ends: dict[int, Ends] = {}
        self.cells: set[int] = set()
        self._index: dict[str, int] = {n: i for i, n in enumerate(self.names)}
        self._families: dict[str, list[int]] = {}
        self._fresh = 0
        self._free: dict[Value, str] = {}
        self.unbound = may_be_unbound(ir)
        self.checked = checked_names(ir)
        self._reserved: set[int] = set()  # the locals of slots
        self._mutable = self._place_mutable()
        for i, p in enumerate(ir.entry.params):
            self.of[p] = i
        for id in dominators(ir).order:
            self._block(ir.blocks[id])

    def mutable(self, slot: Slot) -> int:
        """The local for a slot of the IR."""
        return self._mutable[slot]

    def _place_mutable(self) -> dict[Slot, int]:
        """A variable that lives in a slot has the local of its name, also if it is an argument:
        then the slot gets it first of all, and nothing else reads the argument."""
        found: dict[Slot, int] = {}
        for op in self.ir.ops():
            if op.kind in (SLOTGET, SLOTSET) and op.attr not in found:
                name = op.attr.name
                if op.attr.type is not None or not name.isidentifier():
                    name = f"~{name}"
                taken = name in self._index and not self._only_fills(name, op)
                n = 0
                while taken or self._slot(name) in found.values():
                    n, taken = n + 1, False
                    name = f"{name.partition('.')[0]}.{n}"
                found[op.attr] = self._slot(name)
                self._reserved.add(found[op.attr])
        return found

    def _only_fills(self, name: str, op: Op) -> bool:
        """Whether the argument is used by the operation alone, which fills a slot with it at the
        start."""
        arg = self.ir.entry.params[self._index[name]]
        uses = sum(x is arg for o in self.ir.ops() for x in o.args)
        uses += sum(x is arg for b in self.ir for x in _ends(b))
        return uses == 1 and op.args == (arg,) and op in self.ir.entry.ops

    def place_free_cells(self) -> None:
        """The slots of free variables come after all others: call this when these are known."""
        base = {n: len(self.names) + i for i, n in enumerate(self.ir.info.freevars)}
        self.of.update((v, base[name]) for v, name in self._free.items())

    # -- the walk ---------------------------------------------------------------------------------
    def _block(self, block: Block) -> None:
        ends = self.ends[block.id] = last_uses(block, self.live.out[block.id])
        taken = {self.of[v] for v in self.live.into[block.id] if v in self.of}
        for p in block.params:
            if block is self.ir.entry:
                taken.add(self.of[p])
            else:
                self._give(p, taken)
        self._release(ends.unused_params, taken)
        for op, dying, unused in zip(block.ops, ends.dying, ends.unused):
            self._release(dying, taken)
            if op.kind == FREECELL:
                self._free[op.result] = op.attr
            elif op.kind == NEWCELL and op.result.name is None and op.attr not in self._index:
                self._give(op.result, taken, self._slot(op.attr))  # the closure sees the name
                self.cells.add(self.of[op.result])
            elif op.result not in self.held:
                self._give(op.result, taken, self._inherited(op, dying))
                if op.kind == NEWCELL:
                    self.cells.add(self.of[op.result])
            if unused:
                self._release([op.result], taken)

    def _release(self, vs: list[Value], taken: set[int]) -> None:
        for v in vs:
            taken.discard(self.of.get(v, -1))

    def _inherited(self, op: Op, dying: list[Value]) -> int | None:
        """A checked value, and one that moves into a cell, stays where it is."""
        if op.kind == NEWCELL or op.is_call(intrinsics.check_bound):
            x = op.args[0 if op.kind == NEWCELL else 1]
            if isinstance(x, Value) and x in dying and x.name == op.result.name:
                return self.of.get(x)
        return None

    # -- choosing ---------------------------------------------------------------------------------
    def _give(self, v: Value, taken: set[int], inherited: int | None = None) -> None:
        slot = inherited if inherited is not None else self._choose(v, taken)
        self.of[v] = slot
        taken.add(slot)

    def _choose(self, v: Value, taken: set[int]) -> int:
        """The first free slot of the name. Where reads of a name are checked, its plain slot is for
        the values that may be unbound: the message of the error shows the slot's name."""
        if v.name is None:
            self._fresh += 1
            return self._slot(f"%{self._fresh}")
        family = self._families.setdefault(v.name, [])
        n = 1 if v.name in self.checked and v not in self.unbound else 0
        while True:
            while n >= len(family):
                i = len(family)
                family.append(self._slot(f"{v.name}.{i}" if i else v.name))
            if family[n] not in taken and family[n] not in self._reserved:
                return family[n]
            n += 1

    def _slot(self, name: str) -> int:
        if name not in self._index:
            self._index[name] = len(self.names)
            self.names.append(name)
        return self._index[name]


def _ends(block: Block) -> Iterator[Operand]:
    yield from block.term.operands
    for e in block.term.edges:
        yield from e.args


def argument_names(ir: IR) -> list[str]:
    """Those of the signature, or names made up for a function that is described without any."""
    names, params = list(ir.info.argnames), ir.entry.params
    if not names:
        names = [f"{p.name or 'a'}.{i}" for i, p in enumerate(params)]
    if len(names) != len(params):
        what = f"{len(params)} entry parameters for {len(names)} arguments"
        raise InvalidIR(f"{ir.info.qualname}: {what}")
    return names


class Ends(NamedTuple):
    """Where values are used for the last time in a block: for each operation the operands that die
    there, and whether its result is never used; and the parameters that are never used."""

    dying: list[list[Value]]
    unused: list[bool]
    unused_params: list[Value]


def last_uses(block: Block, live_out: set[Value]) -> Ends:
    live = live_out | set(values(block.term.operands))
    dying, unused = [], []
    for op in reversed(block.ops):
        unused.append(op.result not in live)
        live.discard(op.result)
        last = [v for v in dict.fromkeys(values(op.args)) if v not in live]
        live.update(last)
        dying.append(last)
    return Ends(dying[::-1], unused[::-1], [p for p in block.params if p not in live])


def checked_names(ir: IR) -> set[str]:
    """The names whose reads are checked."""
    return {
        op.args[2].value
        for op in ir.ops()
        if op.is_call(intrinsics.check_bound) and isinstance(op.args[2], Const)
    }
