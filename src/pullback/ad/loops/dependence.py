"""Whether a store may hit the element that a load reads, over all pairs of iterations.

The subscripts of both, as linear forms in loop counters and other integers, are set equal, with the
bounds of the loops and the order in which the two run; if that system has no solution the store
never hits. One system for each way the store can come later: in the same iteration of all loops
that hold both, or in a later iteration of one of them, those around it being in the same. Comparing
only the same iteration is how ``for i: s += x[i+1]**2; x[i] = 0`` goes wrong silently.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

from ...ir.core import IR, Const, Op, Operand, Value
from ...ir.loops import CountedLoop, Loop
from ...passes.roots import Roots
from ...runtime import prims
from ..structure import Structure
from .affine import Linear, impossible

LOAD, STORE = "load", "store"


@dataclass
class Dependence:
    """Answers for one program; ``counted`` are its counted loops."""

    ir: IR
    s: Structure
    roots: Roots
    counted: dict[Loop, CountedLoop]
    definition: dict[Value, Op] = field(init=False)
    _memo: dict[object, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.definition = {op.result: op for op in self.ir.ops()}
        self.variable = {c.var: loop for loop, c in self.counted.items()}

    def same_iteration(self, load: Op, store: Op) -> bool:
        """Whether the two may meet within one iteration of the loops that hold both."""
        return self._ask(load, store, False)

    def later(self, load: Op, store: Op, now: bool) -> bool:
        """Whether the store may hit the element in a later iteration, or in the same if ``now``."""
        return self._ask(load, store, True) or (now and self._ask(load, store, False))

    def out_of_order(self, a: Op, b: Op, first: CountedLoop, second: CountedLoop) -> bool:
        """Whether ``b`` in an iteration of the second loop may meet what ``a`` touches in a later
        one of the first: what forbids to run the two loops as one."""
        if not self._comparable(a.args[1], b.args[1]):
            return True
        pair = Pair(self, a, b)
        return not pair.never(len(pair.common), (first, second))

    def _ask(self, load: Op, store: Op, carried: bool) -> bool:
        if not self._comparable(load.args[1], store.args[1]):
            return True
        home = self.s.home
        key = carried, home[load.result], subscripts(load), home[store.result], subscripts(store)
        if key not in self._memo:
            self._memo[key] = self._may(load, store, carried)
        return self._memo[key]

    def _may(self, load: Op, store: Op, carried: bool) -> bool:
        pair = Pair(self, load, store)
        levels = range(len(pair.common)) if carried else [len(pair.common)]
        return not all(pair.never(level) for level in levels)

    def not_negative(self, index: Op, block: int) -> bool:
        """Whether the loops around a block say that a subscript in it is not negative."""
        key = index.args[1], block
        if key not in self._memo:
            alone = System(self, {LOAD: block})
            inner = alone.linear(index.args[1], LOAD)
            for loop in alone.around[LOAD]:
                alone.bounds(loop, LOAD)
            self._memo[key] = impossible([], [*alone.facts, -inner - 1])
        return self._memo[key]

    def _comparable(self, x: Operand, y: Operand) -> bool:
        """Whether equal elements mean equal subscripts: both are whole arrays, or both one view."""
        if not isinstance(x, Value) or not isinstance(y, Value):
            return False
        if x is y and self.s.region(x) is None:
            return True
        return x in self.roots.whole and y in self.roots.whole


def subscripts(op: Op) -> tuple[Operand, ...]:
    return op.args[3:] if op.is_call(prims.store) else op.args[2:]


class System:
    """What is known of integers at one or two places. Names are (side, value), or the value alone
    where both sides see the same instance of it."""

    def __init__(self, d: Dependence, home: dict[str, int]) -> None:
        self.d, self.home = d, home
        self.around = {side: d.s.around(block)[::-1] for side, block in home.items()}
        self.begin(set())

    def begin(self, shared: set[int]) -> None:
        """Forget all facts; the sides are in the same iteration of the ``shared`` loops."""
        self.shared = shared
        self.facts: list[Linear] = []
        self.known: set[tuple[object, str]] = set()

    def name(self, v: Value, side: str) -> object:
        region = self.d.s.region(v)
        return v if region is None or id(region) in self.shared else (side, v)

    def bounds(self, loop: Loop, side: str) -> None:
        """That the loop's counter is between its start and its stop."""
        c = self.d.counted.get(loop)
        if c is None or (c, side) in self.known:
            return
        self.known.add((c, side))
        i = Linear.of(self.name(c.var, side))
        start, stop = self.linear(c.start, side), self.linear(c.stop, side)
        up = c.step > 0
        self.facts.append(i - start if up else start - i)
        if self.home[side] != loop.header:  # the header also runs once beyond the end
            self.facts.append(stop - i - 1 if up else i - stop - 1)

    def linear(self, x: Operand, side: str) -> Linear:
        """An integer operand as a linear form; what is not linear is a name of its own."""
        if isinstance(x, Const):
            return Linear(constant=int(x.value)) if isinstance(x.value, int) else Linear.of(id(x))
        if not isinstance(x, Value):
            return Linear.of(id(x))
        op = self.d.definition.get(x)
        if op is None or x in self.d.variable:
            return Linear.of(self.name(x, side))
        parts = op.args[1:]
        if op.is_call(operator.add):
            return self.linear(parts[0], side) + self.linear(parts[1], side)
        if op.is_call(operator.sub):
            return self.linear(parts[0], side) - self.linear(parts[1], side)
        if op.is_call(operator.neg):
            return -self.linear(parts[0], side)
        if op.is_call(operator.mul):
            for k, other in (parts, parts[::-1]):
                if isinstance(k, Const) and isinstance(k.value, int):
                    return self.linear(other, side) * k.value
        if op.is_call(prims.index, prims.wrap):
            return self._index(x, op, side)
        return self._opaque(x, op, side)

    def _index(self, x: Value, op: Op, side: str) -> Linear:
        """A wrapped subscript: the subscript itself where it is not negative for certain."""
        inner = self.linear(op.args[1], side)
        if self.d.not_negative(op, self.home[side]):
            if op.is_call(prims.index):
                self.facts.append(self.linear(op.args[2], side) - inner - 1)
            return inner
        return self._opaque(x, op, side)

    def _opaque(self, x: Value, op: Op, side: str) -> Linear:
        name = Linear.of(self.name(x, side))
        if op.is_call(prims.index, prims.dim):
            self.facts.append(name)  # neither is negative
        return name


