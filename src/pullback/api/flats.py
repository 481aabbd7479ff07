"""Flat functions, made once for each code object and tuple of abstract arguments.

What a function captured is part of it: numbers and arrays are read again at each call, anything
else must still be what it was, or the function is flattened anew.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np
from numba import types
from numba._dispatcher import compute_fingerprint

from ..ad.copies import settle
from ..ad.tags import resolve
from ..errors import AliasedArguments, PullbackError, ReadOnlyArgument, UnsupportedArgument, of_type
from ..ir.core import const_key
from ..rules import registry
from ..typing_ import ATuple, AVal, Flat, Hidden, Static, abstract_of, flat
from ..typing_.access import fetch, python_function
from ..typing_.statements import DictOf
from .arguments import Target, Values, names_of
from .tree import Tree, getter, is_array, paths

_lock = threading.RLock()
_prepared: dict[Any, list[Prepared]] = {}


# -- abstract arguments ----------------------------------------------------------------------------
def abstract(value: Any, src: Any) -> Tree:
    """The tree of an argument. A read-only array has the type of any other: whether it is written
    to is checked at the call. A dict is a tuple with names."""
    if type(value) is dict and all(type(k) is str for k in value):
        parts = [abstract(v, (*src, ("item", k))) for k, v in value.items()]
        return ATuple(tuple(parts), DictOf(tuple(value)))
    hint = _REFUSED.get(type(value).__module__)
    if hint is not None:
        raise UnsupportedArgument(f"{of_type(value)} of Numba is not taken", hint=hint)
    return _writable(abstract_of(value, src))


_REFUSED = {
    "numba.typed.typedlist": "pass np.array(x)",
    "numba.typed.typeddict": "pass dict(x)",
    "numba.experimental.jitclass.boxing": "pass its attributes, or make it an ordinary class",
}


def _writable(tree: Tree) -> Tree:
    if isinstance(tree, ATuple):
        return ATuple(tuple(map(_writable, tree.elements)), tree.cls, tree.src)
    t = tree.type
    if not tree.known and is_array(t) and not t.mutable:
        return AVal(types.Array(t.dtype, t.ndim, t.layout, aligned=t.aligned))
    return tree


def tree_key(tree: Tree) -> Any:
    """A key under which two arguments share compiled code: functions go by their code."""
    if isinstance(tree, ATuple):
        return tree.cls, tuple(map(tree_key, tree.elements))
    if tree.known and type(tree.const) is FunctionType:
        return tree.const.__code__, id(tree.const.__globals__)
    return tree


def value_key(value: Any) -> Any:
    """The key of an argument for which there is no fingerprint, or not enough of one."""
    if type(value) is FunctionType:
        return value.__code__, id(value.__globals__)
    if isinstance(value, tuple):
        return type(value), tuple(map(value_key, value))
    if type(value) is dict:
        return tuple((k, value_key(v)) for k, v in value.items())
    if isinstance(value, (int, float, complex, np.generic, np.ndarray)):
        try:
            return type(value), compute_fingerprint((value,))
        except NotImplementedError:
            pass
    return const_key(value)


def call_key(values: Values) -> Any:
    """A key of the types of all values, quick to make."""
    try:
        return compute_fingerprint(values), *map(type, values)
    except NotImplementedError:
        return tuple(map(value_key, values))


class Frame:
    """Stands for the function of one call where captured things are reached from its arguments."""

    __slots__ = ("py_func", "values")

    def __init__(self, function: Any, values: Values) -> None:
        self.py_func = python_function(function)
        self.values = values

    def __getitem__(self, i: int) -> Any:
        return self.values[i]


# -- prepared functions ----------------------------------------------------------------------------
class Prepared:
    """A flat function and how a call gets at its entry parameters.

    ``types``: of the entry parameters; ``names``: what a user calls them; ``arrays`` and
    ``written``: positions of the arrays, and of those that the function writes to; ``from_args``:
    for each leaf of the result the parameter that it is or is a view of."""

    def __init__(self, target: Target, trees: tuple[Tree, ...], flattened: Flat) -> None:
        self.flat, self.trees, self.target_key = flattened, trees, target.key
        self.generation = registry.generation()
        self.name, self.loc = target.name, target.loc
        self.types = [p.type for p in flattened.ir.args]
        self.names = names_of(target, trees)
        self.names += [_captured_name(h) for h in flattened.hidden]
        self.arrays = [i for i, t in enumerate(self.types) if is_array(t)]
        self.dtypes = [(i, _dtype(self.types[i])) for i in self.arrays]
        self.written, self.from_args = _memory(flattened)
        by_value = any(_in_arguments(s.place) for s in flattened.statics)
        self.framed = by_value or any(map(_has_static, trees))
        self.captures = bool(flattened.hidden or flattened.statics)
        self.capture = _capturer(target, flattened.hidden, flattened.statics)
        self.get = self._getter()
        self.plain = self.get is tuple and not self.framed  # entry parameters are what is passed

    @property
    def written_values(self) -> set[int]:
        """The parameters of which some part is written to."""
        found = [i for i, tree in enumerate(self.trees) for _ in paths(tree)]
        return {found[p] for p in self.written if p < len(found)}

    def _getter(self) -> Callable[[Any], tuple[Any, ...]]:
        found = [(i, *p) for i, tree in enumerate(self.trees) for p, _ in paths(tree)]
        if found == [(i,) for i in range(len(self.trees))]:
            return tuple
        return getter(found)

    def leaves(self, function: Any, values: Values) -> tuple[Any, ...] | None:
        """The entry parameters of a call, checked; None if what the function captured is no longer
        what it was compiled for."""
        found = self.found(function, values)
        if found is not None and self.written:
            self.check(found)
        return found

    def found(self, function: Any, values: Values) -> tuple[Any, ...] | None:
        """The same, not checked."""
        if self.generation != registry._generation:
            return None
        captured = self.capture(Frame(function, values) if self.framed else function)
        if captured is None:
            return None
        found = self.get(values)
        if captured:
            found = (*found, *captured)
        for i, dtype in self.dtypes:  # the fingerprint does not tell byte orders apart
            if found[i].dtype is not dtype and found[i].dtype != dtype:
                return None
        return found

    def check(self, leaves: Sequence[Any]) -> None:
        """ReadOnlyArgument or AliasedArguments if the function's writes would do harm."""
        for i in self.written:
            x = leaves[i]
            if not x.flags.writeable:
                raise ReadOnlyArgument(
                    f"{self.name}() writes to its argument {self.names[i]!r}, which is read-only",
                    loc=self.loc,
                    variable=self.names[i],
                    hint="Pass a copy, or let the function make one.",
                )
            if not x.flags.forc and overlaps_itself(x):
                self._aliased(i, i)
            for j in self.arrays:
                if j != i and overlap(x, leaves[j]):
                    self._aliased(i, j)

    def _aliased(self, i: int, j: int) -> None:
        a, b = self.names[i], self.names[j]
        what = f"{a!r} and {b!r} overlap in memory" if i != j else f"{a!r} overlaps itself"
        raise AliasedArguments(
            f"{what}, and {self.name}() writes to {a!r}",
            loc=self.loc,
            variable=a,
            hint=f"Pass a copy: {b}.copy().",
        )


