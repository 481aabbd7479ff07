"""Orders of the control-flow graph, dominators, postdominators and dominance frontiers.

The algorithm is that of Cooper, Harvey and Kennedy: iterate ``idom`` over the reverse postorder,
which ends after two sweeps on reducible graphs. The graph includes the edge from a block to the
handler of its exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .core import IR

Graph = Mapping[int, Sequence[int]]

EXIT = -1  # the virtual block after every return and raise: the root of the postdominator tree


def flow(ir: IR) -> dict[int, tuple[int, ...]]:
    """The successors of each block, each once, the handler included."""
    return {
        b.id: tuple(
            dict.fromkeys(b.successors if b.handler is None else (*b.successors, b.handler))
        )
        for b in ir
    }


def reverse(graph: Graph) -> dict[int, list[int]]:
    """The graph with every edge turned around."""
    turned: dict[int, list[int]] = {n: [] for n in graph}
    for n, targets in graph.items():
        for t in targets:
            turned[t].append(n)
    return turned


def depth_first(graph: Graph, root: int) -> list[int]:
    """The nodes reachable from ``root`` in postorder: a node after all it leads to but by
    retreating edges."""
    seen, order = {root}, []
    stack = [(root, iter(graph[root]))]
    while stack:
        node, targets = stack[-1]
        for t in targets:
            if t not in seen:
                seen.add(t)
                stack.append((t, iter(graph[t])))
                break
        else:
            order.append(node)
            stack.pop()
    return order


def postorder(ir: IR) -> list[int]:
    """The reachable blocks, each after its successors (but along retreating edges)."""
    return depth_first(flow(ir), ir.entry.id)


def reverse_postorder(ir: IR) -> list[int]:
    """The reachable blocks, each before its successors (but along retreating edges)."""
    return postorder(ir)[::-1]


class DomTree:
    """A dominator tree. ``idom`` maps each reachable block to its immediate dominator (the root to
    None), ``children`` is its inverse, ``order`` the reachable blocks in reverse postorder."""

    def __init__(self, graph: Graph, root: int) -> None:
        self.graph, self.root = graph, root
        self.order = depth_first(graph, root)[::-1]
        self.idom = _immediate_dominators(graph, root, self.order)
        self.children: dict[int, list[int]] = {n: [] for n in self.order}
        for n in self.order:
            parent = self.idom[n]
            if parent is not None:
                self.children[parent].append(n)
        self._span = _spans(self.children, root)

    def dominates(self, a: int, b: int) -> bool:
        """Whether every path from the root to ``b`` passes ``a`` (each block dominates itself, and
        all dominate a block that no path reaches). O(1)."""
        if b not in self._span:
            return True
        if a not in self._span:
            return False
        (first, last), (at, _) = self._span[a], self._span[b]
        return first <= at <= last

    def strictly_dominates(self, a: int, b: int) -> bool:
        return a != b and self.dominates(a, b)

    def preorder(self) -> list[int]:
        """The reachable blocks, each after its dominators."""
        out, stack = [], [self.root]
        while stack:
            n = stack.pop()
            out.append(n)
            stack.extend(reversed(self.children[n]))
        return out

    def common(self, a: int, b: int) -> int:
        """The nearest block that dominates both."""
        while not self.dominates(a, b):
            parent = self.idom[a]
            assert parent is not None
            a = parent
        return a

    def frontier(self) -> dict[int, list[int]]:
        """For each block the blocks where its dominance ends: it dominates a predecessor of them,
        but not strictly them."""
        out: dict[int, dict[int, None]] = {n: {} for n in self.order}
        preds = reverse({n: self.graph[n] for n in self.order})
        for n in self.order:
            for p in preds[n]:
                runner: int | None = p
                while runner is not None and runner != self.idom[n]:
                    out[runner][n] = None
                    runner = self.idom[runner]
        return {n: list(f) for n, f in out.items()}

    def joins(self, blocks: Iterable[int], frontier: Mapping[int, Sequence[int]]) -> list[int]:
        """Where values defined in ``blocks`` meet: the iterated dominance ``frontier``."""
        found: dict[int, None] = {}
        work = list(blocks)
        while work:
            for n in frontier[work.pop()]:
                if n not in found:
                    found[n] = None
                    work.append(n)
        return list(found)


def dominators(ir: IR) -> DomTree:
    """The dominator tree of the blocks that the entry reaches."""
    return DomTree(flow(ir), ir.entry.id)


def executed_before(ir: IR) -> Callable[[int, int], bool]:
    """Whether, on every path to the start of the second block, the operations of the first one have
    all been executed. Dominance is not enough for a handler and what follows it: an exception
    leaves a block before its operations are done."""
    if all(b.handler is None for b in ir):
        return dominators(ir).strictly_dominates
    end = {b.id: -2 - b.id for b in ir}
    graph: dict[int, tuple[int, ...]] = {}
    for b in ir:
        graph[b.id] = (end[b.id],) if b.handler is None else (end[b.id], b.handler)
        graph[end[b.id]] = b.successors
    tree = DomTree(graph, ir.entry.id)
    return lambda a, b: tree.dominates(end[a], b)


def postdominators(ir: IR) -> DomTree:
    """The dominator tree of the reversed graph, rooted in ``EXIT``: ``dominates(a, b)`` says that
    every path from ``b`` to a return or raise passes ``a``. Blocks that reach none (endless loops)
    are not in the tree."""
    graph = flow(ir)
    ends = [n for n, targets in graph.items() if not targets]
    return DomTree({**reverse(graph), EXIT: ends}, EXIT)


def _immediate_dominators(graph: Graph, root: int, order: list[int]) -> dict[int, int | None]:
    number = {n: i for i, n in enumerate(order)}
    preds = reverse({n: graph[n] for n in order})
    idom: dict[int, int] = {root: root}
    changed = True
    while changed:
        changed = False
        for n in order[1:]:
            known = (p for p in preds[n] if p in idom)
            new = next(known)
            for p in known:
                a, b = new, p
                while a != b:
                    while number[a] > number[b]:
                        a = idom[a]
                    while number[b] > number[a]:
                        b = idom[b]
                new = a
            if idom.get(n) != new:
                idom[n] = new
                changed = True
    return {n: None if n == root else idom[n] for n in order}


def _spans(children: Mapping[int, Sequence[int]], root: int) -> dict[int, tuple[int, int]]:
    """For each node of a tree the first and last preorder number below it."""
    first: dict[int, int] = {}
    span: dict[int, tuple[int, int]] = {}
    stack = [(root, False)]
    while stack:
        n, done = stack.pop()
        if done:
            span[n] = (first[n], len(first) - 1)
            continue
        first[n] = len(first)
        stack.append((n, True))
        stack.extend((c, False) for c in children[n])
    return span