class Pair(System):
    """A load and a store with the loops around them."""

    def __init__(self, d: Dependence, load: Op, store: Op) -> None:
        home = d.s.home
        super().__init__(d, {LOAD: home[load.result], STORE: home[store.result]})
        self.load, self.store = load, store
        around = zip(self.around[LOAD], self.around[STORE])
        self.common = [a for a, b in around if a is b]

    def never(self, level: int, fused: tuple[CountedLoop, CountedLoop] | None = None) -> bool:
        """No meeting with the store later in ``common[level]``, the same in the loops around it;
        with two loops to be ``fused``, no meeting in a later iteration of the first of them."""
        self.begin({id(loop) for loop in self.common[:level]})
        a, b = subscripts(self.load), subscripts(self.store)
        if len(a) != len(b):
            return False
        equal = [self.linear(x, LOAD) - self.linear(y, STORE) for x, y in zip(a, b, strict=True)]
        for side in (LOAD, STORE):
            for loop in self.around[side]:
                self.bounds(loop, side)
        if level < len(self.common):
            later = self.order(self.common[level])
            if later is None:
                return False if not equal else impossible(equal, self.facts)
            self.facts.append(later)
        if fused is not None:
            i, j = (Linear.of(self.name(c.var, k)) for c, k in zip(fused, (LOAD, STORE)))
            step = fused[0].step
            self.facts.append(i - j - step if step > 0 else j - i + step)
        return impossible(equal, self.facts)

    def order(self, loop: Loop) -> Linear | None:
        """That the store's counter is further on than the load's."""
        c = self.d.counted.get(loop)
        if c is None:
            return None
        ahead = Linear.of(self.name(c.var, STORE)) - Linear.of(self.name(c.var, LOAD))
        return ahead - c.step if c.step > 0 else -ahead + c.step
