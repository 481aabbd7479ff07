import numpy as np
import pytest

from .abstract import agree, run, same
from .numpy_arrays import DTYPES, SHAPES, layouts, values


@pytest.mark.parametrize("shape", [3, (2, 3), (0,), (), (2, 1, 2)])
@pytest.mark.parametrize("dtype", [float, int, "f4", np.complex64, bool, np.dtype("i4")])
def test_filled(shape, dtype):
    for f in (np.zeros, np.ones):
        agree(f, shape)
        agree(f, shape, dtype)
        agree(f, shape, dtype=dtype, order="F")
    assert run(np.empty, shape, dtype).shape == np.empty(shape).shape
    agree(np.full, shape, 2)
    agree(np.full, shape, 2.5)
    agree(np.full, shape, 1, dtype)


def test_negative_dimensions():
    assert isinstance(agree(np.zeros, -1), ValueError)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_like(dtype, shape):
    for x in layouts(values(shape, dtype)):
        agree(np.zeros_like, x)
        agree(np.ones_like, x)
        agree(np.full_like, x, 1)
        agree(np.zeros_like, x, dtype="f4", shape=(2, 2))
        same(np.zeros_like(run(np.empty_like, x)), np.zeros_like(x))
    assert run(np.zeros_like, np.asfortranarray(values((2, 3)))).flags.f_contiguous
    agree(np.ones_like, (1.0, 2.0))


@pytest.mark.parametrize(
    "args",
    [(5,), (2, 7), (2, 9, 3), (9, 2, -2), (0,), (5, 2), (0.0, 1.0, 0.1), (1.5,), (3, 0, -0.5)]
    + [(0.0, 0.35, 0.1), (np.float32(3),), (0, 4, 1.0)],
)
def test_arange(args):
    agree(np.arange, *args)
    agree(np.arange, *args, dtype="f4")


@pytest.mark.parametrize("args", [(0, 1), (0.0, 3.0, 7), (1, 1, 3), (2.0, -1.0, 1), (0.0, 1.0, 0)])
def test_linspace(args):
    agree(np.linspace, *args)
    agree(np.linspace, *args, endpoint=False)
    agree(np.linspace, *args, dtype="f4")
    agree(np.logspace, *args)


def test_indices():
    agree(np.indices, (2, 3))
    agree(np.indices, (4,), "f8")


def test_geomspace():
    agree(np.geomspace, 1.0, 8.0, 4)
    agree(np.geomspace, 1.0, 8.0, 4, endpoint=False)


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 2, 5])
def test_matrices(k):
    agree(np.eye, 3, k=k)
    agree(np.eye, 3, 4, k)
    agree(np.eye, 2, dtype="f4")
    agree(np.identity, 3)
    agree(np.tri, 3, 4, k)
    for x in layouts(values((3, 4))):
        for f in (np.diag, np.tril, np.triu, np.diagonal, np.trace):
            agree(f, x, k)
    agree(np.diag, values(3), k)
    agree(np.diag, (1.0, 2.0), k)
    agree(np.diagflat, values((2, 2)), k)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing):
    x, y, z = values(2), values(3, "f4"), values(4, "i8")
    agree(np.meshgrid, x, indexing=indexing)
    agree(np.meshgrid, x, y, indexing=indexing)
    agree(np.meshgrid, x, y, z, indexing=indexing)
    agree(np.meshgrid, x, y)


V = values(3)


@pytest.mark.parametrize(
    "x",
    [(), (1, 2), (1, 2.5), [1.0, 2j], ((1, 2), (3, 4)), [[1.0], [2.0]], (V, V), ((V, V), (V, V))]
    + [(np.float32(1), 2.0), (True, False), (V, 2 * V.astype("f4")), 3.0, [(1, 2), [3, 4]], V],
)
def test_array(x):
    for f in (np.array, np.asarray, np.ascontiguousarray):
        if f is not np.ascontiguousarray or not np.isscalar(x):
            agree(f, x)
            agree(f, x, "c16")


def test_ragged_tuples_are_refused():
    from pullback.rules import registry

    from .abstract import aval

    assert registry.body_for(np.array, [aval(((1.0, 2.0), (3.0,)))]) is None
    with pytest.raises(ValueError):
        run(np.array, (V, V[:2]))


def test_when_an_array_is_copied():
    x = values((2, 3))
    assert not np.shares_memory(run(np.array, x), x)
    assert run(np.array, x, copy=False) is x
    assert run(np.asarray, x) is x
    assert run(np.asarray, x, dtype=np.float64) is x
    assert run(np.ascontiguousarray, x) is x
    assert run(np.asfortranarray, x).flags.f_contiguous
    agree(np.asfortranarray, x)
    assert run(np.ascontiguousarray, x.T).flags.c_contiguous
    agree(np.array, x.T, order="C")
