"""Python function -> IR.

The instructions are cut into blocks, then each block is run once on the abstract stack machine, in
reverse postorder. A block with one way in continues from the state at its end; a join gets a
parameter for each live local, and each stack entry, on whose value the ways in differ or, before a
loop's back edges are known, may differ. What turns out needless is removed by `canonicalize`.

A handler is a join of all the states in which exceptions may leave for it. It can have no
parameters but the exception, so where a local has several values in these states, the local lives
in a slot, and all is done again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..errors import LiftError, NotLiftable, UnsupportedPython
from ..ir.canonical import canonicalize, minimise_params, remove_dead_params
from ..ir.core import GLOBAL, IR, Info, Jump, Loc, Operand, Raise, Reraise, Slot, Undef, Value
from .decode import Handler, decode, handlers, local_names
from .flow import Flow, RawBlock, analyse
from .machine import LASTI, MARKERS, Join, Machine, Pending, saved, user_name
from .opcodes import Table
from .sends import fold

VERSIONS = ((3, 11), (3, 12), (3, 13))

_FRAME_READERS = ("locals", "vars", "dir", "eval", "exec")


def table() -> Table:
    """The handlers of instructions of the running version."""
    return _table(sys.version_info[:2])


@lru_cache(maxsize=1)
def _table(version: tuple[int, int]) -> Table:
    if version not in VERSIONS:
        raise UnsupportedPython(
            f"Python {version[0]}.{version[1]} is not supported",
            hint="Use CPython 3.11, 3.12 or 3.13.",
        )
    return import_module(f"{__package__}.opcodes_{version[0]}{version[1]}").TABLE


def described(f: Any) -> str:
    """What an object that is no Python function is, for messages."""
    if isinstance(f, type):
        return f"the class {f.__qualname__}"
    if callable(f) and hasattr(f, "__name__"):
        return f"{f.__name__}, which is written in C"
    return f"{f!r:.60}, an object of type {type(f).__name__}"


def lift(f: Callable[..., Any]) -> IR:
    """The IR of a Python function (of an ``@njit`` dispatcher: of the function it compiles; its
    options are kept in ``info.options``; of a bound method: of its function).

    Raises NotLiftable if there is no Python code behind ``f``, LiftError if the code holds a
    construct that is not read, UnsupportedPython on other versions of CPython.
    """
    table()
    options: Mapping[str, Any] = {}
    if isinstance(getattr(f, "py_func", None), FunctionType):
        options = dict(getattr(f, "targetoptions", {}))
        f = f.py_func  # type: ignore[attr-defined]
    if isinstance(f, MethodType):
        f = f.__func__
    if not isinstance(f, FunctionType):
        raise NotLiftable(
            f"there is no Python code behind {described(f)}",
            hint="Pass a function written in Python; one that calls this, if need be.",
        )
    code = f.__code__
    info = describe(code, f.__globals__)
    info.name, info.qualname, info.module = f.__name__, f.__qualname__, f.__module__
    info.defaults, info.kwdefaults = f.__defaults__ or (), dict(f.__kwdefaults__ or {})
    info.closure, info.doc = f.__closure__ or (), f.__doc__
    info.annotations, info.options = dict(f.__annotations__), options
    info.attributes = dict(f.__dict__)
    info.type_params = getattr(f, "__type_params__", ())
    return build(code, info)


def lift_code(code: CodeType, globals: dict[str, Any] | None = None) -> IR:
    """The IR of a code object by itself."""
    table()
    return build(code, describe(code, {} if globals is None else globals))


def describe(code: CodeType, globals: dict[str, Any]) -> Info:
    """What a code object says of its function."""
    varargs, varkw = bool(code.co_flags & 4), bool(code.co_flags & 8)
    n = code.co_argcount + code.co_kwonlyargcount + varargs + varkw
    doc = code.co_consts[0] if code.co_consts else None  # the docstring or None
    return Info(
        name=code.co_name,
        qualname=code.co_qualname,
        module=globals.get("__name__", "__main__"),
        file=code.co_filename,
        line=code.co_firstlineno,
        posonly=code.co_posonlyargcount,
        kwonly=code.co_kwonlyargcount,
        varargs=varargs,
        varkw=varkw,
        argnames=code.co_varnames[:n],
        globals=globals,
        freevars=code.co_freevars,
        flags=code.co_flags,
        doc=doc if isinstance(doc, str) else None,
    )


def build(code: CodeType, info: Info) -> IR:
    """Run the code on the abstract machine, until it is known which locals live in slots: those of
    which a handler finds several values. (A handler that turns out to be reached by no exception
    does not count.)"""
    instrs, table = fold(decode(code)), handlers(code)
    names = local_names(code)
    nargs, first_free = len(info.argnames), len(names) - len(code.co_freevars)
    given = (1 << nargs) - 1 | ((1 << len(names)) - (1 << first_free))
    slots: dict[int, Slot] = {}
    while True:
        flow = analyse(instrs, table, len(names), given)
        machine = Machine(IR(info), code, slots)
        joins = walk(machine, flow, given)
        several = settle_handlers(machine, joins)
        if several:
            if several <= slots.keys():
                raise machine.refuse("a variable of a comprehension that a handler reads")
            slots = {**slots, **{i: Slot(user_name(names[i]) or names[i]) for i in sorted(several)}}
            continue
        ir = canonicalize(machine.ir)
        idle = idle_handlers(ir, joins) if slots else set()
        if not idle:
            break
        table, slots = [h for h in table if h.target not in idle], {}
    refuse_frame_readers(ir)
    return ir


def walk(m: Machine, flow: Flow, given: int) -> dict[int, Join]:
    """Run all blocks once, and fill in the arguments of all edges."""
    m.restored = flow.cleared
    start(m, given, flow.blocks[0].start)
    joins: dict[int, Join] = {}
    guards = {raw.start: raw.handler for raw in flow.blocks}
    left = flow.blocks
    while any(raw.start in m.edges for raw in left):  # once, but for what handlers alone lead to
        for raw in left:
            if raw.start in m.edges:
                joins[raw.start] = enter(m, raw, flow)
                run(m, raw, guards)
        left = [raw for raw in left if raw.start not in joins]
        for offset in m.interrupts.keys() - m.edges.keys():
            m.edges[offset] = m.interrupts[offset]
    for offset, join in joins.items():
        for pending in m.edges[offset]:
            close(pending, join)
    return joins


def start(m: Machine, given: int, offset: int) -> None:
    """The entry block: arguments, free cells, and the jump to the first instruction."""
    m.loc = Loc(m.code.co_filename, m.code.co_firstlineno, m.code.co_qualname)
    nargs = len(m.ir.info.argnames)
    args = [m.ir.value(m.value_names[i]) for i in range(nargs)]
    m.block.params = args
    unbound: list[Operand] = [Undef(m.plain_name(i)) for i in range(len(m.local_names))]
    m.enter(m.block, unbound, [], given)
    for i, arg in enumerate(args):
        m.write(i, arg)
    m.free_cells()
    m.jump(offset)


def run(m: Machine, raw: RawBlock, guards: dict[int, Handler | None]) -> None:
    table_ = table()
    for ins in raw.instrs:
        m.loc = ins.loc
        handle = table_.get(ins.op)
        if handle is None:
            raise m.refuse(f"the instruction {ins.op}", ins)
        if ins.target is not None and ins.target <= ins.offset and raw.handler is not None:
            inside = guards.get(ins.target)
            if inside is not None and inside.target == raw.handler.target:
                m.may_be_interrupted()
        handle(m, ins)
    if not m.done and raw.succs:
        m.jump(raw.succs[0])
    elif not m.done:
        m.block.term = Raise(None, None, m.loc)  # not reached: a local was unbound


# -- joins -----------------------------------------------------------------------------------------
def enter(m: Machine, raw: RawBlock, flow: Flow) -> Join:
    """Set the machine up at the start of a block, with parameters where the ways in may differ."""
    ways = m.edges[raw.start]
    first = ways[0]
    locals, stack = list(first.locals), list(first.stack)
    join = Join(m.ir.block(), [], [], locals)
    if raw.catches and raw.npreds:
        raise m.refuse("a jump into an exception handler", raw.instrs[0])
    if raw.npreds > 1 or raw.catches:
        known = len(ways) == raw.npreds and not raw.catches
        join.locals = differing_locals(m, raw, flow, ways, known)
        for i in join.locals:
            locals[i] = m.ir.value(m.value_names[i])
        for i, x in enumerate(stack):
            if not isinstance(x, MARKERS) and not (known and agree([w.stack[i] for w in ways])):
                join.stack.append(i)
                stack[i] = m.ir.value()
        inside = [*(locals[i] for i in join.locals), *(stack[i] for i in join.stack)]
        join.block.params = [x for x in inside if isinstance(x, Value)]
        join.inside = list(locals)
    if raw.catches:
        join.exc = m.ir.value()
        stack += [LASTI, join.exc] if lasti(flow, raw.start) else [join.exc]
    m.enter(join.block, locals, stack, raw.bound, raw.handler)
    return join


def lasti(flow: Flow, handler: int) -> bool:
    """Whether the handler finds the place of the exception on the stack."""
    return any(
        b.handler.lasti
        for b in flow.blocks
        if b.handler is not None and b.handler.target == handler
    )


def differing_locals(
    m: Machine, raw: RawBlock, flow: Flow, ways: list[Pending], known: bool
) -> list[int]:
    """The live locals that need a parameter. With back edges to come: those with a second
    definition somewhere, being unbound at the start counted as one."""
    out = []
    elsewhere = m.slots.keys() - saved(ways[0].stack) if m.slots else ()
    for i in range(len(m.local_names)):
        if not raw.live >> i & 1 or i in elsewhere:
            continue
        needed = not agree([w.locals[i] for w in ways])
        if not needed and not known:
            argument = i < len(m.ir.info.argnames) or i >= m.first_free
            unbound = not (argument or raw.bound >> i & 1)
            needed = flow.stores[i] + argument + unbound > 1
        if needed:
            out.append(i)
    return out


def agree(xs: list[Operand]) -> bool:
    first = xs[0]
    return all(x is first or x == first for x in xs)


def close(pending: Pending, join: Join) -> None:
    """Fill in the arguments of an edge."""
    pending.edge.target = join.block.id
    pending.edge.args = tuple(
        [pending.locals[i] for i in join.locals] + [pending.stack[i] for i in join.stack]
    )


# -- handlers --------------------------------------------------------------------------------------
def settle_handlers(m: Machine, joins: dict[int, Join]) -> set[int]:
    """Give each handler the exception as its one parameter, and each block its handler. Where that
    cannot be, as a local has several values when exceptions leave: the locals."""
    caught = {offset: join for offset, join in joins.items() if join.exc is not None}
    if not caught:
        return set()
    exits = [with_edge(m, pending) for offset in caught for pending in m.edges[offset]]
    minimise_params(m.ir)
    remove_dead_params(m.ir)
    several: set[int] = set()
    for join in caught.values():
        left = set(join.block.params)
        found = {i for i in join.locals if join.inside[i] in left}
        if len(found) < len(left):
            raise m.refuse("a handler that finds the stack in several states")
        several |= found
    if several:
        return several
    for exit in exits:
        del m.ir.blocks[exit]
    for join in caught.values():
        assert join.exc is not None
        join.block.params = [join.exc]
    for block, offset in m.handled.items():
        m.ir.blocks[block].handler = caught[offset].block.id if offset in caught else None
    return set()


def idle_handlers(ir: IR, joins: dict[int, Join]) -> set[int]:
    """The handlers that nothing leads to any more, but for those that let the exception go on."""
    left = {id(b) for b in ir}
    gone = {
        offset: join
        for offset, join in joins.items()
        if join.exc is not None and id(join.block) not in left
    }
    return {
        offset
        for offset, join in gone.items()
        if join.block.ops or not isinstance(join.block.term, Reraise)
    }


def with_edge(m: Machine, pending: Pending) -> int:
    """A block for an edge along which an exception leaves, as long as arguments are compared."""
    block = m.ir.block()
    block.term = Jump(pending.edge)
    return block.id


# -- what is refused -------------------------------------------------------------------------------
def refuse_frame_readers(ir: IR) -> None:
    """Names of lowered locals are not those of the source: what reads them would be wrong."""
    for op in ir.ops():
        if op.kind == GLOBAL and op.attr in _FRAME_READERS and op.attr not in ir.info.globals:
            called = [c for c in ir.ops() if c.args and c.args[0] is op.result]
            if op.attr == "locals" or any(len(c.args) < _NEEDED[op.attr] for c in called):
                what = f"{op.attr}(), which reads the frame, in {ir.info.qualname}: not lifted"
                raise LiftError(what, loc=op.loc)


_NEEDED = {"vars": 2, "dir": 2, "eval": 3, "exec": 3}
"""How many operands (callee included) a call needs not to read the frame."""
