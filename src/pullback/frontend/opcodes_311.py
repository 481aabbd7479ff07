"""CPython 3.11: calls in three instructions, methods loaded apart, signed conditional jumps."""

from __future__ import annotations

import dis

from ..ir import intrinsics
from ..ir.core import Const
from . import calls, opcodes_flow
from . import opcodes as common
from .decode import Instr
from .machine import NULL, Machine
from .opcodes import COMMON, Table, branch_if, branch_if_none, handler, push_call

TABLE: Table = {
    **COMMON,
    **opcodes_flow.FLOW,
    "ASYNC_GEN_WRAP": push_call(intrinsics.async_gen_wrap, 1),
    "PREP_RERAISE_STAR": push_call(intrinsics.prep_reraise_star, 2),
    "CALL_FUNCTION_EX": calls.call_function_ex,
    "DICT_MERGE": calls.dict_merge(2),  # callable, arguments, dict
    "LIST_TO_TUPLE": push_call(intrinsics.list_to_tuple, 1),
    "POP_JUMP_FORWARD_IF_TRUE": branch_if(True),
    "POP_JUMP_BACKWARD_IF_TRUE": branch_if(True),
    "POP_JUMP_FORWARD_IF_FALSE": branch_if(False),
    "POP_JUMP_BACKWARD_IF_FALSE": branch_if(False),
    "POP_JUMP_FORWARD_IF_NONE": branch_if_none(True),
    "POP_JUMP_BACKWARD_IF_NONE": branch_if_none(True),
    "POP_JUMP_FORWARD_IF_NOT_NONE": branch_if_none(False),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": branch_if_none(False),
}


@handler(TABLE, "COMPARE_OP")
def compare_op(m: Machine, ins: Instr) -> None:
    common.compare(m, dis.cmp_op[ins.arg])


@handler(TABLE, "LOAD_GLOBAL")
def load_global(m: Machine, ins: Instr) -> None:
    if ins.arg & 1:
        m.push(NULL)
    m.push(common.load_global(m, m.names[ins.arg >> 1]))


@handler(TABLE, "LOAD_ATTR")
def load_attr(m: Machine, ins: Instr) -> None:
    m.push(common.get_attribute(m, m.pop(), m.names[ins.arg]))


@handler(TABLE, "LOAD_METHOD")
def load_method(m: Machine, ins: Instr) -> None:
    x = m.pop()
    m.stack += [NULL, common.get_attribute(m, x, m.names[ins.arg])]


@handler(TABLE, "KW_NAMES")
def kw_names(m: Machine, ins: Instr) -> None:
    m.kwnames = m.consts[ins.arg]


@handler(TABLE, "CALL")
def call(m: Machine, ins: Instr) -> None:
    """The stack is NULL, callable, arguments or callable, first argument, others."""
    args = m.popn(ins.arg)
    a, b = m.popn(2)
    kwnames, m.kwnames = m.kwnames, ()
    if a is NULL:
        calls.call(m, b, args, kwnames)
    else:
        calls.call(m, a, [b, *args], kwnames)


@handler(TABLE, "FORMAT_VALUE")
def format_value(m: Machine, ins: Instr) -> None:
    spec = m.popn(1 if ins.arg & 4 else 0)
    conversion = (None, "s", "r", "a")[ins.arg & 3]
    m.push(m.call(intrinsics.format_value, m.pop(), Const(conversion), *spec))


@handler(TABLE, "MAKE_FUNCTION")
def make_function(m: Machine, ins: Instr) -> None:
    code, parts = m.pop(), calls.Parts()
    assert isinstance(code, Const)
    for flag in (8, 4, 2, 1):
        if ins.arg & flag:
            parts.add(m, flag, m.pop())
    calls.closure(m, code.value, parts)


@handler(TABLE, "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def jump_if_or_pop(m: Machine, ins: Instr) -> None:
    assert ins.target is not None
    truth = "TRUE" in ins.op
    goto = m.edge(ins.target)
    cond = m.pop()
    after = m.edge(ins.next)
    m.branch(cond, goto if truth else after, after if truth else goto)
