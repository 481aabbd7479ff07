"""Exceptions, generators and coroutines: instructions that the versions share."""

from __future__ import annotations

import sys

from ..ir import intrinsics
from ..ir.core import AWAIT, DELEGATE, YIELD, Const, Edge, Reraise
from .calls import Handler
from .decode import Instr
from .machine import Machine
from .opcodes import Table, handler, peek_call, push_call, push_items

FLOW: Table = {
    "GET_YIELD_FROM_ITER": push_call(intrinsics.get_yield_from_iter, 1),
    "GET_AITER": push_call(intrinsics.get_aiter, 1),
    "GET_ANEXT": peek_call(intrinsics.get_anext, 1),
}


# -- exceptions ------------------------------------------------------------------------------------
@handler(FLOW, "PUSH_EXC_INFO")
def push_exc_info(m: Machine, ins: Instr) -> None:
    exc = m.pop()
    m.stack += [m.call(intrinsics.push_exc_info, exc), exc]


@handler(FLOW, "POP_EXCEPT")
def pop_except(m: Machine, ins: Instr) -> None:
    m.call(intrinsics.pop_except, m.pop())


@handler(FLOW, "CHECK_EXC_MATCH")
def check_exc_match(m: Machine, ins: Instr) -> None:
    kind = m.pop()
    m.push(m.call(intrinsics.exc_match, m.stack[-1], kind))


@handler(FLOW, "CHECK_EG_MATCH")
def check_eg_match(m: Machine, ins: Instr) -> None:
    exc, kind = m.popn(2)
    push_items(m, m.call(intrinsics.group_match, exc, kind), 2)


@handler(FLOW, "RERAISE")
def reraise(m: Machine, ins: Instr) -> None:
    m.may_leave()
    m.block.term = Reraise(m.pop(), m.loc)
    m.done = True


@handler(FLOW, "BEFORE_WITH")
def before_with(m: Machine, ins: Instr) -> None:
    push_items(m, m.call(intrinsics.before_with, m.pop()), 2)


@handler(FLOW, "BEFORE_ASYNC_WITH")
def before_async_with(m: Machine, ins: Instr) -> None:
    push_items(m, m.call(intrinsics.before_async_with, m.pop()), 2)


@handler(FLOW, "WITH_EXCEPT_START")
def with_except_start(m: Machine, ins: Instr) -> None:
    """The stack is exit, place, exception handled until now, exception."""
    m.push(m.call(intrinsics.with_except_start, m.stack[-4], m.stack[-1]))


# -- generators and coroutines ---------------------------------------------------------------------
@handler(FLOW, "RETURN_GENERATOR")
def return_generator(m: Machine, ins: Instr) -> None:
    """The flags of the code say it; on the stack is what is sent first, which is nothing."""
    m.push(Const(None))


@handler(FLOW, "YIELD_VALUE")
def yield_value(m: Machine, ins: Instr) -> None:
    m.push(m.op(YIELD, (m.pop(),)))


@handler(FLOW, "GET_AWAITABLE")
def get_awaitable(m: Machine, ins: Instr) -> None:
    m.push(m.call(intrinsics.get_awaitable, m.pop(), Const(ins.arg)))


def delegate(kind: str) -> Handler:
    """On the stack are the iterator and what is sent first, None. (Until 3.11 the iterator is gone
    in the end.)"""

    def run(m: Machine, ins: Instr) -> None:
        iterator, _ = m.popn(2)
        result = m.op(kind, (iterator,))
        m.stack += [result] if sys.version_info < (3, 12) else [iterator, result]

    return run


FLOW |= {"DELEGATE": delegate(DELEGATE), "AWAIT": delegate(AWAIT)}


@handler(FLOW, "END_SEND")
def end_send(m: Machine, ins: Instr) -> None:
    _, result = m.popn(2)
    m.push(result)


@handler(FLOW, "END_ASYNC_FOR")
def end_async_for(m: Machine, ins: Instr) -> None:
    """The stack is iterator, exception: one that does not end the loop goes on."""
    exc = m.pop()
    m.pop()
    ends = m.call(intrinsics.exc_match, exc, Const(StopAsyncIteration))
    other = m.ir.block()
    after = m.edge(ins.next)
    m.branch(ends, after, Edge(other.id))
    m.go_on(other)
    m.may_leave()
    other.term = Reraise(exc, m.loc)
    m.done = True
