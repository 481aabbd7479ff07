"""The passes that need no types, on functions as they are lifted."""

import pytest

from pullback.backend import lower
from pullback.frontend import lift
from pullback.ir.verify import verify
from pullback.passes.copy_prop import copy_prop
from pullback.passes.cse import cse
from pullback.passes.dce import dce
from pullback.passes.fold import fold
from pullback.passes.lcssa import lcssa
from pullback.passes.licm import licm
from pullback.passes.loop_canonical import loop_canonical
from pullback.passes.manager import PassManager
from pullback.passes.simplify_cfg import simplify_cfg


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 200:
            return None
    return steps


def primes(n):
    found = []
    for k in range(2, n):
        for p in found:
            if k % p == 0:
                break
        else:
            found.append(k)
    return found


def skipping(n):
    total, i = 0, 0
    while i < n:
        i += 1
        if i % 3 == 0:
            continue
        if i > 20:
            break
        total += i
    return total, i


def swapping(n):
    a, b, c = 0, 1, 2
    for _ in range(n):
        a, b, c = b, c, a + b
    return a, b, c


def unbound(n):
    for i in range(n):
        last = i
    return last


def text(n):
    return f"{n!r:>4}" + "".join(str(i) for i in [n, n + 1] if i) * (2 if n > 1 else 1)


def raising(n):
    assert n > 1, "small"
    return [10 // (i - 3) for i in range(n)]


def chained(n):
    return (0 < n < 5 and (n if n & 1 else -n)) or "none"


def nested(n):
    grid = [[i * j for j in range(n)] for i in range(n)]
    for row in grid:
        for x in row:
            if x == 6:
                return row, x
    return grid


def dictionary(n):
    d = {}
    for i in range(n):
        d.setdefault(i % 3, []).append(i)
    return {k: v for k, v in d.items() if len(v) > 1}


FUNCTIONS = [collatz, primes, skipping, swapping, unbound, raising, chained, dictionary]
FUNCTIONS += [text, nested]


def manager():
    passes = PassManager(verify=verify)
    for f in (simplify_cfg, copy_prop, fold, cse, dce, licm, loop_canonical, lcssa):
        passes.add(f)
    return passes


def result(f, n):
    try:
        return f(n)
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_behaves_as_before(f):
    ir = lift(f)
    manager().run(ir)
    again = lower(ir)
    for n in (0, 1, 2, 3, 5, 8, 27):
        assert result(again, n) == result(f, n), str(ir)


def test_something_was_done():
    changes = {}
    for f in FUNCTIONS:
        passes = manager()
        passes.run(lift(f))
        for name, times in passes.changes.items():
            changes[name] = changes.get(name, 0) + times
    assert changes["loop_canonical"] > 3 and changes["lcssa"] > 3
