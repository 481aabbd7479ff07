"""Globals, cells and attributes that a function reads.

Numbers and arrays become hidden arguments, so that later changes are seen; everything else is taken
by value and noted, so that a caller can check that it is unchanged. What this package's own and
NumPy's modules define is constant.
"""

from __future__ import annotations

import builtins
import functools
from types import CellType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..errors import TypingError, UnsupportedArgument
from .access import Place, Ref, place_of
from .lattice import NUMBERS, Abstract, ATuple, AVal, Bottom, abstract_of, constant, static
from .specialised import Cell, Spec

_TRUSTED = ("numpy", "numba", "scipy", "math", "cmath", "operator", "builtins")
_OWN = tuple("pullback." + n for n in ("rules", "runtime", "typing_", "ad", "passes", "ir"))


@functools.cache
def is_trusted(module: Any) -> bool:
    """Whether the globals of a module of this name are constants."""
    name = str(module)
    return name.split(".")[0] in _TRUSTED or name.startswith(_OWN)


def read_global(engine: Any, spec: Spec, name: str) -> Abstract:
    scope = spec.ir.info.globals
    trusted = is_trusted(scope.get("__name__"))
    place = (("object", Ref(scope)), ("global", name))
    if name not in scope:
        if not hasattr(builtins, name):
            raise TypingError(f"name {name!r} is not defined", variable=name)
        builtin = static(getattr(builtins, name))
        if not trusted:
            note_static(engine, builtin.const, place)  # a global of that name would hide it
        return builtin
    if trusted:
        return constant(scope[name])
    return captured(engine, scope[name], place)


def free_cell(engine: Any, spec: Spec, name: str) -> Abstract:
    """The cell of a free variable: one that analysed code made, or one of a real function."""
    if name in spec.cells:
        return spec.cells[name]
    info = spec.ir.info
    cell = info.closure[info.freevars.index(name)]
    return AVal(None, cell, src=(*spec.place, ("cell", name)))


def read_cell(engine: Any, spec: Spec, a: Abstract, name: str) -> Abstract:
    cell = a.const
    if isinstance(cell, Cell):
        if cell.content is None:
            raise Bottom
        return _through(cell.content, a)
    assert isinstance(cell, CellType), cell
    try:
        content = cell.cell_contents
    except ValueError:
        raise TypingError("a free variable has no value yet", variable=name) from None
    if is_trusted(spec.ir.info.globals.get("__name__")):
        return constant(content)
    return captured(engine, content, a.src or place_of(cell))


def _through(content: Abstract, cell: Abstract) -> Abstract:
    return content


def read_attribute(engine: Any, obj: Any, name: str, place: Place | None) -> Abstract:
    """An attribute of a static object."""
    try:
        value = getattr(obj, name)
    except AttributeError as e:
        raise TypingError(str(e)) from None
    if has_constant_attributes(obj):
        return constant(value)
    if isinstance(value, MethodType):
        check_method(value)
    return captured(engine, value, (*(place or place_of(obj)), ("attr", name)))


def check_method(method: MethodType) -> None:
    """UnsupportedArgument if it is one of a jitclass: its function is not Python's."""
    if type(method.__self__).__module__ == "numba.experimental.jitclass.boxing":
        raise UnsupportedArgument(
            f"{method.__name__} is a method of a jitclass",
            hint="make it an ordinary class, or write a function of its attributes",
        )


def has_constant_attributes(obj: Any) -> bool:
    """Whether the attributes of a static object never change."""
    if isinstance(obj, ModuleType):
        return is_trusted(obj.__name__)
    if isinstance(obj, type):
        return is_trusted(obj.__module__)
    return isinstance(obj, (np.dtype, np.ufunc, str, bytes, *NUMBERS))


def default_value(engine: Any, function: Any, name: str, value: Any, place: Place) -> Abstract:
    """The default of a parameter: arrays are read at each call, the rest is taken by value."""
    where = (*place, ("default", name))
    if isinstance(value, np.ndarray):
        return captured(engine, value, where)
    if not is_trusted(getattr(function, "__module__", "")):
        note_static(engine, value, where)
    return constant(value, where)


def captured(engine: Any, value: Any, place: Place) -> Abstract:
    """The abstract value of something captured, noted in the engine."""
    if isinstance(value, int):
        engine.captured_int = True
        if engine.pins:
            note_static(engine, value, place)
            return constant(value)
    if isinstance(value, (*NUMBERS, np.generic, np.ndarray)):
        a = abstract_of(value)
        assert isinstance(a, AVal)
        return AVal(a.type, py=a.py, src=place)
    if isinstance(value, tuple) and _has_numbers(value):
        parts = tuple(captured(engine, v, (*place, ("item", i))) for i, v in enumerate(value))
        return ATuple(parts, None if type(value) is tuple else type(value), place)
    note_static(engine, value, place)
    return constant(value, place)


def _has_numbers(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_numbers, value))
    return isinstance(value, (*NUMBERS, np.generic, np.ndarray))


def note_static(engine: Any, value: Any, place: Place) -> None:
    engine.statics.setdefault(place, value)
