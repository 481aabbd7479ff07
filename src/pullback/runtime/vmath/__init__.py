"""Elementary functions that LLVM can turn into vector instructions.

A call of ``math.exp``, ``np.exp`` and so on of a float64 or float32 is a call of a function of the
same module, always inlined, that has nothing but arithmetic in it. It is accurate to less than one
unit in the last place, and the same in scalar code, in vector code of any width, and with fastmath.
The functions for float32 work in float64 inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir as ll
from numba import types

from . import exponential, far, logarithm, trigonometric
from .lanes import F32, F64, Machine, Real

Kernel = Callable[..., Real]

KERNELS: dict[str, tuple[Kernel, Kernel]] = {
    "exp": (exponential.exp, exponential.exp32),
    "expm1": (exponential.expm1, exponential.expm1_32),
    "tanh": (exponential.tanh, exponential.tanh32),
    "log": (logarithm.log, logarithm.log32),
    "log1p": (logarithm.log1p, logarithm.log1p32),
    "sin": (trigonometric.sin, trigonometric.sin32),
    "cos": (trigonometric.cos, trigonometric.cos32),
}
"""By name: what emits the function's body for float64 and for float32."""

NAMES: dict[Any, str] = {
    getattr(module, name): name for name in KERNELS for module in (math, np) if hasattr(module, name)
}
"""The functions of Python and NumPy that have a kernel."""

WIDTHS = {types.float64: (F64, "f64"), types.float32: (F32, "f32")}
PREFIX = "pullback.math."


def kernel(callee: Any, kinds: Sequence[Any]) -> bool:
    """Whether there is a kernel for a call with operands of these Numba types."""
    return callee in NAMES and kinds[0] in WIDTHS and all(k == kinds[0] for k in kinds)


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


def define(module: ll.Module, fused: bool) -> None:
    """Write the kernels that the module calls. ``fused``: see `lanes.Machine`. They must not be
    there yet when Numba sets the flags of fastmath on all that is."""
    for name, f in list(module.globals.items()):
        if not name.startswith(PREFIX):
            continue
        short, suffix = name.removeprefix(PREFIX).split(".")
        b = ll.IRBuilder(f.append_basic_block())
        m, narrow = Machine(b, fused), suffix == "f32"
        args = [Real(m, b.fpext(a, F64) if narrow else a) for a in f.args]
        y = KERNELS[short][narrow](*args).v
        b.ret(b.fptrunc(y, F32) if narrow else y)
    far.keep(module)


def has_fused(target: Sequence[Any]) -> bool:
    """Whether the processor that Numba compiles for (triple, name, features) has instructions that
    multiply and add in one rounding."""
    triple, _, features = target
    return "+fma" in features.split(",") or triple.startswith(("aarch64", "arm64"))
