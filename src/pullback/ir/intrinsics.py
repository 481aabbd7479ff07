"""Operations of the Python language that have no function of their own, as functions.

``[a, b]`` is the call ``build_list(a, b)``. Here is what each means, in Python; lowering turns a
call of one back into its opcode. Those that read or write the globals of the function that is
running (imports, ``global`` writes) or its locals (`check_bound`) have no meaning outside it: they
exist only as callees in the IR.
"""

from __future__ import annotations

import collections.abc
import itertools
from collections.abc import Iterator
from typing import Any, NoReturn


# -- displays --------------------------------------------------------------------------------------
def build_tuple(*items: Any) -> tuple[Any, ...]:
    return items


def build_list(*items: Any) -> list[Any]:
    return list(items)


def build_set(*items: Any) -> set[Any]:
    return set(items)


def build_map(*pairs: Any) -> dict[Any, Any]:
    """A dict of key, value, key, value, ..."""
    return dict(zip(pairs[::2], pairs[1::2]))


def build_string(*parts: str) -> str:
    """The pieces of an f-string joined."""
    return "".join(parts)


def format_value(value: Any, conversion: str | None, spec: str = "") -> str:
    """``f"{value!conversion:spec}"``; conversion is ``"s"``, ``"r"``, ``"a"`` or None."""
    if conversion is not None:
        value = convert_value(value, conversion)
    return format(value, spec)


def convert_value(value: Any, conversion: str) -> str:
    if conversion == "s":
        return str(value)
    return repr(value) if conversion == "r" else ascii(value)


# -- growing displays and comprehensions -----------------------------------------------------------
def list_append(target: list[Any], item: Any) -> None:
    target.append(item)


def set_add(target: set[Any], item: Any) -> None:
    target.add(item)


def map_add(target: dict[Any, Any], key: Any, value: Any) -> None:
    target[key] = value


def list_extend(target: list[Any], items: Any) -> list[Any]:
    """``[*target, *items]`` in place: returns ``target``."""
    if not (hasattr(items, "__iter__") or hasattr(items, "__getitem__")):
        raise TypeError(f"Value after * must be an iterable, not {type(items).__name__}")
    target.extend(items)
    return target


def set_update(target: set[Any], items: Any) -> set[Any]:
    target.update(items)
    return target


def dict_update(target: dict[Any, Any], items: Any) -> dict[Any, Any]:
    """``{**target, **items}`` in place: returns ``target``."""
    if not hasattr(items, "keys"):
        raise TypeError(f"'{type(items).__name__}' object is not a mapping")
    target.update(items)
    return target


def dict_merge(target: dict[Any, Any], items: Any, function: Any) -> dict[Any, Any]:
    """Collect the ``**items`` of a call of ``function``: a repeated name is an error."""
    for key in list(items.keys()):
        if key in target:
            raise TypeError(f"got multiple values for keyword argument '{key}'")
        target[key] = items[key]
    return target


def list_to_tuple(items: list[Any]) -> tuple[Any, ...]:
    return tuple(items)


# -- unpacking and calls ---------------------------------------------------------------------------
def _unpacked(items: Any) -> Iterator[Any]:
    """Nobody is asked how many items there are; there may be no end of them."""
    if not (hasattr(items, "__iter__") or hasattr(items, "__getitem__")):
        raise TypeError(f"cannot unpack non-iterable {type(items).__name__} object")
    return iter(items)


def unpack(items: Any, n: int) -> tuple[Any, ...]:
    """The ``n`` items; ValueError if there are more or less."""
    rest = _unpacked(items)
    got = tuple(itertools.islice(rest, n))
    if len(got) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(got)})")
    for _ in rest:
        raise ValueError(f"too many values to unpack (expected {n})")
    return got


def unpack_ex(items: Any, before: int, after: int) -> tuple[Any, ...]:
    """``*a, rest, *b = items``: the first ``before``, a list of the middle, the last ``after``."""
    got = list(_unpacked(items))
    if len(got) < before + after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {len(got)})"
        )
    end = len(got) - after
    return (*got[:before], got[before:end], *got[end:])


def spread(args: Any) -> Any:
    """The arguments ``*args`` of a call, once and for all, as a tuple; what is not iterable is left
    for the call to refuse."""
    if type(args) is tuple or not (hasattr(args, "__iter__") or hasattr(args, "__getitem__")):
        return args
    return tuple(args)


def call_ex(function: Any, args: Any, kwargs: Any = None) -> Any:
    """``function(*args, **kwargs)``."""
    return function(*args) if kwargs is None else function(*args, **kwargs)


# -- match -----------------------------------------------------------------------------------------
def match_sequence(subject: Any) -> bool:
    return isinstance(subject, collections.abc.Sequence) and not isinstance(
        subject, (str, bytes, bytearray)
    )


def match_mapping(subject: Any) -> bool:
    return isinstance(subject, collections.abc.Mapping)


