"""Make the plan of a reversal: saves, what control flow remembers, sources, records."""

from __future__ import annotations

from collections.abc import Collection

from ...ir.core import IR, Op, Value
from ...passes.roots import Roots
from ..adjoint import Primal
from ..kinds import is_array
from ..structure import Structure
from .cheapest import cheapest, cheapest_saves
from .control import find_effects, remember
from .plan import Plan, Source, count_loops
from .saves import all_stores, check_calls, forced_saves, save
from .sources import Asked, Program, spread
from .whole import with_copies


def make_plan(
    ir: IR, primal: Primal, roots: Roots, outputs: list[Value], *, split: bool, policy: str
) -> Plan:
    structure = Structure(ir)
    check_calls(ir, primal, roots, structure)
    plan = Plan(structure, primal, split, policy, outputs)
    count_loops(ir, plan)
    program = Program(ir, plan, roots)
    stores = all_stores(ir, structure)
    asked: Asked = {}
    saves: Collection[Op] = stores
    if policy in ("full", "store"):
        saves = forced_saves(ir, primal, roots, structure)
        if policy == "full":
            found = cheapest_saves(program, saves, stores)
            found = with_copies(program, found, saves, stores, primal.shadows.tape)
            saves, asked = list(found.saves), found.asked
    save(ir, primal, saves)
    asked.update((old, None) for old in primal.saved.values() if old is not None)
    structure.locate()
    find_effects(ir, plan)
    remember(ir, plan)
    program.remember()
    plan.sources, plan.copies = sources(program, asked), program.copies
    for v in sorted(plan.sources, key=lambda v: program.places.order[v]):
        if plan.sources[v] is Source.TAPE:
            plan._records.setdefault(structure.region(v), []).append(v)
    return plan


def sources(program: Program, asked: Asked) -> dict[Value, Source]:
    """Where needed values come from, now that it is known which stores are saved."""
    policy, saves = program.plan.policy, program.plan.primal.saved
    if policy == "full":
        return cheapest(program, saves, (), asked).sources
    stored = {"store": lambda v: not is_array(v.type), "recompute": lambda v: False}
    return spread(program, saves, stored.get(policy, lambda v: True)).sources
