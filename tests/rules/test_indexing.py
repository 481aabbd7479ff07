import operator

import numpy as np
import pytest

from pullback.rules import registry

from .abstract import agree, aval, run, same
from .numpy_arrays import layouts, values

I = np.array([2, 0, 2, -1])
J = np.array([[0], [1]])
M = np.array([True, False, True, True])
E, N = Ellipsis, None
INDICES = {
    1: [I, J, I[:0], [0, 2, 2], (I,), M, (M,), (N, I), (I, N), (E, I)],
    2: [
        I, J, M, (I, I), (I, slice(None)), (slice(None), I - 1), (0, I - 1), (I, 0), (I, J),
        (I, slice(None, None, -1)), (M, I[:3]), (M, 1), (E, I - 1), (N, I, N), (I, N, I - 1),
        (slice(1, 3), [0, 2]), (J, N, slice(0, 2)), (I.astype("i4"), I),
    ],
    3: [
        (I, slice(None), I - 1), (slice(None), I - 1, I - 1), (0, slice(None), I - 1),
        (I - 1, I - 1), (E, I - 1), (slice(None), 0, I - 1), (I, N, 0, slice(1, 2)), (M, E, 1),
        (slice(None), [1, 0, 1], slice(None)),
    ],
}  # fmt: skip
CASES = [(rank, i) for rank, cases in INDICES.items() for i in cases]
SHAPE = (4, 3, 3)


def clear(rank, i):
    """A result in which every element can be told apart."""
    return np.arange(float(np.prod(SHAPE[:rank]))).reshape(SHAPE[:rank])


@pytest.mark.parametrize("rank, i", CASES, ids=str)
def test_getitem(rank, i):
    for x in layouts(clear(rank, i)):
        agree(operator.getitem, x, i)


@pytest.mark.parametrize("rank, i", CASES, ids=str)
def test_setitem(rank, i):
    for x in layouts(clear(rank, i)):
        try:
            picked = x[i]
        except IndexError:
            with pytest.raises(IndexError):
                run(operator.setitem, x, i, 1.0)
            continue
        for v in (7.0, 7, values(picked.shape), values(picked.shape[-1:]), np.array(3.0)):
            got, expected = x.copy(), x.copy()
            expected[i] = v
            run(operator.setitem, got, i, v)
            same(got, expected)


def test_masks_of_several_axes():
    x = clear(3, None)
    for mask in (x > 10, x[:, :, 0] % 2 == 0, x[:, 0, 0] > 5):
        agree(operator.getitem, x, mask)
        for v in (1.5, values(x[mask].shape), (x[mask] * 0 - 1)):
            got, expected = x.copy(), x.copy()
            expected[mask] = v
            run(operator.setitem, got, mask, v)
            same(got, expected)
    with pytest.raises(IndexError):
        run(operator.setitem, x, x[:2] > 0, 1.0)


def test_out_of_range():
    for i in (np.array([4]), np.array([-5])):
        assert isinstance(agree(operator.getitem, clear(1, 0), i), IndexError)
        with pytest.raises(IndexError):
            run(operator.setitem, clear(1, 0), i, 1.0)


def test_basic_indices_are_views_and_stores():
    x = clear(2, 0)
    for i in (0, slice(1, None), (0, 1), (E, N), (slice(None), 2)):
        assert registry.body_for(operator.getitem, [aval(x), aval(i)]) is None
    assert registry.body_for(operator.setitem, [aval(x), aval((0, 1)), aval(1.0)]) is None


@pytest.mark.parametrize(
    "i", [0, slice(1, None), slice(None, None, -1), (slice(None), 2), E, (E, 1), (N, 0), (1, E, 2)]
)
def test_assignment_to_views(i):
    for x in layouts(clear(2, 0)):
        for v in (5, values(x[i].shape), (1.0, 2.0, 3.0), np.array(2.5)):
            got, expected = x.copy(), x.copy()
            try:
                expected[i] = v
            except ValueError:
                continue
            run(operator.setitem, got, i, v)
            same(got, expected)


def test_positions():
    for x in [
        *layouts(values((2, 3), "b")),
        values(4, "i8"),
        values((0, 2)),
        values((2, 1, 3), "b"),
    ]:
        for f in (np.nonzero, np.flatnonzero, np.argwhere, np.where):
            agree(f, x)


def test_take_and_its_like():
    x = clear(2, 0)
    agree(np.take, x, I)
    agree(np.take, x, 3)
    agree(np.take, x, I, 0)
    agree(np.take, x, J, axis=-1)
    agree(np.take, x, (0, 2), axis=1)
    agree(np.compress, M, x, axis=0)
    agree(np.extract, x > 3, x)
    got, expected = clear(1, 0), clear(1, 0)
    np.put(expected, I, 9.0)
    run(np.put, got, I, 9.0)
    same(got, expected)


@pytest.mark.parametrize("f", [np.add, np.subtract, np.multiply, np.divide])
def test_unbuffered(f):
    for v in (2.0, values(4)):
        got, expected = clear(1, 0), clear(1, 0)
        f.at(expected, I, v)
        run(f.at, got, I, v)
        same(got, expected)
    got, expected = clear(2, 0), clear(2, 0)
    f.at(expected, (I, I), 3.0)
    run(f.at, got, (I, I), 3.0)
    same(got, expected)
