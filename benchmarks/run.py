"""Time each kernel and its gradient, beside other tools:

    python benchmarks/run.py [--plain] [--arrays] [--overhead] [--growth] [--only WORD]...

With no options all parts run, and the results go to benchmarks/results.md, with figures beside it.
With options only a table is printed. What is compared: value and gradient together, compiled and
warm, one thread. A gradient that does not agree with that of another tool is an error.
"""

from __future__ import annotations

import datetime
import platform
import statistics
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import timing

timing.pin()

import arrays
import growth
import kernels
import numba
import numpy as np
import overhead
from kernels import Kernel
from peers import Missing, gradients_of, tools

import pullback as pb
from pullback.examples import report

HERE = Path(__file__).parent
TOLERANCE = 1e-8


@dataclass
class Timing:
    """Seconds of: the function itself, our gradient and its first call, the gradient of ``@njit``
    code (without bounds checks), those of the tools by name. ``why``: why there is none.
    ``planning``: the share of compiling that comes before machine code."""

    kernel: Kernel
    primal: float = 0.0
    first: float = 0.0
    planning: float = 0.0
    ours: float = 0.0
    unchecked: float | None = None
    tools: dict[str, float] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)


def measure(kernel: Kernel, others: Sequence[Any], plain: bool) -> Timing:
    """Check the gradients against each other, then time them. ``plain``: plain loops, so that the
    function can be compared under ``@njit``."""
    arguments, found = kernel.arguments(), Timing(kernel)
    ours = pb.value_and_grad(kernel.f, kernel.argnums)
    result, found.first = report.timed(lambda: ours(*arguments))
    found.planning = planning(kernel)
    primal = numba.njit(kernel.f) if plain else kernel.f
    calls: list[Callable[[], Any]] = [lambda: primal(*arguments), lambda: ours(*arguments)]
    calls[0]()
    if plain:
        unchecked = pb.value_and_grad(numba.njit(kernel.f), kernel.argnums)
        agree(kernel, "without bounds checks", result, unchecked(*arguments))
        calls.append(lambda: unchecked(*arguments))
    names, times = [], []
    for tool in others:
        try:
            call, n = tool.prepare(kernel)
        except Missing as e:
            found.why[tool.name] = str(e)
            continue
        theirs = call()
        if n == 1:
            agree(kernel, tool.name, result, theirs)
        names.append(tool.name)
        times.append(n)
        calls.append(call)
    seconds = timing.medians(calls)
    found.primal, found.ours = seconds[:2]
    if plain:
        found.unchecked = seconds[2]
    rest = seconds[3 if plain else 2 :]
    found.tools = {name: n * t for name, n, t in zip(names, times, rest)}
    return found


def planning(kernel: Kernel) -> float:
    """The share of compiling that is ours: lifting, types, differentiation, planning, passes."""
    shares = []
    for _ in range(5):
        seconds = pb.explain(kernel.f, *kernel.arguments()).seconds
        shares.append(1 - seconds["machine code"] / sum(seconds.values()))
    return statistics.median(shares)


def agree(kernel: Kernel, name: str, ours: Any, theirs: Any) -> None:
    """AssertionError if two gradients differ by more than rounding."""
    for a, b in zip(gradients_of(ours), gradients_of(theirs), strict=True):
        off = np.abs(a - b).max() / max(1.0, np.abs(b).max())
        assert off < TOLERANCE, f"{kernel.name}: {name} gives another gradient, off by {off:.1e}"


# -- tables ----------------------------------------------------------------------------------------
Table = tuple[str, list[str], list[list[str]]]
COMPILING = ["first call", "before machine code"]


def loops_table(found: Sequence[Timing], others: Sequence[Any]) -> Table:
    columns = ["kernel", "function", "gradient", "ratio", "unchecked", "target", *COMPILING]
    rows = []
    for t in found:
        assert t.unchecked is not None
        target = "" if t.kernel.target is None else f"{t.kernel.target:g}"
        cells = [t.kernel.name, duration(t.primal), duration(t.ours)]
        cells += [f"{t.ours / t.primal:.2f}", f"{t.unchecked / t.primal:.2f}", target]
        cells += [duration(t.first), f"{t.planning:.0%}"]
        rows.append([*cells, *(cell(t, tool.name) for tool in others)])
    return "Plain loops", columns + [tool.name for tool in others], rows


def arrays_table(found: Sequence[Timing], others: Sequence[Any]) -> Table:
    columns = ["kernel", "function in NumPy", "gradient", *COMPILING]
    rows = [
        [t.kernel.name, *map(duration, (t.primal, t.ours, t.first)), f"{t.planning:.0%}"]
        + [cell(t, tool.name) for tool in others]
        for t in found
    ]
    return "Whole-array NumPy", columns + [tool.name for tool in others], rows


