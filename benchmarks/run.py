"""Time each kernel and its gradient: python benchmarks/run.py [WORD...] runs those whose name has
one of the words. One thread; the best of several runs; both are compiled, compiling apart.
"""

from __future__ import annotations

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numba
from kernels import KERNELS, Kernel

import pullback as pb
from pullback.examples import report


def row(kernel: Kernel) -> tuple[str, ...]:
    """Name, seconds of the first gradient call, of the primal, of the gradient, the ratio and the
    one we mean to reach."""
    arguments = kernel.arguments()
    primal, gradient = numba.njit(kernel.f), pb.value_and_grad(kernel.f)
    _, compiling = report.timed(lambda: gradient(*arguments))
    one, both = report.seconds(lambda: primal(*arguments), lambda: gradient(*arguments))
    times = (report.duration(t) for t in (compiling, one, both))
    target = "" if kernel.target is None else f"{kernel.target}"
    return (kernel.name, *times, f"{both / one:.2f}", target)


def main(words: list[str]) -> None:
    chosen = [k for k in KERNELS if not words or any(w in k.name for w in words)]
    report.table(
        "Gradient over primal",
        ("kernel", "first call", "primal", "value and gradient", "ratio", "target"),
        [row(k) for k in chosen],
    )


if __name__ == "__main__":
    main(sys.argv[1:])
