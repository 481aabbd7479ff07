"""The abstract interpreter: sparse conditional constant propagation of types over the IR.

Only edges that can be taken are followed, so a branch on what typing knows (a rank, a dtype,
``axis is None``) is decided here. Calls are resolved by `resolve` to actions; a call of a function
that can be entered is inferred in turn, once for each tuple of abstract arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import JoinError, PullbackError, TypingError, UnsupportedArgument
from ..ir.core import (
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
    Block,
    Branch,
    Const,
    Edge,
    ForIter,
    Loc,
    Op,
    Operand,
    Raise,
    Return,
    Undef,
    Value,
)
from ..ir.dominators import depth_first, reverse_postorder
from . import capture, iteration
from .actions import Action, Known
from .lattice import (
    NONE,
    Abstract,
    ATuple,
    AVal,
    Bottom,
    NoJoin,
    constant,
    is_array,
    is_scalar,
    join,
    widen,
)
from .specialised import Cell, Spec
from .statements import closure_value


class Unroll(Exception):
    """A loop over a tuple was met: it is to be written out, ``count`` times."""

    def __init__(self, header: int, count: int) -> None:
        self.header, self.count = header, count


def bodies_first(ir: IR) -> list[int]:
    """The blocks in a reverse postorder that has the body of a loop before what follows it: what is
    found out in the loop holds there too."""
    return depth_first({b.id: b.successors[::-1] for b in ir}, ir.entry.id)[::-1]


class Sweep:
    """Inference of one spec: blocks are visited in order while something changes."""

    def __init__(self, engine: Any, spec: Spec) -> None:
        self.engine, self.spec, self.ir = engine, spec, spec.ir
        self.values = spec.values
        self.constants = spec.constants
        self.seen: dict[Op, tuple[Any, ...]] = {}
        self.rpo = reverse_postorder(self.ir)
        self.index = {b: i for i, b in enumerate(bodies_first(self.ir))}
        self.users = _users(self.ir)
        self.definitions: dict[Value, Op] | None = None
        self.dirty: set[int] = set()
        self.here = -1  # the block that is visited
        self.visits = 0

    def run(self) -> None:
        spec, entry = self.spec, self.ir.entry
        for p, a in zip(entry.params, spec.args):
            self.values[p] = a
        self.dirty = {entry.id}
        self.reached = {entry.id}
        limit = 200 * len(self.rpo) + 1000
        while self.dirty:
            self.visits += 1
            if self.visits > limit:
                raise TypingError(f"no types are found for {spec.name}: they keep changing")
            b = min(self.dirty, key=self.index.__getitem__)
            self.dirty.discard(b)
            self.visit(self.ir.blocks[b])
        spec.order = [b for b in self.rpo if b in self.reached]
        if not spec.recursive:
            self.exact_result()

    def exact_result(self) -> None:
        """The join of what is returned, now that all types are final."""
        self.spec.result = None
        for b in self.spec.order:
            term = self.ir.blocks[b].term
            if isinstance(term, Return):
                x = term.value
                a = self.values.get(x) if isinstance(x, Value) else self.abstract(x)
                if a is not None:
                    self.returned(a, term.loc)

    def visit(self, block: Block) -> None:
        self.here = block.id
        try:
            for op in block.ops:
                self.operation(op)
            self.terminator(block)
        except Bottom:
            return

    # -- operations ----------------------------------------------------------------------------
    def abstract(self, x: Operand) -> Abstract:
        if isinstance(x, Value):
            found = self.values.get(x)
            if found is None:
                raise Bottom
            return found
        if isinstance(x, Const):
            found = self.constants.get(id(x))
            if found is None:
                found = self.constants[id(x)] = constant(x.value)
            return found
        if x.type is not None:
            return AVal(x.type)
        raise Bottom

    def operation(self, op: Op) -> None:
        if op.kind in (NEWCELL, SETCELL):
            args = tuple([self.abstract(x) for x in op.args if not _unset(x)])
        else:
            args = tuple([self.abstract(x) for x in op.args])
        known = self.seen.get(op) if op.kind == CALL else None
        if known == args and self.spec.actions[op].result == self.values.get(op.result):
            return
        self.seen[op] = args
        try:
            action = self.transfer(op, args)
        except (TypingError, UnsupportedArgument) as e:
            raise self.placed(e, op) from None
        self.spec.actions[op] = action
        result = action.result
        if result is None:
            raise Bottom
        old = self.values.get(op.result)
        if old is None or old != result:
            self.values[op.result] = result
            self.changed(op.result, but=self.here)  # there its users come behind it

    def placed(self, e: PullbackError, op: Op) -> PullbackError:
        """The error at the user's place: not inside a body of this package."""
        if e.loc is not None and not getattr(e, "trusted", False):
            return e
        variable = e.variable or self.blamed(op, getattr(e, "about", None)) or self.variable(op)
        new: Any = type(e)(e.what, loc=op.loc, variable=variable, hint=e.hint)
        new.trusted = self.spec.trusted
        return new

    def blamed(self, op: Op, about: Any) -> str | None:
        """The variable of the operand with this abstract value, or that it is computed from."""
        for x in op.args[1:] if about is not None else ():
            if not isinstance(x, Value):
                continue
            a = self.values.get(x)
            if a is about or (isinstance(a, ATuple) and any(e is about for e in a.elements)):
                made = self.definition(x)
                return x.name or (None if made is None else self.variable(made))
        return None

    def variable(self, op: Op) -> str | None:
        """What is read, or the first variable among the operands; of a method, its object."""
        if op.kind in (GLOBAL, FREECELL):
            return str(op.attr)
        for x in op.args:
            read = self.definition(x)
            if read is not None and read.is_call(getattr):
                x = read.args[1]
            if isinstance(x, Value) and x.name is not None:
                return x.name
        return None

    def definition(self, x: Operand) -> Op | None:
        """The operation that defines an operand, if one does."""
        if self.definitions is None:
            self.definitions = {op.result: op for op in self.ir.ops()}
        return self.definitions.get(x) if isinstance(x, Value) else None

    def changed(self, value: Value, but: int | None = None) -> None:
        for b in self.users.get(value, ()):
            if b in self.reached and b != but:
                self.dirty.add(b)

    def transfer(self, op: Op, args: tuple[Abstract, ...]) -> Action:
        kind, spec, engine = op.kind, self.spec, self.engine
        if kind == CALL:
            if spec.rewritten and op.result.type is not None:
                action = engine.resolver.as_written(op, args)
                if action is not None:
                    return action
            return engine.resolver.call(spec, args[0], args[1:], op.kwnames, self, op)
        if kind == GLOBAL:
            return Known(capture.read_global(engine, spec, op.attr))
        if kind == FREECELL:
            return Known(capture.free_cell(engine, spec, op.attr))
        if kind == GETCELL:
            return Known(capture.read_cell(engine, spec, args[0], op.attr))
        if kind == NEWCELL:
            return Known(self.new_cell(op, args))
        if kind == SETCELL:
            self.set_cell(args)
            return Known(NONE)
        if kind == CLOSURE:
            return closure_value(spec, op, args)
        if kind == SLOTGET:
            return Known(AVal(op.attr.type))
        assert kind in (SLOTSET, CUT), kind
        return Known(NONE)

    def new_cell(self, op: Op, args: tuple[Abstract, ...]) -> AVal:
        cell = self.spec.made_cells.setdefault(op, Cell(op.attr))
        if args:
            self.widen_cell(cell, args[0])
        return AVal(None, cell)

    def set_cell(self, args: tuple[Abstract, ...]) -> None:
        cell = getattr(args[0], "const", None)
        if not isinstance(cell, Cell):
            raise TypingError(
                "a variable of an enclosing, already finished function is assigned (nonlocal)",
                hint="pass it as an argument and return the new value",
            )
        if len(args) > 1:
            self.widen_cell(cell, args[1])

    def widen_cell(self, cell: Cell, content: Abstract) -> None:
        if cell.content is None:
            new = content
        else:
            try:
                new = join(cell.content, content)
            except NoJoin:
                raise join_error(cell.name, cell.content, content, None) from None
        if new != cell.content:
            cell.content = new
            cell.version += 1

    # -- terminators ---------------------------------------------------------------------------
    def terminator(self, block: Block) -> None:
        term = block.term
        if isinstance(term, Return):
            self.returned(self.abstract(term.value), term.loc)
        elif isinstance(term, Branch):
            truth = self.truth(self.abstract(term.cond), term.loc)
            if truth is not False:
                self.follow(term.then, term.loc)
            if truth is not True:
                self.follow(term.orelse, term.loc)
        elif isinstance(term, ForIter):
            self.iterate(block, term)
        elif isinstance(term, Raise):
            for x in term.operands:
                self.abstract(x)
        else:
            for e in term.edges:
                self.follow(e, term.loc)

    def iterate(self, block: Block, term: ForIter) -> None:
        iterator = self.abstract(term.iterator)
        loop = iteration.loop_of(self.engine, self.spec, iterator, term.loc)
        if loop.unrolled is not None:
            raise Unroll(block.id, loop.unrolled)
        self.spec.loops[block.id] = loop
        item = loop.item.result
        if item is None:
            raise Bottom
        self.bind(self.ir.blocks[term.body.target].params[0], item, term.loc, term.body)
        self.follow(term.body, term.loc, 1)
        self.follow(term.exhausted, term.loc)

    def truth(self, a: Abstract, loc: Loc) -> bool | None:
        """The truth value of a condition, None if it is not known."""
        try:
            return self.engine.resolver.truth(a)
        except TypingError as e:
            raise TypingError(e.what, loc=loc, hint=e.hint) from None

    def follow(self, edge: Edge, loc: Loc, skip: int = 0) -> None:
        if edge not in self.spec.edges:
            self.spec.edges.add(edge)
            self.reached.add(edge.target)
            self.dirty.add(edge.target)
        params = self.ir.blocks[edge.target].params[skip:]
        for p, x in zip(params, edge.args):
            if isinstance(x, Undef) and x.type is None:
                self.unbound(p)
                continue
            if isinstance(x, Value) and x in self.spec.maybe:
                self.unbound(p)
            a = self.values.get(x) if isinstance(x, Value) else self.abstract(x)
            if a is not None:
                self.bind(p, a, loc, edge)

    def unbound(self, p: Value) -> None:
        if p not in self.spec.maybe:
            self.spec.maybe.add(p)
            self.changed(p)

    def bind(self, p: Value, a: Abstract, loc: Loc, edge: Edge) -> None:
        old = self.values.get(p)
        if old is None:
            declared = self.spec.rewritten and is_scalar(p.type)
            new = AVal(p.type) if declared else a  # what it will be once all edges are known
        else:
            if old is a or old == a:
                return
            try:
                new = join(old, a)
            except NoJoin:
                raise join_error(p.name, old, a, loc) from None
            self.note_instability(p, old, a, new, loc)
        if new != old:
            self.values[p] = new
            self.changed(p)
            self.dirty.add(edge.target)

    def returned(self, a: Abstract, loc: Loc) -> None:
        """A function that calls itself returns no constants: the call is one of many. (That it does
        may be found out after its first return.)"""
        spec = self.spec
        try:
            new = a if spec.result is None else join(spec.result, a)
        except NoJoin:
            raise join_error("return value", spec.result, a, loc) from None
        spec.result = widen(new) if spec.recursive else new

    def note_instability(self, p: Value, old: Any, a: Any, new: Any, loc: Loc) -> None:
        """Remember a join that changes a type: an accumulator that starts as an int, ..."""
        types = [getattr(x, "type", None) for x in (old, a)]
        if types[0] == types[1] or self.spec.trusted:
            return
        if all(is_scalar(t) for t in types) or all(is_array(t) for t in types):
            name = p.name or "a temporary"
            what = f"{name!r} is {types[0]} on one path and {types[1]} on another: {new.type}"
            self.engine.unstable.setdefault((loc.file, loc.line, name), what)


def _unset(x: Operand) -> bool:
    """Whether an operand is the missing content of a cell."""
    return isinstance(x, Undef) and x.type is None


def _users(ir: IR) -> dict[Value, set[int]]:
    """The blocks that use each value."""
    users: dict[Value, set[int]] = {}

    def note(xs: Iterable[Operand], b: int) -> None:
        for x in xs:
            if isinstance(x, Value):
                users.setdefault(x, set()).add(b)

    for block in ir:
        for op in block.ops:
            note(op.args, block.id)
        note(block.term.operands, block.id)
        for e in block.term.edges:
            note(e.args, block.id)
    return users


def join_error(name: str | None, a: Abstract, b: Abstract, loc: Any) -> JoinError:
    hint = None
    kinds = {getattr(x, "type", None) for x in (a, b)}
    if NONE.type in kinds:
        hint = "give it a value of one type on both paths instead of None"
    return JoinError(
        f"two paths give {'it' if name else 'a value'} types without a common one: {a!r} and {b!r}",
        loc=loc,
        variable=name,
        hint=hint,
    )
