"""What a call means. In order: the language's own operations, primitives, the user's rules,
numbers, bodies, Python functions, @njit functions, Numba's @overload bodies, and what Numba alone
knows.
"""

from __future__ import annotations

import functools
import inspect
import operator
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.np.ufunc.dufunc import DUFunc

from ..errors import LiftError, TypingError
from ..ir.core import Op
from ..rules import registry
from ..rules.numpy.vectorized import vectorized_body
from ..runtime import prims
from . import ask, growing, language, scalars
from .actions import Action, Known, Leaf, Via
from .calls import Call, body_of, name_of
from .entering import Entering
from .handlers import constant_value, with_constants
from .lattice import (
    NONE,
    NUMBERS,
    Abstract,
    ATuple,
    AVal,
    from_type,
    is_array,
    is_scalar,
    static,
    widen,
)
from .prim_types import INTEGERS, PRIM_TYPES, STATIC
from .products import from_numba
from .specialised import Semantics, Spec
from .statements import ClosureOf, MethodOf, PartialOf


class Resolver(Entering):
    """Resolves the calls of one inference."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.memo: dict[Any, Action] = {}
        self.stable = True  # whether the action being found may be remembered

    # -- entry ---------------------------------------------------------------------------------
    def call(
        self,
        spec: Spec,
        fn: Abstract,
        args: tuple[Abstract, ...],
        names: tuple[str, ...] = (),
        sweep: Any = None,
        op: Op | None = None,
    ) -> Action:
        """The action of ``fn(*args)``, the last of which are keyword arguments ``names``."""
        key = (fn, args, names, spec.semantics)
        found = self.memo.get(key)
        if found is not None:
            return found
        outer, self.stable = self.stable, True
        try:
            split = len(args) - len(names)
            c = Call(spec, fn, args[:split], dict(zip(names, args[split:])), op, sweep)
            action = self.resolve(c)
            if self.stable:
                self.memo[key] = action
        finally:
            self.stable = outer and self.stable
        return action

    def resolve(self, c: Call) -> Action:
        fn = c.fn
        if isinstance(fn, ATuple):
            if isinstance(fn.cls, MethodOf):
                return language.method(self, c)
            if isinstance(fn.cls, ClosureOf):
                return self.closure(c)
            if fn.cls is PartialOf:
                return language.call_partial(self, c)
            raise TypingError(f"{fn!r} is not callable")
        if not fn.known:
            raise TypingError(
                f"a value of type {fn.type} is called", hint="functions must be known at typing"
            )
        f = fn.const
        if not _hashable(f):
            raise TypingError(
                f"{getattr(f, '__name__', f)!r} is not known to compiled code",
                hint="Call it outside, or write what it does in Python.",
            )
        handler = _lookup(language.LANGUAGE, f)
        if handler is not None:
            action = handler(self, c)
            if action is not None:
                return action
        if _lookup(PRIM_TYPES, f) is not None:
            return self.primitive(c, f)
        return self.function(c, f)

    def function(self, c: Call, f: Any) -> Action:
        """A call of a function that is no part of the language."""
        arrays = growing.unwrapped(c)
        if arrays is not None and (registry.has_body(f) or _left_to_numba(f)):
            action = self.function(arrays, f)
            if growing.may_be_the_list(f, c, action.result):
                action = self.enter(arrays, growing.of_copies(f, c))
            return growing.on_arrays(action, c)
        action = self.number_call(c, f)
        if action is not None:
            return action
        body = body_of(f, c.args, c.kw)
        if body is not None and body is not f:
            return self.enter(c, body)
        action = language.special_callable(self, c, f)
        if action is not None:
            return action
        if isinstance(f, MethodType) and isinstance(f.__func__, FunctionType):
            return self.bound_method(c, f)
        if isinstance(f, functools.partial):
            return self.partial(c, f)
        mine = isinstance(f, FunctionType) and not _left_to_numba(f)
        if (mine or isinstance(f, Dispatcher)) and registry.is_inactive(f):
            return self.leaf(c, compiled(f))
        if mine:
            return self.enter(c, f, place=c.fn.src)
        if isinstance(f, Dispatcher):
            return self.dispatcher(c, f)
        body = vectorized_body(f, c.args) if isinstance(f, DUFunc) and not c.kw else None
        return self.numba(c, f) if body is None else self.enter(c, body)

    # -- numbers -------------------------------------------------------------------------------
    def number_call(self, c: Call, f: Any) -> Action | None:
        """A builtin function of numbers, folded if all are known."""
        if c.kw or not c.args or not all(_is_number(a) for a in c.args):
            return None
        args = c.args
        rule = registry.scalar(f)
        if not scalars.is_scalar_callee(f):
            ruled = rule is not None and self.engine.ruled
            return self.ruled(c, f) if ruled else None
        if registry.has_body(f) and (rule is None or len(rule.partials) != len(args)):
            body = body_of(f, args)
            if body is not None:
                return self.enter(c, body)
        numba = c.spec.semantics.numba
        if all(a.known for a in args):
            folded = scalars.fold(f, args)
            if folded is not None and not (numba and c.spec.semantics.error_model != "python"):
                return Known(folded)
        plan = scalars.plan(f, args, numba, c.spec.semantics.checked_division)
        if plan is None:
            kinds = ", ".join(str(a.type) for a in args)
            raise TypingError(f"{name_of(f)} takes no arguments of the types {kinds}")
        return Leaf(plan, args)

    def ruled(self, c: Call, f: Any) -> Action:
        """A function that the user gave partial derivatives: called, not entered."""
        if isinstance(f, (FunctionType, Dispatcher)):
            inner = self.enter(c, f) if isinstance(f, FunctionType) else self.dispatcher(c, f)
            result = inner.result
        else:
            sig = ask.leaf(f, tuple(a.type for a in c.args))
            result = None if sig is None else from_type(sig.return_type)
        if not isinstance(result, AVal):
            raise TypingError(f"{name_of(f)} has a scalar rule but does not return a number")
        none = (None,) * len(c.args)
        return Leaf(scalars.Plan(compiled(f), none, result.type, widen(result)), c.args)

    # -- primitives ----------------------------------------------------------------------------
    def primitive(self, c: Call, f: Any) -> Action:
        args = list(c.args)
        for i in STATIC.get(f, ()):
            args[i] = static(constant_value(args[i], f, i))
        first = INTEGERS.get(f, len(args))
        casts: list[Any] = [None] * len(args)
        for i in range(first, len(args)):
            casts[i] = _integer_cast(f, args[i])
        if f is prims.store:
            casts[1] = _element_cast(args)
        try:
            result = PRIM_TYPES[f](tuple(args))
        except (AttributeError, IndexError):
            shown = ", ".join(map(repr, c.args))
            raise TypingError(f"{name_of(f)} takes no arguments {shown}") from None
        leaf_type = types.none if result is NONE else result.type
        statics = {i: args[i].const for i in STATIC.get(f, ())}
        leaf = Leaf(scalars.Plan(f, tuple(casts), leaf_type, result), tuple(args))
        if not statics:
            return leaf
        return Via(leaf, lambda forms: (forms[0], *with_constants(forms[1:], statics)))

    def as_written(self, op: Op, args: tuple[Abstract, ...]) -> Action | None:
        """A leaf of flat IR, typed already: kept as it is. None if it is to be resolved."""
        f, kept = args[0].const, op.result.type is types.pyobject
        entered = (isinstance(f, FunctionType) and f not in PRIM_TYPES) or isinstance(f, Dispatcher)
        if (entered and not kept) or f is prims.pack:
            return None
        if f is operator.getitem and isinstance(args[1], ATuple):
            return None
        result = from_type(op.result.type)
        plan = scalars.Plan(f, (None,) * (len(args) - 1), op.result.type, result)
        return Leaf(plan, args[1:])

    # -- functions compiled by Numba, or known to it alone -------------------------------------
    def dispatcher(self, c: Call, f: Any) -> Action:
        options = f.targetoptions
        model = options.get("error_model", "python")
        semantics = Semantics(
            True, bool(options.get("boundscheck")), model, options.get("fastmath", False)
        )
        place = c.fn.src
        return from_numba(
            self.enter(c, f.py_func, semantics, (*place, ("func",)) if place else None), c
        )

    def numba(self, c: Call, f: Any) -> Action:
        """What only Numba knows: an @overload's body entered, else a leaf without derivative."""
        args = tuple(numba_type(a) for a in c.args)
        kws = {k: numba_type(a) for k, a in c.kw.items()}
        if None in args or None in kws.values():
            raise self.unknown(c, f)
        body = None if _random(f) else ask.overload_body(f, args, kws)
        if body is None:
            return self.leaf(c, f)
        try:
            return self.enter(c, body, Semantics(True, False, "numpy"))
        except (TypingError, LiftError) as e:
            leaf = self.fallback(c, f)
            if leaf is None:
                raise e from None
            return leaf

    def fallback(self, c: Call, f: Any) -> Action | None:
        """The call as a leaf where its body cannot be entered: if it is inactive, or if it is known
        to write to nothing and to return memory of its own."""
        inactive = registry.is_inactive(f)
        module = str(getattr(f, "__module__", ""))
        if not inactive and (module.split(".")[0] != "numpy" or _takes_out(f)):
            return None
        try:
            leaf = self.leaf(c, f)
        except TypingError:
            return None
        fresh = module == "numpy.linalg" or _is_number(leaf.result)
        return leaf if inactive or fresh else None

    def leaf(self, c: Call, f: Any) -> Action:
        """A call that stays, typed by Numba."""
        args = tuple(numba_type(a) for a in c.args)
        sig = None if c.kw or None in args else ask.leaf(f, tuple(map(types.unliteral, args)))
        if sig is None:
            raise self.unknown(c, f)
        result = from_type(types.unliteral(sig.return_type))
        return Leaf(scalars.Plan(f, (None,) * len(args), sig.return_type, result), c.args)

    def unknown(self, c: Call, f: Any) -> TypingError:
        shown = ", ".join([*map(repr, c.args), *(f"{k}={a!r}" for k, a in c.kw.items())])
        return TypingError(
            f"{name_of(f)}({shown}) is not known to compiled code",
            hint="write it in Python, or give it a rule",
        )

    # -- truth ---------------------------------------------------------------------------------
    def truth(self, a: Abstract) -> bool | None:
        """The truth value if it is known. TypingError if it has none."""
        if isinstance(a, ATuple):
            if a.is_tuple or a.cls is list:
                return bool(a.elements)
            if a.cls is range:
                raise TypingError("the truth of a range", hint="compare its length")
            return True
        if a.known:
            return bool(a.const)
        if is_array(a.type) and a.type.ndim:
            raise TypingError(
                "the truth value of an array is ambiguous", hint="use a.any() or a.all()"
            )
        return None


