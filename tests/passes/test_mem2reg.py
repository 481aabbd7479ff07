import numpy as np
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR, SLOTGET, SLOTSET, Const, Slot, Undef
from pullback.passes.mem2reg import mem2reg
from pullback.runtime import prims
from tests.ir.interp import run

F, F4 = types.float64, types.float32


def slots_left(ir):
    return [op.kind for op in ir.ops() if op.kind in (SLOTGET, SLOTSET)]


def branching(*contents, slot):
    """Set the slot to one of the contents (None: not at all), then return it."""
    ir = IR()
    c = ir.value("c", types.boolean)
    entry, then, orelse, end = ir.block([c]), ir.block(), ir.block(), ir.block()
    Builder(ir, entry).branch(c, then, orelse)
    for block, content in zip((then, orelse), contents):
        at = Builder(ir, block)
        if content is not None:
            at.set(slot, content)
        at.jump(end)
    at = Builder(ir, end)
    at.ret(at.get(slot))
    return ir


def test_writes_meet_in_a_parameter():
    ir = branching(1.0, 2.0, slot=Slot("s", F))
    assert mem2reg(ir) and slots_left(ir) == []
    (p,) = ir.blocks[3].params
    assert (p.name, p.type) == ("s", F)
    assert run(ir, True) == 1.0 and run(ir, False) == 2.0


def test_unset_is_undefined_of_the_slots_type():
    for contents, unset, arg in (((1.0, None), 2, True), ((None, 1.0), 1, False)):
        ir = branching(*contents, slot=Slot("s", F))
        assert mem2reg(ir)
        assert ir.blocks[unset].edges[0].args == (Undef(None, F),)
        assert run(ir, arg) == 1.0


def test_a_variable_that_may_be_unbound_stays():
    """Reading it raises, which reading a value would not."""
    ir = branching(1.0, None, slot=Slot("s"))
    assert not mem2reg(ir) and slots_left(ir) != []
    assert run(ir, True) == 1.0
    ir = branching(1.0, 2.0, slot=Slot("s"))
    assert mem2reg(ir) and run(ir, False) == 2.0


def test_contents_are_converted_to_the_slots_type():
    ir = branching(0, 2.5, slot=Slot("s", F))
    mem2reg(ir)
    (x,) = ir.blocks[1].edges[0].args
    assert repr(x) == "Const(0.0)"
    ir = branching(0, 2.5, slot=Slot("s", F4))
    mem2reg(ir)
    assert ir.blocks[1].edges[0].args == (Const(np.float32(0)),) or isinstance(
        ir.blocks[1].edges[0].args[0].value, np.float32
    )
    ir = IR()
    x = ir.value("x", F)
    at = Builder(ir, ir.block([x]))
    slot = Slot("s", F4)
    at.set(slot, x)
    at.ret(at.get(slot))
    mem2reg(ir)
    (op,) = ir.ops()
    assert op.is_call(prims.cast) and op.result.type == F4


def test_no_parameter_where_the_slot_is_not_read_again():
    ir = branching(1.0, 2.0, slot=Slot("s", F))
    ir.blocks[3].ops.clear()
    Builder(ir, ir.blocks[3]).ret(0)
    assert mem2reg(ir) and ir.blocks[3].params == []


def test_no_parameter_where_the_slot_is_written_before_it_is_read_again():
    slot = Slot("s", F)
    ir = branching(1.0, 2.0, slot=slot)
    end, last = ir.blocks[3], ir.block()
    end.ops.clear()
    at = Builder(ir, end)
    at.set(slot, 3.0)
    at.jump(last)
    at.at(last).ret(at.get(slot))
    assert mem2reg(ir) and end.params == [] and last.params == []
    assert run(ir, True) == 3.0


def test_a_slot_that_a_handler_reads_stays():
    slot = Slot("s", F)
    ir = branching(1.0, 2.0, slot=slot)
    handler = ir.block()
    at = Builder(ir, handler)
    at.ret(at.get(slot))
    ir.blocks[1].handler = handler.id
    assert not mem2reg(ir)
    other = Slot("t", F)
    Builder(ir, ir.entry).set(other, 1.0)
    assert mem2reg(ir)
    assert {op.attr for op in ir.ops() if op.kind in (SLOTGET, SLOTSET)} == {slot}
