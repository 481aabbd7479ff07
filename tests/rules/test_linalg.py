"""Rules of the linear algebra leaves: forward against differences, reverse as its adjoint."""

import numpy as np
import pytest

import pullback as pb
from pullback.errors import NoDerivativeError
from pullback.rules import linalg, registry
from pullback.runtime import prims

from .numpy_arrays import values

N = 4


def dot(a, b):
    return np.real(np.sum(np.conjugate(a) * b))


def definite(dtype):
    a = values((N, N), dtype)
    return a @ np.conjugate(a.T) + N * np.eye(N)


CASES = {
    "matmul22": (prims.matmul, [(2, N), (N, 3)]),
    "matmul21": (prims.matmul, [(3, N), (N,)]),
    "matmul12": (prims.matmul, [(N,), (N, 3)]),
    "matmul11": (prims.matmul, [(N,), (N,)]),
    "matmul of nothing": (prims.matmul, [(2, 0), (0, 3)]),
    "solve1": (prims.solve, [(N, N), (N,)]),
    "solve2": (prims.solve, [(N, N), (N, 2)]),
    "inv": (prims.inv, [(N, N)]),
    "det": (prims.det, [(N, N)]),
    "det of one": (prims.det, [(1, 1)]),
    "logabsdet": (prims.logabsdet, [(N, N)]),
    "detsign": (prims.detsign, [(N, N)]),
    "cholesky": (prims.cholesky, [None]),
}


def check(f, inputs, wanted, rtol=1e-7):
    rule = registry.array(f)
    y = f(*inputs)
    dtype = inputs[0].dtype
    tangents = [values(x.shape, dtype) if w else None for x, w in zip(inputs, wanted)]
    pairs = [p for x, t in zip(inputs, tangents) for p in (x, t)]
    ty = rule.forward(y, *pairs)
    h = 1e-6
    plus = f(*(x if t is None else x + h * t for x, t in zip(inputs, tangents)))
    minus = f(*(x if t is None else x - h * t for x, t in zip(inputs, tangents)))
    np.testing.assert_allclose(ty, (plus - minus) / (2 * h), rtol=1e-5, atol=1e-6)
    dy = values(np.shape(y), np.asarray(y).dtype)
    dy = dy if np.ndim(y) else dy[()]
    if f is prims.cholesky:
        dy = dy + 0 * y
    shadows = [None if t is None else np.ones_like(x) for x, t in zip(inputs, tangents)]
    rule.reverse(y, dy, *(p for x, d in zip(inputs, shadows) for p in (x, d)))
    adjoint = sum(dot(d - 1, t) for d, t in zip(shadows, tangents) if t is not None)
    np.testing.assert_allclose(adjoint, dot(dy, ty), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_rule(name, dtype):
    f, shapes = CASES[name]
    inputs = [definite(dtype) if s is None else values(s, dtype) for s in shapes]
    for wanted in [(True,)] if len(inputs) == 1 else [(True, True), (True, False), (False, True)]:
        check(f, inputs, wanted)
        check(f, [np.asfortranarray(x) for x in inputs], wanted)


def test_only_the_lower_triangle_of_cholesky_counts():
    a = definite("f8")
    y = prims.cholesky(a)
    da = np.zeros_like(a)
    linalg.cholesky_reverse(y, values((N, N)), a, da)
    assert not np.triu(da, 1).any() and da[np.tril_indices(N)].all()


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_det_of_singular_matrices(dtype):
    a = values((N, N), dtype)
    a[2] = 0
    c = linalg.adjugate(prims.det(a), a)
    for i in range(N):
        for j in range(N):
            e = np.zeros_like(a)
            e[i, j] = 1
            np.testing.assert_allclose(c[j, i], prims.det(a + e) - prims.det(a), atol=1e-12)
    assert not linalg.adjugate(0.0, np.zeros((N, N))).any()
    assert linalg.adjugate(0.0, np.zeros((1, 1))) == 1.0


def test_the_sign_of_a_real_determinant_has_no_derivative():
    a = values((N, N))
    da = np.zeros_like(a)
    linalg.detsign_reverse(prims.detsign(a), 1.0, a, da)
    assert not da.any()


# -- without a rule --------------------------------------------------------------------------------
WITHOUT_RULE = [
    lambda a: np.linalg.eigvals(a)[0].real,  # complex, from NumPy 2.5 on
    lambda a: np.linalg.eig(a)[0][1].real,
]


@pytest.mark.parametrize("f", WITHOUT_RULE)
def test_what_has_no_rule_works_where_nothing_flows(f):
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    g = pb.grad(lambda x, a: x * x * f(a), options={"run": "python"})
    np.testing.assert_allclose(g(3.0, a), 6.0 * f(a), rtol=1e-12)


@pytest.mark.parametrize("f", WITHOUT_RULE)
def test_what_has_no_rule_says_so_where_a_derivative_flows(f):
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    with pytest.raises(NoDerivativeError, match=r"no derivative rule for numpy\.linalg\.") as e:
        pb.grad(f, options={"run": "python"})(a)
    assert e.value.loc.file == __file__
    with pytest.raises(NoDerivativeError, match=r"no derivative rule for numpy\.linalg\."):
        pb.jvp(f, (a,), (a,), options={"run": "python"})
