"""``explain``: how a function is differentiated, line by line.

What is active, what the reverse half computes again, what is stored on the tape and with how many
bytes, and where the time to compile goes. Nothing is taken from a cache: every stage runs anew, on
a stopwatch.
"""

from __future__ import annotations

import linecache
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ad.assume import Unlikely
from ..ad.build import Built, build
from ..ad.compile import Kernel, Options, clean, polished, prepared
from ..ad.planning.plan import Plan, Source
from ..ad.planning.records import width
from ..errors import TypeInstability
from ..ir.core import IR, Loc, Value
from ..runtime import prims
from ..runtime.collector import paused
from ..runtime.memory import checkout, give_back
from ..typing_ import flat, infer
from .flats import Prepared
from .formula import Formula
from .operator import Operator
from .tree import is_array, kind_of, zeros_like
from .vjp import VJP, SplitPlan
from .wrapper import seed_of

PACKAGE = str(Path(__file__).parents[1])


def explain(
    f: Callable[..., Any],
    *args: Any,
    kwargs: Mapping[str, Any] = {},
    engine: str = "auto",
    options: Mapping[str, Any] = {},
) -> Explanation:
    """How ``f`` is differentiated by all of these arguments: print what this returns. For an
    operator such as ``grad(g)`` it is about ``g``."""
    while isinstance(f, Operator):
        f = f.f
    op = VJP(f, engine, options)
    call = op.bind(args, kwargs)
    plan, _ = op.plan(call)
    assert isinstance(plan, SplitPlan)
    leaves = plan.prepared.leaves(call.target.function, call.values)
    assert leaves is not None
    made = Explanation(plan.prepared.name, _signature(plan.prepared, leaves))
    with paused():
        built = _stages(made, plan, call.target.function, op.resolved)
    _lines(made, built)
    _measure(made, plan, leaves)
    made.slow = _instabilities(call.target.function, plan.prepared)
    return made


@dataclass
class Line:
    """What happens on a source line; ``stored`` and ``saved``: by how often, " × steps", the names
    and bytes of what is kept each time; ``copied``: the names and bytes of copies of arrays."""

    active: set[str] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    stored: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    saved: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    copied: list[tuple[str, str]] = field(default_factory=list)

    def __str__(self) -> str:
        parts = []
        if self.active:
            parts.append("active" + _listed(self.active))
        if self.again:
            parts.append("computed again" + _listed(self.again))
        for what, kept in (("stored", self.stored), ("overwritten element saved", self.saved)):
            for times, values in kept.items():
                names = _listed({name for name, _ in values}) if what == "stored" else ""
                parts.append(f"{what}{names} {sum(n for _, n in values)} B{times}")
        parts += [f"array copied{_listed([name])} {size}" for name, size in self.copied]
        return "; ".join(parts)


@dataclass
class Explanation:
    """What `explain` found; prints as a listing."""

    name: str
    signature: str
    lines: dict[Loc, Line] = field(default_factory=dict)
    inside: Line = field(default_factory=Line)  # in NumPy functions, not in the user's code
    seconds: dict[str, float] = field(default_factory=dict)
    tape: str = ""  # the bytes of the tape, as a formula
    tape_bytes: int = 0
    copies: str = ""  # the bytes of arrays that are saved as a whole, as a formula
    slow: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        out = [f"{self.name}({self.signature})", ""]
        for file, found in self._by_file().items():
            out.append(f"{file}")
            rows = [(at, _text(file, at), x) for at, x in sorted(found.items())]
            wide = min(max((len(text) for _, text, _ in rows), default=0), 60)
            out += [f"{at:5d} | {text:<{wide}}  # {x}" for at, text, x in rows]
        if inside := str(self.inside):
            out.append(f"      in NumPy's functions: {inside}")
        out += ["", f"tape: {self.tape or 'nothing'}; at these arguments {self.tape_bytes} bytes"]
        if self.copies:
            out.append(f"copies of arrays: {self.copies}")
        total = sum(self.seconds.values()) or 1.0
        split = ", ".join(f"{k} {v:.2f} s ({v / total:.0%})" for k, v in self.seconds.items())
        out.append(f"first compile {total:.2f} s: {split}")
        out += [f"slow: {text}" for text in self.slow]
        return "\n".join(out)

    __repr__ = __str__

    def _by_file(self) -> dict[str, dict[int, Line]]:
        files: dict[str, dict[int, Line]] = defaultdict(dict)
        for loc, line in self.lines.items():
            if str(line):
                files[loc.file][loc.line] = line
        return files


# -- stages ----------------------------------------------------------------------------------------
def _stages(made: Explanation, plan: SplitPlan, function: Any, options: Options) -> Built:
    """Run every stage of compiling the combined function, timed."""
    clock = _Clock(made.seconds)
    flattened = clock("lift and types", lambda: flat(function, plan.prepared.trees))
    full = options.plan == "full"
    ir = clock("optimise", lambda: prepared(flattened, assuming=full))
    built = clock("differentiate", lambda: build(ir, plan.aim.active, policy=options.policy))
    tidy = polished if full else clean
    last = clock("optimise", lambda: tidy(built.forward))
    if options.run == "native":
        from ..backend.native import compile_native

        clock("machine code", lambda: compile_native(last, options={"noalias": True}))
    return built


