"""Every scalar rule against the derivative that mpmath takes of the same function."""

import cmath
import math
import operator

import mpmath as mp
import numpy as np
import pytest

from pullback.rules import registry
from pullback.rules.arithmetic import to_nearest
from pullback.runtime import prims

UNARY = {
    # name: (function of mpmath, real points, complex points)
    "exp": (mp.exp, (-40.0, -1.5, 0.0, 2.0), True),
    "exp2": (lambda x: mp.power(2, x), (-3.0, 0.0, 1.25), True),
    "expm1": (mp.expm1, (-40.0, 1e-9, 0.5), True),
    "log": (mp.log, (1e-8, 0.5, 30.0), True),
    "log2": (lambda x: mp.log(x) / mp.log(2), (0.5, 3.0), True),
    "log10": (mp.log10, (0.5, 3.0), True),
    "log1p": (mp.log1p, (-0.5, 1e-9, 3.0), True),
    "sqrt": (mp.sqrt, (1e-6, 2.0), True),
    "cbrt": (lambda x: mp.sign(x) * mp.root(abs(x), 3), (-2.0, 0.3), False),
    "sin": (mp.sin, (-2.0, 0.0, 30.0), True),
    "cos": (mp.cos, (-2.0, 0.0, 30.0), True),
    "tan": (mp.tan, (-1.0, 0.0, 1.5), True),
    "arcsin": (mp.asin, (-0.99, 0.0, 0.5), True),
    "arccos": (mp.acos, (-0.99, 0.0, 0.5), True),
    "arctan": (mp.atan, (-30.0, 0.0, 0.5), True),
    "sinh": (mp.sinh, (-2.0, 0.0, 1.0), True),
    "cosh": (mp.cosh, (-2.0, 0.0, 1.0), True),
    "tanh": (mp.tanh, (-2.0, 0.0, 1.0, 8.0), True),
    "arcsinh": (mp.asinh, (-2.0, 0.0, 1e3), True),
    "arccosh": (mp.acosh, (1.001, 2.0, 1e3), True),
    "arctanh": (mp.atanh, (-0.99, 0.0, 0.5), True),
    "square": (lambda x: x * x, (-2.0, 0.0), True),
    "reciprocal": (lambda x: 1 / x, (-2.0, 0.5), True),
    "negative": (lambda x: -x, (-2.0, 0.0), True),
    "positive": (lambda x: x, (-2.0, 0.0), True),
    "absolute": (abs, (-2.0, 0.5), False),
    "fabs": (abs, (-2.0, 0.5), False),
    "sinc": (mp.sincpi, (-1.3, -0.02, 1e-9, 0.1, 0.127, 0.128, 4.0), False),
    "erf": (mp.erf, (-2.0, 0.0, 0.5), False),
    "erfc": (mp.erfc, (-2.0, 0.0, 3.5), False),
    "gamma": (mp.gamma, (-2.5, -0.001, 0.3, 1.4616, 5.0, 20.5), False),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), (-2.5, 0.3, 1.4616, 5.0, 1e4), False),
    "degrees": (mp.degrees, (-2.0, 0.5), False),
    "rad2deg": (mp.degrees, (-2.0, 0.5), False),
    "radians": (mp.radians, (-2.0, 0.5), False),
    "deg2rad": (mp.radians, (-2.0, 0.5), False),
}
MATH_NAME = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
MATH_NAME |= {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}
COMPLEX_POINTS = (0.3 + 0.4j, -1.2 + 0.5j, 2.0 - 3.0j, -0.4 - 0.7j)


def namesakes(name):
    for module in (math, cmath, np):
        for n in (name, MATH_NAME.get(name, name)):
            f = getattr(module, n, None)
            if f is not None:
                yield f


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    reference, real, holomorphic = UNARY[name]
    functions = list(namesakes(name))
    assert functions
    for f in functions:
        points = list(real) if not (f in vars(cmath).values() and name == "x") else []
        points += list(COMPLEX_POINTS) if holomorphic and f not in vars(math).values() else []
        (partial,) = registry.scalar(f, 1).partials
        for x in points:
            with mp.workdps(40):
                expected = complex(mp.diff(reference, mp.mpmathify(x)))
            got = partial(f(x), x)
            assert abs(got - expected) <= 4e-15 * max(1.0, abs(expected)), (f, x, got, expected)


@pytest.mark.parametrize("name", [n for n in UNARY if hasattr(np, n)])
def test_unary_keeps_single_precision(name):
    f, x = getattr(np, name), UNARY[name][1][-1]
    (partial,) = registry.scalar(f).partials
    single = partial(f(np.float32(x)), np.float32(x))
    assert np.isclose(single, partial(f(x), x), rtol=1e-4, atol=1e-7)
    if UNARY[name][2]:
        z = np.complex64(0.3 + 0.4j)
        assert np.isclose(partial(f(z), z), partial(f(complex(z)), complex(z)), rtol=1e-4)


