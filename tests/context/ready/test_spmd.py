"""Lanes that diverge give what a map gives, to the last bit."""

import math

import numpy as np
import pytest

import pullback as pb
from pullback.context.ready.spmd import spmd


def collatz(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


def newton(x, tol):
    y = x
    for k in range(50):
        z = 0.5 * (y + x / y)
        if abs(z - y) < tol:
            return z, k
        y = z
    return y, -1


def branches(x):
    if x < 0.0:
        y = -x
        if y > 2.0:
            return y * y
    elif x > 1.0:
        y = math.log(x)
    else:
        y = helper(x, 3)
    total = 0.0
    i = 0
    while i < y * 3.0:
        i += 1
        if i == 2:
            continue
        if total > 4.0:
            break
        total += i / 3.0
    return total + y


def helper(x, n):
    s = 0.0
    for k in range(n):
        s = s + x if s < 1.5 else s - scale * x
    return s


scale = 0.25


def swap(a, b, n):
    for _ in range(n):
        a, b = b, a + b
    return a, b


LANES = np.linspace(-4.0, 5.0, 23)


@pytest.mark.parametrize("f, args", [
    (collatz, (np.arange(1, 40),)),
    (newton, (np.linspace(0.5, 90.0, 17), 1e-9)),
    (branches, (LANES,)),
    (helper, (LANES, 4)),
    (swap, (LANES, LANES[::-1].copy(), np.arange(23) % 7)),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_lanes_equal_a_map(f, args):
    n = len(args[0])
    rows = [[a.tolist()[k] if isinstance(a, np.ndarray) else a for a in args] for k in range(n)]
    expected = [f(*row) for row in rows]
    got = spmd(f)(*args)
    if isinstance(expected[0], tuple):
        for k, part in enumerate(got):
            np.testing.assert_array_equal(part, [e[k] for e in expected])
    else:
        np.testing.assert_array_equal(got, expected)


def test_random_programs_of_branches():
    def program(x, y):
        for k in range(6):
            if x > y:
                x = x * 0.7 - y
                if x < 0.0 and k > 2:
                    break
            else:
                x, y = y - 0.3, x + 0.1 * k
                if y > 3.0:
                    return -x
        return x + 2.0 * y

    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 200)) * 3
    expected = [program(a, b) for a, b in zip(x.tolist(), y.tolist())]
    np.testing.assert_array_equal(spmd(program)(x, y), expected)


def test_an_error_in_one_lane_is_raised():
    with pytest.raises(ZeroDivisionError):
        spmd(lambda x: 1.0 / x)(np.array([1.0, 0.0]))


def test_a_local_that_is_not_bound_in_one_lane():
    def sometimes(x):
        if x > 0:
            y = 1.0
        return y

    assert spmd(sometimes)(np.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'y'"):
        spmd(sometimes)(np.array([1.0, -1.0]))


def imports(x):
    import math as m

    return m.exp(x)


def test_what_is_refused():
    with pytest.raises(pb.PullbackError, match=r"PB102.*import_name in imports"):
        spmd(imports)(np.ones(2))
    with pytest.raises(pb.PullbackError, match=r"PB102.*\* or \*\*"):
        spmd(lambda x, *more: x)(np.ones(2), np.ones(2))
    with pytest.raises(pb.PullbackError, match=r"PB507.*no lanes"):
        spmd(lambda x: x)(np.ones(0))
    with pytest.raises(pb.PullbackError, match=r"PB102.*closure"):
        spmd(lambda x: (lambda: 1)())(np.ones(2))
    with pytest.raises(ValueError, match="one length"):
        spmd(lambda x, y: x)(np.ones(2), np.ones(3))
