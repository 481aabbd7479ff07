"""Random programs: scalars, loops, branches, arrays, views, swaps, in-place updates, calls.

A program is drawn as text in two renderings of one tree: ``python``, the function under test, and
``oracle``, the same function for complex numbers, whose comparisons look at real parts and note how
close they were. The complex step on the oracle gives derivatives to machine precision.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

SCALARS = ("s", "u", "v")
FULL = ("x", "y", "z", "w")  # arrays of n elements
VIEWS = ("q", "r")  # views that may be shorter


@dataclass
class Draw:
    """Draws the tree; ``depth`` is the nesting, ``loops`` the loop variables in scope."""

    random: Random
    budget: int
    loops: list[str] = field(default_factory=list)
    names: int = 0
    inside_loop: bool = False

    def pick(self, *weighted: tuple[int, Any]) -> Any:
        total = sum(w for w, _ in weighted)
        at = self.random.randrange(total)
        for w, x in weighted:
            at -= w
            if at < 0:
                return x
        raise AssertionError

    def one(self, xs: Any) -> Any:
        return xs[self.random.randrange(len(xs))]

    # -- expressions ---------------------------------------------------------------------------
    def index(self) -> str:
        i = self.one(self.loops) if self.loops else "k"
        return self.pick(
            (4, f"{i} % n"), (2, f"({i} + 1) % n"), (2, f"n - 1 - {i} % n"), (1, "k % n"),
            (2, f"p[{i} % n]"), (1, "-1"), (1, "0"),
        )  # fmt: skip

    def element(self) -> str:
        return self.pick(
            (6, f"{self.one(FULL)}[{self.index()}]"),
            (2, f"{(q := self.one(VIEWS))}[({self.index()}) % len({q})]"),
            (2, f"A[{self.index()}, {self.index()}]"),
            (1, f"B[{self.index()}, {self.index()}]"),
        )

    def expr(self, depth: int = 2) -> str:
        if depth == 0:
            return self.pick(
                (3, self.one(SCALARS)), (1, "a"), (1, f"{self.random.uniform(-1, 1):.2f}"),
                (4, self.element()),
            )  # fmt: skip
        e = lambda: self.expr(depth - 1)
        kind = self.pick(
            (3, "leaf"), (3, "+"), (2, "-"), (4, "*"), (2, "/"), (2, "sin"), (2, "tanh"),
            (1, "sqrt"), (1, "dot"), (1, "sum"),
        )  # fmt: skip
        if kind == "leaf":
            return self.expr(0)
        if kind in "+-*":
            return f"({e()} {kind} {e()})"
        if kind == "/":
            d = self.expr(0)
            return f"({e()} / (2.0 + {d} * {d}))"
        if kind == "sqrt":
            d = self.expr(0)
            return f"sqrt(1.0 + {d} * {d})"
        if kind == "dot":
            return f"tanh(({self.one(FULL)} * {self.one(FULL)}).sum())"
        if kind == "sum":
            return f"tanh({self.one(FULL + VIEWS)}.sum())"
        return f"{kind}({e()})"

    def cond(self) -> str:
        i = self.one(self.loops) if self.loops else "k"
        return self.pick(
            (4, f"lt({self.expr(1)}, {self.expr(0)})"), (2, f"{i} % 2 == 0"), (1, "k > 1"),
            (1, f"{i} % 3 == 1"),
        )  # fmt: skip

    # -- statements ----------------------------------------------------------------------------
    def block(self, depth: int) -> list[Any]:
        out: list[Any] = []
        for _ in range(self.random.randint(1, 5)):
            if self.budget <= 0:
                break
            self.budget -= 1
            out += self.statement(depth)
        return out or ["s = s + a"]

    def statement(self, depth: int) -> list[Any]:
        kind = self.pick(
            (4, "set"), (3, "aug"), (2, "rotate"), (6, "store"), (4, "store-aug"), (2, "slice"),
            (2, "slice-aug"), (2, "view"), (1, "alias"), (1, "copy"), (2, "swap"), (1, "fresh"),
            (1, "matrix"), (2, "overwrite"), (2, "whole"),
            (3 if depth else 0, "if"), (5 if depth else 0, "for"), (2 if depth else 0, "while"),
            (1, "call"), (1 if self.inside_loop else 0, "leave"),
        )  # fmt: skip
        return getattr(self, "_" + kind.replace("-", "_"))(depth)

    def _set(self, _: int) -> list[Any]:
        return [f"{self.one(SCALARS)} = {self.expr()}"]

    def _aug(self, _: int) -> list[Any]:
        return [f"{self.one(SCALARS)} {self.one('+-*')}= {self.expr(1)}"]

    def _rotate(self, _: int) -> list[Any]:
        a, b = self.random.sample(SCALARS, 2)
        return [f"{a}, {b} = {b}, {a}"]

    def _store(self, _: int) -> list[Any]:
        return [f"{self.element()} = {self.expr()}"]

    def _store_aug(self, _: int) -> list[Any]:
        return [f"{self.element()} {self.one('+-*')}= {self.expr(1)}"]

    def _overwrite(self, _: int) -> list[Any]:
        e = self.element()
        return [f"s = {e}", f"{e} = {self.one(['0.0', 'u', 's * s'])}", "u = s * s + u"]

    def _slice(self, _: int) -> list[Any]:
        x, y, z = (self.one(FULL) for _ in range(3))
        a, b = self.one([("1:", ":-1"), (":-1", "1:"), (":", ":"), ("::-1", ":"), (":", "::-1")])
        value = self.pick(
            (2, f"{y}[{b}]"), (2, f"{self.one(SCALARS)} * {y}[{b}]"), (1, f"{y}[{b}] + {z}[{a}]"),
            (1, self.one(SCALARS)), (1, f"sin({y}[{b}])"),
        )  # fmt: skip
        return [f"{x}[{a}] = {value}"]

    def _slice_aug(self, depth: int) -> list[Any]:
        (s,) = self._slice(depth)
        return [s.replace(" = ", f" {self.one('+-*')}= ", 1)]

    def _view(self, _: int) -> list[Any]:
        x = self.one(FULL)
        return [
            f"{self.one(VIEWS)} = {x}[{self.one(['1:', ':-1', '::2', '::-1', ':', 'n // 2:'])}]"
        ]

    def _alias(self, _: int) -> list[Any]:
        return [f"{self.one(('z', 'w'))} = {self.one(FULL)}"]

    def _copy(self, _: int) -> list[Any]:
        return [f"{self.one(('z', 'w'))} = {self.one(FULL)}.copy()"]

    def _swap(self, _: int) -> list[Any]:
        names = self.random.sample(FULL, self.pick((3, 2), (1, 3)))
        return [f"{', '.join(names)} = {', '.join(names[1:] + names[:1])}"]

    def _fresh(self, _: int) -> list[Any]:
        return [f"{self.one(('z', 'w'))} = zeros(n)"]

    def array(self, depth: int = 2) -> str:
        if depth == 0:
            return self.pick(
                (4, self.one(FULL)), (1, self.one(SCALARS)), (1, f"{self.one(FULL)}[::-1]")
            )
        a, b = self.array(depth - 1), self.array(depth - 1)
        return self.pick(
            (3, f"({a} * {b})"), (2, f"({a} + {b})"), (1, f"({a} - {b})"), (1, a),
            (1, f"np.sin({a})"), (1, f"({a} / (2.0 + {self.one(FULL)} * {self.one(FULL)}))"),
        )  # fmt: skip

    def _whole(self, _: int) -> list[Any]:
        e = f"{self.array()} + 0.1 * {self.one(FULL)}"
        return [self.one([f"{self.one(('z', 'w'))} = {e}", f"{self.one(FULL)}[:] = {e}",
                          f"{self.one(FULL)} *= {e}", f"s = s + ({e}).sum()"])]  # fmt: skip

    def _matrix(self, _: int) -> list[Any]:
        return [
            self.one(["B = A.T", "B = A", f"r = A[{self.index()}]", f"A[{self.index()}] = y * s"])
        ]

    def _call(self, _: int) -> list[Any]:
        return [f"{self.one(SCALARS)} = h({self.expr(1)}, {self.one(FULL)}, k % n)"]

    def _leave(self, _: int) -> list[Any]:
        return [("if", self.cond(), [self.one(["break", "continue"])], [])]

    def _if(self, depth: int) -> list[Any]:
        return [("if", self.cond(), self.block(depth - 1), self.one([[], self.block(depth - 1)]))]

    def _for(self, depth: int) -> list[Any]:
        self.names += 1
        i = f"i{self.names}"
        trips = self.one(["n", "n - 1", "k", "2", "0", "1, n", "n - 1, -1, -1", "0, n, 2"])
        self.loops.append(i)
        was, self.inside_loop = self.inside_loop, True
        body = self.block(depth - 1)
        self.loops.pop()
        self.inside_loop = was
        return [("for", i, trips, body)]

    def _while(self, depth: int) -> list[Any]:
        self.names += 1
        t = f"t{self.names}"
        self.loops.append(t)
        was, self.inside_loop = self.inside_loop, False
        body = self.block(depth - 1)
        self.loops.pop()
        self.inside_loop = was
        return [f"{t} = 0", ("while", f"{self.cond()} and {t} < 4", [f"{t} += 1", *body])]


HEAD = """def same(e):
    return e


