"""Passes of a context: order, signatures, expressions, markers, and what goes wrong."""

import gc
import math
import operator
import weakref

import pytest

import pullback as pb
from pullback.context import CONTEXT, leave
from pullback.context.tables import is_dead
from pullback.ir.core import CALL, Const
from pullback.ir.edit import call_sites, replace_calls


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
    def only_cos(ir, cls, signature):
        for _, op in call_sites(ir):
            if op.kwnames or op.loc.line % 2:
                pass
        for _, op in call_sites(ir):
            if not op.is_call(getattr):
                leave(op)
        return ir

    class Ctx(pb.Context):
        pass

    Ctx.primitive(math.sin)(lambda ctx, x: "primitive")

    class Leaving(Ctx):
        passes = [only_cos]

    def program():
        return math.sin(0.0)

    assert Ctx().overdub(program) == "primitive" and Leaving().overdub(program) == 0.0


def test_a_value_threaded_through_all_calls():
    """Each call is given to the context, which passes a value from one to the next."""

    def step(ctx, f, *args):
        ctx.value += 1
        return ctx.overdub(f, *args)

    def thread(ir, cls, signature):
        for _, op in call_sites(ir):
            if not op.kwnames and op.kind == CALL and not op.is_call(getattr):
                op.args = (Const(step), Const(CONTEXT), *op.args)
        return ir

    class Ctx(pb.Context):
        passes = [thread]
        exclude = [step]

    ctx = Ctx()
    ctx.value = 0
    assert ctx.overdub(area, 2.0) == 12.0 and ctx.value == 3


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
