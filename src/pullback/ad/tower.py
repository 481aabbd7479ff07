"""Kernels of any order: forward mode applied again and again, to a function or to its gradient.

Values have components, one for each subset of ``order`` independent infinitesimals whose squares
vanish: bit k of a *mask* says that the k-th is a factor. Component 0 is the value. Infinitesimals
are told apart by their bit, so that perturbations cannot be confused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..ir.core import IR
from ..typing_ import Flat
from .build import Built, build
from .compile import DEFAULT, Options, _cached, _executable, clean, for_any_shapes, polished, source
from .forward import forward

Label = tuple[str, int]  # ("tape", 0), ("arg", p), ("shadow", p), ("seed", k); ("result", k), ...
Part = tuple[Label, int]  # and a mask


@dataclass
class Tower:
    """``params`` and ``results``: what each parameter and result is a component of. Labels of
    results are ("result", k) and ("cotangent", p); p is an entry position, k that of a result."""

    call: Callable[..., Any]
    params: list[Part]
    results: list[Part]
    ir: IR
    built: Built | None = None


def tower(
    flat: Flat,
    masks: Sequence[frozenset[int]],
    order: int,
    *,
    active: Sequence[bool] | None = None,
    seeds: Sequence[frozenset[int] | None] = (),
    options: Options = DEFAULT,
) -> Tower:
    """The kernel for arguments that have the components ``masks``, of infinitesimals below
    ``order``. With ``active`` it is that of reverse mode by those arguments, of the results for
    which ``seeds`` says the components of their cotangents."""
    key = ("tower", tuple(masks), order, active and tuple(active), tuple(seeds), options)
    make = partial(_tower, flat, masks, order, active, seeds, options)
    return _cached(flat, key, lambda: for_any_shapes(make, flat, options))  # type: ignore


def _tower(
    flat: Flat,
    masks: Sequence[frozenset[int]],
    order: int,
    active: Sequence[bool] | None,
    seeds: Sequence[frozenset[int] | None],
    options: Options,
    *,
    assuming: bool,
) -> Tower:
    primal = source(flat, options, assuming=assuming)
    present: dict[Label, frozenset[int]] = {("arg", p): m for p, m in enumerate(masks)}
    built = None
    if active is None:
        ir = primal
        params = [("arg", p) for p in range(len(ir.args))]
        results = [("result", k) for k in range(len(_result_types(flat)))]
    else:
        wanted = [s is not None for s in seeds]
        built = build(primal, active, wanted, policy=options.policy)
        ir = clean(built.forward)
        params = [("tape", 0), *(("arg", p) for p in range(len(flat.ir.args)))]
        params += [("shadow", p) for p in built.shadowed] + [("seed", k) for k in built.seeded]
        results = [("result", k) for k in range(len(built.results))]
        results += [("cotangent", p) for p in built.scalars]
        every = frozenset(range(1 << order))
        present.update({("shadow", p): every for p in built.shadowed})
        present.update({("seed", k): seeds[k] or frozenset() for k in built.seeded})
    made = Tower(None, [(p, 0) for p in params], [(r, 0) for r in results], ir, built)  # type: ignore[arg-type]
    for k in range(order):
        last = k == order - 1 and active is not None and options.plan == "full"
        _raise(made, 1 << k, present, polished if last else clean)
    made.call = _executable(made.ir, options, flat)
    return made


def _raise(
    t: Tower, bit: int, present: dict[Label, frozenset[int]], tidy: Callable[[IR], IR]
) -> None:
    """Add one infinitesimal: a component beside each that may have one."""
    active = [
        label != ("tape", 0) and any(m & bit and m & mask == mask for m in present[label])
        for label, mask in t.params
    ]
    tapes = [a for a, (label, _) in zip(t.ir.args, t.params) if label == ("tape", 0)]
    push = forward(t.ir, active, tapes)
    t.ir = tidy(push.ir)
    t.params += [(t.params[i][0], t.params[i][1] | bit) for i in push.tangents]
    t.results += [(t.results[i][0], t.results[i][1] | bit) for i in push.seeded]


def _result_types(flat: Flat) -> list[Any]:
    from .build import _results

    return _results(flat.ir)