def get_len(subject: Any) -> int:
    return len(subject)


def match_keys(subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The values under the keys, or None if one is missing."""
    missing = object()
    found = tuple(subject.get(k, missing) for k in keys)
    return None if missing in found else found


# -- bound to the running function -----------------------------------------------------------------
def check_bound(value: Any, name: str) -> Any:
    """``value``, or UnboundLocalError where the local ``name`` is not bound."""
    return value


def release(value: Any) -> None:
    """``del`` of a variable that holds ``value``: the function lets go of it here."""


def _running(*_: Any) -> NoReturn:
    raise RuntimeError("this operation has a meaning only inside a lowered function")


def has_meaning_alone(f: Any) -> bool:
    """Whether an operation can be called: not only as an opcode of the function that is running."""
    ours = getattr(f, "__module__", None) == __name__
    return not ours or _running.__name__ not in f.__code__.co_names


def match_class(subject: Any, cls: Any, names: tuple[str, ...], count: int) -> Any:
    """The attributes of a class pattern, or None."""
    _running(subject, cls, names, count)


def import_name(name: str, fromlist: Any, level: Any) -> Any:
    """``import name``, relative to the function's module."""
    _running(name, fromlist, level)


def import_from(module: Any, name: str) -> Any:
    """``from module import name``."""
    _running(module, name)


def store_global(name: str, value: Any) -> None:
    _running(name, value)


def delete_global(name: str) -> None:
    _running(name)


# -- exceptions ------------------------------------------------------------------------------------
def push_exc_info(exc: BaseException) -> Any:
    """``exc`` is the exception being handled from here on; returns the one that was until now."""
    _running(exc)


def pop_except(previous: Any) -> None:
    """The exception being handled is ``previous`` again, the result of `push_exc_info`."""
    _running(previous)


def exc_match(exc: BaseException, kind: Any) -> bool:
    """Whether ``except kind`` catches ``exc``."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for k in kinds:
        if not (isinstance(k, type) and issubclass(k, BaseException)):
            raise TypeError(
                "catching classes that do not inherit from BaseException is not allowed"
            )
    return any(issubclass(type(exc), k) for k in kinds)


def group_match(exc: BaseException, kind: Any) -> tuple[Any, Any]:
    """``except* kind``: the part of ``exc`` that is caught, which is being handled from here on, or
    None, and the rest, or None."""
    _running(exc, kind)


def prep_reraise_star(exc: BaseException, raised: list[Any]) -> Any:
    """What goes on after the clauses ``except*`` of ``exc``, which left and raised ``raised``."""
    _running(exc, raised)


def before_with(manager: Any) -> tuple[Any, Any]:
    """``with manager``: the value of its entry, and its exit."""
    _running(manager)


def before_async_with(manager: Any) -> tuple[Any, Any]:
    """``async with manager``: the awaitable of its entry, and its exit."""
    _running(manager)


def with_except_start(exit: Any, exc: BaseException) -> Any:
    """What the exit of a context manager says to an exception: true if it is settled."""
    return exit(type(exc), exc, exc.__traceback__)


# -- generators and coroutines ---------------------------------------------------------------------
def get_yield_from_iter(x: Any) -> Any:
    """The iterator that ``yield from x`` delegates to."""
    _running(x)


def get_awaitable(x: Any, where: int) -> Any:
    """The iterator that ``await x`` delegates to; ``where``: 1 at the entry, 2 at the exit of
    ``async with``."""
    _running(x, where)


def get_aiter(x: Any) -> Any:
    """The iterator of ``async for ... in x``."""
    _running(x)


def get_anext(iterator: Any) -> Any:
    """The awaitable of its next item."""
    _running(iterator)


def async_gen_wrap(value: Any) -> Any:
    """What an asynchronous generator yields to say that it yields ``value``."""
    _running(value)


def stopiteration_error(exc: BaseException) -> BaseException:
    """``exc``, or RuntimeError in place of a StopIteration that leaves a generator (3.12)."""
    _running(exc)


# -- type parameters -------------------------------------------------------------------------------
def make_typevar(name: Any) -> Any:
    _running(name)


def make_paramspec(name: Any) -> Any:
    _running(name)


def make_typevartuple(name: Any) -> Any:
    _running(name)


def subscript_generic(parameters: Any) -> Any:
    """``Generic[*parameters]``."""
    _running(parameters)


def make_typealias(parts: Any) -> Any:
    """``type name[parameters] = value``, of a tuple of the three."""
    _running(parts)


def typevar_with_bound(name: Any, evaluate: Any) -> Any:
    _running(name, evaluate)


def typevar_with_constraints(name: Any, evaluate: Any) -> Any:
    _running(name, evaluate)


def set_function_type_params(function: Any, parameters: Any) -> Any:
    _running(function, parameters)


def set_typeparam_default(parameter: Any, evaluate: Any) -> Any:
    _running(parameter, evaluate)
