"""Python function -> IR.

The instructions are cut into blocks, then each block is run once on the abstract stack machine, in
reverse postorder. A block with one way in continues from the state at its end; a join gets a
parameter for each live local, and each stack entry, on whose value the ways in differ or, before a
loop's back edges are known, may differ. What turns out needless is removed by `canonicalize`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..errors import LiftError, NotLiftable, UnsupportedPython
from ..ir.canonical import canonicalize
from ..ir.core import GLOBAL, IR, Info, Loc, Operand, Undef, Value
from .decode import Handler, Instr, decode, handlers
from .flow import Flow, RawBlock, analyse
from .machine import NULL, Join, Machine, Pending
from .opcodes import Table

VERSIONS = ((3, 11), (3, 12), (3, 13))

_GENERATORS = {
    inspect.CO_GENERATOR: "a generator",
    inspect.CO_COROUTINE: "a coroutine",
    inspect.CO_ASYNC_GENERATOR: "an asynchronous generator",
}
_HAS_DOC = 0x4000000  # CO_HAS_DOCSTRING; before 3.13 the first constant is the docstring or None
_FRAME_READERS = ("locals", "vars", "dir", "eval", "exec")
_CLEANUP = {"SWAP", "POP_TOP", "STORE_FAST", "STORE_FAST_STORE_FAST", "RERAISE"}


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
        name = getattr(f, "__qualname__", None) or type(f).__name__
        raise NotLiftable(
            f"{name!r} is a {type(f).__name__}: there is no Python code behind it",
            hint="Pass a function written in Python.",
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
    has_doc = sys.version_info < (3, 13) or code.co_flags & _HAS_DOC
    doc = code.co_consts[0] if code.co_consts and has_doc else None
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
    """Run the code on the abstract machine."""
    instrs = decode(code)
    refuse_unsupported(code, instrs)
    ir = IR(info)
    machine = Machine(ir, code)
    nlocals, nargs = len(machine.local_names), len(info.argnames)
    given = (1 << nargs) - 1 | ((1 << nlocals) - (1 << machine.first_free))
    flow = analyse(instrs, nlocals, given)
    machine.restored = flow.cleared
    start(machine, nargs, given, flow.blocks[0].start)
    joins = {}
    for raw in flow.blocks:
        if raw.start in machine.edges:
            joins[raw.start] = enter(machine, raw, flow)
            run(machine, raw)
    for offset, join in joins.items():
        for pending in machine.edges[offset]:
            close(pending, join)
    canonicalize(ir)
    refuse_frame_readers(ir)
    return ir


def start(m: Machine, nargs: int, given: int, offset: int) -> None:
    """The entry block: arguments, free cells, and the jump to the first instruction."""
    m.loc = Loc(m.code.co_filename, m.code.co_firstlineno, m.code.co_qualname)
    args = [m.ir.value(m.value_names[i]) for i in range(nargs)]
    m.block.params = args
    m.enter(m.block, [*args, *map(Undef, m.local_names[nargs:])], [], given)
    m.free_cells()
    m.jump(offset)


def run(m: Machine, raw: RawBlock) -> None:
    handlers_ = table()
    for ins in raw.instrs:
        m.loc = ins.loc
        handle = handlers_.get(ins.op)
        if handle is None:
            raise m.refuse(f"the instruction {ins.op}", ins)
        handle(m, ins)
    if not m.done:
        m.jump(raw.succs[0])


# -- joins -----------------------------------------------------------------------------------------
def enter(m: Machine, raw: RawBlock, flow: Flow) -> Join:
    """Set the machine up at the start of a block, with parameters where the ways in may differ."""
    ways = m.edges[raw.start]
    first = ways[0]
    join = Join(m.ir.block(), [], [])
    locals, stack = list(first.locals), list(first.stack)
    if raw.npreds > 1:
        known = len(ways) == raw.npreds
        join.locals = differing_locals(m, raw, flow, ways, known)
        for i in join.locals:
            locals[i] = m.ir.value(m.value_names[i])
        for i, x in enumerate(stack):
            if x is not NULL and not (known and agree([w.stack[i] for w in ways])):
                join.stack.append(i)
                stack[i] = m.ir.value()
        inside = [*(locals[i] for i in join.locals), *(stack[i] for i in join.stack)]
        join.block.params = [x for x in inside if isinstance(x, Value)]
    m.enter(join.block, locals, stack, raw.bound)
    return join


def differing_locals(
    m: Machine, raw: RawBlock, flow: Flow, ways: list[Pending], known: bool
) -> list[int]:
    """The live locals that need a parameter. With back edges to come: those with a second
    definition somewhere, being unbound at the start counted as one."""
    out = []
    for i in range(len(m.local_names)):
        if not raw.live >> i & 1:
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


# -- what is refused -------------------------------------------------------------------------------
def refuse_unsupported(code: CodeType, instrs: list[Instr]) -> None:
    where = Loc(code.co_filename, code.co_firstlineno, code.co_qualname)
    for flag, construct in _GENERATORS.items():
        if code.co_flags & flag:
            raise LiftError(f"{code.co_qualname} is {construct}: not lifted", loc=where)
    if code.co_exceptiontable:
        for h in handlers(code):
            construct, at = handled(h, instrs)
            if construct:
                raise LiftError(f"{construct} in {code.co_qualname}: not lifted", loc=at)


def handled(h: Handler, instrs: list[Instr]) -> tuple[str | None, Loc]:
    """What an entry of the exception table is for; None if it only restores the locals of a
    comprehension, and its place."""
    at = next((ins.loc for ins in instrs if ins.offset >= h.start), Loc())
    body = iter([ins.op for ins in instrs if ins.offset >= h.target])
    first = next(body, "")
    if first == "SWAP":
        for op in body:
            if op == "RERAISE":
                return None, at
            if op not in _CLEANUP:
                break
    second = next(body, "")
    kind = "a with statement" if second == "WITH_EXCEPT_START" else "a try statement"
    return kind, at


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
