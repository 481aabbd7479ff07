"""What a context costs: nanoseconds added to each kind of site, with an empty context.

python benchmarks/contexts.py
"""

from __future__ import annotations

import time

import pullback as pb

N = 20_000


class Empty(pb.Context):
    pass


class Point:
    def __init__(self, x):
        self.x = x

    def get(self):
        return 1

    def __add__(self, other):
        return 1

    @property
    def half(self):
        return 1


def twice(x):
    return x


def nothing(n, p):
    for _ in range(n):
        pass


def addition(n, p):
    x = 1.5
    for _ in range(n):
        x + x


def comparison(n, p):
    x = 1.5
    for _ in range(n):
        x < x  # noqa: B015


def condition(n, p):
    x = 1.5
    for _ in range(n):
        if x:
            pass


def subscript(n, p):
    x = [1.5]
    for _ in range(n):
        x[0]


def attribute(n, p):
    for _ in range(n):
        p.x  # noqa: B018


def builtin(n, p):
    for _ in range(n):
        abs(1.5)


def function(n, p):
    for _ in range(n):
        twice(1.5)


def new_function(n, p):
    for _ in range(n):
        (lambda x: x)(1.5)


def closure(n, p):
    for _ in range(n):
        (lambda x: p)(1.5)


def truth(n, p):
    x = [1.5]
    for _ in range(n):
        if x:
            pass


def iteration(n, p):
    for _ in [1.5] * n:
        pass


def store(n, p):
    x = [1.5]
    for _ in range(n):
        x[0] = 2.5


def keyword(n, p):
    for _ in range(n):
        twice(x=1.5)


def operator_method(n, p):
    for _ in range(n):
        p + p


def property_read(n, p):
    for _ in range(n):
        p.half  # noqa: B018


def method(n, p):
    for _ in range(n):
        p.get()


def builtin_method(n, p):
    x = []
    for _ in range(n):
        x.count(1)


def spread(n, p):
    x = (1.5,)
    for _ in range(n):
        twice(*x)


def constructor(n, p):
    for _ in range(n):
        Point(1.5)


SITES = {
    addition: 1, comparison: 1, condition: 1, truth: 1, iteration: 1, subscript: 1, store: 1,
    attribute: 1, builtin: 1, function: 1, keyword: 1, spread: 1, new_function: 1, closure: 1,
    method: 2, builtin_method: 2, constructor: 2, operator_method: 1, property_read: 1,
}  # fmt: skip
"""Programs, and how many contextual sites an iteration has."""


def best(run, *args) -> float:
    times = []
    for _ in range(15):
        start = time.process_time_ns()
        run(*args)
        times.append(time.process_time_ns() - start)
    return min(times) / N


def main() -> None:
    p, ctx = Point(1.5), Empty()
    loop = best(nothing, N, p), best(ctx.overdub, nothing, N, p)
    print(f"{'site':16} {'plain':>8} {'context':>8} {'added per site':>15}  ns")
    for program, sites in SITES.items():
        plain = best(program, N, p) - loop[0]
        inside = best(ctx.overdub, program, N, p) - loop[1]
        print(f"{program.__name__:16} {plain:8.0f} {inside:8.0f} {(inside - plain) / sites:15.0f}")


if __name__ == "__main__":
    main()
