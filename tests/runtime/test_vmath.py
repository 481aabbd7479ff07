"""Elementary functions in loops: accurate, right at the ends, the same everywhere, vectorised."""

import math
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest

from pullback.runtime.vmath import KERNELS, tables
from tests.runtime.vmath_cases import (
    BOUNDS,
    F4,
    F8,
    FUNCTIONS,
    NARROW_BOUND,
    apply,
    arguments,
    error,
    loop,
    worst,
)

INF, NAN = math.inf, math.nan
BOTH = pytest.mark.parametrize("dtype", [F8, F4], ids=str)
EACH = pytest.mark.parametrize("name", FUNCTIONS)


def bound(name, dtype):
    return BOUNDS[name] if dtype == F8 else NARROW_BOUND


def test_all_kernels_are_tested():
    assert set(KERNELS) == {*FUNCTIONS, "logaddexp"}


# -- accuracy --------------------------------------------------------------------------------------
@BOTH
@EACH
def test_errors_are_small(name, dtype):
    largest, where = worst(name, *arguments(name, dtype, 60, np.random.default_rng(1)))
    assert largest <= bound(name, dtype), where


@pytest.mark.sweep
@BOTH
@EACH
@pytest.mark.parametrize("seed", range(4))
def test_errors_are_small_sweep(name, dtype, seed):
    largest, where = worst(name, *arguments(name, dtype, 10000, np.random.default_rng(seed + 2)))
    print(f"{name} {dtype}: {largest:.3f} at {where}")
    assert largest <= bound(name, dtype), where


PLAIN = """
import sys
import numpy as np
from pullback.runtime.vmath import target
from numba.core.registry import cpu_target
from tests.runtime.vmath_cases import F8, BOUNDS, arguments, worst
assert not target(*cpu_target.target_context.codegen().magic_tuple()).fused
for name in BOUNDS:
    largest, where = worst(name, *arguments(name, F8, int(sys.argv[1]), np.random.default_rng(1)))
    assert largest <= BOUNDS[name], (name, largest, where)
"""


def without_fused_instructions(n):
    """Run `PLAIN` on n arguments for a processor that cannot multiply and add in one rounding."""
    env = os.environ | {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+sse2"}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PLAIN, str(n)]
    done = subprocess.run(command, env=env, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


X86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="for x86")


@X86
def test_errors_are_small_without_fused_instructions():
    without_fused_instructions(40)


@X86
@pytest.mark.sweep
def test_errors_are_small_without_fused_instructions_sweep():
    without_fused_instructions(10000)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_arguments_beyond_the_reduction(name):
    """Some lanes of a vector are beyond it, others are not. The C library is asked for the former
    (whose errors may be larger for the arguments closest to multiples of pi/2)."""
    near = np.random.default_rng(0).uniform(-5, 5, 64)
    far = [2.0**40, np.nextafter(2.0**40, INF), -1e15, 1e22, 6381956970095103 * 2.0**797]
    x = near.copy()
    x[3:64:13] = far
    y = apply(name, x)
    assert y[16:64:13].tolist() == [FUNCTIONS[name](v) for v in far[1:]]
    assert max(error(name, *row) for row in zip(y[:50], x[:50])) <= BOUNDS[name]
    last = apply(name, np.append(near, far[3]))[-1]  # not in a vector
    assert last == y[42]
    x = np.array([1.0, INF, 2.0, -INF, NAN, 3.0, 4.0, 5.0])
    assert np.isnan(apply(name, x)).tolist() == [
        False,
        True,
        False,
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_arguments_close_to_multiples_of_half_pi(name):
    """The doubles closest to a multiple of pi/2, per binade: what is left has the fewest bits."""
    with mpmath.workprec(300):
        found = []
        for e in range(2, 40, 3):
            candidates = (2.0**e * (1 + k / 300) for k in range(300))
            nearest = (float(mpmath.nint(c / (mpmath.pi / 2)) * mpmath.pi / 2) for c in candidates)
            found.append(min(nearest, key=lambda x: abs(mpmath.sin(2 * mpmath.mpf(x)))))
    x = np.array(found)
    y = apply(name, x)
    assert max(error(name, *row) for row in zip(y, x)) <= BOUNDS[name]


@BOTH
def test_logaddexp(dtype):
    """As accurate as its formula: absolutely, where the result is small."""
    rng = np.random.default_rng(3)
    a = rng.uniform(-50, 50, 500).astype(dtype)
    b = (a + rng.uniform(-40, 40, 500)).astype(dtype)
    with mpmath.workprec(100):
        ref = [float(mpmath.log(mpmath.exp(float(p)) + mpmath.exp(float(q)))) for p, q in zip(a, b)]
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(apply("logaddexp", a, b), ref, rtol=eps, atol=eps)
    ends = np.array([INF, INF, -INF, -INF, 1.0, NAN, 3.0, 0.0], dtype)
    others = np.array([INF, -INF, INF, -INF, -INF, 1.0, NAN, 0.0], dtype)
    want = [INF, INF, INF, -INF, 1.0, NAN, NAN, math.log(2)]
    np.testing.assert_allclose(apply("logaddexp", ends, others), want, rtol=eps)


# -- ends and zeros --------------------------------------------------------------------------------
ENDS = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e4, INF), (-1e4, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1e4, INF), (-1e4, -1.0)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (300.0, 1.0)],
    "log": [
        (0.0, -INF),
        (-0.0, -INF),
        (INF, INF),
        (-INF, NAN),
        (-1.0, NAN),
        (1.0, 0.0),
        (-1e-40, NAN),
    ],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-1.0, -INF), (-1.5, NAN)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (40.0, 1.0)],
}


