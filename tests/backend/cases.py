"""Functions with every construct that lifts, each with calls to compare: `CASES`."""

from __future__ import annotations

import math
from typing import Any

CASES: list[tuple[Any, tuple[tuple[Any, ...], ...]]] = []
CONSTANT = 7
WRITTEN = 0


def case(*calls: tuple[Any, ...]) -> Any:
    def enter(f: Any) -> Any:
        CASES.append((f, calls))
        return f

    return enter


class Log(list):
    """Records what is done to it."""

    def __getattr__(self, name: str) -> Any:
        self.append(("get", name))
        return len(self)

    def __bool__(self) -> bool:
        self.append("bool")
        return True


# -- operators -----------------------------------------------------------------------------------
@case((7, 3), (7.5, -2), (6, 0))
def arithmetic(a, b):
    return (
        a + b, a - b, a * b, a**2, -a, +a, a < b, a <= b, a == b, a != b, a > b, a >= b,
        a % b, a // b, a / b,
    )  # fmt: skip


@case((12, 5))
def bits(a, b):
    c = a & b
    d = a | b
    e = a ^ b
    return c, d, e, ~a, a << 2, a >> 1


@case((9, 4))
def augmented(a, b):
    r = []
    x = a
    x += b
    r.append(x)
    x -= 1
    x *= 3
    r.append(x)
    x //= 2
    x %= 7
    x **= 2
    r.append(x)
    x <<= 3
    x >>= 1
    x |= 1
    x &= 255
    x ^= 3
    x /= 2
    return r, x


@case(([1], [2]), ([], []))
def in_place_keeps_identity(a, b):
    c = a
    c += b
    return c is a, a, c is not b


@case((1, 2, 3), (3, 2, 1), (2, 2, 2))
def chains(a, b, c):
    return a < b < c, a <= b <= c, a == b == c, (a < b < c) or (a > b > c)


@case((1,), (None,), ([],))
def identities(x):
    return x is None, x is not None, not x, x in [1, None], x not in [1, 2]


# -- branches ------------------------------------------------------------------------------------
@case((0, 0), (0, 1), (1, 0), (1, 1), ("", []))
def short_circuit(a, b):
    return a and b, a or b, not (a and b), a if b else (b or 5), (a and b) or (b and a) or "none"


@case((1,), (-1,), (0,), (None,))
def ladders(x):
    if x is None:
        return "none"
    if x > 0:
        y = "positive"
    elif x < 0:
        y = "negative"
    else:
        return "zero"
    return y


@case(())
def truth_is_asked_as_often():
    log = Log()
    if log and not log:
        pass
    x = 1 if log else 2
    while log and len(log) < 6:
        pass
    return list(log), x


# -- loops ---------------------------------------------------------------------------------------
@case((10,), (0,), (1,))
def loops(n):
    out = []
    for i in range(n):
        if i == 2:
            continue
        if i == 7:
            break
        for j in range(i):
            if j > 2:
                break
            out.append((i, j))
        else:
            out.append("inner")
    else:
        out.append("outer")
    while n > 0:
        n -= 3
        if n == 4:
            break
    else:
        out.append(n)
    return out


@case((0,), (1,), (2,), (3,), (4,), (5,), (6,))
def swap(n):
    a, b = 1, 2
    for _ in range(n):
        a, b = b, a
    return a, b


@case((0,), (1,), (2,), (3,), (4,), (5,), (6,))
def rotate(n):
    a, b, c = 1, 2, 3
    while n:
        a, b, c = c, a, b
        n -= 1
    return a, b, c


@case((1,), (2,))
def one_name_for_many_values(n):
    x = n + 1
    y = x
    x = x * 2
    z = x
    x = x + y
    for _ in range(3):
        w = x
        x = x + z
        z = w - y
    return x, y, z, w


@case((12,), (27,))
def collatz(n):
    steps = 0
    while True:
        if n == 1:
            return steps
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1


@case(([3, 1, 2],))
def early_return_in_nested_loops(xs):
    for i, x in enumerate(xs):
        for j, y in enumerate(xs):
            if x + y == 3 and i != j:
                return i, j
    return None


