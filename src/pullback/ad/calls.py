"""Calls that stay calls: recursion, and callees too big to inline.

Such a callee (`Specialised`) is differentiated once, by everything that carries a derivative, into
a pair that shares the caller's tape: the forward half puts its record on the tape last, the reverse
half takes it from there first. So recursion needs nothing more than the stack that a tape is.

What happens between its halves is not the callee's to know: whatever it needs is on the tape, and
all that it overwrites it puts back (its plan is "naive"). Only what it reads as a whole (in a
matrix product, say) must be in the arrays again when its reverse half runs: `reads_whole`.

The call gives a tuple, whose parts ``getitem`` takes out. Conventions, with ``x̄`` the shadows of
*all* float array arguments in order:

- forward: ``(tape, *args, *x̄) -> (*results, *shadows of array results)``
- reverse: ``(tape, *arrays, *x̄, *seeds of scalar results) -> cotangents of scalar arguments``
- pushforward: ``(*args, *tangents) -> (*results, *tangents)``, of all that carries one; a tape
  counts among it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numba import types

from ..ir.core import CALL, IR, Const, Op, Value
from ..rules import registry
from ..typing_.specialised import Flat, Specialised, is_outlined
from . import kinds
from .kinds import is_active_array, is_array, is_scalar

if TYPE_CHECKING:
    from .activity import Activity


def parts(ir: IR, call: Op) -> dict[int, Value]:
    """Which results of an outlined call are taken out of its tuple: position -> value."""
    out: dict[int, Value] = {}
    for op in ir.ops():
        if op.is_call(operator.getitem) and op.args[1] is call.result:
            assert isinstance(op.args[2], Const)
            out[op.args[2].value] = op.result
    return out


def is_active_call(op: Op, activity: Activity) -> bool:
    return is_outlined(op) and any(activity.active(a) for a in op.posargs)


class DerivedCall(Specialised):
    """A Specialised that differentiation made. ``tapes``: the positions of its tapes."""

    tapes: tuple[int, ...] = (0,)

    @property
    def type(self) -> Any:
        """The type of the tuple that a call gives."""
        return types.BaseTuple.from_types(self.result)


@dataclass
class Pair:
    """The two halves of an outlined callee."""

    callee: Specialised
    forward: DerivedCall
    reverse: DerivedCall

    @property
    def arrays(self) -> list[int]:
        """Positions of the float array arguments: those with shadows."""
        return [i for i, t in enumerate(self.callee.params) if is_active_array(t)]

    @property
    def scalars(self) -> list[int]:
        return [i for i, t in enumerate(self.callee.params) if is_scalar(t)]


def pair_of(callee: Specialised) -> Pair:
    """The pair of a callee, made on first use: it may well call itself."""
    made = callee.flat.__dict__
    if "pair" not in made:
        f8 = [t for t in callee.params if is_active_array(t)]
        numbers = tuple(t for t in callee.params if is_scalar(t))
        seeds = [t for t in callee.result if is_scalar(t)]
        arrays = [t for t in callee.result if is_active_array(t)]
        every = [t for t in callee.params if is_array(t)]
        fwd = DerivedCall(
            f"{callee.name}_forward", (kinds.TAPE, *callee.params, *f8), (*callee.result, *arrays)
        )
        rev = DerivedCall(f"{callee.name}_reverse", (kinds.TAPE, *every, *f8, *seeds), numbers)
        with _noted(made, "pair", Pair(callee, fwd, rev)):
            _build(made["pair"])
    return made["pair"]


_notes: list[tuple[dict[str, Any], str]] = []  # what is being made, in order


@contextmanager
def _noted(made: dict[str, Any], key: str, derived: Any) -> Iterator[None]:
    """Who calls the callee while this is made finds it already. If it cannot be made, none of them
    is left behind."""
    made[key] = derived
    first = len(_notes)
    _notes.append((made, key))
    try:
        yield
    except BaseException:
        for where, name in _notes[first:]:
            where.pop(name, None)
        del _notes[first:]
        raise
    if not first:
        _notes.clear()


def _build(pair: Pair) -> None:
    from .build import build
    from .compile import prepared

    ir = prepared(pair.callee.flat, inner=True)
    every = [kinds.carries(a.type) for a in ir.args]
    built = build(ir, every, split=True, policy="naive", inner=True)
    assert built.reverse is not None
    pair.forward.flat = _flat(built.forward, pair.callee.flat)
    pair.reverse.flat = _flat(built.reverse, pair.callee.flat)


def _flat(ir: IR, like: Flat) -> Flat:
    from .compile import clean

    return Flat(clean(ir), (), like.result, semantics=like.semantics)


def reads_whole(callee: Specialised) -> bool:
    """Whether a callee or one of its own reads arrays as a whole in its reverse half."""
    seen, waiting = {callee}, [callee]
    while waiting:
        for op in waiting.pop().flat.ir.ops():
            if op.kind == CALL and registry.array(op.callee) is not None:
                return True
            if is_outlined(op) and op.callee not in seen:
                seen.add(op.callee)
                waiting.append(op.callee)
    return False


def tapes_of(callee: Specialised) -> tuple[int, ...]:
    """The positions of a callee's tapes: none but what differentiation made has any."""
    return callee.tapes if isinstance(callee, DerivedCall) else ()


def moving_of(callee: Specialised) -> list[int]:
    """The positions of the arguments that have a tangent."""
    tapes = tapes_of(callee)
    return [i for i, t in enumerate(callee.params) if kinds.carries(t) or i in tapes]


def pushforward_of(callee: Specialised) -> DerivedCall:
    """The pushforward of a callee by everything."""
    made = callee.flat.__dict__
    if "pushforward" not in made:
        moving = moving_of(callee)
        results = [t for t in callee.result if kinds.carries(t)]
        push = DerivedCall(
            f"{callee.name}_dot",
            (*callee.params, *(callee.params[i] for i in moving)),
            (*callee.result, *results),
        )
        tapes, n = tapes_of(callee), len(callee.params)
        push.tapes = (*tapes, *(n + moving.index(i) for i in tapes))
        with _noted(made, "pushforward", push):
            _push(push, callee, tapes)
    return made["pushforward"]


def _push(push: DerivedCall, callee: Specialised, tapes: tuple[int, ...]) -> None:
    from .compile import prepared
    from .forward import forward

    ir = prepared(callee.flat, inner=True)
    active = [kinds.carries(a.type) for a in ir.args]
    done = forward(ir, active, [ir.args[i] for i in tapes], half=bool(tapes))
    push.flat = _flat(done.ir, callee.flat)
