"""Machine code of each primitive against its Python meaning: layouts, dtypes, shapes, failures."""

import itertools

import numpy as np
import pytest
from numba import types

from pullback.runtime import prims
from tests.backend.irs import Writer, one_call, same

RNG = np.random.default_rng(5)
DTYPES = [np.float64, np.float32, np.complex128, np.complex64, np.int64, np.int32, np.bool_]
RANGE = [None, -5, -1, 0, 2, 7]


def numbers(shape, dtype=np.float64):
    x = RNG.standard_normal(shape) * 3
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * RNG.standard_normal(shape)
    return (x > 0) if dtype is np.bool_ else x.astype(dtype)


LAYOUTS = {
    "C": lambda s, d: numbers(s, d),
    "F": lambda s, d: np.asfortranarray(numbers(s, d)),
    "strided": lambda s, d: numbers([2 * n for n in s], d)[tuple(slice(None, None, 2) for _ in s)],
    "backwards": lambda s, d: numbers(s, d)[tuple(slice(None, None, -1) for _ in s)],
    "transposed": lambda s, d: numbers(s[::-1], d)[..., ::-1].T,
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


@layouts
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3)])
def test_elements_are_read_and_written_in_place(layout, dtype, shape):
    x = LAYOUTS[layout](shape, dtype)
    idx = tuple(n - 1 for n in shape)
    w = Writer(("x", types.Array(*_kind(x))), *((f"i{k}", types.int64) for k in range(len(shape))))
    a, *ii = w.params
    v = w(prims.load, a, *ii)
    zero = [0] * len(shape)
    w(prims.store, a, v, *zero)
    expected = x.copy()
    expected[tuple(zero)] = x[idx]
    (got,) = w.compile(v)(x, *idx)
    assert got == x[idx]
    np.testing.assert_array_equal(x, expected)


def _kind(x):
    from numba import typeof

    t = typeof(x)
    return t.dtype, t.ndim, t.layout


def test_what_is_stored_is_cast():
    x = np.zeros(2, np.float32)
    one_call(prims.store, x, 3, 1)
    z = np.zeros(1, np.complex128)
    one_call(prims.store, z, 2.5, 0)
    assert (x.tolist(), z.tolist()) == ([0, 3], [2.5 + 0j])


def test_slices():
    for n, step in itertools.product((0, 1, 4), (-2, -1, 1, 3)):
        for start in RANGE:
            same(one_call(prims.slice_start, start, step, n), prims.slice_start(start, step, n))
            for stop in RANGE[::2]:
                args = start, stop, step, n
                same(one_call(prims.slice_count, *args), prims.slice_count(*args))
    same(one_call(prims.slice_count, None, None, None, 3), 3)


def test_indices():
    for i in (-3, -1, 0, 2):
        assert one_call(prims.index, i, 3) == one_call(prims.wrap, i, 3) == i % 3


@layouts
@pytest.mark.parametrize(
    ("spec", "ints"),
    [
        ("i", (1,)),
        (":i", (1,)),
        ("iii", (1, 2, 0)),
        ("u", (1, 2)),
        ("uu", (1, 2, 0, 1)),
        (":s", (2, 3, -1)),
        ("sis", (2, 2, -2, 1, 0, 2, 2)),
        ("s", (0, 0, 1)),
        ("nin:", (0,)),
        ("iu", (0, 1, 2)),
    ],
)
def test_views(layout, spec, ints):
    x = LAYOUTS[layout]((3, 3, 4), np.float64)
    same(one_call(prims.subview, x, spec, *ints), prims.subview(x, spec, *ints))


def test_views_write_through():
    w = Writer(("x", types.float64[:, ::1]))
    row = w(prims.subview, w.params[0], "is", 1, 2, 3, -1)
    w(prims.store, row, 9.0, 0)
    x = np.zeros((2, 3))
    w.compile()(x)
    assert x.tolist() == [[0, 0, 0], [0, 0, 9]]


@layouts
def test_transposes(layout):
    x = LAYOUTS[layout]((2, 3, 4), np.float64)
    for perm in itertools.permutations(range(3)):
        same(one_call(prims.transpose, x, perm), prims.transpose(x, perm))


def test_reshape():
    x = numbers((2, 6))
    for dims in ((12,), (3, 4), (1, 12, 1)):
        same(one_call(prims.reshape, x, *dims), prims.reshape(x, *dims))


@layouts
def test_parts_of_complex_arrays(layout):
    z = LAYOUTS[layout]((2, 3), np.complex64)
    same(one_call(prims.real_view, z), z.real)
    same(one_call(prims.imag_view, z), z.imag)


@layouts
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies(layout, dtype):
    x = LAYOUTS[layout]((3, 4), dtype)
    same(one_call(prims.own, x), x)
    same(one_call(prims.contiguous, x), x)
    same(one_call(prims.same_layout_zeros, x), np.zeros_like(x))


@layouts
def test_zeros_have_the_memory_order_of_their_model(layout):
    x = LAYOUTS[layout]((3, 4), np.float64)
    w = Writer(("x", types.Array(*_kind(x))))
    (got,) = w.compile(w(prims.same_layout_zeros, w.params[0]))(x)
    assert got.strides == prims.same_layout_zeros(x).strides


