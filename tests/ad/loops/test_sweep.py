"""Loops whose reverse runs in the loop itself, and those whose reverse has to wait."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.ad import compile as kernels
from pullback.ad.build import build
from pullback.ad.compile import polished, prepared
from pullback.ad.loops import sweep
from pullback.errors import InvalidIR
from pullback.ir.loops import loop_forest
from pullback.runtime import prims

from ..harness import Derived, flatten
from ..test_arrays import agree, values
from ..test_programs import close


def made(f: Any, *args: Any) -> Any:
    """The combined function, with its loops in the form that runs."""
    ir = prepared(flatten(f, args), assuming=True)
    return polished(build(ir, [isinstance(a, np.ndarray) for a in args]).forward)


def loops(ir: Any) -> int:
    return len(list(loop_forest(ir)))


def tapes(ir: Any) -> bool:
    return any(op.is_call(prims.poke) for op in ir.ops())


def elements(x, y):
    return (np.exp(x * y) * np.sin(y)).sum()


def mean_of_all(x, y):
    return np.mean(np.log1p(np.exp(-x * y))) + 0.5 * np.mean(y)


def one_by_one(x, y):
    s = 0.0
    for i in range(len(x)):
        s += np.tanh(x[i]) * y[i] * np.exp(y[i])
    return 3.0 * s


def with_a_number(x, y):
    return (np.exp(x * y[0]) * y[1]).sum()


def two_sums(x, y):
    a = np.sin(x).sum()
    b = (np.exp(y) * y).sum()
    return 2.0 * a - b


def lengths_that_differ(x, y):
    """Two sums over different ranges, that share a cotangent."""
    a = (np.exp(x) * np.sin(x)).sum()
    b = (np.cos(x[1:]) * y[1:]).sum()
    return a + 2.0 * b


def product_before(x, y):
    a = np.reshape(x[:4], (2, 2)) @ y[:2]
    return (np.sin(a) * a).sum()


@pytest.mark.parametrize("f", [elements, mean_of_all, one_by_one, two_sums])
def test_one_loop_and_no_tape(f: Any) -> None:
    ir = made(f, values(5), values(5))
    assert not tapes(ir)
    assert loops(ir) == (2 if f is two_sums else 1)
    for n in (1, 5) if f is mean_of_all else (0, 1, 5):
        agree(f, values(n), values(n))


def log_of_the_sum(x, y):
    return np.log((np.exp(x) * y * y).sum())


def sum_is_needed(x, y):
    s = np.exp(x * y).sum()
    return s * s


def squared_between(x, y):
    a = np.exp(x).sum()
    for i in range(len(x)):
        x[i] = x[i] * x[i] + y[i]
    return a * 2.0 + (x * y).sum()


def neighbours(x, y):
    return (np.exp(x[1:]) * x[:-1] * y[1:]).sum()


def into_one(x, y):
    s = 0.0
    for i in range(len(x)):
        s += np.exp(x[i] * y[0])
    return s


def carried(x, y):
    s = 1.0
    for i in range(len(x)):
        s = s * np.sin(x[i]) + y[i]
    return s


def overwritten(x, y):
    s = 0.0
    for i in range(len(x)):
        s += np.exp(x[i])
        x[i] = y[i] * y[i]
    return s + (x * x).sum()


def read_again(x, y):
    """What the first loop gives a cotangent gets more of it from a later one."""
    z = x * y
    a = np.exp(z).sum()
    b = (z * z * z).sum()
    return a * b


def backwards(x, y):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s += np.exp(x[i]) * y[i]
    return s


def every_other(x, y):
    s = 0.0
    for i in range(0, len(x), 2):
        s += np.exp(x[i]) * y[i]
    return s


def in_a_loop(x, y):
    s = 0.0
    for _ in range(3):
        s += (np.exp(x) * y).sum()
        x *= 0.5
    return s


def might_raise(x, y):
    s = np.exp(x).sum()
    if y[0] > 1e9:
        raise ValueError("too large")
    return s


@pytest.mark.parametrize(
    "f",
    [
        with_a_number,
        lengths_that_differ,
        product_before,
        log_of_the_sum,
        sum_is_needed,
        squared_between,
        neighbours,
    ]
    + [into_one, carried, overwritten, read_again, backwards, every_other, in_a_loop, might_raise],
)
def test_others_are_right_whatever_becomes_of_them(f: Any) -> None:
    agree(f, values(5), values(5))


@pytest.mark.parametrize("f", [log_of_the_sum, sum_is_needed, overwritten, carried, might_raise])
def test_what_has_to_wait(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ir = prepared(flatten(f, (values(5), values(5))), assuming=True)
    combined = build(ir, [True, True]).forward
    merged: list[bool] = []

    def record(ir: Any) -> bool:
        merged.append(sweep.one_sweep(ir))
        return merged[-1]

    monkeypatch.setattr("pullback.ad.compile.one_sweep", record)
    polished(combined)
    assert merged == [False]


def handed_on(x, y):
    """What an iteration stores the next one reads: its cotangent comes from there."""
    s = 0.0
    for i in range(len(x) - 1):
        s += x[i] * x[i] * y[i]
        x[i + 1] = y[i] * y[i]
    return s


def cleared(x, y):
    """The loop between the two sets to zero what the reverse adds to."""
    s = 0.0
    for i in range(len(x)):
        s += np.exp(x[i]) * y[i]
    for i in range(len(x)):
        x[i] = 0.5 * i
    return s + x.sum()


def all_but_one(x, y):
    """The reverse of the second loop has fewer iterations than the first."""
    s = 0.0
    for i in range(len(x)):
        s += 2.0 * x[i]
    for i in range(len(x) - 1):
        s += y[i] * y[i]
    return s


def agrees_with_the_naive_plan(f: Any) -> None:
    for n in (5, 1):
        args = values(n), values(n)
        g, oracle = (Derived(f, args, naive=naive)(*args) for naive in (False, True))
        close(g.grads, oracle.grads, 1e-12)
        assert abs(g.value - oracle.value) <= 1e-13 * max(1, abs(oracle.value))


CONDITIONS = [
    ("_mirrored", all_but_one),
    ("_independent", handed_on),
    ("_in_line", cleared),
    ("_known_before", log_of_the_sum),
]


@pytest.mark.parametrize(("condition", "f"), CONDITIONS)
def test_each_condition_matters(condition: str, f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agrees_with_the_naive_plan(f)
    asked = getattr(sweep.Sweep, condition)

    def granted(s: Any) -> bool:
        s.written = s.read = frozenset()
        asked(s)
        return True

    monkeypatch.setattr(sweep.Sweep, condition, granted)
    with pytest.raises((AssertionError, IndexError, InvalidIR)):
        agrees_with_the_naive_plan(f)


def test_in_machine_code() -> None:
    x, y = values(1001) % 2.0, values(1001) % 3.0
    value, grads = pb.value_and_grad(mean_of_all, (0, 1))(x, y)
    np.testing.assert_allclose(value, mean_of_all(x, y), rtol=1e-14)
    slope = 1.0 / (1.0 + np.exp(x * y)) / 1001
    np.testing.assert_allclose(grads[0], -y * slope, rtol=1e-13)
    np.testing.assert_allclose(grads[1], -x * slope + 0.5 / 1001, rtol=1e-13)


def updated(x, y):
    for i in range(len(x)):
        x[i] = x[i] * y[i] + y[i]
    return (x * x).sum()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of instructions")
@pytest.mark.parametrize("f", [elements, one_by_one, updated])
def test_is_vector_code(f: Any) -> None:
    """The gradient of a loop over elements, elementary functions among them."""
    flat, here = flatten(f, (values(5), values(5))), kernels.Options(cache=False)
    code = kernels.gradient(flat, [True, True], assuming=True, options=here).call.asm()
    arithmetic = r"^\s+v?(?:mul|add|sub|div|fn?m(?:add|sub)\d+)"
    packed, alone = (len(re.findall(arithmetic + p, code, re.M)) for p in (r"pd\s", r"sd\s"))
    assert packed >= 12 and packed > alone
    assert not {"exp", "tanh"} & set(re.findall(r"\w+", code))
