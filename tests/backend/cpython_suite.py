"""Run CPython's own tests of a module whose functions are their round-tripped selves.

``python tests/backend/cpython_suite.py MODULE`` prints how many functions were replaced and
refused, then runs ``test.test_MODULE``. Every import of the module, fresh ones without their C
accelerators too, gets its functions replaced before anybody else sees it. Exit status 77: no tests
installed.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import unittest
from types import FunctionType, ModuleType
from typing import Any

from pullback.backend import lower_code
from pullback.errors import LiftError
from pullback.frontend import lift

SKIPPED = 77


class Replacer(importlib.machinery.PathFinder):
    """Finds the module as usual, and replaces the code of its functions once it has run."""

    name = ""
    replaced, refused = 0, 0

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        spec = super().find_spec(fullname, path, target) if fullname == cls.name else None
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            cls.replace(module.__dict__, fullname)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    @classmethod
    def replace(cls, names: dict[str, Any], module: str) -> None:
        for x in list(names.values()):
            for f in functions_of(x):
                if f.__module__ == module and f.__code__.co_filename.endswith(".py"):
                    cls.round_trip(f)
            if isinstance(x, type) and x.__module__ == module:
                cls.replace(dict(vars(x)), module)

    @classmethod
    def round_trip(cls, f: FunctionType) -> None:
        try:
            f.__code__ = lower_code(lift(f)).code
        except LiftError:
            cls.refused += 1
        else:
            cls.replaced += 1


def functions_of(x: Any) -> list[FunctionType]:
    """The functions that a name of a module or class stands for."""
    if isinstance(x, property):
        found = [x.fget, x.fset, x.fdel]
    elif isinstance(x, (classmethod, staticmethod)):
        found = [x.__func__]
    else:
        found = [x]
    return [f for f in found if isinstance(f, FunctionType)]


def main(name: str) -> int:
    Replacer.name = name
    sys.modules.pop(name, None)
    sys.meta_path.insert(0, Replacer)
    importlib.import_module(name)
    try:
        tests = unittest.defaultTestLoader.loadTestsFromName(f"test.test_{name}")
    except (ImportError, AttributeError):
        return SKIPPED
    print(f"{name}: {Replacer.replaced} functions replaced, {Replacer.refused} refused")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(tests)
    return not result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
