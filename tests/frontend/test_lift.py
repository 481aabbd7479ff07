"""What lifting gives, what it refuses, and that it is deterministic."""

from __future__ import annotations

import math
import sys

import pytest

from pullback.errors import LiftError, NotLiftable, UnsupportedPython
from pullback.frontend import lift, lift_code
from pullback.ir.core import GLOBAL, Branch, ForIter, Raise
from pullback.ir.printer import format_ir


def text(f):
    """The IR without the header and the lines."""
    return [line.split("  #")[0] for line in format_ir(lift(f)).splitlines()[1:]]


def test_straight_line():
    def f(x, y):
        z = x * y
        return z + x

    assert text(f) == [
        "b0(%0.x, %1.y):",
        "  %2.z = mul(%0.x, %1.y)",
        "  %3 = add(%2.z, %0.x)",
        "  return %3",
    ]


def test_only_what_changes_is_a_parameter():
    def f(n, step):
        total = 0
        scale = step * 2
        i = 0
        while i < n:
            total += scale
            i += step
        return total

    heads = [b for b in lift(f) if len(b.params) == 2 and b is not lift(f).entry]
    assert all([p.name for p in b.params] == ["i", "total"] for b in heads[1:])
    assert not any(p.name in ("scale", "step", "n") for b in list(lift(f))[1:] for p in b.params)


def test_swaps_are_edges_alone():
    def f(a, b, n):
        for _ in range(n):
            a, b = b, a
        return a

    ir = lift(f)
    body = next(
        b
        for b in ir
        if any(
            e.args == tuple(reversed(h.params[:2]))
            for h in ir
            for e in b.edges
            if e.target == h.id and len(h.params) == 2
        )
    )
    assert body.ops == []


def test_loop_has_an_iteration_step():
    def f(xs):
        for x in xs:
            print(x)

    (loop,) = [b for b in lift(f) if isinstance(b.term, ForIter)]
    body = lift(f).blocks[loop.term.body.target]
    assert [p.name for p in body.params] == ["x"]


def test_operators_are_calls():
    def f(x, i, v):
        x[i] += v
        x.name = -v
        del x[i], x.name
        return x @ v, x.f(k=i), x[i:v], i in x, i not in x, i is not x, not x

    names = [line.split(" = ")[1].split("(")[0] for line in text(f) if " = " in line]
    assert names == [
        "getitem", "iadd", "setitem", "neg", "setattr", "delitem", "delattr", "matmul", "getattr",
        "%11", "slice", "getitem", "contains", "contains", "not_", "is_not", "not_", "build_tuple",
    ]  # fmt: skip


def test_globals_are_not_resolved():
    def f(x):
        return math.sin(x) + undefined_anywhere  # noqa: F821

    assert [op.attr for op in lift(f).ops() if op.kind == GLOBAL] == ["math", "undefined_anywhere"]


def test_read_of_what_is_never_bound_raises():
    def f():
        print(x)  # noqa: F821
        x = 1
        return x

    (block,) = lift(f)
    assert isinstance(block.term, Raise)


def test_check_only_where_it_may_be_unbound():
    def f(c):
        if c:
            x = 1
        y = x
        return x + y

    checks = [line for line in text(f) if "check_bound" in line]
    assert len(checks) == 1


def test_lines():
    def f(x):
        y = x + 1
        return (
            y * 2
        )  # fmt: skip

    first = f.__code__.co_firstlineno
    add, mul = lift(f).ops()
    assert (add.loc.line, mul.loc.line, mul.loc.end_line) == (first + 1, first + 3, first + 3)
    assert (add.loc.file, add.loc.col, add.loc.end_col) == (__file__, 12, 17)


def test_deterministic():
    def f(xs, n):
        a = b = 0
        for x in xs:
            if (x > n and a) or b:
                a, b = b, x
            else:
                a += 1
        return [a for a in xs if a], {b: a}

    assert len({format_ir(lift(f)) for _ in range(20)}) == 1


def test_blocks_in_reverse_postorder_and_numbered():
    def f(x):
        while x:
            if x == 3:
                break
            x -= 1
        return x

    ir = lift(f)
    assert list(ir.blocks) == list(range(len(ir.blocks)))
    ids = [v.id for b in ir for v in [*b.params, *(op.result for op in b.ops)]]
    assert ids == list(range(len(ids)))
    assert any(isinstance(b.term, Branch) for b in ir)


# -- what a function brings along ----------------------------------------------------------------
def test_info():
    def f(a, /, b=1, *rest, c: int, d=2, **more) -> float:
        """Doc."""

    info = lift(f).info
    assert info.argnames == ("a", "b", "c", "d", "rest", "more")
    assert (info.posonly, info.kwonly, info.varargs, info.varkw) == (1, 2, True, True)
    assert (info.defaults, info.kwdefaults, info.doc) == ((1,), {"d": 2}, "Doc.")
    assert info.globals is globals() and info.qualname == f.__qualname__
    assert str(lift(f)).startswith(
        f"function {f.__qualname__}(a, /, b=..., *rest, c, d=..., **more)"
    )


def test_docstring_of_code_alone():
    def documented():
        """Doc."""

    def silent():
        return "text"

    assert lift_code(documented.__code__).info.doc == "Doc."
    assert lift_code(silent.__code__).info.doc is None


def test_dispatcher_keeps_its_options():
    from numba import njit

    @njit(fastmath=True)
    def f(x):
        return x + 1

    ir = lift(f)
    assert ir.info.options["fastmath"] is True and ir.info.name == "f"


def test_bound_method():
    class C:
        def m(self, x):
            return x

    assert lift(C().m).info.argnames == ("self", "x")


# -- what is refused -----------------------------------------------------------------------------
def reads_frame(x):
    return locals()


def evals(x):
    return eval("x")


REFUSED = [
    (reads_frame, "locals()", 1),
    (evals, "eval()", 1),
]


@pytest.mark.parametrize("f,construct,line", REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_refused_with_construct_file_and_line(f, construct, line):
    with pytest.raises(LiftError) as info:
        lift(f)
    error = info.value
    assert error.code == "PB102" and construct in str(error)
    assert error.loc.file == __file__ and f"line {error.loc.line}" in str(error)
    if line is not None:
        assert error.loc.line in (f.__code__.co_firstlineno + line, f.__code__.co_firstlineno + 2)


def test_eval_with_its_own_names_is_lifted():
    def f(s):
        return eval(s, {}, {}), vars(math), dir(math)

    lift(f)


@pytest.mark.parametrize("f", [math.sin, len, int, 3, "text", object()])
def test_no_python_code(f):
    with pytest.raises(NotLiftable) as info:
        lift(f)
    assert info.value.code == "PB103"


def test_other_versions(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 14, 0, "final", 0))
    with pytest.raises(UnsupportedPython) as info:
        lift(reads_frame)
    assert info.value.code == "PB101"


def test_lift_code_alone():
    code = compile("def f(x): return x + g", "<text>", "exec").co_consts[0]
    ir = lift_code(code, {"g": 1})
    assert ir.info.globals == {"g": 1} and ir.info.argnames == ("x",)
