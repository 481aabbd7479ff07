"""What a gradient looks like for each kind of argument, and what is refused."""

import functools
from collections import namedtuple

import numpy as np
import pytest

import pullback as pb
from pullback.errors import (
    AliasedArguments,
    NonScalarOutput,
    NotDifferentiable,
    ReadOnlyArgument,
    UnsupportedArgument,
)

from . import PYTHON

grad = functools.partial(pb.grad, options=PYTHON)
value_and_grad = functools.partial(pb.value_and_grad, options=PYTHON)
Point = namedtuple("Point", "x y")


def square(x):
    return x * x


def total(x):
    return (x * x).sum()


# -- numbers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("x", [3.0, np.float64(3.0)])
def test_a_float_has_a_python_float(x):
    y, g = value_and_grad(square)(x)
    assert type(g) is float and g == 6.0
    assert type(y) is float and y == 9.0


def test_a_float32_keeps_its_precision():
    g = grad(square)(np.float32(3.0))
    assert isinstance(g, np.float32) and g == 6.0


def test_a_complex_number():
    g = grad(lambda z: (z * z.conjugate()).real)(3.0 + 4.0j)
    assert type(g) is complex and g == 6.0 + 8.0j


def test_a_zero_dimensional_array_has_one():
    x = np.array(3.0)
    y, g = value_and_grad(lambda x: x[()] * x[()])(x)
    assert isinstance(g, np.ndarray) and g.shape == () and g == 6.0
    assert y == 9.0


def test_a_zero_dimensional_result_is_a_scalar():
    g = grad(lambda x: x * np.array(2.0))(np.array(3.0))
    assert isinstance(g, np.ndarray) and g.shape == () and g == 2.0


@pytest.mark.parametrize(
    ("f", "x", "word"),
    [
        (lambda x: x, np.ones(1), "1-d array"),
        (lambda x: x, np.ones((2, 2)), "2-d array"),
        (lambda x: (x, x), 1.0, "tuple"),
        (lambda x: (x, x, x), 1.0, "tuple"),
        (lambda x: x * 1j, 1.0, "complex"),
        (lambda x: 3, 1.0, "int"),
        (lambda x: x > 0, 1.0, "bool"),
        (lambda x: None, 1.0, "None"),
        (lambda x: "y", 1.0, "'y'"),
    ],
)
def test_a_result_that_is_no_real_number(f, x, word):
    with pytest.raises(NonScalarOutput, match=word) as e:
        grad(f)(x)
    assert e.value.code == "PB303" and e.value.loc.file == __file__


# -- arrays ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), (2, 0), (2, 1, 3)])
def test_an_array_has_a_fresh_one(shape, dtype):
    x = np.ones(shape, dtype)
    g = grad(total)(x)
    assert g.shape == shape and g.dtype == dtype and g.flags.writeable and g.flags.c_contiguous
    assert np.array_equal(g, 2 * x)
    assert not np.shares_memory(g, x)
    again = grad(total)(x)
    assert again is not g and not np.shares_memory(g, again)


def test_a_fortran_array_has_a_fortran_one():
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    g = grad(total)(x)
    assert g.flags.f_contiguous and not g.flags.c_contiguous and np.array_equal(g, 2 * x)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6.0)[::2],
        np.arange(6.0)[::-1],
        np.arange(12.0).reshape(3, 4)[:, 1:3],
        np.arange(12.0).reshape(3, 4)[:, 2],
        np.broadcast_to(np.array([1.0, 2.0]), (3, 2)),
        np.broadcast_to(np.array(2.0), (4,)),
    ],
)
def test_strided_and_broadcast_arrays_are_fine_if_only_read(x):
    g = grad(total)(x)
    assert np.array_equal(g, 2 * x) and g.flags.c_contiguous and g.flags.writeable


LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[(..., *(slice(None, None, -1),) * x.ndim)],
    "every other": lambda x: np.repeat(x[..., None], 2, -1)[..., 1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2), (2, 1, 2, 2), (1, 2, 1, 2, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_any_rank_layout_and_precision(dtype, shape, layout):
    rng = np.random.default_rng(0)
    made = np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))
    x = LAYOUTS[layout](
        made.astype(dtype) if dtype().dtype.kind == "c" else made.real.astype(dtype)
    )
    f = lambda x: (x * x).sum().real
    expected = np.conj(2 * x)
    for g in (grad(f)(x), pb.vjp(f, x, options=PYTHON)[1](1.0)[0]):
        assert g.dtype == dtype and g.shape == x.shape and np.allclose(g, expected, rtol=1e-6)
        assert g.flags.f_contiguous if x.flags.f_contiguous else g.flags.c_contiguous
    tangent = rng.normal(size=x.shape).astype(dtype)
    found = pb.jvp(f, (x,), (np.asarray(tangent),), options=PYTHON)[1]
    assert found == pytest.approx((2 * x * tangent).sum().real, rel=1e-4)


