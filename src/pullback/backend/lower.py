"""IR -> Python function.

Every block starts with an empty stack. Parameters are local slots; an edge copies its arguments in
parallel: it loads all, then stores in reverse, the stack being the temporary. Blocks are laid out
in reverse postorder, and an edge that needs instructions of its own from a block with several ways
out becomes a node of that order. A handler starts with the exception alone on the stack.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from ..errors import InvalidIR
from ..ir.core import (
    GLOBAL,
    IR,
    Block,
    Branch,
    Const,
    Edge,
    ForIter,
    Info,
    Jump,
    Raise,
    Reraise,
    Return,
    Undef,
    Value,
)
from ..ir.edit import handlers
from .assembler import CONDITIONAL_BACK
from .encoder import Encoder
from .exception_table import Guard
from .facts import checked_params, deletions, guarded_heads, stored_before
from .flow_forms import write_later
from .layout import Node, layout
from .lifetimes import Lifetimes
from .slots import Slots
from .stacking import Stacking

_OPTIMIZED_NEWLOCALS, _VARARGS, _VARKEYWORDS = 3, 4, 8
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Lowered(NamedTuple):
    """A code object, and the constants that it finds in its globals."""

    code: CodeType
    constants: dict[str, Any]


def lower(ir: IR, *, portable: bool = False) -> FunctionType:
    """The function that ``ir`` describes: same name, signature, defaults, globals and cells.

    With ``portable``, constants that Numba does not take from a code object (functions, types,
    arrays) are globals of the new function, which then has a globals dict of its own: these
    constants, and the globals that it reads as they are now.
    """
    info = ir.info
    lowered = lower_code(ir, portable=portable)
    globals_ = _own_globals(ir, lowered.constants) if portable else info.globals
    globals_.setdefault("__builtins__", builtins)  # as exec does: warnings look there
    if len(info.closure) != len(info.freevars):
        raise InvalidIR(f"{info.qualname}: {len(info.freevars)} free variables without their cells")
    f = FunctionType(lowered.code, globals_, info.name, info.defaults or None, info.closure)
    f.__kwdefaults__ = dict(info.kwdefaults) or None
    f.__annotations__ = dict(info.annotations)
    f.__qualname__, f.__module__, f.__doc__ = info.qualname, info.module, info.doc
    f.__dict__.update(info.attributes)
    if info.type_params:
        f.__type_params__ = info.type_params  # type: ignore[attr-defined]
    return f


def _own_globals(ir: IR, constants: dict[str, Any]) -> dict[str, Any]:
    read = {op.attr for op in ir.ops() if op.kind == GLOBAL}
    source = ir.info.globals
    return {
        "__name__": ir.info.module,
        "__builtins__": source.get("__builtins__", builtins),
        **{name: source[name] for name in sorted(read) if name in source},
        **constants,
    }


def lower_code(ir: IR, *, portable: bool = False, lets_go: bool = False) -> Lowered:
    """The code object alone, with the constants that it expects in the globals (``portable``).
    ``lets_go``: no intermediate result outlives its last use."""
    return Lowering(ir, portable, lets_go).run()


class Lowering:
    """One function on its way to a code object."""

    def __init__(self, ir: IR, portable: bool, lets_go: bool = False) -> None:
        self.ir, self.portable = ir, portable
        stacking = Stacking(ir)
        self.slots = Slots(ir, stacking.held)
        for op in ir.ops():
            if op.kind in ("slotget", "slotset"):
                self.slots.mutable(op.attr)
        self.slots.place_free_cells()
        self.e = Encoder(ir, stacking, self.slots, portable)
        self.asm = self.e.asm
        self.lifetimes = Lifetimes(ir, self.slots, portable, lets_go)
        self.handlers = handlers(ir)
        self.checked = checked_params(ir)
        clears = self.checked or any(op.kind == "newcell" for op in ir.ops())
        self.before = stored_before(ir, self.slots) if clears else {b: set() for b in ir.blocks}
        self._nodes: dict[tuple[int, int], bool] = {}

    def run(self) -> Lowered:
        order = layout(self.ir, self.needs_node)
        self.labels = {node: self.asm.label() for node in order}
        self._prologue()
        heads = guarded_heads(self.ir, [n.block for n in order if n.edge is None])
        for node, after in zip(order, [*order[1:], None]):
            self.after = after
            block = self.ir.blocks[node.block]
            self._mind_interrupts(block if node.edge is None and node.block in heads else None)
            self.asm.place(self.labels[node], int(node.edge is None and block.id in self.handlers))
            self.asm.guard = self._guard(block)
            if node.edge is None:
                self._block(block)
            else:
                self._edge_node(node)
        write_later(self.e)
        return Lowered(self._code(), self.e.constants)

    def _mind_interrupts(self, head: Block | None) -> None:
        """CPython (until 3.12) looks for the handler of an interrupt, which comes when a loop goes
        back to its head, at the instruction before the head."""
        if head is not None and self.asm.guard != self._guard(head):
            self.asm.guard = self._guard(head)
            self.asm.loc = head.ops[0].loc if head.ops else head.term.loc
            self.asm.emit("NOP")

    def _guard(self, block: Block) -> Guard | None:
        return None if block.handler is None else Guard(self.labels[Node(block.handler)])

    def _prologue(self) -> None:
        if self.ir.info.freevars:
            self.asm.emit("COPY_FREE_VARS", len(self.ir.info.freevars))
        line = self.ir.info.line
        self.asm.loc = self.asm.loc._replace(line=line, col=0, end_line=line, end_col=0)
        if self.ir.info.flags & _SUSPENDS:
            self.asm.emit("RETURN_GENERATOR")
            self.asm.emit("POP_TOP")
        self.asm.emit("RESUME", 0)

    # -- blocks -----------------------------------------------------------------------------------
    def _block(self, block: Block) -> None:
        start = len(self.asm.items)
        self.e.stored = set(self.before[block.id])
        if block.id in self.handlers:
            self._catch(block)
        self.dying: list[Value] = []
        skip = self.e.stacking
        deleting = deletions(block, skip.uses)
        for op, last in zip(block.ops, self.slots.ends[block.id].dying):
            self.dying += last
            if op.result not in skip.inline and op not in skip.items and op not in deleting:
                self.e.statement(op)
                self._let_go({self.slots.of.get(op.result, -1), *self._items(op)})
        self.asm.loc = block.term.loc
        self._terminator(block)
        if len(self.asm.items) == start and block is not self.ir.entry:
            self.asm.emit("NOP")  # keeps the block apart from the one behind it

    def _catch(self, block: Block) -> None:
        """Take the exception from the stack, and let go what is over."""
        self.asm.loc = block.ops[0].loc if block.ops else block.term.loc
        self.e.store(self.slots.of.get(block.params[0]))
        for slot in self.lifetimes.caught(block):
            self.e.constant(None)
            self.asm.emit("STORE_FAST", slot)

    def _let_go(self, kept: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        """Clear the locals of what has died since the last statement."""
        for slot in self.lifetimes.dying(self.dying, kept):
            self.asm.emit("DELETE_FAST", slot)
        self.dying = []

    def _items(self, op: Any) -> list[int]:
        """The locals that an unpacking stores to."""
        items = self.e.stacking.unpackings.get(op, ())
        return [self.slots.of[x] for x in items if x is not None and x in self.slots.of]

    def _terminator(self, block: Block) -> None:
        term = block.term
        if isinstance(term, Jump):
            self._edge_code(block, term.edge)
            self._let_go(self._params_of(term.edge))
            self._goto(Node(term.edge.target))
        elif isinstance(term, Branch):
            self._branch(block, term)
        elif isinstance(term, ForIter):
            self._for(block, term)
        elif isinstance(term, Return):
            self._return(term)
        elif isinstance(term, Raise):
            parts = term.operands
            self.e.push(parts)
            self._let_go_at_end(block)
            self.asm.loc = term.loc
            self.asm.emit("RAISE_VARARGS", len(parts))
        elif isinstance(term, Reraise):
            self.e.push(term.operands)
            self._let_go_at_end(block)
            self.asm.loc = term.loc
            self.asm.emit("RERAISE", 0)
        else:
            raise InvalidIR(f"b{block.id} of {self.ir.info.qualname} has no terminator")

    def _let_go_at_end(self, block: Block) -> None:
        """Before the block is left, when the operands of its end are on the stack."""
        for slot in self.lifetimes.at_end(block):
            self.asm.emit("DELETE_FAST", slot)
        self._let_go(set(self.lifetimes.at_end(block)))

    def _return(self, term: Return) -> None:
        x = term.value
        if isinstance(x, Const) and self.e.target.return_const and not self.portable:
            self.asm.emit("RETURN_CONST", self.e.const_index(x.value))
            return
        self.e.push([x])
        self.asm.loc = term.loc
        self.asm.emit("RETURN_VALUE")

    # -- ways out ---------------------------------------------------------------------------------
    def _goto(self, node: Node) -> None:
        if node != self.after:
            self.asm.jump("JUMP", self.labels[node])

    def _way(self, block: Block, k: int) -> Node:
        """Where edge k of a block first leads."""
        edge = block.term.edges[k]
        return Node(block.id, k) if self.needs_node(block, k) else Node(edge.target)

    def _branch(self, block: Block, term: Branch) -> None:
        """Where conditional jumps lead forward alone, jump over a jump to go back."""
        then, orelse = self._way(block, 0), self._way(block, 1)
        if (then == self.after or orelse != self.after) and not self._is_back(orelse):
            self._jump_if_false(block, term, orelse)
            self._goto(then)
        elif not self._is_back(then):
            self._jump_if_true(block, term, then)
            self._goto(orelse)
        else:
            over = Node(-1)
            self.labels[over] = self.asm.label()
            self._jump_if_false(block, term, over)
            self._goto(then)
            self.asm.place(self.labels[over])
            self._goto(orelse)

    def _params_of(self, edge: Edge) -> set[int]:
        return {self.slots.of[p] for p in self.ir.blocks[edge.target].params if p in self.slots.of}

    def _jump_if_false(self, block: Block, term: Branch, node: Node) -> None:
        op = self.e.on_stack(term.cond)
        if op is not None and op.callee in _NONE_TESTS and op.args[2:] == (Const(None),):
            self.e.push(op.args[1:2])
            self._let_go_at_end(block)
            self.asm.loc = op.loc
            self.asm.jump(_NONE_TESTS[op.callee], self.labels[node])
            return
        self.e.condition(term.cond)
        self._let_go_at_end(block)
        self.asm.loc = term.loc
        self.asm.jump("JUMP_IF_FALSE", self.labels[node])

    def _jump_if_true(self, block: Block, term: Branch, node: Node) -> None:
        self.e.condition(term.cond)
        self._let_go_at_end(block)
        self.asm.loc = term.loc
        self.asm.jump("JUMP_IF_TRUE", self.labels[node])

    def _is_back(self, node: Node) -> bool:
        """Whether a conditional jump cannot lead to the node."""
        return not CONDITIONAL_BACK and self.asm.is_placed(self.labels[node])

    def _for(self, block: Block, term: ForIter) -> None:
        self.e.push([term.iterator])
        self._let_go()
        self.asm.loc = term.loc
        self.asm.jump("FOR_ITER", self.labels[Node(block.id, 1)])
        body = self.ir.blocks[term.body.target]
        self.e.store(self.slots.of.get(body.params[0]))
        self.asm.emit("POP_TOP")
        self._copies(term.body, body.params[1:])
        self._goto(Node(body.id))

    def _edge_node(self, node: Node) -> None:
        block = self.ir.blocks[node.block]
        assert node.edge is not None
        edge = block.term.edges[node.edge]
        self.asm.loc = block.term.loc
        if isinstance(block.term, ForIter):
            self.e.target.loop_end()
        self.e.stored = set(self.before[block.id]) | self.defined(block)
        self._edge_code(block, edge)
        self._goto(Node(edge.target))

    # -- edges ------------------------------------------------------------------------------------
    def needs_node(self, block: Block, k: int) -> bool:
        """Whether edge k of a block with several needs a place of its own."""
        key = (block.id, k)
        if key not in self._nodes:
            self._nodes[key] = self._needs_node(block, k)
        return self._nodes[key]

    def _needs_node(self, block: Block, k: int) -> bool:
        term = block.term
        if isinstance(term, ForIter):
            return k == 1
        if not isinstance(term, Branch):
            return False
        edge = term.edges[k]
        params = self.ir.blocks[edge.target].params
        return bool(self._moves(edge, params) or self._clears(edge, params)) or bool(
            self.lifetimes.leaving(block, edge)
        )

    def _edge_code(self, block: Block, edge: Edge) -> None:
        self._copies(edge, self.ir.blocks[edge.target].params)
        for slot in self.lifetimes.leaving(block, edge):
            self.asm.emit("DELETE_FAST", slot)

    def _copies(self, edge: Edge, params: list[Value]) -> None:
        moves = self._moves(edge, params)
        self.e.push([x for _, x in moves])
        for p, _ in reversed(moves):
            self.e.store(self.slots.of[p])
        for p in self._clears(edge, params):
            self.e.clear(self.slots.of[p])

    def _moves(self, edge: Edge, params: list[Value]) -> list[tuple[Value, Any]]:
        """The copies that change a slot. What is never read may stay as it is, unless it might be
        copied on, which on CPython needs something there."""
        of = self.slots.of
        out: list[tuple[Value, Any]] = []
        for p, x in zip(params, edge.args):
            if isinstance(x, Undef):
                if not self.portable and p not in self.checked:
                    out.append((p, Const(None)))
            elif not isinstance(x, Value) or of.get(x) != of[p]:
                out.append((p, x))
        return out

    def _clears(self, edge: Edge, params: list[Value]) -> list[Value]:
        """The parameters that are unbound here and whose binding is checked later."""
        return [
            p
            for p, x in zip(params, edge.args)
            if isinstance(x, Undef) and p in self.checked and not self.portable
        ]

    def defined(self, block: Block) -> set[int]:
        return {self.slots.of[op.result] for op in block.ops if op.result in self.slots.of}

    # -- the code object --------------------------------------------------------------------------
    def _code(self) -> CodeType:
        info, e = self.ir.info, self.e
        assembled = self.asm.assemble()
        names = tuple(self.slots.names)
        return CodeType(
            len(self.ir.args) - info.kwonly - info.varargs - info.varkw,
            info.posonly,
            info.kwonly,
            len(names),
            assembled.stacksize,
            _flags(info),
            assembled.code,
            tuple(e.consts),
            tuple(e.names),
            names,
            info.file,
            info.name,
            info.qualname,
            info.line,
            assembled.linetable,
            assembled.exceptiontable,
            info.freevars,
            tuple(names[i] for i in sorted(self.slots.cells)),
        )


_NONE_TESTS: dict[Any, str] = {operator.is_: "JUMP_IF_NOT_NONE", operator.is_not: "JUMP_IF_NONE"}
"""Tests for None, and the jumps that are taken if they fail."""


def _flags(info: Info) -> int:
    flags = info.flags | _OPTIMIZED_NEWLOCALS
    for flag, on in ((_VARARGS, info.varargs), (_VARKEYWORDS, info.varkw)):
        flags = flags | flag if on else flags & ~flag
    return flags
