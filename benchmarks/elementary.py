"""Time elementary functions of the elements of an array, in nanoseconds an element, beside Numba's
and NumPy's: python benchmarks/elementary.py [NAME...]. One thread; the median of several runs.
"""

from __future__ import annotations

import math
import operator
import os
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numba
import numpy as np
import scipy.special

from pullback.ad.compile import primal
from pullback.examples import report
from pullback.typing_ import abstract_of, flat

N = 10_000

NAMES = ("exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "logaddexp")
FUNCTIONS: dict[str, tuple[Callable[..., float], Any]] = {
    **{name: (getattr(np, name), getattr(np, name)) for name in NAMES},
    "pow": (operator.pow, np.power),
    "erf": (math.erf, scipy.special.erf),  # in loops always float64
}
"""What is called in compiled loops, and the function of arrays."""


def loop_over(f: Callable[..., float], operands: int) -> Callable[..., None]:
    """A function of arrays that sets the elements of the last one."""
    if operands == 1:

        def loop(x, y):
            for i in range(x.size):
                y[i] = f(x[i])

    else:

        def loop(x, p, y):
            for i in range(x.size):
                y[i] = f(x[i], p[i])

    return loop


def nanoseconds(f: Callable[[], object], rounds: int = 51) -> float:
    """The median time, per element."""
    f()
    number = max(1, int(2e-3 / timeit.timeit(f, number=1)))
    times = (timeit.timeit(f, number=number) / number for _ in range(rounds))
    return statistics.median(times) / N * 1e9


def row(name: str, dtype: str) -> tuple[str, ...]:
    scalar, ufunc = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    xs = [rng.uniform(0.1, 4.0, N).astype(dtype) for _ in range(1 + (name in ("pow", "logaddexp")))]
    y = np.empty_like(xs[0])
    loop = loop_over(scalar, len(xs))
    ours = primal(flat(loop, [abstract_of(x) for x in (*xs, y)])).call
    theirs = numba.njit(loop)
    times = (
        nanoseconds(lambda: ours(*xs, y)),
        nanoseconds(lambda: theirs(*xs, y)),
        nanoseconds(lambda: ufunc(*xs, out=y)),
    )
    return (f"{name} {dtype}", *(f"{t:.2f}" for t in times))


def main(names: list[str]) -> None:
    report.table(
        "Nanoseconds an element",
        ("function", "pullback", "numba", "numpy, scipy"),
        [row(name, dtype) for name in names or FUNCTIONS for dtype in ("float64", "float32")],
    )


if __name__ == "__main__":
    main(sys.argv[1:])
