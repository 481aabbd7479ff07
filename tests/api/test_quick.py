"""The second call of an operator takes a shorter way than the first, and does the same."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import pullback as pb
from pullback.api.operator import MISSED
from pullback.errors import AliasedArguments, ReadOnlyArgument

X = np.array([0.5, 1.5, -2.0])
SCALE = np.array([2.0, 3.0])


def scaled(x, k):
    for i in range(x.size):
        x[i] = x[i] * k
    return (x * x).sum() * SCALE[0]


def power(x, k):
    return x**k


def warm(f, *args, **settings):
    """An operator whose short way is there."""
    g = pb.grad(f, **settings)
    g(*args)
    assert g.quick(args) is not MISSED
    return g


def test_same_results_and_what_the_arguments_hold():
    g = pb.value_and_grad(scaled, (0, "k"))
    seen = []
    for _ in range(3):
        x = X.copy()
        value, (dx, dk) = g(x, 1.5)
        seen.append((value, *dx, dk, *x))
    assert seen[0] == seen[1] == seen[2]
    assert np.array_equal(x, 1.5 * X) and dk == pytest.approx(2 * (X * X).sum() * 1.5 * 2)


def test_fresh_results():
    g = warm(lambda x: (x * x).sum(), X)
    first = g(X)
    second = g(2 * X)
    assert np.array_equal(first, 2 * X) and np.array_equal(second, 4 * X)
    assert not np.shares_memory(first, second)


@pytest.mark.parametrize(
    "k", [3, 3.0, True, np.float32(3), np.int32(3), np.float64(3)], ids=lambda k: type(k).__name__
)
def test_arguments_of_other_types(k):
    g = warm(power, 2.0, 2.5)
    expected = pb.grad(power)(2.0, k)
    assert g(2.0, k) == expected and type(g(2.0, k)) is type(expected)
    assert g(2.0, 2.5) == pytest.approx(2.5 * 2**1.5)
    assert g(np.float32(2), k) == pb.grad(power)(np.float32(2), k)


def test_arrays_of_other_layouts_and_byte_orders():
    g = warm(lambda x: (x * x).sum(), np.ones((2, 2)))
    A = np.arange(4.0).reshape(2, 2)
    for x in (A, A.T, A[::2], np.asfortranarray(A), A.astype("f4"), np.ones((2, 2, 2))):
        assert np.array_equal(g(x), 2 * x) and g(x).dtype == x.dtype
    with pytest.raises(pb.PullbackError):
        g(A.astype(">f8"))
    with pytest.raises(pb.PullbackError):
        g([1.0, 2.0])


def test_other_ways_to_pass():
    g = warm(scaled, X.copy(), 2.0)
    expected = g(X.copy(), 2.0)
    assert np.array_equal(g(X.copy(), k=2.0), expected)
    assert np.array_equal(g(k=2.0, x=X.copy()), expected)
    with pytest.raises(TypeError):
        g(X.copy())
    with pytest.raises(TypeError):
        g(X.copy(), 2.0, 3.0)


def test_what_was_captured_is_read_at_each_call(monkeypatch):
    g = warm(scaled, X.copy(), 1.0)
    base = g(X.copy(), 1.0)
    SCALE[0] *= 2
    try:
        assert np.array_equal(g(X.copy(), 1.0), 2 * base)
    finally:
        SCALE[0] /= 2
    monkeypatch.setitem(scaled.__globals__, "SCALE", np.array([1.0], "f4"))
    assert np.array_equal(g(X.copy(), 1.0), base / 2)
    monkeypatch.setitem(scaled.__globals__, "SCALE", SCALE.astype(">f8"))
    with pytest.raises(pb.PullbackError):
        g(X.copy(), 1.0)


def test_other_code():
    def f(x):
        return x * x

    g = warm(f, 3.0)
    f.__code__ = (lambda x: x * x * x).__code__
    assert g(3.0) == 27.0


def test_bad_arguments_are_still_refused():
    g = warm(scaled, X.copy(), 1.0)
    x = X.copy()
    x.flags.writeable = False
    with pytest.raises(ReadOnlyArgument):
        g(x, 1.0)
    h = warm(lambda x, y: _into(x, y), X.copy(), X.copy())
    x = np.ones(4)
    with pytest.raises(AliasedArguments):
        h(x[:3], x[1:])


def _into(x, y):
    x[0] = y[1]
    return (x * y).sum()


def test_exceptions_come_from_the_users_line():
    def stops(x, n):
        for i in range(n):
            x[i] *= 2.0
        return x.sum()

    g = warm(stops, X.copy(), 2)
    x = X.copy()
    with pytest.raises(IndexError) as e:
        g(x, 4)
    assert "stops" in e.traceback[-1].name and e.value.__context__ is None
    assert np.array_equal(x, 2 * X)
    assert np.array_equal(g(X.copy(), 3), [2.0, 2.0, 2.0])


def test_from_several_threads():
    g = warm(scaled, X.copy(), 1.5)
    expected, wrong = g(X.copy(), 1.5), []

    def work():
        for _ in range(500):
            if not np.array_equal(g(X.copy(), 1.5), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_views_and_auxiliary_results():
    g = pb.grad(lambda x: ((x * x).sum(), x[1:]), has_aux=True)
    for _ in range(2):
        x = X.copy()
        d, aux = g(x)
        assert np.array_equal(d, 2 * X) and np.shares_memory(aux, x) and aux.base is not None
