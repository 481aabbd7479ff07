"""From a flat function to compiled derivative code: the low-level layer under all operators.

Nothing here knows about argument structures, shadows of users or operators: see ``build`` and
``forward`` for the calling conventions of the kernels.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

from numba.core.dispatcher import Dispatcher

from ..ir.core import IR
from ..passes.manager import optimize, tidy
from ..passes.roots import drop_labels, meets_arguments
from ..rules import registry
from ..typing_ import Flat, reflat
from ..typing_.prim_types import PRIMS
from ..typing_.specialised import is_outlined
from .adjoint import check_leaves
from .assume import Either, assume, settle_units
from .blas import products_in_place
from .build import Built, build
from .copies import drop_marks
from .forward import Pushforward, forward
from .kinds import is_array
from .loops.apart import set_apart
from .loops.fuse import fuse
from .loops.gather import gather
from .loops.giveback import give_back
from .loops.promote import promote
from .loops.sweep import one_sweep
from .loops.temporaries import hoist_temporaries
from .loops.views import look_through
from .loops.window import windows
from .overlap import decide_copies

_lock = threading.RLock()


@dataclass(frozen=True)
class Options:
    """``plan``: "full", or one of those that must agree with it and are slower: "naive" (every
    needed value stored, every overwrite saved: the oracle), "store" (needed values stored, nothing
    saved that need not be), "recompute" (evaluated again wherever that is sound), "unoptimised".
    ``run``: "native", or "python" to run the generated code on CPython (slow, for debugging).
    ``cache``: keep machine code on disk, for other processes."""

    plan: str = "full"
    run: str = "native"
    fastmath: bool = False
    cache: bool = True

    @property
    def policy(self) -> str:
        """What the planner is told."""
        return "full" if self.plan == "unoptimised" else self.plan


PLANS = ("full", "naive", "store", "recompute", "unoptimised")


DEFAULT = Options()


@dataclass
class Kernel:
    """Compiled code of one derivative. ``call`` is the primal, the combined function, the forward
    half or the pushforward; ``back`` the reverse half of split mode. Both take the tape first if
    ``tapes`` (how many tapes they take) is not zero."""

    flat: Flat
    call: Callable[..., Any]
    tapes: int
    back: Callable[..., Any] | None = None
    built: Built | None = None
    push: Pushforward | None = None
    parts: dict[str, IR] = field(default_factory=dict)  # the final IR of each function


def primal(flat: Flat, options: Options = DEFAULT) -> Kernel:
    """The function itself, compiled: ``(*args) -> results``."""
    return _cached(flat, ("primal", options), lambda: _primal(flat, options))


def gradient(
    flat: Flat,
    active: Sequence[bool],
    wanted: Sequence[bool] | None = None,
    *,
    split: bool = False,
    assuming: bool = False,
    options: Options = DEFAULT,
) -> Kernel:
    """Reverse mode by the entry parameters where ``active``, of the results where ``wanted``.
    ``assuming``: it may raise `Unlikely` at once, see `assume`."""
    chosen = None if wanted is None else tuple(wanted)
    key = ("gradient", tuple(active), chosen, split, assuming, options)
    return _cached(flat, key, lambda: _gradient(flat, active, wanted, split, assuming, options))


def pushforward(flat: Flat, active: Sequence[bool], options: Options = DEFAULT) -> Kernel:
    """Forward mode by the entry parameters where ``active``."""
    key = ("pushforward", tuple(active), options)
    make = partial(_pushforward, flat, active, options)
    return _cached(flat, key, lambda: for_any_shapes(make, flat, options))


def _primal(flat: Flat, options: Options) -> Kernel:
    ir = flat.ir.copy()
    return Kernel(flat, _executable(ir, options, flat), 0, parts={"primal": ir})


def _gradient(
    flat: Flat,
    active: Sequence[bool],
    wanted: Sequence[bool] | None,
    split: bool,
    assuming: bool,
    options: Options,
) -> Kernel:
    built = build(
        source(flat, options, assuming=assuming), active, wanted, split=split, policy=options.policy
    )
    fast = options.plan == "full"
    first = polished(built.forward, forward=split) if fast else clean(built.forward)
    parts = {"forward" if split else "combined": first}
    back = None
    if built.reverse is not None:
        parts["reverse"] = last = polished(built.reverse) if fast else clean(built.reverse)
        back = _executable(last, options, flat, apart=not meets_arguments(built.reverse))
    return Kernel(flat, _executable(first, options, flat), 1, back, built, parts=parts)


def _pushforward(flat: Flat, active: Sequence[bool], options: Options, *, assuming: bool) -> Kernel:
    push = forward(source(flat, options, assuming=assuming), active)
    ir = clean(push.ir)
    return Kernel(flat, _executable(ir, options, flat), 0, push=push, parts={"pushforward": ir})


def source(flat: Flat, options: Options, *, assuming: bool = False) -> IR:
    """The function to differentiate."""
    return flat.ir if options.plan == "unoptimised" else prepared(flat, assuming=assuming)


def assumes(flat: Flat, options: Options) -> bool:
    """Whether the gradient has faster code for shapes that agree."""
    if options.plan != "full":
        return False
    return prepared(flat, assuming=True) is not flat.__dict__["prepared"].get(False)


def for_any_shapes(make: Callable[..., Any], flat: Flat, options: Options) -> Any:
    """What is made ``assuming`` that shapes agree, if there is anything to assume; its ``call``
    takes other shapes as well."""
    assuming = assumes(flat, options)
    made = make(assuming=assuming)
    if assuming:
        made.call = Either(made.call, lambda: make(assuming=False).call)
    return made


def prepared(flat: Flat, *, inner: bool = False, assuming: bool = False) -> IR:
    """The function optimised: what is differentiated. Derivatives of optimised code are better.
    The arguments of an ``inner`` function, one that is called by others, may overlap.
    ``assuming``: as `assume` does; the function itself if there is nothing to assume."""
    kept = flat.__dict__.setdefault("prepared", {})
    if assuming not in kept:
        ir = flat.ir.copy()
        apart = not inner or sum(is_array(a.type) for a in ir.args) < 2
        check_leaves(ir)
        optimize(ir)
        if settle_units(ir):
            optimize(ir)
        assumed = assuming and assume(ir)
        changed = decide_copies(ir, apart=apart) | look_through(ir) | (apart and fuse(ir))
        if changed or assumed:
            optimize(ir)
        if hoist_temporaries(ir):
            optimize(ir)
        kept[assuming] = ir
        if assuming and not assumed:
            kept[False] = ir
    return kept[assuming]


def clean(ir: IR) -> IR:
    """Type what AD wrote, enter and inline the rules' partials, and tidy up."""
    flat = labelled(ir)
    drop_labels(flat)
    return flat


