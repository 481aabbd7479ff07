"""The canonical form of a function: what lifting ends with, so that equal functions print equal.

* every block is reachable, and the blocks are in reverse postorder;
* no parameter is redundant (all its arguments, in a cycle of parameters taken together, are one
  value) or unused;
* a block that only jumps on is skipped, a block with one way in is merged into it; the item of a
  ForIter alone keeps a block of its own, ``b(item)``; blocks under different handlers stay apart,
  unless nothing in one of them can raise;
* a handler that only lets the exception go on is skipped, one that no exception reaches is dropped;
* a slot is not read in vain, nor written right before it is emptied;
* ``check_bound`` is left only where the value may be unbound; where it is unbound for certain,
  UnboundLocalError is raised;
* what is passed to a parameter with a name has a name: its own, else the parameter's;
* parameters are in order of their names, values are numbered in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import intrinsics
from .core import (
    IR,
    Block,
    Edge,
    Jump,
    Operand,
    Reraise,
    Value,
)
from .edit import handlers, implicit
from .raising import is_quiet, spins
from .releases import drop_idle_releases
from .unbound import drop_idle_slots, param_arguments, resolve_checks, use_checked


def canonicalize(ir: IR) -> IR:
    """Bring ``ir`` into canonical form, in place."""
    while True:
        remove_unreachable(ir)
        minimise_params(ir)
        if resolve_checks(ir):
            continue
        remove_dead_params(ir)
        drop_idle_releases(ir)
        skip_empty_blocks(ir)
        merged = merge_blocks(ir)
        drop_idle_slots(ir)
        if drop_idle_handlers(ir) or (merged and skip_empty_blocks(ir)):
            continue
        use_checked(ir)
        break
    remove_unreachable(ir)
    spread_names(ir)
    sort_params(ir)
    renumber(ir)
    return ir


# -- blocks ----------------------------------------------------------------------------------------
def remove_unreachable(ir: IR) -> None:
    """Drop what the entry does not reach; the rest is left in reverse postorder, where the first
    edge of a terminator comes first."""
    entry = ir.entry
    seen, out = {entry.id}, []
    stack = [(entry, iter(_targets(entry)))]
    while stack:
        block, targets = stack[-1]
        for t in targets:
            if t not in seen:
                seen.add(t)
                stack.append((ir.blocks[t], iter(_targets(ir.blocks[t]))))
                break
        else:
            out.append(block)
            stack.pop()
    ir.blocks = {b.id: b for b in reversed(out)}


def _targets(block: Block) -> tuple[int, ...]:
    targets = block.successors[::-1]
    return targets if block.handler is None else (block.handler, *targets)


def _ways_in(ir: IR) -> dict[int, list[tuple[Block, Edge]]]:
    ways: dict[int, list[tuple[Block, Edge]]] = {b: [] for b in ir.blocks}
    for b in ir:
        for e in b.term.edges:
            ways[e.target].append((b, e))
    return ways


def skip_empty_blocks(ir: IR) -> bool:
    """Redirect the ways into a block that only jumps on. Not where a value it receives is used
    further on, nor for the item of a ForIter. Returns whether there were any."""
    before = len(ir.blocks)
    ways = _ways_in(ir)
    outside = _used_beyond_own_edge(ir)
    fixed = {ir.entry.id} | handlers(ir)
    for b in list(ir):
        if b.id in fixed or b.ops or not isinstance(b.term, Jump):
            continue
        target = b.term.edge.target
        if target == b.id or any(p in outside for p in b.params):
            continue
        if any(implicit(p.term, e) for p, e in ways[b.id]):
            continue
        for _, e in ways[b.id]:
            mapping = dict(zip(b.params, e.args))
            e.args = tuple(_lookup(mapping, x) for x in b.term.edge.args)
            e.target = target
        ways[target] = [(p, e) for p, e in ways[target] if p is not b] + ways[b.id]
        ways[b.id] = []
        del ir.blocks[b.id]
    return len(ir.blocks) < before


def _lookup(mapping: dict[Value, Operand], x: Operand) -> Operand:
    return mapping.get(x, x) if isinstance(x, Value) else x


def _used_beyond_own_edge(ir: IR) -> set[Value]:
    """Parameters used anywhere but on the jump of their own, empty block."""
    home = {p: b for b in ir for p in b.params}
    used: set[Value] = set()
    for b in ir:
        for op in b.ops:
            used.update(x for x in op.args if isinstance(x, Value))
        used.update(x for x in b.term.operands if isinstance(x, Value))
        for e in b.term.edges:
            used.update(x for x in e.args if isinstance(x, Value) and home.get(x) is not b)
    return used


def merge_blocks(ir: IR) -> bool:
    """Append to each block the one it jumps to, if that has no other way in, under the handler of
    the one that can raise. Returns whether there were any."""
    before = len(ir.blocks)
    ways = _ways_in(ir)
    mapping: dict[Value, Operand] = {}
    for b in list(ir):
        if b.id not in ir.blocks:
            continue
        while isinstance(b.term, Jump):
            edge = b.term.edge
            target = ir.blocks[edge.target]
            if len(ways[target.id]) != 1 or target is b:
                break
            if target.handler != b.handler:
                if is_quiet(b):
                    b.handler = target.handler
                elif not is_quiet(target) or spins(target):
                    break
            mapping.update(zip(target.params, edge.args))
            b.ops += target.ops
            b.term = target.term
            del ir.blocks[target.id]
    ir.substitute(mapping)
    return len(ir.blocks) < before


def drop_idle_handlers(ir: IR) -> bool:
    """Drop the handlers that only let the exception go on, and those that none reaches. Returns
    whether there were any."""
    caught = handlers(ir)
    if not caught:
        return False
    passed: dict[int, int | None] = {}
    for h in caught:
        b = ir.blocks[h]
        if not b.ops and isinstance(b.term, Reraise) and b.term.exc is b.params[0]:
            passed[h] = b.handler
    loud = {b.handler for b in ir if not is_quiet(b) or spins(b)}
    changed = False
    for b in ir:
        while b.handler is not None and (b.handler in passed or b.handler not in loud):
            b.handler = passed.get(b.handler)
            changed = True
    return changed


# -- parameters ------------------------------------------------------------------------------------
def minimise_params(ir: IR) -> None:
    """Remove redundant parameters: sets of parameters that receive, from outside of the set, one
    value alone. (Strongly connected components of the graph of parameters, inner ones first.) A
    checked value counts as the value."""
    args = _param_arguments(ir)
    if not args:
        return
    replaced: dict[Value, Operand] = {}

    def find(x: Operand) -> Operand:
        while isinstance(x, Value) and x in replaced:
            x = replaced[x]
        return x

    pending = [list(args)]
    while pending:
        group = pending.pop()
        members = set(group)
        for component in _components(group, args, members):
            inside = set(component)
            outer, fringe = _outer(component, inside, args, find)
            if len(outer) == 1:
                replaced.update(dict.fromkeys(component, outer[0]))
                _pass_on_name(component, outer[0])
            elif len(component) > 1:
                rest = [p for p in component if p not in fringe]
                if rest:
                    pending.append(rest)
    if replaced:
        _drop(ir, set(replaced))
        ir.substitute(replaced)


def _pass_on_name(params: list[Value], x: Operand) -> None:
    if isinstance(x, Value) and x.name is None:
        x.name = next((p.name for p in params if p.name is not None), None)


def _outer(
    component: list[Value],
    inside: set[Value],
    args: dict[Value, list[Operand]],
    find: Callable[[Operand], Operand],
) -> tuple[list[Operand], set[Value]]:
    """The distinct operands that enter the component, and the members that receive them."""
    outer: list[Operand] = []
    fringe: set[Value] = set()
    for p in component:
        for x in args[p]:
            x = find(x)
            if x in inside:
                continue
            fringe.add(p)
            if x not in outer:
                outer.append(x)
    return outer, fringe


def _param_arguments(ir: IR) -> dict[Value, list[Operand]]:
    """What each parameter that edges supply receives, with checks looked through."""
    checked = {op.result: op.args[1] for op in ir.ops() if op.is_call(intrinsics.check_bound)}

    def source(x: Operand) -> Operand:
        while isinstance(x, Value) and x in checked:
            x = checked[x]
        return x

    args: dict[Value, list[Operand]] = {}
    for b in ir:
        for e in b.term.edges:
            skip = implicit(b.term, e)
            for p, x in zip(ir.blocks[e.target].params[skip:], e.args):
                args.setdefault(p, []).append(source(x) if checked else x)
    return args


def _components(
    group: list[Value], args: dict[Value, list[Operand]], members: set[Value]
) -> Iterator[list[Value]]:
    """Tarjan's strongly connected components, each after those that it receives from."""
    index: dict[Value, int] = {}
    low: dict[Value, int] = {}
    open_: list[Value] = []
    is_open: set[Value] = set()
    for root in group:
        if root in index:
            continue
        work = [(root, iter(args[root]))]
        index[root] = low[root] = len(index)
        open_.append(root)
        is_open.add(root)
        while work:
            p, xs = work[-1]
            for x in xs:
                if not isinstance(x, Value) or x not in members:
                    continue
                if x not in index:
                    index[x] = low[x] = len(index)
                    open_.append(x)
                    is_open.add(x)
                    work.append((x, iter(args[x])))
                    break
                if x in is_open:
                    low[p] = min(low[p], index[x])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[p])
                if low[p] == index[p]:
                    component = []
                    while True:
                        x = open_.pop()
                        is_open.discard(x)
                        component.append(x)
                        if x is p:
                            break
                    yield component[::-1]


