import operator

import pytest
from hypothesis import HealthCheck, given, settings
from numba import types

from pullback.ir.builder import Builder
from pullback.ir.core import IR
from pullback.ir.verify import verify
from pullback.passes.dce import dce
from pullback.passes.manager import PassManager, Stage, optimize, standard, tidy
from pullback.passes.simplify_cfg import simplify_cfg
from pullback.runtime import prims
from tests.ir.programs import agree, arguments, structured, unstructured


def logged(log, name, changes=0):
    """A pass that notes when it runs, and says that it changed something ``changes`` times."""
    left = [changes]

    def run(ir):
        log.append(name)
        left[0] -= 1
        return left[0] >= 0

    run.__name__ = name
    return run


def test_order_is_that_of_stages_and_of_passes_in_them():
    log = []
    manager = PassManager()
    manager.add(logged(log, "b"), stage="one").add(logged(log, "d"), stage="two")
    manager.add(logged(log, "a"), stage="one", before="b")
    manager.add(logged(log, "c"), stage="one", after="b")
    assert not manager.run(IR())
    assert log == list("abcd")
    log.clear()
    manager.remove("b").run(IR(), stage="one")
    assert log == ["a", "c"]
    assert repr(manager) == "<PassManager one: a, c; two: d>"


def test_unknown_names():
    manager = PassManager().add(dce)
    for wrong in (lambda: manager.remove("x"), lambda: manager.add(dce, after="x")):
        with pytest.raises(KeyError):
            wrong()


def test_a_stage_repeats_until_nothing_changes():
    log = []
    stage = Stage("s", [("a", logged(log, "a", 2)), ("b", logged(log, "b"))], rounds=9)
    assert PassManager([stage]).run(IR())
    assert log == list("ababa")  # b has nothing to do again: nothing changed since
    log.clear()
    stage = Stage("s", [("a", logged(log, "a", 9))], rounds=2)
    PassManager([stage]).run(IR())
    assert log == ["a", "a"]


def test_a_settled_pass_waits_for_another_one():
    log = []
    a, b = logged(log, "a", 9), logged(log, "b", 1)
    PassManager([Stage("s", [("a", a), ("b", b)], rounds=9)], settled=[a]).run(IR())
    assert log == list("abab")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(structured() | unstructured())
def test_what_is_said_to_be_settled_is(ir):
    manager = standard()
    for run in manager.settled:
        run(ir)
        text = str(ir)
        run(ir)
        assert str(ir) == text


def test_what_is_called_between():
    seen, shown = [], []
    manager = PassManager(verify=seen.append, show=lambda *what: shown.append(what))
    log = []
    manager.add(logged(log, "a", 1)).add(logged(log, "b"))
    ir = IR()
    manager.run(ir)
    assert seen == [ir]  # after the one that changed something
    assert shown == [("main", "a", ir), ("main", "b", ir)]
    assert manager.changes == {"a": 1, "b": 0} and set(manager.timings) == {"a", "b"}
    assert "a" in manager.report()


def test_optimize():
    ir = IR()
    x = ir.value("x", types.float64)
    at = Builder(ir, ir.block([x]))
    y = at.call(operator.mul, x, at.call(operator.sub, 3.0, 2.0, type=types.float64), type=x.type)
    end = ir.block()
    at.jump(end)
    at.at(end).ret(y)
    assert optimize(ir) and len(ir) == 0 and ir.entry.term.value is x
    assert not optimize(ir)


def test_tidy_moves_no_code():
    ir = IR()
    xs = ir.value("xs", types.float64[::1])
    at = Builder(ir, ir.block([xs]))
    loop, end = ir.block(), ir.block()
    at.jump(loop)
    n = at.at(loop).call(prims.dim, xs, 0, type=types.int64)
    at.branch(at.call(operator.gt, n, 1, type=types.boolean), loop, end)
    at.at(end).ret(n)
    assert not tidy(ir) and loop.ops
    assert optimize(ir) and not loop.ops


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(structured() | unstructured(), arguments)
def test_the_standard_passes_together(ir, args):
    before = ir.copy()
    manager = standard()
    manager.verify = verify
    manager.run(ir)
    agree(before, ir, args)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(structured() | unstructured())
def test_deterministic(ir):
    twin = ir.copy()
    optimize(ir)
    optimize(twin)
    assert str(ir) == str(twin)


def test_in_any_order():
    manager = PassManager().add(simplify_cfg, name="second").add(dce, name="first", before="second")
    assert repr(manager) == "<PassManager main: first, second>"
