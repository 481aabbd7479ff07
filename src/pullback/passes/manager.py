"""The pass manager: which passes, in which order, with what between them.

A pass is a function ``name(ir) -> bool`` that works in place, or one that returns a new IR. A
manager holds stages in order, and in each the passes in order; a stage may repeat until nothing
changes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidIR, PassFailed, PullbackError
from ..ir.core import IR, Loc
from . import registry
from .bounds import bounds
from .copy_prop import copy_prop
from .cse import cse
from .dce import dce
from .divisors import divisors
from .fold import fold
from .licm import licm
from .mem2reg import mem2reg
from .shapes import shapes
from .simplify_cfg import simplify_cfg

Pass = Callable[[IR], Any]


@dataclass
class Stage:
    """Passes that run in order, up to ``rounds`` times or until none changes anything."""

    name: str
    passes: list[tuple[str, Pass]] = field(default_factory=list)
    rounds: int = 1


class PassManager:
    """Runs passes over a function. A pass that changed nothing is not run again before another one
    has changed something; nor is one of those that are ``settled``, which find nothing right after
    themselves, whatever they changed.

    ``verify`` is called with the IR after each pass that changed it (`ir.verify.verify`, or one
    that asks for types); ``show`` with the stage, the pass and the IR. ``printing`` names passes
    before and after which the IR is printed to stderr (True: all). ``timings`` sums up the seconds
    spent in each pass, ``changes`` counts how often it changed something.

    >>> manager = PassManager()
    >>> manager.add(simplify_cfg, stage="clean").add(dce, stage="clean")
    <PassManager clean: simplify_cfg, dce>
    """

    def __init__(
        self,
        stages: Iterable[Stage] = (),
        *,
        settled: Iterable[Pass] = (),
        verify: Callable[[IR], object] | None = None,
        show: Callable[[str, str, IR], object] | None = None,
        printing: Iterable[str] | bool = (),
    ) -> None:
        self.stages = list(stages)
        self.verify, self.show = verify, show
        self.printing = printing if isinstance(printing, bool) else set(printing)
        self.settled = set(settled)
        self.origins: dict[Pass, str] = {}
        self.timings: dict[str, float] = {}
        self.changes: dict[str, int] = {}
        self._version = 0  # how many changes there have been in this run
        self._idle: dict[Pass, int] = {}  # at which version a pass changed nothing

    def stage(self, name: str, rounds: int = 1) -> Stage:
        """The stage with this name, made at the end if there is none."""
        for s in self.stages:
            if s.name == name:
                return s
        self.stages.append(Stage(name, [], rounds))
        return self.stages[-1]

    def add(
        self,
        function: Pass | str,
        *,
        stage: str = "main",
        name: str | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> PassManager:
        """Add a pass, or the one of that name (`passes.registry`), at the end of a stage, or before
        or after another one there. KeyError if that one is not there."""
        if isinstance(function, str):
            found = registry.find(function)
            name, function = name or found.name, found.run
            self.origins[function] = found.origin
        passes = self.stage(stage).passes
        at = len(passes)
        if before is not None or after is not None:
            names = [n for n, _ in passes]
            if (before or after) not in names:
                raise KeyError(before or after)
            at = names.index(before or after or "") + (before is None)
        passes.insert(at, (name or function.__name__, function))
        return self

    def remove(self, name: str) -> PassManager:
        """Take a pass out of every stage. KeyError if it is in none."""
        if all(n != name for s in self.stages for n, _ in s.passes):
            raise KeyError(name)
        for s in self.stages:
            s.passes = [(n, f) for n, f in s.passes if n != name]
        return self

    def run(self, ir: IR, stage: str | None = None) -> bool:
        """Run all stages, or one. Returns whether anything changed."""
        chosen = self.stages if stage is None else [self.stage(stage)]
        self._version, self._idle = 0, {}
        return any([self._run_stage(s, ir) for s in chosen])

    def _run_stage(self, stage: Stage, ir: IR) -> bool:
        changed = False
        for _ in range(stage.rounds):
            now = any([self._run_pass(stage, name, f, ir) for name, f in stage.passes])
            changed |= now
            if not now:
                break
        return changed

    def _run_pass(self, stage: Stage, name: str, function: Pass, ir: IR) -> bool:
        if self._idle.get(function) == self._version:
            return False
        started = time.perf_counter()
        self._print("before", stage, name, ir)
        changed = apply(function, name, ir)
        self._print("after", stage, name, ir)
        self._version += changed
        if not changed or function in self.settled:
            self._idle[function] = self._version
        spent = time.perf_counter() - started
        self.timings[name] = self.timings.get(name, 0.0) + spent
        self.changes[name] = self.changes.get(name, 0) + changed
        if changed and self.verify is not None:
            try:
                self.verify(ir)
            except InvalidIR as e:
                raise failed(name, ir, f"left broken IR: {e.what}") from e
        if self.show is not None:
            self.show(stage.name, name, ir)
        return changed

    def _print(self, when: str, stage: Stage, name: str, ir: IR) -> None:
        chosen = self.printing
        if chosen is True or (chosen and name in chosen):
            print(f"-- {when} {name} ({stage.name})", ir, sep="\n", file=sys.stderr)

    def describe(self) -> str:
        """The passes in the order in which they run, with their stages and where they come from."""
        lines = []
        for s in self.stages:
            again = f", up to {s.rounds} rounds" if s.rounds > 1 else ""
            lines.append(f"{s.name}{again}:")
            lines += [f"  {name:20} {self._origin(f)}" for name, f in s.passes]
        return "\n".join(lines)

    def _origin(self, function: Pass) -> str:
        module = getattr(function, "__module__", None) or "?"
        return self.origins.get(function) or module.partition(".")[0]

    def report(self) -> str:
        """The passes by time spent."""
        rows = sorted(self.timings.items(), key=lambda row: -row[1])
        return "\n".join(f"{t * 1e3:8.2f} ms  {self.changes[n]:3d}  {n}" for n, t in rows)

    def __repr__(self) -> str:
        stages = (f"{s.name}: {', '.join(n for n, _ in s.passes)}" for s in self.stages)
        return f"<PassManager {'; '.join(stages)}>"


def apply(function: Pass, name: str, ir: IR) -> bool:
    """Run a pass on ``ir``, in place whatever it returns. PassFailed (PB501) if it fails."""
    try:
        result = function(ir)
    except PullbackError:
        raise
    except Exception as e:
        raise failed(name, ir, f"raised {type(e).__name__}: {e}") from e
    if isinstance(result, IR):
        if result is not ir:
            result.info.file, result.info.line = ir.info.file, ir.info.line
            vars(ir).update(vars(result))
        return True
    if not isinstance(result, int):
        raise failed(name, ir, f"returned {type(result).__name__}, which is no IR and no bool")
    return bool(result)


def failed(name: str, ir: IR, what: str) -> PassFailed:
    info = ir.info
    return PassFailed(
        f"the pass {name} {what}, on {info.qualname}", loc=Loc(info.file, info.line, info.qualname)
    )


def standard() -> PassManager:
    """The clean-up of flat typed IR: slots to values, then what exposes more of its own kind until
    nothing changes, then what is equal or unread, then code motion."""
    return PassManager(
        [
            Stage("slots", _named([mem2reg])),
            Stage("clean", _named([simplify_cfg, fold, divisors, copy_prop]), rounds=4),
            Stage("share", _named([shapes, fold, cse, dce])),
            Stage("move", _named([licm, bounds, dce])),
        ],
        settled=(simplify_cfg, fold, copy_prop, cse, dce),
    )


def optimize(ir: IR) -> bool:
    """Clean up flat typed IR with the `standard` passes."""
    return standard().run(ir)


def tidy(ir: IR) -> bool:
    """The `standard` passes but for code motion: between passes that don't ask where code is."""
    manager = standard()
    manager.stages = [s for s in manager.stages if s.name != "move"]
    return manager.run(ir)


def _named(passes: Iterable[Pass]) -> list[tuple[str, Pass]]:
    return [(f.__name__, f) for f in passes]
