"""Zeros put off: programs in which somebody looks in between, and programs in which nobody does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pullback.ad import compile as kernels
from pullback.ad.build import build
from pullback.ad.compile import clean, prepared
from pullback.ad.loops import zeros as module
from pullback.ad.loops.gather import gather

from ..harness import Derived, flatten
from ..test_programs import close


def swapped(u: Any, k: float, steps: int) -> Any:
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] * u[i] + u[i - 1])
        u, v = v, u
    return np.sum(u * u) + u[0] * np.sum(v)


def copied_back(u: Any, k: float, steps: int) -> Any:
    v = np.zeros(len(u))
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        for i in range(1, n - 1):
            u[i] = v[i]
    return np.sum(u * u) + np.sum(v)


def leaves(u: Any, k: float, steps: int) -> Any:
    """Left in the middle of a turn."""
    v = u.copy()
    n = len(u)
    for t in range(9):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        if t == steps:
            break
        u, v = v, u
    return np.sum(u * u) + 2.0 * np.sum(v * v * v)


def looked_at(u: Any, k: float, steps: int) -> Any:
    """One element is used in between: the reversed program adds to what waits."""
    v = u.copy()
    n = len(u)
    s = 0.0
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        s += v[n // 2] * u[n - 1]
        u, v = v, u
        s += v[n // 2] ** 3
    return np.sum(u * u) + s


def written_to(u: Any, k: float, steps: int) -> Any:
    """Between the turns elements are overwritten, in the interior and at the end."""
    v = u.copy()
    n = len(u)
    for t in range(steps):
        v[0] = u[n - 1] * k
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        v[n - 1] = 0.5 * v[n - 2]
        v[n // 2] = 0.1 * t
        u, v = v, u
    return np.sum(u * u) + np.sum(v)


def narrower(u: Any, k: float, steps: int) -> Any:
    """One loop sets to zero less than the other collects into."""
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(3, n - 2):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        for i in range(1, n - 1):
            u[i] = v[i] + k * (v[i + 1] * v[i - 1])
    return np.sum(u * u) + np.sum(v * v)


def wider(u: Any, k: float, steps: int) -> Any:
    """One loop sets to zero more than the other collects into."""
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        for i in range(4, n - 2):
            u[i] = v[i] + k * (v[i + 1] * v[i - 1])
    return np.sum(u * u) + np.sum(v * v)


def shifted(u: Any, k: float, steps: int) -> Any:
    """What is set to zero lies beside what is collected into."""
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 2):
            v[i + 2] = u[i] + k * (u[i + 1] - u[i - 1])
        v[0] = u[0] * k
        for i in range(1, n - 2):
            u[i - 1] = v[i] + k * (v[i + 1] * v[i - 1])
    return np.sum(u * u) + np.sum(v * v)


def just_covered(u: Any, k: float, steps: int) -> Any:
    """The same, by one element less."""
    v = u.copy()
    n = len(u)
    for _ in range(steps):
        for i in range(1, n - 2):
            v[i + 1] = u[i] + k * (u[i + 1] - u[i - 1])
        v[0] = u[0] * k
        for i in range(1, n - 2):
            u[i - 1] = v[i] + k * (v[i + 1] * v[i - 1])
    return np.sum(u * u) + np.sum(v * v)


def sometimes(u: Any, k: float, steps: int) -> Any:
    """The collecting loop runs in some turns only; a view reads in others."""
    v = u.copy()
    n = len(u)
    w = v[::-1]
    s = 0.0
    for t in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        if t % 2 == 0:
            for i in range(1, n - 1):
                u[i] = v[i] + k * (v[i + 1] - v[i - 1])
        else:
            s += w[1] * w[0]
    return np.sum(u * u) + s


def two_fields(u: Any, k: float, steps: int) -> Any:
    """Two arrays collected into at once."""
    n = len(u)
    p, q = u * 0.5, u * u
    a, b = np.zeros(n), np.zeros(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            a[i] = p[i] + k * (q[i + 1] - q[i - 1])
            b[i] = q[i] + k * (p[i + 1] - p[i - 1]) * p[i]
        for i in range(1, n - 1):
            p[i] = a[i] + k * (b[i + 1] - b[i - 1])
            q[i] = b[i] + k * (a[i + 1] - a[i - 1])
    return np.sum(p * q) + np.sum(a * b)


def bounds_that_change(u: Any, k: float, steps: int) -> Any:
    """Each turn is shorter than the one before."""
    v = u.copy()
    n = len(u)
    for t in range(steps):
        for i in range(1 + t, n - 1 - t):
            v[i] = u[i] + k * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
    return np.sum(u * u) + np.sum(v)


def plane(u: Any, k: float, steps: int) -> Any:
    n = len(u)
    a = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a[i, j] = u[i] * (j + 1.0) + u[j] * u[j]
    b = a.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(2, n):
                b[i, j] = a[i, j] + k * (a[i + 1, j] + a[i - 1, j - 2] * a[i, j - 1])
        b[1, 1] = 0.3 * a[1, 0]
        a, b = b, a
    return np.sum(a * a) + np.sum(b)


PUT_OFF = [swapped, copied_back, leaves, looked_at, written_to, just_covered, two_fields, plane]
NOT_COVERED = [narrower, wider, shifted, bounds_that_change]


def arguments(n: int, steps: int) -> tuple[Any, ...]:
    return np.random.default_rng([n, steps]).normal(size=n), 0.3, steps


def ways(f: Any) -> list[Derived]:
    flat = flatten(f, arguments(6, 2))
    return [
        Derived(f, arguments(6, 2), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    ]


def waiting(f: Any) -> int:
    """How many fills are put off."""
    flat = flatten(f, arguments(6, 2))
    ir = clean(build(prepared(flat), [True] * len(flat.ir.args)).forward)
    gather(ir)
    return len({op.attr for op in ir.ops() if op.kind == "slotset"})


@pytest.mark.parametrize("f", PUT_OFF, ids=lambda f: f.__name__)
def test_is_put_off(f: Any) -> None:
    assert waiting(f) > 0


@pytest.mark.parametrize("f", NOT_COVERED, ids=lambda f: f.__name__)
def test_is_not_put_off_where_it_may_not_cover(f: Any) -> None:
    assert waiting(f) == (f is shifted)


def test_one_element_decides() -> None:
    assert waiting(just_covered) == 2


def compare(f: Any) -> None:
    oracle, *others = ways(f)
    for n in range(3 if f in (looked_at, written_to) else 2, 10):
        for steps in range(0, 4):
            args = arguments(n, steps)
            wanted = oracle(*args)
            for way in others:
                g = way(*args)
                close(g.grads, wanted.grads, 1e-12)
                assert g.value == wanted.value


@pytest.mark.parametrize("f", [*PUT_OFF, *NOT_COVERED, sometimes], ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    compare(f)


@pytest.mark.parametrize("f", [swapped, two_fields], ids=lambda f: f.__name__)
def test_machine_code_takes_shadows_as_they_are(f: Any) -> None:
    """The first turn adds to what it is given: nothing waits yet."""
    args = arguments(7, 3)
    flat = flatten(f, args)
    found = []
    for plan in ("naive", "full"):
        kernel = kernels.gradient(flat, [True, True, False], options=kernels.Options(plan))
        shadow = np.linspace(1.0, 2.0, 7)
        found.append([shadow, kernel.call(args[0].copy(), *args[1:], shadow, 1.0)[1]])
    close(found[1], found[0], 1e-12)


def test_zeros_not_made_up_for_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.Sites, "__iter__", lambda self: iter(()))
    for f in (swapped, looked_at, written_to, leaves, plane):
        with pytest.raises(AssertionError):
            compare(f)


def test_a_reader_overlooked_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    right = module.Sites._touches
    monkeypatch.setattr(
        module.Sites, "_touches", lambda s, op: right(s, op) and "load" not in str(op.callee)
    )
    with pytest.raises(AssertionError):
        compare(looked_at)


def test_covering_too_little_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_not_negative", lambda form: not form.terms)
    assert waiting(shifted) == 2
    with pytest.raises(AssertionError):
        compare(shifted)
