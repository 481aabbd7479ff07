"""Patterns of Jacobians and Hessians: what they hold, and never a false zero."""

import array
import math
import statistics
from collections import deque
from itertools import pairwise

import numpy as np
import pytest

from pullback.context.ready.sparsity import hessian_pattern, jacobian_pattern


def tridiagonal(x):
    y = np.zeros_like(x)
    n = len(x)
    for i in range(n):
        y[i] = 2 * x[i]
        if i > 0:
            y[i] -= x[i - 1]
        if i < n - 1:
            y[i] -= x[i + 1] ** 2
    return y


def slices(x):
    y = 2.0 * x
    y[1:] -= x[:-1]
    y[:-1] -= x[1:] ** 2
    return y


def bands(n, offsets):
    i, j = np.indices((n, n))
    return np.isin(j - i, offsets)


@pytest.mark.parametrize("f", [tridiagonal, slices])
def test_tridiagonal(f):
    np.testing.assert_array_equal(jacobian_pattern(f, np.ones(6)), bands(6, [-1, 0, 1]))


def branches(x):
    if x[0] > 0:
        return np.array([x[1] * x[2], 1.0])
    return np.array([x[3], x[0]])


def test_both_sides_of_a_branch():
    for sign in (1.0, -1.0):
        pattern = jacobian_pattern(branches, sign * np.ones(4))
        assert pattern.astype(int).tolist() == [[0, 1, 1, 1], [1, 0, 0, 0]]


def guarded(x):
    if x[0] > 0:
        return math.sqrt(x[0]) + x[1]
    return x[2]


def test_a_side_that_fails_because_it_was_forced_counts_as_everything():
    assert jacobian_pattern(guarded, -np.ones(4)).all()
    assert jacobian_pattern(guarded, np.ones(4)).astype(int).tolist() == [1, 1, 1, 0]


def until(x):
    y = x[0]
    while y > 1e-3:
        y = y * 0.5 + 0 * x[1]
    return y


def test_a_loop_that_the_input_ends_counts_as_everything():
    assert jacobian_pattern(until, np.ones(3)).all()


CORNERS = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])
CONSTANT = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]])
PROGRAMS = {
    "sum": (lambda x: np.sum(x[:2]), [1, 1, 0]),
    "method": (lambda x: x[1:].sum(), [0, 1, 1]),
    "matmul": (lambda x: CONSTANT @ x, [[1, 0, 0], [0, 1, 1]]),
    "where": (lambda x: np.where(x > 0, x, x[::-1]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]]),
    "list": (lambda x: np.array(neighbours(x)), [[1, 1, 0], [0, 1, 1]]),
    "iteration": (lambda x: np.array([v + 1.0 for v in x]), np.eye(3)),
    "unpacking": (lambda x: first(*x), [1, 0, 1]),
    "unpack": (lambda x: unpack(x), [0, 1, 1]),
    "pairs": (lambda x: sum(a - b for a, b in pairwise(list(x))), [1, 1, 1]),
    "max": (lambda x: max(x[0], x[1]), [1, 1, 0]),
    "maximum": (lambda x: np.maximum(x, 0.0), np.eye(3)),
    "reshape": (lambda x: np.concatenate([x[2:], np.zeros(1), x[:1]]), CORNERS),
    "sort": (lambda x: np.sort(x), np.ones((3, 3))),
    "mask": (lambda x: np.sum(x[x > 0]), [1, 1, 1]),
    "exp": (lambda x: np.exp(x) * math.exp(x[0]), [[1, 0, 0], [1, 1, 0], [1, 0, 1]]),
    "overwrite": (lambda x: overwrite(x), [0, 0, 1]),
    "int": (lambda x: x[int(x[0])], [1, 1, 1]),
    "argmax": (lambda x: x[np.argmax(x)], [1, 1, 1]),
    "constant": (lambda x: 3.0, [0, 0, 0]),
    "solve": (lambda x: np.linalg.solve(np.eye(3), x)[0], [1, 1, 1]),
    "values": (lambda x: sum({0: x[0], 1: x[1]}.values()), [1, 1, 0]),
    "map": (lambda x: list(map(lambda v: v * v, x))[1], [0, 1, 0]),
    "sorting": (lambda x: in_order([x[0], x[1]]), [1, 1, 1]),
    "flat": (lambda x: [v for v in x.flat][0], [1, 1, 1]),
    "statistics": (lambda x: statistics.fmean(v for v in x), [1, 1, 1]),
    "objects": (lambda x: sum([Held(x)], Held(x)).second(), [1, 1, 1]),
    "chosen": (lambda x: [x[1], x[2]][bool(x[0] > 0)], [0, 1, 1]),
    "held": (lambda x: Held(x).second(), [0, 1, 0]),
}  # fmt: skip


