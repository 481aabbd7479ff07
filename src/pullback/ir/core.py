"""The data structure: values, operations, terminators, blocks and the function that holds them.

A function is blocks; a block has parameters (no phis), operations and one terminator. Every
operation is a call unless it cannot be one. Values have ids that never change: inserting an
operation never renumbers another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, NamedTuple, Union


class Loc(NamedTuple):
    """Where an operation comes from. Inlined operations keep the file and function of their own."""

    file: str = "<unknown>"
    line: int = 0
    function: str = "<unknown>"
    col: int | None = None
    end_line: int | None = None
    end_col: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Value:
    """One SSA value. Its identity is itself; ``id`` names it in print, ``name`` is the user's name
    for it if it has one, ``type`` is set on typed IR (a Numba type)."""

    __slots__ = ("id", "name", "type")

    def __init__(self, id: int, name: str | None = None, type: Any = None) -> None:
        self.id = id
        self.name = name
        self.type = type

    def __repr__(self) -> str:
        return f"%{self.id}" if self.name is None else f"%{self.id}.{self.name}"


class Const:
    """A constant operand: any Python object, compared by type and content where that is safe."""

    __slots__ = ("value", "_key", "_hash")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key: tuple[Any, ...] | None = None
        self._hash: int | None = None

    def key(self) -> tuple[Any, ...]:
        """A hashable key under which two constants are interchangeable (1, 1.0 and True differ,
        0.0 and -0.0 differ; mutable or unhashable objects are equal by identity alone)."""
        if self._key is None:
            self._key = const_key(self.value)
        return self._key

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Const) and self.key() == other.key())

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.key())
        return self._hash

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


def const_key(value: Any) -> tuple[Any, ...]:
    kind = type(value)
    if kind in (float, complex):
        return (kind, repr(value))
    if kind in (tuple, frozenset):
        parts = [const_key(v) for v in value]
        return (kind, tuple(parts) if kind is tuple else frozenset(parts))
    if kind in (int, bool, str, bytes, type(None)):
        return (kind, value)
    return (kind, id(value))


class Undef:
    """The operand of a name that is not bound on this path (``name``), or a typed value that is
    never read on it (``type``)."""

    __slots__ = ("name", "type")

    def __init__(self, name: str | None = None, type: Any = None) -> None:
        self.name = name
        self.type = type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Undef) and (self.name, self.type) == (other.name, other.type)

    def __hash__(self) -> int:
        return hash((Undef, self.name))

    def __repr__(self) -> str:
        return f"undef {self.name}" if self.name else "undef"


Operand = Union[Value, Const, Undef]


class Slot:
    """A mutable local that is not SSA: cotangent accumulators, and what lives into a handler."""

    __slots__ = ("name", "type")

    def __init__(self, name: str, type: Any = None) -> None:
        self.name = name
        self.type = type

    def __repr__(self) -> str:
        return f"${self.name}"


CALL = "call"  #        args = (callee, *arguments);  attr = names of the trailing keyword arguments
GLOBAL = "global"  #    attr = name: read a global, else a builtin
CLOSURE = "closure"  #  attr = ClosureSpec; args = (*cells, *defaults, *kwdefaults, *annotations)
NEWCELL = "newcell"  #  args = (initial content or Undef,); attr = name
FREECELL = "freecell"  # attr = name: the cell the function closes over
GETCELL = "getcell"  #  args = (cell,); attr = name: read it, NameError if empty
SETCELL = "setcell"  #  args = (cell, content or Undef); attr = name
SLOTGET = "slotget"  #  attr = Slot: read it, UnboundLocalError if empty
SLOTSET = "slotset"  #  args = (content or Undef,); attr = Slot
CUT = "cut"  #          between the forward and the reverse half of a combined function
YIELD = "yield"  #      args = (value,): suspend with it; the result is what is sent
DELEGATE = "delegate"  # args = (iterator,): yield from it to its end; the result is its own
AWAIT = "await"  #      args = (awaitable iterator,): the same for a coroutine

SUSPENSIONS = (YIELD, DELEGATE, AWAIT)
KINDS = (
    CALL, GLOBAL, CLOSURE, NEWCELL, FREECELL, GETCELL, SETCELL, SLOTGET, SLOTSET, CUT, *SUSPENSIONS,
)  # fmt: skip


@dataclass(frozen=True)
class ClosureSpec:
    """What makes a nested function: its code and which of the operands are what."""

    code: CodeType
    qualname: str
    ncells: int = 0
    ndefaults: int = 0
    kwdefaults: tuple[str, ...] = ()
    annotations: bool = False


class Op:
    """One operation. ``args`` are its operands, ``attr`` what is static about it. ``target`` is
    set by typing on calls: what the call was resolved to."""

    __slots__ = ("kind", "result", "args", "attr", "loc", "target", "known")

    def __init__(
        self,
        kind: str,
        result: Value,
        args: tuple[Operand, ...] = (),
        attr: Any = None,
        loc: Loc = Loc(),
        target: Any = None,
    ) -> None:
        self.kind = kind
        self.result = result
        self.args = args
        self.attr = attr
        self.loc = loc
        self.target = target
        self.known: tuple[tuple[Operand, ...], Any] | None = None  # see `passes.effects`

    # -- calls ---------------------------------------------------------------------------------
    @property
    def fn(self) -> Operand:
        """The callee of a call."""
        return self.args[0]

    @property
    def callee(self) -> Any:
        """The Python object that is called, if it is a constant, else None."""
        if self.kind == CALL:
            fn = self.args[0]
            if type(fn) is Const:
                return fn.value
        return None

    @property
    def kwnames(self) -> tuple[str, ...]:
        return self.attr or ()

    @property
    def posargs(self) -> tuple[Operand, ...]:
        """Positional arguments of a call."""
        end = len(self.args) - len(self.kwnames)
        return self.args[1:end]

    @property
    def kwargs(self) -> dict[str, Operand]:
        """Keyword arguments of a call."""
        names = self.kwnames
        return dict(zip(names, self.args[len(self.args) - len(names) :])) if names else {}

    def is_call(self, *callees: Any) -> bool:
        """Whether this is a call, of one of the given functions if any are given."""
        if self.kind != CALL:
            return False
        if not callees:
            return True
        fn = self.args[0]
        if type(fn) is Const:
            value = fn.value
            for c in callees:
                if c is value:
                    return True
        return False

    def map(self, f: Callable[[Operand], Operand]) -> None:
        """Replace each operand by f(operand), in place."""
        self.args = tuple(f(a) for a in self.args)

    def replace(self, by: Mapping[Value, Operand]) -> None:
        """Replace the values among the operands that stand in ``by``, in place."""
        for x in self.args:
            if type(x) is Value and x in by:
                self.args = tuple([by.get(x, x) if type(x) is Value else x for x in self.args])
                return

    def copy(self, result: Value | None = None) -> Op:
        return Op(self.kind, result or self.result, self.args, self.attr, self.loc, self.target)

    def __repr__(self) -> str:
        from .printer import format_op

        return format_op(self)


class Edge:
    """A jump to a block with its arguments, one for each of the block's parameters."""

    __slots__ = ("target", "args")

    def __init__(self, target: int, args: Iterable[Operand] = ()) -> None:
        self.target = target
        self.args = tuple(args)

    def __repr__(self) -> str:
        return f"b{self.target}({', '.join(map(repr, self.args))})"


