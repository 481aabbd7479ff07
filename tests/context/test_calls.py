"""What a call in a context means: primitives, plain calls, recursion, callbacks, frames."""

import collections
import contextlib
import dataclasses
import functools
import gc
import itertools
import logging
import math
import operator
import re
import statistics
import sys
import traceback
import warnings
import weakref

import numpy as np
import pytest
import scipy.optimize

import pullback as pb


class Empty(pb.Context):
    pass


def leaf(x):
    return x * 1.0


class Counting(pb.Context):
    """Counts the calls of `leaf`."""

    def __init__(self):
        self.calls = []


@Counting.primitive(leaf)
def _(ctx, x):
    ctx.calls.append(x)
    return x * 1.0


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


# -- primitives ------------------------------------------------------------------------------------
def test_memoised_fib_makes_one_entry_for_each_argument():
    class Memo(pb.Context):
        def __init__(self):
            self.memo = {}

    @Memo.primitive(fib)
    def _(ctx, n):
        if n not in ctx.memo:
            ctx.memo[n] = ctx.recurse(fib, n)
        return ctx.memo[n]

    memo = Memo()
    assert memo.overdub(fib, 40) == 102334155
    assert memo.memo == {n: Empty().overdub(fib, n) for n in range(12)} | {
        n: memo.memo[n] for n in range(12, 41)
    }
    assert len(memo.memo) == 41


def test_a_replacement_sees_defaults_and_keywords_as_the_call_wrote_them():
    def real(a, b=2, *rest, key=3, **more):
        return "real"

    class Fake(pb.Context):
        pass

    @Fake.primitive(real)
    def _(ctx, a, b=20, *rest, key=30, **more):
        return a, b, rest, key, more

    def program():
        xs = (5, 6)
        return [real(1), real(1, 7, 8, key=9), real(*xs, other=4), real(a=1, b=2)]

    assert Fake().overdub(program) == [
        (1, 20, (), 30, {}),
        (1, 7, (8,), 9, {}),
        (5, 6, (), 30, {"other": 4}),
        (1, 2, (), 30, {}),
    ]
    assert program() == ["real"] * 4


def test_the_most_specific_primitive_is_chosen_and_subclasses_override():
    class Base(pb.Context):
        pass

    def says(what):
        return lambda ctx, x: what

    Base.primitive(leaf)(says("any"))
    Base.primitive(leaf, (int))(says("int"))
    Base.primitive(leaf, int, when=lambda ctx, x: x > 9)(says("big int"))
    Base.primitive(leaf, object)(says("object"))
    Base.primitive(leaf, bool)(says("bool"))

    class Derived(Base):
        pass

    Derived.primitive(leaf, int)(says("derived int"))

    def program(x):
        return leaf(x)

    answers = [Base().overdub(program, x) for x in (1, 10, True, 1.0)]
    assert answers == ["int", "big int", "bool", "object"]
    answers = [Derived().overdub(program, x) for x in (1, 10, True, 1.0)]
    assert answers == ["derived int", "big int", "bool", "object"]


def test_a_primitive_for_any_callable():
    class Guard(pb.Context):
        pass

    @Guard.primitive(when=lambda ctx, f, *args: f is leaf or f is math.sin)
    def _(ctx, f, *args):
        return f.__name__, args

    assert Guard().overdub(lambda x: [leaf(x), math.sin(x), math.cos(0.0)], 1) == [
        ("leaf", (1,)),
        ("sin", (1,)),
        1.0,
    ]


def test_operators_attributes_truth_and_iteration_have_primitives():
    class Odd(pb.Context):
        pass

    for f in (operator.add, operator.getitem, operator.lt, getattr, operator.truth, next, iter):
        Odd.primitive(f)(lambda ctx, *args, f=f: ctx.log.append(f) or f(*args))

    def program(x, xs):
        total = 0
        for item in xs:
            total = total + item
        if x:
            return xs[0] < total, x.real

    ctx = Odd()
    ctx.log = []
    assert ctx.overdub(program, 3, [1, 2]) == (True, 3)
    assert ctx.log == [
        iter, next, operator.add, next, operator.add, next, operator.truth, operator.getitem,
        operator.lt, getattr,
    ]  # fmt: skip


@pytest.mark.parametrize("f", [len, abs, sum, bool, list, tuple, set, any, all, iter, max, str])
def test_builtins_of_one_argument_have_primitives(f):
    class Ctx(pb.Context):
        pass

    seen = []
    Ctx.primitive(f)(lambda ctx, x: seen.append(x))

    def program(x):
        x[0], x + x  # the type is known to be plain from here on
        return [f(x), f(x)]

    x = np.ones(3)
    assert Ctx().overdub(program, x) == [None, None]
    assert len(seen) == 2 and seen[0] is x


