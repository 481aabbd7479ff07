"""Cotangents that are taken and given back: what stays in place, what must not, what comes out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pullback.ad.build import build
from pullback.ad.compile import labelled, polished, prepared
from pullback.ad.loops.distinct import Distinct
from pullback.ad.loops.giveback import Memory, give_back
from pullback.ir.verify import verify
from pullback.runtime import prims

from ..harness import Derived, flatten
from ..test_programs import close


def updates(x: Any, k: int) -> Any:
    """An element beside those it is updated from: columns j and k."""
    n = len(x)
    for c in range(n):
        for j in range(c + 1, n):
            for i in range(j, n):
                x[i, j] -= x[i, c] * x[j, c]
    return np.sum(x * x)


def one_row(x: Any, k: int) -> Any:
    n = len(x)
    for i in range(1, n):
        x[i, 0] += x[i - 1, 0] * x[0, 1]
    return np.sum(x * x)


def met(x: Any, k: int) -> Any:
    """Row k may be the one that is updated."""
    n = len(x)
    for i in range(n):
        x[i, 0] += x[i, 0] * x[k, 0]
    return np.sum(x * x)


def through_a_view(x: Any, k: int) -> Any:
    n, y = len(x), x[::-1]
    for i in range(n):
        x[i, 1] += math.sin(y[i, 1])
    return np.sum(x * x)


def overwritten(x: Any, k: int) -> Any:
    n = len(x)
    for i in range(n):
        x[i, 0] = x[i, 1] * 2.0
        x[i, 0] = x[i, 0] * x[i, 0] + x[0, 0]
    return np.sum(x * x)


def twice(x: Any, k: int) -> Any:
    n = len(x)
    for i in range(n):
        x[i, 0] += x[i, 1]
        x[i, 0] += x[i, 0] * x[i, 1]
        x[i, 1] = x[i, 0]
    return np.sum(x * x)


LEFT_IN_PLACE = [updates, one_row, twice]
TAKEN = [met, through_a_view, overwritten]


def arguments(n: int, k: int = 0) -> tuple[Any, ...]:
    return np.random.default_rng([n, k]).normal(size=(n, n)), k


def reverse_of(f: Any) -> Any:
    flat = flatten(f, arguments(4, 1))
    return labelled(build(prepared(flat), [True, False], split=True).reverse)  # type: ignore[arg-type]


@pytest.mark.parametrize("f", LEFT_IN_PLACE, ids=lambda f: f.__name__)
def test_stays_in_place(f: Any) -> None:
    ir = reverse_of(f)
    assert give_back(ir)
    verify(ir)


@pytest.mark.parametrize("f", TAKEN, ids=lambda f: f.__name__)
def test_is_taken(f: Any) -> None:
    """Zeros are stored where somebody may look."""
    ir = reverse_of(f)
    give_back(ir)
    assert any(op.is_call(prims.store) and repr(op.args[2]) == "Const(0.0)" for op in ir.ops())


def test_an_update_stores_once() -> None:
    """The cotangent of x[i, j] is read; x[i, c] is added to; the sum for x[j, c] is a scalar."""
    flat = flatten(updates, arguments(4))
    ir = polished(build(prepared(flat), [True, False], split=True).reverse)  # type: ignore[arg-type]
    (header,) = [b for b in ir if any(p.name == "sum" for p in b.params)]
    body = ir.blocks[header.edges[0].target]
    assert sum(op.is_call(prims.store) for op in body.ops) == 1


@pytest.mark.parametrize("f", [*LEFT_IN_PLACE, *TAKEN], ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    flat = flatten(f, arguments(4, 1))
    ways = [
        Derived(f, arguments(4, 1), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    ]
    for n in range(2, 6):
        for k in range(n):
            args = arguments(n, k)
            oracle, *others = (way(*args) for way in ways)
            for g in others:
                close(g.grads, oracle.grads, 1e-12)
                assert g.value == oracle.value


@pytest.mark.parametrize("f", [updates, one_row], ids=lambda f: f.__name__)
def test_other_elements(f: Any) -> None:
    args = arguments(4, 1)[0].astype(np.float32), 1
    flat = flatten(f, args)
    a, b = (Derived(f, args, naive=naive, flat=flat)(*args) for naive in (True, False))
    close(a.grads, b.grads, 1e-5)
    assert a.grads[0].dtype == np.float32


# -- the tests above can fail ----------------------------------------------------------------------
@pytest.mark.parametrize("f", [met], ids=lambda f: f.__name__)
def test_elements_that_meet_show(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "_may_meet", lambda self, p, q: False)
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(f)


def test_a_proof_that_is_none_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Distinct, "never", lambda self, a, b, block: True)
    with pytest.raises(AssertionError):
        test_agrees_with_the_naive_plan(met)