# -- displays, comprehensions, unpacking ---------------------------------------------------------
@case((1, [2, 3], {"k": 4}))
def displays(a, b, c):
    return (
        [a, b], (a, b), {a, 2}, {a: b, "x": c}, [1, 2, 3, 4], {1, 2, 3}, [*b, a, *b], (*b, a),
        {**c, "z": 1}, {*b, 9}, [], (), {}, [None], (a,),
    )  # fmt: skip


@case((4,), (0,))
def comprehensions(n):
    x = "kept"
    squares = [x * x for x in range(n) if x != 2]
    pairs = {(i, j) for i in range(n) for j in range(i)}
    names = {str(i): i for i in range(n)}
    nested = [[i * j for j in range(i)] for i in range(n)]
    late = [f() for f in [lambda k=k: k + n for k in range(n)]]
    total = sum(v for v in squares)
    return x, squares, pairs, names, nested, late, total


@case((3,))
def comprehension_cells(n):
    fs = [lambda: i for i in range(n)]
    return [f() for f in fs], [[g() for g in [lambda: i + j]] for i in range(n) for j in range(2)]


@case(((1, (2, 3), 4, 5),), ((1, [2, 3]),), (("a", "bc", "d"),))
def unpacking(x):
    first, (p, q), *rest = x
    *head, last = x
    a, *middle, z = [first, p, q, last]
    for u, (v, *w) in [(1, (2, 3, 4)), (2, (5,))]:
        rest.append((u, v, w))
    return first, p, q, rest, head, last, a, middle, z


@case(((1,),), ((1, 2, 3),), (5,))
def unpacking_fails(x):
    a, b = x
    return a, b


@case(([0, 1, 2, 3, 4, 5], 1, 4))
def slices(xs, a, b):
    ys = list(xs)
    ys[a:b] = [9]
    del ys[0]
    zs = xs[:]
    zs[::2] = [7, 7, 7]
    return xs[a:b], xs[a:], xs[:b], xs[::-1], xs[a:b:2], xs[-1], ys, zs, "word"[1:3]


@case(([1, 2],), ((1, 2),))
def stores(xs):
    xs[0] = xs[1] + 1
    xs[0] += 5
    d = {}
    d["a"] = d["b"] = xs
    d["a"][1] *= 2
    del d["b"]
    return xs, d


# -- strings -------------------------------------------------------------------------------------
@case((3.14159, "w", 12), (-1.0, "é", 3))
def f_strings(x, s, n):
    return f"{x:.2f} {s!r:>5} {s!s} {s!a} {x:{n}.1f} {n}{{}}{n=} {n!r}", f"{s}", "plain"


# -- calls ---------------------------------------------------------------------------------------
def target(a, /, b, c=3, *rest, d, e=5, **more):
    return a, b, c, rest, d, e, more


@case(((4, 5), {"d": 6}), ((), {"d": 1, "z": 2}), ((1,), {"c": 1}))
def calls(args, kwargs):
    return (
        target(1, 2, d=4),
        target(1, 2, *args, d=0, **{"q": 1}),
        target(*[1, 2], **kwargs),
        target(0, *args, 8, **kwargs),
        "a-b".split("-", maxsplit=1),
        "{}{x}".format(*args, x=9) if len(args) == 2 else None,
        print.__name__.upper().lower(),
    )


@case((1,), (1, 2, 3), (1, 2, 3, 4, 5))
def signature(a, b=2, *args, key=len, **options):
    return a, b, args, key, options


@case(())
def repeated_keyword():
    return target(1, 2, d=1, **{"d": 2})


@case(([3, 1, 2],))
def methods_and_keywords(xs):
    xs.sort(key=lambda v: -v)
    ys = sorted(xs, reverse=False)
    return xs, ys, max(xs, default=None), ",".join(map(str, xs))


# -- names: globals, cells, unbound locals -------------------------------------------------------
@case((2.0,))
def globals_(x):
    return math.sqrt(x) * CONSTANT


