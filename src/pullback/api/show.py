"""``show``: what a function becomes, as readable IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..frontend import lift


def show(f: Callable[..., Any]) -> None:
    """Print the intermediate representation that ``f`` is lifted to."""
    print(lift(getattr(f, "__wrapped__", f)))
