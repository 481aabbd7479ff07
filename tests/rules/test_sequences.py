import math

import numpy as np
import pytest

from .abstract import agree, run

VECTOR = np.array([1.5, -2.0, 0.25])


@pytest.mark.parametrize("f", [max, min])
def test_extrema(f):
    agree(f, 1.0, 3.0, 2.0)
    agree(f, (1.0, 3.0, 2.0, 3.0))
    agree(f, VECTOR)
    with pytest.raises(ValueError):
        run(f, VECTOR[:0])


@pytest.mark.parametrize("f", [sum, math.fsum, math.prod])
@pytest.mark.parametrize("xs", [VECTOR, (1.5, 2.5, -1.0), (3,), ()])
def test_folds(f, xs):
    assert np.isclose(run(f, xs), f(xs), rtol=1e-15)


def test_start():
    assert run(sum, (1, 2), 5) == 8
    assert run(math.prod, (2, 3), start=5) == 30


def test_pairs():
    p, q = (1.0, 2.0, 3.0), (0.5, 2.0, -1.0)
    agree(math.dist, p, q)
    agree(math.dist, np.array(p), np.array(q))
    agree(math.dist, p, np.array(q))
    if hasattr(math, "sumprod"):
        agree(math.sumprod, p, q)
        agree(math.sumprod, np.array(p), q)
    assert isinstance(agree(math.dist, np.array(p), np.array(q)[:2]), ValueError)


def test_hypot():
    agree(math.hypot, 3.0)
    agree(math.hypot, 1.0, 2.0, 3.0)
    assert run(math.hypot, 0.0, 0.0, 0.0) == 0.0


@pytest.mark.parametrize("x", [0.0, -0.0, 1.5, -3.25, 1e300, -1e-310, math.inf, 7.0])
def test_parts_of_a_float(x):
    for f in (math.modf, math.frexp):
        got = agree(f, x)
        assert all(math.copysign(1, g) == math.copysign(1, e) for g, e in zip(got, f(x)))
