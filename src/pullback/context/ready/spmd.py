"""``spmd``: scalar code run over lanes, with masks.

A function of numbers is lifted, and its IR is run once for all lanes: every value is a vector, and
each lane waits at the block that it runs next. The block that comes first in reverse postorder runs
for all lanes that wait there, so that lanes that parted at a branch or left a loop early meet again
where the ways join. Arithmetic on floats is done by vector; everything else lane by lane, so that
the result is what a map over the lanes gives, to the last bit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import LanesMismatch, LiftError
from ...frontend import lift
from ...ir.core import (
    CALL,
    FREECELL,
    GETCELL,
    GLOBAL,
    IR,
    Block,
    Branch,
    Const,
    Edge,
    ForIter,
    Jump,
    Op,
    Raise,
    Return,
    Value,
)
from ...ir.edit import handlers
from ...ir.intrinsics import check_bound, has_meaning_alone
from ..filters import is_library

_VECTOR: dict[Any, np.ufunc] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply,
    operator.iadd: np.add, operator.isub: np.subtract, operator.imul: np.multiply,
    operator.neg: np.negative, operator.lt: np.less, operator.le: np.less_equal,
    operator.gt: np.greater, operator.ge: np.greater_equal, operator.eq: np.equal,
    operator.ne: np.not_equal, operator.truediv: np.divide, operator.itruediv: np.divide,
    abs: np.abs,
}  # fmt: skip
_DIVIDES = (operator.truediv, operator.itruediv)


UNBOUND = object()
"""What a local is before it is assigned."""


class Same:
    """A value that is the same object in all lanes."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def spmd(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` over lanes: arrays are taken apart along their first axis, anything else is the same in
    all lanes. The result is the array of the lanes' results, a tuple of arrays if these are tuples.

    Nested functions, imports, handlers of exceptions and generators in ``f``, and ``*args``, are
    refused (LiftError, PB102); so are no lanes at all (LanesMismatch, PB507).

    >>> def steps(n):
    ...     count = 0
    ...     while n != 1:
    ...         n = n // 2 if n % 2 == 0 else 3 * n + 1
    ...         count += 1
    ...     return count
    >>> spmd(steps)(np.array([1, 2, 3, 27])).tolist()
    [0, 1, 7, 111]
    """

    @wraps(f)
    def over(*args: Any) -> Any:
        sizes = {len(a) for a in args if isinstance(a, np.ndarray)}
        if len(sizes) != 1:
            raise LanesMismatch(
                f"lanes are the items of arrays of one length, not of {sorted(sizes)}"
            )
        n = sizes.pop()
        if not n:
            raise LanesMismatch("there are no lanes: what the result would be is not known")
        ir = lift(f)
        if ir.info.varargs or ir.info.varkw:
            raise LiftError(f"{ir.info.qualname} has * or **: it is not run over lanes")
        lanes = [lane_values(a) if isinstance(a, np.ndarray) else Same(a) for a in args]
        return gathered(Lanes(ir, n).run(lanes))

    return over


def lane_values(a: np.ndarray) -> np.ndarray:
    """The items of an array as Python has them, floats in a float array."""
    return vector(a.tolist() if a.ndim == 1 else list(a))


def vector(xs: list[Any]) -> np.ndarray:
    if all(type(x) is float for x in xs):
        return np.array(xs, float)
    if all(type(x) is bool for x in xs):
        return np.array(xs, bool)
    out = np.empty(len(xs), object)
    out[:] = [(x,) for x in xs]
    for k, x in enumerate(xs):
        out[k] = x
    return out


def gathered(xs: np.ndarray) -> Any:
    """The results of all lanes, as an array, or a tuple of them."""
    items = xs.tolist()
    if items and all(isinstance(x, tuple) and len(x) == len(items[0]) for x in items):
        return tuple(gathered(vector([x[k] for x in items])) for k in range(len(items[0])))
    return np.array(items)


class Lanes:
    """One function over ``n`` lanes."""

    def __init__(self, ir: IR, n: int) -> None:
        refuse(ir)
        self.ir, self.n = ir, n
        self.env: dict[Value, Any] = {}
        self.order = {b: k for k, b in enumerate(ir.blocks)}  # lifting leaves reverse postorder
        self.waiting: dict[int, np.ndarray] = {}
        self.results = np.empty(n, object)

    def run(self, args: list[Any]) -> np.ndarray:
        if len(args) != len(self.ir.args):
            raise TypeError(f"{self.ir.info.qualname} takes {len(self.ir.args)} arguments")
        every = np.ones(self.n, bool)
        for p, x in zip(self.ir.args, args):
            self.set(p, x, every)
        self.waiting[self.ir.entry.id] = every
        while self.waiting:
            first = min(self.waiting, key=self.order.__getitem__)
            mask = self.waiting.pop(first)
            if mask.any():
                self._block(self.ir.blocks[first], mask)
        return vector(self.results.tolist())

    # -- values --------------------------------------------------------------------------------
    def get(self, x: Any, mask: np.ndarray) -> Any:
        """The value in the lanes of ``mask``: a vector of them, or what is the same in all."""
        if isinstance(x, Value):
            found = self.env[x]
            return found if isinstance(found, Same) else found[mask]
        return Same(x.value if isinstance(x, Const) else UNBOUND)

    def set(self, v: Value, x: Any, mask: np.ndarray) -> None:
        if mask.all():
            self.env[v] = x
            return
        known = self.env.get(v)
        if isinstance(known, Same) and isinstance(x, Same) and known.value is x.value:
            return
        count = int(mask.sum())
        new = vector([x.value] * count) if isinstance(x, Same) else x
        if known is None or isinstance(known, Same):
            filler = None if known is None else known.value
            known = np.full(self.n, None, object)
            for k in range(self.n):
                known[k] = filler
        if known.dtype != new.dtype:
            known, new = known.astype(object), new.astype(object)
        known = known.copy()
        known[mask] = new
        self.env[v] = known if known.dtype != object or not mask.all() else vector(known.tolist())

    # -- running -------------------------------------------------------------------------------
    def _block(self, block: Block, mask: np.ndarray) -> None:
        for op in block.ops:
            self.set(op.result, self._operation(op, mask), mask)
        term = block.term
        if isinstance(term, Jump):
            self._go(term.edge, mask)
        elif isinstance(term, Branch):
            truth = self._lanewise(bool, [self.get(term.cond, mask)], mask)
            self._part(term.then, term.orelse, truth, mask)
        elif isinstance(term, ForIter):
            self._step(term, mask)
        elif isinstance(term, Return):
            x = self.get(term.value, mask)
            items = [x.value] * int(mask.sum()) if isinstance(x, Same) else x.tolist()
            for k, item in zip(np.flatnonzero(mask), items):
                self.results[k] = item
        elif isinstance(term, Raise):
            exc = self.get(term.exc, mask)
            raise exc.value if isinstance(exc, Same) else exc[0]

    def _part(self, then: Edge, orelse: Edge, truth: Any, mask: np.ndarray) -> None:
        yes, no = mask.copy(), mask.copy()
        yes[mask], no[mask] = truth.astype(bool), ~truth.astype(bool)
        for edge, lanes in ((then, yes), (orelse, no)):
            if lanes.any():
                self._go(edge, lanes)

    def _step(self, term: ForIter, mask: np.ndarray) -> None:
        iterators = self.get(term.iterator, mask)
        items = [next(it, self) for it in iterators.tolist()]
        more = np.array([x is not self for x in items], bool)
        body, done = mask.copy(), mask.copy()
        body[mask], done[mask] = more, ~more
        if body.any():
            self._go(term.body, body, vector([x for x in items if x is not self]))
        if done.any():
            self._go(term.exhausted, done)

    def _go(self, edge: Edge, mask: np.ndarray, *items: Any) -> None:
        given = [*items, *(self.get(x, mask) for x in edge.args)]  # all before any is set
        for p, x in zip(self.ir.blocks[edge.target].params, given):
            self.set(p, x, mask)
        waiting = self.waiting.get(edge.target)
        self.waiting[edge.target] = mask if waiting is None else waiting | mask

    def _operation(self, op: Op, mask: np.ndarray) -> Any:
        info = self.ir.info
        if op.kind == GLOBAL:
            found = info.globals.get(op.attr, self)
            builtins = info.globals.get("__builtins__", {})
            table = builtins if isinstance(builtins, dict) else vars(builtins)
            if found is self and op.attr not in table:
                raise NameError(f"name {op.attr!r} is not defined")
            return Same(table[op.attr] if found is self else found)
        if op.kind == FREECELL:
            return Same(info.closure[info.freevars.index(op.attr)])
        if op.kind == GETCELL:
            return Same(self.get(op.args[0], mask).value.cell_contents)
        return self._call(op, mask)

    def _call(self, op: Op, mask: np.ndarray) -> Any:
        fn = self.get(op.fn, mask)
        args = [self.get(x, mask) for x in op.args[1:]]
        if isinstance(fn, Same) and not op.kwnames:
            if fn.value is getattr and all(isinstance(x, Same) for x in args):
                return Same(getattr(args[0].value, args[1].value))
            if fn.value is check_bound:
                return _bound(*args)
            fast = _vectorised(fn.value, args)
            if fast is not None:
                return fast
            g = fn.value
            if isinstance(g, FunctionType) and not is_library(g) and self._plain(g, args):
                return Lanes(lift(g), int(mask.sum())).run(args)
        return self._lanewise(fn, args, mask, op.kwnames)

    @staticmethod
    def _plain(g: FunctionType, args: list[Any]) -> bool:
        """Whether a function can run by vector itself."""
        try:
            ir = lift(g)
            refuse(ir)
        except LiftError:
            return False
        info = ir.info
        return len(ir.args) == len(args) and not (info.varargs or info.varkw or info.kwonly)

    def _lanewise(
        self, fn: Any, args: list[Any], mask: np.ndarray, names: tuple[str, ...] = ()
    ) -> np.ndarray:
        n = int(mask.sum())
        fns = fn if isinstance(fn, np.ndarray) else [fn.value if isinstance(fn, Same) else fn] * n
        columns = [[x.value] * n if isinstance(x, Same) else x.tolist() for x in args]
        rows = zip(*columns) if columns else [()] * n
        end = len(args) - len(names)
        return vector([f(*row[:end], **dict(zip(names, row[end:]))) for f, row in zip(fns, rows)])


def _bound(x: Any, name: Same) -> Any:
    """What a local holds, if it is bound in all lanes."""
    if any(v is UNBOUND for v in ([x.value] if isinstance(x, Same) else x)):
        raise UnboundLocalError(
            f"cannot access local variable {name.value!r} where it is not associated with a value"
        )
    return x


def _vectorised(f: Any, args: list[Any]) -> np.ndarray | None:
    """The result by vector if Python would compute the same, with no error."""
    try:
        ufunc = _VECTOR.get(f)
    except TypeError:
        return None
    if ufunc is None or len(args) != ufunc.nin or all(isinstance(x, Same) for x in args):
        return None
    parts = []
    for x in args:
        if isinstance(x, Same):
            if type(x.value) is not float:
                return None
            parts.append(np.float64(x.value))
        elif x.dtype != float:
            return None
        else:
            parts.append(x)
    if f in _DIVIDES and not np.all(parts[1]):
        return None  # ZeroDivisionError, in the right lane
    with np.errstate(all="ignore"):
        return ufunc(*parts)


def refuse(ir: IR) -> None:
    """Refuse what has no meaning lane by lane."""
    known = (CALL, GLOBAL, FREECELL, GETCELL)
    for op in ir.ops():
        if op.kind not in known:
            raise LiftError(f"{op.kind} in {ir.info.qualname} is not run over lanes", loc=op.loc)
        if not has_meaning_alone(op.callee):
            what = f"{op.callee.__name__} in {ir.info.qualname} is not run over lanes"
            raise LiftError(what, loc=op.loc)
    if handlers(ir):
        raise LiftError(f"{ir.info.qualname} handles exceptions: it is not run over lanes")