def test_every_differentiable_function_of_math_and_cmath_has_a_rule():
    discrete = {"ceil", "floor", "trunc", "comb", "factorial", "gcd", "isclose", "isfinite"}
    discrete |= {"isinf", "isnan", "isqrt", "lcm", "perm", "ulp"}
    others = {"frexp", "modf", "dist", "fsum", "prod", "sumprod", "polar", "rect"}
    for module in (math, cmath):
        for name, f in vars(module).items():
            if callable(f) and not name.startswith("_"):
                rule = registry.scalar(f) or registry.has_body(f) or registry.is_inactive(f)
                assert rule, f"{module.__name__}.{name}"
                assert not registry.is_inactive(f) or name in discrete, name
                assert registry.has_body(f) >= (name in others), name


def test_every_ufunc_is_known():
    objects = {"matmul", "matvec", "vecmat", "vecdot", "frexp", "modf", "divmod", "isnat"}
    for name, f in vars(np).items():
        if isinstance(f, np.ufunc) and name not in objects and not name.startswith("str"):
            known = registry.scalar(f) or registry.is_inactive(f) or name in ("bitwise_count",)
            assert known, name


BINARY = {
    operator.add: (lambda a, b: a + b, True),
    operator.sub: (lambda a, b: a - b, True),
    operator.mul: (lambda a, b: a * b, True),
    operator.truediv: (lambda a, b: a / b, True),
    operator.pow: (lambda a, b: a**b, True),
    np.power: (lambda a, b: a**b, True),
    math.pow: (lambda a, b: a**b, False),
    math.hypot: (mp.hypot, False),
    np.hypot: (mp.hypot, False),
    math.atan2: (mp.atan2, False),
    np.arctan2: (mp.atan2, False),
    np.logaddexp: (lambda a, b: mp.log(mp.exp(a) + mp.exp(b)), False),
    np.logaddexp2: (lambda a, b: mp.log(mp.power(2, a) + mp.power(2, b), 2), False),
    np.fmod: (lambda a, b: a - b * int(a / b), False),
    math.fmod: (lambda a, b: a - b * int(a / b), False),
    operator.mod: (lambda a, b: a - b * mp.floor(a / b), False),
    np.remainder: (lambda a, b: a - b * mp.floor(a / b), False),
    to_nearest: (lambda a, b: a - b * mp.nint(a / b), False),
    operator.floordiv: (lambda a, b: mp.floor(a / b), False),
    np.maximum: (max, False),
    np.fmin: (min, False),
    min: (min, False),
    math.copysign: (lambda a, b: abs(a) * mp.sign(b), False),
}
PAIRS = ((2.5, 0.7), (0.3, 1.9), (7.3, 2.1), (1.2, -0.9), (5.5, -2.0))


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f"{f.__class__.__name__}.{f.__name__}")
def test_binary(f):
    reference, holomorphic = BINARY[f]
    pairs = [*PAIRS, (0.3 + 0.4j, 1.5 - 0.5j), (-2.0, 0.5 + 1j), (1 + 2j, -1.5)]
    for a, b in pairs if holomorphic else PAIRS:
        y = f(a, b)
        for k, partial in enumerate(registry.scalar(f, 2).partials):
            with mp.workdps(40):
                order = tuple(int(i == k) for i in range(2))
                ab = (mp.mpmathify(a), mp.mpmathify(b))
                expected = complex(mp.diff(reference, ab, order, h=mp.mpf("1e-25")))
            got = 0.0 if partial is None else partial(y, a, b)
            assert abs(got - expected) <= 1e-13 * max(1.0, abs(expected)), (f, k, a, b)


@pytest.mark.parametrize(
    "x", [0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 3.0, 1e300, -7.3, math.inf, math.nan]
)
@pytest.mark.parametrize("y", [1.0, -2.0, 0.7, 1e-300, math.inf])
def test_to_nearest_is_the_remainder(x, y):
    with np.errstate(invalid="ignore"):
        mine = to_nearest(x, y)
    try:
        expected = math.remainder(x, y)
    except ValueError:
        expected = math.nan
    np.testing.assert_array_equal(mine, expected)
    assert math.isnan(expected) or np.signbit(mine) == np.signbit(expected)


# -- kinks and boundaries: the conventions that are written down -----------------------------------
def partials(f, *xs):
    rule = registry.scalar(f, len(xs))
    with np.errstate(all="ignore"):
        y = f(*xs)
        return tuple(None if p is None else p(y, *xs) for p in rule.partials)


@pytest.mark.parametrize("f", [abs, operator.abs, np.absolute, math.fabs])
def test_abs_has_slope_zero_at_zero(f):
    assert partials(f, 0.0) == (0.0,)


