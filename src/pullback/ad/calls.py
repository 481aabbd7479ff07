"""Calls that stay calls: recursion, and callees too big to inline."""

from __future__ import annotations

from ..ir.core import Op


def is_outlined(op: Op) -> bool:
    """Whether the call is to a ``Specialised`` function."""
    return hasattr(op.callee, "flat") and hasattr(op.callee, "name")
