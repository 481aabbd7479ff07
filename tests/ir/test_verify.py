"""Each kind of broken IR is found."""

from __future__ import annotations

import operator

import pytest

from pullback.errors import InvalidIR
from pullback.ir.builder import Builder
from pullback.ir.core import (
    CALL,
    GETCELL,
    GLOBAL,
    IR,
    SLOTSET,
    YIELD,
    Edge,
    ForIter,
    Info,
    Jump,
    Op,
)
from pullback.ir.intrinsics import push_exc_info
from pullback.ir.verify import verify


def loop():
    """A function with a branch, a loop and a value in each block."""
    ir = IR(Info(name="f", qualname="f", argnames=("x",)))
    b = Builder(ir)
    x = ir.value("x")
    b.block.params.append(x)
    head, body, end = ir.block([ir.value("i")]), ir.block(), ir.block()
    b.jump(head, [0])
    b.at(head).branch(b.call(operator.lt, head.params[0], x), body, end)
    b.at(body)
    b.jump(head, [b.call(operator.add, head.params[0], 1)])
    b.at(end).ret(head.params[0])
    return ir


def test_sound():
    ir = loop()
    assert verify(ir) is ir


def no_blocks(ir):
    ir.blocks.clear()


def no_terminator(ir):
    ir.blocks[3].term = type(ir.block().term)()


def jump_to_entry(ir):
    ir.blocks[2].term = Jump(Edge(0, [1]))


def arguments_missing(ir):
    ir.entry.params.clear()


def wrong_arity(ir):
    ir.blocks[2].term.edge.args = ()


def item_counts_as_argument(ir):
    ir.blocks[2].term = ForIter(ir.args[0], Edge(1, [1]), Edge(3))


def unknown_target(ir):
    ir.blocks[2].term.edge.target = 9


def unknown_handler(ir):
    ir.blocks[2].handler = 9


def handled(ir):
    """Give the body a handler."""
    handler = ir.block([ir.value("exc")])
    Builder(ir, handler).ret(ir.args[0])
    ir.blocks[2].handler = handler.id
    return verify(ir).blocks[handler.id]


def handler_without_parameter(ir):
    handled(ir).params.clear()


def jump_to_handler(ir):
    ir.blocks[1].term.orelse = Edge(handled(ir).id, [1])


def entry_is_handler(ir):
    ir.blocks[2].handler = 0


def used_where_an_exception_led(ir):
    handled(ir).term.value = ir.blocks[2].ops[0].result


def yield_of_nothing(ir):
    ir.entry.ops.append(Op(YIELD, ir.value(), ()))


def defined_twice(ir):
    ir.blocks[3].ops.append(ir.blocks[2].ops[0])


def same_id(ir):
    ir.blocks[2].ops[0].result.id = 0


def used_before_definition(ir):
    ir.entry.ops.append(Op(CALL, ir.value(), (ir.blocks[2].ops[0].result,)))


def used_on_the_other_branch(ir):
    ir.blocks[3].term.value = ir.blocks[2].ops[0].result


def order_in_block(ir):
    a = ir.call(operator.neg, 1)
    ir.entry.ops[:] = [ir.call(operator.neg, a.result), a]


def never_defined(ir):
    ir.blocks[3].term.value = ir.value()


def no_operand(ir):
    ir.blocks[3].term.value = 3


def wrong_file(ir):
    ir.blocks[7] = ir.blocks.pop(3)
    ir.blocks[1].term.orelse.target = 7


def unknown_kind(ir):
    ir.entry.ops.append(Op("strange", ir.value()))


def call_of_nothing(ir):
    ir.entry.ops.append(Op(CALL, ir.value(), ()))


def more_keywords_than_operands(ir):
    ir.entry.ops.append(Op(CALL, ir.value(), (ir.args[0],), ("a",)))


def bad_keywords(ir):
    ir.entry.ops.append(Op(CALL, ir.value(), (ir.args[0],), "ab"))


def cell_without_operand(ir):
    ir.entry.ops.append(Op(GETCELL, ir.value(), (), "x"))


def global_without_name(ir):
    ir.entry.ops.append(Op(GLOBAL, ir.value(), ()))


def slot_without_slot(ir):
    ir.entry.ops.append(Op(SLOTSET, ir.value(), (ir.args[0],), "acc"))


FAULTS = [
    no_blocks, no_terminator, jump_to_entry, arguments_missing, wrong_arity,
    item_counts_as_argument, unknown_target, unknown_handler, defined_twice, same_id,
    handler_without_parameter, jump_to_handler, entry_is_handler, used_where_an_exception_led,
    yield_of_nothing, used_before_definition, used_on_the_other_branch, order_in_block,
    never_defined, no_operand, wrong_file, unknown_kind, call_of_nothing,
    more_keywords_than_operands, bad_keywords,
    cell_without_operand, global_without_name, slot_without_slot,
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_fault_is_found(fault):
    ir = loop()
    fault(ir)
    with pytest.raises(InvalidIR) as info:
        verify(ir)
    assert info.value.code == "PB104"


def test_what_cannot_raise_comes_before_an_exception_leaves():
    ir = loop()
    handler = handled(ir)
    early = ir.call(push_exc_info, ir.args[0])
    ir.blocks[2].ops.insert(0, early)
    handler.term.value = early.result
    verify(ir)
    ir.blocks[2].ops.insert(0, ir.call(print))
    with pytest.raises(InvalidIR):
        verify(ir)


def test_types():
    ir = loop()
    with pytest.raises(InvalidIR):
        verify(ir, typed=True)
    for b in ir:
        for v in [*b.params, *(op.result for op in b.ops)]:
            v.type = "int64"
    verify(ir, typed=True)
