"""The public `infer`: types as Numba finds them, errors that name line, variable and both types,
warnings of types that change."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from numba import types
from numba.core import compiler, registry
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import NopythonTypeInference

from pullback.errors import JoinError, TypeInstability, TypingError
from pullback.frontend import lift
from pullback.typing_ import abstract_of, flat, infer

from ..ad.programs import program

X = np.arange(1.0, 7.0)
A = np.arange(12.0).reshape(3, 4)


# -- against Numba's inference ---------------------------------------------------------------------
@register_pass(mutates_CFG=False, analysis_only=True)
class Stop(AnalysisPass):
    _name = "stop_after_inference"

    def __init__(self):
        AnalysisPass.__init__(self)

    def run_pass(self, state):
        raise compiler._EarlyPipelineCompletion(state.typemap)


class InferOnly(compiler.CompilerBase):
    def define_pipelines(self):
        pm = compiler.DefaultPassBuilder.define_untyped_pipeline(self.state)
        pm.add_pass(NopythonTypeInference, "infer")
        pm.add_pass(Stop, "stop")
        pm.finalize()
        return [pm]


def numba_types(f, argtypes):
    """The types that each of the user's variables has anywhere, by name."""
    target = registry.cpu_target
    flags = compiler.Flags()
    flags.nrt = True
    typemap = compiler.compile_extra(
        target.typing_context, target.target_context, f, argtypes, None, flags, {},
        pipeline_class=InferOnly,
    )  # fmt: skip
    found = {}
    for name, t in typemap.items():
        base = name.split(".")[0]
        if base and base[0] != "$" and base != "arg":
            found.setdefault(base, set()).add(types.unliteral(t))
    return found


def our_types(f, args):
    typed = infer(lift(f), *args)
    found = {}
    for b in typed:
        for v in (*b.params, *(op.result for op in b.ops)):
            if v.name and isinstance(v.type, types.Type):
                found.setdefault(v.name, set()).add(types.unliteral(v.type))
    return found


def agree_with_numba(f, args):
    """Every type that a variable has here it has for Numba too (which may see more: it does not
    leave out branches that are never taken)."""
    theirs = numba_types(f, tuple(abstract_of(a).type for a in args))
    ours = our_types(f, args)
    assert ours
    for name, found in ours.items():
        assert found <= theirs[name], (name, found, theirs[name])


def stepping(x, n, a):
    t = 0
    u = 1
    for i in range(n):
        t += 1
        u = u * 0.5
        if x[i] > a:
            v = x[i:]
            a = v[0]
    w = x[::2]
    k = n // 2
    z = (t, u)
    b = a > u
    c = 1j * a
    m, q = z
    return t, u, a, w, k, z, b, c, m, q


def rank_two(A, x):
    n, m = A.shape
    y = A[0]
    z = A[:, 1]
    B = A.T
    u, v = x, y
    for i in range(3):
        u, v = v, u
    e = A[1, 2] ** 2
    w = math.sin(e)
    h = min(e, w)
    return n, m, y, z, B, u, v, e, w, h


@pytest.mark.parametrize(
    "f, args",
    [(stepping, (X, 3, 1.0)), (rank_two, (A, X[:4]))],
    ids=["stepping", "rank_two"],
)
def test_variables_have_the_types_that_numba_gives_them(f, args):
    agree_with_numba(f, args)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_have_the_types_that_numba_gives_them(seed):
    p = program(seed)
    for name, callee in p.function.__globals__.items():
        if name in ("h", "lt"):
            p.function.__globals__[name] = __import__("numba").njit(callee)
    agree_with_numba(p.function, p.arguments())


# -- what it shows ---------------------------------------------------------------------------------
def accumulate(x):
    s = 0
    for i in range(len(x)):
        s += x[i]
    return s


def test_infer_prints_types():
    text = str(infer(lift(accumulate), X))
    assert "x: array(float64, 1d, C)" in text
    assert "s: float64" in text


