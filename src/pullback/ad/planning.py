"""Make the plan of a reversal: saves, what control flow remembers, sources, records."""

from __future__ import annotations

from ..ir.core import IR, Value
from ..ir.loops import Loop
from .adjoint import Primal
from .control import find_effects, remember
from .plan import Plan, Source, count_loops
from .roots import Roots
from .saves import all_stores, check_calls, choose_saves, forced_saves, save
from .sources import Chooser
from .structure import Structure


def make_plan(
    ir: IR, primal: Primal, roots: Roots, outputs: list[Value], *, split: bool, policy: str
) -> Plan:
    structure = Structure(ir)
    check_calls(ir, primal, roots, structure)
    stores = all_stores(ir, structure)
    if policy == "full":
        saves = choose_saves(ir, primal, roots, structure, split)
    elif policy == "store":
        saves = forced_saves(ir, primal, roots, structure)
    else:
        saves = stores
    save(ir, primal, saves)
    plan = Plan(Structure(ir), primal, split, policy, outputs)
    find_effects(ir, plan)
    remember(ir, plan)
    plan.counter = _again_by_header(Structure(ir), plan)
    count_loops(ir, plan)
    chooser = Chooser(ir, plan, roots)
    plan.sources = chooser.sources
    for v in sorted(plan.sources, key=chooser.rank):
        if plan.sources[v] is Source.TAPE:
            plan._records.setdefault(plan.structure.region(v), []).append(v)
    return plan


def _again_by_header(structure: Structure, plan: Plan) -> dict[Loop, Value]:
    """Control flow has new parameters: look at the function anew, and find the loops again."""
    plan.structure = structure
    old = {loop.header: n for loop, n in plan.counter.items()}
    return {loop: old[loop.header] for loop in structure.loops if loop.header in old}
