"""Recover what a rod is made of from thermometers along it.

Heat flows in a rod whose conductivity k(x) is unknown. Both ends are heated and cooled for a while;
seven thermometers note the temperature, with an error. From k the readings follow by a thousand
explicit steps of a finite-volume scheme, which overwrites temperatures and fluxes in place. Turned
around by reverse mode, the same thousand steps give the misfit's gradient with respect to all 41
values of log k for the price of a few simulations; the Hessian gives the error bars.

The readings are simulated from a known profile, in plain Python: the simulator is an ordinary
function, and only its derivatives are compiled.

Run it: python examples/heat_conductivity.py
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import pullback as pb
from pullback.examples import report

CELLS = 40
STEPS = 1000
EVERY = 20  # steps between readings
LENGTH = 0.2  # m
CAPACITY = 3.6e6  # J/(m³ K), of a metal
DX = LENGTH / CELLS
DT = 0.6  # s; the scheme is stable up to DX² CAPACITY / (2 max k), here 0.9 s
NOISE = 0.2  # K, standard deviation of a reading
ROUGHNESS = 0.15  # standard deviation of log k from one face to the next, assumed beforehand
SENSORS = np.array([3, 8, 14, 20, 26, 31, 36])  # cells


# -- the model: plain Python -----------------------------------------------------------------------
def simulate(log_k, ends, sensors, every):
    """Temperatures in K at the sensors, (readings, sensors).

    log_k: log conductivity in W/(m K) at the faces between cells, both ends included. ends: the
    temperature at both ends at each time step, (steps, 2). The rod starts at 0.
    """
    cells = log_k.size - 1
    k = np.exp(log_k)
    u = np.zeros(cells)
    flux = np.zeros(cells + 1)
    readings = np.zeros((ends.shape[0] // every, sensors.size))
    for t in range(ends.shape[0]):
        flux[0] = 2 * k[0] * (ends[t, 0] - u[0]) / DX
        for i in range(1, cells):
            flux[i] = k[i] * (u[i - 1] - u[i]) / DX
        flux[cells] = 2 * k[cells] * (u[cells - 1] - ends[t, 1]) / DX
        for i in range(cells):
            u[i] += DT / (DX * CAPACITY) * (flux[i] - flux[i + 1])
        if (t + 1) % every == 0:
            for s in range(sensors.size):
                readings[t // every, s] = u[sensors[s]]
    return readings


def misfit(log_k, ends, sensors, every, readings):
    """Negative log posterior, up to a constant: readings missed and roughness of log k."""
    predicted = simulate(log_k, ends, sensors, every)
    total = 0.0
    for t in range(readings.shape[0]):
        for s in range(readings.shape[1]):
            total += 0.5 * ((predicted[t, s] - readings[t, s]) / NOISE) ** 2
    for i in range(log_k.size - 1):
        total += 0.5 * ((log_k[i + 1] - log_k[i]) / ROUGHNESS) ** 2
    return total


# -- the experiment --------------------------------------------------------------------------------
def true_conductivity() -> np.ndarray:
    """A metal with one poorly and one well conducting seam, W/(m K), at the faces."""
    x = np.linspace(0, 1, CELLS + 1)
    return 22 + 22 * np.exp(-(((x - 0.62) / 0.11) ** 2)) - 8 * np.exp(-(((x - 0.2) / 0.1) ** 2))


def end_temperatures() -> np.ndarray:
    """Left end warm from the start, right end warm for the second half, in K, (STEPS, 2)."""
    t = np.arange(STEPS) / STEPS
    return 100 * np.stack([np.sin(np.pi * t) ** 2, (t > 0.4) * np.sin(np.pi * t) ** 2], axis=1)


def experiment(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """End temperatures and noisy readings."""
    ends = end_temperatures()
    exact = simulate(np.log(true_conductivity()), ends, SENSORS, EVERY)
    return ends, exact + NOISE * np.random.default_rng(seed).standard_normal(exact.shape)


# -- the inversion ---------------------------------------------------------------------------------
@dataclass
class Inversion:
    """The profile found, log k with its standard deviation, and the misfit by iteration."""

    log_k: np.ndarray
    deviation: np.ndarray
    history: list[float]
    evaluations: int


def invert(ends: np.ndarray, readings: np.ndarray) -> Inversion:
    """The most probable profile, starting from a uniform one; its spread from the Hessian."""
    rest = (ends, SENSORS, EVERY, readings)
    start = np.full(CELLS + 1, np.log(20.0))
    both = pb.value_and_grad(misfit)
    history = [both(start, *rest)[0]]
    result = minimize(
        both,
        start,
        args=rest,
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
        options={"maxiter": 300, "maxcor": 40},
    )
    curvature = pb.hessian(misfit)(result.x, *rest)
    deviation = np.sqrt(np.diag(np.linalg.inv(curvature)))
    return Inversion(result.x, deviation, history, result.nfev)


# -- what a person sees ----------------------------------------------------------------------------
def draw(found: Inversion, ends: np.ndarray, readings: np.ndarray, path: Path) -> None:
    """Profile with its error band, readings and fit, misfit by iteration."""
    made = report.canvas([["profile", "profile"], ["readings", "misfit"]], size=(9, 6.6))
    if made is None:
        return
    figure, axes = made
    profile, time, misfits = axes["profile"], axes["readings"], axes["misfit"]
    x = 100 * np.linspace(0, LENGTH, CELLS + 1)
    low, high = (np.exp(found.log_k + s * 2 * found.deviation) for s in (-1, 1))
    profile.fill_between(x, low, high, color=report.WARM, alpha=0.2, lw=0, label="± 2 std. dev.")
    profile.plot(x, np.exp(found.log_k), color=report.WARM, lw=2, label="recovered")
    profile.plot(x, true_conductivity(), color=report.INK, lw=1.2, ls="--", label="true")
    profile.plot(x[SENSORS] + x[1] / 2, 0 * SENSORS + 4, "^", color=report.GREEN, label="sensors")
    profile.set(title="Conductivity, W/(m K)", xlabel="cm", xlim=(0, 20), ylim=(0, 62))
    profile.legend(ncols=4, loc="upper left")

    t = DT * EVERY * (1 + np.arange(readings.shape[0])) / 60
    fitted = simulate(found.log_k, ends, SENSORS, EVERY)
    for s, shade in zip(range(SENSORS.size), np.linspace(0.35, 1, SENSORS.size)):
        time.plot(t, readings[:, s], ".", color=report.COOL, alpha=shade, ms=4)
        time.plot(t, fitted[:, s], color=report.COOL, alpha=shade, lw=1)
    time.set(title="Temperatures and fit, K", xlabel="minutes")

    misfits.semilogy(found.history, color=report.INK, lw=1.6)
    misfits.set(title="Misfit", xlabel="iteration")
    report.save(figure, path)


def main(figure: str | Path = "out/heat_conductivity.png") -> None:
    ends, readings = experiment()
    found, took = report.timed(lambda: invert(ends, readings))
    truth = np.log(true_conductivity())
    off = (found.log_k - truth) / found.deviation
    report.table(
        "Conductivity of a rod from seven thermometers",
        ("", "value"),
        [
            ("compiled, inverted, errors found", report.duration(took)),
            ("gradients", str(found.evaluations)),
            ("misfit at the start", f"{found.history[0]:.1f}"),
            ("misfit at the end", f"{found.history[-1]:.1f}"),
            ("largest error of k", f"{100 * np.abs(np.exp(found.log_k - truth) - 1).max():.1f} %"),
            ("error in standard deviations, rms", f"{np.sqrt(np.mean(off**2)):.2f}"),
        ],
    )
    draw(found, ends, readings, Path(figure))


if __name__ == "__main__":
    main()