# -- small questions -------------------------------------------------------------------------------
def _hashable(f: Any) -> bool:
    try:
        hash(f)
    except TypeError:
        return False
    return True


def _lookup(table: dict[Any, Any], f: Any) -> Any:
    try:
        return table.get(f)
    except TypeError:
        return None


def _is_number(a: Abstract) -> bool:
    return isinstance(a, AVal) and is_scalar(a.type)


def _integer_cast(f: Any, a: Abstract) -> Any:
    t = a.type
    if isinstance(a, AVal) and (t is types.int64 or (a.known and a.const is None)):
        return None
    if isinstance(t, (types.Integer, types.Boolean)):
        return types.int64
    what = "an index" if f in (prims.index, prims.wrap) else "a dimension or an index"
    raise TypingError(f"{what} of type {t if t is not None else a!r}", hint="it must be an integer")


def _element_cast(args: list[Any]) -> Any:
    want, have = args[0].type.dtype, args[1].type
    if not args[0].type.mutable:
        raise TypingError("a read-only array is written to", hint="pass a copy of it")
    if not is_scalar(have):
        raise TypingError(f"{args[1]!r} is stored as an element of an array of {want}")
    if isinstance(have, types.Complex) and not isinstance(want, types.Complex):
        raise TypingError(f"a complex number is stored in an array of {want}")
    return None if have == want else want


