"""Copy propagation: a block parameter that is the same value whichever way its block is reached is
replaced by that value.

Parameters that merely hand each other one value around loops are found too: a strongly connected
set of parameters that a single value enters is that value (Braun et al., 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..ir.core import IR, Operand, Value
from ..ir.dominators import reverse_postorder
from ..ir.edit import bindings, handlers
from .dce import drop_params
from .scalars import fits


def copy_prop(ir: IR) -> bool:
    """Replace block parameters that are copies. Parameters whose type differs from their source's
    stay: the edge converts."""
    copies = _copies(ir)
    if not copies:
        return False
    for p, x in copies.items():
        keep_name(x, p)
    found = {b.id: [i for i, p in enumerate(b.params) if p in copies] for b in ir}
    drop_params(ir, {id: positions for id, positions in found.items() if positions})
    ir.substitute(copies)
    return True


def keep_name(x: Operand, param: Value) -> None:
    """Give ``x``, which will stand for ``param``, the user's name of it if it has none."""
    if isinstance(x, Value) and x.name is None:
        x.name = param.name


def _copies(ir: IR) -> dict[Value, Operand]:
    """The block parameters that are copies, with what they are copies of."""
    feeds = _feeds(ir)
    copies: dict[Value, Operand] = {}

    def root(x: Operand) -> Operand:
        while isinstance(x, Value) and x in copies:
            x = copies[x]
        return x

    work = [component for component in reversed(components(feeds, list(feeds)))]
    while work:
        component = work.pop()
        inside = set(component)
        entering: list[Operand] = []
        inner: list[Value] = []
        for p in component:
            others = [x for x in map(root, feeds[p]) if x not in inside]
            entering += (x for x in others if x not in entering)
            if not others:
                inner.append(p)
        if len(entering) == 1:
            copies.update((p, entering[0]) for p in component)
        elif entering:
            work.extend(reversed(components(feeds, inner)))
    return copies


def _feeds(ir: IR) -> dict[Value, list[Operand]]:
    """What the edges bind each block parameter to; without those that something else binds, or
    that an edge converts to."""
    fixed = {ir.entry.id} | handlers(ir)
    found: dict[Value, list[Operand]] = {}
    bound = set()
    for id in reverse_postorder(ir):
        for e, p, x in bindings(ir, ir.blocks[id]):
            if x is None or e.target in fixed or not fits(p, x):
                bound.add(p)
            else:
                found.setdefault(p, []).append(x)
    return {p: xs for p, xs in found.items() if p not in bound}


def components(feeds: Mapping[Value, list[Operand]], nodes: list[Value]) -> list[list[Value]]:
    """The strongly connected sets among ``nodes``, each after those that feed it (Tarjan)."""
    among = set(nodes)
    number: dict[Value, int] = {}
    low: dict[Value, int] = {}
    open_: dict[Value, None] = {}
    found = []
    for start in nodes:
        stack = [] if start in number else [(start, _enter(start, number, low, open_, feeds))]
        while stack:
            v, rest = stack[-1]
            for x in rest:
                if not isinstance(x, Value) or x not in among:
                    continue
                if x not in number:
                    stack.append((x, _enter(x, number, low, open_, feeds)))
                    break
                if x in open_:
                    low[v] = min(low[v], number[x])
            else:
                stack.pop()
                if stack:
                    parent = stack[-1][0]
                    low[parent] = min(low[parent], low[v])
                if low[v] == number[v]:
                    component: list[Value] = []
                    while not component or component[-1] is not v:
                        component.append(open_.popitem()[0])
                    found.append(component[::-1])
    return found


def _enter(
    v: Value,
    number: dict[Value, int],
    low: dict[Value, int],
    open_: dict[Value, None],
    feeds: Mapping[Value, list[Operand]],
) -> Iterator[Operand]:
    number[v] = low[v] = len(number)
    open_[v] = None
    return iter(feeds[v])
