"""CPython 3.12: comprehensions in place, two-operand slices, super attributes, END_FOR."""

from __future__ import annotations

import operator

from ..ir import intrinsics
from ..ir.core import CALL, Const, Return, Value
from . import opcodes as common
from . import opcodes_311 as v311
from . import opcodes_flow
from .decode import Instr
from .machine import NULL, Machine
from .opcodes import COMMON, Table, branch_if, branch_if_none, handler, push_call

TABLE: Table = {
    **COMMON,
    **opcodes_flow.FLOW,
    "CALL": v311.call,
    "CALL_FUNCTION_EX": v311.TABLE["CALL_FUNCTION_EX"],
    "DICT_MERGE": v311.TABLE["DICT_MERGE"],
    "KW_NAMES": v311.kw_names,
    "FORMAT_VALUE": v311.format_value,
    "LOAD_GLOBAL": v311.load_global,
    "MAKE_FUNCTION": v311.make_function,
    "POP_JUMP_IF_TRUE": branch_if(True),
    "POP_JUMP_IF_FALSE": branch_if(False),
    "POP_JUMP_IF_NONE": branch_if_none(True),
    "POP_JUMP_IF_NOT_NONE": branch_if_none(False),
}

INTRINSICS = {
    3: push_call(intrinsics.stopiteration_error, 1),
    4: push_call(intrinsics.async_gen_wrap, 1),
    5: push_call(operator.pos, 1),
    6: push_call(intrinsics.list_to_tuple, 1),
    7: push_call(intrinsics.make_typevar, 1),
    8: push_call(intrinsics.make_paramspec, 1),
    9: push_call(intrinsics.make_typevartuple, 1),
    10: push_call(intrinsics.subscript_generic, 1),
    11: push_call(intrinsics.make_typealias, 1),
}
"""By the argument of CALL_INTRINSIC_1; the others do not occur in functions."""

INTRINSICS_2 = {
    1: push_call(intrinsics.prep_reraise_star, 2),
    2: push_call(intrinsics.typevar_with_bound, 2),
    3: push_call(intrinsics.typevar_with_constraints, 2),
    4: push_call(intrinsics.set_function_type_params, 2),
    5: push_call(intrinsics.set_typeparam_default, 2),
}
"""By the argument of CALL_INTRINSIC_2."""


@handler(TABLE, "CALL_INTRINSIC_1")
def call_intrinsic(m: Machine, ins: Instr) -> None:
    if ins.arg not in INTRINSICS:
        raise m.refuse(f"the instruction {ins.op} {ins.arg}", ins)
    INTRINSICS[ins.arg](m, ins)


@handler(TABLE, "CALL_INTRINSIC_2")
def call_intrinsic_2(m: Machine, ins: Instr) -> None:
    INTRINSICS_2[ins.arg](m, ins)


COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


@handler(TABLE, "COMPARE_OP")
def compare_op(m: Machine, ins: Instr) -> None:
    common.compare(m, COMPARISONS[ins.arg >> 4])


@handler(TABLE, "LOAD_ATTR")
def load_attr(m: Machine, ins: Instr) -> None:
    x = m.pop()
    if ins.arg & 1:
        m.push(NULL)
    m.push(common.get_attribute(m, x, m.names[ins.arg >> 1]))


def super_attribute(m: Machine, ins: Instr) -> Value:
    """``super().name`` with its arguments on the stack."""
    fn, cls, self = m.popn(3)
    proxy = m.op(CALL, (fn, cls, self))
    return common.get_attribute(m, proxy, m.names[ins.arg >> 2])


@handler(TABLE, "LOAD_SUPER_ATTR")
def load_super_attr(m: Machine, ins: Instr) -> None:
    x = super_attribute(m, ins)
    if ins.arg & 1:
        m.push(NULL)
    m.push(x)


@handler(TABLE, "LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(m: Machine, ins: Instr) -> None:
    m.push(m.take(ins.arg))


@handler(TABLE, "BINARY_SLICE")
def binary_slice(m: Machine, ins: Instr) -> None:
    x, start, stop = m.popn(3)
    m.push(m.call(operator.getitem, x, m.call(slice, start, stop)))


@handler(TABLE, "STORE_SLICE")
def store_slice(m: Machine, ins: Instr) -> None:
    value, x, start, stop = m.popn(4)
    m.call(operator.setitem, x, m.call(slice, start, stop), value)


@handler(TABLE, "RETURN_CONST")
def return_const(m: Machine, ins: Instr) -> None:
    m.block.term = Return(Const(m.consts[ins.arg]), m.loc)
    m.done = True
