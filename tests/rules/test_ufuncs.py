import operator
import warnings

import numpy as np
import pytest

from pullback.rules.numpy.ufuncs import ALIASES, IN_PLACE, UFUNCS

from .abstract import agree, body_of, run, same
from .numpy_arrays import DTYPES, SHAPES, layouts, values


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def skip(f, *operands):
    """Half precision is not taken."""
    try:
        found = f.resolve_dtypes((*(o.dtype for o in operands), None))
    except TypeError:
        return False
    return any(d.char in "emMO" for d in found)


@pytest.mark.parametrize("name", [n for n in UFUNCS if n != "isnat"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_ufunc(name, dtype):
    f = UFUNCS[name]
    operands = [values((2, 3), dtype) for _ in range(f.nin)]
    if skip(f, *operands) or f.nin > 2:
        return
    if name in ("power", "left_shift", "right_shift"):
        operands[1] = abs(operands[1]) if dtype != "b" else operands[1]
    agree(f, *operands, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_layouts(shape):
    for x in layouts(values(shape)):
        agree(np.sin, x)
        agree(operator.neg, x)
        for y in layouts(values(shape)):
            agree(operator.mul, x, y)


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_broadcasting(a, b):
    agree(operator.sub, values(a), values(b))
    x = values(a)
    y, expected = values(b), x.copy()
    if not a:
        return
    try:
        expected -= y
    except ValueError:
        with pytest.raises(ValueError):
            run(operator.isub, x, y)
        return
    assert run(operator.isub, x, y) is x
    same(x, expected)


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promotion(a, b):
    for f in (operator.add, operator.truediv, operator.lt):
        if not skip(UFUNCS["divide"], values(2, a), values(2, b)):
            agree(f, values(3, a), values(3, b))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [2, 2.5, 1 + 2j, True, np.float32(0.1), np.int64(3)])
def test_numbers_are_weak_or_not_as_in_numpy(dtype, number):
    x = values(3, dtype)
    for f in (np.add, np.multiply, np.divide):
        if (x.dtype.char in "B?" and f is np.divide) or np.result_type(x, number).char == "e":
            continue
        agree(f, x, number)
        agree(f, number, x)


@pytest.mark.parametrize("k", [2, 3, 0, -1, 0.5, 2.0])
def test_powers(k):
    x = abs(values((2, 3))) + 0.5
    agree(operator.pow, x, k)
    agree(operator.pow, x.astype("f4"), k)
    agree(np.power, 2.0, x)


def test_single_precision_is_computed_in_single_precision():
    x = np.float32([0.1, 0.2])
    assert np.array_equal(run(operator.mul, x, 0.1), x * 0.1)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    f = getattr(operator, name)
    dtype = "i8" if IN_PLACE[name].__name__.startswith(("bit", "left", "right")) else "f8"
    x, y = values((2, 3), dtype), abs(values(3, dtype)) + 1
    expected = f(x.copy(), y)
    assert run(f, x, y) is x
    same(x, expected)
    assert run(f, 7, 2) == f(7, 2)


def test_in_place_overlapping():
    for source in (slice(None, -1), slice(1, None)):
        x = np.arange(6.0)
        expected = x.copy()
        target = slice(1, None) if source.stop else slice(None, -1)
        expected[target] += expected[source].copy()
        run(operator.iadd, x[target], x[source])
        same(x, expected)
    a = values((3, 3))
    expected = a + a.T
    run(operator.iadd, a, a.T)
    same(a, expected)


def test_in_place_refuses_a_kind_that_does_not_fit():
    with pytest.raises(TypeError):
        run(operator.iadd, values(3, "i8"), 1.5)
    with pytest.raises(TypeError):
        run(operator.imul, values(3), 1j)


def test_out():
    x, y, out = values((2, 3)), values(3), np.empty((2, 3))
    assert run(np.add, x, y, out=out) is out
    same(out, x + y)
    assert run(np.add, x, y, out) is out
    small = np.empty((2, 3), "f4")
    run(np.exp, x, out=small)
    same(small, np.exp(x).astype("f4"))


def test_lists_and_tuples_become_arrays():
    agree(operator.add, values(3), (1.0, 2.0, 3.0))
    agree(np.maximum, [1, 2, 3], values(3))


def test_aliases():
    for name, functions in ALIASES.items():
        operands = [abs(values(3, "i8")) + 1 for _ in range(UFUNCS[name].nin)]
        for f in functions:
            agree(f, *operands)


def test_the_same_types_give_the_same_function():
    assert body_of(np.add, values(3), values(4)) is body_of(np.add, values(5), values(5))
