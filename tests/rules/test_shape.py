import numpy as np
import pytest

from pullback.rules import registry

from .abstract import agree, run, same
from .numpy_arrays import layouts, values

ARRAYS = [x for shape in ((), (3,), (2, 3), (0, 2), (2, 1, 3)) for x in layouts(values(shape))]


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.shape}{x.strides}")
def test_ravel_and_flatten(x):
    for order in ("C", "F", "A"):
        agree(np.ravel, x, order)
        same(run(registry.method("flatten"), x, order), x.flatten(order))
    y = run(registry.method("flatten"), x)
    assert not np.shares_memory(x, y)
    if x.flags.c_contiguous and x.size:
        assert np.shares_memory(x, run(np.ravel, x)), "a view where there can be one"


def test_what_is_a_copy_in_numpy_is_one():
    x = values((6,))
    assert not np.shares_memory(x, run(np.ravel, x[::2]))
    conjugate = registry.method("conj")
    assert np.shares_memory(x, run(conjugate, x)) and not np.shares_memory(x, run(np.conj, x))
    z = x + 1j
    assert not np.shares_memory(z, run(conjugate, z))
    same(run(conjugate, z), z.conj())


@pytest.mark.parametrize("shape", [(6,), 6, -1, (2, 3), (3, -1), (-1, 1, 2), (4,), (-1, 4)])
def test_reshape(shape):
    for x in [*layouts(values((2, 3))), values(6)]:
        for order in ("C", "F"):
            agree(np.reshape, x, shape, order)
            args = (shape,) if isinstance(shape, int) else shape
            agree(registry.method("reshape"), x, *args, order=order)
            agree(registry.method("reshape"), x, shape)
    agree(np.reshape, ((1, 2, 3), (4, 5, 6)), shape)


def test_reshape_of_nothing():
    agree(np.reshape, values((0, 2)), (2, 0))
    agree(np.reshape, values(1), ())
    agree(np.reshape, values((0, 2)), (-1, 2))


def test_reshape_is_a_view():
    x = values((2, 3))
    run(np.reshape, x, (3, 2))[0, 0] = 7.0
    assert x[0, 0] == 7.0


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.shape}{x.strides}")
def test_permutations(x):
    agree(np.transpose, x)
    agree(registry.method("transpose"), x)
    perm = tuple(range(x.ndim))[1:] + (0,) if x.ndim else ()
    if x.ndim:
        agree(np.transpose, x, perm)
        agree(registry.method("transpose"), x, *perm)
        agree(registry.method("transpose"), x, perm)
        agree(np.swapaxes, x, 0, -1)
        agree(np.moveaxis, x, 0, -1)
        agree(np.flip, x)
        agree(np.flip, x, 0)
        agree(np.flipud, x)
        agree(np.roll, x, 1)
        agree(np.roll, x, -2, axis=-1)
        agree(np.roll, x, 5, axis=0)
    if x.ndim > 1:
        agree(np.matrix_transpose, x)
        agree(np.fliplr, x)
        agree(np.flip, x, (0, 1))
        agree(np.moveaxis, x, (0, 1), (1, 0))
    if x.ndim == 2:
        for k in range(-1, 5):
            agree(np.rot90, x, k)
    assert isinstance(agree(np.transpose, x, (5,)), ValueError)
    assert isinstance(agree(np.swapaxes, x, 0, 7), ValueError)


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.shape}{x.strides}")
def test_axes_of_length_one(x):
    for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        agree(f, x)
    agree(np.expand_dims, x, 0)
    agree(np.expand_dims, x, -1)
    agree(np.expand_dims, x, (0, 1))
    if x.ndim == 3:
        agree(np.squeeze, x, 1)
    if x.ndim:
        assert isinstance(agree(np.squeeze, x, 0), ValueError)


def test_numbers_and_tuples():
    agree(np.atleast_1d, 2.0)
    agree(np.atleast_2d, (1.0, 2.0))
    agree(np.ravel, ((1.0, 2.0), (3.0, 4.0)))
    agree(np.transpose, ((1.0, 2.0), (3.0, 4.0)))
    agree(np.roll, (1.0, 2.0, 3.0), 1)


@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), 3])
def test_broadcast_to(shape):
    agree(np.broadcast_arrays, values((2, 3)), values(3), values((2, 1)))
    agree(np.lib.stride_tricks.sliding_window_view, values(5), 2)
    for x in (values(3), values((1, 3)), values(2), 1.5, np.array(2.0), (1.0, 2.0, 3.0)):
        agree(np.broadcast_to, x, shape)


@pytest.mark.parametrize("dtype", ["f8", "c16", "c8"])
def test_parts(dtype):
    x = values((2, 3), dtype)
    agree(np.real, x)
    agree(np.imag, x)
    agree(np.shape, x)
    agree(np.ndim, x)
    agree(np.size, x)
    agree(np.size, x, 1)


# -- join ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1, None, 2])
def test_concatenate_and_stack(axis):
    a, b, c = values((2, 3)), values((2, 3), "f4").T.copy().T, values((2, 3), "i8")
    for parts in ((a, b), [a, a[:, ::2], c], (a,), (a, a[:0]), (a, values(3))):
        agree(np.concatenate, parts, axis)
        if axis is not None:
            agree(np.stack, parts, axis)
    if axis is not None:
        agree(np.stack, [values(3), values(3), (1.0, 2.0, 3.0)], min(axis, 1))
        agree(np.concatenate, (a, a), axis=axis, dtype="c16")


def test_concatenate_of_lists():
    agree(np.concatenate, ([1.0, 2.0], values(2), (3,)))
    agree(np.stack, [1.0, 2.0, np.float32(3)])


@pytest.mark.parametrize("f", [np.vstack, np.hstack, np.dstack, np.column_stack])
def test_stack_family(f):
    agree(f, (values(3), values(3)))
    agree(f, [values((2, 3)), values((2, 3))])
    agree(f, (values((2, 3, 2)), values((2, 3, 2))))
    agree(f, (values((2, 3)), values((3, 3))))
    if f is not np.column_stack:
        agree(f, ((1.0, 2.0), (3.0, 4.0)))
    agree(f, (values(2), values((2, 2)))) if f is np.column_stack else agree(f, [1.0, 2.0])


def test_append():
    agree(np.append, values(3), 2.0)
    agree(np.append, values((2, 3)), values(2))
    agree(np.append, values((2, 3)), values((1, 3)), axis=0)
    agree(np.append, (1.0, 2.0), (3.0,))


def test_repeat_and_tile():
    x = values((2, 3))
    for axis in (None, 0, 1, -1):
        agree(np.repeat, x, 2, axis=axis)
    agree(np.repeat, values(3), np.array([2, 0, 1]))
    agree(np.repeat, x, np.array([2, 1]), axis=0)
    agree(np.repeat, (1.0, 2.0), 3)
    for reps in (2, (2,), (2, 1), (1, 2, 2), 0):
        agree(np.tile, x, reps)
        agree(np.tile, values(2), reps)
        agree(np.tile, (1.0, 2.0), reps)


def test_split():
    x = values((6, 4))
    for f in (np.split, np.array_split):
        agree(f, x, 2)
        agree(f, x, 2, axis=1)
        agree(f, x, 5)
        agree(f, x, (2, 3))
        agree(f, x, (1, 9), axis=1)
    agree(np.vsplit, x, 3)
    agree(np.dsplit, values((1, 2, 4)), 2)
    agree(np.hsplit, x, 2)
    agree(np.hsplit, values(4), 2)
