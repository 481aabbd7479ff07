"""The passes of a context's class: they see the IR of a function before its calls are rewritten.

A pass is ``pass(ir, ctx_class, signature) -> ir``. It may return, instead, an expression in the
function's arguments that replaces the body: source text, or an `ast` expression.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..errors import InvalidIR, PassFailed, PullbackError
from ..frontend import lift
from ..ir.core import IR, Const, Loc
from ..ir.verify import verify
from .markers import CONTEXT, Addressed


def run_passes(ir: IR, classes: Sequence[Any], signature: Any, f: FunctionType) -> IR:
    """Run the passes of the classes, the innermost context's first."""
    for k, cls in enumerate(classes):
        for p in cls.passes:
            ir = _run(p, ir, cls, signature, f)
        if cls.passes:
            _address(ir, k)
    return ir


def _run(p: Callable[..., Any], ir: IR, cls: Any, signature: Any, f: FunctionType) -> IR:
    name = getattr(p, "__qualname__", None) or repr(p)
    info = ir.info
    try:
        made = p(ir, cls, signature)
        if isinstance(made, (str, ast.expr, ast.Expression)):
            made = _expression(made, f)
    except PullbackError:
        raise
    except Exception as e:
        raise _failed(name, cls, f, f"raised {type(e).__name__}: {e}") from e
    if not isinstance(made, IR):
        what = f"returned {type(made).__name__}, which is no IR and no expression"
        raise _failed(name, cls, f, what)
    made.info.freevars, made.info.closure = info.freevars, info.closure
    try:
        return verify(made)
    except InvalidIR as e:
        raise _failed(name, cls, f, f"left broken IR: {e.what}") from e


def _expression(body: Any, f: FunctionType) -> IR:
    """The IR of ``f`` with an expression for its body."""
    if isinstance(body, str):
        body = ast.parse(body.strip(), mode="eval")
    if isinstance(body, ast.Expression):
        body = body.body
    code = f.__code__
    n = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[: n + bool(code.co_flags & 4) + bool(code.co_flags & 8)])
    positional, kwonly = names[: code.co_argcount], names[code.co_argcount : n]
    rest = names[n:]
    arguments = ast.arguments(
        posonlyargs=[ast.arg(a) for a in positional[: code.co_posonlyargcount]],
        args=[ast.arg(a) for a in positional[code.co_posonlyargcount :]],
        vararg=ast.arg(rest.pop(0)) if code.co_flags & 4 else None,
        kwonlyargs=[ast.arg(a) for a in kwonly],
        kw_defaults=[None] * len(kwonly),
        kwarg=ast.arg(rest.pop(0)) if code.co_flags & 8 else None,
        defaults=[],
    )
    inner: ast.expr = ast.Lambda(arguments, body)
    if code.co_freevars:  # a function around it gives the names their cells
        cells = ast.arguments([], [ast.arg(a) for a in code.co_freevars], None, [], [], None, [])
        inner = ast.Lambda(cells, inner)
    tree = ast.fix_missing_locations(ast.Expression(inner))
    made = eval(compile(tree, code.co_filename, "eval"), f.__globals__)
    if code.co_freevars:
        made = made(*[None] * len(code.co_freevars))
    ir = lift(made)
    like = lift_info(f)
    ir.info.name, ir.info.qualname, ir.info.line = f.__name__, f.__qualname__, like.line
    free = dict(zip(code.co_freevars, f.__closure__ or ()))
    ir.info.freevars = code.co_freevars
    ir.info.closure = tuple(free.values())
    return ir


def lift_info(f: FunctionType) -> Loc:
    return Loc(f.__code__.co_filename, f.__code__.co_firstlineno, f.__qualname__)


def _address(ir: IR, k: int) -> None:
    """``Const(CONTEXT)`` means the context whose class holds the pass: number k of the stack."""
    for op in ir.ops():
        if any(isinstance(x, Const) and x.value is CONTEXT for x in op.args):
            op.map(lambda x: Const(Addressed(k)) if _is_context(x) else x)


def _is_context(x: Any) -> bool:
    return isinstance(x, Const) and x.value is CONTEXT


def _failed(name: str, cls: Any, f: FunctionType, what: str) -> PassFailed:
    return PassFailed(
        f"the pass {name} of {cls.__name__} {what}, on {f.__qualname__}", loc=lift_info(f)
    )