def _drop(ir: IR, dropped: set[Value]) -> None:
    """Take parameters out of their blocks and of all edges to these."""
    keep: dict[int, list[int]] = {}
    for b in ir:
        if any(p in dropped for p in b.params):
            keep[b.id] = [i for i, p in enumerate(b.params) if p not in dropped]
    for b in ir:
        for e in b.term.edges:
            if e.target in keep:
                skip = implicit(b.term, e)
                e.args = tuple(e.args[i - skip] for i in keep[e.target] if i >= skip)
    for id, kept in keep.items():
        params = ir.blocks[id].params
        ir.blocks[id].params = [params[i] for i in kept]


def remove_dead_params(ir: IR) -> None:
    """Remove parameters that only feed unused parameters."""
    args = param_arguments(ir)
    work = [x for b in ir for op in b.ops for x in op.args]
    work += [x for b in ir for x in b.term.operands]
    live: set[Value] = set()
    while work:
        x = work.pop()
        if isinstance(x, Value) and x not in live:
            live.add(x)
            work += args.get(x, ())
    _drop(ir, {p for p in args if p not in live})


def spread_names(ir: IR) -> None:
    """Name values after the parameters that they are passed to, if they have no name."""
    changed = True
    while changed:
        changed = False
        for b in ir:
            for e in b.term.edges:
                for p, x in zip(ir.blocks[e.target].params[implicit(b.term, e) :], e.args):
                    if p.name is not None and isinstance(x, Value) and x.name is None:
                        x.name = p.name
                        changed = True


