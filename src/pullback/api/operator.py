"""What all operators have in common: a function, options, and a plan for each tuple of types.

An operator object takes the place of the function in a user's program: it has its name, signature
and documentation, can be pickled and used from several threads, and binds as a method does.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..ad.compile import Options
from ..errors import TypingError, UnknownOption
from ..runtime.collector import paused
from . import flats, options
from .arguments import Call, Opaque, Target, target_of
from .flats import Prepared, call_key
from .status import compiling

if TYPE_CHECKING:
    from .nested import Node

MANY = 512
"""More plans than this in one operator are thrown away: its calls do not repeat types."""


MISSED = object()
"""What a quick call returns that has not been made: its arguments are of other types."""


def missed(args: tuple[Any, ...]) -> Any:
    """The quick call before there is one."""
    return MISSED


class Plan:
    """How an operator runs on arguments of certain types. ``run`` gets the values of the parameters
    and the leaves of them and of what was captured."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self._quick: Callable[..., Any] | None = None

    def run(self, leaves: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    def quick(self, target: Target, values: tuple[Any, ...]) -> Callable[..., Any]:
        """A function of the arguments that runs on types like those of the ``values``, or returns
        `MISSED`. Made once: a plan is for one target and one tuple of types."""
        if self._quick is None:
            self._quick = self.make_quick(target, values)
        return self._quick

    def make_quick(self, target: Target, values: tuple[Any, ...]) -> Callable[..., Any]:
        return missed


class NodePlan(Plan):
    """Evaluates a node."""

    def __init__(self, node: Node) -> None:
        super().__init__(node.prepared)
        self.node = node

    def run(self, leaves: tuple[Any, ...], values: tuple[Any, ...]) -> Any:
        with self.node.base.writing_to(leaves):
            out = self.node.eval([{0: v} for v in leaves], 0)
        return self.node.structure([d[0] for d in out])


class Operator:
    """Base of the operator objects. ``settings`` are the keyword arguments that make another."""

    __qualname__: str

    def __init__(
        self, f: Callable[..., Any], engine: str, options_: Mapping[str, Any], **settings: Any
    ) -> None:
        self.f, self.engine, self.options = f, engine, dict(options_)
        self.settings = settings
        self.resolved: Options = options.resolve(engine, options_)
        self.nested = isinstance(f, Operator)
        self.plans: dict[Any, Plan] = {}
        self.find_target()
        self.__wrapped__ = f
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            if isinstance(value := getattr(f, name, None), str):
                setattr(self, name, value)

    def find_target(self) -> None:
        """Look up what is behind the function."""
        f = self.f
        self.quick = missed
        self.target: Target | Opaque = f.target if isinstance(f, Operator) else target_of(f)
        self.function = getattr(self.target, "function", None)
        self.py: Any = getattr(self.target, "py", None)
        self.code = getattr(self.target, "code", None)
        self.plain = getattr(self.target, "plain", -1)

    # -- calling -------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            out = self.quick(args)
            if out is not MISSED:
                return out
        call = self.bind(args, kwargs)
        plan, leaves = self.plan(call)
        if not kwargs and len(args) == self.plain:
            self.quick = plan.quick(call.target, args)
        return plan.run(leaves, call.values)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
        target = self.target
        if isinstance(target, Target) and target.py.__code__ is not target.code:
            self.find_target()
            self.plans.clear()
            target = self.target
        if isinstance(target, Opaque):
            target = target.target(args, kwargs)
        if not kwargs and len(args) == target.plain:
            return Call(target, args, (True,) * len(args), len(args))
        values, given = target.bind(args, kwargs)
        return Call(target, values, given, len(args))

    def plan(self, call: Call) -> tuple[Any, tuple[Any, ...]]:
        """The plan for a call, and its checked leaves. Plans are shared by operators alike."""
        key = call_key(call.values)
        if not (len(call.values) == self.plain and all(call.given)):
            key = key, call.given, call.positional, call.target.key
        plan = self.plans.get(key)
        function = call.target.function
        if plan is not None:
            found = plan.prepared.leaves(function, call.values)
            if found is not None:
                return plan, found
        with compiling(self.describe(call.values)), paused():
            prepared = flats.prepare(call.target, call.values)
            found = prepared.leaves(function, call.values)
            assert found is not None
            plan = self.make_nested(prepared, call) if self.nested else self.make(prepared, call)
        if len(self.plans) >= MANY:
            self.plans.clear()
        self.plans[key] = plan
        return plan, found

    def make(self, prepared: Prepared, call: Call) -> Plan:
        """The plan for a plain function."""
        raise NotImplementedError

    def make_nested(self, prepared: Prepared, call: Call) -> Plan:
        """The plan where ``f`` is an operator itself."""
        return NodePlan(self.node(prepared, call, self.resolved))

    def node(self, prepared: Prepared, call: Call, options: Options) -> Node:
        """This operator as a function that operators may be applied to."""
        raise UnknownOption(f"{self!r} cannot be differentiated again")

    def inner(self, prepared: Prepared, call: Call, options: Options) -> Node:
        """The function that is differentiated."""
        from .nested import Base

        if isinstance(self.f, Operator):
            return self.f.node(prepared, call, options)
        return Base(prepared, options)

    def as_body(self, avals: Any) -> Callable[..., Any]:
        """The Python function that stands for the operator in compiled code."""
        from .inner import HINT

        raise TypingError(
            f"{self!r} is called inside a function that is compiled",
            hint=HINT,
        )

    # -- what it looks like --------------------------------------------------------------------
    def describe(self, values: Sequence[Any]) -> str:
        """What is compiled, for the status line."""
        name = getattr(self.f, "__name__", repr(self.f))
        return f"{type(self).__name__.lower()} of {name}({', '.join(map(_shape, values))})"

    def __repr__(self) -> str:
        name = getattr(self.f, "__qualname__", None) or repr(self.f)
        shown = "".join(f", {k}={v!r}" for k, v in self.settings.items())
        return f"<pullback.{self.maker().__name__}({name}{shown})>"

    @classmethod
    def maker(cls) -> Callable[..., Any]:
        """The public function that makes such operators."""
        raise NotImplementedError

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.f)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        if _found_by_name(self):
            return self.__qualname__
        settings = {**self.settings, "engine": self.engine, "options": self.options}
        return _remake, (type(self).maker(), self.f, settings)


def _remake(maker: Callable[..., Any], f: Any, settings: dict[str, Any]) -> Any:
    return maker(f, **settings)


def _found_by_name(op: Operator) -> bool:
    """Whether the operator has taken the place of its function in the module (a decorator)."""
    found: Any = sys.modules.get(getattr(op, "__module__", ""))
    try:
        for part in op.__qualname__.split("."):
            found = getattr(found, part)
    except AttributeError:
        return False
    return found is op


def _shape(x: Any) -> str:
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return type(x).__name__
    shape = getattr(x, "shape", ())
    return f"{dtype}[{', '.join(map(str, shape))}]" if shape else str(dtype)


_shared: WeakKeyDictionary[Any, dict[Any, dict[Any, Plan]]] = WeakKeyDictionary()


def shared_plans(f: Any, key: Any) -> dict[Any, Plan]:
    """The plans of operators that live for one call only, kept as long as ``f``."""
    try:
        return _shared.setdefault(f, {}).setdefault(key, {})
    except TypeError:  # not hashable, or without weak references
        return {}


def decorator(make: Callable[..., Any], f: Any, **settings: Any) -> Any:
    """``make(f)``, or a decorator if no function is given yet."""
    if f is None:
        return lambda function: make(function, **settings)
    return make(f, **settings)
