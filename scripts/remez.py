"""The coefficients of the vector functions: python scripts/remez.py writes
src/pullback/runtime/vmath/tables.py; with names of tables it prints those alone.

Each table is the polynomial that a kernel evaluates, as the kernel writes it down: what is to be
approximated, where, and how an error there weighs in the result. The best polynomial is found by
Remez' exchange on a fine grid. Its coefficients are then rounded to float64 one after the other,
lowest first, those that are left making good for it: rounding costs next to nothing that way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 50
POINTS = 400
TARGET = Path(__file__).parents[1] / "src/pullback/runtime/vmath/tables.py"

Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Table:
    """The polynomial of ``degree`` closest to ``target`` on [low, high], where an error in it
    counts ``weight`` times."""

    name: str
    target: Function
    low: mpf
    high: mpf
    degree: int
    weight: Function

    def grid(self) -> list[mpf]:
        """Chebyshev points, so that none is an end, where a target may be 0 / 0."""
        middle, radius = (self.low + self.high) / 2, (self.high - self.low) / 2
        angles = (mp.pi * (k + mpf(1) / 2) / POINTS for k in range(POINTS))
        return [middle - radius * mp.cos(t) for t in angles]

    def coefficients(self) -> tuple[list[float], mpf]:
        """Constant first; and the largest weighted error."""
        points = self.grid()
        weights = [abs(self.weight(x)) for x in points]
        y = [w * self.target(x) for x, w in zip(points, weights, strict=True)]
        columns = [[w * x**k for x, w in zip(points, weights, strict=True)]
                   for k in range(self.degree + 1)]  # fmt: skip
        found = rounded(columns, exchange(columns, y))
        return found, max(map(abs, differences(columns, found, y)))


def differences(
    columns: list[list[mpf]], factors: Sequence[mpf | float], y: list[mpf]
) -> list[mpf]:
    """y minus the combination of the columns."""
    return [v - mp.fdot(factors, row) for v, row in zip(y, zip(*columns, strict=True), strict=True)]


def rounded(columns: list[list[mpf]], factors: list[mpf]) -> list[float]:
    """The factors in float64, each rounding made good by those that come after it, as well as
    least squares can."""
    products = mp.matrix([[mp.fdot(a, b) for a in columns] for b in columns])
    n = len(columns)
    for j in range(n):
        lost = factors[j] - float(factors[j])
        factors[j] -= lost
        if j + 1 < n:
            more = mp.lu_solve(products[j + 1 :, j + 1 :], products[j + 1 :, j] * lost)
            factors[j + 1 :] = [c + d for c, d in zip(factors[j + 1 :], more, strict=True)]
    return [float(c) for c in factors]


def exchange(columns: list[list[mpf]], y: list[mpf]) -> list[mpf]:
    """The combination of the columns that is closest to y in the largest difference (Remez)."""
    n, last = len(columns), len(y) - 1
    chosen = [round(last * (1 - mp.cos(mp.pi * k / n)) / 2) for k in range(n + 1)]
    for _ in range(50):
        rows = [[c[k] for c in columns] + [mpf((-1) ** i)] for i, k in enumerate(chosen)]
        *solution, level = mp.lu_solve(mp.matrix(rows), mp.matrix([y[k] for k in chosen]))
        errors = differences(columns, solution, y)
        if max(map(abs, errors)) <= abs(level) * mpf("1.0001"):
            break
        chosen = alternation(errors, n + 1)
    return solution


def alternation(errors: list[mpf], n: int) -> list[int]:
    """Where n errors of alternating sign are largest."""
    peaks: list[int] = []
    for k, e in enumerate(errors):
        if peaks and (e > 0) == (errors[peaks[-1]] > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = k
        else:
            peaks.append(k)
    while len(peaks) > n:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    if len(peaks) < n:
        raise ArithmeticError("the errors do not alternate: more digits or points are needed")
    return peaks


# -- the tables ------------------------------------------------------------------------------------
HALF_LN2 = mp.log(2) / 2 * mpf("1.0001")
ROOT = mp.sqrt(2) - 1  # logarithms are taken of numbers in [sqrt(1/2), sqrt(2)]
S_MAX = (ROOT / (2 + ROOT)) ** 2 * mpf("1.0001")
ERF_SLOPE = 2 / mp.sqrt(mp.pi)
ERF_NEAR = mpf(7) / 8  # below, erf is a polynomial
QUARTER = (mp.pi / 4 * mpf("1.0001")) ** 2


def exp_rest(r: mpf) -> mpf:
    """(exp(r) - 1 - r - r^2 / 2) / r^3."""
    return (mp.expm1(r) - r - r**2 / 2) / r**3


def atanh_rest(z: mpf) -> mpf:
    """(2 atanh(s) / s - 2) / z for z = s^2."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


