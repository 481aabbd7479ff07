"""Containers that a function captures: taken by what they hold, looked at again at each call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

import pullback as pb
from pullback.errors import TypingError

ON_CPYTHON = {"run": "python"}

numbers = [1.0, 2.0]
table: dict[str, Any] = {"a": 1.0, "inner": [3.0]}


def item(x):
    return numbers[0] * x


def length(x):
    return len(numbers) * x


def entry(x):
    return table["a"] * x


def membership(x):
    return x * 2.0 if "b" in table else x


def nested(x):
    return table["inner"][0] * x


def change_number() -> None:
    numbers[0] = 5.0


CASES: list[tuple[Callable[..., Any], Callable[[], Any], float, float]] = [
    (item, change_number, 1.0, 5.0),
    (length, lambda: numbers.append(0.0), 2.0, 3.0),
    (entry, lambda: table.update(a=7.0), 1.0, 7.0),
    (membership, lambda: table.update(b=0), 1.0, 2.0),
    (nested, lambda: table["inner"].insert(0, 4.0), 3.0, 4.0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_a_change_is_seen(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f, change, before, after = case
    monkeypatch.setitem(globals(), "numbers", [1.0, 2.0])
    monkeypatch.setitem(globals(), "table", {"a": 1.0, "inner": [3.0]})
    g = pb.grad(f, options=ON_CPYTHON)
    assert g(1.0) == before
    change()
    assert g(1.0) == after


def test_a_callee_that_cannot_be_hashed() -> None:
    square = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x * x)
    with pytest.raises(TypingError, match="not known to compiled code"):
        pb.grad(lambda x: square(x))(2.0)
