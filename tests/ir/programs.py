"""Random typed programs, and what can be seen of running one.

Two kinds: any control flow at all (`unstructured`), and nested ifs and loops of every shape with
variables carried through block parameters (`structured`).
"""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import strategies as st
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR, Block, Const, Edge, ForIter, Loc, Operand, Slot, Value
from pullback.ir.dominators import dominators
from pullback.runtime import prims

from .graphs import cfgs
from .interp import Interpreter, OutOfFuel

TRACE: list[Any] = []


def note(x: Any) -> Any:
    """Something that is seen: no pass may add, drop or reorder it."""
    TRACE.append(x)
    return x


def observe(ir: IR, *args: Any, fuel: int = 400) -> Any:
    """All that a caller sees: what was noted, and the result or the exception."""
    TRACE.clear()
    try:
        end = repr(Interpreter(ir, fuel).run(*args))
    except OutOfFuel:
        return OutOfFuel
    except Exception as e:
        end = f"{type(e).__name__}: {e}"
    return end, repr(TRACE)


def agree(before: IR, after: IR, args: tuple[Any, ...]) -> None:
    """Assert that both do the same on ``args``."""
    expected = observe(before, *args)
    if expected is not OutOfFuel:
        found = observe(after, *args, fuel=4000)
        assert found == expected, f"{args}: {found} is not {expected}\n{before}\n{after}"


INT, FLOAT, BOOL = types.int64, types.float64, types.boolean
ARGS = (3, -2, 0.5)  # one tuple of arguments that all programs take: two integers and a float

_INT_OPS = [operator.add, operator.sub, operator.xor, operator.and_, min, max]
_FLOAT_OPS = [operator.add, operator.sub, min, max]
_TESTS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]

arguments = st.tuples(
    st.integers(-4, 6), st.integers(-4, 6), st.floats(-3, 3, allow_nan=False).map(lambda x: x / 4)
)


class Writer:
    """Draws operations into a block."""

    def __init__(self, draw: st.DrawFn, ir: IR, slots: list[Slot]) -> None:
        self.draw, self.ir, self.slots = draw, ir, slots

    def pick(self, xs: Any) -> Any:
        return self.draw(st.sampled_from(xs))

    def operand(self, visible: list[Value], type_: Any) -> Operand:
        mine = [v for v in visible if v.type == type_]
        constant = st.sampled_from(_CONSTANTS[type_]).map(Const)
        if not mine:
            return self.draw(constant)
        return self.draw(st.sampled_from(mine) | constant | st.sampled_from(mine[-3:]))

    def ops(self, at: Builder, visible: list[Value], most: int = 3) -> None:
        """Append some operations; their results become visible."""
        for _ in range(self.draw(st.integers(0, most))):
            at.loc = Loc("program.py", len(visible) + 1, "f")
            self.one(at, visible)

    def one(self, at: Builder, visible: list[Value]) -> None:
        kind = self.pick(["int", "int", "float", "test", "scale", "note", "check", "cast", "slot"])
        a, b = self.operand(visible, INT), self.operand(visible, INT)
        x, y = self.operand(visible, FLOAT), self.operand(visible, FLOAT)
        if kind == "int":
            new = at.call(self.pick(_INT_OPS), a, b, type=INT)
        elif kind == "float":
            new = at.call(self.pick(_FLOAT_OPS), x, y, type=FLOAT)
        elif kind == "test":
            pair = self.pick([(a, b), (x, y)])
            new = at.call(self.pick(_TESTS), *pair, type=BOOL)
        elif kind == "scale":
            new = at.call(operator.mul, x, self.pick([1.0, -1.0, 0.5, 0.0]), type=FLOAT)
        elif kind == "note":
            new = at.call(note, a, type=INT)
        elif kind == "check":
            new = at.call(self.pick([prims.index, prims.wrap]), a, 4, type=INT)
        elif kind == "cast":
            new = at.call(prims.cast, Const(FLOAT), a, type=FLOAT)
        elif not self.slots:
            new = at.call(operator.neg, a, type=INT)
        elif self.draw(st.booleans()):
            new = at.get(self.pick(self.slots))
        else:
            slot = self.pick(self.slots)
            at.set(slot, self.operand(visible, slot.type))
            return
        visible.append(new)

    def condition(self, at: Builder, visible: list[Value]) -> Operand:
        flags = [v for v in visible if v.type == BOOL]
        if flags and self.draw(st.booleans()):
            return self.pick(flags)
        if self.draw(st.integers(0, 7)) == 0:
            return Const(self.draw(st.booleans()))
        a, b = self.operand(visible, INT), self.operand(visible, INT)
        visible.append(at.call(self.pick(_TESTS), a, b, type=BOOL))
        return visible[-1]


