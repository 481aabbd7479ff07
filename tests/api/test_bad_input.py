"""Bad input: clear errors with code, place, variable and what to do; and nothing is harmed."""

import dataclasses
import functools
import inspect
import traceback

import numpy as np
import pytest
from scipy.special import jv

import pullback as pb
from pullback.errors import (
    CotangentMismatch,
    JoinError,
    NoDerivativeError,
    PullbackError,
    TypingError,
)

from . import NATIVE, PYTHON

grad = functools.partial(pb.grad, options=PYTHON)
ONES = np.ones(3)


@pytest.fixture(params=[PYTHON, NATIVE], ids=["python", "native"])
def options(request):
    return request.param


def error_of(f, *args, **kwargs):
    with pytest.raises(PullbackError) as e:
        grad(f, **kwargs)(*args)
    return e.value


# -- refused ---------------------------------------------------------------------------------------
objects = np.array([2.0, None], dtype=object)
frozen, shared = np.ones(3), np.ones(3)
frozen.flags.writeable = False


@dataclasses.dataclass
class Weights:
    inner: np.ndarray


def doubles(x):
    return x * 2.0  # here


def ignores(x):
    return 1.0


def reads_objects(x):
    return objects[0] * x  # here


def writes(a, b=ONES):
    a[0] = b[1]
    return a[0] * b[0]


def careful(x):
    try:
        return 1 / x  # here
    except ZeroDivisionError:
        return 0.0


def without_rule(x):
    y = x * 2.0
    z = jv(0, y)  # here
    return z


def loses(x):
    counts = np.zeros(3, dtype=np.int64)
    counts[0] = x  # here
    return 2.0 * counts[0]


def loses_all(x):
    counts = np.zeros(3, dtype=np.int64)
    counts[:] = x  # here
    return 2.0 * counts.sum()


BAD = {
    "int": ("PB302", doubles, (3,), "x"),
    "integers": ("PB302", doubles, (np.arange(3),), "x"),
    "object": ("PB302", ignores, (object(),), "x"),
    "dataclass": ("PB302", ignores, (Weights(ONES),), "x"),
    "list": ("PB203", doubles, ([1.0, 2.0],), "x"),
    "nested list": ("PB203", doubles, ((1.0, [2.0]),), "x"),
    "list in a dict": ("PB203", doubles, ({"inner": [2.0]},), "x"),
    "objects": ("PB203", doubles, (objects,), "x"),
    "captured objects": ("PB203", reads_objects, (1.0,), "objects"),
    "read-only": ("PB307", writes, (frozen,), "a"),
    "overlap": ("PB305", writes, (shared, shared), "a"),
    "construct": ("PB102", careful, (1.0,), None),
    "no rule": ("PB301", without_rule, (1.0,), "z"),
    "lost": ("PB306", loses, (2.0,), "counts"),
    "lost in a slice": ("PB306", loses_all, (np.ones(3),), "counts"),
}
OPERATORS = {
    "grad": lambda f, x, *rest: pb.grad(f, options=PYTHON)(x, *rest),
    "value_and_grad": lambda f, x, *rest: pb.value_and_grad(f, options=PYTHON)(x, *rest),
    "by columns": lambda f, *args: pb.jacobian(f, mode="forward", options=PYTHON)(*args),
    "by rows": lambda f, *args: pb.jacobian(f, mode="reverse", options=PYTHON)(*args),
    "hessian": lambda f, *args: pb.hessian(f, options=PYTHON)(*args),
    "hvp": lambda f, x, *rest: pb.hvp(f, options=PYTHON)(x, x, *rest),
    "vjp": lambda f, *args: pb.vjp(f, *args, options=PYTHON),
    "jvp": lambda f, x, *rest: pb.jvp(f, (x, *rest), (x, *rest), options=PYTHON),
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("bad", BAD)
def test_bad_input_has_code_place_variable_and_cure(bad, operator):
    code, f, args, variable = BAD[bad]
    if code == "PB302" and operator in ("vjp", "jvp"):
        return  # take any argument: it is not selected
    with pytest.raises(PullbackError) as e:
        OPERATORS[operator](f, *args)
    lines, first = inspect.getsourcelines(f)
    marked = [first + i for i, line in enumerate(lines) if line.endswith("# here\n")]
    of_code = code in ("PB102", "PB301", "PB306") or variable == "objects"
    assert e.value.code == code
    assert (e.value.loc.file, e.value.loc.line) == (__file__, marked[0] if of_code else first)
    assert e.value.variable == variable
    assert e.value.hint and f"[{code}]" in str(e.value) and __file__ in str(e.value)


@pytest.mark.parametrize("operator", ["grad", "value_and_grad", "hessian", "hvp"])
def test_a_result_that_is_no_number_has_code_place_and_cure(operator):
    with pytest.raises(PullbackError) as e:
        OPERATORS[operator](doubles, ONES)
    assert e.value.code == "PB303" and "pb.jacobian" in e.value.hint
    assert (e.value.loc.file, e.value.loc.line) == (__file__, doubles.__code__.co_firstlineno)


@pytest.mark.parametrize("n", [3, np.int64(3), np.arange(3)])
def test_a_direction_for_what_has_no_derivative(n):
    f = lambda x, n: x * n
    with pytest.raises(CotangentMismatch, match="the tangent of 'n' is not zero"):
        pb.jvp(f, (2.0, n), (1.0, n), options=PYTHON)
    for nothing in (None, n * 0):
        assert np.array_equal(pb.jvp(f, (2.0, n), (1.0, nothing), options=PYTHON)[1], n)


def test_no_rule():
    def f(x):
        return jv(0, x)

    e = error_of(f, 2.0)
    assert isinstance(e, NoDerivativeError) and e.code == "PB301"
    assert e.loc.file == __file__ and "pb.stop_gradient" in e.hint


def test_integers_made_on_purpose_lose_nothing():
    def f(x):
        at = np.zeros(3, dtype=np.int64)
        at[0], at[1], at[2] = int(x), np.int64(x), pb.stop_gradient(x)
        return x * at[0] * at[1] * at[2]

    assert grad(f)(2.5) == 8.0
    assert pb.jvp(f, (2.5,), (1.0,), options=PYTHON)[1] == 8.0


def test_types_without_a_common_one():
    def f(x):
        y = x
        if x[0] > 0.0:
            y = x.sum()
        return y

    e = error_of(f, np.ones(3))
    assert isinstance(e, JoinError) and e.variable == "y" and e.loc.file == __file__


def an_axis(x, axes):
    k = axes[0]
    return x.sum(axis=k).sum()


def an_axis_read(x, axes):
    return np.concatenate((x, x), axis=axes[0]).sum()


@pytest.mark.parametrize(("f", "variable"), [(an_axis, "k"), (an_axis_read, "axes")])
def test_an_axis_found_at_run_time(f, variable):
    e = error_of(f, np.ones((2, 3)), np.array([1]))
    assert e.code == "PB201" and e.variable == variable and "depends on axis" in e.what
    assert e.loc.file == __file__ and e.hint


def sorts(x):
    return sorted(x)


def test_a_builtin_without_a_body_for_these_types():
    e = error_of(sorts, 2.0)
    assert e.code == "PB201" and e.loc.file == __file__ and e.variable == "x"
    assert "<call of sorted>" in str(error_of(sorted, 2.0))


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (len, "len, which is written in C"),
        (Exception, "the class Exception"),
        (3, "3, an object of type int"),
    ],
)
def test_no_python_code(thing, words):
    with pytest.raises(PullbackError, match=f"PB103.*behind {words}"):
        pb.lift(thing)


