"""What a loop adds to an array: the additions that `gather` turns round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.core import Op, Operand, Value


@dataclass(eq=False)
class Addition:
    """``x[...] += value`` in three operations. Iteration ``c`` adds to what belongs to output ``c +
    shift`` (a number for each level); ``group`` says which line of which array that is."""

    load: Op
    add: Op
    store: Op
    value: Operand
    group: Any = None
    shift: tuple[int, ...] = ()

    @property
    def array(self) -> Value:
        x = self.load.args[1]
        assert isinstance(x, Value)
        return x


def centre(group: Sequence[Addition]) -> tuple[int, ...]:
    """The middle of the shifts, level by level."""
    return tuple((min(k) + max(k)) // 2 for k in zip(*(a.shift for a in group)))
