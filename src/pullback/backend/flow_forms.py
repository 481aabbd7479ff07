"""How exceptions, generators and coroutines are written (see `forms`).

What is delegated to stays on the stack while the function is suspended: ``throw``, ``close`` and
``gi_yieldfrom`` look for it there, and know the loop by its instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import intrinsics as i
from ..ir.core import AWAIT, Op
from .exception_table import Guard
from .forms import BOOLEAN, TABLE, Form, constant, first, form, peeking, positional, simple

if TYPE_CHECKING:
    from .encoder import Encoder

TABLE |= {
    i.pop_except: (1, simple("POP_EXCEPT", result=False)),
    i.get_yield_from_iter: (1, simple("GET_YIELD_FROM_ITER")),
    i.get_aiter: (1, simple("GET_AITER")),
    i.get_anext: (1, peeking("GET_ANEXT", 1)),
}
BOOLEAN.add(i.exc_match)


@form(i.push_exc_info, n=1)
def _push_exc_info(e: Encoder, op: Op) -> None:
    e.push(positional(op))
    e.asm.emit("PUSH_EXC_INFO")
    e.asm.emit("POP_TOP")


@form(i.exc_match, n=2)
def _exc_match(e: Encoder, op: Op) -> None:
    e.push(positional(op))
    e.asm.emit("CHECK_EXC_MATCH")
    e.drop_below(1)


@form(i.with_except_start, n=2)
def _with_except_start(e: Encoder, op: Op) -> None:
    """Between the exit and the exception, the instruction expects two entries it does not read."""
    e.push(op.args[1:2])
    e.constant(0)
    e.constant(None)
    e.push(op.args[2:])
    e.asm.emit("WITH_EXCEPT_START")
    e.drop_below(4)


@form(i.get_awaitable, n=2, order=first)
def _get_awaitable(e: Encoder, op: Op) -> None:
    e.push(first(op))
    e.asm.emit("GET_AWAITABLE", constant(op.args[2]))


def _intrinsic(name: str, n: int) -> Form:
    def write(e: Encoder, op: Op) -> None:
        e.push(positional(op))
        e.target.intrinsic(name, n)

    return Form(positional, write)


_INTRINSICS = {
    1: (
        i.async_gen_wrap, i.stopiteration_error, i.make_typevar, i.make_paramspec,
        i.make_typevartuple, i.subscript_generic, i.make_typealias,
    ),
    2: (
        i.prep_reraise_star, i.typevar_with_bound, i.typevar_with_constraints,
        i.set_function_type_params, i.set_typeparam_default,
    ),
}  # fmt: skip
TABLE |= {fn: (n, _intrinsic(fn.__name__, n)) for n, fns in _INTRINSICS.items() for fn in fns}


# -- suspension ------------------------------------------------------------------------------------
def write_yield(e: Encoder, op: Op) -> bool:
    e.push(op.args)
    e.target.yield_value(0, 1)
    return True


def write_delegation(e: Encoder, op: Op) -> bool:
    """At the start of a statement, so that nothing but the iterator is on the stack."""
    asm = e.asm
    again, after = asm.label(), asm.label()
    e.push(op.args)
    asm.loc = op.loc
    e.constant(None)
    asm.place(again, 2)
    asm.jump("SEND", after)
    outer = asm.guard
    if e.target.cleans_up_throw:
        failed = asm.label()
        asm.guard = Guard(failed, 2)
        e.later.append((failed, after, outer, op.loc))
    e.target.yield_value(1, 3 if op.kind == AWAIT else 2, outer)
    asm.jump("JUMP_BACKWARD_NO_INTERRUPT", again)
    asm.place(after, 2)
    e.target.end_send()
    return True


def write_later(e: Encoder) -> None:
    """Out of the way: what is thrown into a delegation comes here, and may end it."""
    for failed, after, guard, loc in e.later:
        e.asm.loc, e.asm.guard = loc, guard
        e.asm.place(failed, 3)
        e.asm.emit("CLEANUP_THROW")
        e.asm.jump("JUMP", after)
