"""CPython 3.13: the callable below its NULL, conditions made bool before jumps, paired locals."""

from __future__ import annotations

from ..ir import intrinsics
from ..ir.core import Const, Value
from . import calls
from . import opcodes as common
from . import opcodes_312 as v312
from .decode import Instr
from .machine import NULL, Machine
from .opcodes import Table, handler, nothing

TABLE: Table = {
    **v312.TABLE,
    "DICT_MERGE": calls.dict_merge(3),  # callable, NULL, arguments, dict
    "TO_BOOL": nothing,  # only ever feeds a conditional jump or UNARY_NOT, which test truth here
    "FORMAT_SIMPLE": lambda m, ins: m.push(m.call(intrinsics.format_value, m.pop(), Const(None))),
}


@handler(TABLE, "COMPARE_OP")
def compare_op(m: Machine, ins: Instr) -> None:
    common.compare(m, v312.COMPARISONS[ins.arg >> 5])


@handler(TABLE, "LOAD_GLOBAL")
def load_global(m: Machine, ins: Instr) -> None:
    m.push(common.load_global(m, m.names[ins.arg >> 1]))
    if ins.arg & 1:
        m.push(NULL)


@handler(TABLE, "LOAD_ATTR")
def load_attr(m: Machine, ins: Instr) -> None:
    m.push(common.get_attribute(m, m.pop(), m.names[ins.arg >> 1]))
    if ins.arg & 1:
        m.push(NULL)


@handler(TABLE, "LOAD_SUPER_ATTR")
def load_super_attr(m: Machine, ins: Instr) -> None:
    m.push(v312.super_attribute(m, ins))
    if ins.arg & 1:
        m.push(NULL)


@handler(TABLE, "CALL")
def call(m: Machine, ins: Instr) -> None:
    _call(m, ins, ())


def _call(m: Machine, ins: Instr, kwnames: tuple[str, ...]) -> None:
    """The stack is callable, NULL or first argument, others."""
    args = m.popn(ins.arg)
    fn, first = m.popn(2)
    calls.call(m, fn, args if first is NULL else [first, *args], kwnames)


@handler(TABLE, "CALL_KW")
def call_kw(m: Machine, ins: Instr) -> None:
    names = m.pop()
    assert isinstance(names, Const)
    _call(m, ins, names.value)


@handler(TABLE, "CALL_FUNCTION_EX")
def call_function_ex(m: Machine, ins: Instr) -> None:
    kwargs = m.popn(ins.arg & 1)
    args = m.pop()
    fn, _ = m.popn(2)
    m.push(m.call(intrinsics.call_ex, fn, args, *kwargs))


@handler(TABLE, "LOAD_FAST_LOAD_FAST")
def load_fast_load_fast(m: Machine, ins: Instr) -> None:
    m.push(m.read(ins.arg >> 4))
    m.push(m.read(ins.arg & 15))


@handler(TABLE, "STORE_FAST_LOAD_FAST")
def store_fast_load_fast(m: Machine, ins: Instr) -> None:
    m.write(ins.arg >> 4, m.pop())
    m.push(m.read(ins.arg & 15))


@handler(TABLE, "STORE_FAST_STORE_FAST")
def store_fast_store_fast(m: Machine, ins: Instr) -> None:
    m.write(ins.arg >> 4, m.pop())
    m.write(ins.arg & 15, m.pop())


@handler(TABLE, "CONVERT_VALUE")
def convert_value(m: Machine, ins: Instr) -> None:
    conversion = (None, "s", "r", "a")[ins.arg]
    m.push(m.call(intrinsics.convert_value, m.pop(), Const(conversion)))


@handler(TABLE, "FORMAT_WITH_SPEC")
def format_with_spec(m: Machine, ins: Instr) -> None:
    value, spec = m.popn(2)
    m.push(m.call(intrinsics.format_value, value, Const(None), spec))


@handler(TABLE, "MAKE_FUNCTION")
def make_function(m: Machine, ins: Instr) -> None:
    code = m.pop()
    assert isinstance(code, Const)
    calls.closure(m, code.value, calls.Parts())


@handler(TABLE, "SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(m: Machine, ins: Instr) -> None:
    """The function was made by the operation before: make it anew with one part more."""
    function, part = m.pop(), m.pop()
    made = m.block.ops.pop()
    assert made.result is function and isinstance(function, Value)
    parts = m.parts.pop(function, None) or calls.Parts()
    parts.add(m, ins.arg, part)
    calls.closure(m, made.attr.code, parts)
    m.parts[m.block.ops[-1].result] = parts