STORES = {
    "a slice of a list": lambda x, z: put([0.0] * 3, slice(0, 2), x[:2]),
    "array.array": lambda x, z: put(array.array("d", z), 0, x[1]),
    "memoryview": lambda x, z: (put(memoryview(z), 1, x[2]), z)[1],
    "deque": lambda x, z: list((d := deque(), d.append(x[1]))[0])[0],
    "set": lambda x, z: sum((s := set(), s.add(x[1]))[0]),
    "flat": lambda x, z: (put(z.flat, slice(1, 3), x[:2]), z)[1],
    "flat by name": lambda x, z: (z.flat.__setitem__(slice(0, 2), x[:2]), z)[1],
    "all of flat": lambda x, z: (setattr(z, "flat", x), z)[1],
    "real": lambda x, z: (setattr(z, "real", x), z)[1],
    "sort": lambda x, z: (y := x.copy(), y.sort())[0],
    "fill": lambda x, z: (z.fill(x[1]), z)[1],
    "copyto": lambda x, z: (np.copyto(z, x), z)[1],
    "at": lambda x, z: (np.add.at(z, [0, 0], x[1:]), z)[1],
    "out": lambda x, z: np.multiply(x, 2.0, out=z),
    "compress": lambda x, z: x.compress([True, False, True]),
    "reshape": lambda x, z: x.reshape(3, 1).transpose(1, 0)[0],
    "a method of an object": lambda x, z: (h := Held([]), h.x.append(x))[0].x[0][:1] * x[1],
}


def put(target, index, value):
    target[index] = value
    return target


@pytest.mark.parametrize("name", STORES)
def test_what_is_stored_is_followed_or_counts_as_everything(name):
    def f(x):
        return np.asarray(STORES[name](x, np.zeros(3)), float)

    x = np.array([2.0, 1.0, 1.5])
    pattern = jacobian_pattern(f, x)
    moved = [f(x + 1e-3 * e) != f(x) for e in np.eye(3)]
    assert not (np.moveaxis(moved, 0, -1) & ~pattern).any()
    assert np.any(moved)


def neighbours(x):
    return [a * b for a, b in zip(x, x[1:])]  # noqa: RUF007


def first(a, b, c):
    return a + c


def unpack(x):
    _, b, c = x
    return b * c


def overwrite(x):
    y = np.array([x[0], x[1]])
    y[0] = x[2]
    z = y[:1]
    return z[0]


def in_order(xs):
    xs.sort()
    return xs[0]


class Held:
    def __add__(self, other):
        return Held([a + b for a, b in zip(self.x, other.x)])

    def __init__(self, x):
        self.x = list(x)

    def second(self):
        return self.x[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_patterns(name):
    f, expected = PROGRAMS[name]
    pattern = jacobian_pattern(f, np.array([1.0, 2.0, 1.5]))
    assert pattern.astype(int).tolist() == np.asarray(expected).astype(int).tolist()


def test_never_a_false_zero():
    """Against differences, at random points."""
    rng = np.random.default_rng(0)
    for f, _ in PROGRAMS.values():
        x = rng.uniform(0.5, 2.5, 3)
        pattern = jacobian_pattern(f, x)
        h = 1e-6
        for k in range(3):
            e = np.zeros(3)
            e[k] = h
            change = np.abs(np.asarray(f(x + e)) - f(x - e)) > 1e-9
            assert not (change & ~pattern[..., k]).any()


def test_a_generator():
    pattern = jacobian_pattern(lambda x: sum(v * x[1] for v in [x[0], 1.0]), np.ones(3))
    assert pattern[0] and pattern[1]


def test_hessians():
    def rosenbrock(x):
        return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    np.testing.assert_array_equal(hessian_pattern(rosenbrock, np.ones(5)), bands(5, [-1, 0, 1]))
    pattern = hessian_pattern(lambda x: x[0] + x[1] * x[2] + np.sin(x[3]) + x[0] / 2.0, np.ones(4))
    assert pattern.astype(int).tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert hessian_pattern(lambda x: x[0] / x[1], np.ones(2)).astype(int).tolist() == [
        [0, 1],
        [1, 1],
    ]
