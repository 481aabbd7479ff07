"""Calibrate a predator-prey model to real counts, with exact gradients.

Hares u and lynx v follow the equations of Lotka and Volterra,

    u' = (alpha - beta v) u        v' = (delta u - gamma) v,

solved by Runge-Kutta steps in a Python loop that overwrites its state. The pelts that the Hudson's
Bay Company took in between 1900 and 1920 count both populations up to log-normal errors. All eight
unknowns (four rates, both populations in 1900, both error scales) are positive: the optimiser sees
their logarithms q. Twice differentiated, the same likelihood gives the standard errors.

Run it: python examples/lotka_volterra.py, or pullback demo.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from scipy.optimize import OptimizeResult, approx_fprime, minimize

import pullback as pb
from pullback.examples import report

DATA = Path(__file__).parent / "data" / "hudson_bay_pelts.csv"
STEPS = 50  # Runge-Kutta steps a year

UNKNOWNS = {
    "alpha": "growth of the hares, per year",
    "beta": "hares lost per 1000 lynx, per year",
    "gamma": "decline of the lynx, per year",
    "delta": "lynx gained per 1000 hares, per year",
    "u0": "hares in 1900, thousands",
    "v0": "lynx in 1900, thousands",
    "sigma_u": "error of log hares",
    "sigma_v": "error of log lynx",
}


# -- the model: Numba code as one would write it anyway --------------------------------------------
@njit
def rates(z, p, dz):
    """Write into dz how fast hares z[0] and lynx z[1] change, in thousands a year."""
    dz[0] = (p[0] - p[1] * z[1]) * z[0]
    dz[1] = (p[3] * z[0] - p[2]) * z[1]


@njit
def move(w, z, h, k):
    """w = z + h k, in place."""
    for i in range(w.size):
        w[i] = z[i] + h * k[i]


@njit
def rk4_step(z, p, h, k, w):
    """Advance z by h years, in place. k (4, 2) and w (2,) are scratch."""
    rates(z, p, k[0])
    move(w, z, h / 2, k[0])
    rates(w, p, k[1])
    move(w, z, h / 2, k[1])
    rates(w, p, k[2])
    move(w, z, h, k[2])
    rates(w, p, k[3])
    for i in range(z.size):
        z[i] += h / 6 * (k[0, i] + 2 * k[1, i] + 2 * k[2, i] + k[3, i])


@njit
def simulate(p, samples, steps, h):
    """Hares and lynx in thousands, (samples, 2); ``steps`` steps of h years between samples."""
    z = p[4:6].copy()
    k = np.empty((4, 2))
    w = np.empty(2)
    out = np.empty((samples, 2))
    for t in range(samples):
        if t > 0:
            for _ in range(steps):
                rk4_step(z, p, h, k, w)
        out[t, 0] = z[0]
        out[t, 1] = z[1]
    return out


@njit
def negative_log_likelihood(q, pelts):
    """Of the yearly pelts (years, 2), given the logarithms q of the eight unknowns."""
    p = np.exp(q)
    z = simulate(p, pelts.shape[0], STEPS, 1 / STEPS)
    total = 0.0
    for t in range(pelts.shape[0]):
        for i in range(2):
            sigma = p[6 + i]
            r = math.log(pelts[t, i] / z[t, i]) / sigma
            total += 0.5 * r * r + math.log(pelts[t, i] * sigma * math.sqrt(2 * math.pi))
    return total


# -- data and a first guess ------------------------------------------------------------------------
def load() -> tuple[np.ndarray, np.ndarray]:
    """Years, and pelts of hares and lynx in thousands, (years, 2)."""
    table = np.loadtxt(DATA, delimiter=",", skiprows=5)
    return table[:, 0], np.ascontiguousarray(table[:, [2, 1]])


def first_guess(pelts: np.ndarray) -> np.ndarray:
    """What the plot tells: the cycle takes ten years, and averages are the equilibrium."""
    rate = 2 * math.pi / 10
    hares, lynx = pelts.mean(axis=0)
    return np.log([rate, rate / lynx, rate, rate / hares, *pelts[0], 0.5, 0.5])


# -- the fit ---------------------------------------------------------------------------------------
@dataclass
class Fit:
    """Estimates with their standard errors, and how the optimiser got there."""

    q: np.ndarray
    estimate: np.ndarray
    error: np.ndarray
    result: OptimizeResult
    history: list[float]


def optimise(objective, q0, pelts, jac) -> tuple[OptimizeResult, list[float]]:
    """Minimise by BFGS; also the objective before each iteration and at the end."""
    history = [float(negative_log_likelihood(q0, pelts))]
    result = minimize(
        objective,
        q0,
        args=(pelts,),
        jac=jac,
        method="BFGS",
        callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
    )
    return result, history


def fit(pelts: np.ndarray) -> Fit:
    """Maximum likelihood, and standard errors from the curvature there."""
    objective = pb.value_and_grad(negative_log_likelihood)
    result, history = optimise(objective, first_guess(pelts), pelts, jac=True)
    curvature = pb.hessian(negative_log_likelihood)(result.x, pelts)
    log_error = np.sqrt(np.diag(np.linalg.inv(curvature)))
    estimate = np.exp(result.x)
    return Fit(result.x, estimate, estimate * log_error, result, history)  # d exp(q) = exp(q) dq


# -- what it cost ----------------------------------------------------------------------------------
@dataclass
class Cost:
    """One way to get gradients: what the fit found and took, what one gradient takes (seconds) and
    its largest error, next to the reference below."""

    objective: float
    evaluations: int
    fit: float
    gradient: float
    gradient_error: float


def compare(pelts: np.ndarray) -> tuple[Cost, Cost, float]:
    """With exact gradients, with SciPy's finite differences, and the seconds of one likelihood.
    All three run compiled code, and nothing is compiled any more."""
    q0, primal = first_guess(pelts), negative_log_likelihood
    both = pb.value_and_grad(primal)
    gradients = (lambda: both(q0, pelts)[1], lambda: approx_fprime(q0, primal, 1.5e-8, pelts))
    reference = central_differences(q0, pelts)
    errors = [float(np.abs(g() - reference).max()) for g in gradients]
    once, *each = report.seconds(lambda: primal(q0, pelts), *gradients)
    costs = []
    for objective, jac, gradient, error in zip((both, primal), (True, None), each, errors):
        (result, _), took = report.timed(lambda: optimise(objective, q0, pelts, jac))  # noqa: B023
        costs.append(Cost(float(result.fun), result.nfev, took, gradient, error))
    exact, rough = costs
    return exact, rough, once


def central_differences(q: np.ndarray, pelts: np.ndarray) -> np.ndarray:
    """The reference: central differences at q with two steps, extrapolated (Richardson)."""

    def slope(i: int, h: float) -> float:
        step = np.zeros(q.size)
        step[i] = h
        up = negative_log_likelihood(q + step, pelts)
        return (up - negative_log_likelihood(q - step, pelts)) / (2 * h)

    h = 1e-3
    return np.array([(4 * slope(i, h / 2) - slope(i, h)) / 3 for i in range(q.size)])


# -- what a person sees ----------------------------------------------------------------------------
def print_report(found: Fit, exact: Cost, rough: Cost, primal: float) -> None:
    """Two tables: the estimates, and what the gradient cost."""
    report.table(
        "Hare and lynx, 1900-1920: maximum likelihood",
        ("unknown", "estimate", "std. error", "meaning"),
        [
            (name, f"{value:.4f}", f"± {error:.4f}", meaning)
            for (name, meaning), value, error in zip(UNKNOWNS.items(), found.estimate, found.error)
        ],
    )

    def row(name: str, show: Callable[[Cost], str]) -> tuple[str, str, str]:
        return name, show(exact), show(rough)

    report.table(
        f"The fit by BFGS; one likelihood takes {report.duration(primal)}",
        ("", "pullback", "finite differences"),
        [
            row("objective found", lambda c: f"{c.objective:.6f}"),
            row("evaluations", lambda c: str(c.evaluations)),
            row("fit", lambda c: report.duration(c.fit)),
            row("one gradient", lambda c: report.duration(c.gradient)),
            row("  in likelihoods", lambda c: f"{c.gradient / primal:.1f}"),
            row("  off by", lambda c: f"{c.gradient_error:.0e}"),
        ],
    )


def draw(found: Fit, years: np.ndarray, pelts: np.ndarray, path: Path) -> None:
    """Data and fit over time and in the phase plane, and the objective by iteration."""
    made = report.canvas([["time", "time"], ["phase", "objective"]], size=(9, 6.6))
    if made is None:
        return
    figure, axes = made
    guess, fitted = (simulate(np.exp(q), 401, 5, 0.01) for q in (first_guess(pelts), found.q))
    t = np.linspace(years[0], years[-1], 401)
    time, phase, objective = axes["time"], axes["phase"], axes["objective"]
    for column, name, colour in ((0, "hare", report.WARM), (1, "lynx", report.COOL)):
        time.plot(t, guess[:, column], color=colour, lw=1, ls=":", alpha=0.8)
        time.plot(t, fitted[:, column], color=colour, lw=2, label=name)
        time.plot(years, pelts[:, column], "o", color=colour, ms=5.5, mec="white")
    time.set(title="Pelts in thousands: counts, fit, and first guess (dotted)")
    time.set(xticks=range(1900, 1921, 2), xlim=(1899.6, 1920.4), ylim=(0, 92))
    time.legend(ncols=2, loc="upper right")

    phase.plot(pelts[:, 0], pelts[:, 1], "-o", color=report.GREEN, lw=0.6, ms=5, mec="white")
    phase.plot(fitted[:, 0], fitted[:, 1], color=report.INK, lw=2)
    phase.set(title="The cycle", xlabel="hares, thousands", ylabel="lynx, thousands")
    phase.set(xlim=(0, None), ylim=(0, None))

    objective.plot(found.history, "-o", color=report.INK, ms=4.5, mec="white")
    objective.set(title="Negative log likelihood", xlabel="iteration")
    report.save(figure, path)


def main(figure: str | Path = "out/lotka_volterra.png") -> None:
    years, pelts = load()
    found, took = report.timed(lambda: fit(pelts))
    print(f"Gradient and Hessian compiled, model fitted, errors found: {report.duration(took)}")
    print_report(found, *compare(pelts))
    draw(found, years, pelts, Path(figure))


if __name__ == "__main__":
    main()
