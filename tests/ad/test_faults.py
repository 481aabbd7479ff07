"""The tests are tested: a planted fault must make the comparison with the oracle fail."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

from pullback.ad import build, compile, reverse
from pullback.ad.loops import dependence, temporaries
from pullback.ad.planning import memory, points
from pullback.rules import registry
from pullback.runtime import prims

from .test_traps import agree, rotate, swap_arrays


def seidel(x):
    for _ in range(2):
        for i in range(1, len(x) - 1):
            x[i] = math.tanh(x[i - 1] + x[i] * x[i + 1])
    return (x * x).sum()


X = np.array([0.9, 1.4, -0.7, 1.2])


def test_sound_as_it_is() -> None:
    agree(seidel, X)
    agree(rotate, 0.7, 1.3, -0.4, 4)


def test_a_broken_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = registry.ScalarRule(operator.mul, (lambda y, a, b: b, lambda y, a, b: b), False, None)
    monkeypatch.setitem(registry._scalar, operator.mul, broken)
    with pytest.raises(AssertionError):
        agree(seidel, X)


def test_a_dropped_save_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = build.make_plan

    def forgetful(*args: Any, **kw: Any) -> Any:
        made = planned(*args, **kw)
        assert made.policy == "naive" or made.primal.saved, "this program is rolled back"
        made.primal.saved.clear()
        return made

    monkeypatch.setattr(build, "make_plan", forgetful)
    with pytest.raises(AssertionError, match="Not equal"):
        agree(seidel, X)


def test_an_unsound_evaluation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.Memory, "spoilt", lambda self, load, points: False)
    with pytest.raises(AssertionError):
        agree(seidel, X)


def test_a_save_that_nobody_asks_for_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.Memory, "missed", lambda self, load, points: [])
    with pytest.raises(AssertionError):
        agree(seidel, X)


def test_a_later_write_that_is_overlooked_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def cleared(x):
        s = 0.0
        for i in range(1, len(x)):
            s += x[i] * x[i - 1]
        for i in range(len(x)):
            x[i] = 0.5
        return s + x.sum()

    agree(cleared, X)
    monkeypatch.setattr(points.Places, "_to", lambda self, block, region: 0)
    with pytest.raises(AssertionError):
        agree(cleared, X)


def test_a_wrong_edge_copy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(self: Any, v: Any) -> Any:
        return self.b.get(self.slot(v)) if v not in self.local else self._accumulated.pop(v, None)

    monkeypatch.setattr(reverse.Reverse, "take", one_by_one)  # read, but not set to zero
    with pytest.raises(AssertionError):
        agree(rotate, 0.7, 1.3, -0.4, 4)
    with pytest.raises(AssertionError):
        agree(swap_arrays, X, X * 0.5, 3)


def squares_ahead(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += x[i + 1] ** 2
        x[i] = 0.0
    return s


def squares_behind(x):
    """What the loop reads in one iteration it overwrites in the next."""
    s = 0.0
    for i in range(1, len(x)):
        s += x[i] ** 3
        x[i - 1] = s
    return s * x[0]


def overwritten_late(x):
    """What is read in one iteration is overwritten in the same one."""
    s = 0.0
    for i in range(len(x) - 1):
        s += x[i + 1] * x[i + 1] * x[i]
        x[i] = 0.5
    return s


ASK = dependence.Dependence._ask


@pytest.mark.parametrize(
    ("f", "asked"),
    [(squares_ahead, False), (squares_behind, False), (overwritten_late, True)],
    ids=["ahead", "behind", "same"],
)
def test_iterations_that_are_not_compared_are_noticed(
    f: Any, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only later iterations are asked about, or only the same one."""
    agree(f, X)
    monkeypatch.setattr(
        dependence.Dependence,
        "_ask",
        lambda d, a, b, carried: carried is asked and ASK(d, a, b, carried),
    )
    with pytest.raises(AssertionError):
        agree(f, X)


@pytest.mark.parametrize("f", [seidel, squares_behind], ids=lambda f: f.__name__)
def test_a_proof_that_is_none_is_noticed(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agree(f, X)
    monkeypatch.setattr(dependence, "impossible", lambda equal, facts: True)
    with pytest.raises(AssertionError):
        agree(f, X)


def turned_each_time(x):
    """The array of one round is read in the next, where another one is made."""
    for _ in range(3):
        x = x[::-1] * x + 0.5
    return (x * x).sum()


def test_one_array_where_two_are_alive_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    agree(turned_each_time, X)
    monkeypatch.setattr(temporaries._Uses, "temporary", lambda uses, made, loop: True)
    with pytest.raises(AssertionError):
        agree(turned_each_time, X)


def shifted_by_one(x):
    x[1:] = x[:-1]
    x[0] *= x[1]
    return (x * x).sum()


def test_a_copy_that_is_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    agree(shifted_by_one, X)

    def never(ir: Any, *, apart: bool = True) -> bool:
        copies = [op for op in ir.ops() if op.is_call(prims.overlap_copy)]
        for block in ir:
            block.ops = [op for op in block.ops if op not in copies]
        ir.substitute({op.result: op.args[1] for op in copies})
        return bool(copies)

    monkeypatch.setattr(compile, "decide_copies", never)
    with pytest.raises(AssertionError):
        agree(shifted_by_one, X)