def test_methods_have_primitives():
    class Thing:
        def double(self, x):
            return 2 * x

    class Ctx(pb.Context):
        pass

    Ctx.primitive(Thing.double)(lambda ctx, self, x: (type(self).__name__, x))
    Ctx.primitive(list.append)(lambda ctx, xs, x: xs.extend([x, x]))
    thing = Thing()

    def program(xs):
        xs.append(1)
        return thing.double(4), Thing().double(5), xs

    assert Ctx().overdub(program, []) == (("Thing", 4), ("Thing", 5), [1, 1])


def test_recurse_enters_a_primitive_and_a_plain_call_in_one_leaves():
    class Ctx(pb.Context):
        def __init__(self):
            self.seen = 0

    def inner(x):
        return math.sin(x)

    @Ctx.primitive(math.sin)
    def _(ctx, x):
        ctx.seen += 1
        return math.sin(x)

    @Ctx.primitive(inner)
    def _(ctx, x):
        return inner(x), ctx.recurse(inner, x), ctx.overdub(math.sin, x)

    ctx = Ctx()
    assert ctx.overdub(inner, 0.0) == (0.0, 0.0, 0.0)
    assert ctx.seen == 2


def items():
    yield leaf(1.0)


async def coroutine():
    return leaf(1.0)


def test_can_recurse():
    class Callable:
        def __call__(self):
            pass

        def method(self):
            pass

    class Slot(float):
        pass

    can = Empty().can_recurse
    assert can(leaf) and can(Callable().method) and can(functools.partial(leaf, 1))
    assert can(Callable()) and can(lambda *args: args)
    assert can(items) and can(coroutine) and can(Vector) and can(functools.partial(Vector.__add__))
    for f in (math.sin, len, [].append, functools.partial(math.sin), np.mean, statistics.mean):
        assert not can(f), f
    assert not can(Slot) and not can(3)
    assert Empty(recurse_into=[statistics]).can_recurse(statistics.mean)
    assert not Empty(exclude=[leaf]).can_recurse(leaf)


# -- filters ---------------------------------------------------------------------------------------
def test_libraries_are_plain_unless_they_are_opted_in():
    class Sums(pb.Context):
        def __init__(self, **kw):
            super().__init__(**kw)
            self.sums = 0

    @Sums.primitive(statistics._sum)
    def _(ctx, data):
        ctx.sums += 1
        return statistics._sum(data)

    def program():
        return statistics.mean([1.0, 2.0])

    plain, opted = Sums(), Sums(recurse_into=["statistics"])
    assert plain.overdub(program) == opted.overdub(program) == 1.5
    assert (plain.sums, opted.sums) == (0, 1)
    one = Sums(recurse_into=["statistics"], exclude=[statistics.mean])
    assert one.overdub(program) == 1.5 and one.sums == 0
    assert one.overdub(statistics.mean, [1.0]) == 1.0 and one.sums == 1  # asked for by name


def test_an_excluded_parent_has_included_callbacks():
    def excluded(f, x):
        return f(leaf(x))

    ctx = Counting()
    ctx.exclude = [excluded]
    assert ctx.overdub(lambda x: excluded(lambda y: leaf(y + 1.0), x), 1.0) == 2.0
    assert ctx.calls == [2.0]


@pytest.mark.parametrize("depth, seen", [(0, 0), (1, 1), (2, 3), (None, 3)])
def test_depth(depth, seen):
    def first(x):
        return leaf(x) + second(x)

    def second(x):
        return leaf(x) + leaf(x)

    ctx = Counting()
    ctx.depth = depth
    assert ctx.overdub(lambda x: first(x), 1.0) == 3.0
    assert len(ctx.calls) == seen


# -- callables handed over -------------------------------------------------------------------------
def through(program, *args):
    """The result of a program, the same as without a context, and how often it called `leaf`."""
    ctx = Counting()
    got = ctx.overdub(program, *args)
    np.testing.assert_equal(got, program(*args))
    return len(ctx.calls)


