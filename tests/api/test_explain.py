"""pb.explain and pb.show print what a reader needs."""

import math
import re

import numpy as np

import pullback as pb

from . import PYTHON


def model(x, k):
    s = 1
    t = 0.0
    for i in range(x.size):
        x[i] = x[i] * s
        s = s * math.sin(x[i] * k)
        t += np.exp(x).sum()
    n = x.size * 2
    return s * t * n


LINE = model.__code__.co_firstlineno


def lines(text):
    """Line number -> what is said of it."""
    return {int(m[1]): m[2] for m in re.finditer(r"^ +(\d+) \|.*?# (.*)$", text, re.M)}


def test_explain():
    x = np.array([1.0, 2.0])
    e = pb.explain(model, x, 1.1)
    text = str(e)
    assert np.array_equal(x, [1.0, 2.0])
    assert text.startswith("model(x: float64[2], k: float)")
    found = lines(text)
    assert "active (x)" in found[LINE + 4]
    assert "stored" in found[LINE + 5] and " B" in found[LINE + 5]
    assert LINE + 7 not in found  # inactive, and nothing kept
    assert e.tape_bytes > 0 and f"{e.tape_bytes} bytes" in text and e.tape in text
    assert {"lift and types", "differentiate", "optimise", "machine code"} == set(e.seconds)
    assert "slow: 's' is int64 on one path and float64 on another" in text


def test_a_linear_function_keeps_nothing():
    def f(x):
        for i in range(1, x.size):
            x[i] += 0.5 * x[i - 1]
        return x.sum()

    e = pb.explain(f, np.ones(4))
    assert e.tape_bytes == 0
    assert "stored" not in str(e) and "saved" not in str(e)


def test_array_results_and_python_code():
    e = pb.explain(lambda x: x * x, np.ones(3), options=PYTHON)
    assert "machine code" not in e.seconds and "first compile" in str(e)
    assert pb.explain(lambda x: x * x, np.ones(3)).tape_bytes > 0


def test_show(capsys):
    pb.show(model)
    assert "function model(x, k)" in capsys.readouterr().out
    pb.show(pb.grad(model))
    assert "function model(x, k)" in capsys.readouterr().out


def test_the_tape_as_a_formula():
    """What it says is what there is, for other sizes too."""

    def f(A, steps):
        n = A.shape[0]
        s = 0.0
        for _ in range(steps):
            for i in range(1, n):
                for j in range(0, i):
                    s = math.sin(s * A[i, j])
            s = s * s
        while s > 1e-3:
            s = s * s * 0.5
        return s

    first = f.__code__.co_firstlineno
    e = pb.explain(f, np.ones((4, 4)), 3)
    found = lines(str(e))
    assert any("stored (s)" in x and "× steps × (A.shape[0] - 1) × i" in x for x in found.values())
    assert "8 B × steps" in e.tape and f"(rounds of line {first + 8})" in e.tape
    inner = sum(
        width * 3 * sum(range(4))
        for width in map(int, re.findall(r"(\d+) B × steps × \(A.shape\[0\] - 1\) × i", e.tape))
    )
    outer = sum(3 * int(w) for w in re.findall(r"(\d+) B × steps(?: \+|$)", e.tape))
    assert inner and inner + outer <= e.tape_bytes <= inner + outer + 200


def test_trip_counts_in_shapes():
    def f(x):
        s = 1.0
        for i in range(0, x.size - 1, 2):
            s = math.sin(s) * x[i]
        return s

    assert "(x.shape[0] - 1) / 2" in pb.explain(f, np.ones(5)).tape


def smoothed(x, steps):
    u = x.copy()
    s = 0.0
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            s += u[i - 1] * u[i] * u[i + 1]
        for _ in range(4):
            for i in range(1, len(u) - 1):
                u[i] = 0.25 * (u[i - 1] + 2.0 * u[i] + u[i + 1])
    return s


def test_copies_of_arrays():
    e = pb.explain(smoothed, np.ones(10), 5)
    assert e.copies == "8 B × x.shape[0] × steps"
    read = smoothed.__code__.co_firstlineno + 5
    assert f"array copied (out) {e.copies}" in lines(str(e))[read]
    assert f"copies of arrays: {e.copies}" in str(e)
    assert e.tape == "24 B × steps" and e.tape_bytes == 5 * 24