class _Clock:
    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds

    def __call__(self, stage: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        try:
            return work()
        finally:
            spent = time.perf_counter() - start
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent


# -- findings --------------------------------------------------------------------------------------
def _lines(made: Explanation, built: Built) -> None:
    plan = built.plan
    assert plan is not None
    activity = plan.primal.activity
    for op in built.forward.ops():
        line = made.lines.setdefault(_place(op.loc), Line()) if _is_users(op.loc) else made.inside
        v = op.result
        if op.is_call(prims.store) and activity.has_shadow(op.args[1]):
            line.active.add(_name(op.args[1]))
        elif activity.active(v) and not is_array(v.type):
            line.active.add(_name(v))
        if plan.sources.get(v) is Source.AGAIN and not is_array(v.type):
            line.again.add(_name(v))
    _kept(made, plan)


def _kept(made: Explanation, plan: Plan) -> None:
    """What goes on the tape: from the records, one for each round of a loop."""
    formula, saved = Formula(plan, _is_users), set(plan.primal.saved.values())
    places = _places(plan.structure.ir)
    ways = {**dict.fromkeys(plan.trips.values(), "how many rounds")}
    ways.update(dict.fromkeys(plan.which.values(), "which way"))
    sizes: dict[str, int] = {}
    for loop in (None, *plan.structure.loops):
        times = formula.times(loop)
        for v in plan.taped(loop):
            loc = places.get(v, Loc())
            if v in ways and loop is not None:
                loc = plan.structure.ir.blocks[loop.header].term.loc
            line = made.lines.setdefault(_place(loc), Line()) if _is_users(loc) else made.inside
            kept = line.saved if v in saved else line.stored
            name = ways.get(v) or _name(v)
            kept.setdefault(times, []).append((name, width(v)))
            sizes[times] = sizes.get(times, 0) + width(v)
    made.tape = " + ".join(f"{n} B{times}" for times, n in sizes.items())
    for x in dict.fromkeys(plan.copies.values()):
        loc, size = places[x], formula.size(x) + formula.times(plan.structure.region(x))
        line = made.lines.setdefault(_place(loc), Line()) if _is_users(loc) else made.inside
        line.copied.append((_name(x), size))
    made.copies = " + ".join(
        size for line in (*made.lines.values(), made.inside) for _, size in line.copied
    )


def _places(ir: IR) -> dict[Value, Loc]:
    """Where values are defined; the parameters of a block, where it ends."""
    found = {op.result: op.loc for op in ir.ops()}
    found.update((p, b.term.loc) for b in ir for p in b.params)
    return found


def _measure(made: Explanation, plan: SplitPlan, leaves: tuple[Any, ...]) -> None:
    """The tape that a gradient at these arguments fills."""
    from ..ad import compile as kernels

    flat, options = plan.prepared.flat, plan.options
    if options.run != "native":
        return
    for assuming in (True, False) if kernels.assumes(flat, options) else (False,):
        kernel = kernels.gradient(flat, plan.aim.active, assuming=assuming, options=options)
        try:
            return _run(made, plan, kernel, leaves)
        except Unlikely:
            continue


def _run(made: Explanation, plan: SplitPlan, kernel: Kernel, leaves: tuple[Any, ...]) -> None:
    built = kernel.built
    assert built is not None
    used = [x.copy("K") if i in plan.prepared.arrays else x for i, x in enumerate(leaves)]
    shadows = [zeros_like(used[p], plan.prepared.types[p]) for p in built.shadowed]
    if any(is_array(built.results[k]) for k in built.seeded):
        made.tape_bytes = plan.forward(tuple(used))[1].nbytes
        return
    seeds = [seed_of(built.results[k]) for k in built.seeded]
    memory = checkout()
    try:
        kernel.call.run(memory, *used, *shadows, *seeds)  # type: ignore[attr-defined]
        made.tape_bytes = memory.tape_bytes
        if not any(op.is_call(prims.poke) for op in kernel.parts["combined"].ops()):
            made.tape = ""  # all that there was is used at once
            for line in (*made.lines.values(), made.inside):
                line.stored.clear()
    finally:
        give_back(memory)


def _instabilities(function: Any, prepared_: Prepared) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TypeInstability)
        infer(function, *prepared_.trees, warn=True)
    return [str(w.message) for w in caught if issubclass(w.category, TypeInstability)]


# -- words -----------------------------------------------------------------------------------------
def _text(file: str, line: int) -> str:
    return linecache.getline(file, line).rstrip()


def _place(loc: Loc) -> Loc:
    return Loc(loc.file, loc.line)


def _is_users(loc: Loc) -> bool:
    return loc.line > 0 and not loc.file.startswith((PACKAGE, "<pullback", "<unknown"))


def _name(v: Any) -> str:
    return v.name or "" if isinstance(v, Value) else ""


def _listed(names: Any) -> str:
    shown = sorted(n for n in names if n and not n.startswith("%"))
    return f" ({', '.join(shown)})" if shown else ""


def _signature(prepared_: Prepared, leaves: tuple[Any, ...]) -> str:
    def one(name: str, t: Any, x: Any) -> str:
        return f"{name}: {t.dtype}{list(x.shape)}" if is_array(t) else f"{name}: {kind_of(t)}"

    return ", ".join(map(one, prepared_.names, prepared_.types, leaves))
