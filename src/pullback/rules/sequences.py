"""Bodies of builtins and ``math`` functions over any number of arguments or over a sequence, which
may be a tuple (written out) or an array (a loop).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from .registry import body
from .source import function
from .types import is_array, is_tuple, ndim


def _is_vector(a: Any) -> bool:
    return is_array(a) and ndim(a) == 1


# -- max, min, hypot of several numbers ------------------------------------------------------------
def _nested(name: str, f: Callable[..., Any], items: list[str], parameters: str) -> Any:
    """A function that folds f over the items from the left."""
    lines = [f"    y = {items[0]}", *(f"    y = f(y, {x})" for x in items[1:])]
    return function(
        name, f"def {name}({parameters}):\n" + "\n".join(lines) + "\n    return y\n", f=f
    )


def _extremum(f: Callable[..., Any], name: str) -> None:
    @body.typed(f)
    def resolve(first: Any, *rest: Any) -> Any:
        if rest:
            names = [f"x{k}" for k in range(1 + len(rest))]
            return _nested(name, f, names, ", ".join(names)) if len(rest) > 1 else None
        if is_tuple(first) and first.elements:
            return _nested(name, f, [f"xs[{k}]" for k in range(len(first.elements))], "xs")
        if _is_vector(first):
            return function(name, EXTREMUM.format(name=name), f=f)
        return None


EXTREMUM = """\
def {name}(xs):
    if len(xs) == 0:
        raise ValueError("{name}() arg is an empty sequence")
    y = xs[0]
    for i in range(1, len(xs)):
        y = f(y, xs[i])
    return y
"""
_extremum(max, "max")
_extremum(min, "min")


@body.typed(math.hypot)
def _(*xs: Any) -> Any:
    if len(xs) == 2:
        return None
    names = [f"x{k}" for k in range(len(xs))]
    total = " + ".join(f"{x} * {x}" for x in names) or "0.0"
    source = f"def hypot({', '.join(names)}):\n    return root({total})\n"
    return function("hypot", source, root=root)


def root(s: float) -> float:
    """sqrt(s) with slope zero at zero."""
    if s == 0.0:
        return 0.0
    return math.sqrt(s)


# -- sums and products over a sequence -------------------------------------------------------------
LOOP = """\
def {name}(xs{start}):
    y = {first}
    for i in range(len(xs)):
        y = y {op} xs[i]
    return y
"""


def _fold(f: Callable[..., Any], name: str, op: str, parameter: str, neutral: str) -> None:
    first = parameter or neutral
    signature = f", {parameter}={neutral}" if parameter else ""

    @body.typed(f)
    def resolve(xs: Any, **start: Any) -> Any:
        return make(xs)

    def make(xs: Any) -> Any:
        if _is_vector(xs):
            return function(name, LOOP.format(name=name, start=signature, first=first, op=op))
        if is_tuple(xs):
            terms = f" {op} ".join([first, *(f"xs[{k}]" for k in range(len(xs.elements)))])
            return function(name, f"def {name}(xs{signature}):\n    return {terms}\n")
        return None

    if f is builtins.sum:  # its second argument may be positional

        @body.typed(f)
        def resolve_sum(xs: Any, start: Any = None) -> Any:
            return make(xs)


_fold(builtins.sum, "sum", "+", "start", "0")
_fold(math.fsum, "fsum", "+", "", "0.0")
_fold(math.prod, "prod", "*", "start", "1")

PAIRS = """\
def {name}(p, q):
    if len(p) != len(q):
        raise ValueError("{message}")
    s = {zero}
    for i in range(len(p)):
{step}
    return {result}
"""


def _pairs(f: Any, name: str, message: str, zero: str, term: str, result: str) -> None:
    @body.typed(f)
    def resolve(p: Any, q: Any) -> Any:
        if is_tuple(p) and is_tuple(q):
            if len(p.elements) != len(q.elements):
                return None
            steps = [term.replace("i]", f"{k}]") for k in range(len(p.elements))]
            lines = "\n".join("    " + step for step in steps)
            source = f"def {name}(p, q):\n    s = {zero}\n{lines}\n    return {result}\n"
            return function(name, source, root=root)
        if (_is_vector(p) or is_tuple(p)) and (_is_vector(q) or is_tuple(q)):
            text = PAIRS.format(
                name=name, message=message, zero=zero, step="        " + term, result=result
            )
            return function(name, text, root=root)
        return None


_pairs(
    *(math.dist, "dist", "both points must have the same number of dimensions"),
    *("0.0", "s = s + (p[i] - q[i]) * (p[i] - q[i])", "root(s)"),
)
if hasattr(math, "sumprod"):
    _pairs(
        *(math.sumprod, "sumprod", "Inputs are not the same length"),
        *("0", "s = s + p[i] * q[i]", "s"),
    )


# -- parts of a float ------------------------------------------------------------------------------
@body(math.modf)
def modf(x: float) -> Any:
    whole = float(math.trunc(x)) if abs(x) < 2.0**52 else x
    return math.copysign(x - whole if abs(x) < 2.0**52 else 0.0, x), math.copysign(whole, x)


@body(math.frexp)
def frexp(x: float) -> Any:
    """Scaled by powers of two, which is exact and differentiates as the product that it is."""
    e = 0
    if x == 0.0 or math.isnan(x) or math.isinf(x):
        return x, e
    while abs(x) >= 1.0:
        x = x * 0.5
        e += 1
    while abs(x) < 0.5:
        x = x * 2.0
        e -= 1
    return x, e
