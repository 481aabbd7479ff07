"""The canonical form: each rule on a function that breaks it."""

from __future__ import annotations

import operator

from pullback.ir.builder import Builder
from pullback.ir.canonical import canonicalize
from pullback.ir.core import IR, ForIter, Info, Reraise, Slot, Undef
from pullback.ir.intrinsics import check_bound, release
from pullback.ir.printer import format_ir
from pullback.ir.verify import verify


def function(*argnames):
    ir = IR(Info(name="f", qualname="f", argnames=argnames))
    b = Builder(ir)
    b.block.params += [ir.value(n) for n in argnames]
    return ir, b


def canonical(ir):
    verify(ir)
    verify(canonicalize(ir))
    once = format_ir(ir)
    assert format_ir(canonicalize(ir)) == once
    return once.splitlines()[1:]


def test_straight_line_is_one_block():
    ir, b = function("x")
    second, third = ir.block([ir.value("y")]), ir.block()
    b.jump(second, [ir.args[0]])
    b.at(second).jump(third)
    b.at(third).ret(second.params[0])
    assert canonical(ir) == ["b0(%0.x):", "  return %0.x"]


def test_unreachable_blocks_go():
    ir, b = function("x")
    lost = ir.block()
    b.ret(ir.args[0])
    b.at(lost).ret(ir.args[0])
    assert len(canonical(ir)) == 2


def test_empty_blocks_are_skipped():
    ir, b = function("c")
    then, join = ir.block(), ir.block([ir.value()])
    b.branch(ir.args[0], then, join, [], [1])
    b.at(then).jump(join, [2])
    b.at(join).ret(join.params[0])
    assert canonical(ir)[1] == "  branch %0.c ? b1(2) : b1(1)"


def test_cycle_of_parameters_with_one_source():
    """Two loop heads hand one value to each other."""
    ir, b = function("x", "c")
    x, c = ir.args
    p, q = ir.block([ir.value()]), ir.block([ir.value()])
    end = ir.block()
    b.branch(c, p, q, [x], [x])
    b.at(p).branch(b.call(operator.neg, c), q, end, p.params)
    b.at(q).branch(b.call(operator.pos, c), p, end, q.params)
    b.at(end).ret(x)
    p.ops.append(ir.call(print, p.params[0]))
    assert not any("%" in line.split("(")[1] for line in canonical(ir)[1:] if line[0] == "b")


def test_cycle_with_two_sources_stays():
    ir, b = function("x", "y", "c")
    x, y, c = ir.args
    p, q = ir.block([ir.value()]), ir.block([ir.value()])
    b.branch(c, p, q, [x], [y])
    b.at(p).jump(q, p.params)
    b.at(q)
    b.call(print, q.params[0])
    b.jump(p, q.params)
    canonical(ir)
    assert sum(len(block.params) for block in list(ir)[1:]) == 1


def test_unused_parameters_go():
    ir, b = function("n")
    head = ir.block([ir.value("i"), ir.value("dead")])
    i, dead = head.params
    end = ir.block()
    b.jump(head, [0, 1])
    b.at(head).branch(b.call(operator.lt, i, ir.args[0]), head, end)
    head.term.then.args = (b.call(operator.add, i, 1), dead)
    b.at(end).ret(i)
    canonical(ir)
    assert [p.name for p in list(ir)[1].params] == ["i"]


def test_parameters_in_order_of_names():
    ir, b = function("c")
    c = ir.args[0]
    join = ir.block([ir.value(), ir.value("z"), ir.value("a")])
    b.branch(c, join, join, [1, 2, 3], [4, 5, 6])
    b.at(join).ret(b.call(max, *join.params))
    lines = canonical(ir)
    assert lines[1] == "  branch %0.c ? b1(3, 2, 1) : b1(6, 5, 4)"
    assert lines[2] == "b1(%1.a, %2.z, %3):"


def test_item_of_a_loop_keeps_its_block():
    ir, b = function("xs")
    head, body, end = ir.block(), ir.block([ir.value("x")]), ir.block()
    b.jump(head)
    b.at(head)
    head.term = ForIter(ir.args[0], b.edge(body), b.edge(end))
    b.at(body).jump(head)
    b.at(end).ret(None)
    assert "b2(%1.x):" in canonical(ir)