def atanh_more(z: mpf) -> mpf:
    """(2 atanh(s) / s - 2 - 2 z / 3) / z^2 for z = s^2."""
    return (atanh_rest(z) - mpf(2) / 3) / z


def log_rest(f: mpf) -> mpf:
    """(log(1 + f) - f) / f^2."""
    return (mp.log1p(f) - f) / f**2


def sin_rest(z: mpf) -> mpf:
    """(sin(r) / r - 1) / z for z = r^2."""
    r = mp.sqrt(z)
    return (mp.sin(r) / r - 1) / z


def cos_rest(z: mpf) -> mpf:
    """(cos(r) - 1 + z / 2) / z^2 for z = r^2."""
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def erf_rest(z: mpf) -> mpf:
    """(erf(x) / x - erf'(0)) / z for z = x^2."""
    x = mp.sqrt(z)
    return (mp.erf(x) / x - ERF_SLOPE) / z


def log_erfc_rest(u: mpf) -> mpf:
    """(log(erfc(c + u)) - log(erfc(c))) / u, where c is `ERF_NEAR`."""
    return mp.log(mp.erfc(ERF_NEAR + u) / mp.erfc(ERF_NEAR)) / u


def tables() -> list[Table]:
    found = []
    for suffix, sizes in (("", (9, 10, 17, 6, 5, 5)), ("32", (4, 5, 7, 4, 3, 3))):
        exp, erf, erfc, end, sin, cos = sizes
        found += [
            Table(f"EXP{suffix}", exp_rest, -HALF_LN2, HALF_LN2, exp, lambda r: r**3 / mp.expm1(r)),
            Table(f"ERF{suffix}", erf_rest, mpf(0), ERF_NEAR**2, erf, lambda z: z),
            Table(
                f"ERFC{suffix}",
                log_erfc_rest,
                mpf(0),
                end - ERF_NEAR,
                erfc,
                lambda u: u * mp.erfc(ERF_NEAR + u),
            ),
            Table(f"SIN{suffix}", sin_rest, mpf(0), QUARTER, sin, lambda z: z),
            Table(f"COS{suffix}", cos_rest, mpf(0), QUARTER, cos, lambda z: z**2),
        ]
    low, high = 1 / mp.sqrt(2) - 1, ROOT
    found += [
        Table("LOG", atanh_rest, mpf(0), S_MAX, 6, lambda z: z / 2),
        Table("POW", atanh_more, mpf(0), S_MAX, 7, lambda z: z**2 / 2),
        Table("LOG32", log_rest, low, high, 9, lambda f: f**2 / mp.log1p(f)),
    ]
    return found


def parts(x: mpf, *bits: int) -> list[float]:
    """x as a sum of numbers of so many bits each, largest first."""
    found = []
    for n in bits:
        scale = mpf(2) ** (n - 1 - mp.floor(mp.log(abs(x), 2)))
        found.append(float(mp.nint(x * scale) / scale))
        x -= found[-1]
    return found


CONSTANTS = {
    "LN2": parts(mp.log(2), 42, 53),  # a whole number of 11 bits times the first is exact
    "TWO_THIRDS": parts(mpf(2) / 3, 53, 53),
    "ERF_SLOPE": parts(ERF_SLOPE - 1, 53, 53),  # less 1
    "LOG_ERFC": parts(mp.log(mp.erfc(ERF_NEAR)), 53, 53),
    "HALF_PI": parts(mp.pi / 2, 53, 53, 53),
}


def constant(name: str) -> str:
    return f"{name} = ({', '.join(map(repr, CONSTANTS[name]))})\n"


def line(table: Table) -> str:
    """The table as a statement of Python."""
    coefficients, error = table.coefficients()
    listed = "".join(f"    {c!r},\n" for c in coefficients)
    return f"{table.name} = (  # error 2^{float(mp.log(error, 2)):.1f}\n{listed})\n"


def main(names: list[str]) -> None:
    lines = [line(t) for t in tables() if not names or t.name in names]
    if names:
        print("\n".join(lines))
    else:
        title = '"""Coefficients of polynomials, constant first. Written by scripts/remez.py."""\n'
        TARGET.write_text("\n".join([title, *map(constant, CONSTANTS), *lines]))


if __name__ == "__main__":
    main(sys.argv[1:])