_CONSTANTS = {INT: [-1, 0, 1, 2, 5], FLOAT: [-0.0, 0.0, 1.0, 2.5], BOOL: [True, False]}


def start(ir: IR, block: Block, draw: st.DrawFn) -> list[Slot]:
    """Slots, set at the start of the function."""
    slots = [Slot("s", INT), Slot("t", FLOAT)] if draw(st.booleans()) else []
    at = Builder(ir, block)
    for slot in slots:
        at.set(slot, 0 if slot.type is INT else 0.0)
    return slots


@st.composite
def unstructured(draw: st.DrawFn) -> IR:
    """Blocks that jump anywhere, and use what their dominators define."""
    ir = draw(cfgs(7))
    ir.entry.params = [ir.value(n, t) for n, t in zip("abx", (INT, INT, FLOAT))]
    writer = Writer(draw, ir, start(ir, ir.entry, draw))
    tree = dominators(ir)
    for b in list(ir.blocks):
        if b not in tree.order:
            del ir.blocks[b]
    visible: dict[int | None, list[Value]] = {None: []}
    for b in tree.preorder():
        block, seen = ir.blocks[b], list(visible[tree.idom[b]])
        if b != tree.root:
            n = draw(st.integers(0, 3))
            block.params = [ir.value(None, writer.pick([INT, INT, FLOAT])) for _ in range(n)]
        seen += block.params
        at = Builder(ir, block)
        writer.ops(at, seen)
        if len(block.edges) == 2:
            block.term.cond = writer.condition(at, seen)
        elif not block.edges:
            block.term.value = writer.operand(seen, INT)
        visible[b] = seen
    for block in ir:
        for e in block.edges:
            params = ir.blocks[e.target].params
            e.args = tuple(writer.operand(visible[block.id], p.type) for p in params)
    return ir


@st.composite
def structured(draw: st.DrawFn) -> IR:
    """Sequences of statements over variables: ifs, counted and other loops, breaks, returns."""
    ir = IR()
    entry = ir.block([ir.value(n, t) for n, t in zip("abx", (INT, INT, FLOAT))])
    writer = Writer(draw, ir, start(ir, entry, draw))
    at = Builder(ir, entry)
    state = _Structured(writer, at).body(list(entry.params), depth=0)
    if state is not None:
        at.ret(writer.operand(state, draw(st.sampled_from([INT, FLOAT]))))
    return ir