def labelled(ir: IR) -> IR:
    """Clean, but for the labels of arrays from the tape, which passes of the reverse half ask."""
    flat = reflat(ir)
    drop_marks(flat)  # a rule's copies are its own
    optimize(flat)
    return flat


def polished(ir: IR, *, forward: bool = False) -> IR:
    """Clean, and with its loops in the form that runs fast. The ``forward`` half of a split pair
    keeps its sums in their order, as the one of a combined function does."""
    ir = ir.copy()
    products_in_place(ir)
    flat = labelled(ir)
    turned = False
    for turn in () if forward else (give_back, one_sweep, promote, gather):
        if turn(flat):
            turned = True
            tidy(flat)
    if turned:
        optimize(flat)
    if set_apart(flat, forward=forward):
        optimize(flat)
    if windows(flat):
        optimize(flat)
    drop_labels(flat)
    return flat


def on_cpython(ir: IR) -> Callable[..., Any]:
    """The function as CPython runs it, and those that it calls."""
    from ..backend import lower

    for op in ir.ops():
        if is_outlined(op) and op.callee.run is None:
            op.callee.run = lambda *args: None  # it may call itself
            op.callee.run = on_cpython(op.callee.flat.ir)
    return lower(ir)


def _users_rule(f: Any) -> bool:
    """Whether it is a Python function with a scalar rule: not entered until now."""
    mine = isinstance(f, (FunctionType, Dispatcher)) and f not in PRIMS
    return mine and registry.scalar(f) is not None


def _executable(
    ir: IR, options: Options, flat: Flat, *, apart: bool | None = None
) -> Callable[..., Any]:
    """The function as it runs. ``apart``: whether its array arguments share memory neither with
    each other nor with arrays that it gets from elsewhere; by default what the code tells."""
    if any(_users_rule(op.callee) for op in ir.ops()):
        ir = reflat(ir, ruled=False)  # such functions are entered now
    if options.run == "python":
        return on_cpython(ir)
    from ..backend.native import callees_of, compile_native
    from ..backend.parallel import kernels_for

    program = [flat.ir, *(c.flat.ir for c in callees_of(flat.ir))]
    fastmath = options.fastmath or flat.semantics.fastmath
    # callers refuse overlapping arrays of which one is written
    apart = not meets_arguments(ir) if apart is None else apart
    chosen = {"fastmath": fastmath, "noalias": apart, "cache": options.cache}
    chosen["kernels"] = tuple(sorted(kernels_for(program)))
    return compile_native(ir, options=chosen)


def _cached(flat: Flat, key: Any, make: Callable[[], Kernel]) -> Kernel:
    kernels = flat.__dict__.setdefault("kernels", {})
    if key not in kernels:
        with _lock:
            if key not in kernels:
                kernels[key] = make()
    return kernels[key]