def test_a_read_only_array_is_fine_if_only_read():
    x = np.arange(3.0)
    x.flags.writeable = False
    assert np.array_equal(grad(total)(x), 2 * x)
    assert not x.flags.writeable


def test_a_complex_array():
    z = np.array([1.0 + 2.0j, 3.0])
    g = grad(lambda z: (z * z.conj()).real.sum())(z)
    assert g.dtype == np.complex128 and np.array_equal(g, 2 * z)


def test_the_result_may_be_a_view_and_an_argument_itself():
    def f(x):
        return x.sum(), (x, x[1:], x.T)

    x = np.arange(3.0)
    _, (same, view, _) = grad(f, has_aux=True)(x)
    assert same is x
    assert np.shares_memory(view, x) and np.array_equal(view, x[1:])
    x.flags.writeable = False
    _, (same, view, _) = grad(f, has_aux=True)(x)
    assert same is x and not view.flags.writeable


# -- without derivative ----------------------------------------------------------------------------
@pytest.mark.parametrize("x", [3, True, np.int32(3), np.arange(3), np.array([True])])
def test_an_integer_selected_by_argnums(x):
    with pytest.raises(NotDifferentiable) as e:
        grad(lambda x: x * 2.0)(x)
    assert isinstance(e.value, TypeError) and e.value.code == "PB302"


def test_an_integer_is_answered_with_the_float():
    with pytest.raises(TypeError, match=r"Pass 3\.0"):
        grad(square)(3)
    with pytest.raises(TypeError, match=r"Pass 1\.0"):
        grad(square)(True)
    with pytest.raises(TypeError, match=r"astype\(float\)"):
        grad(total)(np.arange(3))


@pytest.mark.parametrize("x", ["s", None, square, (1, 2), ((1, "a"),), ()])
def test_other_things_selected_by_argnums(x):
    with pytest.raises(NotDifferentiable):
        grad(lambda x, y: y)(x, 1.0)


def test_tuples_have_tuples_with_none_for_what_has_no_derivative():
    def f(p, q):
        return p[0] * p[1] * q.x * q.y[0].sum()

    x = np.array([1.0, 2.0])
    gp, gq = grad(f, (0, 1))((2.0, 3), Point(5.0, (x, 7)))
    assert gp == (45.0, None)
    assert isinstance(gq, Point) and gq.x == 18.0
    assert np.array_equal(gq.y[0], [30.0, 30.0]) and gq.y[1] is None


def test_strings_and_functions_inside_a_tuple():
    def f(p):
        return p[0] * p[2](p[0]) if p[1] == "yes" else p[0]

    assert grad(f)((3.0, "yes", square)) == (27.0, None, None)
    assert grad(f)((3.0, "no", square)) == (1.0, None, None)


def test_a_dict_with_names_has_a_dict():
    def f(p, x):
        return p["slope"] * x + p["weights"].sum()

    g, gx = grad(f, (0, 1))({"slope": 2.0, "weights": np.ones(2), "n": 3}, 5.0)
    assert list(g) == ["slope", "weights", "n"] and g["n"] is None and gx == 2.0
    assert g["slope"] == 5.0 and np.array_equal(g["weights"], [1.0, 1.0])


def test_an_argument_without_influence_has_zeros():
    x = np.ones((2, 2))
    gx, gy, gp = grad(lambda x, y, p, z: z, (0, 1, 2))(x, 2.0, (x, 3.0, 4), 1.0)
    assert np.array_equal(gx, np.zeros((2, 2))) and gy == 0.0 and type(gy) is float
    assert np.array_equal(gp[0], np.zeros((2, 2))) and gp[1:] == (0.0, None)


def test_a_constant_function():
    assert value_and_grad(lambda x: 4.0)(2.0) == (4.0, 0.0)


# -- aliases and mutation --------------------------------------------------------------------------
def writes(a, b):
    a[0] = b[-1] * 2.0
    return a[0] * b[0]


def test_overlap_with_a_written_argument():
    x = np.arange(6.0)
    for a, b in [(x, x), (x[:4], x[2:]), (x[::-1], x), (x[2:], x[:3])]:
        with pytest.raises(AliasedArguments, match=r"'a' and 'b' overlap") as e:
            grad(writes, (0, 1))(a, b)
        assert e.value.code == "PB305"
    assert np.array_equal(x, np.arange(6.0))  # nothing has run


@pytest.mark.parametrize(
    ("a", "b"), [(slice(None, 3), slice(3, None)), (slice(0, None, 2), slice(1, None, 2))]
)
def test_neighbours_do_not_overlap(a, b):
    x = np.arange(1.0, 7.0)
    x0 = x.copy()
    g = grad(writes, 1)(x[a], x[b])
    assert g[-1] == 2 * x0[b][0]


