"""Abstract arguments of values, as typing makes them."""

import types

import numpy as np

from pullback.rules import registry


def aval(x, known=False):
    from numba import typeof

    if x is None or isinstance(x, (str, type, np.dtype, types.FunctionType)) or x is ...:
        return types.SimpleNamespace(type=None, const=x, known=True, py=False)
    if isinstance(x, slice):
        parts = tuple(aval(e, True) for e in (x.start, x.stop, x.step))
        return types.SimpleNamespace(elements=parts, cls=slice, known=False, py=False)
    if isinstance(x, (tuple, list)):
        parts = tuple(aval(e, known) for e in x)
        cls = None if type(x) is tuple else type(x)
        return types.SimpleNamespace(elements=parts, cls=cls, known=False, py=False)
    if isinstance(x, np.ndarray):
        return types.SimpleNamespace(type=typeof(x), const=None, known=False, py=False)
    py = type(x) in (bool, int, float, complex)
    t = typeof(x)
    return types.SimpleNamespace(type=t, const=x if known or py else None, known=known or py, py=py)


def body_of(f, *args, **kwargs):
    """The body that typing would enter for this call."""
    found = registry.body_for(f, [aval(a) for a in args], {k: aval(v) for k, v in kwargs.items()})
    if found is None and getattr(f, "__module__", "").startswith("pullback."):
        return f  # a Python function of ours: entered as it is
    assert found is not None, f"no body of {f} for these arguments"
    return found


def run(f, *args, **kwargs):
    """The call by its body, as plain Python."""
    return body_of(f, *args, **kwargs)(*args, **kwargs)


def agree(f, *args, rtol=1e-13, **kwargs):
    """The body gives what NumPy gives: values, dtype and shape, or the same class of error."""
    try:
        expected = f(*args, **kwargs)
    except Exception as error:
        expected = error
    try:
        got = run(f, *args, **kwargs)
    except Exception as error:
        if isinstance(expected, type(error)) or isinstance(error, type(expected)):
            return error
        raise
    assert not isinstance(expected, Exception), f"NumPy raises {expected!r}, the body gives {got!r}"
    same(got, expected, rtol)
    return got


def same(got, expected, rtol=1e-13):
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            same(g, e, rtol)
        return
    assert isinstance(got, np.ndarray) == isinstance(expected, np.ndarray), (got, expected)
    assert np.shape(got) == np.shape(expected), (np.shape(got), np.shape(expected))
    g, e = np.asarray(got), np.asarray(expected)
    if isinstance(expected, (np.ndarray, np.generic)):
        assert g.dtype == e.dtype, (g.dtype, e.dtype)
    if e.dtype.kind in "biu":
        np.testing.assert_array_equal(g, e)
    else:
        tol = rtol if e.dtype.itemsize > 4 and e.dtype.char != "F" else 1e-5
        np.testing.assert_allclose(g, e, rtol=tol, atol=tol * 1e-2)
