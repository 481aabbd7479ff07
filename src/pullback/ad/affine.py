"""Linear forms with integer coefficients, and a proof that a system of them has no solution.

The proof is Fourier-Motzkin elimination over the rationals, after equations are used up by
substitution with the divisibility (GCD) test. It is one-sided: "no solution" is certain, anything
else is not known. (Banerjee's bounds are the special case of one equation and constant bounds.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import partial
from math import gcd

Name = Hashable
LIMIT = 300  # inequalities at most: beyond, nothing is claimed


class Linear:
    """``sum(coefficient * name) + constant``."""

    __slots__ = ("terms", "constant")

    def __init__(self, terms: Mapping[Name, int] | None = None, constant: int = 0) -> None:
        self.terms = {n: c for n, c in (terms or {}).items() if c}
        self.constant = constant

    @staticmethod
    def of(name: Name) -> Linear:
        return Linear({name: 1})

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return Linear(self.terms, self.constant + other)
        terms = dict(self.terms)
        for n, c in other.terms.items():
            terms[n] = terms.get(n, 0) + c
        return Linear(terms, self.constant + other.constant)

    def __sub__(self, other: Linear | int) -> Linear:
        return self + (-other)

    def __neg__(self) -> Linear:
        return self * -1

    def __mul__(self, k: int) -> Linear:
        return Linear({n: c * k for n, c in self.terms.items()}, self.constant * k)

    def rename(self, f: object) -> Linear:
        out = Linear(constant=self.constant)
        for n, c in self.terms.items():
            out = out + Linear({f(n): c})  # type: ignore[operator]
        return out

    def key(self) -> tuple[frozenset[tuple[Name, int]], int]:
        return frozenset(self.terms.items()), self.constant

    def __repr__(self) -> str:
        return " + ".join([f"{c}*{n}" for n, c in self.terms.items()] + [str(self.constant)])


def impossible(zero: Iterable[Linear], nonnegative: Iterable[Linear]) -> bool:
    """Whether provably no integers make all of ``zero`` 0 and all of ``nonnegative`` >= 0."""
    equations, rest = list(zero), list(nonnegative)
    while equations:
        e = equations.pop()
        if not e.terms:
            if e.constant:
                return True
            continue
        if e.constant % gcd(*e.terms.values()):
            return True
        unit = next((n for n, c in e.terms.items() if abs(c) == 1), None)
        if unit is None:
            rest += [e, -e]
            continue
        value = (Linear({n: c for n, c in e.terms.items() if n != unit}, e.constant)) * -e.terms[
            unit
        ]
        equations = [_substitute(x, unit, value) for x in equations]
        rest = [_substitute(x, unit, value) for x in rest]
    return _eliminate(rest)


def _substitute(x: Linear, name: Name, value: Linear) -> Linear:
    c = x.terms.get(name, 0)
    return (
        x
        if not c
        else Linear({n: k for n, k in x.terms.items() if n != name}, x.constant) + value * c
    )


def _eliminate(system: list[Linear]) -> bool:
    system = _tidy(system)
    while True:
        if any(not x.terms and x.constant < 0 for x in system):
            return True
        names = {n for x in system for n in x.terms}
        if not names:
            return False

        n = min(names, key=partial(_product, system=system))
        above = [x for x in system if x.terms.get(n, 0) < 0]
        below = [x for x in system if x.terms.get(n, 0) > 0]
        system = [x for x in system if n not in x.terms]
        if len(system) + len(above) * len(below) > LIMIT:
            return False
        system += [a * b.terms[n] + b * -a.terms[n] for a in above for b in below]
        system = _tidy(system)


def _product(n: Name, system: list[Linear]) -> int:
    """How many inequalities eliminating ``n`` makes."""
    signs = [x.terms.get(n, 0) for x in system]
    return sum(c > 0 for c in signs) * sum(c < 0 for c in signs)


def _tidy(system: list[Linear]) -> list[Linear]:
    """Divide by common factors (rounding the constant down, as integers allow), drop duplicates."""
    out: dict[object, Linear] = {}
    for x in system:
        if x.terms:
            g = gcd(*x.terms.values())
            x = Linear({n: c // g for n, c in x.terms.items()}, x.constant // g)
        elif x.constant >= 0:
            continue
        key = frozenset(x.terms.items())
        if key not in out or out[key].constant > x.constant:
            out[key] = x
    return list(out.values())
