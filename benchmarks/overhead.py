"""What a call costs beside the compiled code itself:

    python benchmarks/overhead.py [--rounds N]

Warm: microseconds of ``pb.grad(f)(...)`` beyond its own machine code, called with memory and
shadows made before. Cold: seconds until the first gradient in a new process, whose machine code is
on disk, beyond those until the first result of the function itself under ``@njit(cache=True)``.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable
from typing import Any

import kernels
import numpy as np

LIMITS = {1: 1.0, 4: 2.0}
"""Microseconds a warm call may cost, by the largest number of arguments."""
LIMIT = 0.15
"""Seconds that the first gradient in a second process may come later."""


# -- warm ------------------------------------------------------------------------------------------
def one(x):
    return x * x


def four(x, y, z, w):
    return x * y + z * w


def first_element(x):
    return x[0] * x[0]


def two_elements(x, a):
    return x[0] * a


def four_elements(x, y, z, w):
    return x[0] * y[0] + z[0] * w[0]


def an_array() -> np.ndarray:
    return np.full(3, 1.5)


CALLS: list[tuple[str, Callable[..., float], tuple[Any, ...]]] = [
    ("a float", one, (1.5,)),
    ("four floats", four, (1.5, 2.5, 3.5, 4.5)),
    ("an array", first_element, (an_array(),)),
    ("an array and a float", two_elements, (an_array(), 2.5)),
    ("four arrays", four_elements, tuple(an_array() for _ in range(4))),
]


def machine_code(op: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    """A call of the operator's machine code alone."""
    from pullback.api.wrapper import seed_of
    from pullback.runtime.memory import checkout

    plan, _ = op.plan(op.bind(args, {}))
    built, entry, memory = plan.wrapper.built, plan.wrapper.call.entry, checkout()
    shadows = [np.zeros_like(args[p]) for p in built.shadowed]
    seeds = [seed_of(built.results[k]) for k in built.seeded]
    every = (*args, *shadows, *seeds)
    address = memory.address

    def call(memory: Any = memory) -> Any:  # which has to live as long as its address is used
        return entry(address, *every)

    return call


def warm(rounds: int) -> list[list[str]]:
    import pullback as pb

    rows = []
    for name, f, args in CALLS:
        op = pb.grad(f, tuple(range(len(args))))
        op(*args)
        whole, own = by_turns([lambda op=op, args=args: op(*args), machine_code(op, args)], rounds)
        limit = next(x for n, x in LIMITS.items() if len(args) <= n)
        rows.append([name, *(f"{1e6 * t:.2f} µs" for t in (own, whole, whole - own, limit / 1e6))])
    return rows


def by_turns(calls: list[Callable[[], Any]], rounds: int, n: int = 200) -> list[float]:
    """Seconds of one call of each: the medians of many short turns, for others may be at work."""
    found: list[list[float]] = [[] for _ in calls]
    for r in range(50 * rounds):
        for k in range(len(calls))[:: 1 if r % 2 else -1]:
            call, start = calls[k], time.perf_counter()
            for _ in range(n):
                call()
            found[k].append((time.perf_counter() - start) / n)
    return [statistics.median(x) for x in found]


# -- cold ------------------------------------------------------------------------------------------
def first_call(tool: str, name: str) -> tuple[float, float]:
    """Seconds from importing the tool to the first result, in this process, and of a second call:
    how much of them is the function's own running."""
    kernel = next(k for k in kernels.KERNELS if k.name == name)
    args = kernel.arguments()
    start = time.perf_counter()
    if tool == "njit":
        import numba

        call: Any = numba.njit(cache=True)(kernel.f)
    else:
        import pullback as pb

        call = pb.value_and_grad(kernel.f, kernel.argnums)
    call(*args)
    first = time.perf_counter() - start
    call(*args)
    return first, time.perf_counter() - start - first


def in_a_process(*arguments: str) -> str:
    """What this file prints there: nothing else is loaded, and nothing compiled."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def first_call_there(tool: str, name: str) -> tuple[float, ...]:
    return tuple(map(float, in_a_process("--first", tool, name).split()))


def cold(rounds: int) -> list[list[str]]:
    """A row for each kernel. The first call of a gradient also runs longer than the function: how
    much longer a second call says."""
    rows = []
    for kernel in kernels.KERNELS:
        times: dict[str, list[tuple[float, ...]]] = {"njit": [], "pullback": []}
        for tool in times:
            first_call_there(tool, kernel.name)  # fills the cache
        for r in range(rounds):
            for tool in list(times)[:: 1 if r % 2 else -1]:
                times[tool].append(first_call_there(tool, kernel.name))
        (theirs, plain), (ours, gradient) = (
            map(statistics.median, zip(*times[tool])) for tool in ("njit", "pullback")
        )
        running = gradient - plain
        shown = (f"{t:.3f} s" for t in (theirs, ours, ours - theirs, running, LIMIT))
        rows.append([kernel.name, *shown])
    return rows


def tables(rounds: int = 9) -> list[tuple[str, list[str], list[list[str]]]]:
    """What is printed: titles, columns, rows."""
    warm_columns = ["arguments", "machine code", "gradient", "more", "limit"]
    rows = json.loads(in_a_process("--warm", "--rounds", str(rounds)))
    found = [("A warm call", warm_columns, rows)]
    with tempfile.TemporaryDirectory(prefix="pullback-bench-") as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are on disk too
        columns = ["kernel", "under @njit", "gradient", "more", "of it running", "limit"]
        found.append(("The first call in a second process", columns, cold(rounds)))
    return found


def main() -> None:
    parser = ArgumentParser(description="Time what a call costs beside the compiled code.")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--first", nargs=2, metavar=("TOOL", "KERNEL"), help=SUPPRESS)
    parser.add_argument("--warm", action="store_true", help=SUPPRESS)
    asked = parser.parse_args()
    if asked.warm:
        print(json.dumps(warm(asked.rounds)))
        return
    if asked.first:
        print(*first_call(*asked.first))
        return
    import timing

    timing.pin()
    from pullback.examples import report

    for table in tables(asked.rounds):
        report.table(*table)


if __name__ == "__main__":
    main()
