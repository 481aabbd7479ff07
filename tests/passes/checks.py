"""What every pass must satisfy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.ir.core import IR
from pullback.ir.verify import verify
from tests.ir.programs import agree


def preserves(transform: Callable[[IR], bool], ir: IR, args: tuple[Any, ...]) -> IR:
    """Assert that ``transform`` keeps what the program does, says truly whether it changed it,
    leaves valid IR, and finds nothing left to do. Returns the result."""
    before = ir.copy()
    verify(before)
    changed = transform(ir)
    verify(ir)
    assert changed == (str(ir) != str(before)), f"said {changed}"
    agree(before, ir, args)
    again = ir.copy()
    assert not transform(again), f"not a fixpoint:\n{ir}\n{again}"
    assert str(again) == str(ir)
    return ir
