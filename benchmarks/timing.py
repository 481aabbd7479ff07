"""How things are timed: on one core, by turns, medians.

`pin` comes before anything that starts threads is imported."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pullback.examples.report import timed

THREADS = ("OPENBLAS", "OMP", "MKL", "NUMBA")
_fresh = tempfile.TemporaryDirectory(prefix="pullback-bench-")
XLA = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def pin() -> None:
    """One core, one thread, for all tools; and no code from other runs."""
    os.environ.update({f"{name}_NUM_THREADS": "1" for name in THREADS})
    os.environ["XLA_FLAGS"] = XLA
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["PULLBACK_CACHE_DIR"] = _fresh.name  # first calls compile
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def medians(
    functions: Sequence[Callable[[], Any]], rounds: int = 15, budget: float = 3.0
) -> list[float]:
    """Median seconds of each function. They take turns, in the opposite order every other round;
    each takes part in as many rounds as its share of the ``budget`` (seconds) allows, three at
    least, and runs for a few milliseconds each time."""
    first = [max(timed(f)[1], 1e-7) for f in functions]
    turns = [min(rounds, max(3, int(budget / t))) for t in first]
    repeats = [max(1, int(4e-3 / t)) for t in first]
    found: list[list[float]] = [[] for _ in functions]
    for r in range(max(turns)):
        order = range(len(functions))
        for k in order if r % 2 else reversed(order):
            if r < turns[k]:
                f, n = functions[k], repeats[k]
                found[k].append(timed(lambda f=f, n=n: [f() for _ in range(n)] and None)[1] / n)
    return [statistics.median(x) for x in found]


def machine() -> str:
    """The processor, in words."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [x.partition(":")[2].strip() for x in lines if x.startswith("model name")]
    except OSError:
        names = []
    return f"{names[0] if names else platform.processor()}, {platform.system()}, one core"
