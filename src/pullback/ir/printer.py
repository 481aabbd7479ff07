"""The textual form of the IR, and its specification.

One function prints as a header and its blocks::

    function f(x, n=..., *rest, key, **options)
    b0(%0.x, %1.n):
      %2.total = mul(%0.x, 2)  # 4
      jump b1(%1.n)
    b1(%3.i):
      %4 = gt(%3.i, 0)  # 5
      branch %4 ? b2() : b3(%2.total)  # 5

* A value prints as ``%`` and its id, then ``.`` and the user's name for it if it has one. On typed
  IR its definition is followed by ``: type``.
* A block prints as its id and parameters, those of the first block being the function's arguments.
  `` handler b7`` follows if the block names a handler.
* An operation prints as ``%result = operation(operands)``. A call of a constant shows the callee's
  name: bare for operators, builtins, Python's own operations (`ir.intrinsics`) and primitives, with
  its module otherwise (``math.sin``). A call of a value shows the value: ``%2(%0.x, key=%1)``. The
  other operations show their kind, with what is static about it in brackets:
  ``global[range]``, ``closure[f.<locals>.g](%3, 1)``, ``newcell[x](%0.x)``, ``freecell[y]``,
  ``getcell[x](%5)``, ``setcell[x](%5, 1)``, ``slotget[acc]``, ``slotset[acc](%4)``, ``cut``,
  ``yield(%1)``, ``delegate(%2)``, ``await(%2)``.
* A generator, coroutine or asynchronous generator says so in place of ``function``.
* A constant prints as its ``repr`` where that is stable, as a qualified name for functions, classes
  and modules, and as ``<type>`` for any other object. An unbound name prints as ``undef x``.
* Terminators: ``jump b1(args)``, ``branch cond ? b1(args) : b2(args)``,
  ``for iterator ? b1(next, args) : b2(args)`` (``next`` stands for the next item),
  ``return x``, ``raise x from y``, ``reraise x``.
* ``  # 5`` is the source line, left out where there is none and on jumps.

Printing is deterministic, and equal text means equal IR up to source columns and the identity of
opaque constants.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from typing import Any

from .core import (
    CALL,
    CLOSURE,
    CUT,
    IR,
    Block,
    Branch,
    ClosureSpec,
    Const,
    Edge,
    ForIter,
    Info,
    Jump,
    Loc,
    Op,
    Operand,
    Raise,
    Reraise,
    Return,
    Slot,
    Terminator,
    Undef,
    Value,
)

_BARE_MODULES = ("builtins", "_operator", "pullback.ir.intrinsics", "pullback.runtime.prims")
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.MethodType,
    type,
)


# -- operands --------------------------------------------------------------------------------------
def format_value(value: Value) -> str:
    return f"%{value.id}.{value.name}" if value.name else f"%{value.id}"


def format_operand(x: Operand) -> str:
    if isinstance(x, Value):
        return format_value(x)
    if isinstance(x, Undef):
        return repr(x)
    return format_const(x.value)


def format_const(value: Any) -> str:
    """A stable text for a constant: no addresses, no order of hashing."""
    kind = type(value)
    if value is None or value is Ellipsis or kind in (bool, int, float, complex, str, bytes):
        return repr(value)
    if kind is tuple:
        inner = ", ".join(map(format_const, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if kind is frozenset:
        return "frozenset({" + ", ".join(sorted(map(format_const, value))) + "})"
    if kind is slice:
        return f"slice({', '.join(map(format_const, (value.start, value.stop, value.step)))})"
    if isinstance(value, types.CodeType):
        return f"<code {value.co_qualname}>"
    if isinstance(value, types.ModuleType):
        return value.__name__
    return _callable_name(value) or f"<{kind.__name__}>"


def _callable_name(value: Any) -> str | None:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(name, str):
        return None
    module = getattr(value, "__module__", None)
    if type(value).__name__ == "ufunc":
        return f"{type(value).__module__}.{name}"
    if not isinstance(value, _FUNCTIONS):
        return f"<{type(value).__name__} {name}>"
    return name if module is None or module in _BARE_MODULES else f"{module}.{name}"


# -- operations ------------------------------------------------------------------------------------
def format_op(op: Op, typed: bool = False) -> str:
    """One operation, without its line."""
    return f"{_definition(op.result, typed)} = {_right_side(op)}"


def _definition(value: Value, typed: bool) -> str:
    text = format_value(value)
    return f"{text}: {value.type}" if typed and value.type is not None else text


def _right_side(op: Op) -> str:
    if op.kind == CALL:
        fn = op.fn
        callee = format_operand(fn) if isinstance(fn, Value) else _callee(fn)
        return f"{callee}({_arguments(op)})"
    static = _static(op)
    head = f"{op.kind}[{static}]" if static else op.kind
    return f"{head}({_join(op.args)})" if op.args or op.kind == CLOSURE else head


def _callee(fn: Operand) -> str:
    text = format_operand(fn)
    named = isinstance(fn, Const) and _callable_name(fn.value) == text
    return text if named or text.startswith("<") else f"({text})"


def _arguments(op: Op) -> str:
    keywords = [f"{k}={format_operand(v)}" for k, v in op.kwargs.items()]
    return ", ".join([*map(format_operand, op.posargs), *keywords])


def _static(op: Op) -> str:
    attr = op.attr
    if op.kind == CUT or attr is None:
        return ""
    if isinstance(attr, ClosureSpec):
        return _closure(attr)
    return attr.name if isinstance(attr, Slot) else str(attr)


def _closure(spec: ClosureSpec) -> str:
    """The name, and which operands are what (cells, defaults, keyword defaults, annotations)."""
    parts = [spec.qualname]
    if spec.ncells:
        parts.append(f"cells={spec.ncells}")
    if spec.ndefaults:
        parts.append(f"defaults={spec.ndefaults}")
    if spec.kwdefaults:
        parts.append(f"kwdefaults={','.join(spec.kwdefaults)}")
    return " ".join(parts)


def _join(xs: Iterable[Operand]) -> str:
    return ", ".join(map(format_operand, xs))


# -- terminators -----------------------------------------------------------------------------------
def format_term(term: Terminator) -> str:
    """A terminator, without its line."""
    if isinstance(term, Jump):
        return f"jump {_edge(term.edge)}"
    if isinstance(term, Branch):
        return f"branch {format_operand(term.cond)} ? {_edge(term.then)} : {_edge(term.orelse)}"
    if isinstance(term, ForIter):
        body = _edge(term.body, "next")
        return f"for {format_operand(term.iterator)} ? {body} : {_edge(term.exhausted)}"
    if isinstance(term, Return):
        return f"return {format_operand(term.value)}"
    if isinstance(term, Raise):
        cause = "" if term.cause is None else f" from {format_operand(term.cause)}"
        return "raise" if term.exc is None else f"raise {format_operand(term.exc)}{cause}"
    if isinstance(term, Reraise):
        return f"reraise {format_operand(term.exc)}"
    return "unterminated"


def _edge(edge: Edge, *implicit: str) -> str:
    return f"b{edge.target}({', '.join([*implicit, *map(format_operand, edge.args)])})"


# -- the whole -------------------------------------------------------------------------------------
def format_ir(ir: IR, typed: bool | None = None) -> str:
    """The function as text. ``typed``: show types (by default where there are any)."""
    show = True if typed is None else typed
    lines = [f"{kind_of(ir.info)} {signature(ir.info)}"]
    for block in ir:
        lines += format_block(block, show)
    return "\n".join(lines)


def format_block(block: Block, typed: bool = True) -> list[str]:
    params = ", ".join(_definition(p, typed) for p in block.params)
    handler = "" if block.handler is None else f" handler b{block.handler}"
    lines = [f"b{block.id}({params}){handler}:"]
    lines += [f"  {format_op(op, typed)}{_line(op.loc)}" for op in block.ops]
    where = "" if isinstance(block.term, Jump) else _line(block.term.loc)
    lines.append(f"  {format_term(block.term)}{where}")
    return lines


def _line(loc: Loc) -> str:
    return f"  # {loc.line}" if loc.line else ""


def kind_of(info: Info) -> str:
    """What calling the function makes."""
    return next((name for flag, name in _KINDS.items() if info.flags & flag), "function")


_KINDS = {
    inspect.CO_ASYNC_GENERATOR: "async generator",
    inspect.CO_COROUTINE: "coroutine",
    inspect.CO_GENERATOR: "generator",
}


def signature(info: Info) -> str:
    """``name(a, b=..., /, c, *args, k, **kw)``: defaults are shown as dots, as they are values."""
    n = len(info.argnames) - info.kwonly - info.varargs - info.varkw
    names = list(info.argnames)
    first_default = n - len(info.defaults)
    parts = []
    for i, name in enumerate(names[:n]):
        parts.append(name + ("=..." if i >= first_default else ""))
        if i + 1 == info.posonly:
            parts.append("/")
    kwonly, rest = names[n : n + info.kwonly], names[n + info.kwonly :]
    if info.varargs:
        parts.append("*" + rest.pop(0))
    elif kwonly:
        parts.append("*")
    parts += [k + ("=..." if k in info.kwdefaults else "") for k in kwonly]
    if info.varkw:
        parts.append("**" + rest.pop(0))
    return f"{info.qualname}({', '.join(parts)})"


__all__ = [
    "format_block",
    "format_const",
    "format_ir",
    "format_op",
    "format_operand",
    "format_term",
    "format_value",
    "signature",
]
