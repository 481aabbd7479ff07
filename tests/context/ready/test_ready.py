"""Trace, Mock, NonFinite and Flops."""

import math
import operator
import random
import threading
import time

import numpy as np
import pytest
from scipy import linalg
from scipy.linalg import blas

import pullback as pb
from pullback.context.ready.flops import Flops
from pullback.context.ready.mock import Mock
from pullback.context.ready.nan import NonFinite
from pullback.context.ready.trace import Trace


def norm(x):
    return math.sqrt(total(x * x))


def total(x):
    return np.sum(x)


def test_trace():
    trace = Trace()
    assert trace.overdub(norm, np.array([3.0, 4.0])) == 5.0
    assert str(trace).splitlines() == [
        "total(float64[2]) -> 25.0",
        "  sum(float64[2]) -> 25.0",
        "sqrt(25.0) -> 5.0",
    ]
    first, _ = trace.calls
    assert (first.loc.file, first.loc.line) == (__file__, norm.__code__.co_firstlineno + 1)
    assert first.loc.function == "norm" and first.below[0].loc.function == "total"
    assert first.seconds >= first.below[0].seconds > 0
    assert trace.html().count("<details>") == 1 and "float64[2]" in trace.html()
    trace = Trace()
    trace.overdub(lambda text: len(text), "<b>&")
    assert "len(&#x27;&lt;b&gt;&amp;&#x27;) → 4" in trace.html() and "<b>" not in trace.html()


def test_trace_of_the_language_and_of_exceptions():
    trace = Trace(language=True)
    with pytest.raises(ZeroDivisionError):
        trace.overdub(lambda x: int(x) / 0, 1.0)
    assert str(trace).splitlines() == ["int(1.0) -> 1", "truediv(1, 0) -> raised ZeroDivisionError"]


