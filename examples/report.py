"""What the examples share: timing, a table on the terminal, the look of a figure."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

INK, FAINT = "#27303a", "#d8dde3"
WARM, COOL, GREEN = "#c2571a", "#2b6f9e", "#3d7f4f"


def timed(f: Callable[[], Any]) -> tuple[Any, float]:
    """The result of f() and how many seconds it took."""
    start = timeit.default_timer()
    result = f()
    return result, timeit.default_timer() - start


def seconds(*functions: Callable[[], Any], rounds: int = 21) -> list[float]:
    """Seconds that each of the functions takes: the best of several rounds. They take turns, and
    each runs for at least a few milliseconds, so that what else runs disturbs all alike."""
    numbers = []
    for f in functions:
        f()
        numbers.append(max(1, int(5e-3 / max(timed(f)[1], 1e-7))))
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, (f, number) in enumerate(zip(functions, numbers)):
            best[k] = min(best[k], timeit.timeit(f, number=number) / number)
    return best


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a title. A column whose cells begin with a letter is set left."""
    view = Table(title=title, title_justify="left", title_style="bold", header_style="dim")
    for k, name in enumerate(columns):
        text = all(row[k].strip()[:1].isalpha() for row in rows)
        view.add_column(name, justify="left" if text else "right")
    for row in rows:
        view.add_row(*row)
    console = Console()
    console.print()
    console.print(view)


def duration(t: float) -> str:
    """Seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if t >= size or unit == "µs":
            return f"{t / size:.3g} {unit}"
    raise AssertionError


STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "font.size": 10,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "xtick.color": INK,
    "ytick.color": INK,
}


def canvas(layout: list[list[str]], size: tuple[float, float]) -> tuple[Any, Any] | None:
    """A figure and its axes by name, in the house style; None where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        print("\nNo figure: pip install 'pullback[plot]' for one.")
        return None
    matplotlib.use("Agg")
    matplotlib.rcParams.update(STYLE)
    import matplotlib.pyplot as plt

    return plt.subplot_mosaic(layout, figsize=size, layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Write the figure, making its folder, and say where it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    print(f"\nFigure: {path}")