def h(e, X, j):
    X[j] = X[j] * e
    c = 1.0
    if lt(e, 0.3):
        c = sin(e)
    return c * X[0] + e


def f(a, x, y, A, p, k):
    n = len(x)
    s = a
    u = x[0]
    v = 0.5
    z = y
    w = x
    q = x[1:]
    r = y[:]
    B = A
"""


def render(tree: list[Any], indent: str = "    ") -> str:
    lines = []
    for s in tree:
        if isinstance(s, str):
            lines.append(indent + s)
        elif s[0] == "if":
            lines += [f"{indent}if {s[1]}:", render(s[2], indent + "    ")]
            if s[3]:
                lines += [f"{indent}else:", render(s[3], indent + "    ")]
        elif s[0] == "for":
            lines += [f"{indent}for {s[1]} in range({s[2]}):", render(s[3], indent + "    ")]
        else:
            lines += [f"{indent}while {s[1]}:", render(s[2], indent + "    ")]
    return "\n".join(lines)


class Margin:
    """How close the comparisons of a run were to going the other way."""

    def __init__(self) -> None:
        self.least = math.inf

    def lt(self, a: Any, b: Any) -> bool:
        a, b = complex(a).real, complex(b).real
        self.least = min(self.least, abs(a - b))
        return a < b


def both(f: Any, g: Any) -> Any:
    return lambda v: g(v) if isinstance(v, np.ndarray) else f(v)


@dataclass
class Program:
    seed: int
    source: str
    function: Any
    oracle: Any
    margin: Margin

    def arguments(self, n: int | None = None) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.seed)
        n = n or int(rng.integers(2, 6))
        return (
            float(rng.normal()), rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, n)),
            rng.integers(0, n, size=n), int(rng.integers(0, 5)),
        )  # fmt: skip


def lt_plain(a, b):
    return a < b


def program(seed: int, size: int = 14, change: Any = None) -> Program:
    """The program of a seed; ``change(tree, random)`` may rewrite its statements."""
    random = Random(seed)
    draw = Draw(random, size)
    tree = draw.block(3)
    while draw.budget > 0:
        tree += draw.block(3)
    result = f"    return {draw.expr(2)} + s * u + v + x[0] * y[-1] + (z * w).sum() + B[0, 1]\n"
    if change is not None:
        tree = change(tree, random)
    source = HEAD + render(tree) + "\n" + result
    margin = Margin()
    plain = {
        "sin": np.sin, "tanh": np.tanh, "sqrt": math.sqrt, "lt": lt_plain, "zeros": np.zeros,
        "math": math, "np": np, "__name__": "program",
    }  # fmt: skip
    name = f"<program {seed}>"
    exec(compile(source, name, "exec"), plain)
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    hard = {
        "sin": both(cmath.sin, np.sin), "tanh": both(cmath.tanh, np.tanh), "sqrt": cmath.sqrt,
        "lt": margin.lt, "zeros": lambda n: np.zeros(n, complex), "np": np,
        "__name__": "oracle",
    }  # fmt: skip
    exec(compile(source, name, "exec"), hard)
    return Program(seed, source, plain["f"], hard["f"], margin)


def complex_step(p: Program, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """Value and gradient by a, x, y, A."""
    a, x, y, A, perm, k = args
    h = 1e-30

    def run(a: Any, x: Any, y: Any, A: Any) -> Any:
        return p.oracle(a + 0j, x + 0j, y + 0j, A + 0j, perm, k)

    value = run(a, x, y, A).real
    grads: list[Any] = [run(a + h * 1j, x, y, A).imag / h]
    for which in range(3):
        arrays = [x, y, A]
        g = np.zeros(arrays[which].shape)
        for at in np.ndindex(g.shape):
            moved = [b + 0j for b in arrays]
            moved[which][at] += h * 1j
            g[at] = run(a, *moved).imag / h
        grads.append(g)
    return value, tuple(grads)
