"""Whole-array programs: one loop for many operations changes nothing, whatever the shapes turn out
to be. Fused gradients against those of the plans that do less, and against differences."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import special

import pullback as pb
from pullback.ad.compile import prepared
from pullback.ir.loops import loop_forest
from pullback.runtime import prims

from .harness import flatten

PLANS = ("full", "naive", "unoptimised")


@cache
def operators(f: Any, argnums: tuple[int, ...]) -> list[Any]:
    """The gradient of ``f`` by each of the plans, on CPython."""
    options = [{"plan": plan, "run": "python"} for plan in PLANS]
    return [pb.value_and_grad(f, argnums, options=o) for o in options]


def differences(f: Any, args: tuple[Any, ...], k: int, h: float = 1e-5) -> np.ndarray:
    """Central differences of ``f`` by argument k."""
    out = np.zeros(args[k].shape)
    for index in np.ndindex(*args[k].shape):
        ends = []
        for step in (h, -h):
            moved = copy.deepcopy(args)
            moved[k][index] += step
            ends.append(float(f(*moved)))
        out[index] = (ends[0] - ends[1]) / (2 * h)
    return out


def agree(f: Any, *args: Any, tolerance: float = 1e-12) -> None:
    """Value, gradients and what the arguments hold afterwards, by all plans and by differences."""
    argnums = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray))
    plain = copy.deepcopy(args)
    value = f(*plain)
    found = []
    for g in operators(f, argnums):
        given = copy.deepcopy(args)
        v, grads = g(*given)
        np.testing.assert_allclose(v, value, rtol=tolerance, atol=tolerance)
        for a, b in zip(given, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        found.append(grads)
    for k, a in enumerate(argnums):
        for grads in found[1:]:
            np.testing.assert_allclose(found[0][k], grads[k], rtol=tolerance, atol=tolerance)
        if args[a].dtype == np.float64:
            wanted = differences(f, args, a)
            np.testing.assert_allclose(found[0][k], wanted, rtol=2e-6, atol=2e-7)


def values(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    size = int(np.prod(shape))
    spread = np.sin(1.0 + 1.7 * np.arange(size)) + 0.1 * np.arange(size)
    return spread.reshape(shape).astype(dtype)


# -- slices ----------------------------------------------------------------------------------------
def stencil(u, k):
    for _ in range(2):
        u[1:-1, 1:-1] += k * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return (u * u).sum()


def burgers(u, k):
    for _ in range(2):
        u[1:-1] = u[1:-1] - k * u[1:-1] * (u[2:] - u[:-2])
    return (u * u).sum()


def shifted_onto_itself(x):
    x[1:] += x[:-1] * x[1:]
    return (x * x).sum()


def turned(x):
    x[::-1] = x * x
    y = x[::2] * 3.0
    return (y * y).sum() + x[::-1][:1].sum()


def rows_and_columns(x):
    x[0] = x[-1] * x[0]
    x[:, 0] *= x[:, -1]
    t = x.T[1:] * x.T[:-1]
    return (t * t).sum()


def ends(x):
    """Slices that are clipped where the array is short, counted from both ends."""
    a = x[3:] * 2.0
    b = x[-4:-1] * x[-4:-1]
    return a.sum() + (b * b).sum() + (x[:5] * x[:5]).sum()


@pytest.mark.parametrize("shape", [(0, 0), (1, 3), (2, 2), (3, 3), (3, 5), (5, 4)])
def test_a_stencil_in_slices(shape: Any) -> None:
    agree(stencil, values(*shape), 0.2)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_slices_of_one_array(n: int) -> None:
    agree(burgers, values(n), 0.3)
    agree(shifted_onto_itself, values(n))
    agree(turned, values(n))
    agree(ends, values(n))


def test_rows_and_columns() -> None:
    agree(rows_and_columns, values(3, 4))
    agree(rows_and_columns, np.asfortranarray(values(3, 4)))
    agree(rows_and_columns, values(6, 8)[::2, ::2])


# -- shapes that are known at run time -------------------------------------------------------------
def broadcast(x, y):
    a = x * y + y
    b = np.exp(-a) * x
    return (a * b).sum() + b.sum()


def into(x, y):
    x *= y
    x += np.sin(y) * x
    return (x * x).sum()


def kept(x, y):
    top = x.max(axis=1, keepdims=True)
    e = np.exp(x - top)
    p = e / e.sum(axis=1, keepdims=True)
    return (p * y).sum() + (np.log(e.sum(axis=1)) * top[:, 0]).sum()


SHAPES = [
    ((3, 4), (3, 4)), ((3, 4), (1, 4)), ((3, 1), (3, 4)), ((1, 1), (1, 4)), ((3, 4), (1, 1)),
    ((0, 4), (1, 4)), ((3, 4), (3, 1)), ((1, 4), (3, 4)), ((1, 4), (3, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("f", [broadcast, kept])
def test_axes_that_turn_out_to_be_stretched(f: Any, shapes: Any) -> None:
    agree(f, *(values(*s) for s in shapes))


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (1, 1)])
def test_stretched_into_an_array(shape: Any) -> None:
    agree(into, values(3, 4), values(*shape))


def test_ranks_that_differ() -> None:
    agree(broadcast, values(3, 4), values(4))
    agree(broadcast, values(3, 4), values(1))
    agree(broadcast, values(4), values(1, 4))
    agree(broadcast, values(4), values(3, 1))


def written_then_wrong(x, y):
    x *= 2.0
    return (x + y).sum()


@pytest.mark.parametrize("plan", PLANS)
def test_shapes_that_do_not_fit(plan: str) -> None:
    """The error comes where it is in the program, and what was written before is written once."""
    g = pb.value_and_grad(written_then_wrong, options={"plan": plan, "run": "python"})
    assert g(values(3), values(3))[1].tolist() == [2.0, 2.0, 2.0]
    x = values(3)
    with pytest.raises(ValueError, match="broadcast"):
        g(x, values(2))
    np.testing.assert_array_equal(x, 2.0 * values(3))


def test_the_same_in_machine_code() -> None:
    g = pb.value_and_grad(broadcast, (0, 1))
    for shapes in [((3, 4), (3, 4)), ((3, 1), (3, 4)), ((3, 4), (3, 4))]:
        args = [values(*s) for s in shapes]
        value, grads = g(*args)
        np.testing.assert_allclose(value, broadcast(*args), rtol=1e-13)
        for k in range(2):
            wanted = differences(broadcast, tuple(args), k)
            np.testing.assert_allclose(grads[k], wanted, rtol=2e-6, atol=2e-7)
    h = pb.value_and_grad(written_then_wrong)
    x = values(3)
    with pytest.raises(ValueError, match="broadcast"):
        h(x, values(2))
    np.testing.assert_array_equal(x, 2.0 * values(3))


def branching(x, y, z):
    """With lengths that agree z counts for nothing."""
    if len(x) != len(y):
        return (z * z).sum()
    return (x * y).sum()


def test_what_is_assumed_decides_what_counts() -> None:
    agree(branching, values(3), values(3), values(2))
    agree(branching, values(3), values(2), values(2))
    agree(branching, values(1), values(3), values(2))


def written_and_returned(x, y):
    x *= y
    return x * y, (x + y).sum()


@pytest.mark.parametrize("options", [{"run": "python"}, {}])
def test_pullbacks_of_shapes_that_agree_and_that_do_not(options: Any) -> None:
    for shapes in [((3, 4), (3, 4)), ((3, 4), (1, 4)), ((1, 4), (1, 4)), ((3, 4), (3, 1))]:
        x, y = (values(*s) for s in shapes)
        given = x.copy()
        (product, total), back = pb.vjp(written_and_returned, given, y, options=options)
        np.testing.assert_allclose(given, x * y)
        np.testing.assert_allclose(product, x * y * y)
        np.testing.assert_allclose(total, (x * y + y).sum())
        given[...] = 0.0
        for _ in range(2):
            dx, dy = back((np.ones((3, 4))[: shapes[0][0]], 2.0))
            np.testing.assert_allclose(dx, (y * y + 2.0 * y) * np.ones_like(x))
            wanted = 2.0 * x * y + 2.0 * (x + 1.0)
            if shapes[1] != shapes[0]:
                wanted = wanted.sum(axis=shapes[1].index(1), keepdims=True)
            np.testing.assert_allclose(dy, wanted)
    with pytest.raises(ValueError, match="broadcast"):
        pb.vjp(written_and_returned, values(3, 4), values(3, 3), options=options)


# -- programs as they are written ------------------------------------------------------------------
def network(w1, b1, w2, b2, x, labels):
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    scores = scores - scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return -(labels * logs).sum() / x.shape[0]


def kmeans(centres, x):
    distances = ((x[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return distances.min(axis=1).sum()


def logistic(w, b, x, y):
    margins = y * (x @ w + b)
    return np.mean(np.log1p(np.exp(-margins))) + 0.5 * np.sum(w * w)


def portfolio(spot, sigma, time):
    width = sigma * np.sqrt(time)
    d = np.log(spot / 100.0) / width
    return (spot * special.ndtr(d) - 0.5 * special.erf(d - width) * special.expit(d)).sum()


def test_a_network() -> None:
    x, labels = values(4, 3), values(4, 2) ** 2
    agree(network, values(3, 5), values(5), values(5, 2), values(2), x, labels)
    agree(network, values(3, 5), values(1), values(5, 2), values(1), x, labels)


def test_nearest_centres() -> None:
    agree(kmeans, values(3, 2), 1.3 * values(5, 2))
    agree(kmeans, values(1, 2), 1.3 * values(5, 2))
    agree(kmeans, values(3, 1), 1.3 * values(5, 1) + 0.1)
    agree(kmeans, values(3, 1), 1.3 * values(5, 2) + 0.1)


def test_logistic_regression() -> None:
    agree(logistic, values(3), values(1), values(5, 3), np.sign(values(5)))


def test_special_functions() -> None:
    agree(portfolio, 80.0 + values(6), 0.2 + values(6) ** 2, 1.0 + values(6) ** 2)
    agree(portfolio, 80.0 + values(6), 0.2 + values(1) ** 2, 1.0 + values(6) ** 2)


@pytest.mark.parametrize("name", ["erf", "erfc", "expit", "ndtr", "gammaln"])
def test_special_functions_are_those_of_scipy(name: str) -> None:
    f = getattr(special, name)
    g = pb.value_and_grad(lambda x: f(x).sum(), options={"run": "python"})
    for dtype in (np.float64, np.float32):
        x = np.array([0.3, 1.7, 2.5, 6.0], dtype)
        value, grad = g(x)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(value, f(x).sum(dtype=np.float64), rtol=8 * eps)
        h = 1e-5
        wanted = (f(x.astype(float) + h) - f(x.astype(float) - h)) / (2 * h)
        np.testing.assert_allclose(grad, wanted, rtol=max(1e-6, 8 * eps), atol=1e-9)
        assert grad.dtype == dtype


@pytest.mark.parametrize("f", [broadcast, into])
def test_single_precision(f: Any) -> None:
    x, y = values(3, 4, dtype=np.float32), values(3, 4, dtype=np.float32)
    agree(f, x, y, tolerance=3e-5)


# -- what is left ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f, args, count",
    [
        (broadcast, (values(4), values(4)), 1),
        (portfolio, (values(4), values(4), values(4)), 1),
        (broadcast, (values(3, 4), values(3, 4)), 2),
        (kmeans, (values(3, 2), values(5, 2)), 6),
    ],
)
def test_loops_that_are_left(f: Any, args: Any, count: int) -> None:
    ir = prepared(flatten(f, args), assuming=True)
    assert len(list(loop_forest(ir))) == count


def test_a_stencil_needs_one_temporary_and_no_views() -> None:
    ir = prepared(flatten(stencil, (values(5, 5), 0.2)), assuming=True)
    assert sum(op.is_call(prims.empty, prims.zeros, prims.own) for op in ir.ops()) == 1
    assert not any(op.is_call(prims.subview) for op in ir.ops())


# -- products --------------------------------------------------------------------------------------
def products(a, b, x, y):
    c = a @ b
    u = c @ x
    v = y @ a
    return (np.sin(c) * c).sum() + (u * u).sum() + (v * v).sum() + u @ u


@pytest.mark.parametrize("sizes", [(2, 3, 4), (1, 1, 1), (0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_products_in_place(sizes: Any) -> None:
    m, k, n = sizes
    agree(products, values(m, k), values(k, n), values(n), values(m))


@pytest.mark.parametrize("order", ["CC", "FC", "CF", "strided"])
def test_products_in_machine_code(order: str) -> None:
    a, b = values(3, 4), values(4, 5)
    if order == "strided":
        a, b = values(6, 8)[::2, ::2], values(4, 10)[:, ::2]
    else:
        a, b = np.asarray(a, order=order[0]), np.asarray(b, order=order[1])
    args = (a, b, values(5), values(3))
    value, grads = pb.value_and_grad(products, (0, 1, 2, 3))(*args)
    _, wanted = operators(products, (0, 1, 2, 3))[1](*args)
    np.testing.assert_allclose(value, products(*args), rtol=1e-13)
    for g, w in zip(grads, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12)


def test_products_that_do_not_fit() -> None:
    for options in ({}, {"run": "python"}):
        with pytest.raises(ValueError):
            pb.grad(products, options=options)(values(3, 4), values(3, 5), values(5), values(3))