class Terminator:
    """The end of a block. ``operands`` excludes what the edges carry."""

    __slots__ = ("loc",)
    loc: Loc

    @property
    def edges(self) -> tuple[Edge, ...]:
        return ()

    @property
    def operands(self) -> tuple[Operand, ...]:
        return ()

    def map(self, f: Callable[[Operand], Operand]) -> None:
        """Replace each operand by f(operand), those on the edges too, in place."""
        for edge in self.edges:
            edge.args = tuple(f(a) for a in edge.args)

    def retarget(self, f: Callable[[int], int]) -> None:
        for edge in self.edges:
            edge.target = f(edge.target)

    def copy(self) -> Terminator:
        raise NotImplementedError


class Jump(Terminator):
    __slots__ = ("edge",)

    def __init__(self, edge: Edge, loc: Loc = Loc()) -> None:
        self.edge, self.loc = edge, loc

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (self.edge,)

    def copy(self) -> Jump:
        return Jump(Edge(self.edge.target, self.edge.args), self.loc)


class Branch(Terminator):
    """To ``then`` if ``cond`` is true (truth-tested), else to ``orelse``."""

    __slots__ = ("cond", "then", "orelse")

    def __init__(self, cond: Operand, then: Edge, orelse: Edge, loc: Loc = Loc()) -> None:
        self.cond, self.then, self.orelse, self.loc = cond, then, orelse, loc

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (self.then, self.orelse)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.cond,)

    def map(self, f: Callable[[Operand], Operand]) -> None:
        self.cond = f(self.cond)
        super().map(f)

    def copy(self) -> Branch:
        t, e = self.then, self.orelse
        return Branch(self.cond, Edge(t.target, t.args), Edge(e.target, e.args), self.loc)


