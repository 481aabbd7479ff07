"""From a flat typed function to its derivative: one combined function, or the two halves of one.

Calling conventions (all parameters flat; ``x̄`` is the shadow of an array):

- combined:      ``(tape, *args, *shadows, *seeds) -> (*results, *cotangents)``
- split forward: ``(tape, *args, *shadows) -> results``
- split reverse: ``(tape, *arrays, *shadows, *seeds) -> cotangents``

``shadows`` belong to the array arguments that are differentiated, ``seeds`` to the results that
are (a number each, or an array), ``cotangents`` to the scalar arguments that are. In split mode the
arrays of the reverse half are the very ones that the forward half was given.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.builder import Builder
from ..ir.core import CALL, IR, Const, Info, Op, Operand, Return, Value
from ..passes.lcssa import lcssa
from ..passes.manager import optimize
from ..passes.roots import Roots
from ..passes.rotate import rotate
from ..runtime import prims
from ..typing_.specialised import is_outlined
from . import kinds
from .activity import Activity, returned
from .adjoint import Primal, check_losses, check_parts
from .alternate import alternate
from .calls import is_active_call, pair_of
from .kinds import is_active_array, is_array, is_scalar, type_of
from .loops.forwarding import forward_stores
from .overlap import decide_copies
from .planning.plan import Plan
from .planning.planner import make_plan
from .planning.records import Records
from .reuse import reuse
from .reverse import Reverse
from .shadows import ON_HEAP, Shadows
from .structure import normalise
from .sums import cancel_zeros
from .writes import written_roots

TAPE = kinds.TAPE


@dataclass
class Built:
    """The generated functions (``reverse`` in split mode) and what their parameters mean."""

    forward: IR
    reverse: IR | None
    shadowed: list[int]  # positions of the array arguments that have a shadow parameter
    scalars: list[int]  # positions of the scalar arguments whose cotangents are returned
    seeded: list[int]  # positions of the results that take a seed
    arrays: list[int]  # positions of all array arguments
    results: list[Any]  # types of the results
    written: list[int]  # positions of array arguments that the function writes to
    from_args: list[int | None]  # for each result the argument that it is or is a view of
    plan: Plan | None
    inner: bool = False


def build(
    source: IR,
    active: Sequence[bool],
    wanted: Sequence[bool] | None = None,
    *,
    split: bool = False,
    policy: str = "full",
    inner: bool = False,
) -> Built:
    """Differentiate ``source`` (flat typed IR, not changed) by its arguments where ``active``;
    ``wanted`` says which results count (all that can). ``inner``: as ``calls`` has it."""
    ir = source.copy()
    if policy == "full":
        for turn in (reuse, alternate, rotate):
            if turn(ir):
                optimize(ir)
        forward_stores(ir, stored=False)
    normalise(ir)
    lcssa(ir)
    decide_copies(ir)
    args = list(ir.args)
    roots = Roots(ir)
    chosen = [a for a, on in zip(args, active) if on and kinds.carries(a.type)]
    seen = [a for a in args if is_active_array(a.type)] if inner else []  # by the caller, later
    activity = Activity(ir, roots, chosen, useful_results=wanted, useful_args=seen)
    check_parts(ir, activity)
    tape = ir.value("tape", TAPE)
    results = _results(ir)
    flags = [True] * len(results) if wanted is None else list(wanted)
    seeded = [k for k, r in enumerate(results) if flags[k] and activity.active(r)]
    writes = written_roots(ir, roots)
    written = _written(ir, roots, args)
    heaped = _to_heap(ir, tape, roots)
    given = [a for a in chosen if is_array(a.type)]
    shadows = Shadows(ir, activity, tape, given, every=inner)
    _call_forward(ir, activity, shadows)
    primal = Primal(activity, shadows, heaped)
    primal.writes.update((op, hit) for op, hit in writes.items() if hit and is_outlined(op))
    check_losses(ir, activity)
    outputs = [shadows.of[results[k]] for k in seeded if results[k] in shadows.of]  # type: ignore[index]
    plan = make_plan(ir, primal, roots, outputs, split=split, policy=policy)
    records = Records(ir, plan, tape)
    ir.entry.params.insert(0, tape)
    kinds_ = [type_of(r) or _typeof(r) for r in results]
    built = Built(
        forward=ir,
        reverse=None,
        shadowed=[args.index(a) for a in shadows.arguments],
        scalars=[args.index(a) for a in chosen if is_scalar(a.type)],
        seeded=[k for k, t in enumerate(kinds_) if is_scalar(t)] if inner else seeded,
        arrays=[i for i, a in enumerate(args) if is_array(a.type)],
        results=kinds_,
        written=[args.index(a) for a in written],
        from_args=[_argument_of(r, roots, args) for r in results],
        plan=plan,
        inner=inner,
    )
    if plan.structure.exit is None:
        return built
    ir.info.argnames = ()  # the parameters are no longer those of the source
    if split:
        _split(ir, args, built, plan, records, tape)
    else:
        _combined(ir, args, built, plan, records, tape)
    return built


# -- the two forms ---------------------------------------------------------------------------------
def _combined(
    ir: IR, args: list[Value], built: Built, plan: Plan, records: Records, tape: Value
) -> None:
    exit = plan.structure.exit
    assert exit is not None
    results = list(returned(ir, exit))
    records.write()
    seeds = _seed_params(ir, built)
    block = ir.blocks[exit]
    out = _own_results(ir, exit, built, tape)
    rev = Reverse(ir, ir, plan, records, tape, seeded=results)
    rev.write()
    put_back = _snapshots(ir, args, built, plan, tape)
    b = Builder(ir, block, block.term.loc)
    b.cut()
    b.jump(rev.first)
    cotangents = _finish(ir, args, results, seeds, built, rev)
    b.at(rev.last)
    for x, final in put_back:
        b.call(prims.assign, x, final)
    b.ret(b.call(prims.pack, *out, *cotangents))
    cancel_zeros(ir, rev.sums)


def _split(
    ir: IR, args: list[Value], built: Built, plan: Plan, records: Records, tape: Value
) -> None:
    exit = plan.structure.exit
    assert exit is not None
    results = list(returned(ir, exit))
    records.write()
    out = IR(_info(ir.info, "_reverse"))
    entry = out.block()
    params = [out.value("tape", TAPE)]
    given: dict[Value, Value] = {}
    shadows = plan.primal.shadows
    for i in built.arrays:
        given[args[i]] = out.value(args[i].name, args[i].type)
        params.append(given[args[i]])
    for i in built.shadowed:
        d = shadows.of[args[i]]
        given[d] = out.value(d.name, d.type)
        params.append(given[d])
    entry.params = params
    seeds = _seed_params(out, built)
    roots = None if built.inner else Roots(ir)
    rev = Reverse(ir, out, plan, records, params[0], given, results, roots)
    rev.write()
    b = Builder(out, entry)
    b.jump(rev.first)
    cotangents = _finish(out, args, results, seeds, built, rev)
    b.at(rev.last)
    b.ret(b.call(prims.pack, *cotangents))
    cancel_zeros(out, rev.sums)
    leaves = _own_results(ir, exit, built, tape)
    if built.inner:
        leaves += [shadows[r] for r in results if is_active_array(type_of(r))]
    f = Builder(ir, ir.blocks[exit], ir.blocks[exit].term.loc)
    f.ret(f.call(prims.pack, *leaves))
    built.reverse = out


def _finish(
    ir: IR,
    args: list[Value],
    results: list[Operand],
    seeds: list[Value],
    built: Built,
    rev: Reverse,
) -> list[Operand]:
    """Seeds at the beginning of the reverse half, cotangents at its end."""
    b = rev.b
    b.at(rev.first)
    rev._memo.clear()
    for k, seed in zip(built.seeded, seeds):
        r = results[k]
        if is_scalar(seed.type):
            if rev.primal.activity.active(r):
                rev.add(r, seed)
        else:
            b.call(prims.accumulate, rev.recover(rev.primal.shadows[r]), seed)
    b.at(rev.last)
    cotangents: list[Operand] = [
        b.get(rev.slot(args[i])) if args[i] in rev.slots else Const(kinds.zero(args[i].type))
        for i in built.scalars
    ]
    rev.first.ops[:0] = rev.zeros()
    rev.start()
    return cotangents


def _seed_params(ir: IR, built: Built) -> list[Value]:
    seeds = [ir.value("seed", built.results[k]) for k in built.seeded]
    ir.entry.params += seeds
    return seeds


def _snapshots(
    ir: IR, args: list[Value], built: Built, plan: Plan, tape: Value
) -> list[tuple[Value, Value]]:
    """At the cut, copy the arguments that the reverse half rolls back."""
    roots = plan.primal.activity.roots
    rolled = {r for op in plan.primal.saved for r in roots[op.args[1]]}
    rolled.update(*(plan.primal.writes.get(op, ()) for op in plan.primal.shadows.calls))
    exit = plan.structure.exit
    assert exit is not None
    b = Builder(ir, ir.blocks[exit], ir.blocks[exit].term.loc)
    return [
        (args[i], b.call(prims.heap_own, tape, args[i], type=args[i].type))
        for i in built.written
        if args[i] in rolled
    ]


def _call_forward(ir: IR, activity: Activity, shadows: Shadows) -> None:
    """Active calls that stay calls become calls of their forward halves."""
    for op in ir.ops():
        if is_active_call(op, activity):
            pair = pair_of(op.callee)
            extra = [shadows[op.posargs[i]] for i in pair.arrays]
            shadows.calls[op] = pair
            op.args = (Const(pair.forward), shadows.tape, *op.posargs, *extra)
            op.result.type = pair.forward.type


# -- preparing the primal --------------------------------------------------------------------------
def _results(ir: IR) -> list[Operand]:
    for b in ir:
        if isinstance(b.term, Return):
            return list(returned(ir, b.id))
    return []


def _typeof(x: Operand) -> Any:
    from numba import typeof

    return typeof(x.value) if isinstance(x, Const) else None


def _written(ir: IR, roots: Roots, args: list[Value]) -> list[Value]:
    hit = frozenset[Value]().union(*written_roots(ir, roots).values())
    return [a for a in args if a in hit]


def _argument_of(r: Operand, roots: Roots, args: list[Value]) -> int | None:
    found = roots[r]
    return args.index(next(iter(found))) if len(found) == 1 and found <= set(args) else None


def _to_heap(ir: IR, tape: Value, roots: Roots) -> dict[Value, Value]:
    """Give every array that the function makes memory that lives as long as the tape. Returns for
    each array that a leaf returns its copy on the heap, which stands for it from there on."""
    heaped: dict[Value, Value] = {}
    for b in ir:
        ops: list[Op] = []
        for op in b.ops:
            ops.append(op)
            if op.callee in ON_HEAP:
                op.args = (Const(ON_HEAP[op.callee]), tape, *op.args[1:])
            elif op.is_call(operator.getitem):
                continue  # of what an outlined call returns
            elif is_array(op.result.type) and roots[op.result] == {op.result}:
                y, made = op.result, ir.value(None, op.result.type)
                heaped[made] = y
                op.result = made
                ops.append(Op(CALL, y, (Const(prims.heap_own), tape, made), None, op.loc))
        b.ops = ops
    return heaped


def _own_results(ir: IR, exit: int, built: Built, tape: Value) -> list[Operand]:
    """Take the final pack away; the results, in memory of their own unless they are arguments."""
    block = ir.blocks[exit]
    results = returned(ir, exit)
    block.ops = [op for op in block.ops if op.result is not block.term.operands[0]]
    b = Builder(ir, block, block.term.loc)
    out: list[Operand] = []
    for r, origin in zip(results, built.from_args):
        if is_array(kinds.type_of(r)) and origin is None and not built.inner:
            out.append(b.call(prims.own, r, type=kinds.type_of(r)))
        else:
            out.append(r)
    return out


def _info(info: Info, suffix: str) -> Info:
    from dataclasses import replace

    return replace(info, name=info.name + suffix, qualname=info.qualname + suffix, argnames=())
