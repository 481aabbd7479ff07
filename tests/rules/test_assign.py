import numpy as np
import pytest

import pullback as pb
from pullback.errors import TypingError
from pullback.rules import registry
from pullback.rules.numpy.assign import CLIP_KEYWORDS, assign

from .abstract import agree, run, same
from .numpy_arrays import DTYPES, SHAPES, layouts, values


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", [*SHAPES, (1, 1, 3)])
def test_assign(shape, source):
    for x in layouts(values(shape)):
        expected, v = x.copy(), values(source)
        try:
            expected[...] = v
        except ValueError:
            with pytest.raises(ValueError):
                run(assign, x, v)
            continue
        assert run(assign, x, v) is x
        same(x, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("v", [True, 2, 3.7, (1, 2, 3), [0.5, 1.5, -2.5], np.arange(3.0)])
def test_assign_casts(dtype, v):
    x = values(3, dtype)
    expected = x.copy()
    if dtype == "u1" and isinstance(v, list):
        return
    expected[...] = v
    run(assign, x, v)
    same(x, expected)


def test_assign_complex_to_real_takes_the_real_part():
    x, z = values(3), values(3, "c16")
    run(assign, x, z)
    same(x, z.real)


def test_assign_overlapping():
    x = np.arange(6.0)
    run(assign, x[1:], x[:-1])
    same(x, np.array([0.0, 0, 1, 2, 3, 4]))
    a = values((3, 3))
    expected = a.T.copy()
    run(assign, a, a.T)
    same(a, expected)


def test_fill_copyto_fill_diagonal():
    x = values((2, 3))
    registry.method("fill")(x, 2.0)
    same(x, np.full((2, 3), 2.0))
    run(np.copyto, x, np.arange(3.0))
    same(x, np.tile(np.arange(3.0), (2, 1)))
    run(np.fill_diagonal, x, 7.0)
    assert x[0, 0] == x[1, 1] == 7.0 and x[0, 1] == 1.0


@pytest.mark.parametrize("shape", SHAPES)
def test_copies(shape):
    for x in layouts(values(shape)):
        for f in (np.copy, registry.method("copy")):
            y = agree(f, x)
            assert not np.shares_memory(x, y)
            if x.ndim > 1 and f is np.copy and x.size:
                assert y.flags.f_contiguous == x.copy(order="K").flags.f_contiguous


@pytest.mark.parametrize("to", ["f4", "f8", "i8", "c16", bool, int, np.float32, np.dtype("u1")])
def test_astype(to):
    for dtype in DTYPES:
        if dtype in ("c8", "c16") and np.dtype(to).kind != "c":
            continue
        x = abs(values((2, 3), dtype)) if np.dtype(dtype).kind != "b" else values((2, 3), "b")
        agree(registry.method("astype"), x, to)
    x = values(3)
    assert run(registry.method("astype"), x, np.float64, copy=False) is x


@pytest.mark.parametrize("c", [values(3, "b"), values((2, 3), "b"), values((2, 1), "i8")])
@pytest.mark.parametrize("x", [values(3), values((2, 3), "f4"), 1.5, 2, np.float32(3)])
@pytest.mark.parametrize("y", [values(3), 0.0, values((2, 1), "c8")])
def test_where(c, x, y):
    agree(np.where, c, x, y)
    agree(np.where, c, y, x)


def test_where_of_lists():
    agree(np.where, values(3, "b"), (1.0, 2.0, 3.0), 0.0)


X = np.array([[-2.0, -1.0, np.nan], [0.0, 1.0, np.inf]])


@pytest.mark.parametrize("x", [X, X.astype("f4"), values((2, 3), "i8"), X.T])
@pytest.mark.parametrize("lo, hi", [(-1, 1), (-1.0, 1.0), (None, 0.5), (0, None), (np.nan, 1.0)])
def test_clip(x, lo, hi):
    agree(np.clip, x, lo, hi)
    same(run(registry.method("clip"), x, lo, hi), x.clip(lo, hi))
    if hi is not None and lo is not None and CLIP_KEYWORDS:
        agree(np.clip, x, min=lo, max=hi)


@pytest.mark.skipif(CLIP_KEYWORDS, reason="NumPy takes these keywords")
def test_keywords_of_clip_that_numpy_does_not_take_are_refused():
    with pytest.raises(TypeError):
        np.clip(X, min=-1.0, max=1.0)
    with pytest.raises(TypingError, match="not known to compiled code"):
        pb.grad(lambda x: np.sum(np.clip(x, min=-1.0, max=1.0)))(X)


def test_clip_by_arrays_and_in_place():
    x, out = values((2, 3)), np.empty((2, 3))
    agree(np.clip, x, np.array([-0.5, 0.0, 0.5]), np.array([[0.5], [1.0]]))
    assert run(np.clip, x, -0.5, 0.5, out=out) is out
    same(out, np.clip(x, -0.5, 0.5))
    assert run(np.clip, 2.0, 0.0, 1.0) == 1.0


def test_item():
    agree(registry.method("item"), np.array(2.0))
    agree(registry.method("item"), np.array([[2.0]]))
    with pytest.raises(ValueError):
        run(registry.method("item"), np.array([2.0, 3.0]))