def test_callables_handed_to_c_stay_in_the_context():
    xs = [3.0, 1.0, 2.0]
    assert through(lambda: sorted(xs, key=leaf)) == 3
    assert through(lambda: sorted(xs, key=lambda x: -leaf(x))) == 3
    assert through(lambda: list(map(leaf, xs))) == 3
    assert through(lambda: list(filter(lambda x: leaf(x) > 1, xs))) == 3
    assert through(lambda: min(xs, key=leaf)) == 3
    assert through(lambda: max(*xs, key=functools.partial(leaf))) == 3
    assert through(lambda: functools.reduce(lambda a, b: leaf(a) + b, xs)) == 2
    assert through(lambda: functools.partial(leaf, 2.0)()) == 1
    assert through(lambda: functools.partial(functools.partial(lambda a, b: leaf(b)), 1)(2.0)) == 1

    def in_place(ys):
        ys = list(ys)
        ys.sort(key=leaf)
        return ys

    assert through(in_place, xs) == 3
    assert through(lambda: collections.defaultdict(lambda: leaf(1.0))["a"]) == 1
    assert through(lambda: collections.defaultdict(leaf).default_factory == leaf) == 0
    pattern = re.compile("a")
    assert through(lambda: pattern.sub(lambda m: str(leaf(1)), "aa")) == 2


def test_methods_of_c_that_know_their_class_have_primitives():
    class Ctx(pb.Context):
        pass

    Ctx.primitive(re.Pattern.sub)(lambda ctx, *args: args[1:])
    assert Ctx().overdub(lambda: re.compile("a").sub("b", "c")) == ("b", "c")


@contextlib.contextmanager
def managed():
    leaf(1)
    yield leaf(2)
    leaf(3)


def test_what_a_decorator_of_a_library_made_is_opted_in_by_its_library():
    def program():
        with managed() as value:
            return leaf(value)

    for kw, seen in (({}, 1), ({"recurse_into": "contextlib"}, 4), ({"recurse_into": managed}, 4)):
        ctx = Counting()
        vars(ctx).update(kw)
        assert ctx.overdub(program) == 2
        assert len(ctx.calls) == seen, kw


def test_callables_handed_to_numpy_and_scipy_stay_in_the_context():
    assert through(lambda: np.vectorize(lambda x: leaf(x))(np.arange(3.0))) >= 3
    assert through(lambda: np.apply_along_axis(lambda r: leaf(r), 0, np.ones((2, 3)))) == 3
    assert through(lambda: scipy.optimize.brentq(lambda x: leaf(x) - 1.0, 0.0, 3.0)) > 2
    assert through(lambda: scipy.optimize.minimize(lambda x: leaf(x @ x), [1.0, 1.0]).x) > 3


def test_what_is_handed_over_is_equal_to_the_function_and_pickles_as_it():
    import pickle

    kept = []

    def keep(f):
        kept.append(f)
        return f is leaf, f == leaf, f.__name__

    ctx = Counting()
    ctx.exclude = [keep]
    assert ctx.overdub(lambda: keep(leaf)) == (False, True, "leaf")
    assert pickle.loads(pickle.dumps(kept[0])) is leaf
    assert kept[0](1.5) == 1.5 and ctx.calls == [1.5]  # also when the run is over


# -- classes and special methods -------------------------------------------------------------------
class Vector:
    def __init__(self, x, y=0.0):
        self.x, self.y = leaf(x), y

    def __add__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return Vector(self.x + other.x, leaf(self.y + other.y))

    def __rmul__(self, k):
        return Vector(leaf(k) * self.x, self.y)

    def __eq__(self, other):
        return leaf(self.x) == other.x

    def __len__(self):
        return int(leaf(2))

    def __getitem__(self, i):
        return leaf(self.x) if i == 0 else self.y

    def __contains__(self, v):
        return leaf(v) in (self.x, self.y)

    def __iter__(self):
        yield self.x

    @property
    def size(self):
        return leaf(self.x)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return leaf(1.0)


def test_special_methods_stay_in_the_context():
    assert through(lambda: Vector(1.0).y) == 1
    assert through(lambda: (Vector(1.0) + Vector(2.0)).y) == 4
    assert through(lambda: (2.0 * Vector(1.0)).x) == 3
    assert through(lambda: (Vector(1.0) == Vector(1.0), Vector(1.0) != Vector(2.0))) == 6
    assert through(lambda: (len(Vector(1.0)), bool(Vector(1.0)), not Vector(1.0))) == 6
    assert through(lambda: 1 if Vector(1.0) else 0) == 2
    assert through(lambda: (Vector(1.0)[0], 1.0 in Vector(1.0), Vector(1.0).size)) == 6
    assert through(lambda: Vector(1.0).missing) == 2


def unpacked(xs):
    a, b = xs
    return a, b