def test_arguments_may_be_types_and_defaults_are_filled_in():
    def f(x, n=3):
        y = x * n
        return y

    typed = infer(lift(f), types.float32)
    assert {v.name: v.type for v in typed.args} == {"x": types.float32, "n": types.int64}
    (y,) = [op.result for op in typed.ops() if op.result.name == "y"]
    assert y.type == types.float32


def test_what_typing_decides_is_not_explored():
    def f(x, axis):
        if axis is None:
            y = x[0]
        else:
            y = x.no_such_thing
        return y

    assert flat(f, [abstract_of(X), abstract_of(None)]).result.type == types.float64


# -- warnings --------------------------------------------------------------------------------------
def test_an_accumulator_that_starts_as_an_int_is_reported():
    with pytest.warns(TypeInstability, match=r"'s' is int64 .* float64 on another") as found:
        infer(lift(accumulate), X, warn=True)
    line = accumulate.__code__.co_firstlineno + 3
    assert any(f"line {n}" in str(found[0].message) for n in (line - 1, line))


def test_layouts_and_precisions_that_change_are_reported():
    def f(A, a):
        s = a
        for i in range(3):
            A = A.T
            s = s * 2.0 + A[0, 0]
        return A, s

    with pytest.warns(TypeInstability) as found:
        infer(lift(f), A, np.float32(1.5), warn=True)
    text = " ".join(str(w.message) for w in found)
    assert "'A'" in text and "'s' is float32" in text


def test_stable_code_is_not_reported():
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer(lift(f), X, warn=True)


# -- errors ----------------------------------------------------------------------------------------
def test_a_failed_join_names_line_variable_and_both_types():
    def f(x, c):
        y = x
        if c:
            y = x[0]
        return y

    with pytest.raises(JoinError) as e:
        flat(f, [abstract_of(X), abstract_of(True)])
    line = f.__code__.co_firstlineno + 3
    text = str(e.value)
    assert e.value.variable == "y"
    assert "float64" in text and "array(float64, 1d, C)" in text
    assert f'test_infer.py", line {line}' in text


def test_none_beside_a_number_is_explained():
    def f(c):
        y = None
        if c:
            y = 1.0
        return y

    with pytest.raises(JoinError, match="instead of None"):
        flat(f, [abstract_of(True)])


def inner(x):
    return x.no_such_thing


def test_an_error_in_a_callee_is_placed_there():
    with pytest.raises(TypingError) as e:
        flat(lambda x: inner(x) + 1, [abstract_of(X)])
    assert f"line {inner.__code__.co_firstlineno + 1}" in str(e.value)


@pytest.mark.parametrize(
    "source, words",
    [
        ("x[1.5]", "indexed by a float"),
        ("x[0, 1]", "too many indices"),
        ("x(1)", "is called"),
        ("undefined_name", "not defined"),
        ("range(x[0])", "must be integers"),
        ("len(x[0])", "iterate over float64"),
        ("len(1.0)", "has no len"),
        ("int(1j * x[0])", "complex number is converted"),
        ("max", "callable|returned|static"),
        ("(lambda a: a)(1, 2)", "takes 1 positional"),
        ("(1, 2)[5]", "index 5 of a tuple of 2"),
        ("if_array(x)", "ambiguous"),
        ("[v for v in x for w in x]", "lists"),
        ("[x for v in x]", "only numbers"),
        ("open('f')", "not known to compiled code"),
    ],
)
def test_errors_say_what_is_wrong(source, words):
    scope = {"__name__": "user"}
    exec("def if_array(x):\n    if x:\n        return 1\n    return 2", scope)
    exec(f"def f(x):\n    return {source}", scope)
    if source == "max":
        assert flat(scope["f"], [abstract_of(X)]).result.const is max
        return
    with pytest.raises(TypingError, match=words) as e:
        flat(scope["f"], [abstract_of(X)])
    assert "PB2" in str(e.value) and "line" in str(e.value)


def test_an_error_inside_a_body_is_placed_at_the_users_line():
    def f(x):
        y = x
        return np.interp(0.5, y, "abc")

    with pytest.raises(TypingError) as e:
        flat(f, [abstract_of(X)])
    assert f'test_infer.py", line {f.__code__.co_firstlineno + 2}' in str(e.value)
