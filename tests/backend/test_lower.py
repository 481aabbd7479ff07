"""A lowered function behaves as the function that was lifted, and lifts to the same IR."""

from __future__ import annotations

import copy
import inspect
import operator
import sys
import traceback
import types

import pytest

from pullback.backend import lower
from pullback.errors import InvalidIR
from pullback.frontend import lift
from pullback.ir.builder import Builder
from pullback.ir.core import IR, Info, Undef
from pullback.ir.intrinsics import build_tuple, unpack
from pullback.ir.printer import format_ir
from pullback.ir.verify import verify

from . import cases
from .cases import CASES

FUNCTIONS = list({f: None for f, _ in CASES})
FUNCTIONS += [cases.target, cases.Derived.__init__, cases.Derived.double, cases.Base.double]


def outcome(f, args):
    """Result or exception: type, text, cause, and the lines of f in the traceback."""
    args = copy.deepcopy(args)
    try:
        result = f(*args)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [x.lineno for x in frames if x.filename == f.__code__.co_filename]
        cause = (repr(error.__cause__), error.__suppress_context__)
        return type(error), str(error), cause, lines, repr(args)
    return repr(result), repr(args)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_relifting_gives_identical_ir(f):
    ir = verify(lift(f))
    again = verify(lift(lower(ir)))
    assert format_ir(again) == format_ir(ir)


@pytest.mark.parametrize("portable", [False, True], ids=["", "portable"])
@pytest.mark.parametrize("f,calls", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_same_outcome(f, calls, portable):
    if portable and f in (cases.writes_global, *CHECKED):
        pytest.skip("needs the function's own globals or checks of unbound names")
    g = lower(lift(f), portable=portable)
    for args in calls:
        assert outcome(g, args) == outcome(f, args)


CHECKED = (cases.deleted, cases.comprehension_over_unbound)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__qualname__)
def test_looks_the_same(f):
    g = lower(lift(f))
    assert inspect.signature(g) == inspect.signature(f)
    for name in ("name", "qualname", "module", "doc", "defaults", "kwdefaults", "annotations"):
        assert getattr(g, f"__{name}__") == getattr(f, f"__{name}__")
    assert g.__globals__ is f.__globals__
    assert g.__code__.co_freevars == f.__code__.co_freevars


def test_methods_with_super():
    """The round-tripped methods find their class and object."""

    class Derived(cases.Derived):
        __init__ = lower(lift(cases.Derived.__init__))
        double = lower(lift(cases.Derived.double))

    assert Derived(3).double() == cases.Derived(3).double()


def test_closures_share_cells():
    def make():
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        def read():
            return n

        return bump, read

    bump, read = make()
    again = lower(lift(bump))
    assert again.__closure__[0] is bump.__closure__[0]
    assert (again(), bump(), read(), lower(lift(read))()) == (1, 2, 2, 2)


def test_attributes_and_kwdefaults_are_kept():
    def f(a, *, k=3):
        return a + k

    f.note = "kept"
    g = lower(lift(f))
    assert g.note == "kept" and g(1) == 4
    assert g.__kwdefaults__ == {"k": 3} and g.__kwdefaults__ is not f.__kwdefaults__


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are syntax since 3.12")
def test_type_parameters_are_kept():
    namespace = {}
    exec("def f[T](x: T) -> T: return x", namespace)
    g = lower(lift(namespace["f"]))
    assert g.__type_params__ == namespace["f"].__type_params__ and g(3) == 3


def test_generator_is_closed_when_its_loop_is_left():
    closed = []

    def numbers():
        try:
            yield from range(5)
        finally:
            closed.append(True)

    def first(stop):
        for x in numbers():
            if x == stop:
                break
        return list(closed)

    assert lower(lift(first))(2) == [True]


def test_lines_of_a_traceback():
    def f(x):
        y = x + 1
        z = (
            y
            / 0 * x
        )  # fmt: skip
        return z

    first = f.__code__.co_firstlineno
    for g in (f, lower(lift(f))):
        with pytest.raises(ZeroDivisionError) as info:
            g(1)
        assert info.traceback[-1].lineno + 1 == first + 3


def test_columns_are_kept():
    def f(x):
        return x.a + x.b

    before = {p for p in f.__code__.co_positions() if p[2] is not None}
    after = {p for p in lower(lift(f)).__code__.co_positions() if p[2] is not None}
    assert after and after <= before


