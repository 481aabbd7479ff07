"""One inferred function written into another: its values' forms, its blocks' twins, iteration as
integer loops.
"""

from __future__ import annotations

import operator
from types import BuiltinFunctionType, FunctionType
from typing import Any

from numba.core import types

from ..errors import TypingError
from ..ir.core import (
    CALL,
    CLOSURE,
    CUT,
    FREECELL,
    GETCELL,
    GLOBAL,
    NEWCELL,
    SETCELL,
    SLOTGET,
    SLOTSET,
    Block,
    Branch,
    Const,
    Edge,
    ForIter,
    Jump,
    Loc,
    Op,
    Operand,
    Raise,
    Return,
    Slot,
    Undef,
    Value,
)
from ..ir.intrinsics import build_list, build_tuple, check_bound
from ..runtime import prims
from . import iteration
from .actions import Form
from .emitter import Emitter, Unreachable
from .lattice import INT, Abstract, ATuple, AVal, constant, is_array, leaves, widen
from .products import Text
from .scalars import convert_constant
from .specialised import Cell, CellSlots, Spec

_PLAIN = (int, float, str, type(None), FunctionType, BuiltinFunctionType)
"""Constants that are their own flat form."""

_INT, _BOOL = types.int64, types.boolean
_NOTHING = ATuple(())