def same(x, y):
    """Whether two numbers are equal, also in sign, or both nan."""
    return (x != x and y != y) or (x == y and math.copysign(1, x) == math.copysign(1, y))


@BOTH
@pytest.mark.parametrize("name", ENDS)
def test_ends_and_zeros(name, dtype):
    x, want = zip(*ENDS[name], (NAN, NAN))
    got = apply(name, np.array(x, dtype))
    assert all(map(same, got, want)), got


@BOTH
@pytest.mark.parametrize("name", ["expm1", "tanh", "log1p", "sin"])
def test_small_numbers_are_their_own_image(name, dtype):
    info = np.finfo(dtype)
    x = np.array([info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.tiny * 1.5])
    x = np.concatenate([x, -x]).astype(dtype)
    assert (apply(name, x) == x).all()


@BOTH
def test_ends_of_pow(dtype):
    """As C has them: against the library, for all pairs."""
    info = np.finfo(dtype)
    x = [0.0, 1.0, 0.5, 2.0, 3.0, 1.5, INF, NAN, info.max, info.tiny, info.smallest_subnormal]
    x += [2.0**23 + 1, 2.0**24 - 1, 2.0**53 - 1, 2.0**53, 2.0**52 + 0.5, 1e30]
    x = np.array([*x, *(-v for v in x)], dtype)
    a, b = (np.ravel(m) for m in np.meshgrid(x, x))
    with np.errstate(all="ignore"):
        want = np.power(a, b)
    got = apply("pow", a, b)
    special = ~np.isfinite(want) | (want == 0) | (abs(want) == 1)
    wrong = [k for k in range(len(a)) if special[k] and not same(got[k], want[k])]
    assert [(a[k], b[k], got[k], want[k]) for k in wrong] == []
    np.testing.assert_allclose(got, want, rtol=2 * info.eps)


# -- the same everywhere ---------------------------------------------------------------------------
@BOTH
@EACH
def test_the_same_in_vectors_and_alone_and_with_fastmath(name, dtype):
    xs = arguments(name, dtype, 16, np.random.default_rng(5))
    y = apply(name, *xs)
    for n in (1, 3, len(y) - 1):
        assert apply(name, *(x[-n:].copy() for x in xs)).tobytes() == y[-n:].tobytes()
    assert apply(name, *xs, fastmath=True).tobytes() == y.tobytes()


# -- vector instructions ---------------------------------------------------------------------------
@X86
@BOTH
@EACH
def test_loops_are_vector_code(name, dtype):
    asm = loop(name, dtype).asm()
    arithmetic = r"^\s+v?(?:mul|add|sub|div|fn?m(?:add|sub)\d+)"
    packed, alone = (len(re.findall(arithmetic + p, asm, re.M)) for p in (r"pd\s", r"sd\s"))
    assert packed >= 12
    assert packed > alone / 4  # there are scalar loops for the last elements
    library = {*FUNCTIONS} - ({name} if name in ("sin", "cos") else set())
    called = re.findall(r"(?:call|movabs)\w*\s.*?\b(\w+)\b", asm)
    assert not library & {c.removesuffix("f") for c in called}


# -- coefficients ----------------------------------------------------------------------------------
@pytest.fixture
def remez(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    import remez

    return remez


def test_coefficients_are_those_of_the_script(remez):
    named = {t.name: t for t in remez.tables()}
    assert tuple(named["COS"].coefficients()[0]) == tables.COS
    assert all(tuple(parts) == getattr(tables, name) for name, parts in remez.CONSTANTS.items())
    assert {*named, *remez.CONSTANTS} == {n for n in vars(tables) if n.isupper()}


@pytest.mark.sweep
def test_all_coefficients_are_those_of_the_script(remez):
    for table in remez.tables():
        assert tuple(table.coefficients()[0]) == getattr(tables, table.name), table.name


def test_exchange_finds_the_best_polynomial(remez):
    """The best line for exp on [-1, 1] has the slope s = sinh(1), and errors e - s - b."""
    one = mpmath.mpf(1)
    (b, s), largest = remez.Table("", mpmath.exp, -one, one, 1, lambda x: one).coefficients()
    assert abs(s - math.sinh(1)) < 1e-4
    assert abs(b - (math.e - s * math.log(s)) / 2) < 1e-4
    assert abs(largest - (math.e - s - b)) < 1e-4