def wide(n, branches):
    """A function with more constants, names, locals and longer jumps than a byte can say."""
    body = "\n".join(
        f"    if x == {i}.5: v{i} = x + {i}\n    else: v{i} = g{i % 7}(x, {i})" for i in range(n)
    )
    total = " + ".join(f"v{i}" for i in range(n))
    source = f"def f(x):\n  for k in range(2):\n{body}\n  return {total}, x.real, k\n"
    namespace = {f"g{i}": lambda x, i: x * i for i in range(7)}
    exec(source, namespace)
    return namespace["f"]


@pytest.mark.parametrize("n", [30, 400])
def test_extended_arguments(n):
    f = wide(n, True)
    ir = lift(f)
    g = lower(ir)
    assert format_ir(lift(g)) == format_ir(ir)
    assert all(g(x) == f(x) for x in (1.5, 7.0, n - 0.5))


def test_deep_expressions():
    namespace = {}
    exec("def f(x): return " + "(x + " * 80 + "1" + ")" * 80, namespace)
    exec("def g(x): return " + " + ".join(["x"] * 800), namespace)
    for f in (namespace["f"], namespace["g"]):
        ir = lift(f)
        assert lower(ir)(2) == f(2)
        assert format_ir(lift(lower(ir))) == format_ir(ir)


def test_code_runs_under_its_own_name():
    def named():
        return 1

    code = lower(lift(named)).__code__
    assert (code.co_name, code.co_filename) == ("named", __file__)
    assert code.co_firstlineno == named.__code__.co_firstlineno
    assert isinstance(code, types.CodeType)


# -- IR that no lifting gives --------------------------------------------------------------------
def test_unbound_operands_that_are_copied_on():
    """A name unbound on the first trip, never read there, but handed on."""
    ir = IR(Info(name="g", qualname="g", argnames=("n",)))
    n = ir.value("n")
    entry, head, body, end = ir.block([n]), ir.block(), ir.block(), ir.block()
    i, p, q = ir.value("i"), ir.value("p"), ir.value("q")
    head.params += [i, p, q]
    b = Builder(ir, entry)
    b.jump(head, [0, Undef("p"), Undef()])
    b.at(head).branch(b.call(operator.lt, i, n), body, end)
    b.at(body).jump(head, [b.call(operator.add, i, 1), b.call(operator.neg, i), p])
    b.at(end).ret(b.call(build_tuple, p, q))
    g = lower(verify(ir))
    assert [g(k) for k in (2, 3)] == [(-1, 0), (-2, -1)]


def test_constants_of_any_kind():
    marker = object()
    ir = IR(Info(name="g", qualname="g"))
    b = Builder(ir)
    b.block.params.append(ir.value("x"))
    x = ir.args[0]
    items = [marker, [1], 0.0, -0.0, 0, False, 1, True, (0.0,), (-0.0,), operator.add]
    b.ret(b.call(build_tuple, *items, b.call(max, x, 2), b.call(operator.add, x, 1, kwnames=())))
    out = lower(verify(ir))(1)
    assert out[0] is marker and out[1] is items[1]
    assert repr(out[2:]) == repr((*items[2:], 2, 2))


def test_callees_without_their_usual_operands():
    """Operators with too many operands or keywords are ordinary calls."""
    ir = IR(Info(name="g", qualname="g", argnames=("x", "name")))
    b = Builder(ir)
    b.block.params += [ir.value("x"), ir.value("name")]
    x, name = ir.args
    got = b.call(getattr, x, name)
    default = b.call(getattr, x, "missing", 3)
    unpacked = b.call(unpack, x, 2)
    ordered = b.call(sorted, x, True, kwnames=("reverse",))
    b.ret(b.call(build_tuple, got, default, unpacked, unpacked, ordered))
    g = lower(verify(ir))
    assert g([1, 2], "__class__") == (list, 3, (1, 2), (1, 2), [2, 1])


def test_wrong_number_of_entry_parameters():
    ir = IR(Info(name="g", qualname="g", argnames=("x", "y")))
    b = Builder(ir)
    b.block.params.append(ir.value("x"))
    b.ret(None)
    with pytest.raises(InvalidIR):
        lower(ir)
