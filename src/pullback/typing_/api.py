"""The entry points of typing: `flat`, `reflat`, and the public `infer`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from numba.core import types

from ..errors import JoinError, TypingError
from ..frontend import lift
from ..ir.core import IR, Const, Value
from .access import SELF, Static
from .calls import bind
from .capture import is_trusted, note_static
from .emitter import Emitter
from .engine import Engine, instability_warnings
from .lattice import Abstract, ATuple, AVal, abstract_of, constant, from_type, is_scalar, widen
from .lists import grown
from .specialised import PYTHON, Flat, Semantics, Spec
from .typable import typable


def flat(f: Callable[..., Any] | IR, avals: Iterable[Abstract]) -> Flat:
    """Flatten a function (an @njit dispatcher too) or lifted IR for abstract arguments, one for
    each parameter.

    A captured integer is a hidden argument unless typing needs its value (as an axis, say): then
    all captured integers are taken by value, and of integer arguments those whose abstract value
    has an example; `Flat.args` has them as constants, `Flat.statics` says where to check them."""
    ir = typable(f if isinstance(f, IR) else lift(f))
    args = tuple(avals)
    engine, spec = _inferred(ir, args)
    em = Emitter(ir.info.name)
    em.function(spec, [p.name for p in ir.args])
    em.shared.write_all()
    _pass_hidden(em)
    return _result(engine, em, spec)


def _inferred(ir: IR, args: tuple[Abstract, ...]) -> tuple[Engine, Spec]:
    engine = Engine()
    try:
        return engine, _run(engine, ir, args)
    except JoinError:
        raise  # different types on two paths are for the user to mend
    except TypingError:
        if not (engine.captured_int or any(map(_has_example, args))):
            raise
        pinned = Engine(pins=True)
        try:
            return pinned, _run(pinned, ir, tuple(_known(pinned, a) for a in args))
        except TypingError:
            pass
        raise


def _has_example(a: Abstract) -> bool:
    if isinstance(a, ATuple):
        return any(map(_has_example, a.elements))
    return a.example is not None


def _known(engine: Engine, a: Abstract) -> Abstract:
    """The argument with its integers taken by value."""
    if isinstance(a, ATuple):
        return ATuple(tuple(_known(engine, e) for e in a.elements), a.cls, a.src)
    if a.example is None:
        return a
    value, place = a.example
    note_static(engine, value, place)
    return constant(value)


def _run(engine: Engine, ir: IR, args: tuple[Abstract, ...]) -> Spec:
    if len(args) != len(ir.args):
        raise TypingError(f"{len(args)} arguments are given for {len(ir.args)} parameters")
    spec = Spec(grown(ir), args, semantics_of(ir), ir.info.qualname)
    spec.place = SELF
    spec.trusted = is_trusted(ir.info.globals.get("__name__"))
    spec.rewritten = getattr(ir, "_rewritten", False)
    engine.run(spec)
    if spec.result is None and not any(True for _ in ()):
        spec.result = AVal(types.none, None)
    return spec


def semantics_of(ir: IR) -> Semantics:
    """Whose meaning a lifted function has: Numba's if it was an @njit dispatcher."""
    options = ir.info.options
    if not options:
        return PYTHON
    return Semantics(
        True,
        bool(options.get("boundscheck")),
        options.get("error_model", "python"),
        options.get("fastmath", False),
    )


def _pass_hidden(em: Emitter) -> None:
    """Give the hidden arguments of specialised callees to their callers, until none is missing."""
    emitters = [em, *em.shared.emitters.values()]
    changed = True
    while changed:
        changed = False
        for e in emitters:
            for _, target in e.calls:
                for hidden in em.shared.emitters[target].hidden:
                    if hidden not in e.hidden:
                        p = e.hidden[hidden] = e.ir.value(str(hidden.name), hidden.type)
                        e.ir.entry.params.append(p)
                        changed = True
    for e in emitters:
        for op, target in e.calls:
            callee = em.shared.emitters[target]
            op.args = (*op.args, *(e.hidden[h] for h in callee.hidden))


def _result(engine: Engine, em: Emitter, spec: Spec) -> Flat:
    statics = [Static.of(place, value) for place, value in engine.statics.items()]
    targets = []
    for s, target in em.shared.made.items():
        e = em.shared.emitters[target]
        e.finish()
        target.flat = Flat(e.ir, s.args, widen(s.result), list(e.hidden), [], [], s.semantics)
        targets.append(target)
    em.finish()
    return Flat(
        em.ir, spec.args, widen(spec.result), list(em.hidden), statics, targets, spec.semantics
    )  # fmt: skip


def reflat(ir: IR, ruled: bool = True) -> IR:
    """The same for IR that a transform wrote: entry parameters and slots carry types, operations
    that carry a type and are no Python function keep it, Python functions are entered (those with
    a scalar rule too unless ``ruled``: when nothing is left to differentiate)."""
    args = tuple(_rewritten_arg(p) for p in ir.args)
    engine = Engine(ruled=ruled)
    spec = Spec(ir, args, PYTHON, ir.info.qualname)
    spec.place, spec.rewritten, spec.trusted = SELF, True, False
    engine.run(spec)
    em = Emitter(ir.info.name)
    em.function(spec, [p.name for p in ir.args])
    em.shared.write_all()
    em.finish()
    return em.ir


def _rewritten_arg(p: Value) -> Abstract:
    if p.type is None:
        raise TypingError("an argument of rewritten IR has no type", variable=p.name)
    return AVal(p.type) if is_scalar(p.type) else from_type(p.type)


def infer(ir: IR | Callable[..., Any], *args: Any, warn: bool = False) -> IR:
    """A copy of ``ir`` with types on its values, for arguments given by example or as Numba types.

    ``warn``: say, as `TypeInstability` warnings, where a variable changes type on the way."""
    source = typable(ir if isinstance(ir, IR) else lift(ir))
    avals = tuple(_example(a) for a in args)
    given = [(a, a) for a in avals]
    info = source.info
    npos = len(info.argnames) - info.kwonly - info.varargs - info.varkw
    defaults = {
        n: (constant(v),) * 2
        for n, v in zip(info.argnames[npos - len(info.defaults) : npos], info.defaults)
    }
    defaults.update({n: (constant(v),) * 2 for n, v in info.kwdefaults.items()})
    bound = bind(info, info.name, given, {}, defaults) if info.argnames else given
    engine, spec = _inferred(source, tuple(a for _, a in bound))
    if warn:
        for w in instability_warnings(engine):
            warnings.warn(w, stacklevel=2)
    return typed_copy(spec)


def _example(a: Any) -> Abstract:
    if isinstance(a, (AVal, ATuple)):
        return a
    return from_type(a) if isinstance(a, types.Type) else abstract_of(a)


def typed_copy(spec: Spec) -> IR:
    """The function's IR with a type on each value that has one."""
    copy, twins = spec.ir.copy_with_map()
    for v, a in spec.values.items():
        if v in twins:
            twins[v].type = shown_type(a)
    return copy


def shown_type(a: Abstract) -> Any:
    """The type to print: Numba's where there is one."""
    if isinstance(a, AVal) and a.type is None:
        return types.literal(a.const) if isinstance(a.const, str) else Shown(repr(a))
    return a.type if a.type is not None else Shown(repr(a))


class Shown:
    """The type of a product or a static object, for print."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


__all__ = ["Const", "flat", "infer", "reflat"]
