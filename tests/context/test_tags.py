"""Tagging: metadata beside values, what it survives, and what drops it."""

import functools
import gc
import operator
from collections import deque

import numpy as np
import pytest

import pullback as pb


class Diff(pb.Context):
    """Derivatives of sums and products: the metadata of a number is its tangent."""


@Diff.primitive(operator.mul)
def _(ctx, x, y):
    z, dx, dy = x * y, pb.metadata(x, ctx), pb.metadata(y, ctx)
    parts = ([] if dx is None else [dx * y]) + ([] if dy is None else [x * dy])
    return tagged(z, ctx, parts)


@Diff.primitive(operator.add)
def _(ctx, x, y):
    z = x + y
    return tagged(z, ctx, [d for d in (pb.metadata(x, ctx), pb.metadata(y, ctx)) if d is not None])


def tagged(z, ctx, parts):
    if not parts:
        return z
    return pb.tag(z, ctx, parts[0] if len(parts) == 1 else parts[0] + parts[1])


def D(f):
    def derivative(x):
        ctx = Diff()
        d = pb.metadata(ctx.overdub(f, pb.tag(x, ctx, 1.0)), ctx)
        return 0.0 if d is None else d

    return derivative


def test_perturbations_are_not_confused():
    assert D(lambda x: x * D(lambda y: x * y)(2.0))(5.0) == 10.0
    assert D(lambda x: x * D(lambda y: x * y)(x))(5.0) == 10.0
    assert D(lambda x: x * D(lambda y: x + y)(1.0))(1.0) == 1.0
    assert D(lambda x: x * D(lambda y: y * D(lambda z: x * y * z)(1.0))(2.0))(3.0) == 24.0
    assert D(D(D(lambda x: x * x * x)))(3.0) == 6.0


class Mark(pb.Context):
    pass


def kept(program, value=2.5):
    """The metadata of what a program makes of a tagged value."""
    ctx = Mark()
    return pb.metadata(ctx.overdub(program, pb.tag(value, ctx, "mark")), ctx)


class Thing:
    pass


def through_attribute(x):
    thing = Thing()
    thing.x = 0.0
    thing.x = x
    return thing.x


def through_global(x):
    global somewhere
    somewhere = x
    return somewhere


def through_list(x):
    xs = [0.0] * 5
    xs[2] = x
    xs.insert(0, 1.0)
    xs.pop()
    xs.reverse()
    del xs[0]
    xs.append(3.0)
    return sorted(xs, key=lambda v: -v if v is x else 1.0)[0]


def through_object_array(x):
    a = np.empty(3, object)
    a[:] = 1.0
    a[1] = x
    return a[::-1][1]


def through_closure(x):
    def inner():
        return x

    return inner()


def through_growing_and_shrinking(x):
    xs = []
    for k in range(50):
        xs.append(x if k == 17 else float(k))
    for _ in range(10):
        xs.pop(0)
    xs.extend([1.0] * 100)
    del xs[20:]
    return xs[7]


def through_growing_dict(x):
    known = {k: float(k) for k in range(3)}
    known["x"] = x
    known.update({k: 1.0 for k in range(200)})
    known.pop(1)
    return {**known}["x"]


def through_nested(x):
    _, [b] = (1, [{"k": (x,)}])
    (c,) = b["k"]
    return c


def through_exception(x):
    try:
        raise ValueError(x)
    except ValueError as e:
        return e.args[0]


def through_copies_of_object_arrays(x):
    a = np.empty((3, 3), object)
    a[:] = 0.0
    a[1, 2] = x
    return a.T[[2, 1]].copy()[0, 1]


def through_match(x):
    match {"a": [1, x]}:
        case {"a": [_, y]}:
            return y