def checked(*args):
    """A join that receives the arguments, and reads its parameter under a check."""
    ir, b = function("c")
    join = ir.block([ir.value("x")])
    b.branch(ir.args[0], join, join, [args[0]], [args[1]])
    b.at(join).ret(b.call(check_bound, join.params[0], "x"))
    return ir


def test_check_of_what_is_bound_goes():
    assert not any("check" in line for line in canonical(checked(1, 2)))


def test_check_of_what_may_be_unbound_stays():
    assert sum("check" in line for line in canonical(checked(1, Undef("x")))) == 1


def test_check_of_what_is_unbound_raises():
    lines = canonical(checked(Undef("x"), Undef("x")))
    assert any("UnboundLocalError" in line for line in lines)
    assert lines[-1].startswith("  raise")


def test_second_check_goes():
    ir = checked(1, Undef("x"))
    join = ir.blocks[1]
    b = Builder(ir, join)
    join.term.value = b.call(
        operator.add, join.ops[0].result, b.call(check_bound, join.params[0], "x")
    )
    assert sum("check" in line for line in canonical(ir)) == 1


def test_values_are_named_after_parameters():
    ir, b = function("c")
    join = ir.block([ir.value("x")])
    b.branch(ir.args[0], join, join, [b.call(print)], [1])
    b.at(join).ret(join.params[0])
    assert canonical(ir)[1] == "  %1.x = print()"


# -- handlers, slots -------------------------------------------------------------------------------
def guarded(*callees):
    """Blocks, one for each callee, the handler of all but the last (None: the block is empty)."""
    ir, b = function("x")
    handler = ir.block([ir.value("exc")])
    Builder(ir, handler).ret(handler.params[0])
    blocks = [ir.block() for _ in callees]
    b.jump(blocks[0])
    for block, after, callee in zip(blocks, [*blocks[1:], None], callees):
        b.at(block)
        if callee is not None:
            b.call(callee, ir.args[0], 1)
        b.jump(after) if after else b.ret(None)
        block.handler = handler.id if after else None
    return ir


def test_blocks_under_different_handlers_stay_apart():
    lines = canonical(guarded(operator.add, operator.sub))
    assert lines[0] == "b0(%0.x) handler b2:" and "b1():" in lines


def test_what_cannot_raise_joins_its_neighbours():
    assert len([x for x in canonical(guarded(operator.add, operator.is_)) if x[0] == "b"]) == 2
    assert (
        len([x for x in canonical(guarded(None, operator.add, operator.is_)) if x[0] == "b"]) == 2
    )


def test_a_handler_that_nothing_reaches_goes():
    assert not any("handler" in x for x in canonical(guarded(operator.is_, operator.add)))


def test_an_endless_loop_is_interrupted():
    ir, b = function("x")
    spin, handler = ir.block(), ir.block([ir.value("exc")])
    b.jump(spin)
    b.at(spin).jump(spin)
    b.at(handler).ret(handler.params[0])
    spin.handler = handler.id
    assert "b1() handler b2:" in canonical(ir)


def test_a_handler_that_only_reraises_is_skipped():
    ir = guarded(operator.add, operator.sub)
    outer, handler = ir.block([ir.value("exc")]), ir.blocks[1]
    Builder(ir, outer).ret(ir.args[0])
    handler.handler, handler.term = outer.id, Reraise(handler.params[0])
    lines = canonical(ir)
    assert not any("reraise" in x for x in lines) and lines[0].endswith("handler b2:")
    assert lines[lines.index("b2(%3.exc):") + 1] == "  return %0.x"


def test_slots_are_not_used_in_vain():
    ir, b = function("x")
    slot = Slot("s")
    b.set(slot, ir.args[0])
    b.get(slot)
    b.set(slot, b.call(operator.neg, ir.args[0]))
    b.set(slot, Undef("s"))
    b.get(slot)
    b.ret(None)
    assert [x.split("(")[0].split(" = ")[1] for x in canonical(ir)[1:-1]] == [
        "slotset[s]", "neg", "slotset[s]", "slotget[s]",
    ]  # fmt: skip


def test_releases_of_what_is_still_used_go():
    ir, b = function("x", "y")
    x, y = ir.args
    b.call(release, x)
    b.call(release, y)
    b.ret(x)
    assert canonical(ir)[1:] == ["  %2 = release(%1.y)", "  return %0.x"]