@pytest.mark.parametrize("f", [max, min, np.maximum, np.minimum, np.fmax, np.fmin])
def test_a_tie_is_shared(f):
    assert partials(f, 2.0, 2.0) == (0.5, 0.5)
    assert sorted(partials(f, 1.0, 2.0)) == [0.0, 1.0]


def test_fmax_ignores_nan():
    assert partials(np.fmax, 1.0, math.nan) == (1.0, 0.0)
    assert partials(np.fmin, math.nan, 1.0) == (0.0, 1.0)


def test_powers_at_zero():
    assert partials(operator.pow, 0.0, 0) == (0.0, 0.0)
    assert partials(operator.pow, 0.0, 0.0) == (0.0, 0.0)
    assert partials(operator.pow, 0.0, 1) == (1, 0.0)
    assert partials(operator.pow, 0.0, 2.0) == (0.0, 0.0)
    assert partials(operator.pow, math.inf, 0.0)[0] == 0.0
    assert partials(operator.pow, 0.0, 0.5) == (math.inf, 0.0)
    assert registry.scalar(operator.pow).singular


def test_powers_of_a_negative_base():
    base, exponent = partials(np.power, -2.0, 3.0)
    assert base == 12.0 and math.isnan(exponent)
    assert partials(operator.pow, -2.0, 3)[0] == 12.0
    assert partials(operator.pow, np.float32(-2.0), np.int64(-1))[0] == -0.25


def test_infinite_partials_belong_to_singular_rules():
    for f, x in ((math.sqrt, 0.0), (np.cbrt, 0.0), (math.asin, 1.0), (math.acosh, 1.0)):
        assert math.isinf(partials(f, x)[0]) and registry.scalar(f).singular
    for f in (np.log, np.log2, np.log10):
        assert partials(f, 0.0)[0] == math.inf and registry.scalar(f).singular
    assert partials(np.log1p, -1.0) == (math.inf,)
    assert (
        partials(np.divide, 1.0, 0.0)[0] == math.inf and registry.scalar(operator.truediv).singular
    )


def test_hypot_and_arctan2_at_the_origin():
    assert partials(math.hypot, 0.0, 0.0) == (0.0, 0.0)
    assert partials(math.atan2, 0.0, 0.0) == (0.0, 0.0)
    tiny = partials(math.atan2, 1e-200, 1e-200)
    assert np.allclose(tiny, (0.5e200, -0.5e200), rtol=1e-15), "no underflow of squares"


def test_logaddexp_at_infinity():
    assert partials(np.logaddexp, -math.inf, -math.inf) == (0.5, 0.5)
    assert partials(np.logaddexp, -math.inf, 3.0) == (0.0, 1.0)
    assert partials(np.logaddexp, 1e3, -1e3) == (1.0, 0.0)


@pytest.mark.parametrize("f", [np.floor, np.ceil, np.trunc, np.rint, np.sign, math.floor, round])
def test_steps_have_no_derivative(f):
    assert partials(f, 1.5) == (None,)


def test_heaviside_and_select():
    assert partials(np.heaviside, 0.0, 0.25) == (None, 1.0)
    assert partials(np.heaviside, 2.0, 0.25) == (None, 0.0)
    assert partials(prims.select, True, 2.0, 3.0) == (None, 1.0, 0.0)
    assert partials(prims.cast, "float32", 2.0) == (None, 1.0)
    assert partials(math.nextafter, 1.0, 2.0) == (1.0, None)
    assert partials(math.ldexp, 1.5, 3) == (8.0, None)
    assert partials(np.ldexp, 1.5, -1) == (0.5, None)


# -- functions of complex numbers that are not holomorphic -----------------------------------------
@pytest.mark.parametrize("z", [0.3 + 0.4j, -2.0 + 1.0j, -1.5 - 0.5j])
@pytest.mark.parametrize(
    "f", [abs, np.absolute, np.conjugate, np.real, np.imag, np.angle, cmath.phase, prims.real]
)
def test_wirtinger_pair(f, z):
    """d along Re and along Im, by central differences, from the pair."""
    ((dz, dzbar),) = registry.scalar(f).wirtinger
    y, h = f(z), 1e-6
    a, b = (0.0 if p is None else p(y, z) for p in (dz, dzbar))
    for t in (1.0, 1.0j):
        slope = (f(z + h * t) - f(z - h * t)) / (2 * h)
        assert abs(a * t + b * np.conjugate(t) - slope) < 1e-8


def test_modulus_at_zero():
    ((dz, dzbar),) = registry.scalar(abs).wirtinger
    assert dz(0.0, 0j) == 0 and dzbar(0.0, 0j) == 0


def test_complex_from_parts():
    one, i = registry.scalar(complex, 2).partials
    assert (one(2 + 3j, 2.0, 3.0), i(2 + 3j, 2.0, 3.0)) == (1.0, 1j)
    assert one.constant == 1.0