SURVIVES = [
    through_growing_and_shrinking,
    through_growing_dict,
    through_nested,
    through_exception,
    through_copies_of_object_arrays,
    through_match,
    lambda x: functools.partial(lambda a, b: b, 1)(x),
    lambda x: functools.reduce(lambda a, b: b, [1.0, x]),
    lambda x: list(zip([1, 2], [3.0, x]))[1][1],
    lambda x: deque([x, 1.0], maxlen=2).popleft(),
    lambda x: (1, x, 3)[1],
    lambda x: {"a": 1, "b": x}["b"],
    lambda x: [x][0],
    through_attribute,
    through_global,
    through_list,
    through_object_array,
    through_closure,
    lambda x: (lambda *args: args[1])(0, x),
    lambda x: (lambda **kw: kw["k"])(k=x),
    lambda x: (lambda a, b=2: b)(1, b=x),
    lambda x: (lambda a, b: b)(*(1, x)),
    lambda x: [v for v in (1.0, x)][1],
    lambda x: max(0.0, x),
    lambda x: (lambda a, *rest: rest)(1, x)[0],
]


@pytest.mark.parametrize("k", range(len(SURVIVES)))
def test_metadata_survives(k):
    assert kept(SURVIVES[k]) == "mark"


@pytest.mark.parametrize("program", [
    lambda x: x + 0.0, lambda x: np.asarray([x])[0], lambda x: float(str(x)), lambda x: 2.5,
])  # fmt: skip
def test_operations_without_a_rule_drop_it(program):
    assert kept(program) is None


def test_overwriting_drops_it():
    def program(x):
        xs = [x]
        xs[0] = 1.0
        return xs[0]

    assert kept(program) is None


def test_identity_and_foreign_calls_are_undisturbed():
    ctx, box, array = Mark(), [1], np.ones(2)
    assert pb.tag(box, ctx, 1) is box and pb.tag(array, ctx, 2) is array
    assert (pb.metadata(box, ctx), pb.metadata(array, ctx)) == (1, 2)
    x = pb.tag(2.0, ctx, 3)
    assert type(x) is float and x == 2.0 and np.sqrt(x * 2) == 2.0
    assert ctx.overdub(lambda x: "yes" if x > 1.0 else "no", x) == "yes"
    assert pb.untag(box, ctx) is box and pb.metadata(box, ctx) is None


@pytest.mark.parametrize("value", [
    1.5, 1j, 10**30, "ab", b"ab", (1, 2), frozenset({1}), np.float64(1.0), np.int64(3),
])  # fmt: skip
def test_equal_values_are_not_tagged_along(value):
    ctx = Mark()
    x = pb.tag(value, ctx, 1)
    assert x == value and type(x) is type(value)
    assert pb.metadata(x, ctx) == 1 and pb.metadata(value, ctx) is None
    y = pb.untag(x, ctx)
    assert y == x and pb.metadata(y, ctx) is None and pb.metadata(x, ctx) == 1


@pytest.mark.parametrize("value", [3, True, None, "a", ..., 0, -5, ()])
def test_what_is_one_object_for_all_is_refused(value):
    with pytest.raises(pb.PullbackError, match="PB505"):
        pb.tag(value, Mark(), 1)


def test_contexts_do_not_mix():
    a, b = Mark(), Mark()
    x = pb.tag(pb.tag(2.0, a, "a"), b, "b")
    assert (pb.metadata(x, a), pb.metadata(x, b)) == ("a", "b")
    y = pb.untag(x, a)
    assert (pb.metadata(y, a), pb.metadata(y, b)) == (None, "b")


def test_without_a_context():
    for wrong in (lambda: pb.tag(1.0, None, 1), lambda: pb.metadata(1.0, Mark)):
        with pytest.raises(pb.PullbackError, match="PB503"):
            wrong()


def test_shadows_of_dead_objects_are_swept():
    ctx = Mark()
    first = pb.tag(0.5, ctx, "first")
    for k in range(10_000):
        pb.tag(k + 0.5, ctx, k)
    gc.collect()
    assert len(ctx._shadows) < 3000
    assert pb.metadata(first, ctx) == "first"
