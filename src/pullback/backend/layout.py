"""The order of blocks in the code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..ir.core import IR, Block


class Node(NamedTuple):
    """A block, or the instructions of its edge number ``edge``."""

    block: int
    edge: int | None = None


def layout(ir: IR, needs_node: Callable[[Block, int], bool]) -> list[Node]:
    """Reverse postorder: what a block leads to first comes right behind it where it can, and each
    slot is stored to, textually, before it is loaded (Numba reads in this order); handlers come
    late."""

    def ways(node: Node) -> Iterator[Node]:
        block = ir.blocks[node.block]
        edges = block.term.edges
        if node.edge is None and block.handler is not None:
            yield Node(block.handler)
        if node.edge is not None:
            yield Node(edges[node.edge].target)
            return
        for k in range(len(edges) - 1, -1, -1):
            yield Node(block.id, k) if needs_node(block, k) else Node(edges[k].target)

    first = Node(ir.entry.id)
    seen, out = {first}, []
    stack = [(first, ways(first))]
    while stack:
        node, targets = stack[-1]
        for t in targets:
            if t not in seen:
                seen.add(t)
                stack.append((t, ways(t)))
                break
        else:
            out.append(node)
            stack.pop()
    return out[::-1]