@layouts
def test_assigning_and_accumulating(layout):
    for other in LAYOUTS:
        for prim in (prims.assign, prims.accumulate):
            x, y = (LAYOUTS[k]((3, 2), np.complex128) for k in (layout, other))
            z = x.copy()
            one_call(prim, x, y)
            prim(z, y)
            np.testing.assert_array_equal(x, z)


@pytest.mark.parametrize(
    ("a", "b"), [(np.s_[1:], np.s_[:-1]), (np.s_[:3], np.s_[3:]), (np.s_[:], np.s_[::-1]),
                 (np.s_[::2], np.s_[1::2]), (np.s_[:], np.s_[:]), (np.s_[2:2], np.s_[:])]
)  # fmt: skip
def test_overlapping_sources_are_copied(a, b):
    x = np.arange(6.0)
    src, dst = x[a], x[b]
    w = Writer(("s", types.Array(*_kind(src))), ("d", types.Array(*_kind(dst))))
    safe = w(prims.overlap_copy, *w.params)
    w(prims.store, w.params[1], 99.0, 0)
    (got,) = w.compile(w(prims.own, safe))(src, dst)
    y = np.arange(6.0)
    shared = prims.overlap_copy(y[a], y[b])
    if np.may_share_memory(y[a], y[b]) and np.shares_memory(shared, y):  # the very same view
        y[b][0] = 99.0
    np.testing.assert_array_equal(got, shared)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fresh_arrays(dtype):
    for order, dims in itertools.product("CF", [(), (3,), (2, 0), (2, 3, 4)]):
        got = one_call(prims.zeros, np.dtype(dtype), order, *dims)
        same(got, np.zeros(dims, dtype))
        assert one_call(prims.empty, np.dtype(dtype), order, *dims).shape == dims


SCALARS = [(7, 2), (-7, 2), (7.5, -2.0), (3, 0.5), (2 + 1j, 1 - 1j)]


@pytest.mark.parametrize(("a", "b"), SCALARS)
def test_division(a, b):
    same(one_call(prims.pydiv, a, b), prims.pydiv(a, b), 1e-15)
    if not isinstance(a, complex):
        same(one_call(prims.pyfloordiv, a, b), prims.pyfloordiv(a, b))
        same(one_call(prims.pymod, a, b), prims.pymod(a, b))


def test_scalars():
    for x in (2.5, 3 - 4j, np.float32(1.5), np.complex64(1 + 2j)):
        same(one_call(prims.real, x), prims.real(x))
        same(one_call(prims.imag, x), prims.imag(x))
    assert one_call(prims.select, True, 1.5, 2) == 1.5
    assert one_call(prims.select, False, 1.5, 2) == 2.0
    casts = [(types.float32, 0.1), (types.int64, -2.7), (types.complex128, 2), (types.boolean, 3)]
    for t, x in casts:
        assert one_call(prims.cast, t, x) == prims.cast(t, x)


@layouts
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_products(layout, dtype):
    tol = 1e-4 if dtype is np.float32 else 1e-12
    shapes = [
        ((3, 4), (4, 2)),
        ((3, 4), (4,)),
        ((4,), (4, 2)),
        ((4,), (4,)),
        ((3, 0), (0, 2)),
        ((0, 2), (2,)),
    ]
    for left, right in shapes:
        a, b = LAYOUTS[layout](left, dtype), LAYOUTS[layout](right, dtype)
        same(one_call(prims.matmul, a, b), a @ b, tol)
        same(one_call(prims.matmul, a, np.ascontiguousarray(b)), a @ b, tol)


@layouts
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_products_where_they_are_wanted(layout, dtype):
    for left, right in [((3, 4), (4, 2)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 0), (0, 2))]:
        a, b = LAYOUTS[layout](left, dtype), LAYOUTS[layout](right, dtype)
        out = numbers((a @ b).shape, dtype)
        before = out.copy()
        one_call(prims.add_product, out, a, b)
        same(out, before + a @ b, 1e-12)
        one_call(prims.product, out, a, b)
        same(out, a @ b, 1e-12)


def test_sums_and_lengths():
    for s, x in ((1.5, 2.25), (np.float32(1.5), np.float32(2.0)), (1j, 2.0 + 0j)):
        assert one_call(prims.plus, s, x) == s + x
    assert one_call(prims.unit, 3) is False and one_call(prims.unit, 1) is False
    assert one_call(prims.likely, True) is True and one_call(prims.likely, False) is False


@layouts
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_linear_algebra(layout, dtype, n):
    tol = 2e-3 if np.finfo(dtype).eps > 1e-10 else 1e-11
    a = LAYOUTS[layout]((n, n), dtype)
    a += 4 * np.eye(n, dtype=dtype)
    for b in (numbers((n,), dtype), LAYOUTS[layout]((n, 2), dtype)):
        same(one_call(prims.solve, a, b), prims.solve(a, b), tol)
    same(one_call(prims.inv, a), prims.inv(a), tol)
    same(one_call(prims.det, a), prims.det(a), tol * max(1, abs(prims.det(a))))
    same(one_call(prims.slogdet, a), prims.slogdet(a), tol)
    s = np.ascontiguousarray(a @ a.conj().T)
    same(one_call(prims.cholesky, s), prims.cholesky(s), tol)


