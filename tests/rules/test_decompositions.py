"""Eigenvalues, singular values, orthogonal factors and least squares: values against NumPy, and
derivatives of both modes against differences, at degenerate matrices too."""

import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.errors import NoDerivativeError, TypingError
from pullback.rules import registry
from pullback.runtime import prims

from .abstract import agree, run

LA = np.linalg
PYTHON = {"run": "python"}
SHAPES = [(4, 4), (5, 3), (3, 5)]
SQUARE = SHAPES[:1]


def values(shape, dtype="f8"):
    """The same numbers for the same shape."""
    rng = np.random.default_rng([3, *shape])
    x = 2.0 * rng.normal(size=shape)
    if dtype in ("c16", "c8"):
        x = x + 1j * rng.normal(size=shape)
    return (3 * x).round().astype(dtype) if dtype == "i8" else x.astype(dtype)


def weighted(y):
    """A number that feels every element differently."""
    return np.sum(y * np.linspace(0.5, 1.5, y.size).reshape(y.shape))


def dot(a, b):
    return np.real(np.sum(np.conjugate(a) * b))


# -- the bodies give what NumPy gives --------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["f8", "c16", "f4", "i8"])
@pytest.mark.parametrize("shape", [*SHAPES, (1, 1)])
def test_values(dtype, shape):
    a, b = values(shape, dtype), values((shape[0], 2), dtype)
    tol = dict(rtol=1e-10)
    for args in ((), (False,), (True, False)):
        agree(LA.svd, a, *args, **tol)
    agree(LA.svdvals, a, **tol)
    agree(LA.qr, a, **tol)
    agree(LA.qr, a, "r", **tol)
    agree(LA.pinv, a, **tol)
    agree(LA.pinv, a, 0.3, **tol)
    for order in (2, -2, "nuc"):
        agree(LA.norm, a, order, **tol)
        agree(LA.norm, a, order, keepdims=True, **tol)
    agree(LA.matrix_norm, a, ord="nuc", **tol)
    for p in (None, 2, -2):
        agree(LA.cond, a, p, **tol)
    for right in (b, b[:, 0]):
        for rcond in (None, -1, 0.3):
            x, rest, rank, s = run(LA.lstsq, a, right, rcond)
            expected = LA.lstsq(a, right, rcond)
            close = 1e-9 if np.asarray(x).dtype.itemsize > 4 and dtype != "c8" else 1e-3
            for got, e in zip((x, rest, s), (expected[0], expected[1], expected[3])):
                assert got.shape == e.shape and got.dtype == e.dtype
                np.testing.assert_allclose(got, e, rtol=close, atol=close)
            assert rank == expected[2]
    if shape[0] == shape[1]:
        for uplo in "LU":
            agree(LA.eigvalsh, a, uplo, **tol)
        agree(LA.eigh, a, **tol)
        for p in (1, -np.inf, "fro", "nuc"):
            cond = LA.cond(a, p).real  # complex, up to NumPy 2.0
            np.testing.assert_allclose(
                run(LA.cond, a, p), cond, rtol=1e-4 if dtype == "f4" else 1e-9
            )
        if a.dtype.kind == "c":
            agree(LA.eig, a, **tol)
            agree(LA.eigvals, a, **tol)


def test_results_have_numpys_names():
    a = values((3, 3))
    f = lambda a: (
        np.sum(LA.svd(a).S) + np.sum(LA.eigh(a).eigenvalues) + np.trace(LA.qr(a).R)
        + LA.slogdet(a).logabsdet
    )  # fmt: skip
    value, _ = pb.value_and_grad(f, options=PYTHON)(a)
    np.testing.assert_allclose(value, f(a), rtol=1e-12)


