"""Entering functions: arguments bound to parameters, one specialisation for each tuple of abstract
arguments, nested functions with their cells.
"""

from __future__ import annotations

import functools
from types import MethodType
from typing import Any

from ..errors import TypingError
from ..frontend import lift, lift_code
from ..ir.core import IR
from ..rules import registry
from . import capture
from .access import place_of
from .actions import Action, Enter, Via, constant_form, source_form
from .calls import Call, bind
from .lattice import Abstract, ATuple, static, widen
from .lists import grown
from .specialised import MAX_INLINE, PYTHON, Semantics, Spec
from .statements import split_closure
from .typable import typable

STATIC_DEPTH = 16  # how deep a body may call itself with constants that differ
_trusted_specs: dict[Any, Spec] = {}
_generation = -1


class Entering:
    """The part of the resolver that enters functions."""

    engine: Any
    stable: bool

    def resolve(self, c: Call) -> Action:
        raise NotImplementedError

    def enter_function(self, f: Any, args: tuple[Abstract, ...]) -> Enter:
        """Enter a Python function of this package on all operands, in order."""
        given = [(i, a) for i, a in enumerate(args)]
        return self.specialise(f, given, {}, PYTHON, None)

    def enter(
        self, c: Call, f: Any, semantics: Semantics | None = None, place: Any = None
    ) -> Enter:
        """Enter a Python function with the arguments of the call."""
        given = list(zip(c.sources, c.args))
        kw = {k: (c.kw_sources[k], a) for k, a in c.kw.items()}
        return self.specialise(f, given, kw, semantics or PYTHON, place)

    def specialise(
        self, f: Any, args: list[Any], kw: dict[str, Any], semantics: Semantics, place: Any
    ) -> Enter:
        ir = lifted(f)
        place = place or place_of(f)
        defaults = self.defaults(f, ir, place)
        bound = bind(ir.info, f.__name__, args, kw, defaults)
        trusted = capture.is_trusted(f.__globals__.get("__name__"))
        avals = self.generalised(f.__code__, tuple(a for _, a in bound), trusted)
        if not trusted:
            self.stable = False
            capture.note_static(self.engine, f.__code__, (*place, ("func",), ("attr", "__code__")))
        key = (f, avals, semantics)
        table = self.trusted_specs() if trusted else self.engine.specs

        def make(avals: tuple[Abstract, ...] = avals) -> Spec:
            spec = Spec(ir, avals, semantics, ir.info.qualname)
            spec.place, spec.trusted, spec.code = place, trusted, f.__code__
            return spec

        found = table.get(key)
        if found is None or found.running or found.heads or table is self.engine.specs:
            found = self.engine.spec(key, make)
            if found.stable is None:
                found.stable = self.stable
            self.stable = self.stable and found.stable
            if trusted and found.stable and not found.running and not found.heads:
                table[key] = found
        if found.size > MAX_INLINE and not trusted:
            found = self.shared(found, key, make)
        return Enter(found, tuple(s for s, _ in bound), tuple(a for _, a in bound))

    def shared(self, big: Spec, key: tuple[Any, ...], make: Any) -> Spec:
        """A function too big to inline, for numbers not known: one for all calls, if that types."""
        f, avals, semantics = key
        wide = tuple(map(widen, avals))
        if wide == avals:
            return big
        try:
            return self.engine.spec((f, wide, semantics), lambda: make(wide))
        except TypingError:
            return big

    def generalised(
        self, code: Any, avals: tuple[Abstract, ...], trusted: bool
    ) -> tuple[Abstract, ...]:
        """The arguments without known numbers where a function calls itself, which would otherwise
        be specialised anew at each depth."""
        depth = sum(s.code is code for s in self.engine.stack)
        return tuple(map(widen, avals)) if depth > (STATIC_DEPTH if trusted else 0) else avals

    def trusted_specs(self) -> dict[Any, Spec]:
        """Specs of this package's own functions outlive an inference, until a rule changes."""
        global _generation
        if _generation != registry.generation():
            _generation = registry.generation()
            _trusted_specs.clear()
        return _trusted_specs

    def defaults(self, f: Any, ir: IR, place: Any) -> dict[str, Any]:
        info = ir.info
        npos = len(info.argnames) - info.kwonly - info.varargs - info.varkw
        values = f.__defaults__ or ()
        named = dict(zip(info.argnames[npos - len(values) : npos], values))
        named.update(f.__kwdefaults__ or {})
        found = {}
        for name, value in named.items():
            a = capture.default_value(self.engine, f, name, value, place)
            found[name] = (a, a)
        return found

    def closure(self, c: Call) -> Action:
        """A nested function: its cells are those of the function that made it."""
        self.stable = False
        f = c.fn
        assert isinstance(f, ATuple)
        made = f.cls.spec
        cells, defaults, kwdefaults = split_closure(f)
        ir = lifted_code(made.code, f.cls.scope.value)
        info = ir.info
        npos = len(info.argnames) - info.kwonly - info.varargs - info.varkw
        known = {
            n: ((0, i), a)
            for n, (i, a) in zip(info.argnames[npos - len(defaults) : npos], defaults)
        }
        known.update({n: ((0, i), a) for n, (i, a) in kwdefaults.items()})
        known = {n: (_Part(*s), a) for n, (s, a) in known.items()}
        bound = bind(
            info,
            made.qualname,
            list(zip(c.sources, c.args)),
            {k: (c.kw_sources[k], a) for k, a in c.kw.items()},
            known,
        )
        avals = self.generalised(made.code, tuple(a for _, a in bound), f.cls.trusted)
        free = dict(zip(info.freevars, (a for _, a in cells)))
        versions = tuple((n, id(a.const), getattr(a.const, "version", 0)) for n, a in free.items())
        key = (made.code, avals, versions, f.cls.semantics)

        def make() -> Spec:
            spec = Spec(ir, avals, f.cls.semantics, made.qualname)
            spec.cells, spec.trusted = free, f.cls.trusted
            spec.place, spec.code = place_of(made.code), made.code
            return spec

        spec = self.engine.spec(key, make)
        given = tuple(a for _, a in bound)
        return _EnterClosure(spec, tuple(s for s, _ in bound), given, tuple(free))

    def bound_method(self, c: Call, f: MethodType) -> Action:
        this = static(f.__self__, src=None)
        inner = Call(c.spec, static(f.__func__), (this, *c.args), c.kw, c.op, c.sweep)
        form = self.resolve(inner)
        return Via(form, lambda forms: (forms[0], constant_form(this), *forms[1:]))

    def partial(self, c: Call, f: functools.partial[Any]) -> Action:
        place = c.fn.src or place_of(f)
        fixed = [
            capture.captured(self.engine, v, (*place, ("attr", "args"), ("item", i)))
            for i, v in enumerate(f.args)
        ]
        named = {
            k: capture.captured(self.engine, v, (*place, ("attr", "keywords"), ("item", k)))
            for k, v in f.keywords.items()
        }
        named = {k: v for k, v in named.items() if k not in c.kw}
        inner = Call(
            c.spec,
            static(f.func, src=(*place, ("attr", "func"))),
            (*fixed, *c.args),
            {**named, **c.kw},
            c.op,
            c.sweep,
        )
        self.stable = False
        n = len(c.args)
        return _WithCaptured(self.resolve(inner), fixed, list(named.values()), n)


