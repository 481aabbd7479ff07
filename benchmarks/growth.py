"""How cost grows: gradient time and tape bytes against problem size, over three decades."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernels
import numpy as np
import timing

import pullback as pb
from pullback.examples import report

SIZES = [round(10 ** (k / 2)) for k in range(7)]  # three decades, two sizes each


@dataclass(frozen=True)
class Series:
    """A kernel at sizes ``base`` times 1 to 1000."""

    name: str
    unit: str
    f: Callable[..., float]
    arguments: Callable[[int], tuple[Any, ...]]
    base: int
    argnums: int | tuple[int, ...] = 0


def _conductivities(steps: int) -> tuple[Any, ...]:
    return 0.2 + 0.01 * np.abs(kernels._random(100)), kernels._random(100), steps


def _bodies(steps: int) -> tuple[Any, ...]:
    return *(kernels._random(16, 3) for _ in "qv"), np.abs(kernels._random(16)), steps


SERIES = [
    Series("heat, 100 conductivities", "steps", kernels.heat_conductivity, _conductivities, 10),
    Series(
        "Newton", "elements", kernels.newton, lambda n: (0.5 + np.abs(kernels._random(n)),), 100
    ),
    Series("N-body, 16 bodies", "steps", kernels.bodies, _bodies, 10),
]


@dataclass
class Curve:
    """For each size, seconds of a gradient and bytes of tape."""

    series: Series
    sizes: list[int]
    seconds: list[float]
    nbytes: list[int]


def measure() -> list[Curve]:
    curves = []
    for s in SERIES:
        curve = Curve(s, [], [], [])
        gradient = pb.value_and_grad(s.f, s.argnums)
        for size in (s.base * k for k in SIZES):
            arguments = s.arguments(size)
            gradient(*arguments)
            (seconds,) = timing.medians(
                [lambda g=gradient, a=arguments: g(*a)], rounds=9, budget=1.0
            )
            curve.sizes.append(size)
            curve.seconds.append(seconds)
            curve.nbytes.append(pb.explain(s.f, *arguments).tape_bytes)
        curves.append(curve)
    return curves


def exponent(sizes: list[int], values: list[Any]) -> float:
    """The slope on log scales over the upper two decades."""
    x, y = np.log(sizes[2:]), np.log(np.maximum(values[2:], 1e-12))
    return float(np.polyfit(x, y, 1)[0])


def table(curves: list[Curve]) -> tuple[str, list[str], list[list[str]]]:
    columns = ["kernel", "size", "gradient", "tape", "time grows as", "tape grows as"]
    rows = []
    for c in curves:
        grows = [f"size^{exponent(c.sizes, v):.2f}" for v in (c.seconds, c.nbytes)]
        if not any(c.nbytes):
            grows[1] = "nothing"
        ends = [f"{c.sizes[0]} to {c.sizes[-1]} {c.series.unit}"]
        ends.append(" to ".join(report.duration(c.seconds[k]) for k in (0, -1)))
        ends.append(" to ".join(f"{c.nbytes[k] / 1e3:.3g} kB" for k in (0, -1)))
        rows.append([c.series.name, *ends, *grows])
    return "How cost grows", columns, rows


def draw(curves: list[Curve], path: Path) -> None:
    made = report.canvas([["time", "tape"]], size=(9, 4.2))
    if made is None:
        return
    figure, axes = made
    for curve, colour in zip(curves, (report.WARM, report.COOL, report.GREEN)):
        label = f"{curve.series.name} ({curve.series.unit})"
        axes["time"].plot(curve.sizes, curve.seconds, "-o", ms=4, color=colour, label=label)
        if any(curve.nbytes):
            axes["tape"].plot(curve.sizes, curve.nbytes, "-o", ms=4, color=colour, label=label)
    axes["time"].set(title="Seconds of a gradient", xlabel="size", xscale="log", yscale="log")
    axes["tape"].set(title="Bytes of tape", xlabel="size", xscale="log", yscale="log")
    axes["time"].legend(fontsize=8)
    report.save(figure, path)