@case((4,))
def writes_global(x):
    global WRITTEN
    WRITTEN = x
    WRITTEN += 1
    return WRITTEN


@case((3,))
def closures(n):
    count = 0

    def add(k=n, *, scale=2):
        nonlocal count
        count += k * scale
        return count

    def annotated(a: int, b: "str" = "x") -> float:
        return a, b, n

    n += 1
    return add(), add(1), add(scale=0), count, n, annotated(1), annotated.__annotations__


@case((1,), (0,))
def maybe_unbound(x):
    if x:
        y = x + 1
    return y


@case((3,), (0,))
def unbound_after_loop(n):
    for i in range(n):
        last = i
    return i, last


@case((1,), (0,))
def deleted(x):
    y = [x]
    if x:
        del y
    return y


@case(())
def always_unbound():
    del z  # noqa: F821
    z = 1
    return z


@case((True,), (False,))
def unbound_cell(bind):
    def read():
        return value

    if bind:
        value = 3
    return read()


@case((1,), (0,))
def deleted_cell(x):
    v = x

    def read():
        return v

    if x:
        del v
    return read()


@case((3,), (0,))
def comprehension_over_unbound(n):
    if n:
        x = "bound"
    squares = [x * 2 for x in range(n)]
    return squares, x


@case((2,))
def cell_per_iteration(n):
    fs = []
    for i in range(n):

        def g(j=i):
            return i, j

        fs.append(g)
    return [g() for g in fs]


@case((5,))
def recursive(n):
    def fact(k):
        return 1 if k <= 1 else k * fact(k - 1)

    return fact(n)


@case((3,))
def walrus(n):
    while (m := n * 2) > 2:
        n -= 1
    return m, [y := 1, y**2], n


# -- attributes, classes -------------------------------------------------------------------------
class Base:
    def __init__(self, v):
        self.v = v

    def double(self, by=2):
        return self.v * by


class Derived(Base):
    def __init__(self, v):
        super().__init__(v + 1)
        self.w: int = v

    def double(self, by=3):
        f = super().double
        return super().double(by), f(), super(Derived, self).double()


@case((4,))
def attributes(v):
    d = Derived(v)
    d.v += 1
    d.new = d.v
    del d.w
    return d.double(), d.new, hasattr(d, "w"), Base.double(d)


@case((4,))
def local_class(v):
    class Local(Base):
        factor = v

        def value(self):
            return self.v * self.factor

    return Local(2).value(), Local.__qualname__


@case((2,))
def imports(x):
    import math as m
    import os.path
    from math import cos
    from math import sin as s

    return m.floor(x), os.path.basename("a/b"), cos(0), s(0)


# -- assertions, exceptions ----------------------------------------------------------------------
@case((1,), (-1,), (0,))
def asserts(x):
    assert x >= 0, f"negative: {x}"
    assert x
    return x


@case((0,), (1,), (2,), (3,))
def raises(kind):
    cause = KeyError("cause")
    if kind == 0:
        raise ValueError("text")
    if kind == 1:
        raise ValueError from cause
    if kind == 2:
        raise cause from None
    return [1, 2][kind]


# -- match ---------------------------------------------------------------------------------------
class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __repr__(self):
        return f"Point({self.x}, {self.y})"


@case((1,), ("a",), ([],), ([1],), ([1, 2, 3],), ((0, 5),), ({"k": 1, "l": 2},), ({},))
@case((None,), (True,), (2.5,), (-3,), (Point(1, 2),), (Point(3, 4),), ("xyz",))
def matches(x):
    match x:
        case None | True:
            return "singleton"
        case 1 | 2.5:
            return "number"
        case "a":
            return "letter"
        case []:
            return "empty"
        case [1]:
            return "one"
        case [0, y]:
            return y
        case [first, *rest]:
            return first, rest
        case {"k": k, **others}:
            return k, others
        case Point(1, y=b):
            return b
        case Point(a, b) if a > 2:
            return a, b
        case int() as i:
            return i
        case str(s):
            return s
    return "other"
