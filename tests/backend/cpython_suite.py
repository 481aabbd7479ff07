"""Run CPython's own tests on functions that are their round-tripped selves.

``python -m tests.backend.cpython_suite MODULE [--skip PATTERN ...]`` replaces the functions of a
module of the standard library and its submodules, then runs ``test.test_MODULE``. Of a module of
tests, ``test.test_generators``, the functions of the tests themselves are replaced: they are
programs that use one construct in every way. Nested functions and the methods of nested classes
are replaced with what holds them. Every import gets its functions replaced before anybody else sees
it, fresh imports without C accelerators too. Prints how many functions were replaced and refused.
Exit status 77: no tests installed.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import signal
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

from pullback.backend import lower_code
from pullback.errors import LiftError
from pullback.frontend import lift_code
from tests import cpython

OPTIMIZED = 1  # functions, as opposed to class bodies


class Replacer(importlib.machinery.PathFinder):
    """Finds modules as usual, and replaces the code of their functions once they have run."""

    name = ""
    replaced, refused = 0, 0

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        wanted = fullname == cls.name or fullname.startswith(cls.name + ".")
        spec = super().find_spec(fullname, path, target) if wanted else None
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            cls.replace(module.__dict__, module.__dict__["__name__"], set())

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    @classmethod
    def replace(cls, names: dict[str, Any], module: str, seen: set[int]) -> None:
        for x in list(names.values()):
            if id(x) in seen:
                continue
            seen.add(id(x))
            for f in functions_of(x):
                if f.__module__ == module and f.__code__.co_filename.endswith(".py"):
                    f.__code__ = cls.round_trip(f.__code__, f.__globals__)
            if isinstance(x, type) and x.__module__ == module:
                cls.replace(dict(vars(x)), module, seen)

    @classmethod
    def round_trip(cls, code: CodeType, globals: dict[str, Any]) -> CodeType:
        if code.co_flags & OPTIMIZED:
            try:
                code = lower_code(lift_code(code, globals)).code
            except LiftError:
                cls.refused += 1
            else:
                cls.replaced += 1
        consts = tuple(
            cls.round_trip(c, globals) if isinstance(c, CodeType) else c for c in code.co_consts
        )
        return code.replace(co_consts=consts)


def functions_of(x: Any) -> list[FunctionType]:
    """The functions that a name of a module or class stands for, wrapped ones too."""
    if isinstance(x, property):
        found = [x.fget, x.fset, x.fdel]
    elif isinstance(x, (classmethod, staticmethod)):
        found = [x.__func__]
    else:
        found = [x]
    for f in found:
        wrapped = getattr(f, "__wrapped__", None) if isinstance(f, FunctionType) else None
        if wrapped is not None and wrapped not in found:
            found.append(wrapped)
    return [f for f in found if isinstance(f, FunctionType)]


def main(name: str, skip: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs
    Replacer.name = name
    for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
        del sys.modules[loaded]
    sys.meta_path.insert(0, Replacer)
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(repr(error))
        return cpython.SKIPPED
    tests = cpython.load(name)
    print(f"{name}: {Replacer.replaced} functions replaced, {Replacer.refused} refused", flush=True)
    return not cpython.run(tests, skip)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3:]))
