"""One inference: its specialisations, recursion to a fixpoint, what was captured."""

from __future__ import annotations

from typing import Any

from ..errors import TypeInstability, TypingError
from . import iteration
from .infer import Sweep, Unroll
from .resolve import Resolver
from .specialised import Spec

MAX_SWEEPS = 60
MAX_DEPTH = 60


class Engine:
    """One inference: the specs made so far, what was captured, what looked unstable."""

    def __init__(self, pins: bool = False, ruled: bool = True) -> None:
        self.pins = pins  # take captured integers by value
        self.ruled = ruled  # leave Python functions that have a scalar rule as calls
        self.specs: dict[Any, Spec] = {}
        self.statics: dict[Any, Any] = {}
        self.captured_int = False
        self.unstable: dict[Any, str] = {}
        self.stack: list[Spec] = []
        self.resolver = Resolver(self)

    # -- specialisations -----------------------------------------------------------------------
    def spec(self, key: Any, make: Any) -> Spec:
        """The inferred specialisation under ``key``, made if there is none."""
        found = self.specs.get(key)
        if found is None:
            found = self.specs[key] = make()
            self.run(found, key)
        if found.running:
            found.recursive = True
            for s in self.stack[self.stack.index(found) + 1 :]:
                s.heads.add(found)
        else:
            for head in found.heads:
                if head.running:
                    for s in self.stack[self.stack.index(head) + 1 :]:
                        s.heads.add(head)
        return found

    def run(self, spec: Spec, key: Any = None) -> None:
        """Infer ``spec``; again while a recursive result grows, or a loop over a tuple appears."""
        if len(self.stack) > MAX_DEPTH:
            raise TypingError(f"calls are nested more than {MAX_DEPTH} deep in {spec.name}")
        spec.running = True
        self.stack.append(spec)
        try:
            sweeps = 0
            while sweeps < MAX_SWEEPS:
                before = spec.result
                versions = _cell_versions(spec)
                spec.reset()
                if not spec.recursive:
                    spec.result = None
                try:
                    Sweep(self, spec).run()
                except Unroll as u:
                    spec.ir = iteration.unroll(spec.ir, u.header, u.count)
                    continue
                sweeps += 1
                done = spec.result == before or not spec.recursive
                if done and versions == _cell_versions(spec):
                    break
                self._forget_provisional(spec)
        except BaseException:
            self.specs.pop(key, None)
            raise
        finally:
            self.stack.pop()
            spec.running = False
        spec.heads.discard(spec)
        for s in self.specs.values():  # what was built on this one is as provisional as it is
            if spec in s.heads:
                s.heads |= spec.heads
        spec.size = sum(a.size for a in spec.actions.values())

    def _forget_provisional(self, head: Spec) -> None:
        for key, s in list(self.specs.items()):
            if s is not head and not s.running and head in s.heads:
                del self.specs[key]


def _cell_versions(spec: Spec) -> tuple[int, ...]:
    return tuple(cell.version for cell in spec.made_cells.values())


def instability_warnings(engine: Engine) -> list[TypeInstability]:
    return [
        TypeInstability(f'{what}\n  File "{file}", line {line}')
        for (file, line, _), what in engine.unstable.items()
    ]
