"""What does not fit together is refused as NumPy refuses it: the same exception, the same words."""

import numpy as np
import pytest

import pullback as pb

V3, V4 = np.ones(3), np.ones(4)
M23, M22, M32 = np.ones((2, 3)), np.ones((2, 2)), np.ones((3, 2))
SHORT, LONG = np.array([True, False]), np.array([True] * 5)
MASK23, MASK33 = np.ones((2, 3), bool), np.ones((3, 3), bool)
I3, I2 = np.arange(3), np.arange(2)


def in_place(x, y):
    x = x.copy()
    x += y
    return x.sum()


def part(x, y):
    x = x.copy()
    x[:2] = y
    return x.sum()


def whole(x, y):
    x = x.copy()
    x[...] = y
    return x.sum()


def masked(x, mask):
    return x[mask].sum()


def set_masked(x, mask):
    x = x.copy()
    x[mask] = 2.0
    return x.sum()


def set_rows(x, mask):
    x = x.copy()
    x[:, mask] = 2.0
    return x.sum()


def set_masked_to_array(x, mask):
    x = x.copy()
    x[mask] = np.ones(9)
    return x.sum()


def set_at(x, i):
    x = x.copy()
    x[i] = np.ones(2)
    return x.sum()


CASES = [
    (lambda x, y: (x + y).sum(), V3, V4),
    (lambda x, y: (x + y).sum(), M23, V4),
    (lambda x, y: np.where(x > 0, x, y).sum(), V3, V4),
    (lambda x, y: np.hypot(x, y).sum(), M23, M32),
    (in_place, V3, V4),
    (part, V3, V3),
    (part, M32, V3),
    (whole, V3, M23),
    (masked, V3, SHORT),
    (masked, V3, LONG),
    (masked, M32, SHORT),
    (masked, M23, MASK33),
    (lambda x, mask: x[:, mask].sum(), M23, SHORT),
    (lambda x, mask: x[mask, 0].sum(), M32, SHORT),
    (set_masked, V3, SHORT),
    (set_masked, M23, MASK33),
    (set_rows, M23, SHORT),
    (set_at, V3, I3),
    (lambda x, i: x[i].sum(), V3, np.array([0, 5])),
    (lambda x, i: x[i].sum(), V3, np.array([0, -4])),
    (lambda x, y: (x @ y).sum(), M23, M23),
    (lambda x, y: (x @ y).sum(), M23, V4),
    (lambda x, n: x.sum(axis=2).sum(), M23, 0),
    (lambda x, n: x.cumsum(axis=-3).sum(), M23, 0),
    (lambda x, n: np.stack((x, x), axis=4).sum(), M23, 0),
    (lambda x, n: np.linalg.norm(x, axis=2).sum(), M23, 0),
    (lambda x, n: x.reshape(4, n).sum(), M23, 2),
    (lambda x, n: x.reshape(n, n).sum(), M23, -1),
    (lambda x, n: x.reshape(-1, -1).sum(), M23, 0),
    (lambda x, n: np.transpose(x, (0, 0)).sum(), M23, 0),
    (lambda x, n: x.transpose(0, 2).sum(), M23, 0),
    (lambda x, n: np.transpose(x, (0,)).sum(), M23, 0),
    (lambda x, n: np.linalg.det(x), V3, 0),
    (lambda x, n: np.linalg.inv(x).sum(), V3, 0),
    (lambda x, n: np.linalg.inv(x).sum(), M23, 0),
    (lambda x, n: np.linalg.inv(x).sum(), M22, 0),
    (lambda x, n: np.linalg.cholesky(-x).sum(), M22, 0),
    (lambda x, y: np.linalg.solve(x, y).sum(), V3, V3),
    (lambda x, n: np.take(x, n), V3, 7),
    (lambda x, n: np.flip(x, 2).sum(), M23, 0),
    (lambda x, n: np.expand_dims(x, 5).sum(), M23, 0),
    (lambda x, n: np.squeeze(x, 0).sum(), M23, 0),
    (lambda x, n: np.split(x, 2)[0].sum(), V3, 0),
    (lambda x, y: np.hstack((x, y)).sum(), M23, M32),
    (lambda x, y: np.vstack((x, y)).sum(), M23, M32),
    (lambda x, y: np.concatenate((x, y)).sum(), M23, M22),
    (lambda x, y: np.concatenate((x, x, y), axis=1).sum(), M23, M32),
    (lambda x, y: np.concatenate((x, y)).sum(), M23, V3),
    (lambda x, y: np.stack((x, y)).sum(), V3, V4),
    (lambda x, y: np.stack((x, y)).sum(), V3, M23),
    (lambda x, n: x[:n].min(), V3, 0),
    (lambda x, n: np.nanmax(x[:n]), V3, 0),
    (lambda x, n: x[:n].argmax() * x[0], V3, 0),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_as_numpy(case):
    f, x, other = CASES[case]
    with pytest.raises(Exception) as theirs:
        f(x, other)
    with pytest.raises(type(theirs.value)) as ours:
        pb.grad(f)(x, other)
    assert type(ours.value) is type(theirs.value)
    assert str(ours.value) == str(theirs.value)


def test_values_that_do_not_fit_a_mask():
    """NumPy counts the true elements first and speaks of an assignment."""
    with pytest.raises(ValueError, match=r"shape \(9,\)"):
        pb.grad(set_masked_to_array)(V3, V3 > 0)


def test_integers():
    def f(x, a, b):
        return x * (a @ b).sum()

    with pytest.raises(ValueError, match="size 2 is different from 3"):
        pb.grad(f)(1.0, I3, I2)
    with pytest.raises(ValueError, match="no identity"):
        pb.grad(lambda x, a: x * a.max())(1.0, I3[:0])
