"""The pullback as an object: reuse, independence of the caller's arrays, checks of cotangents."""

import functools
import math
import threading

import numpy as np
import pytest

import pullback as pb
from pullback.errors import CotangentMismatch

from . import NATIVE, PYTHON

vjp = functools.partial(pb.vjp, options=PYTHON)


def steps(x, k):
    """Overwrites its argument, in a loop that is not linear."""
    for i in range(x.size - 1):
        x[i + 1] = math.sin(x[i]) * x[i + 1] + k
    return x * x, x[0] * k


START = np.array([0.5, 1.5, -0.5, 2.0])
SEED = (np.array([1.0, -1.0, 0.5, 2.0]), 3.0)


@pytest.fixture(params=[PYTHON, NATIVE], ids=["python", "native"])
def options(request):
    return request.param


def reference(seed, k=1.1):
    """Jᵀ seed by complex steps."""

    def run(x, k):
        y = x.astype(complex)
        for i in range(3):
            y[i + 1] = np.sin(y[i]) * y[i + 1] + k
        return (seed[0] * y * y).sum() + seed[1] * y[0] * k

    h = 1e-30j
    gx = [run(START + h * e, k).imag / 1e-30 for e in np.eye(4)]
    return np.array(gx), run(START, k + h).imag / 1e-30


def test_value_and_mutation(options):
    x, plain = START.copy(), START.copy()
    (y, s), _ = pb.vjp(steps, x, 1.1, options=options)
    expected, t = steps(plain, 1.1)
    assert np.allclose(y, expected, rtol=1e-14) and s == t
    assert np.allclose(x, plain, rtol=1e-14)


def test_cotangents(options):
    _, back = pb.vjp(steps, START.copy(), 1.1, options=options)
    gx, gk = back(SEED)
    rx, rk = reference(SEED)
    assert np.allclose(gx, rx, rtol=1e-12) and gk == pytest.approx(rk, rel=1e-12)


def test_call_scribble_call_again(options):
    x = START.copy()
    (y, _), back = pb.vjp(steps, x, 1.1, options=options)
    first = back(SEED)
    x[:] = np.nan
    y[:] = np.nan
    first[0][:] = first[0] * 1.0
    second = back(SEED)
    assert np.array_equal(first[0], second[0]) and first[1] == second[1]
    assert first[0] is not second[0]
    other = back((np.zeros(4), 1.0))
    third = back(SEED)
    assert np.array_equal(first[0], third[0]) and other[1] == START[0]


def test_two_pullbacks_interleave(options):
    _, a = pb.vjp(steps, START.copy(), 1.1, options=options)
    _, b = pb.vjp(steps, 2 * START, 0.3, options=options)
    a1, b1 = a(SEED), b(SEED)
    b2, a2 = b(SEED), a(SEED)
    assert np.array_equal(a1[0], a2[0]) and np.array_equal(b1[0], b2[0])
    assert not np.array_equal(a1[0], b1[0])


def test_a_wrong_cotangent_does_no_harm(options):
    _, back = pb.vjp(steps, START.copy(), 1.1, options=options)
    first = back(SEED)
    with pytest.raises(CotangentMismatch):
        back((np.zeros(3), 1.0))
    assert np.array_equal(first[0], back(SEED)[0])


def test_other_calls_in_between(options):
    _, back = pb.vjp(steps, START.copy(), 1.1, options=options)
    first = back(SEED)
    for n in (10, 2000, 3):
        pb.vjp(steps, np.linspace(0, 1, n), 0.2, options=options)[1]((np.ones(n), 1.0))
    assert np.array_equal(first[0], back(SEED)[0])


def test_captured_arrays_may_change_afterwards(options):
    w = np.array([1.0, 2.0])

    def f(x):
        return (w * x * x).sum()

    _, back = pb.vjp(f, np.ones(2), options=options)
    w[:] = 100.0
    assert np.array_equal(back(1.0)[0], [2.0, 4.0])


