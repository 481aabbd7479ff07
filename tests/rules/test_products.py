import operator

import numpy as np
import pytest

from pullback.rules import registry

from .abstract import agree, run, same
from .numpy_arrays import layouts, values

MATRICES = [((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((2, 3), (2, 3))]
STACKS = [
    ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((6, 1, 2, 3), (5, 3, 4)), ((5, 2, 3), (4, 3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("a, b", MATRICES + STACKS)
@pytest.mark.parametrize("kinds", ["f8 f8", "f8 f4", "c16 f8", "i8 i8", "i4 f8", "f4 f4", "b b"])
def test_matmul(a, b, kinds):
    x, y = (values(s, k) for s, k in zip((a, b), kinds.split()))
    for f in (operator.matmul, np.matmul, np.dot):
        agree(f, x, y)


def test_layouts():
    for x in layouts(values((3, 3))):
        for y in layouts(values((3, 3))):
            agree(operator.matmul, x, y)
        agree(operator.matmul, x[0], x)


def test_dot_with_numbers_and_lists():
    agree(np.dot, 2.0, values(3))
    agree(np.dot, values(3), 2)
    agree(np.dot, (1.0, 2.0), [3.0, 4.0])
    agree(np.dot, values((2, 3)), (1, 2, 3))
    out = np.empty((2, 4))
    a, b = values((2, 3)), values((3, 4))
    assert run(np.dot, a, b, out) is out
    same(out, a @ b)
    same(run(registry.method("dot"), a, b), a @ b)
    assert isinstance(agree(operator.matmul, a, 2.0), (TypeError, ValueError))


@pytest.mark.parametrize("dtype", ["f8", "c16", "i8"])
def test_inner_and_outer(dtype):
    u, v, m, n = (values(s, dtype) for s in (3, 3, (2, 3), (4, 3)))
    agree(np.vdot, u, v)
    agree(np.vdot, m, m.T)
    agree(np.inner, u, v)
    agree(np.inner, m, n)
    agree(np.inner, m, u)
    agree(np.inner, values((2, 2, 3), dtype), n)
    agree(np.outer, u, values(4, dtype))
    agree(np.outer, m, v)
    agree(np.outer, (1.0, 2.0), u)
    agree(np.kron, m, n)
    agree(np.kron, u, v)
    agree(np.cross, u, v)
    agree(np.cross, m, n[:2])
    agree(np.cross, m, u)


@pytest.mark.parametrize(
    "a, b, axes",
    [((2, 3), (3, 4), 1), ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4, 3), ((1,), (1,)))]
    + [((2, 3, 4), (4, 3), ((1, 2), (1, 0))), ((2,), (3,), 0), ((2, 3), (2, 3), 2)]
    + [((2, 3, 4), (5, 4), (-1, -1)), ((2, 3), (4, 5), 1)],
)
def test_tensordot(a, b, axes):
    x, y = values(a), values(b)
    if a == b:  # NumPy gives an array without axes, the body a number
        assert np.isclose(run(np.tensordot, x, y, axes), np.tensordot(x, y, axes), rtol=1e-14)
    else:
        agree(np.tensordot, x, y, axes)


@pytest.mark.parametrize(
    "text, shapes",
    [("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ii", ((3, 3),))]
    + [("ii->i", ((3, 3),)), ("ij->ji", ((2, 3),)), ("i,j->ij", ((2,), (3,)))]
    + [("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))), ("ij,ij->", ((2, 3), (2, 3)))]
    + [("i,ij,j", ((2,), (2, 3), (3,))), ("ij,jk->ik", ((2, 3), (4, 4)))],
)
def test_einsum(text, shapes):
    for dtype in ("f8", "c16", "i8"):
        agree(np.einsum, text, *(values(s, dtype) for s in shapes))


# -- np.linalg -------------------------------------------------------------------------------------
LA = np.linalg


@pytest.mark.parametrize("dtype", ["f8", "c16", "f4", "i8"])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)])
def test_square_matrices(dtype, lead):
    a = values((*lead, 3, 3), dtype)
    a = a + 9 * np.eye(3, dtype=a.dtype)
    positive = a @ np.conjugate(np.swapaxes(a, -1, -2))
    for f in (LA.inv, LA.det, LA.slogdet):
        agree(f, a, rtol=1e-11)
    agree(LA.cholesky, positive)
    agree(LA.solve, a, values((*lead, 3, 2), dtype), rtol=1e-11)
    agree(LA.solve, a, values(3, dtype), rtol=1e-11)
    if not lead:
        for n in (0, 1, 2, 3, 7, -2):
            agree(LA.matrix_power, a, n, rtol=1e-10)
        agree(LA.multi_dot, (a, a, a))


def test_singular_and_indefinite():
    assert isinstance(agree(LA.inv, np.zeros((2, 2))), LA.LinAlgError)
    assert isinstance(agree(LA.solve, np.zeros((2, 2)), np.ones(2)), LA.LinAlgError)
    assert isinstance(agree(LA.cholesky, -np.eye(2)), LA.LinAlgError)
    agree(LA.det, np.zeros((2, 2)))
    agree(LA.slogdet, np.zeros((2, 2)))
    agree(LA.inv, ((2.0, 1.0), (1.0, 3.0)))


@pytest.mark.parametrize("dtype", ["f8", "c16", "f4", "i8"])
@pytest.mark.parametrize("ord", [None, 1, 2, 3, 0, np.inf, -np.inf, "fro", -1, 2.5])
def test_norms(dtype, ord):
    with np.errstate(divide="ignore"):
        v, m, t = values(4, dtype), values((3, 4), dtype), values((2, 3, 4), dtype)
        agree(LA.norm, v, ord)
        for axis in (0, 1, -1):
            agree(LA.norm, m, ord, axis)
            agree(LA.norm, t, ord, axis=axis, keepdims=True)
        if ord in (None, "fro", 1, -1, np.inf, -np.inf):
            agree(LA.norm, m, ord)
            agree(LA.norm, m.T, ord, keepdims=True)
            agree(LA.norm, t, ord, axis=(0, 2))
            agree(LA.norm, t, ord, axis=(2, 1))
    if ord is None:
        agree(LA.norm, t)
    if ord in (1, 2, 3):
        agree(LA.vector_norm, m, axis=1, ord=ord)


def test_norm_of_zero():
    agree(LA.norm, np.zeros(3))
    agree(LA.norm, (3.0, 4.0))
