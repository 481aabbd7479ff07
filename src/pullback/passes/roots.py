"""Which allocation an array value may be: its roots.

A root is an argument array or an allocation site. An array value is (root, view path); views and
block parameters pass roots on. Arguments are distinct roots: the wrapper refuses overlapping
arguments of which one is written (see ``docs/semantics.md``).
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Mapping

from ..ir.core import CALL, IR, SLOTGET, SLOTSET, ForIter, Op, Operand, Slot, Value
from ..runtime import prims
from ..typing_.lattice import is_array
from ..typing_.specialised import is_outlined

#: what array handles on the tape may be: any that were put there
CELLS = Slot("cells")

#: operations whose array result is the memory of their first operand
VIEWS = (prims.subview, prims.transpose, prims.reshape, prims.real_view, prims.imag_view)

#: operations that make an array, and nothing but the array
MAKERS = (
    prims.empty,
    prims.zeros,
    prims.own,
    prims.heap_empty,
    prims.heap_zeros,
    prims.heap_zeros_like,
    prims.heap_own,
)

WHOLE = (prims.cast, *MAKERS)

Root = Value  # a root is named by the value that first holds it


LABELS = 4  # the position of the labels in ``op.args`` of a peek


def label(root: Root, given: Mapping[Root, int]) -> int:
    """The name of a root of one half of a function in the other: the position of the parameter
    that it is there (``given`` has those), or a number below zero of its own."""
    return given.get(root, -1 - root.id)


def drop_labels(ir: IR) -> None:
    """Forget what arrays on the tape may be: nothing that runs wants to know."""
    for op in ir.ops():
        if op.is_call(prims.peek):
            op.args = op.args[:LABELS]


def meets_arguments(ir: IR) -> bool:
    """Whether an array from the tape, which another function put there, may be an argument or a
    part of one. (What this function put there itself the compiler has seen to escape.)"""
    peeks = [op for op in ir.ops() if op.is_call(prims.peek) and is_array(op.result.type)]
    unknown = [op for op in peeks if any(k >= 0 for k in _labels(op))]
    return bool(unknown) and not any(
        op.is_call(prims.poke) and is_array(getattr(op.args[3], "type", None)) for op in ir.ops()
    )


def _labels(peek: Op) -> tuple[int, ...]:
    """The labels of an array from the tape; a parameter's if it has none."""
    return peek.args[LABELS].value if len(peek.args) > LABELS else (0,)  # type: ignore[union-attr]


def is_view(op: Op) -> bool:
    """Whether the result is the memory of an operand; a cast of an array only changes what is known
    of its layout."""
    return op.is_call(*VIEWS) or (op.is_call(prims.cast) and is_array(op.result.type))


def base(op: Op) -> int:
    """The position in ``op.args`` of what a view is of."""
    return 2 if op.is_call(prims.cast) else 1


class Roots:
    """``roots[v]``: the set of roots that array value ``v`` may be; ``slots`` too. In one ``half``
    of a pair an array on the tape may have been put there by the other: it is a root as well."""

    def __init__(self, ir: IR, *, half: bool = False) -> None:
        self.of: dict[Value, frozenset[Root]] = {}
        self.entry, self.labels = ir.args, dict[int, Root]()
        self.slots: dict[Slot, frozenset[Root]] = {}
        self.args: list[Root] = [a for a in ir.args if is_array(a.type)]
        flows: dict[Value, list[Value | Slot]] = defaultdict(list)  # value -> where it comes from
        into: dict[Slot, list[Value]] = defaultdict(list)
        for a in self.args:
            self.of[a] = frozenset([a])
        returned: list[Op] = []  # arrays that outlined calls return
        passed: dict[Operand, list[Value]] = {}  # those that they are given
        partial: set[Value] = set()  # what may be a part of a root
        for block in ir:
            for op in block.ops:
                if op.kind == SLOTSET and isinstance(op.args[0], Value):
                    if is_array(op.args[0].type):
                        into[op.attr].append(op.args[0])
                elif is_array(op.result.type):
                    if not op.is_call(*WHOLE):
                        partial.add(op.result)
                    if op.is_call(operator.getitem):
                        returned.append(op)
                    else:
                        self._made(op, flows, half)
                elif op.is_call(prims.poke) and isinstance(op.args[3], Value):
                    if is_array(op.args[3].type):
                        into[CELLS].append(op.args[3])
                elif is_outlined(op):
                    arrays = [a for a in op.posargs if isinstance(a, Value) and is_array(a.type)]
                    passed[op.result] = arrays
            for edge, params in _edges(ir, block.id):
                for p, a in zip(params, edge):
                    if is_array(p.type) and isinstance(a, Value):
                        flows[p].append(a)
        for op in returned:
            self.of[op.result] = frozenset([op.result])
            flows[op.result] += passed.get(op.args[1], [])
        self._solve(flows, into)
        self.whole = self._whole(partial, flows)

    def _made(self, op: Op, flows: dict[Value, list[Value | Slot]], half: bool) -> None:
        """Note what the array that ``op`` results in may be."""
        v = op.result
        if op.is_call(prims.peek):
            if not half and len(op.args) > LABELS:
                self.of[v] = self._labelled(op)
                return
            flows[v].append(CELLS)
            if half:
                self.of[v] = frozenset([v])
        elif op.kind == SLOTGET:
            flows[v].append(op.attr)
        elif is_view(op):
            flows[v].append(op.args[base(op)])  # type: ignore[arg-type]
        elif op.is_call(prims.overlap_copy):
            self.of[v] = frozenset([v])
            flows[v].append(op.args[1])  # type: ignore[arg-type]
        elif op.kind == CALL:
            self.of[v] = frozenset([v])

    def _labelled(self, peek: Op) -> frozenset[Root]:
        """What the labels of an array from the tape stand for: see `label`."""
        labels = peek.args[LABELS].value  # type: ignore[union-attr]
        return frozenset(
            self.entry[k] if k >= 0 else self.labels.setdefault(k, Value(k, None, peek.result.type))
            for k in labels
        )

    def _solve(self, flows: dict[Value, list[Value | Slot]], into: dict[Slot, list[Value]]) -> None:
        changed = True
        while changed:
            changed = False
            for slot, values in into.items():
                new = frozenset().union(*(self[v] for v in values))
                if new != self.slots.get(slot, frozenset()):
                    self.slots[slot], changed = new, True
            for v, sources in flows.items():
                new = self[v].union(
                    *(
                        self.slots.get(s, frozenset()) if isinstance(s, Slot) else self[s]
                        for s in sources
                    )
                )
                if new != self[v]:
                    self.of[v], changed = new, True

    def _whole(self, partial: set[Value], flows: Mapping[Value, list[Value | Slot]]) -> set[Value]:
        """The values that are a root itself whichever it is, not a view: equal elements of two of
        them have equal subscripts."""
        changed = True
        while changed:
            changed = False
            for v, sources in flows.items():
                if v not in partial and any(isinstance(s, Slot) or s in partial for s in sources):
                    partial.add(v)
                    changed = True
        return set(self.of) - partial

    def __getitem__(self, v: object) -> frozenset[Root]:
        return self.of.get(v, frozenset()) if isinstance(v, Value) else frozenset()

    def all(self) -> frozenset[Root]:
        return frozenset().union(*self.of.values()) if self.of else frozenset()


def _edges(ir: IR, block: int):
    term = ir.blocks[block].term
    for edge in term.edges:
        params = ir.blocks[edge.target].params
        if isinstance(term, ForIter) and edge is term.body:
            params = params[1:]
        yield edge.args, params
