"""Lists that loops fill, and lists whose items are assigned, are arrays inside compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.errors import TypingError
from pullback.typing_ import abstract_of, flat

from .support import check

X = np.arange(1.0, 7.0)
CASES = []


def case(*args):
    def register(f):
        CASES.append((f, args))
        return f

    return register


@case(X, 3)
def comprehensions(x, n):
    ys = [v * 2 for v in x]
    zs = [i * 0.5 for i in range(n)]
    ws = [a - b for a, b in zip(ys, x)]
    return np.array(ys), sum(zs), max(ws), len(ys), ys[-1], ws[n], zs


@case(X)
def appends(x):
    xs = []
    for i in range(1, len(x), 2):
        if x[i] > 3:
            v = x[i]
        else:
            v = -x[i]
        xs.append(v)
    s = 0.0
    for v in xs:
        s = s * 0.5 + v
    return s, np.array(xs), xs[0] + xs[-1]


@case(1.5, 4)
def recurrences(a, n):
    xs = [a, 1.0]
    for _ in range(n):
        xs.append(xs[-1] * 0.5 + xs[-2])
        a += len(xs)
    return np.asarray(xs), a, xs[1:3]


@case(2)
def of_integers(n):
    xs = [k * k for k in range(n)]
    ys = [k > 0 for k in range(n)]
    return xs, ys, xs[1] // 2


@case(0)
def empty(n):
    xs = [k * 0.5 for k in range(n)]
    return len(xs), 1.0 + sum(xs), xs


@case(X, 3)
def assigned(x, n):
    xs = [0.0] * n
    ys = [1, 2.0, 3]
    for i in range(n):
        xs[i] = x[i]
        ys[-i] += x[i]
    zs = [x[0]] * n
    return sum(xs), ys[0], ys[-1], zs[n - 1], len(zs)


@case(X)
def nested(x):
    total = 0.0
    for i in range(3):
        row = [v * i for v in x]
        row[0] = 5.0
        total += sum(row)
    return total


@case(X)
def appended_in_a_nest(x):
    total = 0.0
    for i in range(3):
        row = []
        for v in x:
            row.append(v * i + len(row))
        total += row[-1] + sum(row)
    return total


@case((1.0, 2.0), 3)
def written_out(t, n):
    a, *b = (*t, n)
    xs = [v * 0.5 for v in t]
    return a, [*b, a], xs, sum([v * 2 for v in (1.0, n)])


@case(X, 7)
def outside(x, n):
    xs = [v for v in x]
    return xs[n]


@case(X, -9)
def assigned_outside(x, n):
    xs = [0.0] * 3
    xs[n] = 1.0
    return xs[0]


@case(X, 2.5)
def filtered(x, least):
    xs = [v * v for v in x if v > least]
    ys = []
    for i, v in enumerate(x):
        if v > least and i % 2:
            ys.append(v)
        elif v < 0:
            continue
    return sum(xs), len(xs), xs[0], xs[-1], np.array(ys), sum(ys), len(ys), [y for y in ys], xs


@case(X, 2.5)
def stopped(x, most):
    xs = []
    for v in x:
        if v > most:
            break
        xs.append(v)
    else:
        xs[0] = 100.0
    return sum(xs), len(xs)


@case(X)
def never_appended(x):
    xs = [v for v in x if v > 100]
    return len(xs), xs, 1.0 + sum(xs)


@case(X, 1)
def used_while_it_grows(x, n):
    xs = [1.0]
    total = 0.0
    for v in x:
        if v > n and xs[-1] < 20:
            xs.append(v + xs[-1])
        total += sum(xs) * len(xs)
        xs[0] = total
    xs[-1] += 1.0
    return total, xs


@case(X)
def filtered_in_a_nest(x):
    total, lengths = 0.0, 0
    for i in range(4):
        row = [v * i for v in x if v > i]
        lengths += len(row)
        for k in range(len(row)):
            if k % 2:
                row[k] = 0.5
        total += sum(row)
    return total, lengths


@case(X)
def looked_at_while_it_grows(x):
    xs, total = [], 0.0
    for v in x:
        same = xs
        before = xs[:]
        xs.append(v * 0.5)
        for i, w in enumerate(xs):
            total += i * w
        total += len(same) - len(before) + np.array(xs).sum() + sum([2 * w for w in xs])
        total += max(xs) if v > 1 else min(xs)
    return total


@case(X)
def arrays_of_lists_are_arrays_of_their_own(x):
    xs, ys = [v * v for v in x], [x[0], x[1]]
    a, b, c = np.asarray(xs), np.ravel(ys), np.reshape(xs, (-1, 1))
    a[0], b[0], c[0, 0] = 100.0, 200.0, 300.0
    xs[1] = ys[1] = 7.0
    return sum(xs), sum(ys), a.sum(), b.sum(), c.sum()


@case(X, 1)
def past_the_filtered(x, n):
    xs = [v for v in x if v > 4]
    return xs[n + 1]


@pytest.mark.parametrize("f, args", CASES, ids=[f.__name__ for f, _ in CASES])
def test_agrees_with_cpython(f, args):
    check(f, *args)


def twice(x):
    xs = []
    for v in x:
        xs.append(v)
        xs.append(v)
    return sum(xs)


def in_a_while(x):
    xs, i = [], 0
    while i < len(x):
        xs.append(x[i])
        i += 1
    return sum(xs)


def itself(xs):
    return xs


def kept_by_a_tuple(x):
    xs, n = [], 0
    for v in x:
        pair = (xs, v)
        xs.append(v)
        n += len(pair[0])  # one more than when the pair was made
    return n


def kept_by_a_callee(x):
    xs, n = [], 0
    for v in x:
        same = itself(xs)
        if v > 1:
            xs.append(v)
        n += len(same)
    return n


def kept_by_an_iterator(x):
    xs, n = [], 0.0
    for v in x:
        pairs = enumerate(xs)
        xs.append(v)
        for i, w in pairs:
            n += i * w
    return n


@pytest.mark.parametrize(
    "f", [twice, in_a_while, kept_by_a_tuple, kept_by_a_callee, kept_by_an_iterator]
)
def test_lists_of_unknown_length_are_refused(f):
    with pytest.raises(TypingError) as e:
        flat(f, [abstract_of(X)])
    assert e.value.variable == "xs" and "np.empty" in e.value.hint


@pytest.mark.parametrize("name", ["pop", "sort", "reverse", "clear"])
@pytest.mark.parametrize("made", ["[v for v in x]", "[1.0, 2.0]"])
def test_methods_of_lists_that_there_are_not(name, made):
    scope = {}
    exec(f"def f(x):\n    xs = {made}\n    xs.{name}()\n    return xs[0]", scope)
    with pytest.raises(TypingError, match=f"a list has no method '{name}'") as e:
        flat(scope["f"], [abstract_of(X)])
    assert e.value.variable == "xs" and "np." in e.value.hint