def _left_to_numba(f: Any) -> bool:
    """Whether this Python function is left to bodies and Numba: one of NumPy's own, or a stub in
    Numba's own code that an @overload implements."""
    package = str(getattr(f, "__module__", "")).split(".")[0]
    return package in ("numpy", "scipy") or (package == "numba" and ask.has_overload(f))


@functools.cache
def compiled(f: Any) -> Any:
    """``f`` as something that machine code can call: a Python function through Numba's compiler,
    with what the registry knows about it."""
    if not isinstance(f, FunctionType) or ask.has_overload(f):
        return f
    made = njit(f)
    registry.same_as(f, made)
    return made


@functools.cache
def _takes_out(f: Any) -> bool:
    """Whether it may write its result to an operand, as far as its signature says."""
    try:
        return "out" in inspect.signature(f).parameters
    except (TypeError, ValueError):
        return True


def _random(f: Any) -> bool:
    return "random" in str(getattr(f, "__module__", "")) or isinstance(
        getattr(f, "__self__", None), np.random.RandomState
    )


def numba_type(a: Abstract) -> Any:
    """The Numba type of an argument for Numba's own typing, literal where it is known."""
    if isinstance(a, AVal) and a.known:
        value = a.const
        if isinstance(value, (bool, int, str)):
            return types.literal(value)
        if isinstance(value, NUMBERS):
            return a.type
        if value is None:
            return types.none
        try:
            return ask.function_type(value)
        except Exception:
            return None
    if isinstance(a, ATuple) and a.cls is slice:
        step = a.elements[2]
        return types.slice2_type if step.known and step.const is None else types.slice3_type
    return a.type
