"""``vmap`` gives what a map over the lanes gives."""

import functools
import math
import pickle
from collections import namedtuple

import numpy as np
import pytest

import pullback as pb

rng = np.random.default_rng(0)
X = rng.normal(size=7)
Y = rng.normal(size=7)
M = rng.normal(size=(4, 7))


def divergent(x, y, *, scale=2.0):
    if x < 0:
        return -1.0
    n = 0
    while x < 5.0:
        x = x * 1.5 + abs(y)
        n += 1
        if n > 6:
            break
    return x * scale + n


def by_column(row, limit=1.0):
    total = 0.0
    for v in row:
        if total > limit:
            return total
        total += v
    return total


def handles(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return -1.0


def imports(x):
    import math as m

    return m.exp(x)


def writes_a_global(x):
    global last
    last = x
    return last


class Point:
    def __init__(self, x):
        self.x = x


def matches(x):
    match Point(x):
        case Point(x=y):
            return 2.0 * y


def inner_function(x):
    return (lambda y: x + y)(1.0)


Pair = namedtuple("Pair", "low high")


def pair(x, y):
    return Pair(x, y) if x < y else Pair(y, x)


def rows(a, axis=0):
    """What each lane gets."""
    moved = np.moveaxis(a, axis, 0)
    return moved.tolist() if moved.ndim == 1 else list(moved)


@pytest.mark.parametrize("f", [divergent, lambda x, y: x + y, pair, lambda x, y=3.0: x - y])
def test_all_arguments(f):
    got = pb.vmap(f)(X, Y)
    want = [f(x, y) for x, y in zip(rows(X), rows(Y))]
    if f is pair:
        assert type(got) is Pair
        got, want = np.array(got).T, np.array(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("in_axes, args", [
    ((0, None), (X, 0.5)), ((None, 0), (0.5, Y)), ((0, 0), (X, Y)), ((-1, 0), (X, Y)),
])  # fmt: skip
def test_axes_of_scalars(in_axes, args):
    columns = [rows(a) if n is not None else [a] * 7 for a, n in zip(args, in_axes)]
    want = [divergent(x, y) for x, y in zip(*columns)]
    np.testing.assert_array_equal(pb.vmap(divergent, in_axes)(*args), want)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_axes_of_matrices(axis):
    want = [by_column(row) for row in rows(M, axis)]
    np.testing.assert_array_equal(pb.vmap(by_column, axis)(M), want)


@pytest.mark.parametrize("out", [0, 1, 2, -1])
def test_out_axes(out):
    got = pb.vmap(lambda x, m: x * m, (0, None), out)(X, M)
    np.testing.assert_array_equal(np.moveaxis(got, out, 0), [x * M for x in X])


def test_out_axes_of_a_tuple():
    a, b, c = pb.vmap(lambda x, m: (m * x, x, 3), (0, None), (1, 0, None))(X, M)
    assert a.shape == (4, 7, 7) and c == 3
    np.testing.assert_array_equal(b, X)
    np.testing.assert_array_equal(a[:, 2], X[2] * M)


def test_results_in_containers():
    def f(x):
        return {"twice": 2 * x, "parts": [x, (x, -x)]}

    got = pb.vmap(f)(X)
    np.testing.assert_array_equal(got["twice"], 2 * X)
    np.testing.assert_array_equal(got["parts"][1][1], -X)


def test_arguments_in_containers():
    def f(pair, options):
        return pair[0] * options["scale"] - pair.high if options["on"] > 0 else pair.low

    axes = (Pair(0, None), {"scale": 0, "on": None})
    got = pb.vmap(f, axes)(Pair(X, 2.0), {"on": 1.0, "scale": Y})
    np.testing.assert_array_equal(got, X * Y - 2.0)
    np.testing.assert_array_equal(pb.vmap(lambda x: x[0] + x[1][0])([X, (Y,)]), X + Y)
    np.testing.assert_array_equal(
        pb.vmap(lambda w, x: x @ w["w"] + w["b"], (None, 1))({"w": np.ones(4), "b": 1.0}, M),
        [column @ np.ones(4) + 1.0 for column in M.T],
    )


def test_keyword_arguments():
    want = [divergent(x, y, scale=s) for x, y, s in zip(X.tolist(), Y.tolist(), X.tolist())]
    np.testing.assert_array_equal(pb.vmap(divergent)(X, Y, scale=X), want)
    want = [divergent(x, y, scale=3.0) for x, y in zip(X.tolist(), Y.tolist())]
    np.testing.assert_array_equal(pb.vmap(divergent)(X, y=Y, scale=3.0), want)
    want = [by_column(r, -1.0) for r in M.T]
    np.testing.assert_array_equal(pb.vmap(by_column)(M.T, limit=-1.0), want)


def test_array_defaults_are_the_same_in_all_lanes():
    def f(x, table=np.arange(3.0)):
        return x + table[2] + len(table)

    np.testing.assert_array_equal(pb.vmap(f)(X), X + 2.0 + 3)


class Affine:
    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a * x if x > 0 else x

    def method(self, x):
        return self(x)

    @pb.vmap
    def mapped(self, x):
        return self.a + x


@pytest.mark.parametrize("f", [
    handles, imports, writes_a_global, matches, inner_function, math.exp, np.sin,
    Affine(3.0), Affine(3.0).method,
    functools.partial(divergent, 1.0), lambda *xs: xs[0] * 2, lambda x, **kw: x + len(kw),
    pb.grad(lambda x: x * x),
])  # fmt: skip
def test_any_callable(f):
    np.testing.assert_array_equal(pb.vmap(f)(X), [f(x) for x in X.tolist()])


def test_methods_and_decorators():
    np.testing.assert_array_equal(Affine(2.0).mapped(X), X + 2.0)

    @pb.vmap(in_axes=1)
    def norm(column):
        """Its norm."""
        return math.sqrt(sum(v * v for v in column))

    np.testing.assert_array_equal(norm(M), [math.sqrt(sum(v * v for v in c)) for c in M.T])
    assert norm.__doc__ == "Its norm." and norm.__name__ == "norm"


def test_nested():
    got = pb.vmap(pb.vmap(lambda x, y: x if x < y else y), (0, None))(M, Y)
    np.testing.assert_array_equal(got, np.minimum(M, Y))


def test_dtypes():
    singles = X.astype(np.float32)
    assert pb.vmap(lambda x: x * x)(singles).dtype == np.float32
    assert pb.vmap(lambda n: n * n)(np.arange(3)).dtype == np.arange(3).dtype
    assert pb.vmap(lambda x: x > 0)(X).dtype == bool


def test_a_redefined_function_is_seen():
    def f(x):
        return x + 1.0

    mapped = pb.vmap(f)
    assert mapped(np.zeros(2)).tolist() == [1.0, 1.0]
    f.__code__ = (lambda x: x + 2.0).__code__
    assert mapped(np.zeros(2)).tolist() == [2.0, 2.0]


def test_pickles():
    again = pickle.loads(pickle.dumps(pb.vmap(by_column, 1)))
    np.testing.assert_array_equal(again(M), pb.vmap(by_column, 1)(M))


@pytest.mark.parametrize("call, match", [
    (lambda: pb.vmap(divergent)(X, Y[:3]), "3 and 7 lanes"),
    (lambda: pb.vmap(divergent)(X, Y, scale=Y[:3]), "3 and 7 lanes"),
    (lambda: pb.vmap(divergent)(X, 1.0), "float has no axis"),
    (lambda: pb.vmap(divergent, None)(1.0, 1.0), "no argument has lanes"),
    (lambda: pb.vmap(divergent, (0,))(X, Y), "1 entries for 2"),
    (lambda: pb.vmap(divergent, 1)(X, Y), r"axis 1 of an array of shape \(7,\)"),
    (lambda: pb.vmap(divergent, "x")(X, Y), "no axis"),
    (lambda: pb.vmap(pair, ((0, 0, 0), 0))((X, Y), Y), r"does not fit a tuple of 2"),
    (lambda: pb.vmap(pair, ({"x": 0}, 0))((X,), Y), r"does not fit a tuple of 1"),
    (lambda: pb.vmap(pair, ({"x": 0}, 0))({"y": X}, Y), r"does not fit a dict of 1"),
    (lambda: pb.vmap(pair)((X, Y[:2]), Y), "2 and 7 lanes"),
    (lambda: pb.vmap(lambda x: x * M)(X[:0]), "no lanes"),
    (lambda: pb.vmap(np.sin)(X[:0]), "no lanes"),
    (lambda: pb.vmap(handles)(X[:0]), "no lanes"),
    (lambda: pb.vmap(abs, out_axes=None)(X), "different"),
    (lambda: pb.vmap(abs, out_axes=1)(X), "out_axes=1"),
    (lambda: pb.vmap(abs, out_axes=(0, 0))(X), "no tuple"),
    (lambda: pb.vmap(lambda x: np.ones(int(x)))(np.arange(3.0)), "different kinds"),
    (lambda: pb.vmap(lambda x: (x, x) if x > 0 else (x,))(X), "different kinds"),
    (lambda: pb.vmap(lambda x: x if x > 0 else None)(X), "different kinds"),
])  # fmt: skip
def test_bad_use(call, match):
    with pytest.raises(pb.PullbackError, match=rf"PB507.*{match}"):
        call()


@pytest.mark.parametrize("f, axes, args", [
    (divergent, 0, (X, Y)), (lambda x: (x > 0, (x, 1)), 0, (X,)),
    (lambda n: n * 2, 0, (np.arange(3),)), (lambda *xs: xs[0] * 2, 0, (X, Y)),
    (lambda r: r.sum(), 1, (M,)), (lambda r, k: r[0] * k, (0, None), (M.T, 3.0)),
    (lambda z: z * z, 0, (1j * X,)), (lambda n, x: n * x, 0, (np.arange(7), X)),
])  # fmt: skip
def test_no_lanes_give_empty_arrays_of_the_right_type(f, axes, args):
    each = axes if isinstance(axes, tuple) else (axes,) * len(args)
    none = [
        x if a is None else np.moveaxis(np.moveaxis(x, a, 0)[:0], 0, a) for x, a in zip(args, each)
    ]
    want, got = pb.vmap(f, axes)(*args), pb.vmap(f, axes)(*none)

    def compare(want, got):
        if isinstance(want, tuple):
            assert type(got) is tuple and len(got) == len(want)
            for pair in zip(want, got):
                compare(*pair)
        else:
            assert got.shape == (0, *want.shape[1:]) and got.dtype == want.dtype

    compare(want, got)


def test_errors_of_a_lane_and_of_the_call():
    with pytest.raises(ZeroDivisionError):
        pb.vmap(lambda x: 1.0 / x)(np.array([1.0, 0.0]))
    with pytest.raises(TypeError, match="divergent"):
        pb.vmap(divergent)(X)