def test_no_function():
    e = error_of("f", 2.0)
    assert e.code == "PB103" and "'f' is no function but an object of type str" in e.what


def test_no_such_operation():
    e = error_of(lambda x: x + "1", 2.0)
    assert isinstance(e, TypingError) and e.loc.file == __file__


class Thing:
    value = 2.0


def test_an_object_selected_by_argnums():
    e = error_of(lambda t, x: t.value * x, Thing(), 1.0)
    assert e.code == "PB302" and e.variable == "t"


def doubled(x):
    return x * 2


@pytest.mark.parametrize("wrong", [np.ones(4), np.ones(3, "f4"), np.ones(3) * 1j, 1.0, None])
def test_what_does_not_fit_says_where_and_what_to_do(wrong):
    x = np.ones(3)
    back = pb.vjp(doubled, x, options=PYTHON)[1]
    calls = [lambda: back(wrong)]
    if wrong is not None:  # zero, as a tangent
        calls.append(lambda: pb.jvp(doubled, (x,), (wrong,), options=PYTHON))
    for call in calls:
        with pytest.raises(CotangentMismatch) as e:
            call()
        assert e.value.loc.file == __file__ and e.value.hint
        assert e.value.loc.line == doubled.__code__.co_firstlineno


def test_a_cotangent_of_another_kind_of_number():
    with pytest.raises(CotangentMismatch) as e:
        pb.vjp(doubled, 2.0, options=PYTHON)[1](1j)
    assert "complex" in e.value.what and e.value.hint == "Pass a float."


def test_every_error_says_what_to_do_in_order():
    e = error_of(lambda x: x, 3)
    text = str(e).splitlines()
    assert text[0].startswith("[PB302] ") and text[1].startswith('  File "') and text[2]


# -- exceptions of the function --------------------------------------------------------------------
def guarded(x, n):
    y = x * 2.0
    if n > 3:
        raise ValueError("n is too large")
    return y * n


def test_type_and_message_reach_the_caller(options):
    g = pb.grad(guarded, options=options)
    with pytest.raises(ValueError, match="n is too large"):
        g(1.0, 4)
    assert g(1.0, 2) == 4.0  # the next call works