@pytest.mark.parametrize(
    "f, args",
    [
        (LA.eigh, (np.ones((2, 3)),)),
        (LA.eig, (np.full((2, 2), np.nan + 0j),)),
        (LA.svd, (np.full((2, 3), np.nan),)),
        (LA.svdvals, (np.full((2, 3), np.nan),)),
        (LA.pinv, (np.full((2, 3), np.nan),)),
        (LA.lstsq, (np.full((3, 2), np.nan), np.ones(3))),
        (LA.lstsq, (np.ones((3, 2)), np.ones(2))),
        (LA.cond, (np.ones((0, 0)),)),
        (LA.eigvalsh, (np.eye(2), "X")),
        (LA.qr, (np.ones(3),)),
        (LA.svd, (np.ones(3),)),
    ],
)
def test_errors(f, args):
    assert isinstance(agree(f, *args), (LA.LinAlgError, ValueError))


def test_eigenvalues_of_nan():
    a = np.full((2, 2), np.nan)
    try:
        assert np.isnan(LA.eigvalsh(a)).all()
    except LA.LinAlgError:  # some versions of LAPACK do not converge
        return
    assert np.isnan(run(LA.eigvalsh, a)).all()


# -- the rules -------------------------------------------------------------------------------------
LEAVES = {
    "eigh": (prims.eigh, SQUARE), "eig": (prims.eig, SQUARE),
    "svd": (prims.svd, SHAPES), "svd_full": (prims.svd_full, SHAPES),
    "qr": (prims.qr, SHAPES), "pinv": (prims.pinv, SHAPES), "lstsq": (prims.lstsq, SHAPES),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVES)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_reverse_is_the_adjoint_of_forward(name, dtype):
    f, shapes = LEAVES[name]
    if f is prims.eig and dtype == "f8":
        pytest.skip("of complex matrices")
    rule = registry.array(f)
    for shape in shapes:
        inputs = [values(shape, dtype)]
        inputs += [values((shape[0], 2), dtype) * 0.7] if f is prims.lstsq else []
        rcond = [1e-14] if f in (prims.lstsq, prims.pinv) else []
        y = f(*inputs, *rcond)
        dy = np.sin(1.0 + np.arange(y.size)).reshape(y.shape).astype(dtype)
        for wanted in [(True,)] if len(inputs) == 1 else [(True, True), (True, False), (0, 1)]:
            tangents = [np.cos(x * 3) if w else None for x, w in zip(inputs, wanted)]
            shadows = [np.ones_like(x) if w else None for x, w in zip(inputs, wanted)]
            more = [*rcond, None] if rcond else []
            ty = rule.forward(y, *(p for x, t in zip(inputs, tangents) for p in (x, t)), *more)
            rule.reverse(y, dy, *(p for x, d in zip(inputs, shadows) for p in (x, d)), *more)
            back = sum(dot(d - 1, t) for d, t in zip(shadows, tangents) if t is not None)
            np.testing.assert_allclose(back, dot(dy, ty), rtol=1e-10, atol=1e-10)


# Programs that do not depend on signs and phases of vectors, nor on a basis of what is left over.
def least_squares(a):
    x, rest, rank, _ = LA.lstsq(a, a[:, :2] ** 2 + 1.0)
    return weighted(x) + np.sum(rest) * rank


def vectors(u, s, vh):
    return weighted(abs(u)) + weighted(abs(vh))


def truncated(inverse, solution):
    return weighted(inverse) + weighted(solution[0])


def left_over(u, s, vh):
    u, vh = u[:, 3:], vh[3:]
    return weighted(u @ u.conj().T) + weighted(vh.conj().T @ vh)


def in_any_order(w, v):
    return weighted(abs(v) ** 2 @ (w * w).imag)


