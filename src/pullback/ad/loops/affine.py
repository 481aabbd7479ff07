"""Linear forms with integer coefficients, and a proof that a system of them has no solution.

The proof is Fourier-Motzkin elimination over the rationals, after equations are used up by
substitution with the divisibility (GCD) test. It is one-sided: "no solution" is certain, anything
else is not known. (Banerjee's bounds are the special case of one equation and constant bounds.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
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
        return _linear({name: 1}, 0)

    def __add__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return _linear(self.terms, self.constant + other)
        return self._plus(other, 1)

    def __sub__(self, other: Linear | int) -> Linear:
        if isinstance(other, int):
            return _linear(self.terms, self.constant - other)
        return self._plus(other, -1)

    def __neg__(self) -> Linear:
        return _linear({n: -c for n, c in self.terms.items()}, -self.constant)

    def __mul__(self, k: int) -> Linear:
        if not k:
            return _linear({}, 0)
        return _linear({n: c * k for n, c in self.terms.items()}, self.constant * k)

    def _plus(self, other: Linear, k: int) -> Linear:
        """``self + k * other``."""
        terms = dict(self.terms)
        for n, c in other.terms.items():
            total = terms.get(n, 0) + k * c
            if total:
                terms[n] = total
            else:
                terms.pop(n, None)
        return _linear(terms, self.constant + k * other.constant)

    def rename(self, f: object) -> Linear:
        out = Linear(constant=self.constant)
        for n, c in self.terms.items():
            out = out + Linear({f(n): c})  # type: ignore[operator]
        return out

    def key(self) -> tuple[frozenset[tuple[Name, int]], int]:
        return frozenset(self.terms.items()), self.constant

    def __repr__(self) -> str:
        return " + ".join([f"{c}*{n}" for n, c in self.terms.items()] + [str(self.constant)])


def _linear(terms: dict[Name, int], constant: int) -> Linear:
    """From terms none of which is zero, and that nobody changes."""
    made = Linear.__new__(Linear)
    made.terms, made.constant = terms, constant
    return made


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
        rest_of_it = _linear({n: c for n, c in e.terms.items() if n != unit}, e.constant)
        value = rest_of_it * -e.terms[unit]
        equations = [_substitute(x, unit, value) for x in equations]
        rest = [_substitute(x, unit, value) for x in rest]
    return _eliminate(rest)


def _substitute(x: Linear, name: Name, value: Linear) -> Linear:
    c = x.terms.get(name)
    if c is None:
        return x
    return _linear({n: k for n, k in x.terms.items() if n != name}, x.constant)._plus(value, c)


Row = tuple[Mapping[Name, int], int]
"""Terms and constant of an inequality: plain pairs, for the elimination makes many."""


def _eliminate(system: list[Linear]) -> bool:
    rows = _tidy((x.terms, x.constant) for x in system)
    while rows is not None:
        n = _cheapest(rows)
        if n is None:
            return False
        above = [x for x in rows if x[0].get(n, 0) < 0]
        below = [x for x in rows if x[0].get(n, 0) > 0]
        rows = [x for x in rows if n not in x[0]]
        if len(rows) + len(above) * len(below) > LIMIT:
            return False
        if above and below:
            rows = _tidy([*rows, *(_without(n, a, b) for a in above for b in below)])
    return True


def _cheapest(rows: list[Row]) -> Name | None:
    """The name whose elimination makes the fewest inequalities."""
    above: dict[Name, int] = {}
    below: dict[Name, int] = {}
    for terms, _ in rows:
        for n, c in terms.items():
            if c > 0:
                below[n] = below.get(n, 0) + 1
            else:
                above[n] = above.get(n, 0) + 1
    for n in above:
        if n not in below:
            return n
    return min(below, key=lambda n: below[n] * above.get(n, 0), default=None)


def _without(n: Name, a: Row, b: Row) -> Row:
    """The sum of multiples of two inequalities in which ``n`` cancels out."""
    p, q = b[0][n], -a[0][n]
    terms = {m: c * p for m, c in a[0].items() if m != n}
    for m, c in b[0].items():
        if m != n:
            c = terms.get(m, 0) + c * q
            if c:
                terms[m] = c
            else:
                del terms[m]
    return terms, a[1] * p + b[1] * q


def _tidy(rows: Iterable[Row]) -> list[Row] | None:
    """Divide by common factors (rounding the constant down, as integers allow), drop duplicates;
    None if one of them is false."""
    out: dict[frozenset[tuple[Name, int]], Row] = {}
    for terms, constant in rows:
        if not terms:
            if constant < 0:
                return None
            continue
        g = gcd(*terms.values())
        if g != 1:
            terms, constant = {n: c // g for n, c in terms.items()}, constant // g
        key = frozenset(terms.items())
        if key not in out or out[key][1] > constant:
            out[key] = terms, constant
    return list(out.values())
