"""Arrays of every layout, rank and dtype that the bodies are run on."""

import numpy as np

rng = np.random.default_rng(7)


def values(shape, dtype="f8"):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(1 if dtype.kind == "u" else -5, 6, shape).astype(dtype)
    x = rng.normal(size=shape)
    if dtype.kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return np.asarray(x).astype(dtype)


def layouts(x):
    """x as C, F, strided and reversed arrays."""
    yield x
    if x.ndim:
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        yield wide[..., ::2]
        back = np.ascontiguousarray(x[::-1])
        yield back[::-1]
    if x.ndim > 1:
        yield np.asfortranarray(x)


SHAPES = ((), (0,), (1,), (3,), (2, 3), (3, 1), (0, 2), (2, 1, 3))
DTYPES = ("f8", "f4", "c16", "c8", "i8", "i4", "u1", "b")
