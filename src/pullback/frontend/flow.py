"""The control flow of the instructions, and what is known of each local before SSA is built.

Sets of locals are bit masks: local 3 is bit ``1 << 3``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .decode import Handler, Instr

_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_ALWAYS_JUMP = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "END_ASYNC_FOR")

# What an instruction does to local slots. "read": needs it bound; "take": reads it bound or not;
# "bind": binds it; "clear": unbinds it; "kill": needs it bound and unbinds it.
READ, TAKE, BIND, CLEAR, KILL = range(5)

_EFFECTS: dict[str, tuple[int, ...]] = {
    "LOAD_FAST": (READ,),
    "LOAD_FAST_CHECK": (READ,),
    "LOAD_CLOSURE": (READ,),
    "LOAD_DEREF": (READ,),
    "STORE_DEREF": (READ,),
    "DELETE_DEREF": (READ,),
    "STORE_FAST": (BIND,),
    "DELETE_FAST": (KILL,),
    "MAKE_CELL": (TAKE, BIND),
    "LOAD_FAST_AND_CLEAR": (TAKE, CLEAR),
}
_PAIRS: dict[str, tuple[int, int]] = {
    "LOAD_FAST_LOAD_FAST": (READ, READ),
    "STORE_FAST_LOAD_FAST": (BIND, READ),
    "STORE_FAST_STORE_FAST": (BIND, BIND),
}
_TOUCHES = frozenset((*_EFFECTS, *_PAIRS))
_USES, _SETS = (READ, TAKE, KILL), (BIND, CLEAR, KILL)


def effects(ins: Instr) -> list[tuple[int, int]]:
    """What the instruction does to locals, in order: (effect, local)."""
    if ins.op in _EFFECTS:
        return [(e, ins.arg) for e in _EFFECTS[ins.op]]
    if ins.op in _PAIRS:
        first, second = _PAIRS[ins.op]
        return [(first, ins.arg >> 4), (second, ins.arg & 15)]
    return []


@dataclass
class RawBlock:
    """Instructions without a jump into or out of the middle, under one ``handler``. ``effects``:
    what they do to locals. ``live`` and ``bound`` are the locals that may be read before they are
    bound again, and those that are bound on every path here. ``catches``: exceptions lead here."""

    start: int
    handler: Handler | None = None
    instrs: list[Instr] = field(default_factory=list)
    succs: list[int] = field(default_factory=list)
    effects: list[tuple[int, int]] = field(default_factory=list)
    npreds: int = 0
    live: int = 0
    bound: int = 0
    catches: bool = False


@dataclass
class Flow:
    """``blocks`` in reverse postorder; ``stores[i]``: how many instructions give local i a value;
    ``cleared``: the locals that a comprehension saves and restores."""

    blocks: list[RawBlock]
    stores: list[int]
    cleared: int


def analyse(instrs: list[Instr], table: list[Handler], nlocals: int, given: int) -> Flow:
    """Blocks reachable from the first instruction. ``table``: the exception table; ``given``: the
    locals bound at the start."""
    blocks = _split(instrs, _guards(instrs, table))
    for b in blocks.values():
        b.effects = [x for ins in b.instrs if ins.op in _TOUCHES for x in effects(ins)]
    order = _order(blocks)
    while _cut_unbound(blocks, order, given):
        order = _order(blocks)
    flow = Flow(order, [0] * nlocals, 0)
    for b in order:
        for effect, i in b.effects:
            if effect in _SETS:
                flow.stores[i] += 1
            if effect == CLEAR:
                flow.cleared |= 1 << i
    _bound(blocks, order, given, flow.cleared)
    _live(blocks, order)
    return flow


def _guards(instrs: list[Instr], table: list[Handler]) -> dict[int, Handler]:
    """The entry of the exception table for each instruction that has one, by offset."""
    guards: dict[int, Handler] = {}
    entries = iter(sorted(table))
    entry = next(entries, None)
    for ins in instrs:
        while entry is not None and entry.end <= ins.offset:
            entry = next(entries, None)
        if entry is None:
            break
        if entry.start <= ins.offset:
            guards[ins.offset] = entry
    return guards


def _split(instrs: list[Instr], guards: dict[int, Handler]) -> dict[int, RawBlock]:
    leaders = {instrs[0].offset, *(h.target for h in guards.values())}
    for ins in instrs:
        if ins.target is not None:
            leaders.add(ins.target)
            leaders.add(ins.next)
    blocks: dict[int, RawBlock] = {}
    block = None
    for ins in instrs:
        guard = guards.get(ins.offset)
        if block is None or ins.offset in leaders or not _same(guard, block.handler):
            if block is not None:
                block.succs.append(ins.offset)
            block = blocks[ins.offset] = RawBlock(ins.offset, guard)
        block.instrs.append(ins)
        if ins.target is not None:
            if ins.op not in _ALWAYS_JUMP:
                block.succs.append(ins.next)
            block.succs.append(ins.target)
            block = None
        elif ins.op in _ENDS:
            block = None
    return blocks


def _same(a: Handler | None, b: Handler | None) -> bool:
    """Whether two entries of the exception table do the same."""
    return a is b or (a is not None and b is not None and a[2:] == b[2:])


def _order(blocks: dict[int, RawBlock]) -> list[RawBlock]:
    """Reverse postorder, handlers late, counting the edges into each block."""

    for b in blocks.values():
        b.npreds, b.catches = 0, False

    def targets(block: RawBlock) -> Iterator[int]:
        if block.handler is not None:
            blocks[block.handler.target].catches = True
            blocks[block.handler.target].npreds -= 1
            yield block.handler.target
        yield from reversed(block.succs)

    first = next(iter(blocks))
    seen = {first}
    out: list[RawBlock] = []
    stack = [(blocks[first], targets(blocks[first]))]
    while stack:
        block, succs = stack[-1]
        for s in succs:
            blocks[s].npreds += 1
            if s not in seen:
                seen.add(s)
                stack.append((blocks[s], targets(blocks[s])))
                break
        else:
            out.append(block)
            stack.pop()
    return out[::-1]


def _cut_unbound(blocks: dict[int, RawBlock], order: list[RawBlock], given: int) -> bool:
    """End blocks where they read a local that is bound on no path: what follows is never executed.
    Returns whether there were any."""
    may = dict.fromkeys((b.start for b in order), 0)
    may[order[0].start] = given
    changed = True
    while changed:
        changed = False
        for b in order:
            here = ever = may[b.start]
            for effect, i in b.effects:
                here = here | 1 << i if effect == BIND else here & ~(int(effect >= CLEAR) << i)
                ever |= here
            ways = [(s, here) for s in b.succs]
            if b.handler is not None:
                ways.append((b.handler.target, ever))
            for s, mask in ways:
                if mask & ~may[s]:
                    may[s] |= mask
                    changed = True
    return any([_cut(b, may[b.start]) for b in order])


def _cut(block: RawBlock, may: int) -> bool:
    for k, ins in enumerate(block.instrs):
        for effect, i in effects(ins) if ins.op in _TOUCHES else ():
            if effect in (READ, KILL) and not may >> i & 1:
                if k == len(block.instrs) - 1 and not block.succs:
                    return False
                block.instrs, block.succs = block.instrs[: k + 1], []
                block.effects = [
                    x for ins in block.instrs if ins.op in _TOUCHES for x in effects(ins)
                ]
                return True
            may = may | 1 << i if effect == BIND else may & ~(int(effect >= CLEAR) << i)
    return False


def _bound(blocks: dict[int, RawBlock], order: list[RawBlock], given: int, cleared: int) -> None:
    """Locals bound on every path. A local that comprehensions restore may be restored to unbound,
    so binding it counts for nothing here; the checks that this adds are removed later. Exceptions
    may leave a block after anything that it unbinds."""
    for b in order:
        b.bound = -1
    order[0].bound = given
    changed = True
    while changed:
        changed = False
        for b in order:
            mask = b.bound
            for effect, i in b.effects:
                if effect >= CLEAR:
                    mask &= ~(1 << i)
                elif not cleared >> i & 1:
                    mask |= 1 << i
            ways = [(s, mask) for s in b.succs]
            if b.handler is not None:
                kills = sum({1 << i for effect, i in b.effects if effect >= CLEAR})
                ways.append((b.handler.target, b.bound & ~kills))
            for s, mask in ways:
                known = blocks[s].bound & mask
                if known != blocks[s].bound:
                    blocks[s].bound = known
                    changed = True


def _live(blocks: dict[int, RawBlock], order: list[RawBlock]) -> None:
    summary = {}
    for b in order:
        used = set_ = 0
        for effect, i in b.effects:
            if effect in _USES:
                used |= (1 << i) & ~set_
            if effect in _SETS:
                set_ |= 1 << i
        summary[b.start] = used, set_
    changed = True
    while changed:
        changed = False
        for b in reversed(order):
            used, set_ = summary[b.start]
            live = 0
            for s in b.succs:
                live |= blocks[s].live
            live = used | live & ~set_
            if b.handler is not None:
                live |= blocks[b.handler.target].live
            if live != b.live:
                b.live = live
                changed = True