def sort_params(ir: IR) -> None:
    """Named parameters first, in order of their names; the order of lifting breaks ties."""
    for b in ir:
        if b is ir.entry or len(b.params) < 2:
            continue
        ways = [(p, e) for p in ir for e in p.term.edges if e.target == b.id]
        fixed = max(implicit(p.term, e) for p, e in ways)
        order = sorted(
            range(fixed, len(b.params)),
            key=lambda i: (b.params[i].name is None, b.params[i].name or ""),
        )
        b.params = b.params[:fixed] + [b.params[i] for i in order]
        for p, e in ways:
            skip = implicit(p.term, e)
            head = e.args[: fixed - skip]
            e.args = (*head, *(e.args[i - skip] for i in order))


# -- numbering -------------------------------------------------------------------------------------
def renumber(ir: IR) -> None:
    """Blocks and values numbered in order."""
    ids = {old: new for new, old in enumerate(ir.blocks)}
    for b in ir:
        b.id = ids[b.id]
        if b.handler is not None:
            b.handler = ids[b.handler]
        b.term.retarget(ids.__getitem__)
    ir.blocks = {b.id: b for b in ir}
    n = 0
    for b in ir:
        for p in b.params:
            p.id = n
            n += 1
        for op in b.ops:
            op.result.id = n
            n += 1
    ir._next_value, ir._next_block = n, len(ir.blocks)
