"""The operations of the Python language and its builtins, on abstract values.

`LANGUAGE` maps a callee to a handler ``(resolver, call) -> Action``, or None if the call is not the
language's affair (a number, an array with a body, ...).
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numba.core import types
from numba.np import numpy_support

from ..errors import TypingError
from ..ir import intrinsics
from ..ir.core import Const
from ..rules import registry
from ..runtime import prims
from . import capture, indexing, iteration, products, scalars
from .actions import Action, Cast, Known, Leaf, Rearrange, Then, Via
from .calls import Call
from .lattice import (
    BOOL,
    INT,
    NONE,
    Abstract,
    ATuple,
    AVal,
    constant,
    is_array,
    is_scalar,
    join,
    leaves,
    static,
)
from .products import pack, sequence
from .statements import ClosureOf, DictOf, MethodOf, PartialOf

Handler = Callable[[Any, Call], "Action | None"]
LANGUAGE: dict[Any, Handler] = {}


def handles(*callees: Any) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        for f in callees:
            LANGUAGE[f] = handler
        return handler

    return register


def constant_value(a: Abstract, f: Any, i: int) -> Any:
    """The Python value of a known abstract value. TypingError if it is not known."""
    if isinstance(a, ATuple) and a.is_tuple:
        return tuple(constant_value(e, f, i) for e in a.elements)
    if not a.known:
        raise TypingError(f"operand {i + 1} of {f.__name__} must be known at typing")
    return a.const


def with_constants(forms: tuple[Any, ...], statics: dict[int, Any]) -> tuple[Any, ...]:
    if not statics:
        return forms
    return tuple(Const(statics[i]) if i in statics else x for i, x in enumerate(forms))


# -- subscripts ------------------------------------------------------------------------------------
@handles(operator.getitem)
def _getitem(r: Any, c: Call) -> Action | None:
    x, i = c.args
    if is_array(x.type):
        return indexing.array_getitem(r, c)
    if sequence(x):
        return products.tuple_getitem(r, c)
    if isinstance(x, ATuple) and isinstance(x.cls, DictOf) and i.known:
        if i.const not in x.cls.keys:
            raise TypingError(f"there is no key {i.const!r}")
        return part_action(x, x.cls.keys.index(i.const))
    if isinstance(x, ATuple) and x.cls is range:
        return r.enter(c, _range_item)
    if x.known and i.known:
        return Known(constant(_evaluated(operator.getitem, x.const, i.const)))
    if x.type is not None and not x.known:
        return None
    raise TypingError(f"{x!r} is indexed by {i!r}")


def _evaluated(f: Any, *args: Any) -> Any:
    """``f(*args)`` at typing time, its failure a TypingError."""
    try:
        return f(*args)
    except Exception as e:
        raise TypingError(f"{type(e).__name__}: {e}") from None


def _range_item(r: Any, i: int) -> int:
    n = iteration.range_count(iteration.part(r, 0), iteration.part(r, 1), iteration.part(r, 2))
    k = prims.index(i, n)
    return iteration.part(r, 0) + k * iteration.part(r, 2)


def part_action(x: ATuple, i: int, k: int = 1) -> Rearrange:
    """Part ``i`` of operand ``k``."""
    return Rearrange(x.elements[i], lambda forms: forms[k][i])


@handles(operator.setitem)
def _setitem(r: Any, c: Call) -> Action:
    x = c.args[0]
    if is_array(x.type):
        r.stable = False
        return indexing.array_setitem(r, c)
    raise TypingError(f"an item of {x!r} is assigned", hint="use an array")


@handles(iteration.part)
def _part(r: Any, c: Call) -> Action:
    x, i = c.args
    if isinstance(x, ATuple) and i.known:
        return part_action(x, i.const)
    return products.tuple_getitem(r, c)


# -- attributes ------------------------------------------------------------------------------------
@handles(getattr)
def _getattr(r: Any, c: Call) -> Action:
    x, name = c.args[0], c.args[1].const
    if isinstance(x, ATuple):
        return products.attribute(r, c, x, name)
    if is_array(x.type):
        return _array_attribute(r, c, x, name)
    if is_scalar(x.type):
        return _scalar_attribute(x, name)
    if not x.known:
        raise TypingError(f"a value of type {x.type} has no attribute {name!r}")
    if len(c.args) > 2 and not hasattr(x.const, name):
        return Rearrange(c.args[2], lambda forms: forms[3])
    r.stable = False
    return Known(capture.read_attribute(r.engine, x.const, name, x.src))


def _dims(ndim: int) -> list[str]:
    return [f"dim(x, {k})" for k in range(ndim)]


def _array_attribute(r: Any, c: Call, x: AVal, name: str) -> Action:
    t = x.type
    if name == "ndim":
        return Known(constant(t.ndim))
    if name == "dtype":
        return Known(static(numpy_support.as_dtype(t.dtype)))
    if name == "itemsize":
        return Known(constant(numpy_support.as_dtype(t.dtype).itemsize))
    if (name == "T" and t.ndim < 2) or (name == "real" and not _complex(t.dtype)):
        return Rearrange(x, lambda forms: forms[1])
    source = {
        "shape": f"({''.join(d + ', ' for d in _dims(t.ndim))})",
        "size": " * ".join(_dims(t.ndim)) or "1",
        "nbytes": " * ".join([*_dims(t.ndim), str(numpy_support.as_dtype(t.dtype).itemsize)]),
        "T": f"transpose(x, {tuple(range(t.ndim))[::-1]})",
        "real": "real_view(x)",
        "imag": "imag_view(x)" if _complex(t.dtype) else None,
        "flat": "x.ravel()",
    }.get(name)
    if source is not None:
        return r.enter(_only_first(c), _attribute_function(name, source))
    if registry.method(name) is not None or hasattr(np.ndarray, name):
        if name in ("strides", "flags", "data", "base", "ctypes", "imag"):
            raise TypingError(f"the attribute {name!r} of an array is not known to compiled code")
        return Rearrange(ATuple((x,), MethodOf(name)), lambda forms: (forms[1],))
    raise TypingError(f"an array has no attribute {name!r}")


def _attribute_function(name: str, source: str) -> Any:
    from ..rules.source import function

    return function(
        name,
        f"def {name}(x):\n    return {source}\n",
        dim=prims.dim,
        transpose=prims.transpose,
        real_view=prims.real_view,
        imag_view=prims.imag_view,
    )


def _only_first(c: Call) -> Call:
    return Call(c.spec, c.fn, c.args[:1], {}, c.op, c.sweep)


def _complex(t: Any) -> bool:
    return isinstance(t, types.Complex)


def _scalar_attribute(x: AVal, name: str) -> Action:
    if name in ("real", "imag"):
        if _complex(x.type):
            part = AVal(x.type.underlying_float, py=x.py)
            plan = scalars.Plan(getattr(prims, name), (None,), part.type, part)
            return Leaf(plan, (x,))
        if name == "real":
            return Rearrange(x, lambda forms: forms[1])
        return Known(constant(scalars.convert_constant(0, x.type)))
    sample = scalars.sample_of(x)
    if name in ("ndim", "size", "shape", "dtype", "itemsize") and hasattr(sample, name):
        return Known(constant(getattr(sample, name)))
    if not hasattr(sample, name):
        raise TypingError(f"a number of type {x.type} has no attribute {name!r}")
    return Rearrange(ATuple((x,), MethodOf(name)), lambda forms: (forms[1],))


def method(r: Any, c: Call) -> Action:
    """A call of a bound method: the function form, with the object first."""
    assert isinstance(c.fn, ATuple)
    (this,), name = c.fn.elements, c.fn.cls.name
    inner = Call(c.spec, static(None), (this, *c.args), c.kw, c.op, c.sweep)

    def with_object(action: Action) -> Action:
        return Via(action, lambda forms: (Const(None), forms[0][0], *forms[1:]))

    if isinstance(this, ATuple):
        return with_object(products.method(r, inner, name))
    if is_scalar(this.type):
        return with_object(_scalar_method(r, inner, name))
    if is_array(this.type):
        f = registry.method(name) or (None if name in _IN_PLACE else getattr(np, name, None))
        if f is not None:
            inner.fn = static(f)
            return with_object(r.resolve(inner))
        raise TypingError(f"the method {name!r} of an array is not known to compiled code")
    raise TypingError(f"{this!r} has no method {name!r}")


_IN_PLACE = {"sort", "partition", "resize", "put", "byteswap"}
"""Methods that change the array, unlike the functions of the same name."""


def _scalar_method(r: Any, c: Call, name: str) -> Action:
    (x, *rest) = c.args
    if name in ("conjugate", "conj"):
        if not _complex(x.type):
            return Rearrange(x, lambda forms: forms[1])
        c.fn = static(np.conjugate)
        return r.resolve(c)  # type: ignore[no-any-return]
    if name == "item" and not rest:
        python = AVal({"b": types.boolean, "i": types.int64, "f": types.float64,
                       "c": types.complex128}[scalars.scalar_kind(x.type)], py=True)  # fmt: skip
        return Cast(x, python, 1)
    if name == "is_integer" and not rest:
        return r.enter(c, _is_integer)  # type: ignore[no-any-return]
    if name == "copy" and not rest:
        return Rearrange(x, lambda forms: forms[1])
    if name == "astype" and len(rest) == 1:
        f = rest[0].const
        c.fn, c.args = static(getattr(f, "type", f)), (x,)
        return r.resolve(c)  # type: ignore[no-any-return]
    f = registry.method(name) or getattr(np, name, None)
    if f is None:
        raise TypingError(f"the method {name!r} of a number is not known to compiled code")
    c.fn = static(f)
    return r.resolve(c)  # type: ignore[no-any-return]


def _is_integer(x: float) -> bool:
    return x == x // 1.0


@handles(setattr)
def _setattr(r: Any, c: Call) -> Action:
    raise TypingError(
        f"the attribute {c.args[1].const!r} is assigned", hint="return the new value instead"
    )


@handles(hasattr)
def _hasattr(r: Any, c: Call) -> Action:
    return Known(constant(hasattr(representative(c.args[0]), c.args[1].const)))


# -- types at typing time --------------------------------------------------------------------------
def representative(a: Abstract) -> Any:
    """An object of the class of what the abstract value stands for."""
    if isinstance(a, ATuple):
        if a.is_tuple:
            parts = tuple(map(representative, a.elements))
            return parts if a.cls is None else a.cls(*parts)
        if a.cls is range:
            return range(0)
        if a.cls is slice:
            return slice(None)
        if a.cls is list:
            return []
        if isinstance(a.cls, DictOf):
            return {}
        if isinstance(a.cls, ClosureOf):
            return representative
        return object()
    if a.known:
        return a.const
    if is_array(a.type):
        return np.empty((0,) * a.type.ndim, numpy_support.as_dtype(a.type.dtype))
    if is_scalar(a.type):
        return scalars.sample_of(a)
    return object()


@handles(isinstance)
def _isinstance(r: Any, c: Call) -> Action:
    classes = _class_tuple(c.args[1])
    return Known(constant(isinstance(representative(c.args[0]), classes)))


def _class_tuple(a: Abstract) -> Any:
    if isinstance(a, ATuple):
        return tuple(map(_class_tuple, a.elements))
    if not a.known:
        raise TypingError("isinstance with a class that is not known at typing")
    return a.const


@handles(type)
def _type(r: Any, c: Call) -> Action:
    return Known(static(type(representative(c.args[0]))))


@handles(callable)
def _callable(r: Any, c: Call) -> Action:
    return Known(constant(callable(representative(c.args[0]))))


@handles(issubclass)
def _issubclass(r: Any, c: Call) -> Action:
    return Known(constant(issubclass(c.args[0].const, _class_tuple(c.args[1]))))


@handles(operator.is_, operator.is_not)
def _identity(r: Any, c: Call) -> Action:
    a, b = c.args
    positive = c.fn.const is operator.is_
    if isinstance(a, AVal) and isinstance(b, AVal):
        if a.known and b.known:
            same = a.const is b.const or (is_scalar(a.type) and a == b)
            return Known(constant(same == positive))
        if is_scalar(a.type) and is_scalar(b.type):
            c.fn = static(operator.eq if positive else operator.ne)
            return r.resolve(c)  # type: ignore[no-any-return]
    if _static_object(a) or _static_object(b):
        return Known(constant(not positive))  # a static object beside something that is not it
    raise TypingError(f"whether {a!r} is {b!r} is not known at typing")


def _static_object(a: Abstract) -> bool:
    return isinstance(a, AVal) and a.known and not is_scalar(a.type)


# -- numbers ---------------------------------------------------------------------------------------
def _conversion(kind: type) -> Handler:
    t = scalars.CONVERSIONS[kind]

    def convert(r: Any, c: Call) -> Action | None:
        if c.kw or len(c.args) != 1:
            return _complex_of_parts(r, c) if kind is complex and len(c.args) == 2 else None
        a = c.args[0]
        if is_array(a.type) and a.type.ndim == 0:
            return r.enter(c, _of_zero_dim(kind))
        if isinstance(a, ATuple) or (a.known and not is_scalar(a.type)):
            if kind is bool:
                return Known(constant(bool(r.truth(a))))
            if a.known:
                return Known(constant(kind(a.const)))
        if not is_scalar(a.type):
            return None
        return to_scalar(r, c, a, AVal(t, py=True))

    return convert


def _of_zero_dim(kind: Any) -> Any:
    from ..rules.source import function

    return function(
        "convert", "def convert(x):\n    return kind(load(x))\n", kind=kind, load=prims.load
    )


def _complex_of_parts(r: Any, c: Call) -> Action | None:
    if not all(is_scalar(a.type) for a in c.args):
        return None
    if all(a.known for a in c.args):
        return Known(constant(complex(*(a.const for a in c.args))))
    result = AVal(types.complex128, py=True)
    casts = tuple(None if a.type == types.float64 else types.float64 for a in c.args)
    plan = scalars.Plan(complex, casts, types.complex128, result)
    return Leaf(plan, c.args)


def to_scalar(r: Any, c: Call, a: AVal, to: AVal) -> Action:
    """A number as a number of another type."""
    if _complex(a.type) and not _complex(to.type) and to.type is not types.boolean:
        raise TypingError(f"a complex number is converted to {to.type}")
    if a.known:
        return Known(_converted(a, to))
    if to.type is types.boolean and a.type is not types.boolean:
        plan = scalars._truth(operator.truth, (a,))
        zero = constant(scalars.convert_constant(0, a.type))
        leaf = Leaf(scalars.Plan(plan.callee, (None, None), types.boolean, BOOL), (a, zero))  # type: ignore
        form = Const(zero.const)
        return Via(leaf, lambda forms: (forms[0], forms[1], form))
    return Cast(a, to, 1)


def _converted(a: AVal, to: AVal) -> Abstract:
    value = scalars.convert_constant(a.const, to.type)
    return constant(value) if to.py else AVal(to.type, value)


for _kind in scalars.CONVERSIONS:
    LANGUAGE[_kind] = _conversion(_kind)


@handles(min, max)
def _extremum(r: Any, c: Call) -> Action | None:
    args = c.args
    if c.kw or len(args) != 2 or not all(is_scalar(a.type) for a in args):
        return None
    f = c.fn.const
    if all(a.known for a in args):
        return Known(constant(f(args[0].const, args[1].const)))
    wide = join(*(AVal(a.type, py=a.py) for a in args))
    casts = tuple(None if a.type == wide.type else wide.type for a in args)
    plan = scalars.Plan(f, casts, wide.type, wide)
    return Leaf(plan, args)  # type: ignore[arg-type]


def _inplace(plain: Any) -> Handler:
    def update(r: Any, c: Call) -> Action | None:
        a, b = c.args
        if is_array(a.type):
            return None
        c.fn = static(plain)
        return r.resolve(c)  # type: ignore[no-any-return]

    return update


for _update, _plain in scalars.INPLACE.items():
    LANGUAGE[_update] = _inplace(_plain)


@handles(operator.not_)
def _not(r: Any, c: Call) -> Action | None:
    truth = r.truth(c.args[0])
    if truth is not None:
        return Known(constant(not truth))
    return _truth_test(r, c, operator.eq)


@handles(operator.truth)
def _truth(r: Any, c: Call) -> Action | None:
    truth = r.truth(c.args[0])
    if truth is not None:
        return Known(constant(truth))
    if c.args[0].type is types.boolean:
        return Rearrange(c.args[0], lambda forms: forms[1])
    return _truth_test(r, c, operator.ne)


def _truth_test(r: Any, c: Call, f: Any) -> Action | None:
    """``x == 0`` or ``x != 0``; None for a bool, which has a negation of its own."""
    (a,) = c.args
    if not is_scalar(a.type) or a.type is types.boolean:
        return None
    zero = constant(scalars.convert_constant(0, a.type))
    plan = scalars.Plan(f, (None, None), types.boolean, BOOL)
    form = Const(zero.const)
    leaf = Leaf(plan, (a, zero))  # type: ignore[arg-type]
    return Via(leaf, lambda forms: (forms[0], forms[1], form))


def _arithmetic(f: Any) -> Handler:
    """Operators on tuples, strings and other statics; numbers and arrays are not its affair."""

    def operate(r: Any, c: Call) -> Action | None:
        args = c.args
        if any(isinstance(a, ATuple) for a in args):
            return products.operate(r, c, f)
        if all(a.known for a in args) and not all(is_scalar(a.type) for a in args):
            return Known(constant(_evaluated(f, *(a.const for a in args))))
        if f in (operator.eq, operator.ne) and any(a.type is None or a.known for a in args):
            if not all(is_scalar(a.type) for a in args) and not any(is_array(a.type) for a in args):
                return Known(constant(f is operator.ne))
        if f is operator.pow and _integer_power(args):
            return r.enter(c, _int_pow)  # type: ignore[no-any-return]
        return None

    return operate


def _integer_power(args: tuple[Abstract, ...]) -> bool:
    return all(isinstance(a.type, types.Integer) for a in args) and not args[1].known


def _int_pow(a: int, b: int) -> int:
    if b < 0:
        raise ValueError("an integer to a negative integer power; make the base a float")
    y = 1
    for _ in range(b):
        y *= a
    return y


for _f in scalars.ARITHMETIC | scalars.COMPARISONS | {operator.contains}:
    LANGUAGE[_f] = _arithmetic(_f)


# -- sequences and iterators -----------------------------------------------------------------------
@handles(len, intrinsics.get_len)
def _len(r: Any, c: Call) -> Action:
    (x,) = c.args
    if sequence(x):
        return Known(constant(len(x.elements)))
    if isinstance(x, ATuple) and isinstance(x.cls, DictOf):
        return Known(constant(len(x.cls.keys)))
    if x.known:
        return Known(constant(_evaluated(len, x.const)))
    if is_array(x.type) and not x.type.ndim:
        raise TypingError("len() of an array without axes")
    return r.enter(c, iteration.count_function(x))  # type: ignore[no-any-return]


@handles(range)
def _range(r: Any, c: Call) -> Action:
    ends = {1: (0, None, 1), 2: (None, None, 1), 3: (None, None, None)}.get(len(c.args))
    if ends is None:
        raise TypingError(f"range takes 1 to 3 arguments, not {len(c.args)}")
    given = iter(zip(c.sources, c.args))
    parts = [(constant(e),) * 2 if e is not None else next(given) for e in ends]
    for _, a in parts:
        if not isinstance(a.type, (types.Integer, types.Boolean)):
            raise TypingError(f"range over {a!r}", hint="its arguments must be integers")
    elements = tuple(a if a.type is types.int64 and a.py else _as_int(a) for _, a in parts)
    return products.Pack(ATuple(elements, range), parts)


def _as_int(a: Any) -> AVal:
    return INT if not a.known else AVal(types.int64, int(a.const), True)


@handles(slice)
def _slice(r: Any, c: Call) -> Action:
    ends = {1: (None, 0, None), 2: (0, 1, None), 3: (0, 1, 2)}[len(c.args)]
    given = [(constant(None),) * 2 if k is None else (1 + k, c.args[k]) for k in ends]
    return products.Pack(ATuple(tuple(a for _, a in given), slice), given)


@handles(iter)
def _iter(r: Any, c: Call) -> Action:
    (x,) = c.args
    if isinstance(x, ATuple) and x.cls is iteration.Iterator:
        return Rearrange(x, lambda forms: forms[1])
    if isinstance(x, ATuple) and isinstance(x.cls, DictOf):
        keys = constant(x.cls.keys)
        count = constant(len(x.cls.keys))
        form = (tuple(map(Const, x.cls.keys)), Const(count.const))
        return Rearrange(ATuple((keys, count), iteration.Iterator), lambda forms: form)
    if iteration.counts_by_itself(x):
        zero = constant(0)
        return Rearrange(ATuple((x, zero), iteration.Iterator), lambda forms: (forms[1], Const(0)))
    count = r.enter(c, iteration.count_function(x))
    if count.result is None:
        return count  # type: ignore[no-any-return]
    return Then(
        count,
        ATuple((x, count.result), iteration.Iterator),
        lambda n, forms: (forms[1], n),
    )


@handles(iteration.count_of)
def _count_of(r: Any, c: Call) -> Action:
    (it,) = c.args
    assert isinstance(it, ATuple)
    return part_action(it, 1)


@handles(iteration.item_at)
def _item_at(r: Any, c: Call) -> Action:
    it, k = c.args
    assert isinstance(it, ATuple)
    source = it.elements[0]
    inner = Call(c.spec, c.fn, (source, k), {}, c.op, c.sweep)
    action = r.enter(inner, iteration.item_function(source))
    return Via(action, lambda forms: (forms[0], forms[1][0], forms[2]))


@handles(enumerate)
def _enumerate(r: Any, c: Call) -> Action:
    start = c.kw.get("start") or (c.args[1] if len(c.args) > 1 else constant(0))
    source = c.kw_sources.get("start", 2 if len(c.args) > 1 else start)
    parts = [(1, c.args[0]), (source, start)]
    return products.Pack(ATuple((c.args[0], start), enumerate), parts)


@handles(zip)
def _zip(r: Any, c: Call) -> Action:
    return products.Pack(ATuple(c.args, zip), list(zip(c.sources, c.args)))


@handles(reversed)
def _reversed(r: Any, c: Call) -> Action:
    (x,) = c.args
    if isinstance(x, ATuple) and x.cls is range:
        step = x.elements[2]
        unit = step.known and step.const == 1
        return r.enter(  # type: ignore[no-any-return]
            c, iteration.reversed_unit_range if unit else iteration.reversed_range
        )
    return Rearrange(ATuple((x,), reversed), lambda forms: (forms[1],))


@handles(prims.pack)
def _pack(r: Any, c: Call) -> Action:
    return pack(c.args, None)


@handles(prims.select)
def _select(r: Any, c: Call) -> Action:
    test, *choices = c.args
    if not all(is_scalar(a.type) for a in c.args):
        raise TypingError(f"select of {choices[0]!r} and {choices[1]!r}")
    if test.known:
        k = 2 if test.const else 3
        return Rearrange(c.args[k - 1], lambda forms: forms[k])
    wide = join(*(AVal(a.type, py=a.py) for a in choices))
    casts = (None, *(None if a.type == wide.type else wide.type for a in choices))
    return Leaf(scalars.Plan(prims.select, casts, wide.type, wide), c.args)


def _any(xs: Any) -> bool:
    for x in xs:
        if x:
            return True
    return False


def _all(xs: Any) -> bool:
    for x in xs:
        if not x:
            return False
    return True


@handles(any, all)
def _any_all(r: Any, c: Call) -> Action:
    return r.enter(c, _any if c.fn.const is any else _all)  # type: ignore[no-any-return]


@handles(np.ndindex, np.ndenumerate, np.nditer)
def _positions(r: Any, c: Call) -> Action:
    f, args = c.fn.const, c.args
    if c.kw or (f is not np.ndindex and len(args) != 1):
        raise TypingError(f"{f.__name__} with options")
    if f is np.ndindex and len(args) == 1 and sequence(args[0]):
        return Rearrange(ATuple(args[0].elements, f), lambda forms: forms[1])
    return Rearrange(ATuple(args, f), lambda forms: forms[1:])


# -- displays, unpacking, calls --------------------------------------------------------------------
@handles(intrinsics.build_tuple)
def _build_tuple(r: Any, c: Call) -> Action:
    return pack(c.args, None)


@handles(intrinsics.build_list)
def _build_list(r: Any, c: Call) -> Action:
    return pack(c.args, list)


@handles(intrinsics.build_map)
def _build_map(r: Any, c: Call) -> Action:
    keys = tuple(constant_value(a, dict, 0) for a in c.args[::2])
    return Rearrange(ATuple(c.args[1::2], DictOf(keys)), lambda forms: forms[2::2])


@handles(tuple, list, intrinsics.list_to_tuple)
def _to_sequence(r: Any, c: Call) -> Action:
    cls = list if c.fn.const is list else None
    if not c.args:
        return pack((), cls)
    (x,) = c.args
    if sequence(x):
        return Rearrange(ATuple(x.elements, cls), lambda forms: forms[1])
    if x.known and isinstance(x.const, (str, dict, frozenset)):
        return Known(constant(tuple(x.const)))
    n = products.known_length(x)
    if n is None:
        raise TypingError(f"a {c.fn.const.__name__} of a length not known at typing is made")
    action = r.enter(c, products.items_function(x, n))
    if action.result is None or cls is None:
        return action  # type: ignore[no-any-return]
    return Then(action, ATuple(action.result.elements, cls), lambda form, forms: form)


@handles(intrinsics.list_extend)
def _list_extend(r: Any, c: Call) -> Action:
    a, b = c.args
    if not (sequence(a) and sequence(b)):
        raise TypingError("compiled code does not grow lists", hint="fill an array")
    return Rearrange(ATuple(a.elements + b.elements, list), lambda forms: forms[1] + forms[2])


@handles(intrinsics.dict_merge, intrinsics.dict_update)
def _dict_merge(r: Any, c: Call) -> Action:
    a, b = c.args[:2]
    if not all(isinstance(x, ATuple) and isinstance(x.cls, DictOf) for x in (a, b)):
        raise TypingError("keyword arguments that are not known at typing")
    twice = set(a.cls.keys) & set(b.cls.keys)  # type: ignore[union-attr]
    if twice:
        raise TypingError(f"got multiple values for keyword argument {min(twice)!r}")
    result = ATuple(a.elements + b.elements, DictOf(a.cls.keys + b.cls.keys))  # type: ignore
    return Rearrange(result, lambda forms: forms[1] + forms[2])


@handles(intrinsics.list_append)
def _list_append(r: Any, c: Call) -> Action:
    raise TypingError("compiled code does not grow lists", hint="fill an array in a loop")


@handles(intrinsics.unpack)
def _unpack(r: Any, c: Call) -> Action:
    x, n = c.args[0], c.args[1].const
    if sequence(x):
        if len(x.elements) != n:
            raise TypingError(f"{len(x.elements)} values are unpacked into {n} names")
        return Rearrange(ATuple(x.elements), lambda forms: forms[1])
    return r.enter(_only_first(c), products.items_function(x, n))  # type: ignore[no-any-return]


@handles(intrinsics.unpack_ex)
def _unpack_ex(r: Any, c: Call) -> Action:
    x, before, after = c.args[0], c.args[1].const, c.args[2].const
    if not sequence(x):
        raise TypingError(f"{x!r} is unpacked with a star")
    end = len(x.elements) - after
    if end < before:
        raise TypingError(f"{len(x.elements)} values are unpacked into {before + after} names")
    es = x.elements
    middle = ATuple(es[before:end], list)
    result = ATuple((*es[:before], middle, *es[end:]))
    return Rearrange(result, lambda f: (*f[1][:before], f[1][before:end], *f[1][end:]))


@handles(intrinsics.call_ex)
def _call_ex(r: Any, c: Call) -> Action:
    f, args = c.args[:2]
    kwargs = c.args[2] if len(c.args) > 2 else None
    if not sequence(args):
        raise TypingError("*args of a length not known at typing")
    names: tuple[str, ...] = ()
    values: tuple[Abstract, ...] = ()
    if isinstance(kwargs, ATuple) and isinstance(kwargs.cls, DictOf):
        names, values = kwargs.cls.keys, kwargs.elements
    action = r.call(c.spec, f, (*args.elements, *values), names)
    return Via(action, lambda fs: (fs[1], *fs[2], *(fs[3] if names else ())))


@handles(functools.partial)
def _partial(r: Any, c: Call) -> Action:
    f, *args = c.args
    kwargs = ATuple(tuple(c.kw.values()), DictOf(tuple(c.kw)))
    n = 1 + len(c.args)
    return Rearrange(
        ATuple((f, ATuple(tuple(args)), kwargs), PartialOf), lambda fs: (fs[1], fs[2:n], fs[n:])
    )


def call_partial(r: Any, c: Call) -> Action:
    """A call of what ``partial(f, ...)`` gave in the same function."""
    assert isinstance(c.fn, ATuple)
    f, fixed, named = c.fn.elements
    kept = [i for i, k in enumerate(named.cls.keys) if k not in c.kw]
    values = tuple(named.elements[i] for i in kept)
    names = tuple(named.cls.keys[i] for i in kept) + tuple(c.kw)
    args = (*fixed.elements, *c.args, *values, *c.kw.values())
    action = r.call(c.spec, f, args, names)
    n = 1 + len(c.args)

    def forms(fs: Any) -> Any:
        fn, before, after = fs[0]
        return (fn, *before, *fs[1:n], *(after[i] for i in kept), *fs[n:])

    return Via(action, forms)


@handles(intrinsics.check_bound)
def _check_bound(r: Any, c: Call) -> Action:
    r.stable = False
    return Rearrange(c.args[0], lambda forms: forms[1])


@handles(intrinsics.match_sequence)
def _match_sequence(r: Any, c: Call) -> Action:
    return Known(constant(sequence(c.args[0])))


@handles(intrinsics.import_name)
def _import(r: Any, c: Call) -> Action:
    name, fromlist = c.args[0].const, constant_value(c.args[1], intrinsics.import_name, 1)
    r.stable = False
    scope = c.spec.ir.info.globals
    level = c.args[2].const or 0
    return Known(static(builtins.__import__(name, scope, {}, fromlist, level)))


@handles(intrinsics.import_from)
def _import_from(r: Any, c: Call) -> Action:
    return Known(constant(getattr(c.args[0].const, c.args[1].const)))


# -- text ------------------------------------------------------------------------------------------
@handles(intrinsics.format_value, intrinsics.convert_value, str, repr, format)
def _format(r: Any, c: Call) -> Action:
    if all(a.known for a in c.all):
        return Known(constant(_evaluated(c.fn.const, *(a.const for a in c.args))))
    return products.text(c)


@handles(intrinsics.build_string)
def _build_string(r: Any, c: Call) -> Action:
    if all(a.known for a in c.args):
        return Known(constant("".join(a.const for a in c.args)))
    return products.text(c)


@handles(print)
def _print(r: Any, c: Call) -> Action:
    args = tuple(c.args)
    if c.kw:
        raise TypingError("print with keyword arguments")
    plan = scalars.Plan(print, (None,) * len(args), types.none, NONE)
    return products.FlatLeaf(plan, args)


# -- callables that are neither functions nor of the language --------------------------------------
def special_callable(r: Any, c: Call, f: Any) -> Action | None:
    """Classes: exceptions, namedtuples, NumPy's scalar classes; and methods of static objects."""
    if isinstance(f, type):
        if issubclass(f, BaseException):
            return pack(c.args, f)
        if issubclass(f, tuple) and hasattr(f, "_fields"):
            return products.namedtuple(c, f)
        if issubclass(f, np.generic):
            return _numpy_scalar(r, c, f)
        if issubclass(f, np.dtype) and all(a.known for a in c.args):
            return Known(static(np.dtype(*(a.const for a in c.args))))
    if isinstance(f, np.dtype):
        return None
    if f is np.dtype and all(a.known for a in c.args):
        return Known(static(np.dtype(*(a.const for a in c.args))))
    if _is_pure_static(f) and all(a.known or sequence(a) for a in c.all) and c.all:
        return _folded(c, f)
    if isinstance(f, types.NumberClass):
        return _numpy_scalar(r, c, numpy_support.as_dtype(f.instance_type).type)
    if isinstance(f, types.Number) and len(c.args) == 1:
        return _numpy_scalar(r, c, numpy_support.as_dtype(f).type)
    return None


