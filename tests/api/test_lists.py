"""Derivatives through lists that loops fill."""

import numpy as np
import pytest

import pullback as pb

X = np.array([0.5, 2.0, 3.5, 1.0, 4.0])


def filtered(x, least):
    s = 0.0
    for v in [v * v for v in x if v > least]:
        s = s * 0.7 + v
    return s


def stops(x, least):
    ys = []
    for i in range(len(x)):
        if x[i] > least:
            ys.append(x[i] * (ys[-1] if len(ys) > 0 else 1.0))
        if len(ys) > 2:
            break
    return sum(ys) * len(ys) + ys[0] * ys[1]


def written_in_a_nest(x, least):
    total = 0.0
    for k in range(3):
        row = [v * k for v in x if v > least * k]
        for j in range(len(row)):
            row[j] = row[j] * row[j]
        total += sum(row)
    return total


def two_at_once(x, least):
    above, below = [], []
    for v in x:
        if v > least:
            above.append(v)
        else:
            below.append(v * v)
    return sum(above) * np.array(below).prod() + max(above) - min(below)


def sliced(x, least):
    ys = [v * v for v in x if v > least]
    back = ys[::-1]
    back[0] *= ys[1]  # its own list
    return back[0] * ys[2] + sum(ys[1:])


@pytest.mark.parametrize("f", [sliced, filtered, stops, written_in_a_nest, two_at_once])
def test_lists_of_a_length_found_at_run_time(f):
    pb.check(f, X, 1.5)  # against finite differences, and the value against CPython
    h = pb.hessian(f)(X, 1.5)
    assert np.allclose(h, pb.jacobian(pb.grad(f))(X, 1.5), rtol=1e-13)
    assert np.allclose(h, h.T, rtol=1e-13)


def test_an_index_behind_the_end():
    def f(x, least):
        return [v for v in x if v > least][3]

    assert np.array_equal(pb.grad(f)(X, 0.7), [0.0, 0.0, 0.0, 0.0, 1.0])
    with pytest.raises(IndexError, match="list index out of range"):
        pb.grad(f)(X, 1.5)
