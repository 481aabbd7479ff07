"""Differentiation as passes over flat typed IR, for pipelines that hold others besides.

A pass differentiates by all arguments that can have a derivative. What the parameters of the result
are is said in `build` and `forward`: the combined function takes a tape first (on CPython a
`runtime.tape.Tape`), then the arguments, the shadows of arrays and a seed for each result.
"""

from __future__ import annotations

from ..ir.core import IR
from .build import build
from .compile import clean
from .forward import forward


def gradient(ir: IR) -> IR:
    """Reverse mode: ``(tape, *args, *shadows, *seeds) -> (*results, *cotangents)``."""
    return clean(build(ir, [True] * len(ir.args)).forward)


def pushforward(ir: IR) -> IR:
    """Forward mode: the arguments, then their tangents, to the results, then theirs."""
    return clean(forward(ir, [True] * len(ir.args)).ir)