PROGRAMS = {
    "eigenvalues": (lambda a: weighted(LA.eigvalsh(a, "U") ** 2), SQUARE),
    "eigenvectors": (lambda a: weighted(LA.eigh(a)[0]) + weighted(abs(LA.eigh(a)[1])), SQUARE),
    "singular values": (lambda a: weighted(LA.svd(a)[1] ** 2), SHAPES),
    "vectors": (lambda a: vectors(*LA.svd(a, False)), SHAPES),
    "both": (lambda a: (lambda u, s, vh: weighted((u * s**2) @ vh))(*LA.svd(a, False)), SHAPES),
    "what is left over": (lambda a: left_over(*LA.svd(a)), SHAPES),
    "norms": (lambda a: LA.norm(a, 2) + LA.norm(a, -2) ** 2 + LA.norm(a, "nuc"), SHAPES),
    "condition": (lambda a: LA.cond(a) + LA.cond(a, -2) + LA.cond(a, "fro"), SQUARE),
    "factors": (lambda a: (lambda q, r: weighted(q) + weighted(r * r))(*LA.qr(a)), SHAPES),
    "pseudo-inverse": (lambda a: weighted(LA.pinv(a)), SHAPES),
    "truncated": (lambda a: truncated(LA.pinv(a, 0.4), LA.lstsq(a, a[:, 0] ** 2, 0.4)), SHAPES),
    "least squares": (least_squares, SHAPES),
    "general": (lambda a: in_any_order(*LA.eig(a * (1 + 2j))), SQUARE),
    "general eigenvalues": (lambda a: np.sum(np.sin(LA.eigvals(a * (1 + 2j)).imag)), SQUARE),
}
COMPLEX = ["eigenvectors", "vectors", "both", "factors", "pseudo-inverse", "least squares"]
COMPLEX += ["general"]


@pytest.mark.parametrize(
    "name, dtype", [(p, "f8") for p in PROGRAMS] + [(p, "c16") for p in COMPLEX]
)
def test_programs(name, dtype):
    f, shapes = PROGRAMS[name]
    number = (lambda a: np.real(f(a)) + 0.5 * np.imag(f(a))) if dtype == "c16" else f
    for shape in shapes:
        a = values(shape, dtype)
        t = np.cos(5.0 * a) if dtype == "f8" else np.cos(5.0 * a.real) + 1j * np.sin(a.imag)
        slope = richardson(number, a, t)
        g = pb.grad(number, options=PYTHON)(a)
        assert g.dtype == a.dtype
        np.testing.assert_allclose(dot(g, t), slope, rtol=1e-6, atol=1e-7)
        _, forward = pb.jvp(number, (a,), (t,), options=PYTHON)
        np.testing.assert_allclose(forward, dot(g, t), rtol=1e-9, atol=1e-9)


def richardson(f, a, t):
    def central(h):
        return (f(a + h * t) - f(a - h * t)) / (2 * h)

    return (4 * central(5e-5) - central(1e-4)) / 3


TWICE = [
    "eigenvalues", "eigenvectors", "both", "what is left over", "norms", "factors",
    "pseudo-inverse", "least squares",
]  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name):
    f, shapes = PROGRAMS[name]
    for shape in shapes:
        a = values(shape)
        t = np.cos(5.0 * a)
        expected = richardson(pb.grad(f, options=PYTHON), a, t)
        got = pb.hvp(f, options=PYTHON)(a, t)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


NATIVE = {
    "vectors": (lambda a: np.sum(LA.eigh(a)[1] ** 2 @ LA.eigh(a)[0]), (4, 4)),
    "singular values": (lambda a: LA.norm(a, "nuc"), (4, 3)),
    "factors": (lambda a: np.sum(LA.qr(a)[0]), (3, 4)),
    "least squares": (lambda a: np.sum(LA.pinv(a)), (4, 3)),
    "complex": (lambda a: np.sum(LA.eigvals(a * (1 + 2j)).imag ** 2), (3, 3)),
}


@pytest.mark.parametrize("name", NATIVE)
def test_natively(name):
    """A sample: the machine code of the leaves has tests of its own."""
    f, shape = NATIVE[name]
    a = values(shape)
    value, g = pb.value_and_grad(f)(a)
    np.testing.assert_allclose(value, f(a), rtol=1e-12)
    np.testing.assert_allclose(g, pb.grad(f, options=PYTHON)(a), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["eigenvectors", "both", "factors", "pseudo-inverse"])
