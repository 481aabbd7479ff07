"""Patterns of functions whose dependence goes ways that are hard to see: never a false zero.

The derivative is taken by differences, at several points; the pattern at one of them."""

import contextlib
import copy
import dataclasses
import functools
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from scipy import integrate, optimize

from pullback.context.ready.sparsity import hessian_pattern, jacobian_pattern


@dataclasses.dataclass
class Box:
    x: object


class Converts:
    """C code calls its methods."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.array(self.x)

    def __float__(self):
        return float(self.x[0])


# -- decisions -------------------------------------------------------------------------------------
def stored_mask(x):
    m = np.zeros(3, bool)
    m[:] = x > 1.2
    y = np.zeros(3)
    y[m] = x[m]
    return y


def copied_mask(x):
    m = np.zeros(3, bool)
    np.copyto(m, x > 1.2)
    return np.sum(x[m])


def items_of_a_mask(x):
    return np.array([x[0] if b else x[1] for b in x > 1.2])


def zipped_mask(x):
    return sum(x[k] for k, b in enumerate(x > 1.2) if b)


def view_of_a_mask(x):
    m = x > 1.2
    first, *_ = m[::-1]
    return x[0] if first else x[1]


def inverted(x):
    return x[0] if ~(x[1] > 1.2) else x[2]


def negated(x):
    return x[0] if not x[1] > 1.2 else x[2]


def any_of(x):
    return x[0] if any(v > 1.7 for v in x) else x[1]


def all_of_endless(x):
    return x[0] if any(x[0] < k for k in itertools.count()) else x[1]


# -- exceptions ------------------------------------------------------------------------------------
def swallows(x):
    try:
        n = int(x[0])
    except Exception:
        n = 0
    return x[n] * 2


def swallows_all(x):
    with contextlib.suppress(BaseException):
        return x[[0, 1, 2][int(x[0])]]
    return 0.0


def fails_elsewhere(x):
    try:
        return math.sqrt(x[0])
    except ValueError:
        return x[1]


def divides_elsewhere(x):
    try:
        return 1.0 / max(float(x[0]), 0.0)
    except ZeroDivisionError:
        return x[1]


def not_definite(x):
    try:
        return np.linalg.cholesky(np.array([[x[0] - 1.0]]))[0, 0] * x[1]
    except np.linalg.LinAlgError:
        return x[2]


def strict(x):
    with np.errstate(all="raise"):
        try:
            return np.sqrt(x[0] - 1.5) * x[1]
        except FloatingPointError:
            return x[2]


# -- what is handed to other code ------------------------------------------------------------------
def handed_to_a_root_finder(x):
    return optimize.brentq(lambda t: t - x[0], -10, 10)


def handed_to_a_quadrature(x):
    return integrate.quad(functools.partial(lambda a, t: t * a, x[1]), 0, 1)[0]


def vectorised(x):
    return np.vectorize(lambda v: v * x[0])(np.arange(3.0))


def cached(x):
    @functools.lru_cache
    def g(i):
        return x[i]

    return g(1)


def sorted_by(x):
    return x[sorted(range(3), key=lambda i: x[i])[0]]


def best_by(x):
    return x[max(range(3), key=lambda i: x[i])]


def reduced(x):
    return functools.reduce(lambda a, v: a + v * x[0], [x[1]], 0.0)


def evaluated(x):
    return eval("x[0] * 2", {"x": x})


def copied_object(x):
    return copy.deepcopy(Box(x)).x[0]


def copied_dict(x):
    return copy.deepcopy({"a": x})["a"][1]


def as_dict(x):
    return dataclasses.asdict(Box(x))["x"][1]


def pickled(x):
    return pickle.loads(pickle.dumps({"a": x}))["a"][2]


def as_json(x):
    return json.loads(json.dumps({"a": float(x[0])}))["a"]


def as_text(x):
    text = f"{x[0]:.17g} " + str(x[1])
    return float(text.split()[0])


def converted(x):
    return np.asarray(Converts(x)) * math.exp(Converts(x))


def method_of_a_local_class(x):
    class Local:
        def __add__(self, other):
            return x[0] * other

        @property
        def second(self):
            return x[1]

    return Local() + x[2] + Local().second


def subscript_by_method(x):
    class Index:
        def __index__(self):
            return int(x[0] > 1.0)

    return x[Index()]


def iterated_by_c(x):
    class Sized:
        def __iter__(self):
            return iter(x)

        def __len__(self):
            return 3

    return sum(Sized()) * np.array([*Sized()])[1]


def hashed_by_method(x):
    class Key:
        def __hash__(self):
            return int(x[0])

        def __eq__(self, other):
            return x[0] > 1

    return {Key(): x[1]}.get(Key(), x[2])


# -- arrays ----------------------------------------------------------------------------------------
def into_an_operand(x):
    return np.add(x, x[::-1].copy(), out=x)


def into_a_position(x):
    z = np.zeros(3)
    np.multiply(x, 2.0, z)
    return z


def remainder_in_place(x):
    y = x[:1].copy()
    y %= x[1]
    return y


def many_axes(x):
    return np.outer(x, x).sum((0, 1)) + np.sum(np.outer(x, x), axis=(-1, 0))


def batched_product(x):
    return (x.reshape(1, 3) * np.eye(3)) @ np.ones((2, 3, 3)) + np.dot(x, 2.0)


def windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, 2).sum(axis=1)


def other_items(x):
    return x.view(np.uint8).view(float) * 1.0


def single(x):
    return x.astype(np.float32).astype(float)


def other_outs(x):
    y, z = np.zeros(2), np.zeros(6)
    np.take(x, [1, 2], out=y, mode="clip")
    return np.concatenate([x, x], out=z)[1:3] * y


def vector_product(x):
    return getattr(np, "vecdot", np.dot)(x, x)


# -- containers ------------------------------------------------------------------------------------
def extended(x):
    xs = []
    xs.extend(x)
    xs += [x[0]]
    return (xs + [x[1]])[1]


def filtered(x):
    return sum(filter(None, [max(0.0, v - 1) for v in x]))


def found_by_key(x):
    return {0.5: x[1], 2.0: x[2]}.get(float(np.floor(x[0])), x[0])


def keyed(x):
    return {float(np.floor(x[0])): x[1]}.get(2.0, x[2])


UNSEEN = [
    stored_mask, copied_mask, items_of_a_mask, zipped_mask, view_of_a_mask, inverted, negated,
    any_of, all_of_endless, swallows, swallows_all, fails_elsewhere, divides_elsewhere,
    not_definite, strict, subscript_by_method, iterated_by_c, hashed_by_method, other_outs,
    filtered,
    handed_to_a_root_finder, handed_to_a_quadrature, vectorised, cached, sorted_by, best_by,
    reduced, evaluated, copied_object, copied_dict, as_dict, pickled, as_json, as_text, converted,
    method_of_a_local_class, into_an_operand, into_a_position, remainder_in_place, many_axes,
    batched_product, windows, other_items, single, vector_product, extended, found_by_key, keyed,
]  # fmt: skip
POINTS = [
    *np.random.default_rng(0).uniform(0.3, 2.6, (12, 3)), np.array([-1.0, 1.1, 2.2]),
    np.array([2.3, 1.3, 1.4]), np.array([0.8, 1.5, 1.1]),
]  # fmt: skip


def differences(f, x, h):
    """Columns of the Jacobian; zero where ``f`` has no value."""
    columns = []
    for e in h * np.eye(3):
        try:
            columns.append((np.asarray(f(x + e), float) - np.asarray(f(x - e), float)) / (2 * h))
        except (ValueError, ZeroDivisionError):
            columns.append(np.zeros(np.shape(f(POINTS[0].copy()))))
    return np.moveaxis(np.array(columns), 0, -1)


def dense(f):
    """Where the Jacobian is not zero at one of the points; a jump is no derivative."""
    found = False
    for x in POINTS:
        coarse, fine = differences(f, x, 2e-3), differences(f, x, 1e-3)
        smooth = abs(coarse - fine) < 1e-2 * (1 + abs(fine))
        found = found | (smooth & (abs(fine) > 1e-3))
    return found


@pytest.mark.parametrize("f", UNSEEN, ids=lambda f: f.__name__)
def test_never_a_false_zero(f):
    want = dense(f)
    assert want.any()
    for x in POINTS[::4]:
        pattern = jacobian_pattern(f, x)
        assert pattern.shape == want.shape and not (want & ~pattern).any()


def test_what_is_not_lost():
    """Places that stay empty: indices by ``max``, logging, keys, lists put together."""

    def stencil(x):
        notes = {"name": 1.0, "seen": []}
        y = np.zeros(3)
        for i in range(3):
            y[i] = x[max(i - 1, 0)] * 2.0
            if "seen" in notes:
                notes["seen"] += [f"at {i}: {y[i]}"]
        return y if notes["seen"] else x

    pattern = jacobian_pattern(stencil, np.ones(3))
    assert pattern.astype(int).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_hessians_of_what_is_unseen():
    assert hessian_pattern(lambda x: handed_to_a_root_finder(x) ** 2, np.ones(2)).all()
    pattern = hessian_pattern(lambda x: max(x[0] * x[1], 0.0) + x[2], np.ones(3))
    assert pattern.astype(int).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