class ForIter(Terminator):
    """The iteration step: to ``body`` with the next item as the FIRST argument (before the edge's
    own), or to ``exhausted``."""

    __slots__ = ("iterator", "body", "exhausted")

    def __init__(self, iterator: Operand, body: Edge, exhausted: Edge, loc: Loc = Loc()) -> None:
        self.iterator, self.body, self.exhausted, self.loc = iterator, body, exhausted, loc

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (self.body, self.exhausted)

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.iterator,)

    def map(self, f: Callable[[Operand], Operand]) -> None:
        self.iterator = f(self.iterator)
        super().map(f)

    def copy(self) -> ForIter:
        b, e = self.body, self.exhausted
        return ForIter(self.iterator, Edge(b.target, b.args), Edge(e.target, e.args), self.loc)


class Return(Terminator):
    __slots__ = ("value",)

    def __init__(self, value: Operand, loc: Loc = Loc()) -> None:
        self.value, self.loc = value, loc

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.value,)

    def map(self, f: Callable[[Operand], Operand]) -> None:
        self.value = f(self.value)

    def copy(self) -> Return:
        return Return(self.value, self.loc)


class Raise(Terminator):
    """Raise ``exc`` (from ``cause`` if given). With no ``exc``: re-raise."""

    __slots__ = ("exc", "cause")

    def __init__(self, exc: Operand | None, cause: Operand | None = None, loc: Loc = Loc()) -> None:
        self.exc, self.cause, self.loc = exc, cause, loc

    @property
    def operands(self) -> tuple[Operand, ...]:
        return tuple(x for x in (self.exc, self.cause) if x is not None)

    def map(self, f: Callable[[Operand], Operand]) -> None:
        self.exc = None if self.exc is None else f(self.exc)
        self.cause = None if self.cause is None else f(self.cause)

    def copy(self) -> Raise:
        return Raise(self.exc, self.cause, self.loc)


class Reraise(Terminator):
    """Let ``exc``, which a handler caught, go on: unlike by `Raise`, nothing is added to its
    traceback or context."""

    __slots__ = ("exc",)

    def __init__(self, exc: Operand, loc: Loc = Loc()) -> None:
        self.exc, self.loc = exc, loc

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (self.exc,)

    def map(self, f: Callable[[Operand], Operand]) -> None:
        self.exc = f(self.exc)

    def copy(self) -> Reraise:
        return Reraise(self.exc, self.loc)


class Block:
    """Parameters, operations, a terminator, and the block that handles its exceptions if any.

    Nothing jumps to a handler: it is entered when an exception leaves a block that names it, from
    any operation or from the terminator, and its one parameter is the exception."""

    __slots__ = ("id", "params", "ops", "term", "handler")

    def __init__(self, id: int, params: Iterable[Value] = ()) -> None:
        self.id = id
        self.params: list[Value] = list(params)
        self.ops: list[Op] = []
        self.term: Terminator = Unterminated()
        self.handler: int | None = None

    @property
    def edges(self) -> tuple[Edge, ...]:
        return self.term.edges

    @property
    def successors(self) -> tuple[int, ...]:
        return tuple([e.target for e in self.term.edges])

    def __repr__(self) -> str:
        return f"<block b{self.id}, {len(self.ops)} operations>"


class Unterminated(Terminator):
    """The terminator of a block under construction; the verifier refuses it."""

    __slots__ = ()

    def __init__(self) -> None:
        self.loc = Loc()

    def copy(self) -> Unterminated:
        return self


@dataclass
class Info:
    """What surrounds the body: name, signature, globals, closure, place in the source."""

    name: str = "f"
    qualname: str = "f"
    module: str = "__main__"
    file: str = "<unknown>"
    line: int = 1
    posonly: int = 0  #  how many of the arguments are positional only
    kwonly: int = 0  #   how many, after the positional ones, are keyword only
    varargs: bool = False
    varkw: bool = False
    argnames: tuple[str, ...] = ()  # in code-object order: positional, kw-only, *args, **kw
    defaults: tuple[Any, ...] = ()
    kwdefaults: Mapping[str, Any] = field(default_factory=dict)
    globals: dict[str, Any] = field(default_factory=dict)
    freevars: tuple[str, ...] = ()
    closure: tuple[Any, ...] = ()  # cells, one for each free variable
    flags: int = 0
    doc: str | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # of @njit, if it was one
    attributes: Mapping[str, Any] = field(default_factory=dict)  # the function's __dict__
    type_params: tuple[Any, ...] = ()


