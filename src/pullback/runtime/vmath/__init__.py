"""Elementary functions that LLVM can turn into vector instructions.

In a loop a call of ``math.exp``, ``np.exp`` and so on of a float64 or float32 becomes a call of a
function of the same module, always inlined, that has nothing but arithmetic in it. It is accurate
to less than one unit in the last place, and gives the same in scalar code, in vectors of any width,
and with fastmath. The functions for float32 work in float64 inside. (``logaddexp`` is as accurate
as the exponential and the logarithm that it adds up.)

They are made for throughput. From operand to result they take two or three times as long as the C
library's, which look up tables and branch: calls that wait for one another are better left to it.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir as ll
from numba import types

from . import error, exponential, far, logarithm, power, trigonometric
from .lanes import F32, F64, Machine, Real, Target

Kernel = Callable[..., Real]

KERNELS: dict[str, tuple[Kernel, Kernel]] = {
    "exp": (exponential.exp, exponential.exp32),
    "expm1": (exponential.expm1, exponential.expm1_32),
    "tanh": (exponential.tanh, exponential.tanh32),
    "log": (logarithm.log, logarithm.log32),
    "log1p": (logarithm.log1p, logarithm.log1p32),
    "logaddexp": (logarithm.logaddexp, logarithm.logaddexp32),
    "erf": (error.erf, error.erf32),
    "pow": (power.power, power.power32),
    "sin": (trigonometric.sin, trigonometric.sin32),
    "cos": (trigonometric.cos, trigonometric.cos32),
}
"""By name: what emits the function's body for float64 and for float32."""

NAMES: dict[Any, str] = {
    getattr(module, name): name
    for name in KERNELS
    for module in (math, np)
    if hasattr(module, name)
} | {operator.pow: "pow", np.power: "pow", np.float_power: "pow", builtins.pow: "pow"}
"""The functions of Python and NumPy that have a kernel."""

WIDTHS = {types.float64: (F64, "f64"), types.float32: (F32, "f32")}
REAL = (types.Float, types.Integer)
PREFIX = "pullback.math."


def width(callee: Any, kinds: Sequence[Any], result: Any) -> Any:
    """The Numba type in which a kernel does the call that has operands and a result of these types;
    None if none does."""
    if callee not in NAMES or result not in WIDTHS or not all(isinstance(k, REAL) for k in kinds):
        return None
    whole_power = NAMES[callee] == "pow" and isinstance(kinds[1], types.Integer)
    return None if whole_power or (types.float64 in kinds and result != types.float64) else result


def is_short(name: str) -> bool:
    """Whether the kernel keeps up with the C library also where LLVM finds no vector code."""
    return name != "pow"


def call(builder: ll.IRBuilder, callee: Any, kind: Any, values: Sequence[Any]) -> Any:
    """Call the kernel of ``callee`` for operands of the Numba type ``kind``; `define` must follow,
    once everything else is in the module."""
    width, suffix = WIDTHS[kind]
    name = f"{PREFIX}{NAMES[callee]}.{suffix}"
    f = builder.module.globals.get(name)
    if f is None:
        f = ll.Function(builder.module, ll.FunctionType(width, [width] * len(values)), name)
        f.linkage = "internal"
        f.attributes.add("alwaysinline")
    return builder.call(f, values)


def define(module: ll.Module, target: Target) -> None:
    """Write the kernels that the module calls. They must not be there yet when Numba sets the flags
    of fastmath on all that is."""
    for name, f in list(module.globals.items()):
        if not name.startswith(PREFIX):
            continue
        short, suffix = name.removeprefix(PREFIX).split(".")
        b = ll.IRBuilder(f.append_basic_block())
        narrow = suffix == "f32"
        m = Machine(b, target if narrow else target._replace(widths=target.widths[:-1]))
        args = [Real(m, b.fpext(a, F64) if narrow else a) for a in f.args]
        y = KERNELS[short][narrow](*args).v
        b.ret(b.fptrunc(y, F32) if narrow else y)
    far.keep(module)


def target(triple: str, _: str, features: str) -> Target:
    """The processor that Numba compiles for, as Numba describes it."""
    listed = set(features.split(","))
    fused = "+fma" in listed or triple.startswith(("aarch64", "arm64"))
    widths = next((w for f, w in WIDEST if f in listed), (2, 4))
    return Target(fused, widths, "+avx512vbmi2" in listed)


def prefer_wide(function: ll.Function, target: Target) -> None:
    """Let LLVM use the widest vectors in a function that calls kernels: by itself it uses half of
    them, because the first processors that had them paid with their clock rate."""
    if target.wide:
        set.add(function.attributes, '"prefer-vector-width"="512"')


WIDEST = (("+avx512f", (4, 8, 16)), ("+avx", (4, 8)))
"""Per feature, the lanes of vectors."""