def test_the_determinant_of_a_singular_matrix_is_zero():
    assert one_call(prims.det, np.ones((2, 2))) == 0
    assert one_call(prims.slogdet, np.ones((2, 2))) == (0, -np.inf)


def test_cholesky_reads_the_lower_triangle_alone():
    a = np.array([[4.0, np.nan], [2.0, 5.0]])
    same(one_call(prims.cholesky, a), np.array([[2.0, 0.0], [1.0, 2.0]]), 1e-15)


DECOMPOSITIONS = [
    prims.eigh,
    prims.eig,
    prims.svd,
    prims.svd_full,
    prims.qr,
    prims.pinv,
    prims.lstsq,
]


def in_order(found):
    """Eigenvalues, and the vectors below them, from left to right in the complex plane."""
    return found[:, np.argsort(found[0].real)]


@pytest.mark.parametrize("prim", DECOMPOSITIONS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
def test_decompositions(prim, dtype):
    """Of all shapes, of one with a NaN, and by the same routines, so that signs agree too."""
    if prim is prims.eig and dtype in (np.float64, np.float32):
        pytest.skip("of complex matrices")
    tol = 2e-4 if np.finfo(dtype).eps > 1e-10 else 1e-10
    scalar = types.Array(*_kind(np.zeros((1, 1), dtype))).dtype
    matrix, rest = types.Array(scalar, 2, "A"), {prims.pinv: 1, prims.lstsq: 2}.get(prim, 0)
    params = [("b", matrix)] * (rest == 2) + [("rcond", types.float64)] * (rest > 0)
    w = Writer(("a", matrix), *params)
    f = w.compile(w(prim, *w.params))
    shapes = [(4, 4), (1, 1), (0, 0)]
    if prim not in (prims.eigh, prims.eig):
        shapes += [(5, 3), (2, 4), (0, 3), (3, 0)]
    for shape in shapes:
        a = LAYOUTS["strided"](shape, dtype)
        more = [LAYOUTS["transposed"]((shape[0], 2), dtype)] * (rest == 2) + [1e-6] * (rest > 0)
        kept = a.copy()
        ours, theirs = f(a, *more)[0], prim(a, *more)
        if prim is prims.eig:  # in whichever order
            ours, theirs = in_order(ours), in_order(theirs)
        if prim is prims.eigh:  # a vector and its negative are as good
            ours, theirs = abs(ours), abs(theirs)
        same(ours, theirs, tol)
        np.testing.assert_array_equal(a, kept)
    if prim is not prims.qr:
        a = np.full((6, 6), np.nan, dtype)[::2, ::2]
        more = [np.ones((3, 2), dtype)[:, ::-1]] * (rest == 2) + [1e-6] * (rest > 0)
        assert np.isnan(f(a, *more)[0]).any() and np.isnan(prim(a, *more)).any()


FAILURES = [
    (prims.index, 3, 3),
    (prims.index, -4, 3),
    (prims.index, 5, 3, 2),
    (prims.slice_start, 0, 0, 3),
    (prims.slice_count, None, 2, 0, 3),
    (prims.zeros, np.dtype("f8"), "C", 2, -1),
    (prims.empty, np.dtype("f8"), "C", 2**40, 2**40),
    (prims.reshape, np.zeros((2, 3)), 4, 2),
    (prims.pydiv, 1.0, 0.0),
    (prims.pydiv, 1, 0),
    (prims.pydiv, 1j, 0j),
    (prims.pyfloordiv, 1, 0),
    (prims.pyfloordiv, 1.5, 0.0),
    (prims.pymod, 1, 0),
    (prims.matmul, np.zeros((2, 3)), np.zeros((2, 3))),
    (prims.matmul, np.zeros(2), np.zeros(3)),
    (prims.product, np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3))),
    (prims.add_product, np.zeros(2), np.zeros((2, 3)), np.zeros(2)),
    (prims.solve, np.zeros((2, 3)), np.zeros(2)),
    (prims.solve, np.zeros((2, 2)), np.zeros(3)),
    (prims.solve, np.ones((2, 2)), np.ones(2)),
    (prims.inv, np.ones((2, 2))),
    (prims.inv, np.ones((2, 3))),
    (prims.det, np.ones((2, 3))),
    (prims.cholesky, -np.eye(2)),
]


@pytest.mark.parametrize("call", FAILURES, ids=lambda c: f"{c[0].__name__}{np.shape(c[1])}")
def test_failures_are_those_of_python(call):
    with pytest.raises(Exception) as expected:
        call[0](*call[1:])
    with pytest.raises(expected.type) as got:
        one_call(*call)
    assert str(got.value) == str(expected.value)
    assert got.traceback[-2].frame.code.name == "f" or got.traceback[-1].frame.code.name == "f"
