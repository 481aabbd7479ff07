"""Where contextual code runs: a stack of contexts, and what a call means under it.

The stack is ordered from the innermost context outwards. The innermost that has a primitive for a
call decides it; the primitive itself runs under the contexts further out.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Sequence
from types import CellType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ..backend.lower import lower_code
from ..errors import LiftError, NotLiftable
from ..frontend import lift
from ..ir import intrinsics
from . import builtin_sites, callbacks, frames, making, protocols, sites
from .filters import Filter
from .hooks import Hooks
from .passes import run_passes
from .primitives import Primitive
from .rewrite import Need, Rewriting, Watch
from .run import (
    ENTRIES,
    RESUME,
    Entry,
    Everything,
    Found,
    Place,
    Run,
    signature_of,
)
from .tables import Compiled, is_dead, table_for, weakly

if TYPE_CHECKING:
    from .context import Context


class Room:
    """``stack``: the contexts, innermost first. ``root``: the room of the outermost run, which owns
    the others."""

    def __init__(self, stack: Sequence[Place], root: Room | None = None) -> None:
        self.stack = tuple(stack)
        self.root = root or self
        self.stamp: Any = None  # the state of the class that it was made for
        self.entries: dict[Any, Entry] = {}
        self.shared: dict[Need, CellType] = {}
        self.known: dict[FunctionType, Any] = {}
        self.plain_names: set[tuple[type, str]] = set()  # attributes that run nothing in Python
        if root is None:
            self.run = Run(self.forget)
            self.touched: list[Any] = []
            self.related: dict[Any, Room] = {}
            self.plain: set[type] = set()
        else:
            self.run, self.touched, self.plain = root.run, root.touched, root.plain
        self._look_up()

    def _look_up(self) -> None:
        contexts = [p.ctx for p in self.stack]
        self.lookups = [type(c)._lookup() for c in contexts]
        self.filters = [Filter(c.recurse_into, c.exclude) for c in contexts]
        self.hooks = Hooks(contexts)
        self.hooked = bool(self.hooks)
        self.passes = any(type(c).passes for c in contexts)
        general = any(x.general for x in self.lookups)
        bound = any(type(k) is tuple for x in self.lookups for k in x.by_key)
        self.singled_out = {
            id(known[0].callee.__code__)
            for x in self.lookups
            for known in x.by_key.values()
            if isinstance(known[0].callee, FunctionType)
        }  # the code of functions with primitives: others may have the same code
        self.methods_stable = not (general or bound)
        self.watch = Watch(
            frozenset(k for x in self.lookups for k in x.by_key if type(k) is int),
            general or self.hooked,
            bool(self.hooks.prehook),
            bool(self.hooks.posthook),
            bool(self.hooks.errorhook),
            general or self.passes or any(x.conditional for x in self.lookups),
        )
        names: set[str] = {f.__name__ for f in (*callbacks.CALLERS, *protocols.CALLED_BY_NAME)}
        names |= {*callbacks.CALLING_METHODS, *(n for x in self.lookups for n in x.names)}
        names.add(sys._getframe.__name__)
        self.watched_names: Any = Everything() if general or self.hooked else frozenset(names)
        outer = tuple(type(c) for c in contexts[1:])
        stamps = tuple(type(c)._stamp() for c in contexts)
        self.table = table_for(type(contexts[0]), (outer, stamps, self.watch))

    # -- lifetime ------------------------------------------------------------------------------
    def touch(self, memory: Any) -> None:
        """Have ``memory`` emptied at the end of the run."""
        self.touched.append(memory)

    def forget(self) -> None:
        for memory in self.touched:
            if isinstance(memory, list):
                memory[0] = sites.EMPTY
            else:
                memory.clear()
        self.touched.clear()
        self.related.clear()
        self.plain -= {t for t in self.plain if not protocols.is_static(t)}
        dead = [k for k, e in self.entries.items() if e.code() is None or is_dead(k[1])]
        for k in dead:
            del self.entries[k]

    def is_plain(self, t: type) -> bool:
        """Whether operators on the type run nothing that is entered."""
        if not any(map(self._matters, protocols.special_methods(t))):
            self.plain.add(t)
            return True
        return False

    def _matters(self, f: FunctionType) -> bool:
        chosen = any(p.level != 0 and c.admits(f) for p, c in zip(self.stack, self.filters))
        return chosen or self.watch.everything or id(f) in self.watch.callees

    # -- other rooms ---------------------------------------------------------------------------
    def other(self, stack: Sequence[Place]) -> Room:
        """The room of another stack in the same run."""
        if tuple(stack) == self.stack:
            return self
        key = tuple((id(p.ctx), p.level) for p in stack)
        related = self.root.related
        if key not in related:
            related[key] = Room(stack, self.root)
        return related[key]

    def within(self, ctx: Context) -> Room:
        """The room of ``ctx`` on top of this one."""
        if any(p.ctx is ctx for p in self.stack):
            return self
        return self.other((Place(ctx, ctx.depth), *self.stack))

    def below(self, f: FunctionType) -> Room | None:
        """The room that ``f`` runs in when it is called here; None if no context enters it."""
        stack = [
            Place(p.ctx, None if p.level is None else p.level - 1)
            for p, chosen in zip(self.stack, self.filters)
            if p.level != 0 and chosen.admits(f)
        ]
        return self.other(stack) if stack else None

    # -- what a call means ---------------------------------------------------------------------
    def call(self, g: Any, /, *args: Any, **kw: Any) -> Any:
        """``g(*args, **kw)`` as contextual code calls it, hooks included."""
        if not self.hooked:
            target = self.lasting(g) if type(g) is FunctionType else None
            if target is None:
                target = self.resolve(g, (*args, *kw.values()), tuple(kw)).target
            return target(*args, **kw)
        hooks = self.hooks
        hooks.prehook(g, *args, **kw)
        target = self.resolve(g, (*args, *kw.values()), tuple(kw)).target
        try:
            out = target(*args, **kw)
        except BaseException as e:
            hooks.errorhook(e, g, *args, **kw)
            raise
        hooks.posthook(out, g, *args, **kw)
        return out

    def lasting(self, f: FunctionType) -> Any:
        """What a call of ``f`` is until the run ends; None if that depends on the arguments."""
        known = self.known
        if f not in known:
            if not known:
                self.touch(known)
            found = self.resolve(f, None, ())
            known[f] = found.target if found.stable and not found.look else None
        return known[f]

    def dispatched(self, g: Any) -> Any:
        """A callable that decides by the arguments what a call of ``g`` is."""

        def call(*args: Any, **kw: Any) -> Any:
            return self.resolve(g, (*args, *kw.values()), tuple(kw)).target(*args, **kw)

        for name in ("__module__", "__qualname__"):  # what errors of unpacking show
            if isinstance(shown := getattr(g, name, None), str):
                setattr(call, name, shown)
        return call

    def resolve(
        self,
        g: Any,
        args: Sequence[Any] | None,
        names: tuple[str, ...],
        skip: Context | None = None,
        force: bool = False,
    ) -> Found:
        """What to call for ``g``. ``args`` None: unknown yet; the last are those of the keywords
        ``names``. ``skip``: a context whose primitives don't count; ``force``: enter whatever the
        filters say."""
        stable = True
        for k, (place, lookup) in enumerate(zip(self.stack, self.lookups)):
            if not lookup or place.ctx is skip:
                continue
            for p, before in lookup.of(g):
                if p.conditional:
                    stable = False
                    if args is None:
                        return Found(self.dispatched(g))
                    n = len(args) - len(names)
                    kw = dict(zip(names, args[n:]))
                    if not p.accepts(place.ctx, (*before, *args[:n]), kw):
                        continue
                return Found(self._primitive(k, p, before), stable and not before)
        found = self._beyond(g, args, names, force)
        if isinstance(g, MethodType) and not self.methods_stable:
            stable = False
        return found if stable else found._replace(stable=False)

    def _primitive(self, k: int, p: Primitive, before: tuple[Any, ...]) -> Any:
        """The body of a primitive of context k, under the contexts further out."""
        ctx, body = self.stack[k].ctx, p.body
        if len(self.stack) > 1:
            outer = self.stack[k + 1 :]
            if outer:
                body = self.other(outer).resolve(body, None, (), force=True).target
            return functools.partial(self._resumable, ctx, body, ctx, *before)
        return functools.partial(body, ctx, *before)

    def _resumable(self, owner: Context, body: Any, /, *args: Any, **kw: Any) -> Any:
        """Run a primitive so that its ``recurse`` goes on with this stack."""
        token = RESUME.set({**RESUME.get(), id(owner): self})
        try:
            return body(*args, **kw)
        finally:
            RESUME.reset(token)

    # -- without a primitive -------------------------------------------------------------------
    def _beyond(
        self, g: Any, args: Sequence[Any] | None, names: tuple[str, ...], force: bool
    ) -> Found:
        kind = type(g)
        if kind is FunctionType:
            return self._function(g, args, names, force)
        if kind is MethodType:
            return self._method(g, args, names, force)
        if kind is functools.partial:
            return self._partial(g, args, names, force)
        if g is sys._getframe:
            return Found(frames.get_frame, True)
        if kind is callbacks.Handed:
            return Found(self.dispatched(g.__wrapped__) if g._room is self else g)
        if isinstance(g, type) and protocols.is_constructed(g):
            return self._class(g, args, force)
        position = callbacks.called_argument(g)
        if position is not None:
            if args is None or any(map(callable, args)):
                return Found(functools.partial(callbacks.call_calling, self, position, g))
            return Found(g)
        if kind in (type, protocols.BUILTIN) and protocols.protocol(g) is not None:
            return Found(self._builtin(g), True)
        method = None if isinstance(g, type) else protocols.lookup(kind, "__call__")
        if protocols.in_python(method):
            inner = None if args is None else (g, *args)
            found = self.resolve(method, inner, names, force=force)
            if found.target is not method:
                inside = functools.partial(self.call, method) if self.hooked else found.target
                return Found(functools.partial(inside, g))
        return self._plain(g, args)

    def _builtin(self, g: Any) -> Any:
        """The name of an operation that runs methods of its operands."""
        need = Need("builtin", g)
        if need not in self.shared:
            self.shared[need] = CellType(builtin_sites.builtin_site(self, g))
        return self.shared[need].cell_contents

    def shared_builtin(self, g: Any) -> Any:
        """What `_builtin` has made for ``g``, None if nothing."""
        cell = self.shared.get(Need("builtin", g))
        return None if cell is None else cell.cell_contents

    def _function(
        self, f: FunctionType, args: Sequence[Any] | None, names: tuple[str, ...], force: bool
    ) -> Found:
        if f.__module__ == intrinsics.__name__:  # the language itself, written down in Python
            special = protocols.OTHERS.get(f)
            return Found(f if special is None else functools.partial(special, self), True)
        if self.passes and args is None:
            return Found(self.dispatched(f)) if self.entry(f, (), force).compiled else Found(f)
        signature = signature_of(args or (), names) if self.passes else ()
        entry = self.entry(f, signature, force)
        if entry.compiled is None:
            return self._plain(f, args)
        made = sites.instantiate(f, entry.compiled.code, entry.cells)
        return Found(made, not self.passes, False, entry)

    def _method(
        self, g: MethodType, args: Sequence[Any] | None, names: tuple[str, ...], force: bool
    ) -> Found:
        f, owner = g.__func__, g.__self__
        if f in ENTRIES:
            return Found(functools.partial(self._nested, f, owner))
        found = self._beyond(f, None if args is None else (owner, *args), names, force)
        return found._replace(target=g if found.target is f else MethodType(found.target, owner))

    def _nested(self, entering: Any, ctx: Any, /, *args: Any, **kw: Any) -> Any:
        """``ctx.overdub(...)`` in contextual code: ``ctx`` comes on top of the stack."""
        return entering(ctx, *args, _room=self.within(ctx), **kw)

    def _partial(
        self, g: Any, args: Sequence[Any] | None, names: tuple[str, ...], force: bool
    ) -> Found:
        if args is not None:
            n = len(args) - len(names)
            kw = {**g.keywords, **dict(zip(names, args[n:]))}
            args, names = (*g.args, *args[:n], *kw.values()), tuple(kw)
        found = self.resolve(g.func, args, names, force=force)
        if found.target is g.func:
            return Found(g)
        inside = functools.partial(self.call, g.func) if self.hooked else found.target
        return Found(functools.partial(inside, *g.args, **g.keywords))

    def _class(self, cls: type, args: Sequence[Any] | None, force: bool) -> Found:
        new: Any = cls.__new__
        init = protocols.lookup(cls, "__init__")
        own = [f for f in (new, init) if protocols.in_python(f)]
        if not any(self.entry(f, (), force).compiled for f in own):
            return self._plain(cls, args)
        if new is object.__new__ and not self.hooked:
            initialise = self.resolve(init, None, (), force=force)
            if initialise.stable:
                make = making.constructor(cls, initialise.target, None)
                return Found(make, True, init=initialise.target)
        return Found(functools.partial(protocols.construct, self, cls), True)

    def _plain(self, g: Any, args: Sequence[Any] | None) -> Found:
        if not callbacks.may_call_back(g):
            return Found(g, True)
        if args is None or any(map(sites.is_handed, args)):
            return Found(functools.partial(callbacks.call_with_handed, self, g))
        return Found(g, True, True)

    # -- entering a function -------------------------------------------------------------------
    def entry(self, f: FunctionType, signature: Any, force: bool = False) -> Entry:
        code = f.__code__
        key = (id(code), weakly(signature), force)
        entry = self.entries.get(key)
        if entry is None or entry.code() is not code:
            entry = self.entries[key] = self._enter(f, signature, force)
        return entry

    def _enter(self, f: FunctionType, signature: Any, force: bool) -> Entry:
        code = f.__code__
        room = self if force else self.below(f)
        compiled = None
        if room is not None:
            compiled = room.table.get(code, signature, lambda: room.compile(f, signature))
        if room is None or compiled is None:
            return Entry(weakref.ref(code), None, ())
        return Entry(weakref.ref(code), compiled, room.cells(compiled, f.__globals__))

    def compile(self, f: FunctionType, signature: Any) -> Compiled | None:
        """The contextual code of ``f``; None if it has no IR."""
        try:
            ir = lift(f)
        except (LiftError, NotLiftable):
            return None
        ir = run_passes(ir, [type(p.ctx) for p in self.stack], signature, f)
        rewriting = Rewriting(ir, self.watch)
        return Compiled(lower_code(rewriting.run(), lets_go=True).code, rewriting.needs)

    def cells(self, compiled: Compiled, globals: dict[str, Any]) -> tuple[CellType, ...]:
        """New cells with what the code needs; what sites may share is shared."""
        return tuple(self._cell(need, globals) for need in compiled.needs)

    def _cell(self, need: Need, globals: dict[str, Any]) -> CellType:
        if need.kind in ("guard", "spread guard"):
            return CellType(self.hooks.guard(globals, need.kind == "spread guard"))
        if need.kind in ("call", "spread", "attribute"):
            return CellType(self.make(need))
        if need not in self.shared:
            self.shared[need] = CellType(self.make(need))
        return self.shared[need]

    def make(self, need: Need) -> Any:
        """What belongs into a free variable of contextual code."""
        kind, of = need
        if kind == "call":
            return sites.call_site(self, *of)
        if kind == "spread":
            return sites.spread_site(self)
        if kind == "operator":
            return sites.operator_site(self, of)
        if kind == "attribute":
            return sites.attribute_site(self, of)
        if kind == "iterable":
            return sites.opening_site(self, of)
        if kind == "write":
            return sites.writing_site(self, *of)
        if kind == "context":
            return self.stack[of].ctx
        if kind == "steps":
            return functools.partial(protocols.steps, self)
        return self.hooks.make(kind, of)
