"""The primitives on CPython against Python's and NumPy's own meaning."""

import itertools
import math

import numpy as np
import pytest
from numba import types

from pullback.runtime import prims

RANGE = [None, -7, -4, -1, 0, 1, 3, 4, 9]


def test_slices_are_pythons():
    for n, start, stop, step in itertools.product((0, 1, 4), RANGE, RANGE, (-3, -1, 1, 2)):
        items = list(range(n))
        first, count = prims.slice_start(start, step, n), prims.slice_count(start, stop, step, n)
        assert [first + k * step for k in range(count)] == items[start:stop:step]


def test_a_slice_of_step_zero_raises_as_python_does():
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        prims.slice_count(0, 3, 0, 3)


def test_index_names_the_index_the_axis_and_its_size():
    assert [prims.index(i, 3) for i in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    for i in (3, -4):
        with pytest.raises(IndexError) as caught:
            prims.index(i, 3, 1)
        with pytest.raises(IndexError) as numpys:
            np.zeros((2, 3))[0, i]
        assert str(caught.value) == str(numpys.value)


@pytest.mark.parametrize(
    ("spec", "ints", "key"),
    [
        ("", (), ()),
        ("i", (1,), 1),
        ("ii", (1, 2), (1, 2)),
        ("u", (1, 2), np.s_[1:3]),
        (":s", (3, 4, -1), np.s_[:, ::-1]),
        (":s", (2, 0, -1), np.s_[:, 2:2]),
        ("ni", (0,), np.s_[None, 0]),
        ("un:", (0, 1), np.s_[0:1, None, :]),
        ("s", (2, 2, -2), np.s_[2::-2]),
    ],
)
def test_subview_is_basic_indexing(spec, ints, key):
    x = np.arange(12.0).reshape(3, 4)
    view = prims.subview(x, spec, *ints)
    expected = x[key] if np.ndim(x[key]) else x[(*key, ...)]
    np.testing.assert_array_equal(view, expected)
    assert np.shares_memory(view, x) or not view.size


def contiguity(x, layout):
    return layout == "A" or bool(x.flags.c_contiguous if layout == "C" else x.flags.f_contiguous)


SPECS = ["".join(s) for k in (1, 2, 3) for s in itertools.product("ius:n", repeat=k)]


@pytest.mark.parametrize("spec", SPECS)
def test_layouts_promised_are_kept(spec):
    ints = {"i": (1,), "u": (1, 2), "s": (0, 2, 2), ":": (), "n": ()}
    given = [n for step in spec for n in ints[step]]
    for order in "CF":
        x = np.zeros((3, 4, 5), order=order)
        view = prims.subview(x, spec, *given)
        assert view.ndim == prims.subview_ndim(3, spec)
        assert contiguity(view, prims.subview_layout(order, 3, spec)), order


def test_contiguous_parts_are_known_to_be_so():
    layout = prims.subview_layout
    assert [layout("C", 2, s) for s in ("i", "u", "iu", ":", "ii")] == ["C"] * 5
    assert [layout("F", 2, s) for s in (":i", "uu", ":u")] == ["C", "A", "F"]
    assert [layout("C", 2, s) for s in (":i", "uu", "s", ":u")] == ["A"] * 4


def test_reshape_makes_views_only():
    x = np.arange(6.0)
    assert np.shares_memory(prims.reshape(x, 2, 3), x)
    with pytest.raises(ValueError, match="cannot reshape"):
        prims.reshape(x, 4, 2)
    with pytest.raises(ValueError, match="C-contiguous"):
        prims.reshape(x[::2], 3)


def test_parts_are_views():
    z = np.array([1 + 2j, 3 - 1j])
    prims.real_view(z)[0] = 7
    prims.imag_view(z)[1] = 5
    assert z.tolist() == [7 + 2j, 3 + 5j]


@pytest.mark.parametrize(
    ("make", "order"),
    [
        (lambda x: x, "C"),
        (lambda x: x.T, "F"),
        (lambda x: x[::-1, ::2], "C"),
        (lambda x: x.T[::2], "F"),
    ],
)
def test_fresh_arrays_keep_the_memory_order(make, order):
    x = make(np.arange(24.0).reshape(4, 6))
    for y in (prims.own(x), prims.same_layout_zeros(x)):
        assert y.flags.writeable
        assert not np.shares_memory(x, y)
        assert contiguity(y, order)
    np.testing.assert_array_equal(prims.own(x), x)
    assert not prims.same_layout_zeros(x).any()


def test_overlap_copy_copies_only_what_could_be_overwritten():
    x = np.arange(6.0)
    assert prims.overlap_copy(x[:3], x[3:]).base is x
    assert np.shares_memory(prims.overlap_copy(x[1:], x[1:]), x)
    assert not np.shares_memory(prims.overlap_copy(x[1:], x[:-1]), x)
    assert not np.shares_memory(prims.overlap_copy(x[::-1], x), x)


def test_python_division_raises_also_for_numpy_scalars():
    for f, g in ((prims.pydiv, "/"), (prims.pyfloordiv, "//"), (prims.pymod, "%")):
        for a, b in ((7, 2), (-7.5, 2), (-7, -2)):
            assert f(a, b) == eval(f"a {g} b")
        for zero in (0, 0.0, np.float64(0)):
            with pytest.raises(ZeroDivisionError):
                f(np.float64(1), zero)


def test_casts_give_numpy_scalars_that_divide_like_arrays():
    assert type(prims.cast(types.int64, 2.9)) is int
    assert type(prims.cast(types.boolean, 1)) is bool
    assert type(prims.cast(types.float32, 1)) is np.float32
    with np.errstate(divide="ignore"):
        assert prims.cast(types.float64, 1) / prims.cast(types.float64, 0) == math.inf
    with pytest.raises(TypeError):
        prims.cast(types.float64, 1j)


def test_linear_algebra_is_numpys_in_c_order():
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    b = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    np.testing.assert_allclose(a @ prims.solve(a, b), b, atol=1e-15)
    np.testing.assert_allclose(a @ prims.solve(a, b[:, 0]), b[:, 0], atol=1e-15)
    for y in (prims.solve(a, b), prims.inv(a), prims.cholesky(a)):
        assert y.flags.c_contiguous
    for f in (prims.inv, prims.cholesky):
        with pytest.raises(np.linalg.LinAlgError):
            f(np.zeros((2, 2)))


def test_importing_the_primitives_does_not_import_numba():
    import subprocess
    import sys

    code = "import sys, pullback.runtime.prims; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
