"""What the instructions that all supported versions share do to the abstract machine.

A table maps the name of an instruction to its handler ``(machine, instruction) -> None``. The
modules ``opcodes_311`` etc. complete the table for one version each. An instruction that is in no
table is a construct that cannot be lifted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..ir import intrinsics
from ..ir.core import (
    GETCELL,
    GLOBAL,
    NEWCELL,
    SETCELL,
    Const,
    Edge,
    ForIter,
    Jump,
    Operand,
    Raise,
    Return,
    Undef,
    Value,
)
from ..ir.operators import BINARY_OP, COMPARE, UNARY
from .calls import Handler, constant_items
from .decode import Instr
from .machine import NULL, Machine, Saved

Table = dict[str, Handler]


def handler(table: Table, *names: str) -> Callable[[Handler], Handler]:
    """Enter the function under the names."""

    def enter(f: Handler) -> Handler:
        table.update(dict.fromkeys(names, f))
        return f

    return enter


COMMON: Table = {}


# -- calls of a fixed function with operands from the stack ----------------------------------------
def push_call(fn: Any, n: int, order: tuple[int, ...] | None = None) -> Handler:
    """Pop n operands, push the result of fn on them (permuted by ``order`` if given)."""

    def run(m: Machine, ins: Instr) -> None:
        xs = m.popn(n)
        m.push(m.call(fn, *(xs if order is None else [xs[i] for i in order])))

    return run


def effect_call(fn: Any, n: int, order: tuple[int, ...] | None = None) -> Handler:
    """The same without a result."""

    def run(m: Machine, ins: Instr) -> None:
        xs = m.popn(n)
        m.call(fn, *(xs if order is None else [xs[i] for i in order]))

    return run


def push_display(fn: Any, per: int = 1) -> Handler:
    """Pop as many operands as the argument says."""

    def run(m: Machine, ins: Instr) -> None:
        m.push(m.call(fn, *m.popn(per * ins.arg)))

    return run


def mutate(fn: Any, n: int = 1) -> Handler:
    """Pop n operands and call fn on them and a collection further down."""

    def run(m: Machine, ins: Instr) -> None:
        xs = m.popn(n)
        m.call(fn, m.stack[-ins.arg], *xs)

    return run


def grow(fn: Any) -> Handler:
    """Pop one operand and replace a collection further down by fn of it and the operand."""

    def run(m: Machine, ins: Instr) -> None:
        x = m.pop()
        m.stack[-ins.arg] = m.call(fn, m.stack[-ins.arg], x)

    return run


def peek_call(fn: Any, n: int) -> Handler:
    """Push the result of fn on the top n operands, which stay."""

    def run(m: Machine, ins: Instr) -> None:
        m.push(m.call(fn, *m.stack[-n:]))

    return run


COMMON |= {name: push_call(fn, 1) for name, fn in UNARY.items()}
COMMON |= {
    "BINARY_SUBSCR": push_call(operator.getitem, 2),
    "STORE_SUBSCR": effect_call(operator.setitem, 3, (1, 2, 0)),
    "DELETE_SUBSCR": effect_call(operator.delitem, 2),
    "GET_ITER": push_call(iter, 1),
    "GET_LEN": peek_call(intrinsics.get_len, 1),
    "MATCH_SEQUENCE": peek_call(intrinsics.match_sequence, 1),
    "MATCH_MAPPING": peek_call(intrinsics.match_mapping, 1),
    "MATCH_KEYS": peek_call(intrinsics.match_keys, 2),
    "BUILD_TUPLE": push_display(intrinsics.build_tuple),
    "BUILD_LIST": push_display(intrinsics.build_list),
    "BUILD_SET": push_display(intrinsics.build_set),
    "BUILD_MAP": push_display(intrinsics.build_map, 2),
    "BUILD_STRING": push_display(intrinsics.build_string),
    "BUILD_SLICE": push_display(slice),
    "LIST_APPEND": mutate(intrinsics.list_append),
    "SET_ADD": mutate(intrinsics.set_add),
    "MAP_ADD": mutate(intrinsics.map_add, 2),
    "SET_UPDATE": grow(intrinsics.set_update),
    "DICT_UPDATE": grow(intrinsics.dict_update),
}


@handler(COMMON, "BINARY_OP")
def binary_op(m: Machine, ins: Instr) -> None:
    a, b = m.popn(2)
    m.push(m.call(BINARY_OP[ins.arg], a, b))


def compare(m: Machine, symbol: str) -> None:
    a, b = m.popn(2)
    m.push(m.call(COMPARE[symbol], a, b))


@handler(COMMON, "IS_OP")
def is_op(m: Machine, ins: Instr) -> None:
    a, b = m.popn(2)
    m.push(m.call(operator.is_not if ins.arg else operator.is_, a, b))


@handler(COMMON, "CONTAINS_OP")
def contains_op(m: Machine, ins: Instr) -> None:
    item, container = m.popn(2)
    found = m.call(operator.contains, container, item)
    m.push(m.call(operator.not_, found) if ins.arg else found)


@handler(COMMON, "LIST_EXTEND")
def list_extend(m: Machine, ins: Instr) -> None:
    """A display of constants is built by extending an empty list with a constant tuple."""
    items, target = m.pop(), m.stack[-ins.arg]
    last = m.block.ops[-1] if m.block.ops else None
    fresh = last is not None and last.result is target and last.is_call(intrinsics.build_list)
    if last is not None and fresh and not last.posargs and isinstance(items, Const):
        last.args += tuple(map(Const, items.value))
        return
    m.stack[-ins.arg] = m.call(intrinsics.list_extend, target, items)


@handler(COMMON, "BUILD_CONST_KEY_MAP")
def build_const_key_map(m: Machine, ins: Instr) -> None:
    keys = m.pop()
    values = m.popn(ins.arg)
    pairs = [x for k, v in zip(constant_items(keys), values) for x in (k, v)]
    m.push(m.call(intrinsics.build_map, *pairs))


# -- the stack -------------------------------------------------------------------------------------
@handler(COMMON, "NOP", "RESUME", "CACHE", "PRECALL", "COPY_FREE_VARS")
def nothing(m: Machine, ins: Instr) -> None:
    pass


@handler(COMMON, "PUSH_NULL")
def push_null(m: Machine, ins: Instr) -> None:
    m.push(NULL)


@handler(COMMON, "POP_TOP", "END_FOR")
def pop_top(m: Machine, ins: Instr) -> None:
    m.pop()


@handler(COMMON, "COPY")
def copy(m: Machine, ins: Instr) -> None:
    m.push(m.stack[-ins.arg])


@handler(COMMON, "SWAP")
def swap(m: Machine, ins: Instr) -> None:
    m.stack[-ins.arg], m.stack[-1] = m.stack[-1], m.stack[-ins.arg]


# -- constants, locals, cells, globals, attributes -------------------------------------------------
@handler(COMMON, "LOAD_CONST")
def load_const(m: Machine, ins: Instr) -> None:
    m.push(Const(m.consts[ins.arg]))


@handler(COMMON, "LOAD_ASSERTION_ERROR")
def load_assertion_error(m: Machine, ins: Instr) -> None:
    m.push(Const(AssertionError))


@handler(COMMON, "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_CLOSURE")
def load_fast(m: Machine, ins: Instr) -> None:
    m.push(m.read(ins.arg))


@handler(COMMON, "STORE_FAST")
def store_fast(m: Machine, ins: Instr) -> None:
    m.write(ins.arg, m.pop())


@handler(COMMON, "DELETE_FAST")
def delete_fast(m: Machine, ins: Instr) -> None:
    x = m.read(ins.arg)
    if isinstance(x, Value) and m.value_names[ins.arg] and not m.in_slot(ins.arg):
        m.call(intrinsics.release, x)
    m.clear(ins.arg)


@handler(COMMON, "MAKE_CELL")
def make_cell(m: Machine, ins: Instr) -> None:
    content = m.take(ins.arg)
    if isinstance(content, Saved):
        raise m.refuse("a cell that differs from path to path", ins)
    cell = m.op(NEWCELL, (content,), m.plain_name(ins.arg))
    m.write(ins.arg, cell)


@handler(COMMON, "LOAD_DEREF")
def load_deref(m: Machine, ins: Instr) -> None:
    m.push(m.op(GETCELL, (m.read(ins.arg),), m.plain_name(ins.arg)))


@handler(COMMON, "STORE_DEREF")
def store_deref(m: Machine, ins: Instr) -> None:
    m.op(SETCELL, (m.read(ins.arg), m.pop()), m.plain_name(ins.arg))


@handler(COMMON, "DELETE_DEREF")
def delete_deref(m: Machine, ins: Instr) -> None:
    name = m.plain_name(ins.arg)
    m.op(SETCELL, (m.read(ins.arg), Undef(name)), name)


def load_global(m: Machine, name: str) -> Value:
    return m.op(GLOBAL, (), name)


@handler(COMMON, "LOAD_BUILD_CLASS")
def load_build_class(m: Machine, ins: Instr) -> None:
    m.push(load_global(m, "__build_class__"))


@handler(COMMON, "STORE_GLOBAL")
def store_global(m: Machine, ins: Instr) -> None:
    m.call(intrinsics.store_global, Const(m.names[ins.arg]), m.pop())


@handler(COMMON, "DELETE_GLOBAL")
def delete_global(m: Machine, ins: Instr) -> None:
    m.call(intrinsics.delete_global, Const(m.names[ins.arg]))


def get_attribute(m: Machine, x: Operand, name: str) -> Value:
    return m.call(getattr, x, Const(name))


@handler(COMMON, "STORE_ATTR")
def store_attr(m: Machine, ins: Instr) -> None:
    value, target = m.popn(2)
    m.call(setattr, target, Const(m.names[ins.arg]), value)


@handler(COMMON, "DELETE_ATTR")
def delete_attr(m: Machine, ins: Instr) -> None:
    m.call(delattr, m.pop(), Const(m.names[ins.arg]))


@handler(COMMON, "IMPORT_NAME")
def import_name(m: Machine, ins: Instr) -> None:
    level, fromlist = m.popn(2)
    m.push(m.call(intrinsics.import_name, Const(m.names[ins.arg]), fromlist, level))


@handler(COMMON, "IMPORT_FROM")
def import_from(m: Machine, ins: Instr) -> None:
    m.push(m.call(intrinsics.import_from, m.stack[-1], Const(m.names[ins.arg])))


# -- unpacking, match ------------------------------------------------------------------------------
def push_items(m: Machine, items: Value, n: int) -> None:
    m.stack += [m.call(operator.getitem, items, Const(i)) for i in range(n)][::-1]


@handler(COMMON, "UNPACK_SEQUENCE")
def unpack_sequence(m: Machine, ins: Instr) -> None:
    push_items(m, m.call(intrinsics.unpack, m.pop(), Const(ins.arg)), ins.arg)


@handler(COMMON, "UNPACK_EX")
def unpack_ex(m: Machine, ins: Instr) -> None:
    before, after = ins.arg & 255, ins.arg >> 8
    items = m.call(intrinsics.unpack_ex, m.pop(), Const(before), Const(after))
    push_items(m, items, before + 1 + after)


@handler(COMMON, "MATCH_CLASS")
def match_class(m: Machine, ins: Instr) -> None:
    subject, cls, names = m.popn(3)
    m.push(m.call(intrinsics.match_class, subject, cls, names, Const(ins.arg)))


# -- jumps -----------------------------------------------------------------------------------------
@handler(COMMON, "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def jump(m: Machine, ins: Instr) -> None:
    assert ins.target is not None
    m.jump(ins.target)


def branch_if(truth: bool) -> Handler:
    """Pop a condition, jump if its truth is ``truth``."""

    def run(m: Machine, ins: Instr) -> None:
        branch(m, m.pop(), ins, truth)

    return run


def branch_if_none(truth: bool) -> Handler:
    """Jumping on None is how ``x is not None`` fails, jumping on others how ``x is None`` does."""

    def run(m: Machine, ins: Instr) -> None:
        test = operator.is_not if truth else operator.is_
        branch(m, m.call(test, m.pop(), Const(None)), ins, False)

    return run


def branch(m: Machine, cond: Operand, ins: Instr, truth: bool) -> None:
    assert ins.target is not None
    goto, after = m.edge(ins.target), m.edge(ins.next)
    m.branch(cond, goto if truth else after, after if truth else goto)


@handler(COMMON, "FOR_ITER")
def for_iter(m: Machine, ins: Instr) -> None:
    """The item goes to a block of its own, which goes on to the body."""
    assert ins.target is not None
    m.may_leave()
    iterator = m.pop()
    end = m.edge(ins.target)
    item = m.ir.value()
    entry = m.ir.block([item])
    m.block.term = ForIter(iterator, Edge(entry.id), end, m.loc)
    m.go_on(entry)
    m.stack += [iterator, item]
    entry.term = Jump(m.edge(ins.next), m.loc)
    m.done = True


# -- ends ------------------------------------------------------------------------------------------
@handler(COMMON, "RETURN_VALUE")
def return_value(m: Machine, ins: Instr) -> None:
    m.block.term = Return(m.pop(), m.loc)
    m.done = True


@handler(COMMON, "RAISE_VARARGS")
def raise_varargs(m: Machine, ins: Instr) -> None:
    m.may_leave()
    parts = m.popn(ins.arg)
    exc, cause = (*parts, None, None)[:2]
    m.block.term = Raise(exc, cause, m.loc)
    m.done = True
