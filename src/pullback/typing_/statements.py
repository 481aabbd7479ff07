"""Nested functions: the abstract value of a closure, and what it takes to enter one."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..ir.core import ClosureSpec, Op
from .access import Ref
from .actions import Rearrange
from .lattice import Abstract, ATuple
from .specialised import Semantics, Spec


@dataclass(frozen=True)
class ClosureOf:
    """The class of the product that a nested function is: its cells, defaults and keyword
    defaults."""

    spec: ClosureSpec
    scope: Ref  # of its globals
    semantics: Semantics
    trusted: bool = False

    @property
    def code(self) -> CodeType:
        return self.spec.code

    @property
    def __name__(self) -> str:
        return f"<function {self.spec.qualname}>"


@dataclass(frozen=True)
class MethodOf:
    """The class of the product that a bound method is: (object,)."""

    name: str

    @property
    def __name__(self) -> str:
        return f"<method {self.name}>"


@dataclass(frozen=True)
class DictOf:
    """The class of the product that a dict with known keys is: its values."""

    keys: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return f"<dict {self.keys}>"


class PartialOf:
    """The class of a partial application: (function, positional tuple, dict)."""


def closure_value(spec: Spec, op: Op, args: tuple[Abstract, ...]) -> Rearrange:
    made: ClosureSpec = op.attr
    n = made.ncells + made.ndefaults + len(made.kwdefaults)
    cls = ClosureOf(made, Ref(spec.ir.info.globals), spec.semantics, spec.trusted)
    return Rearrange(ATuple(args[:n], cls), lambda forms: forms[:n])


def split_closure(f: ATuple) -> tuple[Any, Any, dict[str, Any]]:
    """The parts of a closure's product as (position, abstract value): cells, defaults, keyword
    defaults by name."""
    made = f.cls.spec
    parts = list(enumerate(f.elements))
    cells = parts[: made.ncells]
    defaults = parts[made.ncells : made.ncells + made.ndefaults]
    kw = dict(zip(made.kwdefaults, parts[made.ncells + made.ndefaults :]))
    return cells, defaults, kw