def test_operators_fail_as_they_do():
    def wrong(program):
        messages = []
        for run in (program, *(lambda c=c: c().overdub(program) for c in (Empty, Guarded))):
            with pytest.raises(Exception) as caught:
                run()
            messages.append((type(caught.value), str(caught.value)))
        return messages

    programs = [
        lambda: Vector(1.0) + 3,
        lambda: 3 + Vector(1.0),
        lambda: Vector(1.0) < Vector(2.0),
        lambda: Vector(1.0)._hidden,
        lambda: Vector(),
        lambda: leaf(),
        lambda: leaf(1, 2),
        lambda: (lambda three: three(4))(3),
        lambda: undefined,  # noqa: F821
        lambda: leaf(*3),
        lambda: leaf(1, **{"x": 2}),
        lambda: unpacked(itertools.count()),
        lambda: unpacked([1]),
        lambda: unpacked(1),
        lambda: iter(leaf),
    ]
    for program in programs:
        plain, inside, hooked = wrong(program)
        assert plain == inside == hooked


# -- frames ----------------------------------------------------------------------------------------
class Guarded(pb.Context):
    """Has every hook."""

    def prehook(self, f, *args, **kw):
        pass

    def posthook(self, out, f, *args, **kw):
        pass

    def errorhook(self, exc, f, *args, **kw):
        pass


