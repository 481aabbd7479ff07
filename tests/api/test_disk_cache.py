"""Machine code on disk never stands for another program: functions that look alike and are not."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import pullback as pb
from pullback.backend import cache, native

TEXT = """
import numpy as np
gain = {gain}
table = np.array([1.0, {table}])

def helper(x):
    return x * {callee}

def f(x, k={default}):
    return (x * x).sum() * {constant} * k * gain * table[1] + helper(x[0])
"""
SAME = {"gain": 2.0, "table": 3.0, "callee": 5.0, "default": 7.0, "constant": 11.0}


def program(**changed: Any) -> Any:
    """The function, as a module of its own would define it."""
    scope: dict[str, Any] = {"__name__": "program"}
    exec(compile(TEXT.format(**{**SAME, **changed}), "program.py", "exec"), scope)
    return scope["f"]


def expected(x: np.ndarray, **changed: Any) -> np.ndarray:
    v = {**SAME, **changed}
    out = 2 * x * v["constant"] * v["default"] * v["gain"] * v["table"]
    out[0] += v["callee"]
    return out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(native, "_machines", {})
    return tmp_path


def gradient(x: np.ndarray, changed: dict[str, Any], options: dict[str, Any] = {}) -> np.ndarray:
    native._machines.clear()  # as in another process
    return pb.grad(program(**changed), options=options)(x)


@pytest.mark.parametrize("what", SAME)
def test_programs_that_differ_in_one_number(folder, what):
    x = np.array([1.0, 2.0])
    for changed in ({}, {what: 13.0}, {}, {what: 13.0}):
        np.testing.assert_allclose(gradient(x, changed), expected(x, **changed), rtol=1e-14)
    # what is captured or passed is read at the call: there the machine code is the same
    assert len(cache.files()) == (1 if what in ("gain", "table", "default") else 2)


def test_types_and_options(folder):
    a, b = np.array([1.0, 2.0]), np.array([1.0, 2.0], np.float32)
    for x, y in permutations([a, b]):
        for options in ({}, {"fastmath": True}, {"plan": "naive"}):
            for z in (x, y, x):
                found = gradient(z, {}, options)
                assert found.dtype == z.dtype
                np.testing.assert_allclose(found, expected(z.astype(float)), rtol=1e-6)