def test_single_precision(name):
    f, shapes = PROGRAMS[name]
    a = values(shapes[-1])
    g = pb.grad(f, options=PYTHON)(a.astype("f4"))
    assert g.dtype == np.float32
    np.testing.assert_allclose(g, pb.grad(f, options=PYTHON)(a), rtol=1e-2, atol=1e-3)


def test_only_the_triangle_that_is_read_counts():
    a = values((4, 4))
    for uplo, unread in (("L", np.triu), ("U", np.tril)):
        g = pb.grad(lambda a: weighted(LA.eigvalsh(a, uplo)), options=PYTHON)(a)
        assert not unread(g, 1 if uplo == "L" else -1).any() and np.abs(g).sum() > 1


# -- what is written to ----------------------------------------------------------------------------
def overwritten(a):
    b = a.copy()
    w, v = LA.eigh(b)
    b[:] = 0.0
    first = v[:, 0] * w[0]
    v *= w
    w[:] = 1.0
    return weighted((v + v) ** 2) + weighted(first**2) + np.sum(w)


def overwritten_factors(a):
    b = a.copy()
    u, s, vh = LA.svd(b, False)
    q, r = LA.qr(b)
    b *= s[0]
    u *= s
    r[:] = q.T @ b
    q *= 0.0
    return weighted(u @ vh) + weighted(r) + np.sum(q)


@pytest.mark.parametrize("f", [overwritten, overwritten_factors])
def test_writing_to_operands_and_results(f):
    a = values((4, 4))
    t = np.cos(5.0 * a)
    g = pb.grad(f, options=PYTHON)(a)
    np.testing.assert_allclose(dot(g, t), richardson(f, a, t), rtol=1e-6)
    np.testing.assert_allclose(pb.jvp(f, (a,), (t,), options=PYTHON)[1], dot(g, t), rtol=1e-9)


# -- degenerate matrices ---------------------------------------------------------------------------
ORTHOGONAL = np.linalg.qr(values((4, 4)))[0]


def gradient(f, a):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return pb.grad(f, options=PYTHON)(a)


def tangent(f, a, t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return pb.jvp(f, (a,), (t,), options=PYTHON)[1]


@pytest.mark.parametrize(
    "a", [np.eye(4), ORTHOGONAL @ np.diag([1.0, 1.0, 2.0, 3.0]) @ ORTHOGONAL.T]
)
def test_vectors_of_equal_values_have_no_finite_derivative(a):
    t = np.cos(np.arange(16.0)).reshape(4, 4)
    for f in (
        lambda a: weighted(LA.eigh(a)[1] ** 3),
        lambda a: weighted(LA.svd(a, False)[0] ** 3),
        lambda a: weighted(LA.svd(a)[2] ** 3),
        lambda a: weighted(LA.eig(a + 0j)[1].real ** 3),
    ):
        assert not np.isfinite(gradient(f, a)).all()
        assert not np.isfinite(tangent(f, a, t))
    for f in (  # functions of a that do have a derivative, which is not found this way
        lambda a: weighted((lambda w, v: (v * np.sqrt(w)) @ v.T)(*LA.eigh(a))),
        lambda a: weighted((lambda u, s, vh: u @ vh)(*LA.svd(a))),
    ):
        assert not np.isfinite(gradient(f, a)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        second = pb.hvp(lambda a: weighted(LA.eigvalsh(a)), options=PYTHON)(a, t)
    assert not np.isfinite(second).all()


def test_equal_values_have_finite_derivatives():
    """What treats equal values equally is differentiable."""
    t = values((4, 4))
    a = ORTHOGONAL @ np.diag([1.0, 1.0, 2.0, 2.0]) @ ORTHOGONAL.T
    for f in (
        lambda a: np.sum(LA.eigvalsh(a) ** 3),
        lambda a: np.sum(LA.svd(a)[1] ** 3),
        lambda a: LA.norm(a, "nuc"),
        lambda a: weighted(LA.pinv(a)),
        lambda a: np.sum(LA.eigvals(a + 0j).real ** 3),
    ):
        g = gradient(f, a)
        np.testing.assert_allclose(dot(g, t), richardson(f, a, t), rtol=1e-6)
        np.testing.assert_allclose(tangent(f, a, t), dot(g, t), rtol=1e-9)


def test_the_largest_of_equal_singular_values():
    """One of the subgradients: the gradient has nuclear norm one, and touches a as it should."""
    g = gradient(lambda a: LA.norm(a, 2), 3.0 * ORTHOGONAL)
    np.testing.assert_allclose([LA.norm(g, "nuc"), np.sum(g * ORTHOGONAL)], 1.0, rtol=1e-12)


def test_singular_values_at_zero_have_slope_zero():
    a = np.outer([1.0, 2.0, 2.0], [0.6, 0.8])  # s = (3, 0)
    along = np.outer([1, 2, 2], [0.6, 0.8]) / 3.0
    np.testing.assert_allclose(gradient(lambda a: LA.norm(a, "nuc"), a), along, atol=1e-15)
    np.testing.assert_allclose(gradient(lambda a: LA.norm(a, -2), a), 0.0, atol=0)
    for order in (2, -2, "nuc"):
        assert not gradient(lambda a: LA.norm(a, order), np.zeros((3, 2))).any()
    assert tangent(lambda a: np.sum(LA.svdvals(a)), np.zeros((2, 3)), np.ones((2, 3))) == 0.0


def test_left_vectors_of_a_square_matrix_without_full_rank():
    """One zero is no tie: the vectors turn at finite speed."""
    a = values((4, 4))
    a[:, 3] = a[:, 0] + a[:, 1]
    f = lambda a: weighted(LA.svd(a)[0][:, 0] ** 2)
    t = values((4, 4)) ** 2
    np.testing.assert_allclose(dot(gradient(f, a), t), richardson(f, a, t), rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 5)])