@pytest.mark.parametrize("kind", [Empty, Guarded])
def test_frames_are_the_users(kind):
    def module():
        return collections.namedtuple("P", "x").__module__, globals() is sys._getframe().f_globals

    assert kind().overdub(module) == (__name__, True)
    assert kind().overdub(lambda: sys._getframe().f_code.co_name) == "<lambda>"

    def warns():
        warnings.warn("here")
        warnings.warn("here", UserWarning, stacklevel=1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind().overdub(warns)
    first = warns.__code__.co_firstlineno
    assert [(w.filename, w.lineno) for w in caught] == [
        (__file__, first + 1),
        (__file__, first + 2),
    ]


@pytest.mark.parametrize("kind", [Empty, Guarded])
def test_frames_further_out_are_the_users(kind, caplog):
    def inner():
        frame, outer = sys._getframe(), sys._getframe(1)
        return frame.f_code.co_name, outer.f_code.co_name, globals() is frame.f_globals

    def outer():
        return inner()

    assert kind().overdub(outer) == ("inner", "outer", True)
    assert kind().overdub(lambda: collections.namedtuple("P", "x").__module__) == __name__

    def complain():
        warnings.warn("here", stacklevel=2)
        warnings.warn("here", UserWarning, 3)

    def caller():
        complain()

    def outermost():
        caller()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind().overdub(outermost)
    assert [(w.filename, w.lineno) for w in caught] == [
        (__file__, f.__code__.co_firstlineno + 1) for f in (caller, outermost)
    ]
    kind().overdub(lambda: logging.getLogger("here").warning("logged"))
    assert [(r.funcName, r.pathname) for r in caplog.records] == [("<lambda>", __file__)]


@pytest.mark.parametrize("program", [
    lambda: sorted(locals()), lambda: dir(), lambda: eval("1 + 1"), lambda: vars(),
])  # fmt: skip
def test_frame_readers_behave_as_without(program):
    assert Empty().overdub(lambda p: p(), program) == program()


def test_super():
    class A:
        def name(self):
            return "A"

    class B(A):
        def name(self):
            return super().name() + "B"

    assert Empty().overdub(lambda: B().name()) == "AB"


def test_tracebacks_show_the_users_frames():
    class Bad:
        def __add__(self, other):
            return 1 / (other - other)

    def add(x):
        return Bad() + x

    def use(xs):
        return sorted(xs, key=lambda x: add(x))

    with pytest.raises(ZeroDivisionError) as caught:
        Empty().overdub(use, [1, 2])
    shown = traceback.extract_tb(caught.value.__traceback__)
    names = [f.name for f in shown]
    assert names == [
        "test_tracebacks_show_the_users_frames", "overdub", "use", "<lambda>", "add", "__add__",
    ]  # fmt: skip
    assert [f.lineno for f in shown[-2:]] == [
        add.__code__.co_firstlineno + 1,
        Bad.__add__.__code__.co_firstlineno + 1,
    ]


def test_depth_of_recursion_halves_at_worst():
    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    class Hooked(pb.Context):
        def prehook(self, f, *args):
            pass

        def errorhook(self, e, f, *args):
            pass

    n = sys.getrecursionlimit() // 2 - 200
    assert Empty().overdub(down, n) == Hooked().overdub(down, n) == n


class Nested:
    """Recursion through special methods, properties and callbacks."""

    def __init__(self, n):
        self.n = n

    def __add__(self, other):
        return 0 if self.n == 0 else Nested(self.n - 1) + other

    def __getitem__(self, k):
        return 0 if self.n == 0 else Nested(self.n - 1)[k]

    @property
    def bottom(self):
        return 0 if self.n == 0 else Nested(self.n - 1).bottom

    def by_partial(self):
        return 0 if self.n == 0 else functools.partial(Nested.by_partial, Nested(self.n - 1))()


def by_map(n):
    return 0 if n == 0 else list(map(by_map, [n - 1]))[0]


@pytest.mark.parametrize("f", [
    lambda n: Nested(n) + 1, lambda n: Nested(n)[0], lambda n: Nested(n).bottom,
    lambda n: Nested(n).by_partial(),
])  # fmt: skip
def test_depth_of_recursion_by_methods(f):
    class Hooked(pb.Context):
        def prehook(self, f, *args):
            pass

    class General(pb.Context):
        pass

    General.primitive(when=lambda ctx, f, *args, **kw: False)(leaf)
    for kind in (Empty, Hooked, General):
        assert kind().overdub(f, sys.getrecursionlimit() // 2 - 200) == 0


def test_depth_of_recursion_by_callbacks():
    assert Empty().overdub(by_map, sys.getrecursionlimit() // 2 - 200) == 0


# -- redefinition and lifetime ---------------------------------------------------------------------
def test_redefinitions_are_seen_on_the_next_run():
    scope = {}
    exec("def g(x): return 1\ndef f(x): return g(x)", scope)

    class Ctx(pb.Context):
        pass

    ctx = Ctx()
    assert ctx.overdub(scope["f"], 0) == 1
    exec("def g(x): return 2", scope)
    assert ctx.overdub(scope["f"], 0) == 2
    scope["g"].__code__ = (lambda x: 3).__code__
    assert ctx.overdub(scope["f"], 0) == 3
    Ctx.primitive(scope["g"])(lambda ctx, x: 4)
    assert ctx.overdub(scope["f"], 0) == 4
    Ctx.primitive(scope["g"])(lambda ctx, x: 5)
    assert ctx.overdub(scope["f"], 0) == 5
    seen = []
    Ctx.prehook = lambda self, f, *args: seen.append(f)
    assert ctx.overdub(scope["f"], 0) == 5 and seen == [scope["g"]]
    Ctx.prehook = lambda self, f, *args: None
    assert ctx.overdub(scope["f"], 0) == 5 and len(seen) == 1


@pytest.mark.parametrize("cls", [Empty, Counting])
def test_functions_are_garbage_when_nobody_else_has_them(cls):
    def make():
        def first(n):
            return second(n) + leaf(1.0)

        def second(n):
            return 0.0 if n == 0 else first(n - 1)

        return first

    ctx, f = cls(), make()
    assert ctx.overdub(f, 3) == 4.0
    refs = weakref.ref(f), weakref.ref(f.__code__.co_consts and f.__closure__[0].cell_contents)
    size = sum(map(len, cls._tables.values()))
    assert size >= 2
    del f
    gc.collect()
    assert [r() for r in refs] == [None, None]


def test_code_is_compiled_once_for_a_class():
    def program(x):
        return leaf(x)

    compiled = []

    class Ctx(pb.Context):
        passes = [lambda ir, cls, signature: compiled.append(ir.info.name) or ir]

    for _ in range(3):
        Ctx().overdub(program, 1.0)
    assert compiled == ["program", "leaf"]


def test_results_identity_and_mutation_are_the_same():
    @dataclasses.dataclass
    class Box:
        content: list

    def program(box, a, *, key):
        box.content.append(key)
        a[1:] += a[:-1]
        return box, a, key

    box, a, key = Box([]), np.arange(4.0), object()
    got = Empty().overdub(program, box, a, key=key)
    assert got[0] is box and got[1] is a and got[2] is key
    assert box.content == [key] and a.tolist() == [0.0, 1.0, 3.0, 5.0]


def test_wrong_primitives_are_refused():
    for wrong in (
        lambda: Empty.primitive(3)(leaf),
        lambda: Empty.primitive()(leaf),
        lambda: Empty.primitive(leaf, 3)(leaf),
        lambda: Empty.primitive(leaf)(None),
    ):
        with pytest.raises(pb.PullbackError, match="PB504"):
            wrong()


def test_a_predicate_that_raises_is_named():
    class Ctx(pb.Context):
        pass

    Ctx.primitive(leaf, when=lambda ctx: True)(lambda ctx, x: x)

    def program():
        return leaf(1)

    with pytest.raises(pb.PullbackError, match=r"PB504.*Ctx.primitive raised TypeError.*leaf") as e:
        Ctx().overdub(program)
    assert (e.value.loc.function, e.value.loc.line) == (
        program.__qualname__,
        program.__code__.co_firstlineno + 1,
    )