class _Structured:
    """Each method appends code that starts with the variables ``state`` and returns their new
    values, or None if control does not come out of it."""

    def __init__(self, writer: Writer, at: Builder) -> None:
        self.writer, self.at, self.ir = writer, at, writer.ir
        self.loops: list[Block] = []  # where break leads to

    def body(self, state: list[Value], depth: int) -> list[Value] | None:
        for _ in range(self.writer.draw(st.integers(1, 3))):
            kinds = ["ops", "swap", "leave"] + ["if", "count", "while", "iterate"] * (depth < 3)
            new = getattr(self, self.writer.pick(kinds))(state, depth)
            if new is None:
                return None
            state = new
        return state

    def ops(self, state: list[Value], depth: int) -> list[Value]:
        visible = list(state)
        self.writer.ops(self.at, visible, 4)
        return self.pack(visible, state)

    def pack(self, visible: list[Value], state: list[Value]) -> list[Value]:
        """As many variables of each type as before, the newest first."""
        out = list(state)
        for v in visible[len(state) :]:
            same = [i for i, s in enumerate(state) if s.type == v.type]
            if same:
                out[self.writer.pick(same)] = v
        return out

    def swap(self, state: list[Value], depth: int) -> list[Value]:
        a, b, *rest = state
        return [b, a, *rest]

    def leave(self, state: list[Value], depth: int) -> list[Value] | None:
        """Return or break if a condition holds."""
        cond = self.writer.condition(self.at, list(state))
        out, on = self.ir.block(), self.ir.block()
        self.at.branch(cond, out, on)
        self.at.at(out)
        if self.loops and self.writer.draw(st.booleans()):
            end = self.loops[-1]
            self.at.jump(end, state[: len(end.params)])
        else:
            self.at.ret(self.writer.operand(state, INT))
        self.at.at(on)
        return state

    def join(self, state: list[Value]) -> tuple[Block, list[Value]]:
        params = [self.ir.value(None, v.type) for v in state]
        return self.ir.block(params), params

    def go(self, target: Block, state: list[Value] | None) -> None:
        if state is not None:
            self.at.jump(target, state)

    def _if(self, state: list[Value], depth: int) -> list[Value] | None:
        cond = self.writer.condition(self.at, list(state))
        then, orelse = self.ir.block(), self.ir.block()
        self.at.branch(cond, then, orelse)
        end, params = self.join(state)
        for block in (then, orelse):
            self.at.at(block)
            self.go(end, self.body(state, depth + 1))
        self.at.at(end)
        return params

    def _loop(self, state: list[Value], depth: int, header, end) -> None:
        self.loops.append(end)
        self.go(header, self.body(state, depth + 1))
        self.loops.pop()

    def count(self, state: list[Value], depth: int) -> list[Value]:
        """``for i in range(start, stop, step)``, by hand."""
        step = self.writer.pick([1, 1, 2, -1])
        start, stop = (self.writer.operand(state, INT) for _ in range(2))
        i = self.ir.value("i", INT)
        header, carried = self.join(state)
        header.params.insert(0, i)
        body = self.ir.block()
        end, params = self.join(state)
        self.at.jump(header, [start, *state])
        self.at.at(header)
        test = operator.lt if step > 0 else operator.gt
        cond = self.at.call(test, i, stop, type=BOOL)
        self.at.branch(cond, body, end, (), carried)
        self.at.at(body)
        self.loops.append(end)
        inner = self.body([*carried, i] if self.writer.draw(st.booleans()) else carried, depth + 1)
        self.loops.pop()
        if inner is not None:
            n = self.at.call(operator.add, i, step, type=INT)
            self.at.jump(header, [n, *inner[: len(carried)]])
        self.at.at(end)
        return params

    def _while(self, state: list[Value], depth: int) -> list[Value]:
        header, carried = self.join(state)
        end, params = self.join(state)
        body = self.ir.block()
        self.at.jump(header, state)
        self.at.at(header)
        visible = list(carried)
        self.writer.ops(self.at, visible, 2)
        self.at.branch(self.writer.condition(self.at, visible), body, end, (), carried)
        self.at.at(body)
        self.loops.append(end)
        self.go(header, self.body(self.pack(visible, carried), depth + 1))
        self.loops.pop()
        self.at.at(end)
        return params

    def iterate(self, state: list[Value], depth: int) -> list[Value]:
        """``for item in iter(range(3))``: the structural iteration step."""
        iterator = self.at.call(iter, Const(range(3)))
        header, carried = self.join(state)
        end, params = self.join(state)
        item = self.ir.value("item", INT)
        body = self.ir.block([item])
        self.at.jump(header, state)
        header.term = ForIter(iterator, Edge(body.id), Edge(end.id, carried))
        self.at.at(body)
        state = [item if v.type == INT and v is carried[0] else v for v in carried]
        self.loops.append(end)
        self.go(header, self.body(state, depth + 1))
        self.loops.pop()
        self.at.at(end)
        return params


setattr(_Structured, "if", _Structured._if)
setattr(_Structured, "while", _Structured._while)

programs = unstructured() | structured()
