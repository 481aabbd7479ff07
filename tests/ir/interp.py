"""An interpreter of the IR on ordinary Python objects: the oracle of every transformation."""

from __future__ import annotations

import builtins
from typing import Any

from pullback.ir.core import (
    CALL,
    CLOSURE,
    CUT,
    FREECELL,
    GETCELL,
    GLOBAL,
    IR,
    NEWCELL,
    SETCELL,
    SLOTGET,
    SLOTSET,
    Branch,
    Const,
    Edge,
    ForIter,
    Jump,
    Op,
    Operand,
    Raise,
    Reraise,
    Return,
    Undef,
    Value,
)


class OutOfFuel(Exception):
    """The program runs longer than the test wants to wait."""


class Unbound:
    """What an undefined operand holds: fine to move about, never to be used."""

    def __init__(self, undef: Undef) -> None:
        self.undef = undef


class Cell:
    """A closure cell; ``content`` is missing when it is empty."""


class Interpreter:
    """Runs one call of ``ir``; after it ``steps`` is the number of blocks entered."""

    def __init__(self, ir: IR, fuel: int = 10_000) -> None:
        self.ir, self.fuel, self.steps = ir, fuel, 0
        self.slots: dict[Any, Any] = {}
        self.env: dict[Value, Any] = {}
        self.exception: BaseException | None = None

    def run(self, *args: Any) -> Any:
        block = self.ir.entry
        assert len(args) == len(block.params), "number of arguments"
        self.env.update(zip(block.params, args))
        while True:
            self.steps += 1
            if self.steps > self.fuel:
                raise OutOfFuel
            try:
                for op in block.ops:
                    self.env[op.result] = self.execute(op)
                term = block.term
                if isinstance(term, Return):
                    return self.read(term.value)
                if isinstance(term, Reraise):
                    raise self.read(term.exc)
                if isinstance(term, Raise):
                    self.throw(term)
                edge, items = self.leave(term)
            except OutOfFuel:
                raise
            except Exception as e:
                if block.handler is None:
                    raise
                self.exception, edge, items = e, Edge(block.handler), (e,)
            block = self.enter(edge, items)

    def enter(self, edge: Edge, items: tuple[Any, ...]) -> Any:
        block = self.ir.blocks[edge.target]
        contents = [*items, *map(self.peek, edge.args)]
        assert len(contents) == len(block.params), f"arity of the edge to b{block.id}"
        self.env.update(zip(block.params, contents))
        return block

    def leave(self, term: Any) -> tuple[Edge, tuple[Any, ...]]:
        if isinstance(term, Jump):
            return term.edge, ()
        if isinstance(term, Branch):
            return (term.then if self.read(term.cond) else term.orelse), ()
        assert isinstance(term, ForIter), f"no terminator: {term!r}"
        for item in self.read(term.iterator):
            return term.body, (item,)
        return term.exhausted, ()

    def throw(self, term: Raise) -> None:
        if term.exc is None:
            assert self.exception is not None, "nothing to re-raise"
            raise self.exception
        exc = self.read(term.exc)
        if term.cause is None:
            raise exc
        raise exc from self.read(term.cause)

    def peek(self, x: Operand) -> Any:
        """The content of an operand, an undefined one included."""
        if isinstance(x, Const):
            return x.value
        return Unbound(x) if isinstance(x, Undef) else self.env[x]

    def read(self, x: Operand) -> Any:
        content = self.peek(x)
        if isinstance(content, Unbound):
            raise UnboundLocalError(content.undef.name)
        return content

    def execute(self, op: Op) -> Any:
        return getattr(self, f"do_{op.kind}")(op)

    def do_call(self, op: Op) -> Any:
        fn, *args = map(self.read, op.args)
        n = len(args) - len(op.kwnames)
        return fn(*args[:n], **dict(zip(op.kwnames, args[n:])))

    def do_global(self, op: Op) -> Any:
        scope = self.ir.info.globals
        return scope[op.attr] if op.attr in scope else getattr(builtins, op.attr)

    def do_newcell(self, op: Op) -> Cell:
        return self.fill(Cell(), op.args[0])

    def do_freecell(self, op: Op) -> Any:
        return self.ir.info.closure[self.ir.info.freevars.index(op.attr)]

    def do_getcell(self, op: Op) -> Any:
        cell = self.read(op.args[0])
        for name in ("content", "cell_contents"):
            if hasattr(cell, name):
                return getattr(cell, name)
        raise NameError(op.attr)

    def do_setcell(self, op: Op) -> None:
        self.fill(self.read(op.args[0]), op.args[1])

    def fill(self, cell: Any, x: Operand) -> Any:
        content = self.peek(x)
        name = "content" if isinstance(cell, Cell) else "cell_contents"
        if not isinstance(content, Unbound):
            setattr(cell, name, content)
        elif hasattr(cell, name):
            delattr(cell, name)
        return cell

    def do_slotget(self, op: Op) -> Any:
        return self.slots.get(op.attr, Unbound(Undef(op.attr.name)))

    def do_slotset(self, op: Op) -> None:
        self.slots[op.attr] = self.peek(op.args[0])

    def do_cut(self, op: Op) -> None:
        pass


for _kind in (CALL, GLOBAL, NEWCELL, FREECELL, GETCELL, SETCELL, SLOTGET, SLOTSET, CUT):
    assert hasattr(Interpreter, f"do_{_kind}")
assert not hasattr(Interpreter, f"do_{CLOSURE}"), "closures are made by the lowering alone"


def run(ir: IR, *args: Any, fuel: int = 10_000) -> Any:
    """The result of calling ``ir`` on ``args``."""
    return Interpreter(ir, fuel).run(*args)


def outcome(ir: IR, *args: Any, fuel: int = 10_000) -> Any:
    """The result, or what kind of exception it ends with: something to compare."""
    try:
        return run(ir, *args, fuel=fuel)
    except OutOfFuel:
        return OutOfFuel
    except Exception as e:
        return type(e), str(e)
