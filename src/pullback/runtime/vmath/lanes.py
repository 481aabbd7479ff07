"""Numbers that write down what is done with them: the kernels' arithmetic as LLVM instructions.

A kernel is a Python function of `Real`s. Called with a function's arguments it emits that
function's body, in which there is nothing but arithmetic and selections, so that LLVM turns a loop
around it into vector instructions. No instruction allows LLVM to reorder or to fuse: what is one
rounding and what are two is written here, and stays so in code that is compiled with fastmath.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir as ll

from . import far

F32, F64, I64 = ll.FloatType(), ll.DoubleType(), ll.IntType(64)


class Target(NamedTuple):
    """``fused``: the processor multiplies and adds in one rounding. ``widths``: how many lanes LLVM
    may give a vector; the most only where they are of float32. ``wide``: vectors of 512 bits do not
    slow the processor down."""

    fused: bool
    widths: tuple[int, ...]
    wide: bool


class Machine:
    """Where instructions go, and for what processor."""

    def __init__(self, builder: ll.IRBuilder, target: Target) -> None:
        self.b, self.target = builder, target

    def in_reach(self, y: Real, name: str, x: Real) -> Real:
        """y, or where x is larger than `far.REACH` the C library's function of it."""
        b = self.b
        before = b.block
        with b.if_then((abs(x) > far.REACH).v, likely=False):
            called = far.call(b, name, x.v, self.target.widths)
            inside = b.block
        result = b.phi(F64)
        result.add_incoming(y.v, before)
        result.add_incoming(called, inside)
        return Real(self, result)

    def intrinsic(self, name: str, *args: Any) -> Real:
        kind = ll.FunctionType(F64, [F64] * len(args))
        f = self.b.module.declare_intrinsic(f"llvm.{name}", [F64], kind)
        return Real(self, self.b.call(f, args))


class Lane:
    """A value of one lane; ``v`` is LLVM's."""

    def __init__(self, m: Machine, v: Any) -> None:
        self.m, self.v = m, v


class Truth(Lane):
    def __and__(self, other: Truth) -> Truth:
        return Truth(self.m, self.m.b.and_(self.v, other.v))

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.m, self.m.b.or_(self.v, other.v))


