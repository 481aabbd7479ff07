"""Random programs: both plans, both forms, forward mode, machine code, against the complex step."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np
import pytest

from pullback.ad import compile as kernels

from .harness import Derived, flatten, is_active, jvp
from .programs import Program, complex_step, program

FEW = int(os.environ.get("PULLBACK_PROGRAMS", "48"))
MANY = 1500


def usable(p: Program, args: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """Value and gradient by the complex step, if the program is one that a difference can judge."""
    try:
        with np.errstate(all="raise"):
            value, grads = complex_step(p, args)
    except (ArithmeticError, ValueError):
        return None
    if not np.isfinite(value) or abs(value) > 1e4 or p.margin.least < 1e-4:
        return None
    return value, grads


def close(found: Any, wanted: Any, tolerance: float = 1e-10) -> None:
    scale = max(1.0, *(float(np.max(np.abs(w), initial=0)) for w in wanted))
    for f, w in zip(found, wanted, strict=True):
        assert np.max(np.abs(np.asarray(f) - w), initial=0) <= tolerance * scale


def examine(seed: int) -> None:
    p = program(seed)
    args = p.arguments()
    oracle = usable(p, args)
    if oracle is None:
        return
    value, grads = oracle
    after = copy.deepcopy(args)
    assert abs(p.function(*after) - value) <= 1e-12 * max(1, abs(value))
    flat = flatten(p.function, args)
    for naive in (True, False):
        for split in (False, True):
            g = Derived(p.function, args, naive=naive, split=split, flat=flat)(*args)
            close(g.grads, grads)
            assert abs(g.value - value) <= 1e-13 * max(1, abs(value))
            if not split:
                for a, b in zip(g.args, after, strict=True):
                    assert np.array_equal(a, b), "arguments as after a plain call"
    rng = np.random.default_rng(seed)
    dots = [rng.normal(size=np.shape(g)) if np.shape(g) else rng.normal() for g in grads]
    dot = jvp(p.function, args, tuple(dots))[1]
    close([dot], [sum(np.sum(g * t) for g, t in zip(grads, dots, strict=True))], 1e-9)


@pytest.mark.parametrize("seed", range(FEW))
def test_random_program(seed: int) -> None:
    examine(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(FEW, MANY))
def test_many_random_programs(seed: int) -> None:
    examine(seed)


@pytest.mark.parametrize("seed", range(8))
def test_machine_code_agrees_with_cpython(seed: int) -> None:
    p = program(1000 + seed, size=9)
    args = p.arguments()
    if usable(p, args) is None:
        return
    slow = Derived(p.function, args)
    wanted = slow(*args)
    fast = kernels.gradient(slow.flat, [True] * len(slow.flat.ir.args))
    assert fast.built is not None
    given = copy.deepcopy(args)
    shadows = [np.zeros_like(given[i]) for i in fast.built.shadowed]
    value, *bars = fast.call(*given, *shadows, 1.0)
    assert abs(value - wanted.value) <= 1e-13 * max(1, abs(value))
    both = dict(zip(fast.built.shadowed, shadows, strict=True))
    both |= dict(zip(fast.built.scalars, bars, strict=True))
    found = [both.get(i, 0.0 * args[i]) for i in range(len(args)) if is_active(args[i])]
    close(found, wanted.grads, 1e-12)
    for a, b in zip(given, wanted.args, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
