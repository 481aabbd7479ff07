"""Copies where NumPy has views: as good as views, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.errors import CopiedView

ON_CPYTHON = {"run": "python"}
X = np.linspace(0.3, 1.9, 8)


def through_a_reshape(x):
    b = x[::2].reshape(2, 2)
    b[0] *= b[1]
    return (x * x).sum()


def behind_a_reshape(x):
    b = x[::2].reshape(2, 2)
    x[0] = 3.0 * x[1]
    return (b * b).sum()


def behind_a_diagonal(x):
    a = x.reshape(2, 4)
    d = np.diagonal(a)
    a[0, 0] = 5.0 * a[1, 0]
    return (d * d).sum()


def behind_a_broadcast(x):
    b = np.broadcast_to(x, (2, 8))
    x[0] = 3.0 * x[1]
    return (b * b).sum()


def behind_windows(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 3)
    x[:] = x * 2.0
    return (w * w).sum()


def behind_a_column_major_reshape(x):
    a = x.reshape(2, 4).T
    b = a.reshape(2, 2, 2)
    x[0] = 3.0 * x[1]
    return (b * b).sum()


def _diagonal(a, n):
    if n > 0:
        return _diagonal(a, n - 1)
    return np.diagonal(a)


def returned_by_a_call(x):
    d = _diagonal(x.reshape(2, 4), 3)
    x[0] = 3.0 * x[1]
    return (d * d).sum()


def kept_for_the_next_turn(x):
    a = x.reshape(2, 4)
    kept = np.diagonal(a)
    s = 0.0
    for i in range(3):
        s += kept[0] * i
        a[0, 0] = a[1, 1] * s
        s += kept[0]
        kept = np.diagonal(a)
    return s


SEEN = [
    through_a_reshape, behind_a_reshape, behind_a_diagonal, behind_a_broadcast, behind_windows,
    behind_a_column_major_reshape, returned_by_a_call, kept_for_the_next_turn,
]  # fmt: skip


@pytest.mark.parametrize("f", SEEN, ids=lambda f: f.__name__)
def test_a_difference_that_could_be_seen_is_refused(f: Callable[..., Any]) -> None:
    for operator in (pb.grad, pb.value_and_grad):
        with pytest.raises(CopiedView) as e:
            operator(f, options=ON_CPYTHON)(X.copy())
        assert e.value.loc is not None and e.value.loc.file == __file__


def made_anew_each_turn(x):
    a = x.reshape(2, 4)
    s = 0.0
    for _ in range(3):
        d = np.diagonal(a)
        s += (d * d).sum()
        a[0, 0] = a[1, 1] * 0.5
    return s


def only_read(x):
    return (np.broadcast_to(x, (3, 8)) * x[::2].reshape(2, 2).sum()).sum()


def not_read_afterwards(x):
    d = np.diag(x.reshape(2, 4))
    s = d[0] * d[1]
    x[0] = 1.0
    return s + x.sum()


def a_copy_is_meant(x):
    a = x.reshape(2, 4)
    d = np.diagonal(a).copy()
    a[0, 0] = 5.0 * a[1, 0]
    return (d * d).sum() + a[0, 0]


def resized(x):
    v = np.resize(x, 8)
    v[0] *= x[1]
    w = np.resize(x, (2, 5))
    return (x * x).sum() + v[0] + (w * w).sum()


@pytest.mark.parametrize(
    "f",
    [made_anew_each_turn, only_read, not_read_afterwards, a_copy_is_meant, resized],
    ids=lambda f: f.__name__,
)
def test_no_difference(f: Callable[..., Any]) -> None:
    value, g = pb.value_and_grad(f, options=ON_CPYTHON)(X.copy())
    assert value == pytest.approx(f(X.copy()), rel=1e-13)
    for i, e in enumerate(np.eye(8) * 1e-6):
        assert g[i] == pytest.approx((f(X + e) - f(X - e)) / 2e-6, rel=1e-7, abs=1e-8)