def test_least_squares_without_full_rank(shape):
    """Along matrices of the same rank."""
    left, right = values((shape[0], 2)), values((2, shape[1]))
    tl, tr = np.cos(left), np.sin(2 * right)
    b = np.arange(1.0, shape[0] + 1)
    for solve in (lambda a: weighted(LA.pinv(a)), lambda a: weighted(LA.lstsq(a, b)[0])):
        f = lambda h: solve((left + h * tl) @ (right + h * tr))
        g = gradient(solve, left @ right)
        np.testing.assert_allclose(
            dot(g, tl @ right + left @ tr), richardson(f, 0.0, 1.0), rtol=1e-6
        )


def test_dependent_columns():
    a = values((4, 3))
    a[:, 1] = 2 * a[:, 0]
    with pytest.raises(LA.LinAlgError, match="leading columns are dependent"):
        pb.grad(lambda a: np.sum(LA.qr(a)[1]), options=PYTHON)(a)
    with pytest.raises(LA.LinAlgError, match="leading columns are dependent"):
        pb.jvp(lambda a: np.sum(LA.qr(a)[1]), (a,), (a,), options=PYTHON)


def test_dependent_eigenvectors():
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]]) + 0j
    f = lambda a: np.sum(LA.eigvals(a)[:1].real)
    with pytest.raises(LA.LinAlgError, match="eigenvectors are dependent"):
        pb.grad(f, options=PYTHON)(jordan)
    with pytest.raises(LA.LinAlgError, match="eigenvectors are dependent"):
        pb.jvp(f, (jordan,), (jordan,), options=PYTHON)


# -- without a rule --------------------------------------------------------------------------------
REFUSED = [
    lambda a: np.sum(LA.qr(a, "complete")[0]),
    lambda a: np.sum(LA.svd(a, hermitian=True)[1]),
    lambda a: np.sum(LA.eigvalsh(a.reshape(1, 3, 3))),
    lambda a: LA.norm(a.reshape(1, 3, 3), 2, axis=(1, 2))[0],
]


@pytest.mark.parametrize("f", REFUSED)
def test_what_is_refused(f):
    assert np.isfinite(f(values((3, 3))))
    with pytest.raises((NoDerivativeError, TypingError)):
        pb.grad(f, options=PYTHON)(values((3, 3)))