class _Part:
    """A source: part ``i`` of operand ``k``."""

    def __init__(self, k: int, i: int) -> None:
        self.k, self.i = k, i


class _EnterClosure(Enter):
    """Entering a nested function, whose cells come with the callee."""

    def __init__(self, spec: Spec, sources: Any, given: Any, free: tuple[str, ...]) -> None:
        super().__init__(spec, sources, given)
        self.free = free

    def emit(self, em: Any, args: Any) -> Any:
        forms = tuple(
            args[s.k][s.i] if isinstance(s, _Part) else source_form(em, s, args)
            for s in self.sources
        )
        cells = dict(zip(self.free, args[0]))
        return em.enter(self.spec, self.as_params(em, forms), cells)


class _WithCaptured(Action):
    """An action with captured arguments before and after the positional ones."""

    def __init__(self, inner: Action, before: list[Any], after: list[Any], n: int) -> None:
        self.inner, self.before, self.after, self.n = inner, before, after, n
        self.size = inner.size

    @property
    def result(self) -> Any:
        return self.inner.result

    def emit(self, em: Any, args: Any) -> Any:
        before = tuple(em.captured(a) for a in self.before)
        after = tuple(em.captured(a) for a in self.after)
        split = 1 + self.n
        return self.inner.emit(em, (args[0], *before, *args[1:split], *after, *args[split:]))


_lifted: dict[Any, IR] = {}


def lifted(f: Any) -> IR:
    """The IR of a function; of one code object with one scope it is made once."""
    key = (f.__code__, id(f.__globals__)) if not f.__closure__ else None
    if key is None:
        return grown(typable(lift(f)))
    found = _lifted.get(key)
    if found is None or found.info.globals is not f.__globals__:
        found = _lifted[key] = grown(typable(lift(f)))
    return found


def lifted_code(code: Any, scope: Any) -> IR:
    key = (code, id(scope))
    found = _lifted.get(key)
    if found is None or found.info.globals is not scope:
        found = _lifted[key] = grown(typable(lift_code(code, scope)))
    return found
