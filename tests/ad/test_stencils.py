"""Random programs of stencils: a few arrays, loops over neighbours with all kinds of bounds, swaps,
single elements in between. The plan "naive", which turns nothing round, is the oracle."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import numpy as np
import pytest

from pullback.ad.loops import collect, zeros

from .harness import Derived, flatten
from .test_programs import close

FEW = int(os.environ.get("PULLBACK_STENCILS", "16"))
MANY = 600
LINES, PLANES = ("u", "v", "w"), ("a", "b")


class Draw:
    """A program of a few statements within a loop over ``t``, as text."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.flat = self.random.random() < 0.6  # in one dimension
        self.names = LINES if self.flat else PLANES
        self.width = 2 if self.flat else 1

    def one(self, *xs: Any) -> Any:
        return self.random.choice(xs)

    def near(self, counter: str) -> str:
        k = self.random.randint(-self.width, self.width)
        return counter if k == 0 else f"{counter} {'+-'[k < 0]} {abs(k)}"

    def element(self, x: str, counters: tuple[str, ...]) -> str:
        return f"{x}[{', '.join(map(self.near, counters))}]"

    def value(self, names: list[str], counters: tuple[str, ...]) -> str:
        parts = []
        for _ in range(self.random.randint(2, 4)):
            x, y = (self.element(self.one(*names), counters) for _ in range(2))
            parts.append(self.one(x, f"k * {x}", f"{x} * {y}", f"-0.4 * {x}"))
        return " + ".join(parts)

    def bounds(self, length: str) -> str:
        low, high = self.random.randint(2, 3), self.random.randint(2, 3)
        if self.random.random() < 0.2:
            return f"{length} - {high + 1}, {low - 1}, -1"
        return f"{low}, {length} - {high}"

    def loop(self) -> list[str]:
        counters = ("i",) if self.flat else ("i", "j")
        lines = [f"for {c} in range({self.bounds('n')}):" for c in counters]
        x = self.one(*self.names)
        target = f"{x}[{', '.join(counters)}]"
        if self.random.random() < 0.2:
            target = self.element(x, counters)
        others = [y for y in self.names if y != x or self.random.random() < 0.1]
        if self.random.random() < 0.6:
            others = [self.one(*others)]
        body = f"{target} {self.one('=', '=', '=', '+=')} 0.3 * ({self.value(others, counters)})"
        lines = ["    " * depth + line for depth, line in enumerate([*lines, body])]
        if self.random.random() < 0.15:
            lines = [f"if t % 2 == {self.one(0, 1)}:", *("    " + line for line in lines)]
        return lines

    def statement(self) -> list[str]:
        x, y = self.one(*self.names), self.one(*self.names)
        at = self.one("2", "n - 3", "n // 2", "0")
        at = at if self.flat else f"{at}, {self.one('2', 'n // 2')}"
        kind = self.random.randrange(12)
        if kind < 7:
            return self.loop()
        if kind < 9:
            names = self.random.sample(self.names, 2)
            return [f"{', '.join(names)} = {', '.join(names[::-1])}"]
        return self.one(
            [f"s += {x}[{at}] * {y}[{at}]"],
            [f"{x}[{at}] = 0.5 * {y}[{at}]"],
            [f"{x}[{at}] = 0.1 * t"],
            [f"{x}[:] = {y}"] if x != y else ["s += k"],
            [f"if s > {self.one(0.5, 2.0)}:", "    break"],
        )

    def program(self) -> str:
        first = self.names[0]
        shape = "n" if self.flat else "(n, n)"
        make = [f"{x} = {self.one(f'{first} * 0.7', f'np.zeros({shape})')}" for x in self.names[1:]]
        body = [line for _ in range(self.random.randint(0, 3)) for line in self.statement()]
        for _ in range(self.random.randint(1, 2)):
            body = self.loop() + body + (self.statement() if self.random.random() < 0.5 else [])
        total = " + ".join(f"np.sum({x} * {x}) * {k + 1}.0" for k, x in enumerate(self.names))
        lines = [f"n = len({first})", "s = 0.0", *make, "for t in range(steps):"]
        lines += ["    " + line for line in body]
        text = "\n".join("    " + line for line in [*lines, f"return s + {total}"])
        return f"def f({first}, k, steps):\n{text}\n"


def examine(seed: int) -> None:
    source = Draw(seed).program()
    scope: dict[str, Any] = {"np": np, "__name__": "stencil"}
    exec(compile(source, f"<stencil {seed}>", "exec"), scope)
    f, rng = scope["f"], np.random.default_rng(seed)
    flat = Draw(seed).flat

    def arguments(n: int, steps: int) -> tuple[Any, ...]:
        return rng.normal(size=n if flat else (n, n)) * 0.5, 0.4, steps

    given = flatten(f, arguments(6, 2))
    oracle, *others = (
        Derived(f, arguments(6, 2), naive=naive, split=split, flat=given)
        for naive, split in ((True, False), (False, False), (False, True))
    )
    for n in range(4, 9):
        for steps in range(4):
            args = arguments(n, steps)
            wanted = oracle(*args)
            for way in others:
                found = way(*args)
                close(found.grads, wanted.grads, 1e-11)
                assert found.value == wanted.value
                if way is others[0]:
                    np.testing.assert_array_equal(found.args[0], wanted.args[0])


@pytest.mark.parametrize("seed", range(FEW))
def test_random_stencils(seed: int) -> None:
    examine(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(FEW, MANY))
def test_many_random_stencils(seed: int) -> None:
    examine(seed)


def test_the_programs_do_what_they_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole nests are turned round, and zeros are put off and made up for."""
    depths, sites = set(), []
    write, places = collect.Writer.write, zeros.Sites.__iter__

    def noted(w: Any) -> None:
        depths.add((w.depth, bool(w.awaited)))
        write(w)

    def counted(s: Any) -> Any:
        found = list(places(s))
        sites.append(len(found))
        return iter(found)

    monkeypatch.setattr(collect.Writer, "write", noted)
    monkeypatch.setattr(zeros.Sites, "__iter__", counted)
    for seed in range(7):
        examine(seed)
    assert depths == {(1, False), (1, True), (2, False), (2, True)}
    assert max(sites) > 1
