"""Derivatives through every kind of subscript, read, written and updated, against the complex step
of NumPy itself."""

import numpy as np
import pytest

import pullback as pb

rng = np.random.default_rng(3)
X = rng.normal(size=(4, 3))
MASK = X > 0
ROWS = np.array([True, False, True, True])

SUBSCRIPTS = """
0 | -1 | 1: | ::2 | ::-1 | -2::-2 | ... | None | 2:2
0, 1 | 1, : | ..., 1 | None, 1: | ..., None | ::-1, ::2 | 1:, None, -1
np.array([0, -1, 0]) | np.array([[0, 1], [1, 1]]) | np.array([0, -1, 0]), 1
np.array([0, 1, 0]), np.array([1, 1, 1]) | :, np.array([2, 0, 2]) | np.array([0, 1]), None, ::2
np.array([[0], [1]]), np.array([1, 2]) | MASK | ROWS | ROWS, 1: | ROWS, np.array([0, 1, 1])
"""
USES = {
    "read": "(x[{s}] * x[{s}] * v).sum() * x.sum()",
    "written": "y = x * x; y[{s}] = v * 2.0; (y * y * x).sum()",
    "filled": "y = x * x; y[{s}] = v.sum(); (y * y * x).sum()",
    "added to": "y = x * x; y[{s}] += v * v; (y * y * x).sum()",
    "scaled": "y = x * x; y[{s}] *= v; (y * y * x).sum()",
    "an argument's": "x[{s}] = x[{s}] * v; (x * x).sum()",
}


def listed(text):
    return [s.strip() for line in text.split("\n")[1:-1] for s in line.split("|")]


def program(use, subscript):
    *statements, result = USES[use].format(s=subscript).split("; ")
    body = "".join(f"    {line}\n" for line in (*statements, f"return {result}"))
    scope = {"np": np, "MASK": MASK, "ROWS": ROWS}
    exec(compile(f"def f(x, v):\n{body}", f"<{use}: {subscript}>", "exec"), scope)
    return scope["f"]


def complex_step(f, args, k):
    out = np.zeros(args[k].shape)
    for i in np.ndindex(args[k].shape):
        moved = [a.astype(complex) for a in args]
        moved[k][i] += 1e-30j
        out[i] = f(*moved).imag / 1e-30
    return out


@pytest.mark.parametrize("subscript", listed(SUBSCRIPTS))
@pytest.mark.parametrize("use", USES)
def test_subscript(use, subscript):
    f = program(use, subscript)
    shape = np.shape(eval(f"X[{subscript}]"))
    args = X, np.asarray(np.random.default_rng(5).normal(size=shape))
    found = pb.grad(f, (0, 1), options={"run": "python"})(X.copy(), args[1])
    for k, g in enumerate(found):
        np.testing.assert_allclose(g, complex_step(f, args, k), rtol=1e-11, atol=1e-13)


OVERLAPS = """
x[1:] = x[:-1] | x[:-1] = x[1:] | x[:] = x[::-1] | x[:, ::-1] = x | x[1:] += x[:-1]
x[::-1] *= x | x[1:, 1:] = x[:-1, :-1] | x[:3] = x[:3].T | x[:3] += x[:3].T | x[[2, 0, 1]] = x[:3]
x[::2], x[1::2] = x[1::2], x[::2] | x[0], x[1:] = x[-1], x[:-1]
"""


@pytest.mark.parametrize("statement", listed(OVERLAPS))
def test_overlap_as_numpy_has_it(statement):
    source = f"def f(x, w):\n    x = x * 1.0\n    {statement}\n    {statement}\n"
    scope = {}
    exec(source + "    return (x * x * w).sum()\n", scope)
    w = np.arange(12.0).reshape(4, 3)
    f = scope["f"]
    value, found = pb.value_and_grad(f, options={"run": "python"})(X, w)
    assert value == pytest.approx(f(X, w), rel=1e-13)
    np.testing.assert_allclose(found, complex_step(f, (X, w), 0), rtol=1e-11, atol=1e-13)
