"""Orders of the control-flow graph, dominators, postdominators and dominance frontiers.

The algorithm is that of Cooper, Harvey and Kennedy: iterate ``idom`` over the reverse postorder,
which ends after two sweeps on reducible graphs. The graph includes the edge from a block to the
handler of its exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from .core import IR

Graph = Mapping[int, Sequence[int]]

EXIT = -1  # the virtual block after every return and raise: the root of the postdominator tree


def flow(ir: IR) -> dict[int, tuple[int, ...]]:
    """The successors of each block, each once, the handler included."""
    graph: dict[int, tuple[int, ...]] = {}
    for b in ir.blocks.values():
        targets = b.successors if b.handler is None else (*b.successors, b.handler)
        graph[b.id] = targets if len(targets) < 2 else tuple(dict.fromkeys(targets))
    return graph


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
    return reverse_postorder(ir)[::-1]


def reverse_postorder(ir: IR) -> list[int]:
    """The reachable blocks, each before its successors (but along retreating edges)."""
    return [*dominators(ir).order]


class DomTree:
    """A dominator tree. ``idom`` maps each reachable block to its immediate dominator (the root to
    None), ``children`` is its inverse, ``order`` the reachable blocks in reverse postorder."""

    def __init__(self, graph: Graph, root: int) -> None:
        self.graph, self.root = graph, root
        self.order = depth_first(graph, root)[::-1]

    @cached_property
    def idom(self) -> dict[int, int | None]:
        return _immediate_dominators(self.graph, self.root, self.order)

    @cached_property
    def children(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {n: [] for n in self.order}
        for n, parent in self.idom.items():
            if parent is not None:
                found[parent].append(n)
        return found

    @cached_property
    def _span(self) -> dict[int, tuple[int, int]]:
        return _spans(self.children, self.root)

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
    """The dominator tree of the blocks that the entry reaches; the last one if the graph is still
    the same."""
    graph, root, tree = flow(ir), ir.entry.id, ir.tree
    if tree is None or tree.root != root or tree.graph != graph:
        tree = ir.tree = DomTree(graph, root)
    return tree


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
    preds: list[list[int]] = [[] for _ in order]
    for i, n in enumerate(order):
        for t in graph[n]:
            preds[number[t]].append(i)
    idom = [0] + [-1] * (len(order) - 1)  # by number, -1 as long as it is not known
    changed = True
    while changed:
        changed = False
        for n in range(1, len(order)):
            new = -1
            for p in preds[n]:
                if idom[p] < 0:
                    continue
                while new >= 0 and p != new:
                    if p > new:
                        p = idom[p]
                    else:
                        new = idom[new]
                new = p
            if idom[n] != new:
                idom[n] = new
                changed = True
    return {n: order[idom[i]] if i else None for i, n in enumerate(order)}


def _spans(children: Mapping[int, Sequence[int]], root: int) -> dict[int, tuple[int, int]]:
    """For each node of a tree the first and last preorder number below it."""
    preorder, stack = [], [root]
    while stack:
        n = stack.pop()
        preorder.append(n)
        stack += children[n]
    span: dict[int, tuple[int, int]] = {}
    for first in range(len(preorder) - 1, -1, -1):  # children before parents
        n = preorder[first]
        span[n] = first, max([span[c][1] for c in children[n]], default=first)
    return span