class Strange:
    """No comparison, no hash, no attributes."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError

    def __getattr__(self, name):
        raise AttributeError(name)

    def __call__(self):
        return 10**5000


def test_strange_values_are_described():
    trace = Trace()
    trace.overdub(lambda x: total(x()), Strange())
    assert str(trace).splitlines()[0] == "Strange() -> <int of 16610 bits>"
    for kind in (Flops, NonFinite, lambda: Mock({now: 1})):
        assert kind().overdub(lambda x: x(), Strange()) == 10**5000


def now():
    return time.time()


def test_mock_replaces_in_its_run_alone():
    mock = Mock({time.time: 7.0, random.random: lambda: 0.25, dict.get: lambda d, k: (d, k)})
    other = []

    def program():
        thread = threading.Thread(target=outside)
        return now() + random.random(), {1: 2}.get(1)

    def outside():
        other.append(now())

    assert mock.overdub(program) == (7.25, ({1: 2}, 1))
    assert now() != 7.0
    assert [len(mock.calls[f]) for f in (time.time, random.random, dict.get)] == [1, 1, 1]
    assert mock.calls[dict.get][0].args == ({1: 2}, 1)


def softmax(x):
    e = np.exp(x)
    s = e / np.sum(e)
    return np.log(s)


def test_the_first_operation_that_is_not_finite():
    with np.errstate(all="ignore"):
        check = NonFinite()
        check.overdub(softmax, np.array([1.0, 1000.0]))
        found = check.found
        assert (found.function, found.index, found.inputs) == ("exp", (1,), ["1000.0"])
        assert (found.loc.file, found.loc.line) == (__file__, softmax.__code__.co_firstlineno + 1)
        assert found.result == "inf"
        late = NonFinite(infinities=False)
        late.overdub(softmax, np.array([1.0, 1000.0]))
        assert late.found.function == "truediv" and late.found.result == "nan"
        fine = NonFinite()
        fine.overdub(softmax, np.array([1.0, 2.0]))
        assert fine.found is None
        given = NonFinite()
        given.overdub(softmax, np.array([1.0, np.nan]))
        assert given.found is None  # it came in
        with pytest.raises(pb.PullbackError, match=r"PB506.*exp\(1000.0\) gave inf"):
            NonFinite(stop=True).overdub(softmax, np.array([1.0, 1000.0]))


def in_place(x):
    x /= np.array([1.0, 0.0, 1.0])
    return x


def after_overflow(x):
    y = np.zeros(3, np.float32)
    y[1] = x[0] * 1e300
    return y


MADE = {
    "in place": (in_place, "itruediv", [1.0, 0.0, 3.0], (1,), ["0.0", "0.0"]),
    "out=": (lambda x: np.log(x, out=x), "log", [1.0, 0.0, 2.0], (1,), ["0.0"]),
    "out": (
        lambda x: np.divide(x, x, np.full(3, np.nan)),
        "divide",
        [1.0, 0.0, 2.0],
        (1,),
        ["0.0"] * 2,
    ),
    "method": (lambda x: x.__itruediv__(0.0), "itruediv", [1.0, 2.0, 0.0], (0,), ["1.0", "0.0"]),
    "two results": (
        lambda x: np.divmod(x, 0.0)[1],
        "divmod",
        [1.0, 2.0, 3.0],
        (0,),
        ["1.0", "0.0"],
    ),
    "of infinities": (lambda x: x - x, "sub", [np.inf, 1.0, 2.0], (0,), ["inf", "inf"]),
    "beside what came in": (lambda x: np.log(x), "log", [np.nan, 1.0, 0.0], (2,), ["0.0"]),
    "stored": (after_overflow, "setitem", [1.0, 2.0, 3.0], None, ["1e+300"]),
    "written by a function": (
        lambda x: np.put(x, [1], 1e39),
        "put",
        np.ones(3, np.float32),
        (1,),
        None,
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_wherever_the_number_is_written(name):
    program, function, x, index, inputs = MADE[name]
    check = NonFinite()
    with np.errstate(all="ignore"):
        check.overdub(program, np.array(x))
    found = check.found
    assert (found.function.strip("_"), found.index) == (function, index)
    assert inputs is None or found.inputs == inputs


@pytest.mark.parametrize("program", [
    lambda x: x * 2.0, in_place, lambda x: x @ np.ones((3, 3)), lambda x: np.sum(x),
    lambda x: [v for v in x], lambda x: np.add(x, x, out=x), lambda x: (x, x), lambda x: x.copy(),
])  # fmt: skip
def test_what_came_in_is_not_made(program):
    check = NonFinite()
    check.overdub(program, np.array([1.0, np.nan, 2.0]))
    assert check.found is None


def test_a_failed_call_is_forgotten():
    def program(x):
        try:
            np.add(x, np.ones(7), out=x)
        except ValueError:
            pass
        x -= np.inf
        return x

    check = NonFinite()
    check.overdub(program, np.ones(3))
    assert check.found is None  # the infinity came in
    assert check._before() == []


def flops(program, *args):
    count = Flops()
    count.overdub(program, *args)
    return count


def test_flops_are_exact():
    m, n, k = 3, 4, 5
    a, b, x = np.ones((m, k)), np.ones((k, n)), np.ones(k)
    axpy = flops(lambda a, x, y: a * x + y, 2.0, x, x)
    assert (axpy.total, axpy.bytes) == (2 * k, 5 * 8 * k)
    assert axpy.by_function == {"mul": k, "add": k}
    assert flops(lambda a, x: a @ x, a, x).total == 2 * m * k
    assert flops(lambda a, b: a @ b, a, b).total == 2 * m * n * k
    assert flops(lambda a, b: np.dot(a, b), a, b).total == 2 * m * n * k
    gemm = flops(lambda a, b: a @ b, a, b)
    assert gemm.bytes == 8 * (m * k + k * n + m * n)
    assert gemm.intensity == gemm.total / gemm.bytes
    assert flops(lambda x, y: x + y, np.ones((m, 1)), np.ones(n)).total == m * n
    assert flops(lambda x: np.sum(x) + x.sum(axis=0)[0], np.ones((m, n))).total == (
        (m * n - 1) + (m * n - n) + 1
    )
    assert flops(lambda x: np.mean(x), np.ones((m, n))).total == m * n
    assert flops(lambda x: x * x, 1j * x).total == 6 * k
    assert flops(lambda a, b: np.linalg.solve(a, b), np.eye(6), np.ones(6)).total == 2 * 72 + 72


STACK = np.stack([np.eye(3) + k for k in range(7)])
A, B, S = np.ones((4, 3)), np.ones((3, 5)), np.eye(4) + 1.0
Z = A[0] + 0j


@pytest.mark.parametrize("program, expected", [
    (lambda: np.einsum("ij,jk->ik", A, B), 2 * 4 * 3 * 5), (lambda: np.tensordot(A, B, 1), 120),
    (lambda: np.matmul(np.ones((7, 4, 3)), B), 7 * 120), (lambda: A.dot(B), 120),
    (lambda: A @ np.ones(3), 24), (lambda: A + np.ones(3), 12), (lambda: A[0] * B.T, 15),
    (lambda: np.add.outer(A[0], B[0]), 15), (lambda: np.add.reduce(A[0]), 2),
    (lambda: np.multiply.reduce(A, axis=None), 11), (lambda: np.var(A), 48), (lambda: A % 2.0, 12),
    (lambda: blas.daxpy(A[0], A[1], a=2.0), 6), (lambda: blas.dgemv(1.0, A, A[0]), 24),
    (lambda: blas.dgemm(1.0, A, B), 120), (lambda: blas.dgemm(1.0, A, A, trans_b=1), 96),
    (lambda: blas.zdotu(Z, Z), 24), (lambda: linalg.cho_factor(S), 64 / 3),
    (lambda: linalg.lu_factor(S), 128 / 3), (lambda: linalg.solve(S, S), 128 / 3 + 128),
    (lambda: linalg.solve_triangular(S, S[0]), 16), (lambda: linalg.norm(A), 24),
    (lambda: np.dot(np.ones((2, 3, 4)), np.ones((5, 4, 6))), 2 * 2 * 3 * 5 * 6 * 4),
    (lambda: np.linalg.inv(STACK), 7 * 2 * 27), (lambda: np.linalg.det(STACK), 7 * 18),
    (lambda: np.linalg.solve(STACK, np.ones((7, 3, 2))), 7 * (18 + 36)),
    (lambda: np.linalg.cholesky(STACK), 7 * 9), (lambda: np.linalg.qr(STACK), 7 * 36),
    (lambda: np.sum(Z), 2 * 2), (lambda: np.prod(Z), 2 * 6), (lambda: A.__add__(A), 12),
    (lambda: np.add(A, A, where=A < 0, out=A.copy()), 0),
    (lambda: np.add(A, 1.0, where=A > 0, out=A.copy()), 12),
    (lambda: sum([A, A, A]), 24), (lambda: sum(A[0]), 2), (lambda: sum(Z), 2 * 2),
])  # fmt: skip
def test_flops_by_formula(program, expected):
    count = flops(program)
    assert count.total == pytest.approx(expected, rel=1e-14)
    assert bool(count.bytes) is bool(expected) and not count.uncounted


@pytest.mark.parametrize("program, expected", [
    (lambda: sum(v * v for v in [1.0, 2.0, 3.0]), 3 + 2), (lambda: sum([1, 2, 3]), 0),
    (lambda: sum([1, 2, 3], 0.5), 3), (lambda: math.fsum(iter([1.0, 2.0, 3.0])), 2),
    (lambda: math.prod([1.0, 2.0, 3.0]), 2), (lambda: math.prod([1, 2]), 0),
    (lambda: math.dist([1.0, 2.0], [3.0, 4.0]), 6), (lambda: math.copysign(1.0, -2.0), 0),
    (lambda: (np.conj(A), +A, np.positive(A)), 0),
])  # fmt: skip
def test_flops_of_lists_and_of_what_is_free(program, expected):
    assert flops(program).total == expected


def test_an_array_that_is_written_to_is_moved_once():
    x, y, z = np.ones((3, 5))
    for program in (
        lambda: np.multiply(x, y, out=z),
        lambda: np.multiply(x, y, z),
        lambda: np.multiply(x, y, out=x),
        lambda: operator.imul(x, y),
    ):
        count = flops(program)
        assert (count.total, count.bytes) == (5, 3 * 40)


def test_what_has_no_formula_is_listed():
    count = flops(lambda x: np.fft.fft(x) + np.convolve(x, x)[0], A[0])
    assert count.uncounted == {"fft": 1, "convolve": 1} and count.total == 6


def test_methods_of_arrays_move_their_array():
    assert flops(lambda x: x.sum(axis=1), A).bytes == 8 * (12 + 4)


def test_flops_of_scalar_code_and_of_what_is_no_arithmetic():
    def poly(x, n):
        y = 0.0
        for i in range(n):
            y = y * x + 1.0
        return y if x < 2.0 else math.exp(x)

    count = flops(poly, 3.0, 10)
    assert count.by_function == {"mul": 10, "add": 10, "exp": 1}
    assert flops(lambda n: n * 2 + 1, 3).total == 0
    assert flops(lambda x: (x < 1.0, x[1:], np.floor(x), x.shape), np.ones(3)).total == 0
    assert count.bytes == 0 and count.intensity == math.inf