def overlap(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays share memory; if that is hard to say, whether their ranges meet."""
    if not np.may_share_memory(x, y):
        return False
    try:
        work: Any = 100_000
        return np.shares_memory(x, y, max_work=work)
    except np.exceptions.TooHardError:
        return True


def overlaps_itself(x: np.ndarray) -> bool:
    """Whether two elements may be the same memory: an axis steps less far than those inside it
    reach, as in windows that slide."""
    reach = x.itemsize
    for step, n in sorted((abs(s), n) for s, n in zip(x.strides, x.shape) if n > 1):
        if step < reach:
            return True
        reach += step * (n - 1)
    return False


def prepare(target: Target, values: Values) -> Prepared:
    """The flat function for these values, from those made before if what it captured agrees."""
    trees = tuple(_abstract_argument(target, i, v) for i, v in enumerate(values))
    key = (target.key, tuple(map(tree_key, trees)), registry.generation())
    for p in _prepared.get(key, ()):
        if _agrees(p, target.function, values):
            return p
    with _lock:
        for p in _prepared.get(key, ()):
            if _agrees(p, target.function, values):
                return p
        flattened = flat(target.function, trees)
        settle(flattened)
        resolve(flattened)
        p = Prepared(target, flattened.args, flattened)
        _prepared.setdefault(key, []).insert(0, p)
        return p


def _agrees(p: Prepared, function: Any, values: Values) -> bool:
    return p.found(function, values) is not None


def _abstract_argument(target: Target, i: int, value: Any) -> Tree:
    try:
        return abstract(value, (("self",), ("item", i)))
    except PullbackError as e:
        name = target.names[i]
        raise type(e)(
            f"argument {name!r}: {e.what}", loc=target.loc, variable=name, hint=e.hint
        ) from None


def _dtype(t: Any) -> np.dtype[Any]:
    from numba.np.numpy_support import as_dtype

    return np.dtype(as_dtype(t.dtype))


def _has_static(tree: Tree) -> bool:
    if isinstance(tree, ATuple):
        return any(map(_has_static, tree.elements))
    return tree.known and tree.type is None


def _in_arguments(place: Any) -> bool:
    """Whether a place is an argument or part of one."""
    return len(place) > 1 and place[0] == ("self",) and place[1][0] == "item"


def _captured_name(h: Hidden) -> str:
    return f"captured {h.name}"


def _memory(flattened: Flat) -> tuple[list[int], list[int | None]]:
    """The entry parameters that are written to, and for each leaf of the result the one that it is
    or is a view of."""
    from ..ad.build import _argument_of, _results
    from ..ad.build import _written as written
    from ..passes.roots import Roots

    ir = flattened.ir
    args, roots = list(ir.args), Roots(ir)
    hit = [args.index(a) for a in written(ir, roots, args)]
    return hit, [_argument_of(r, roots, args) for r in _results(ir)]


# -- what was captured -----------------------------------------------------------------------------
def _capturer(
    target: Target, hidden: Sequence[Hidden], statics: Sequence[Static]
) -> Callable[[Any], tuple[Any, ...] | None]:
    """A function from the called function to its captured values, or None if they are not of the
    types, or the statics not the objects, that it was compiled for."""
    scope: dict[str, Any] = {"fetch": fetch, "python_function": python_function}
    wanted: list[bytes] = []
    hidden_code = "".join(_expression(h.place, scope, target) + ", " for h in hidden)
    same = " and ".join(
        f"{_expression(s.place, scope, target)} is {_name(s.value.value, scope)}" for s in statics
    )
    exec(
        f"def captured(f):\n    return ({hidden_code})\ndef same(f):\n    return {same or True}\n"
        f"def unchanged(f):\n    try:\n        if {same or True}:\n            return ()\n"
        f"    except gone:\n        return None\n    return capture(f)\n",
        scope,
    )
    captured, same = scope["captured"], scope["same"]
    changing = [s for s in statics if s.content is not None]
    gone = (KeyError, AttributeError, ValueError, IndexError, TypeError)

    def capture(f: Any) -> tuple[Any, ...] | None:
        try:
            if statics and not same(f) and not all(s.holds(f) for s in statics):
                return None
            if changing and not all(s.holds(f) for s in changing):
                return None
            if not hidden:
                return ()
            values: tuple[Any, ...] = captured(f)
            found = compute_fingerprint(values)
        except gone:
            return None
        except NotImplementedError:
            return None
        if not wanted:
            if not all(_has_type(v, h.type) for v, h in zip(values, hidden)):
                return None
            wanted.append(found)
        return values if found == wanted[0] else None

    scope |= {"gone": gone, "capture": capture}
    return capture if hidden or changing else scope["unchanged"]


def _has_type(value: Any, t: Any) -> bool:
    try:
        return _writable(abstract_of(value)).type == _writable(AVal(t)).type
    except PullbackError:
        return False


def _expression(place: Any, scope: dict[str, Any], target: Target) -> str:
    """Python source that reads a place; ``f`` is the called function."""
    root, *steps = place
    if root[0] == "self":
        code = "f"
        if steps and steps[0][0] == "cell":
            k = target.code.co_freevars.index(steps[0][1])
            code, steps = f"python_function(f).__closure__[{k}].cell_contents", steps[1:]
    else:
        obj = root[1].value
        code = _name(obj, scope)
        if steps and steps[0][0] == "global" and isinstance(obj, dict):
            name = steps[0][1]
            steps = steps[1:]
            if hasattr(builtins, name):  # which a global of that name may hide
                code = f"{code}.get({name!r}, {_name(getattr(builtins, name), scope)})"
            else:
                code = f"{code}[{name!r}]"
    for k, step in enumerate(steps):
        kind = step[0]
        if kind == "attr" and step[1].isidentifier():
            code = f"{code}.{step[1]}"
        elif kind == "item":
            code = f"{code}[{step[1]!r}]"
        elif kind == "func":
            code = f"python_function({code})"
        else:
            rest = _name((("self",), *steps[k:]), scope)
            return f"fetch({rest}, {code})"
    return code


def _name(obj: Any, scope: dict[str, Any]) -> str:
    """A name for an object in generated code."""
    name = f"o{len(scope)}"
    scope[name] = obj
    return name