class IR:
    """A function. ``blocks`` maps id to block; the first is the entry, its parameters are the
    arguments, and nothing jumps to it.

    Reads like a mapping from value to operation::

        for value, op in ir.items(): ...
        ir[value]                      # the operation that defines it
        ir[value] = op                 # replace it
        del ir[value]
    """

    def __init__(self, info: Info | None = None) -> None:
        self.info = info or Info()
        self.blocks: dict[int, Block] = {}
        self._next_value = 0
        self._next_block = 0
        self.tree: Any = None  # the last dominator tree, see `dominators`

    # -- making --------------------------------------------------------------------------------
    def value(self, name: str | None = None, type: Any = None) -> Value:
        """A new value."""
        v = Value(self._next_value, name, type)
        self._next_value += 1
        return v

    def block(self, params: Iterable[Value] = ()) -> Block:
        """A new block at the end."""
        b = Block(self._next_block, params)
        self._next_block += 1
        self.blocks[b.id] = b
        return b

    @property
    def entry(self) -> Block:
        return next(iter(self.blocks.values()))

    @property
    def args(self) -> list[Value]:
        """The function's arguments."""
        return self.entry.params

    # -- reading -------------------------------------------------------------------------------
    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks.values())

    def __len__(self) -> int:
        return sum(len(b.ops) for b in self)

    def ops(self) -> Iterator[Op]:
        for b in self:
            yield from b.ops

    def items(self) -> Iterator[tuple[Value, Op]]:
        for op in self.ops():
            yield op.result, op

    def where(self, value: Value) -> tuple[Block, int]:
        """The block and position of the operation that defines ``value``."""
        for b in self:
            for i, op in enumerate(b.ops):
                if op.result is value:
                    return b, i
        raise KeyError(value)

    def __contains__(self, value: Value) -> bool:
        return any(op.result is value for op in self.ops())

    def __getitem__(self, value: Value) -> Op:
        b, i = self.where(value)
        return b.ops[i]

    def __setitem__(self, value: Value, op: Op) -> None:
        b, i = self.where(value)
        op.result = value
        b.ops[i] = op

    def __delitem__(self, value: Value) -> None:
        b, i = self.where(value)
        del b.ops[i]

    def predecessors(self) -> dict[int, list[int]]:
        """For each block, the blocks that jump to it (twice if by both edges)."""
        preds: dict[int, list[int]] = {b: [] for b in self.blocks}
        for b in self:
            for s in b.successors:
                preds[s].append(b.id)
        return preds

    # -- editing -------------------------------------------------------------------------------
    def insert_before(self, value: Value, op: Op) -> Value:
        b, i = self.where(value)
        b.ops.insert(i, op)
        return op.result

    def insert_after(self, value: Value, op: Op) -> Value:
        b, i = self.where(value)
        b.ops.insert(i + 1, op)
        return op.result

    def call(
        self,
        fn: Any,
        *args: Any,
        kwnames: tuple[str, ...] = (),
        name: str | None = None,
        type: Any = None,
        loc: Loc = Loc(),
    ) -> Op:
        """A new call operation (not yet in a block); what is not an operand becomes a constant."""
        operands = tuple(as_operand(a) for a in (fn, *args))
        return Op(CALL, self.value(name, type), operands, kwnames or None, loc)

    def substitute(self, mapping: Mapping[Value, Operand]) -> None:
        """Replace every use of each key by its value, chains followed."""

        def find(x: Operand) -> Operand:
            while isinstance(x, Value) and x in mapping:
                x = mapping[x]
            return x

        if not mapping:
            return
        final = {v: find(v) for v in mapping}
        for b in self:
            for op in b.ops:
                op.replace(final)
            b.term.map(find)

    def copy(self) -> IR:
        """A deep copy with the same ids and fresh values."""
        return self.copy_with_map()[0]

    def copy_with_map(self) -> tuple[IR, dict[Value, Value]]:
        new = IR(replace(self.info))
        new._next_value, new._next_block = self._next_value, self._next_block
        env: dict[Value, Value] = {}

        def twin(v: Value) -> Value:
            if v not in env:
                env[v] = Value(v.id, v.name, v.type)
            return env[v]

        def operand(x: Operand) -> Operand:
            return twin(x) if isinstance(x, Value) else x

        for b in self:
            nb = Block(b.id, [twin(p) for p in b.params])
            nb.handler = b.handler
            for op in b.ops:
                c = op.copy(twin(op.result))
                c.map(operand)
                nb.ops.append(c)
            nb.term = b.term.copy()
            nb.term.map(operand)
            new.blocks[b.id] = nb
        return new, env

    def __str__(self) -> str:
        from .printer import format_ir

        return format_ir(self)

    __repr__ = __str__


def as_operand(x: Any) -> Operand:
    """``x`` itself if it is an operand, else a constant that holds it."""
    return x if isinstance(x, (Value, Const, Undef)) else Const(x)