def test_a_written_argument_and_a_captured_array_overlap():
    w = np.arange(3.0)

    def f(x):
        x[0] = w[1]
        return x[0] * w[0]

    with pytest.raises(AliasedArguments, match="captured w"):
        grad(f)(w)
    assert grad(f)(np.ones(3)).shape == (3,)


def test_writing_to_a_read_only_argument():
    x = np.ones(3)
    x.flags.writeable = False
    with pytest.raises(ReadOnlyArgument, match="'a'") as e:
        grad(writes)(x, np.ones(2))
    assert e.value.code == "PB307" and e.value.loc.file == __file__
    assert grad(writes)(np.ones(3), x).shape == (3,)


def doubled(x):
    x *= 2.0
    return np.sum(x * x)


@pytest.mark.parametrize(
    "x",
    [
        np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,), writeable=True),
        np.lib.stride_tricks.sliding_window_view(np.ones(5), 3, writeable=True),
        np.lib.stride_tricks.sliding_window_view(np.ones(5), 3, writeable=True)[::2, ::-1],
    ],
    ids=["repeated", "windows", "turned windows"],
)
def test_writing_to_an_array_that_overlaps_itself(x):
    with pytest.raises(AliasedArguments, match="overlaps itself"):
        grad(doubled)(x)


@pytest.mark.parametrize(
    "x",
    [
        np.ones((0, 4)),
        np.ones((4, 0)),
        np.ones((6, 4))[::2, ::-3],
        np.ones((2, 3, 4)).transpose(1, 2, 0),
        np.lib.stride_tricks.sliding_window_view(np.ones(5), 3, writeable=True)[::3],
    ],
    ids=["no rows", "no columns", "apart", "turned", "windows apart"],
)
def test_writing_to_an_array_whose_elements_are_apart(x):
    assert np.array_equal(grad(doubled)(x), np.full(x.shape, 8.0))


def test_arguments_hold_what_a_plain_call_leaves():
    def f(x, p, n):
        for i in range(n):
            x[i + 1] += x[i] * p[0][i]
            p[0][i] = x[i]
        return x[n] * x[n]

    plain = np.arange(1.0, 5.0), (np.arange(2.0, 6.0), 1)
    f(*plain, 3)
    own = np.arange(1.0, 5.0), (np.arange(2.0, 6.0), 1)
    grad(f)(*own, 3)
    assert np.array_equal(plain[0], own[0]) and np.array_equal(plain[1][0], own[1][0])


# -- what is not taken -----------------------------------------------------------------------------
class Foreign:
    pass


def foreign(module, name="Series"):
    return type(name, (Foreign,), {"__module__": module})()


@pytest.mark.parametrize(
    ("x", "cure"),
    [
        (np.ma.array([1.0, 2.0]), "filled"),
        (np.ones((1, 1)).view(np.matrix), "asarray"),
        (np.ones(2, np.float16), "float32"),
        (np.ones(2, np.longdouble), "float64"),
        (np.array([1.0, "a"], dtype=object), "dtype=float"),
        (np.ones(2, ">f8"), "newbyteorder"),
        (np.float16(1), "float32"),
        (np.array(["a"]), "strings"),
        ([1.0, 2.0], "np.array"),
        ({1: 1.0}, "np.array"),
        ({1.0}, "np.array"),
        (foreign("pandas.core.series"), "to_numpy"),
        (foreign("xarray.core"), "to_numpy"),
        (foreign("torch", "Tensor"), "detach"),
        (foreign("jaxlib.xla", "Array"), "np.array"),
    ],
)
def test_unsupported_arguments_name_the_conversion(x, cure):
    with pytest.raises(UnsupportedArgument, match="'x'") as e:
        grad(lambda x: x)(x)
    assert cure in str(e.value)
    assert e.value.code == "PB203" and isinstance(e.value, TypeError)


def test_foreign_byte_order_is_seen_after_a_right_call():
    g = grad(total)
    x = np.arange(3.0)
    assert np.array_equal(g(x), 2 * x)
    with pytest.raises(UnsupportedArgument):
        g(x.astype(">f8"))
    with pytest.raises(UnsupportedArgument):
        g(np.ma.array(x))
    assert np.array_equal(g(x), 2 * x)


# -- static arguments ------------------------------------------------------------------------------
def apply(h, x, mode):
    y = h(x)
    return y if mode == "plain" else y * 2.0


def test_functions_and_strings_are_static_by_value():
    g = grad(apply, 1)
    assert g(square, 3.0, "plain") == 6.0
    assert g(square, 3.0, "double") == 12.0
    assert g(lambda x: x, 3.0, "double") == 2.0
    assert g(square, 3.0, "plain") == 6.0


def test_what_a_function_argument_captured_is_never_stale():
    g = grad(apply, 1)

    def scaled(k):
        return lambda x: k * x

    assert [g(scaled(k), 3.0, "plain") for k in (1.0, 2.0, 3.0)] == [1.0, 2.0, 3.0]
