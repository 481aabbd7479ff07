"""Whichever way a context watches, it sees the same calls: generated programs under primitives for
each callable, primitives with predicates, one for any callable, and hooks."""

import functools
import math
import operator
import random
import types

import pytest

import pullback as pb


def leaf(x, y=1, *rest, **named):
    return x


def two(a, b):
    return leaf(a) + leaf(b, y=2)


def apply(f, *args):
    return f(*args)


def items(n):
    for i in range(n):
        yield leaf(i)


class Value:
    def __init__(self, x):
        self.x = leaf(x)

    def __add__(self, other):
        return Value(leaf(self.x) + (other.x if isinstance(other, Value) else other))

    def __radd__(self, other):
        return Value(other + leaf(self.x))

    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return leaf(i)

    def __len__(self):
        return leaf(3)

    def __lt__(self, other):
        return leaf(False)

    def __call__(self, z):
        return leaf(z)

    def __enter__(self):
        return leaf(self)

    def __exit__(self, *exc):
        leaf(2)

    def __bool__(self):
        return leaf(True)

    def __contains__(self, x):
        return leaf(False)

    @property
    def half(self):
        return leaf(self.x)

    @half.setter
    def half(self, value):
        self.x = leaf(value)

    def method(self, a=0):
        return leaf(a)


class Listed(Value):
    def __init__(self, x):
        super().__init__(x)
        leaf(9)

    def __iter__(self):
        return iter([leaf(1), leaf(2)])


class Steps:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        self.n -= 1
        if self.n < 0:
            raise StopIteration
        return leaf(self.n)


WATCHED = (
    leaf, two, operator.add, operator.mul, operator.getitem, operator.setitem, operator.lt,
    operator.eq, len, abs, sum, max, math.sin, Value.method, Value.__init__, list.append,
    operator.iadd, operator.neg, operator.contains, sorted, isinstance, list, tuple, next, iter,
    dict.get, str.upper, range, int, zip, map, functools.reduce,
)  # fmt: skip

EXPRESSIONS = (
    "({} + {})", "leaf({})", "two({}, {})", "apply(leaf, {})", "apply(lambda q: leaf(q) * 1, {})",
    "xs[0]", "len(xs)", "abs(n)", "sum([n, 1])", "max(n, 3)", "int(math.sin(0.0))", "v.x", "v.half",
    "v.method(n)", "v.method(a=2)", "v(n)", "len(v)", "v[1]", "(v + n).x", "(n + v).x",
    "Listed(n).x", "(1 if n < {} else 2)", "(1 if v else 2)", "sum(items(2))",
    "[leaf(q) for q in xs][0]", "sorted(xs, key=leaf)[0]", "list(map(leaf, xs))[0]",
    "functools.reduce(two, xs)", "functools.partial(two, n)(1)", "leaf(*xs[:1], **dict(k=2))",
    "max(xs, key=lambda q: leaf(-q))", "getattr(v, 'half')", "sum(Steps(2))", "(3 in v) + 0",
    "(-n)", "d.get('a', {})", "next(iter(w))", "leaf(*w)", "[*w, n][0]",
)  # fmt: skip
STATEMENTS = (
    "n = {}", "n += {}", "xs.append({})", "xs[0] = {}", "v.half = {}", "setattr(v, 'half', {})",
    "a, b = w; n = a", "a, b = Steps(2); n = b", "v = n + v", "v = Value({})", "d = dict(a=n, **d)",
    "n = next(items(2))", "xs = [*w, n, *xs[:2]]", "f'{{n}}'; 'a'.upper()", "tuple(Steps(2))",
    "del xs[1:]; n = {}",
)  # fmt: skip
BLOCKS = (
    "for q in xs[:3]:", "for q in items(2):", "for q in v:", "for q in w:", "for q in Steps(2):",
    "for q in zip(xs[:2], range(2)):", "if n < 3:", "if v:", "if not n:", "if 3 in v:", "if v < 1:",
    "with v as z:", "while n == 1:\n{0}    n = 2\n{0}else:",
)  # fmt: skip


def expression(r, depth=0):
    if depth > 2:
        return r.choice(["n", "1", "2"])
    text = r.choice(EXPRESSIONS)
    return text.format(*(expression(r, depth + 1) for _ in range(text.count("{}"))))


def statement(r, indent):
    space = "    " * indent
    if indent < 4 and r.random() < 0.3:
        return [space + r.choice(BLOCKS).format(space), *statement(r, indent + 1)]
    if indent < 4 and r.random() < 0.1:
        inner = statement(r, indent + 1)
        failing = [f"{space}    xs[99]", f"{space}except IndexError:", f"{space}    n = leaf(n)"]
        return [f"{space}try:", *inner, *failing, f"{space}finally:", f"{space}    leaf(0)"]
    text = r.choice(STATEMENTS)
    return [space + text.format(*(expression(r) for _ in range(text.count("{}"))))]


def program(seed):
    r = random.Random(seed)
    body = [line for _ in range(r.randrange(2, 6)) for line in statement(r, 2)]
    head = ["def f(n, xs, v, w):", "    d = {}", "    for again in range(2):"]
    scope = dict(globals())
    source = "\n".join([*head, *body, "    return n if isinstance(n, int) else 'an object'"])
    exec(source, scope)
    return scope["f"], source


def unbound(f, args):
    """Methods as their functions."""
    if isinstance(f, types.MethodType):
        return f.__func__, (f.__self__, *args)
    owner = getattr(f, "__self__", None)
    if isinstance(f, types.BuiltinFunctionType) and not isinstance(owner, types.ModuleType):
        return getattr(type(owner), f.__name__, f), (owner, *args)
    return f, args


class Noting(pb.Context):
    def __init__(self):
        self.log = []

    def note(self, f, args, kw):
        f, args = unbound(f, args)
        if any(f is g for g in WATCHED):
            self.log.append((f.__qualname__, len(args), tuple(kw)))


class Each(Noting):
    pass


class Predicates(Noting):
    pass


class Any(Noting):
    pass


class Hooked(Noting):
    def prehook(self, f, *args, **kw):
        self.note(f, args, kw)


class HookedWithError(Hooked):
    def errorhook(self, exc, f, *args, **kw):
        pass


def register(f):
    def body(ctx, *args, **kw):
        ctx.note(f, args, kw)
        return ctx.recurse(f, *args, **kw)

    Each.primitive(f)(body)
    Predicates.primitive(f, when=lambda ctx, *args, **kw: True)(body)


for watched in WATCHED:
    register(watched)


@Any.primitive(when=lambda ctx, f, *args, **kw: any(unbound(f, args)[0] is g for g in WATCHED))
def _(ctx, f, *args, **kw):
    ctx.note(f, args, kw)
    return ctx.recurse(f, *args, **kw)


def run(f, overdub=lambda f, *args: f(*args)):
    try:
        return overdub(f, 2, [1, 2, 3], Value(1), Listed(2))
    except (TypeError, IndexError) as e:
        return type(e), str(e)


@pytest.mark.parametrize("seeds", [range(k, k + 10) for k in range(0, 60, 10)], ids=str)
def test_all_ways_of_watching_see_the_same_calls(seeds):
    for seed in seeds:
        f, source = program(seed)
        expected, logs = run(f), []
        for kind in (Hooked, HookedWithError, Each, Predicates, Any):
            ctx = kind()
            assert run(f, ctx.overdub) == expected, (kind, source)
            logs.append(ctx.log)
        assert logs[0]
        for log in logs[1:]:
            assert log == logs[0], source