def _numpy_scalar(r: Any, c: Call, f: Any) -> Action | None:
    if len(c.args) != 1 or not is_scalar(c.args[0].type):
        return None
    to = numpy_support.from_dtype(np.dtype(f))
    return to_scalar(r, c, c.args[0], AVal(to))  # type: ignore[arg-type]


_PURE = {np.result_type, np.promote_types, np.can_cast, np.issubdtype, np.iinfo, np.finfo,
         np.isscalar, ord, chr, hash}  # fmt: skip


def _is_pure_static(f: Any) -> bool:
    if isinstance(getattr(f, "__self__", None), (str, np.dtype, dict, ModuleType)):
        return isinstance(f.__self__, (str, np.dtype, dict))
    try:
        return f in _PURE
    except TypeError:
        return False


def _folded(c: Call, f: Any) -> Action | None:
    try:
        args = [constant_value(a, f, i) for i, a in enumerate(c.args)]
        kw = {k: constant_value(a, f, 0) for k, a in c.kw.items()}
        return Known(constant(f(*args, **kw)))
    except TypingError:
        return None
    except Exception as e:
        raise TypingError(f"{type(e).__name__}: {e}") from None


def from_numba(action: Any, c: Call) -> Action:
    """What a compiled function returns to Python: numbers come back as Python numbers."""
    if c.spec.semantics.numba or action.result is None:
        return action  # type: ignore[no-any-return]
    wide = products.boxed(action.result)
    return action if wide == action.result else products.Convert(action, wide)


def is_function(f: Any) -> bool:
    return isinstance(f, (FunctionType, MethodType))


__all__ = ["LANGUAGE", "leaves"]
