"""Elements kept in registers from one iteration to the next: where they may be, what comes out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pullback.ad.build import build
from pullback.ad.compile import polished, prepared
from pullback.ad.loops import window as module
from pullback.ir.core import IR, Const
from pullback.ir.verify import verify
from pullback.runtime import prims

from ..harness import Derived, flatten
from ..test_programs import close


def sweep(x: Any, k: int) -> Any:
    """Gauss-Seidel in two dimensions."""
    n, m = x.shape
    for _ in range(k):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                x[i, j] = 0.3 * (x[i - 1, j - 1] + x[i - 1, j + 1] + x[i, j - 1] + x[i + 1, j])
    return np.sum(x * x)


def downwards(x: Any, k: int) -> Any:
    n, m = x.shape
    for i in range(n - 2, -1, -1):
        for j in range(m - 2, 0, -1):
            x[i, j] = 0.5 * x[i + 1, j - 1] - x[i, j + 1] + 0.25 * x[i, j]
    return np.sum(x * x)


def columns(x: Any, k: int) -> Any:
    """Along the first axis, two columns at a time."""
    n = len(x)
    for i in range(2, n):
        x[i, 0] = 0.5 * x[i - 1, 0] - 0.25 * x[i - 2, 1]
        x[i, 1] += 0.125 * x[i - 2, 1]
    return np.sum(x * x)


def mirrored(x: Any, k: int) -> Any:
    """The subscript falls while the counter rises."""
    n, m = x.shape
    for i in range(n):
        for j in range(m - 1):
            x[i, m - 2 - j] += 0.5 * x[i, m - 1 - j]
    return np.sum(x * x)


def saved(x: Any, k: int) -> Any:
    """Not linear: what is overwritten comes back from the tape."""
    n, m = x.shape
    for i in range(n):
        for j in range(1, m - 1):
            x[i, j] = math.sin(x[i, j - 1] * x[i, j]) + x[i, j + 1]
    return np.sum(x * x)


def gap(x: Any, k: int) -> Any:
    """The element between is handed on though nobody touches it."""
    n, m = x.shape
    for i in range(n):
        for j in range(2, m):
            x[i, j] = 0.7 * x[i, j - 2] + 0.1
    return np.sum(x * x)


def views(x: Any, k: int) -> Any:
    """Two names of one row."""
    n, m = x.shape
    for i in range(n):
        a, b = x[i], x[i, ::-1]
        for j in range(1, m):
            a[j] = 0.5 * a[j - 1] + 0.25 * b[j]
    return np.sum(x * x)


def crossing(x: Any, k: int) -> Any:
    """Lines that meet: a row and a column."""
    n, m = x.shape
    for j in range(1, min(n, m)):
        x[j - 1, 0] = x[0, j] * 0.5
        x[0, j] = 0.5 * x[0, j - 1] + 0.25 * x[j - 1, 0]
    return np.sum(x * x)


def fixed(x: Any, k: int) -> Any:
    """One element stays where it is while the others go by."""
    m = x.shape[1]
    for j in range(1, m):
        x[0, j] = 0.5 * x[0, j - 1] + 0.25 * x[0, k]
        x[0, k] = x[0, k] * 0.5
    return np.sum(x * x)


KEPT = [sweep, downwards, columns, mirrored, saved, gap]
LEFT = [views, crossing, fixed]
FLOATS = [np.float64, np.float32, np.complex128]


def arguments(n: int, m: int, k: int, dtype: Any = np.float64, order: str = "C") -> Any:
    rng = np.random.default_rng([n, m, k])
    x = rng.normal(size=(n, m)) + (1j * rng.normal(size=(n, m)) if dtype == np.complex128 else 0.0)
    return np.asarray(x, dtype, order), k  # type: ignore[call-overload]


def reversed_part(f: Any) -> IR:
    flat = flatten(f, arguments(5, 6, 2))
    return polished(build(prepared(flat), [True] * len(flat.ir.args)).forward)


def kept(ir: IR) -> int:
    return sum(p.name == "kept" for b in ir for p in b.params)


@pytest.mark.parametrize("f", KEPT, ids=lambda f: f.__name__)
def test_is_kept(f: Any) -> None:
    ir = reversed_part(f)
    verify(ir)
    assert kept(ir)


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_is_left_alone(f: Any) -> None:
    assert not kept(reversed_part(f))


def test_one_load_and_one_store_for_each_line() -> None:
    """Three rows are touched, and each element of them once."""
    flat = flatten(sweep, arguments(5, 6, 2))
    ir = polished(build(prepared(flat), [True, False], split=True).reverse)  # type: ignore[arg-type]
    (header,) = [b for b in ir if any(p.name == "kept" for p in b.params)]
    body = ir.blocks[header.edges[0].target]
    count = {f: sum(op.is_call(f) for op in body.ops) for f in (prims.load, prims.store)}
    assert count == {prims.load: 3, prims.store: 3}


@pytest.mark.parametrize("f", [*KEPT, *LEFT], ids=lambda f: f.__name__)
def test_agrees_with_the_naive_plan(f: Any) -> None:
    flat = flatten(f, arguments(5, 6, 2))
    ways = [
        Derived(f, arguments(5, 6, 2), naive=naive, split=split, flat=flat)
        for naive, split in ((True, False), (False, False), (False, True))
    ]
    for n, m in ((1, 2), (2, 1), (2, 2), (3, 3), (4, 3), (3, 5), (5, 6)):
        for k in range(1 if f is not sweep else 0, 3 if f is not fixed else m):
            args = arguments(n, m, k)
            try:
                oracle = ways[0](*args)
            except IndexError:
                continue
            for way in ways[1:]:
                g = way(*args)
                close(g.grads, oracle.grads, 1e-13)
                assert g.value == oracle.value
                np.testing.assert_array_equal(g.args[0], oracle.args[0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("order", "CF")
def test_other_elements_and_layouts(dtype: Any, order: str) -> None:
    """The bits are those of the loop that loads and stores each time."""
    args = arguments(5, 6, 2, dtype, order)
    flat = flatten(columns, args)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pullback.ad.compile.windows", lambda ir: False)
        plain = Derived(columns, args, flat=flat)
    for g, oracle in zip(Derived(columns, args, flat=flat)(*args).grads, plain(*args).grads):
        np.testing.assert_array_equal(g, oracle)


# -- the tests above can fail ----------------------------------------------------------------------
def faulty(f: Any) -> None:
    with pytest.raises((AssertionError, IndexError)):
        test_agrees_with_the_naive_plan(f)


def test_a_store_that_is_never_made_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.Window, "put_off", range(0))
    faulty(columns)


def test_lines_that_meet_show(monkeypatch: pytest.MonkeyPatch) -> None:
    place = module._place

    def trusting(op: Any, line: Any) -> Any:
        found = place(op, line)
        return found and (("one", found[0][0]), (found[0], found[1]), *found[2:])

    monkeypatch.setattr(module, "_place", trusting)
    faulty(crossing)


def test_elements_that_do_not_exist_are_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ran", lambda b, c: Const(True))
    faulty(columns)
