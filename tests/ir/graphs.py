"""Random control-flow graphs as IR, and the definitions of the analyses by brute force."""

from __future__ import annotations

from hypothesis import strategies as st

from pullback.ir.builder import Builder
from pullback.ir.core import IR


def cfg(targets: list[list[int]]) -> IR:
    """A function whose block i jumps to ``targets[i]`` (none: it returns)."""
    ir = IR()
    cond = ir.value("c")
    blocks = [ir.block([cond] if i == 0 else []) for i in range(len(targets))]
    for b, out in zip(blocks, targets, strict=True):
        at = Builder(ir, b)
        if not out:
            at.ret(cond)
        elif len(out) == 1:
            at.jump(blocks[out[0]])
        else:
            at.branch(cond, blocks[out[0]], blocks[out[1]])
    return ir


@st.composite
def cfgs(draw: st.DrawFn, size: int = 9) -> IR:
    """Any graph: irreducible, with endless loops and with blocks that nothing reaches."""
    n = draw(st.integers(1, size))
    if n == 1:
        return cfg([[]])
    target = st.integers(1, n - 1)
    return cfg([draw(st.lists(target, max_size=2)) for _ in range(n)])


def reachable(graph: dict, root: int, without: int | None = None) -> set[int]:
    seen, stack = set(), [root]
    while stack:
        n = stack.pop()
        if n != without and n not in seen:
            seen.add(n)
            stack.extend(graph[n])
    return seen
