"""Arrays made in loops: one for all iterations or two in turn, where nobody can tell; and what must
stay as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.ad import alternate as alternating
from pullback.ad import compile as kernels
from pullback.ad import reuse as reusing
from pullback.ad.alternate import alternate
from pullback.ad.compile import prepared
from pullback.ad.reuse import reuse
from pullback.runtime.memory import checkout, give_back

from .harness import Derived, flatten
from .test_programs import close


# -- two in turn -----------------------------------------------------------------------------------
def euler(u: Any, k: int) -> Any:
    for _ in range(k):
        u = u + 0.1 * u * (1.0 - u)
    return np.sum(u * u)


def pendulum(u: Any, k: int) -> Any:
    """Two arrays that need each other."""
    v = np.zeros(len(u))
    for _ in range(k):
        v = v - 0.1 * np.sin(u)
        u = u + 0.1 * v
    return np.sum(u * v) + u[0]


def with_zeros(u: Any, k: int) -> Any:
    """Not all elements are written."""
    for t in range(k):
        w = np.zeros(len(u))
        for i in range(t % 3, len(u)):
            w[i] = u[i] * u[i - 1] + 0.1
        w[0] += 0.5 * u[1]
        u = w
    return np.sum(u * u) + u[1]


def plane(u: Any, k: int) -> Any:
    n = len(u)
    a = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = u[i] * u[j]
    for _ in range(k):
        b = a.copy()
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = a[i, j] + 0.1 * (a[i + 1, j] * a[i - 1, j] - a[i, j + 1])
        a = b
    return np.sum(a * a)


def both_at_the_end(u: Any, k: int) -> Any:
    """Left when both are known."""
    w = u * 1.0
    for t in range(5):
        w = u * u + 0.3 * t
        if t == k:
            break
        u = np.sin(w)
    return np.sum(u * w) + w[0]


TURNS = [euler, pendulum, with_zeros, plane, both_at_the_end]


# -- which must not --------------------------------------------------------------------------------
def one_before_last(u: Any, k: int) -> Any:
    w = u * 0.5
    for _ in range(k):
        new = u.copy()
        for i in range(len(u)):
            new[i] += 0.1 * w[len(u) - 1 - i]
        w = u
        u = new
    return np.sum(u * w)


def view_of_the_last(u: Any, k: int) -> Any:
    w = u[::-1]
    for _ in range(k):
        new = u.copy()
        for i in range(len(u)):
            new[i] += 0.1 * w[i]
        w = u[::-1]
        u = new
    return np.sum(u * w)


def written_first(u: Any, k: int) -> Any:
    """The first time it is the caller's array that is written to."""
    for t in range(k):
        u[0] = u[1] * 0.5 + t
        u = u + 0.1 * u * u
    return np.sum(u * u)


def source_written(u: Any, k: int) -> Any:
    y = u
    for _ in range(k):
        u[0] = y[1] + 0.5
        y = y + 0.1 * u[0] * y
    return np.sum(y * u)


def source_written_afterwards(u: Any, k: int) -> Any:
    y = u
    for _ in range(k):
        y = y + 0.1 * y * y
    u[0] = 3.0 * u[1]
    return np.sum(y * y)


def result_written_afterwards(u: Any, k: int) -> Any:
    y = u
    for _ in range(k):
        y = y + 0.1 * y * y
    y[0] = 3.0 * y[1]
    return np.sum(y * u)


def shrinking(u: Any, k: int) -> Any:
    for _ in range(min(k, len(u) - 1)):
        u = u[1:] * u[:-1] + 0.5
    return np.sum(u * u)


def sometimes(u: Any, k: int) -> Any:
    for t in range(k):
        if t % 2 == 0:
            u = u + 0.1 * u * u
    return np.sum(u * u)


STAY = [
    *(one_before_last, view_of_the_last, written_first, source_written),
    *(source_written_afterwards, result_written_afterwards, shrinking, sometimes),
]


# -- one for all -----------------------------------------------------------------------------------
def scratch(u: Any, k: int) -> Any:
    s = 0.0
    for t in range(k):
        w = np.zeros(len(u))
        for i in range(t % 2, len(u)):
            w[i] += u[i] * u[i] * (t + 1)
        s += np.sum(w * w[::-1])
    return s


