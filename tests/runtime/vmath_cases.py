"""The elementary functions as loops in machine code, their arguments, and what is exact."""

from __future__ import annotations

import math
import operator
from functools import cache

import mpmath
import numpy as np
from numba import types

from pullback.runtime import prims
from tests.backend.irs import Writer

F8, F4 = np.dtype("f8"), np.dtype("f4")
NUMBA = {F8: types.float64, F4: types.float32}
MANTISSA = {F8: (53, -1074), F4: (24, -149)}

FUNCTIONS = {
    "exp": math.exp,
    "expm1": math.expm1,
    "tanh": math.tanh,
    "log": math.log,
    "log1p": math.log1p,
    "sin": math.sin,
    "cos": math.cos,
    "erf": math.erf,
    "pow": operator.pow,
}
BOUNDS = {  # of errors in float64, in units in the last place
    "exp": 0.78,
    "expm1": 0.85,
    "tanh": 0.75,
    "log": 0.88,
    "log1p": 0.88,
    "sin": 0.85,
    "cos": 0.85,
    "erf": 1.0,
    "pow": 0.92,
}
NARROW_BOUND = 0.52  # in float32


@cache
def loop(name, dtype, fastmath=False):
    """``f(x, ..., y)``: y[i] = function(x[i], ...), compiled, with the assembly."""
    n = 2 if name in ("pow", "logaddexp") else 1
    vector = NUMBA[dtype][::1]
    w = Writer(*((f"x{k}", vector) for k in range(n)), ("y", vector))
    *xs, y = w.params
    i, close = w.loop(w(prims.dim, xs[0], 0))
    callee = FUNCTIONS[name] if name in FUNCTIONS else getattr(np, name)
    value = w(callee, *(w(prims.load, x, i) for x in xs), type=NUMBA[dtype])
    w(prims.store, y, value, i)
    close()
    return w.compile(fastmath=fastmath)


def apply(name, *xs, fastmath=False):
    """The function of arrays."""
    y = np.empty_like(xs[0])
    loop(name, xs[0].dtype, fastmath)(*xs, y)
    return y


def exact(name, *xs):
    """The value to 120 bits."""
    with mpmath.workprec(120):
        args = [mpmath.mpf(float(x)) for x in xs]
        if name == "pow":
            return mpmath.re(mpmath.power(*args))
        return getattr(mpmath, name)(*args)


def error(name, y, *xs):
    """The error of y in units in the last place, infinity counting as the next power of two."""
    digits, smallest = MANTISSA[y.dtype]
    ref = exact(name, *xs)
    with mpmath.workprec(120):
        exponent = mpmath.frexp(ref)[1] if ref else 0
        unit = mpmath.ldexp(1, max(exponent - digits, smallest))
        if abs(ref) >= mpmath.mpf(float(np.finfo(y.dtype).max)) + unit / 2:
            return 0.0 if y == math.copysign(math.inf, ref) else math.inf
        return float(abs(mpmath.mpf(float(y)) - ref) / unit)


def worst(name, *xs):
    """The largest error over arrays of arguments, and where it is."""
    y = apply(name, *xs)
    errors = [error(name, *row) for row in zip(y, *xs)]
    k = int(np.argmax(errors))
    return errors[k], tuple(x[k] for x in xs)


def arguments(name, dtype, n, rng):
    """About 6 n finite arguments in the domain: over all magnitudes, where the function changes
    most, and where its algorithm does."""
    big = np.log10(float(np.finfo(dtype).max)) - 0.1
    sign = rng.choice([-1.0, 1.0], n)
    parts = [sign * 10 ** rng.uniform(-big, big, n), sign * 10 ** rng.uniform(-8, 2, n)]
    if name == "pow":
        return powers(dtype, n, rng)
    top = np.log(float(np.finfo(dtype).max))
    if name in ("exp", "expm1"):
        parts += [rng.uniform(-top - 40, top, n), rng.uniform(-1.5, 1.5, n)]
    elif name == "log":
        x = 10 ** rng.uniform(-8, -1, n)
        parts += [1 + sign * x, rng.uniform(0.5, 2, n), rng.uniform(0, 1, n) * TINY[dtype]]
    elif name == "log1p":
        parts += [rng.uniform(-0.99, 1.5, n), sign * rng.uniform(0.25, 0.45, n)]
    elif name in ("sin", "cos"):
        k = rng.integers(0, 2**30, n) * (math.pi / 2)
        parts += [k, rng.uniform(-20, 20, n), sign * 10 ** rng.uniform(2, 13, n)]
    else:
        parts += [rng.uniform(-1, 1, n), rng.uniform(-6.5, 6.5, n), rng.uniform(-20, 20, n)]
    x = np.concatenate(parts).astype(dtype)
    if name == "log":
        x = abs(x)
    if name == "log1p":
        x = np.where(x <= -1, -x, x)
    return (x[np.isfinite(x) & ((x != 0) | (name != "log"))],)


TINY = {F8: 2.0**-1022, F4: 2.0**-126}


def powers(dtype, n, rng):
    """Pairs of a base and an exponent with a finite power, mostly."""
    big = np.log10(float(np.finfo(dtype).max)) - 0.1
    sign = rng.choice([-1.0, 1.0], n)
    bases = [10 ** rng.uniform(-big, big, n), rng.uniform(0.6, 1.6, n)]
    bases += [1 + sign * 10 ** rng.uniform(-6, -1, n)]
    bases = [x.astype(dtype).astype("f8") for x in bases]
    reach = np.log(float(np.finfo(dtype).max)) * rng.uniform(-1.05, 0.99, n)
    with np.errstate(divide="ignore", over="ignore"):
        exponents = [reach / np.log(x) for x in bases]
    bases.append(sign * rng.uniform(0, 10, n))
    exponents.append(rng.integers(-25, 25, n).astype("f8"))
    x, y = (np.concatenate(p).astype(dtype) for p in (bases, exponents))
    good = np.isfinite(y) & (x != 1)
    return x[good], y[good]
