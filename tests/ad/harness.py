"""Differentiate a function with the low-level layer and run what comes out on CPython."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.ad.build import Built, build
from pullback.ad.compile import Options, clean, polished, prepared, source
from pullback.ad.compile import on_cpython as lower
from pullback.ad.copies import settle
from pullback.ad.forward import forward
from pullback.ir.verify import verify
from pullback.runtime.tape import Tape
from pullback.typing_ import Flat, abstract_of, flat


def flatten(f: Any, args: tuple[Any, ...]) -> Flat:
    found = flat(f, [abstract_of(a) for a in args])
    settle(found)
    return found


def is_active(a: Any) -> bool:
    return isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype.kind in "fc")


@dataclass
class Gradient:
    """``value``; ``grads`` of the float arguments in order; what the ``args`` hold afterwards."""

    value: Any
    grads: list[Any]
    args: tuple[Any, ...]
    tape: Any = None


class Derived:
    """A function's reverse mode, built once; run it as often as wanted."""

    def __init__(
        self,
        f: Any,
        args: tuple[Any, ...],
        *,
        naive: bool = False,
        split: bool = False,
        plan: str | None = None,
        flat: Flat | None = None,
    ) -> None:
        self.f = f
        self.flat = flat or flatten(f, args)
        self.split = split
        options = Options(plan or ("naive" if naive else "full"))
        ir = source(self.flat, options)
        active = [True] * len(ir.args)
        self.built: Built = build(ir, active, split=split, policy=options.policy)
        verify(self.built.forward)
        fast = options.plan == "full"
        first = self.built.forward
        self.first = lower(verify(polished(first, forward=split) if fast else clean(first)))
        self.last = None
        if self.built.reverse is not None:
            verify(self.built.reverse)
            last = self.built.reverse
            self.last = lower(verify(polished(last) if fast else clean(last)))

    def __call__(self, *args: Any) -> Gradient:
        count = len(args)
        args = copy.deepcopy(args) + tuple(h.read(self.f) for h in self.flat.hidden)
        built = self.built
        shadows = {i: np.zeros_like(args[i]) for i in built.shadowed}
        tape = Tape()
        seeds = [1.0] * len(built.seeded)
        nres = len(built.results)
        if self.split:
            out = self.first(tape, *args, *shadows.values())
            private = [args[i] for i in built.arrays]
            bars = self.last(tape, *private, *shadows.values(), *seeds)
        else:
            both = self.first(tape, *args, *shadows.values(), *seeds)
            out, bars = both[:nres], both[nres:]
        scalars = dict(zip(built.scalars, bars))
        grads = []
        for i, a in enumerate(args[:count]):
            if is_active(a):
                grads.append(
                    scalars.get(i, 0.0) if isinstance(a, float) else shadows.get(i, 0.0 * a)
                )
        assert tape.position == tape.base, "the tape is empty after the reverse half"
        return Gradient(out[0] if out else None, grads, args[:count], tape)


def jvp(f: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Value and tangent; ``tangents`` of the float arguments in order."""
    f_ = flatten(f, args)
    push = forward(prepared(f_), [True] * len(f_.ir.args))
    verify(push.ir)
    given = iter(tangents)
    dots = {i: next(given) for i, a in enumerate(args) if is_active(a)}
    out = lower(verify(clean(push.ir)))(
        *copy.deepcopy(args), *[copy.deepcopy(dots[i]) for i in push.tangents]
    )
    return out[0], out[1]
