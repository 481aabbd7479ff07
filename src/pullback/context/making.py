"""Making callables at a site that knows how many arguments its calls have.

A function that was just made (a closure in a loop) is new at each call, its code is not. Where all
arguments are given by position, defaults and names cannot matter, and little is left to do: without
free variables one contextual function stands for all; else a new one is made by the interpreter's
own instruction, which costs a third of what the constructor of functions does.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

from . import protocols
from .frames import left_out

_UNUSUAL = 0x4 | 0x8 | 0x20 | 0x80 | 0x200
"""Flags of code with ``*args`` or ``**kw``, and of generators and coroutines, which show names."""


def takes_exactly(code: CodeType, n: int | None) -> bool:
    """Whether ``n`` positional arguments leave nothing to defaults."""
    return code.co_argcount == n and not code.co_kwonlyargcount and not code.co_flags & _UNUSUAL


def copies_of(
    f: FunctionType, code: CodeType, cells: tuple[CellType, ...]
) -> Callable[[Any], FunctionType]:
    """By the closure of a function with the code and globals of ``f``: what stands for it, with
    other ``code`` that has ``cells`` as further free variables."""
    make = FunctionType(_maker(code, cells), f.__globals__)
    if f.__code__.co_freevars:
        return make
    one = make(())
    return lambda closure: one


def _maker(code: CodeType, cells: tuple[CellType, ...]) -> CodeType:
    """The code of ``lambda closure: <function whose closure is closure + cells>``."""
    like = (lambda closure: closure + ()).__code__  # noqa: RUF005  # has the constants None, ()
    if sys.version_info >= (3, 13):
        ops = [("LOAD_CONST", 0), ("MAKE_FUNCTION", 0), ("SET_FUNCTION_ATTRIBUTE", 8)]
    else:
        ops = [("LOAD_CONST", 0), ("MAKE_FUNCTION", 8)]
    ops += [("RETURN_VALUE", 0)]
    made = bytes(x for name, arg in ops for x in (dis.opmap[name], arg))
    return like.replace(
        co_code=like.co_code[:-2] + made, co_consts=(code, cells), co_filename=left_out(__file__)
    )


_RESOLVER = """
def bind(memory, copies, function, look_up):
    def resolve(g{more}):
        last, target, look = memory[0]
        if g is last and not look:
            return target
        if type(g) is function:
            last, globals, make = copies[0]
            if g.__code__ is last and g.__globals__ is globals:
                return make(g.__closure__)
        return look_up(g{more})
    return resolve
"""


def resolver(
    n: int | None,
    memory: list[Any],
    copies: list[Any],
    look_up: Callable[..., Any],
) -> Callable[..., Any]:
    """``resolve(g, *args)`` with ``n`` arguments (None: any number): what is remembered, or new in
    a way that is remembered, else what ``look_up`` finds."""
    found: Callable[..., Any] = _written(_RESOLVER, n)(memory, copies, FunctionType, look_up)
    return found


_CONSTRUCTOR = """
def bind(cls, init, new, wrong):
    def make({args}):
        made = new(cls)
        got = init(made{more})
        if got is not None:
            wrong(got)
        return made
    return make
"""


@lru_cache
def _written(source: str, n: int | None) -> Callable[..., Any]:
    """``bind`` of the source, for functions with ``n`` further arguments: a tuple of any number
    (None) takes longer than they do."""
    names = ["*args"] if n is None else [f"x{k}" for k in range(n)]
    more = "".join(f", {x}" for x in names)
    space: dict[str, Any] = {}
    exec(
        compile(source.format(args=", ".join(names), more=more), left_out(__file__), "exec"), space
    )
    found: Callable[..., Any] = space["bind"]
    return found


def constructor(cls: type, init: Any, n: int | None) -> Callable[..., Any]:
    """What calls ``cls`` with ``n`` positional arguments (None: any arguments), where ``init`` is
    what its ``__init__`` is here and its ``__new__`` is that of ``object``."""
    if n is not None:
        bind = _written(_CONSTRUCTOR, n)
        made: Callable[..., Any] = bind(cls, init, object.__new__, protocols.not_none)
        return made
    new = object.__new__

    def make(*args: Any, **kw: Any) -> Any:
        made: Any = new(cls)
        got = init(made, *args, **kw) if kw else init(made, *args)
        if got is not None:
            protocols.not_none(got)
        return made

    return make