def cell(t: Timing, tool: str) -> str:
    """A tool's gradient, and how many of ours it costs."""
    if tool not in t.tools:
        return "-"
    return f"{duration(t.tools[tool])} ({t.tools[tool] / t.ours:.3g} ×)"


duration = report.duration


def markdown(table: Table) -> str:
    title, columns, rows = table
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return f"## {title}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


NOTES = """\
`gradient` is value and gradient together, with bounds checks as by default; `ratio` is its time
over that of the function under plain `@njit`; `unchecked` the same ratio for the gradient of the
`@njit` function, which has no bounds checks; `target` is the ratio we mean to reach; `before
machine code` is the share of compiling that goes to lifting, types, differentiation and planning,
the rest is LLVM's (`pb.explain` shows it too; median of five). In brackets:
how many of our gradients the other tool's costs. JAX runs under `jit` in double precision, its
arguments on the device, rewritten as its users write it (`benchmarks/peers.py`); HIPS autograd is
timed on a tenth or a thousandth of the steps where it would take minutes. Medians of rounds by
turns, everything compiled, one thread on one core.
"""


def write(path: Path, tables: Sequence[Table], found: Sequence[Timing], others: Sequence[Any],
          missing: Sequence[str]) -> None:  # fmt: skip
    versions = [f"pullback {pb.__version__}", f"numba {numba.__version__}"]
    versions += [
        f"numpy {np.__version__}",
        f"Python {platform.python_version()}",
        *(tool.version for tool in others),
    ]
    head = f"{timing.machine()}. {datetime.date.today()}. {', '.join(versions)}.\n"
    gaps = [f"- {t.kernel.name}, {n}: {why}" for t in found for n, why in t.why.items()]
    parts = ["# Benchmarks\n", "Made by `make bench`. " + head, NOTES, *map(markdown, tables)]
    if gaps or missing:
        parts.append("No numbers:\n\n" + "\n".join([*gaps, *(f"- {m}" for m in missing)]) + "\n")
    parts.append("![Bars](results.png)\n\n![How cost grows](growth.png)\n")
    path.write_text("\n".join(parts), encoding="utf-8")
    print(f"\nResults: {path}")


# -- figure ----------------------------------------------------------------------------------------
def bars(groups: Sequence[tuple[str, Sequence[Timing]]], others: Sequence[Any], path: Path) -> None:
    """Milliseconds of one gradient, a bar for each kernel and tool, on a log scale."""
    made = report.canvas([[name for name, _ in groups]], size=(11, 6.4))
    if made is None:
        return
    figure, axes = made
    names = ["function", "pullback", *(tool.name for tool in others)]
    colours = [report.FAINT, report.WARM, report.COOL, report.GREEN]
    for title, found in groups:
        view, height = axes[title], 0.8 / len(names)
        for k, (name, colour) in enumerate(zip(names, colours)):
            values = [t.primal if k == 0 else t.ours if k == 1 else t.tools.get(name, np.nan)
                      for t in found]  # fmt: skip
            places = np.arange(len(found)) + (k - (len(names) - 1) / 2) * height
            view.barh(places, np.array(values) * 1e3, 0.92 * height, color=colour, label=name)
        view.set(title=title, xlabel="milliseconds", xscale="log")
        view.set_yticks(range(len(found)), [t.kernel.name for t in found])
        view.invert_yaxis()
        view.grid(axis="y", visible=False)
    handles, labels = view.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(names))
    report.save(figure, path)


# -- the parts -------------------------------------------------------------------------------------
MORE = ("overhead", "growth")
PARTS = {"plain": ("Plain loops", kernels.KERNELS), "arrays": ("Whole arrays", arrays.KERNELS)}


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(description="Time kernels and their gradients.")
    for part in (*PARTS, *MORE):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="kernels with this in the name")
    asked = parser.parse_args(arguments)
    parts = [p for p in (*PARTS, *MORE) if getattr(asked, p)]
    everything = not parts and not asked.only
    parts = parts or [*PARTS, *(MORE if everything else [])]
    others, missing = tools()
    for line in missing:
        print(line, file=sys.stderr)
    groups, tables = [], []
    for part in parts:
        if part == "overhead":
            tables += overhead.tables()
            report.table(*tables[-2])
        elif part == "growth":
            curves = growth.measure()
            tables.append(growth.table(curves))
            if everything:
                growth.draw(curves, HERE / "growth.png")
        else:
            title, all_ = PARTS[part]
            chosen = [k for k in all_ if not asked.only or any(w in k.name for w in asked.only)]
            found = [measure(k, others, part == "plain") for k in chosen]
            groups.append((title, found))
            tables.append((loops_table if part == "plain" else arrays_table)(found, others))
        report.table(*tables[-1])
    if everything:
        all_found = [t for _, found in groups for t in found]
        write(HERE / "results.md", tables, all_found, others, missing)
        bars(groups, others, HERE / "results.png")


if __name__ == "__main__":
    main(sys.argv[1:])