def test_one_pullback_from_many_threads():
    _, back = pb.vjp(steps, START.copy(), 1.1)
    expected = back(SEED)[0]
    wrong = []

    def work():
        for _ in range(200):
            if not np.array_equal(back(SEED)[0], expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_repr_is_short():
    _, back = vjp(steps, START.copy(), 1.1)
    text = repr(back)
    assert len(text.splitlines()) <= 3
    assert "steps(x, k)" in text and "float64[4]" in text and "bytes" in text
    assert isinstance(back, pb.Pullback)


def test_none_for_what_has_no_derivative():
    y, back = vjp(lambda x, n, p: x * n * p[0], 3.0, 2, (5.0, 1))
    assert y == 30.0 and back(1.0) == (10.0, None, (6.0, None))


def test_keyword_arguments_are_constants():
    def f(x, k=1.0):
        return x * k

    y, back = vjp(f, 3.0, kwargs={"k": 4.0})
    assert y == 12.0 and back(1.0) == (4.0,)
    assert vjp(f, 3.0)[1](1.0) == (1.0,)


def test_results_that_are_arguments_or_views():
    def f(x, n):
        x[0] = x[0] * 3.0
        return x, x[::2], n, x[1:] * 1.0

    for x in (np.arange(1.0, 5.0), np.arange(1.0, 9.0)[::2], np.arange(1.0, 9.0)[::-2]):
        (same, view, n, fresh), back = vjp(f, x, 7)
        assert same is x and np.shares_memory(view, x) and np.array_equal(view, x[::2])
        assert not np.shares_memory(fresh, x) and n == 7
        g, none = back((np.ones(4), np.ones(2), None, np.zeros(3)))
        assert np.array_equal(g, [6.0, 1.0, 2.0, 1.0]) and none is None


def test_a_seed_is_copied():
    _, back = vjp(lambda x: x, np.ones(3))
    seed = np.ones(3)
    (g,) = back(seed)
    assert not np.shares_memory(g, seed)


# -- checks ----------------------------------------------------------------------------------------
def pair(x):
    return x * 2.0, (x.sum(), 3)


@pytest.mark.parametrize(
    ("cotangent", "words"),
    [
        (np.ones(3), "is an array of shape .3,., its value is a tuple of 2"),
        ((np.ones(3),), "a tuple of 1"),
        ((np.ones(2), (1.0, None)), r"\[0\] has shape \(2,\), its value \(3,\)"),
        ((np.ones((3, 1)), (1.0, None)), "shape"),
        ((np.ones(3, np.float32), (1.0, None)), "dtype float32, its value float64"),
        ((np.ones(3, complex), (1.0, None)), "dtype complex128"),
        ((np.ones(3), (1j, None)), r"\[1\]\[0\] is a complex, its value is a float"),
        ((np.ones(3), ("1", None)), "a str"),
        ((np.ones(3), (None, None)), "None"),
        (([1.0, 1.0, 1.0], (1.0, None)), "a list"),
        ((1.0, (1.0, None)), "its value an array of shape"),
        (None, "None"),
    ],
)
def test_cotangent_mismatch(cotangent, words):
    _, back = vjp(pair, np.ones(3))
    with pytest.raises(CotangentMismatch, match=words) as e:
        back(cotangent)
    assert e.value.code == "PB304" and isinstance(e.value, ValueError)


@pytest.mark.parametrize("one", [1.0, 1, np.float32(1), np.float64(1), np.int64(1), np.array(1.0)])
def test_any_real_number_is_a_cotangent_of_a_float(one):
    _, back = vjp(lambda x: x * x, 3.0)
    assert back(one) == (6.0,)


def test_the_part_without_derivative_takes_anything():
    _, back = vjp(pair, np.ones(3))
    for nothing in (None, 0, "x"):
        assert np.array_equal(back((np.ones(3), (1.0, nothing)))[0], [3.0, 3.0, 3.0])


# -- lists and dicts -------------------------------------------------------------------------------
def listed(x):
    return [x * x, 3.0 * x]


def collected(x):
    out = []
    for i in range(x.size):
        out.append(i * x[i])
    return out


def named(x):
    return {"square": x * x, "triple": 3.0 * x}


def test_the_cotangent_of_a_list_is_a_list():
    _, back = vjp(listed, 2.0)
    assert "[float, float]" in repr(back)
    assert back([1.0, 10.0]) == back((1.0, 10.0)) == (34.0,)
    _, back = vjp(collected, np.ones(3))
    assert "list of float64[3]" in repr(back)
    for cotangent in ([1.0, 2, 3.0], (1.0, 2.0, 3.0)):
        np.testing.assert_array_equal(back(cotangent)[0], [0.0, 2.0, 6.0])


def test_the_cotangent_of_a_dict_goes_by_its_keys():
    _, back = vjp(named, 2.0)
    assert back({"triple": 10.0, "square": 1.0}) == (34.0,)


@pytest.mark.parametrize(
    ("f", "cotangent", "words"),
    [
        (listed, [1.0], "the cotangent is a list of 1, its value is a list of 2"),
        (listed, np.ones(2), "its value is a list of 2"),
        (listed, [1.0, "1"], r"the cotangent\[1\] is a str"),
        (collected, [1.0], r"the cotangent has shape \(1,\), its value \(3,\)"),
        (collected, [[1.0], 1.0, 1.0], "is a list of 3, its value is a list of numbers"),
        (collected, 1.0, "its value is a list of numbers"),
        (named, {"square": 1.0}, "its value is a dict of 'square', 'triple'"),
        (named, (1.0, 1.0), "its value is a dict"),
        (named, {"square": "1", "triple": 1.0}, r"the cotangent\['square'\] is a str"),
    ],
)
def test_cotangent_mismatch_of_containers(f, cotangent, words):
    _, back = vjp(f, np.ones(3) if f is collected else 2.0)
    with pytest.raises(CotangentMismatch, match=words):
        back(cotangent)