class Diverged(ArithmeticError):
    def __init__(self, step, x):
        super().__init__(step, x)
        self.step, self.x = step, x


def settles(x, n):
    if n > 3:
        raise Diverged(n, x * 2.0) from KeyError("n")
    return x * n


def test_an_exception_keeps_its_class_attributes_and_cause(options):
    with pytest.raises(Diverged) as e:
        pb.grad(lambda x, n: settles(x, n) * x, options=options)(1.5, 4)
    assert e.value.args == (4, 3.0) and (e.value.step, e.value.x) == (4, 3.0)
    assert repr(e.value.__cause__) == "KeyError('n')"
    last = traceback.extract_tb(e.value.__traceback__)[-1]
    assert options is PYTHON or (last.name, last.filename) == ("settles", __file__)


def test_the_line_reaches_the_caller():
    try:
        pb.grad(guarded)(1.0, 4)
    except ValueError as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
    first = guarded.__code__.co_firstlineno
    assert last.filename == __file__ and last.lineno == first + 3


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x, o: pb.grad(f, options=o)(x, 5),
        lambda f, x, o: pb.value_and_grad(f, options=o)(x, 5),
        lambda f, x, o: pb.vjp(f, x, 5, options=o),
        lambda f, x, o: pb.jvp(f, (x, 5), (np.ones(3), None), options=o),
        lambda f, x, o: pb.hvp(f, options=o)(x, np.ones(3), 5),
    ],
    ids=["grad", "value_and_grad", "vjp", "jvp", "hvp"],
)
def test_an_index_out_of_range(call, options):
    def f(x, n):
        s = 0.0
        for i in range(n):
            x[i] = x[i] * 2.0
            s += x[i] * x[i]
        return s

    around = np.full(9, 7.0)
    x = around[3:6]
    with pytest.raises(IndexError):
        call(f, x, options)
    assert np.array_equal(np.delete(around, [3, 4, 5]), np.full(6, 7.0))
    assert np.array_equal(pb.grad(f, options=options)(np.ones(3), 3), [8.0, 8.0, 8.0])


ALL = {
    "grad": lambda f, x, o: pb.grad(f, options=o)(x),
    "value_and_grad": lambda f, x, o: pb.value_and_grad(f, options=o)(x),
    "has_aux": lambda f, x, o: pb.grad(f, has_aux=True, options=o)(x),
    "vjp": lambda f, x, o: pb.vjp(f, x, options=o),
    "jvp": lambda f, x, o: pb.jvp(f, (x,), (ONES,), options=o),
    "jacobian": lambda f, x, o: pb.jacobian(f, options=o)(x),
    "by columns": lambda f, x, o: pb.jacobian(f, mode="forward", options=o)(x),
    "by rows": lambda f, x, o: pb.jacobian(f, mode="reverse", options=o)(x),
    "hessian": lambda f, x, o: pb.hessian(f, options=o)(x),
    "hvp": lambda f, x, o: pb.hvp(f, options=o)(x, ONES),
    "jvp of grad": lambda f, x, o: pb.jvp(pb.grad(f, options=o), (x,), (ONES,), options=o),
}


@pytest.mark.parametrize("operator", ALL)
def test_a_function_that_always_raises_raises(operator, options):
    def f(x):
        x[1] = 5.0
        if x[0] > 0.0:
            raise LookupError("positive")
        raise ArithmeticError("not positive")

    for first, kind in ((1.0, LookupError), (-1.0, ArithmeticError)):
        x = np.array([first, 2.0, 3.0])
        with pytest.raises(kind, match="positive") as e:
            ALL[operator](f, x, options)
        assert np.array_equal(x, [first, 5.0, 3.0])
        last = traceback.extract_tb(e.value.__traceback__)[-1]
        if options is NATIVE:
            assert last.filename == __file__ and f"raise {kind.__name__}" in last.line


def raises_late(x):
    total = 0.0
    for i in range(4):
        x[i] = x[i] * 2.0  # the fourth is out of range
        total += x[i] * x[0]
    return total


def result_of(f, *args):
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("operator", [k for k in ALL if k != "has_aux"])
def test_an_exception_leaves_in_the_arguments_what_a_plain_call_leaves(operator, options):
    x, plain = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    assert result_of(ALL[operator], raises_late, x, options) == result_of(raises_late, plain)
    assert np.array_equal(x, plain)


def test_division_by_zero(options):
    def f(x, y):
        return x / y

    g = pb.grad(f, options=options)
    with pytest.raises(ZeroDivisionError):
        g(1.0, 0.0)
    assert g(1.0, 2.0) == 0.5


def test_division_of_array_elements_gives_inf(options):
    with np.errstate(divide="ignore"):
        g = pb.grad(lambda x, y: (x / y).sum(), options=options)(np.ones(2), np.array([0.0, 2.0]))
    assert np.array_equal(g, [np.inf, 0.5])