class Bits(Lane):
    """A 64-bit word; shifts to the right fill with zeros."""

    def _do(self, name: str, other: Bits | int) -> Bits:
        w = other.v if isinstance(other, Bits) else I64(other)
        return Bits(self.m, getattr(self.m.b, name)(self.v, w))

    def __add__(self, other: Bits | int) -> Bits:
        return self._do("add", other)

    def __sub__(self, other: Bits | int) -> Bits:
        return self._do("sub", other)

    def __rsub__(self, other: int) -> Bits:
        return Bits(self.m, self.m.b.sub(I64(other), self.v))

    def __and__(self, other: Bits | int) -> Bits:
        return self._do("and_", other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._do("or_", other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._do("xor", other)

    def __lshift__(self, n: int) -> Bits:
        return self._do("shl", n)

    def __rshift__(self, n: int) -> Bits:
        return self._do("lshr", n)

    def equals(self, other: int) -> Truth:
        return Truth(self.m, self.m.b.icmp_unsigned("==", self.v, I64(other)))

    def where(self, c: Truth) -> Bits:
        """The word where c, else 0."""
        return Bits(self.m, self.m.b.select(c.v, self.v, I64(0)))

    def real(self) -> Real:
        """The number that has this word."""
        return Real(self.m, self.m.b.bitcast(self.v, F64))


class Real(Lane):
    """A float64. Comparisons with nan are false."""

    def _do(self, name: str, other: Real | float) -> Real:
        return Real(self.m, getattr(self.m.b, name)(self.v, value(other)))

    def __add__(self, other: Real | float) -> Real:
        return self._do("fadd", other)

    def __sub__(self, other: Real | float) -> Real:
        return self._do("fsub", other)

    def __mul__(self, other: Real | float) -> Real:
        return self._do("fmul", other)

    def __truediv__(self, other: Real | float) -> Real:
        return self._do("fdiv", other)

    def __radd__(self, other: float) -> Real:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Real:
        return self.like(other) - self

    __rmul__ = __mul__

    def __rtruediv__(self, other: float) -> Real:
        return self.like(other) / self

    def __neg__(self) -> Real:
        return Real(self.m, self.m.b.fneg(self.v))

    def __abs__(self) -> Real:
        return self.m.intrinsic("fabs", self.v)

    def _compare(self, how: str, other: Real | float) -> Truth:
        return Truth(self.m, self.m.b.fcmp_ordered(how, self.v, value(other)))

    def __lt__(self, other: Real | float) -> Truth:
        return self._compare("<", other)

    def __gt__(self, other: Real | float) -> Truth:
        return self._compare(">", other)

    def equals(self, other: Real | float) -> Truth:
        return self._compare("==", other)

    def differs(self, other: Real | float) -> Truth:
        return self._compare("!=", other)

    def floor(self) -> Real:
        return self.m.intrinsic("floor", self.v)

    def like(self, x: float) -> Real:
        return Real(self.m, F64(x))

    def bits(self) -> Bits:
        return Bits(self.m, self.m.b.bitcast(self.v, I64))

    def with_sign_of(self, other: Real) -> Real:
        return self.m.intrinsic("copysign", self.v, other.v)

    def within(self, low: float, high: float) -> Real:
        """The nearest number in [low, high]; nan stays."""
        below = select(self < low, low, self)
        return select(below > high, high, below)


def value(x: Real | float) -> Any:
    return x.v if isinstance(x, Real) else F64(x)


def select(c: Truth, x: Real | float, y: Real | float) -> Real:
    """x where c, else y."""
    return Real(c.m, c.m.b.select(c.v, value(x), value(y)))


def muladd(x: Real, y: Real | float, z: Real | float) -> Real:
    """x y + z, in one rounding if the processor can."""
    if x.m.target.fused:
        return x.m.intrinsic("fma", x.v, value(y), value(z))
    return x * y + z


def word(x: float) -> int:
    """The bits of a number."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


# -- sums and products without error ---------------------------------------------------------------
def fast_two_sum(x: Real, y: Real) -> tuple[Real, Real]:
    """x + y as a number and its rounding error, where |x| >= |y| or x = 0."""
    s = x + y
    return s, y - (s - x)


def two_sum(x: Real, y: Real) -> tuple[Real, Real]:
    """x + y as a number and its rounding error."""
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def two_product(x: Real, y: Real | float) -> tuple[Real, Real]:
    """x y as a number and its rounding error, far from overflow and underflow."""
    p = x * y
    if x.m.target.fused:
        return p, muladd(x, y, -p)
    y = y if isinstance(y, Real) else x.like(y)
    (a, b), (c, d) = halves(x), halves(y)
    return p, b * d - (((p - a * c) - b * c) - a * d)


def remainder(x: Real, q: Real, d: Real | float) -> Real:
    """x - q d, where q is close to x / d."""
    if x.m.target.fused:
        return muladd(-q, d, x)
    p, lost = two_product(q, d)
    return (x - p) - lost


def halves(x: Real) -> tuple[Real, Real]:
    """x as the sum of two numbers of 26 bits (Veltkamp)."""
    t = x * (2.0**27 + 1.0)
    high = t - (t - x)
    return high, x - high


# -- polynomials -----------------------------------------------------------------------------------
def polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """The polynomial with these coefficients, constant first: Horner's scheme for the even and the
    odd powers apart, which takes half the time where the next operation waits for the result."""
    if len(coefficients) < 4:
        return horner(x, coefficients)
    z = x * x
    return muladd(horner(z, coefficients[1::2]), x, horner(z, coefficients[::2]))


def horner(x: Real, coefficients: Sequence[float]) -> Real:
    total = x.like(coefficients[-1])
    for c in coefficients[-2::-1]:
        total = muladd(total, x, c)
    return total


# -- whole numbers ---------------------------------------------------------------------------------
SHIFT = 1.5 * 2.0**52
"""Added to a number below 2^51, it rounds it to a whole one, which is then in the last bits."""


def rounded(x: Real, factor: float) -> tuple[Real, Bits]:
    """x times factor rounded to a whole number below 2^51, and that number as a word."""
    t = muladd(x, factor, SHIFT)
    return t - SHIFT, t.bits() - word(SHIFT)


def power_of_two(k: Bits) -> Real:
    """2^k for -1022 <= k <= 1023."""
    return ((k + 1023) << 52).real()