def two_deep(u: Any, k: int) -> Any:
    s = 0.0
    for t in range(k):
        for i in range(len(u)):
            w = np.empty(len(u))
            for j in range(len(u)):
                w[j] = u[j] * u[i] + s
            w[i] *= w[i - 1]
            s = 0.3 * np.sin(np.sum(w * w))
    return s


def not_always(u: Any, k: int) -> Any:
    s = 1.0
    for t in range(k):
        if t % 2 == 1:
            w = u.copy()
            w[0] = s
            s = np.sum(w * w * u)
    return s


ONE = [scratch, two_deep, not_always]


def used_afterwards(u: Any, k: int) -> Any:
    w = u
    s = 0.0
    for t in range(k):
        w = np.zeros(len(u))
        w[t % len(u)] = u[0] * u[1]
        s += w[0]
    return s * np.sum(w * w)


def carried(u: Any, k: int) -> Any:
    last = np.zeros(len(u))
    s = 0.0
    for t in range(k):
        w = np.zeros(len(u))
        for i in range(len(u)):
            w[i] = u[i] * (t + 1) + last[i] * s
        s += w[0] * last[1]
        if t % 2 == 0:
            last = w
    return s


def growing(u: Any, k: int) -> Any:
    s = 0.0
    for t in range(k):
        w = np.ones(t + 1)
        for i in range(min(t + 1, len(u))):
            w[i] = u[i]
        s += np.sum(w * w)
    return s


def negative(u: Any, k: int) -> Any:
    """It would be an error to make the array if the loop does not run."""
    s = np.sum(u * u)
    for t in range(k):
        w = np.zeros(k - 1)
        for i in range(min(len(w), len(u))):
            w[i] = u[i] * (t + 2)
        s += np.sum(w * w)
    return s


NOT_ONE = [used_afterwards, carried, growing, negative]
ALL = [*TURNS, *STAY, *ONE, *NOT_ONE]


def arguments(n: int, k: int) -> tuple[Any, ...]:
    return np.random.default_rng([n, k]).uniform(0.2, 0.9, size=n), k


def ir_of(f: Any) -> Any:
    return prepared(flatten(f, arguments(5, 2))).copy()


@pytest.mark.parametrize("f", TURNS, ids=lambda f: f.__name__)
def test_two_take_turns(f: Any) -> None:
    ir = ir_of(f)
    reuse(ir)
    assert alternate(ir)


@pytest.mark.parametrize("f", STAY, ids=lambda f: f.__name__)
def test_no_turns(f: Any) -> None:
    assert not alternate(ir_of(f))


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
def test_one_for_all(f: Any) -> None:
    assert reuse(ir_of(f))


@pytest.mark.parametrize("f", NOT_ONE, ids=lambda f: f.__name__)
def test_not_one_for_all(f: Any) -> None:
    assert not reuse(ir_of(f))


def compare(f: Any) -> None:
    flat = flatten(f, arguments(5, 2))
    oracle, *others = (
        Derived(f, arguments(5, 2), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    )
    for n in (2, 3, 5):
        for k in range(6):
            args = arguments(n, k)
            wanted = oracle(*args)
            for way in others:
                found = way(*args)
                close(found.grads, wanted.grads, 1e-12)
                assert abs(found.value - wanted.value) <= 1e-14 * max(1, abs(wanted.value))
                if not way.split:
                    np.testing.assert_array_equal(found.args[0], wanted.args[0])


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    compare(f)


@pytest.mark.parametrize(
    ("module", "condition", "f"),
    [
        (alternating, "_unknown", one_before_last),
        (alternating, "_unknown", view_of_the_last),
        (alternating, "_kept", written_first),
        (alternating, "_kept", source_written),
        (alternating, "_kept", result_written_afterwards),
        (reusing, "_local", carried),
    ],
)
def test_each_condition_matters(
    module: Any, condition: str, f: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, condition, lambda *args: True)
    with pytest.raises((AssertionError, IndexError, ValueError)):
        compare(f)


@pytest.mark.parametrize("f", [pendulum, scratch], ids=lambda f: f.__name__)
def test_memory_does_not_grow_with_the_trips(f: Any) -> None:
    kernel = kernels.gradient(flatten(f, arguments(100, 2)), [True, False])
    heaps = []
    for k in (4, 40):
        memory = checkout()
        u, _ = arguments(100, k)
        kernel.call.run(memory, u, k, np.zeros(100), 1.0)
        heaps.append(memory.heap_bytes)
        give_back(memory)
    assert heaps[0] == heaps[1]
