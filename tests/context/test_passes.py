"""Passes of a context: order, signatures, expressions, markers, and what goes wrong."""

import gc
import math
import operator
import weakref

import pytest

import pullback as pb
from pullback.context import CONTEXT, leave
from pullback.context.tables import is_dead
from pullback.ir.core import CALL, GETCELL, NEWCELL, SETCELL, Const, Op, Return
from pullback.ir.edit import call_sites, replace_calls
from pullback.ir.intrinsics import build_tuple


def area(r):
    return scale(r) * r


def scale(r):
    return 3.0 * r


def test_a_pass_sees_each_function_and_signature_once():
    seen = []

    class Ctx(pb.Context):
        factor = 2
        passes = [lambda ir, cls, signature: seen.append((ir.info.name, cls, signature)) or ir]

    for x in (2.0, 3.0, 2, 4):
        assert Ctx().overdub(area, x) == area(x)
    assert seen == [
        ("area", Ctx, (float,)), ("scale", Ctx, (float,)),
        ("area", Ctx, (int,)), ("scale", Ctx, (int,)),
    ]  # fmt: skip


def test_passes_run_in_order_before_calls_are_rewritten():
    def adds(ir, cls, signature):
        for _, op in call_sites(ir):
            if op.is_call(operator.mul):
                op.args = (Const(operator.add), *op.args[1:])
        return ir

    def subtracts(ir, cls, signature):
        replace_calls(ir, {operator.add: operator.sub})
        return ir

    class Ctx(pb.Context):
        passes = [adds, subtracts]

    class Other(pb.Context, passes=[subtracts, adds]):
        pass

    assert Ctx().overdub(lambda x: x * 2, 5) == 3
    assert Other().overdub(lambda x: x * 2, 5) == 7


@pytest.mark.parametrize("kind", ["text", "tree"])
def test_an_expression_replaces_the_body(kind):
    import ast

    def constant(ir, cls, signature):
        if ir.info.name != "scale":
            return ir
        return (
            "10.0 * r + offset" if kind == "text" else ast.parse("10.0 * r + offset", mode="eval")
        )

    class Ctx(pb.Context):
        passes = [constant]

    assert Ctx().overdub(area, 2.0) == 2.0 * (20.0 + offset)
    captured = 7

    def scale(r, *rest, key=1):
        return captured

    class Captures(pb.Context):
        passes = [lambda ir, *_: "captured + r + key + len(rest)" if rest_of(ir) else ir]

    assert Captures().overdub(lambda: scale(1, 2, 3, key=4)) == 7 + 1 + 4 + 2


offset = 0.5


def rest_of(ir):
    return ir.info.varargs


def test_a_call_can_be_left_alone():
    def leaving(ir, cls, signature):
        for _, op in call_sites(ir):
            if not op.is_call(getattr):
                leave(op)
        return ir

    class Ctx(pb.Context):
        pass

    Ctx.primitive(math.sin)(lambda ctx, x: "primitive")

    class Leaving(Ctx):
        passes = [leaving]

    def program():
        return math.sin(0.0)

    assert Ctx().overdub(program) == "primitive" and Leaving().overdub(program) == 0.0


def fib(n):
    if n < 2:
        return n
    a = fib(n - 1)
    return a + fib(n - 2)


def threaded(ctx, count, f, *args):
    """The result of a call, and the count after it."""
    if ctx.can_recurse(f):
        return ctx.recurse(f, *args, count=count)
    return f(*args), count + 1


def thread_count(ir, cls, signature):
    """Each function takes a further argument and returns it behind its result; in between it is
    given to each call and taken from it."""
    count, cell = ir.value("count"), ir.value()
    ir.args.append(count)
    ir.info.kwonly += 1
    ir.info.argnames += ("count",)
    for block in ir:
        old, block.ops = block.ops, []
        if block is ir.entry:
            block.ops.append(Op(NEWCELL, cell, (count,), "count"))
        for op in old:
            block.ops += _through(ir, cell, op) if op.kind == CALL else [op]
        if isinstance(block.term, Return):
            now = Op(GETCELL, ir.value(), (cell,), "count")
            both = ir.call(build_tuple, block.term.value, now.result)
            block.ops += [now, both]
            block.term.value = both.result
    return ir


def _through(ir, cell, op):
    now = Op(GETCELL, ir.value(), (cell,), "count")
    pair = ir.call(threaded, Const(CONTEXT), now.result, *op.args, loc=op.loc)
    result = Op(CALL, op.result, (Const(operator.getitem), pair.result, Const(0)))
    after = ir.call(operator.getitem, pair.result, 1)
    return [now, pair, result, after, Op(SETCELL, ir.value(), (cell, after.result), "count")]


def test_a_value_threaded_through_all_calls():
    class Ctx(pb.Context):
        passes = [thread_count]
        exclude = [threaded]

    class Counting(pb.Context):
        def prehook(self, f, *args):
            self.count += f in (operator.lt, operator.add, operator.sub)

    counting = Counting()
    counting.count = 0
    counting.overdub(fib, 6)
    assert Ctx().overdub(fib, 6, count=0) == (8, counting.count)
    assert counting.count == 61


def test_the_classes_of_a_signature_are_not_kept():
    class Ctx(pb.Context):
        passes = [lambda ir, cls, signature: ir]

    class Local:
        pass

    def identity(x):
        return x

    ctx, ref = Ctx(), weakref.ref(Local)
    for x in (Local(), 1, Local()):
        ctx.overdub(lambda x: identity(x=x), x)
    del Local, x
    gc.collect()
    assert ref() is None
    ctx.overdub(lambda x: identity(x=x), 1.0)
    assert not any(is_dead(k[1]) for t in Ctx._tables.values() for k in t._entries)


# -- bad passes ------------------------------------------------------------------------------------
def raises(ir, cls, signature):
    raise KeyError("lost")


def rubbish(ir, cls, signature):
    return 42


def breaks(ir, cls, signature):
    next(iter(ir)).term.value = ir.value("nowhere")
    return ir


@pytest.mark.parametrize("bad, why", [
    (raises, "raised KeyError"), (rubbish, "returned int"), (breaks, "left broken IR"),
])  # fmt: skip
def test_a_bad_pass_is_named_with_the_users_function(bad, why):
    class Ctx(pb.Context):
        passes = [bad]

    with pytest.raises(pb.PullbackError, match=rf"PB501.*{bad.__name__} of Ctx {why}") as caught:
        Ctx().overdub(scale, 1.0)
    assert "scale" in str(caught.value) and caught.value.loc.file == __file__