class Inlining:
    """One function written into another: its values' forms, its blocks' twins."""

    outermost = False

    def __init__(
        self, em: Emitter, spec: Spec, forms: tuple[Form, ...], cells: dict[str, Any], at: Loc
    ) -> None:
        self.em, self.spec, self.ir, self.at = em, spec, spec.ir, at
        self.forms: dict[Value, Form] = dict(zip(self.ir.entry.params, forms))
        self.cells = cells
        self.flags: dict[Value, Operand] = {}
        self.blocks: dict[int, Block] = {}
        self.counters: dict[int, Value] = {}
        self.latches: dict[int, Block] = {}
        self.returns: list[tuple[Block, Form, Abstract, Loc]] = []
        self.index = {b: i for i, b in enumerate(spec.order)}
        self.current = -1

    def run(self) -> Form:
        em, spec = self.em, self.spec
        order = spec.order
        for p in self.ir.entry.params:
            if p in spec.maybe:
                self.flags[p] = Const(True)
        self.blocks[order[0]] = em.block
        for b in order[1:]:
            self.open(self.ir.blocks[b])
        for b in order:
            em.block, self.current = self.blocks[b], b
            try:
                self.block(self.ir.blocks[b])
            except Unreachable:
                self.dead_end()
        for b, latch in self.latches.items():
            self.close_loop(b, latch)
        for cell in self.spec.made_cells.values():
            if self.spec.result is None or not _holds(self.spec.result, cell):
                em.cells.pop(cell, None)
        return self.finish()

    def dead_end(self) -> None:
        """The block ends in a callee that never returns, which has ended it already."""

    def open(self, block: Block) -> None:
        """The twin of a block, with parameters for the leaves of its parameters."""
        em = self.em
        twin = em.ir.block()
        if block.id in self.spec.loops:
            counter = em.ir.value(None, _INT)
            twin.params.append(counter)
            self.counters[block.id] = counter
        for p in block.params:
            a = self.spec.values.get(p)
            if a is None:
                continue  # bound on no path: only its flag is passed
            self.forms[p] = em.params(a, twin.params, p.name)
        for p in block.params:
            if p in self.spec.maybe:
                flag = em.ir.value(None, _BOOL)
                twin.params.append(flag)
                self.flags[p] = flag
        self.blocks[block.id] = twin

    # -- operations ----------------------------------------------------------------------------
    def form(self, x: Operand) -> Form:
        if isinstance(x, Value):
            return self.forms[x]
        if isinstance(x, Const) and not isinstance(x.value, _PLAIN):
            return self.em.captured(self.abstract(x))
        return x

    def abstract(self, x: Operand) -> Abstract:
        if isinstance(x, Value):
            return self.spec.values[x]
        if isinstance(x, Const):
            found = self.spec.constants.get(id(x))
            return constant(x.value) if found is None else found
        return AVal(x.type)

    def block(self, block: Block) -> None:
        em, spec = self.em, self.spec
        for op in block.ops:
            self.operation(op)
        term = block.term
        em.loc = self.place(term.loc)
        if isinstance(term, Return):
            a = self.abstract(term.value)
            self.returns.append((em.block, self.form(term.value), a, em.loc))
        elif isinstance(term, Raise):
            self.raise_(term)
        elif isinstance(term, Branch):
            self.branch(term)
        elif isinstance(term, ForIter):
            self.iterate(block, term)
        else:
            (edge,) = term.edges
            em.block.term = Jump(self.edge(edge, block), em.loc)
        del spec

    def place(self, loc: Loc) -> Loc:
        """The user's place of an operation: that of the call, inside this package's bodies."""
        return self.at if self.spec.trusted and self.at.line else loc

    def operation(self, op: Op) -> None:
        em = self.em
        em.loc = self.place(op.loc)
        kind = op.kind
        if kind in (CALL, GLOBAL, CLOSURE):
            if op.callee is check_bound:
                self.forms[op.result] = self.check_bound(op)
                return
            action = self.spec.actions.get(op)
            if action is None:
                raise Unreachable
            form = action.emit(em, tuple([self.form(x) for x in op.args]))
            if action.result is None:
                raise Unreachable
            self.forms[op.result] = form
            if op.result.name and isinstance(form, Value) and form.name is None:
                form.name = op.result.name
            return
        self.structural(op)

    def structural(self, op: Op) -> None:
        em, kind = self.em, op.kind
        if kind == FREECELL:
            self.forms[op.result] = self.cells.get(op.attr, Const(None))  # a real cell is captured
        elif kind == NEWCELL:
            cell = self.spec.values[op.result].const
            self.forms[op.result] = slots = self.slots_of(cell)
            em.cells[cell] = None if cell in em.cells else slots
            if not isinstance(op.args[0], Undef):
                self.fill(slots, op.args[0])
        elif kind == SETCELL:
            target = self.form(op.args[0])
            if not isinstance(op.args[1], Undef):
                self.fill(target, op.args[1])
        elif kind == GETCELL:
            cell = self.form(op.args[0])
            a = self.spec.values.get(op.result)
            if a is None:
                raise Unreachable
            if isinstance(cell, CellSlots):
                got = iter([em.get(s) for s in cell.slots])
                self.forms[op.result] = em.rebuild(cell.content, got)
            else:
                self.forms[op.result] = em.captured(a)
        elif kind == SLOTGET:
            self.forms[op.result] = em.get(op.attr)
        elif kind == SLOTSET:
            x = op.args[0]
            content = em.cast(self.form(x), self.abstract(x), AVal(op.attr.type))
            em.set(op.attr, content)
        elif kind == CUT:
            em.block.ops.append(Op(CUT, em.ir.value(), (), None, em.loc))

    def slots_of(self, cell: Cell) -> CellSlots:
        if cell.content is None:
            return CellSlots((), _NOTHING)
        made = tuple(Slot(cell.name, a.type) for a in leaves(cell.content))
        return CellSlots(made, cell.content)

    def fill(self, target: CellSlots, x: Operand) -> None:
        em = self.em
        operands = em.passed(self.form(x), self.abstract(x), target.content)
        for slot, v in zip(target.slots, operands):
            em.set(slot, v)

    def check_bound(self, op: Op) -> Form:
        """The value, after UnboundLocalError where it is not bound."""
        em, x = self.em, op.args[1]
        name = self.abstract(op.args[2]).const
        flag = self.flags.get(x, Const(True)) if isinstance(x, Value) else Const(False)
        if isinstance(flag, Const) and flag.value:
            return self.form(x)
        fail, go_on = em.ir.block(), em.ir.block()
        if isinstance(flag, Value):
            em.block.term = Branch(flag, Edge(go_on.id), Edge(fail.id), em.loc)
        else:
            em.block.term = Jump(Edge(fail.id), em.loc)
        em.block = fail
        message = f"cannot access local variable '{name}' where it is not associated with a value"
        exc = em.call(UnboundLocalError, (Const(message),), types.pyobject)
        fail.term = Raise(exc, None, em.loc)
        if isinstance(flag, Const) or op.result not in self.spec.values:
            del em.ir.blocks[go_on.id]
            raise Unreachable
        em.block = go_on
        return self.form(x)

    # -- terminators ---------------------------------------------------------------------------
    def branch(self, term: Branch) -> None:
        em, edges = self.em, self.spec.edges
        if term.then not in edges or term.orelse not in edges:
            (edge,) = [e for e in term.edges if e in edges]
            em.block.term = Jump(self.edge(edge), em.loc)
            return
        a = self.abstract(term.cond)
        cond = self.form(term.cond)
        if a.type is not _BOOL:
            if is_array(a.type):
                cond, a = em.call(prims.load, (cond,), a.type.dtype), AVal(a.type.dtype)
            if a.type is not _BOOL:
                cond = em.call(operator.ne, (cond, Const(convert_constant(0, a.type))), _BOOL)
        then, orelse = self.edge(term.then), self.edge(term.orelse)
        em.block.term = Branch(cond, then, orelse, em.loc)

    def edge(self, edge: Edge, block: Block | None = None, item: Any = None) -> Edge:
        """The twin of an edge: to the loop's latch if it goes back to an iteration."""
        em, spec = self.em, self.spec
        target = self.ir.blocks[edge.target]
        params = target.params
        operands: list[Operand] = []
        if target.id in self.counters and not self.goes_back(edge):
            operands.append(self.start_of(target))
        if item is not None:
            operands += em.passed(item[0], item[1], spec.values[params[0]])
            params = params[1:]
        for p, x in zip(params, edge.args):
            to = spec.values.get(p)
            if to is None:
                continue
            if self.is_unset(x):
                operands += self.em.undefined(to)
            else:
                operands += em.passed(self.form(x), self.abstract(x), to)
        for p, x in zip(params, edge.args):
            if p in spec.maybe:
                operands.append(self.bound_flag(x))
        if target.id in self.counters and self.goes_back(edge):
            return Edge(self.latch(target).id, operands)
        return Edge(self.blocks[target.id].id, operands)

    def is_unset(self, x: Operand) -> bool:
        if isinstance(x, Undef):
            return x.type is None
        return isinstance(x, Value) and x not in self.spec.values

    def bound_flag(self, x: Operand) -> Operand:
        if self.is_unset(x):
            return Const(False)
        return self.flags.get(x, Const(True)) if isinstance(x, Value) else Const(True)

    def goes_back(self, edge: Edge) -> bool:
        return self.index[self.current] >= self.index[edge.target]

    def start_of(self, header: Block) -> Operand:
        """The counter's first value: the range's start, or zero."""
        term = header.term
        assert isinstance(term, ForIter)
        source = self.spec.loops[header.id].source
        if iteration.counts_by_itself(source):
            return self.form(term.iterator)[0][0]
        return Const(0)

    def latch(self, header: Block) -> Block:
        """The one block that goes back to a loop's header: it advances the counter."""
        found = self.latches.get(header.id)
        if found is None:
            em = self.em
            twin = self.blocks[header.id]
            found = em.ir.block([em.ir.value(p.name, p.type) for p in twin.params[1:]])
            self.latches[header.id] = found
        return found

    def close_loop(self, header: int, latch: Block) -> None:
        em = self.em
        source = self.spec.loops[header].source
        step: Operand = Const(1)
        if iteration.counts_by_itself(source):
            step = Const(source.elements[2].const)
        em.block, em.loc = latch, self.place(self.ir.blocks[header].term.loc)
        following = em.call(operator.add, (self.counters[header], step), _INT)
        latch.term = Jump(Edge(self.blocks[header].id, (following, *latch.params)), em.loc)

    def iterate(self, block: Block, term: ForIter) -> None:
        em = self.em
        loop = self.spec.loops[block.id]
        counter = self.counters[block.id]
        source, count = self.form(term.iterator)
        test, stop = operator.lt, count
        alone = iteration.counts_by_itself(loop.source)
        if alone:
            stop = source[1]
            if loop.source.elements[2].const < 0:
                test = operator.gt
        cond = em.call(test, (counter, stop), _BOOL)
        header, body = em.block, em.ir.block()
        leave = self.edge(term.exhausted)
        header.term = Branch(cond, Edge(body.id), leave, em.loc)
        em.block = body
        item: Form = counter
        a: Abstract = INT
        if not alone:
            if isinstance(loop.source, ATuple) and loop.source.cls is range:
                scaled = em.call(operator.mul, (counter, source[2]), _INT)
                item = em.call(operator.add, (source[0], scaled), _INT)
            else:
                item = loop.item.emit(em, (source, counter))
                assert loop.item.result is not None
                a = loop.item.result
        em.block.term = Jump(self.edge(term.body, None, (item, a)), em.loc)

    def raise_(self, term: Raise) -> None:
        em = self.em
        if term.exc is None:
            raise TypingError("an exception is raised again", loc=term.loc)
        cause = None if term.cause is None else self.exception(term.cause)
        em.block.term = Raise(self.exception(term.exc), cause, em.loc)

    def exception(self, x: Operand) -> Operand:
        """The operations that make an exception; they run in Python, after the failure."""
        a, form = self.abstract(x), self.form(x)
        if isinstance(a, ATuple):
            return self.message(form, a)
        return self.made(a.const, ()) if isinstance(a.const, type) else form

    def message(self, form: Form, a: Abstract) -> Operand:
        """An exception or a part of one: text is put together then."""
        if not isinstance(a, ATuple):
            return form
        parts = [self.message(f, e) for f, e in zip(form, a.elements)]
        if isinstance(a.cls, Text):
            return self.made(a.cls.maker, parts)
        if isinstance(a.cls, type) and issubclass(a.cls, BaseException):
            return self.made(a.cls, parts)
        return self.made(build_list if a.cls is list else build_tuple, parts)

    def made(self, callee: Any, parts: Any) -> Operand:
        return self.em.call(callee, parts, types.pyobject)

    # -- the end -------------------------------------------------------------------------------
    def finish(self) -> Form:
        em, spec = self.em, self.spec
        if self.outermost:
            for block, form, a, loc in self.returns:
                em.block, em.loc = block, loc
                result = widen(spec.result) if spec.result is not None else a
                operands = em.passed(form, a, result)
                value = em.call(prims.pack, operands, _tuple_type(result))
                block.term = Return(value, em.loc)
            return None
        if not self.returns:
            return None
        if len(self.returns) == 1:
            block, form, a, _ = self.returns[0]
            em.block = block
            return em.cast(form, a, spec.result)
        join = em.ir.block()
        result = em.params(spec.result, join.params)
        for block, form, a, loc in self.returns:
            em.block, em.loc = block, loc
            block.term = Jump(Edge(join.id, em.passed(form, a, spec.result)), em.loc)
        em.block = join
        return result


def _holds(a: Abstract, cell: Cell) -> bool:
    if isinstance(a, ATuple):
        return any(_holds(e, cell) for e in a.elements)
    return a.const is cell


def _tuple_type(result: Abstract) -> Any:
    return types.Tuple([a.type for a in leaves(result)])
