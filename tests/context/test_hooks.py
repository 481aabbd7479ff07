"""Hooks: order, what they see, exceptions; a hook's own faults."""

import functools
import math
import operator
import sys

import pytest

import pullback as pb


def leaf(x):
    return x


def pair(x, y=2):
    return leaf(x), leaf(y)


class Calls(pb.Context):
    """A tree of calls, by hooks: (function, [children])."""

    def __init__(self):
        self.root = []
        self.open = [self.root]

    def prehook(self, f, *args, **kw):
        node = (f, [])
        self.open[-1].append(node)
        self.open.append(node[1])

    def posthook(self, out, f, *args, **kw):
        self.open.pop()

    def errorhook(self, exc, f, *args, **kw):
        self.open.pop()


class Entered(pb.Context):
    """The same tree, by a primitive for every callable that recurses."""

    def __init__(self):
        self.root = []
        self.open = [self.root]


@Entered.primitive(when=lambda ctx, f, *args, **kw: True)
def _(ctx, f, *args, **kw):
    node = (f, [])
    ctx.open[-1].append(node)
    ctx.open.append(node[1])
    try:
        return ctx.recurse(f, *args, **kw)
    finally:
        ctx.open.pop()


def program(n):
    total = 0
    for k in range(n):
        total += pair(k)[0] if k % 2 else leaf(x=k)
    return max([3, 1], key=leaf), functools.partial(pair, 1)(*[2]), [leaf(v) for v in (1, 2)]


def test_the_tree_of_hooks_is_the_tree_of_recursion():
    hooks, entered = Calls(), Entered()
    assert hooks.overdub(program, 3) == entered.recurse(program, 3) == program(3)
    assert len(hooks.open) == 1
    assert shape(hooks.root) == shape(entered.root)
    steps = 4 if sys.version_info < (3, 12) else 7  # comprehensions are loops in place
    assert [name for name, _ in shape(hooks.root)].count("next") == steps


def shape(tree):
    """Names, and what is below; what C calls back is a call in both."""
    return [(getattr(f, "__name__", type(f).__name__), shape(below)) for f, below in tree]


def test_order_arguments_and_results():
    class Log(pb.Context):
        def __init__(self):
            self.log = []

        def prehook(self, f, *args, **kw):
            self.log.append(("pre", f, args, kw))
            return "ignored"

        def posthook(self, out, f, *args, **kw):
            self.log.append(("post", f, out))
            return "ignored"

    log = Log()
    assert log.overdub(lambda x: leaf(x=x) + math.floor(2.5), 1) == 3
    assert log.log == [
        ("pre", leaf, (), {"x": 1}),
        ("post", leaf, 1),
        ("pre", getattr, (math, "floor"), {}),
        ("post", getattr, math.floor),
        ("pre", math.floor, (2.5,), {}),
        ("post", math.floor, 2),
        ("pre", operator.add, (1, 2), {}),
        ("post", operator.add, 3),
    ]


def test_primitives_are_hooked_and_the_entry_is_not():
    class Log(pb.Context):
        def __init__(self):
            self.log = []

        def prehook(self, f, *args):
            self.log.append(f)

    Log.primitive(leaf)(lambda ctx, x: -x)
    log = Log()
    assert log.overdub(lambda: leaf(1)) == -1 and log.log == [leaf]
    assert log.overdub(leaf, 1) == -1 and log.log == [leaf]


def test_an_exception_goes_to_the_errorhook():
    class Log(pb.Context):
        def __init__(self):
            self.posts, self.errors = [], []

        def posthook(self, out, f, *args):
            self.posts.append(f)

        def errorhook(self, exc, f, *args):
            self.errors.append((type(exc), f, args))

    def divide(x):
        return 1 / x

    log = Log()
    with pytest.raises(ZeroDivisionError):
        log.overdub(lambda: divide(*[0]))
    assert operator.truediv not in log.posts and divide not in log.posts
    assert log.errors == [
        (ZeroDivisionError, operator.truediv, (1, 0)),
        (ZeroDivisionError, divide, (0,)),
    ]


def test_a_class_without_hooks_has_no_code_for_them():
    class Plain(pb.Context):
        pass

    class Watching(pb.Context):
        def prehook(self, f, *args):
            pass

    def size(ctx):
        ctx.overdub(pair, 1)
        (table,) = type(ctx)._tables.values()
        return [
            [need.kind for need in compiled.needs]
            for _, compiled in table._entries.values()
            if compiled
        ]

    assert not any("hooks" in kinds for kinds in size(Plain()))
    assert all("hooks" in kinds for kinds in size(Watching()) if kinds)


def test_a_hook_that_raises_is_named():
    class Broken(pb.Context):
        def prehook(self, f, *args):
            raise ValueError("mine")

    def program():
        return leaf(1)

    with pytest.raises(pb.PullbackError, match=r"PB502.*Broken\.prehook.*ValueError.*leaf") as e:
        Broken().overdub(program)
    assert isinstance(e.value.__cause__, ValueError)
    assert e.value.loc.file == __file__ and e.value.loc.function == program.__qualname__


def test_an_error_of_the_package_stops_the_run_as_it_is():
    class Stop(pb.PullbackError):
        code = "PB999"

    class Stopping(pb.Context):
        def posthook(self, out, f, *args):
            raise Stop("enough")

    with pytest.raises(Stop):
        Stopping().overdub(lambda: leaf(1))
