"""Run CPython's own tests of a module in an empty context.

``python tests/context/cpython_suite.py MODULE [--skip PATTERN ...]`` runs each test of
``test.test_MODULE`` by ``overdub``, the module and its tests opted in, and prints how many calls
were entered. Exit status 77: no tests installed.
"""

from __future__ import annotations

import sys
import unittest
from fnmatch import fnmatch
from typing import Any

import pullback as pb

SKIPPED = 77


class Empty(pb.Context):
    pass


def chosen(suite: Any, skip: list[str]) -> unittest.TestSuite:
    """The tests whose names fit none of the patterns."""
    out = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            out.addTest(chosen(test, skip))
        elif not any(fnmatch(test.id(), f"*{p}*") for p in skip):
            out.addTest(test)
    return out


def main(name: str, skip: list[str]) -> int:
    package, _, module = name.rpartition(".")
    tests_name = f"test.test_{package}.test_{module}" if package else f"test.test_{name}"
    ctx = Empty(recurse_into=[name, tests_name])

    def run(self: unittest.TestCase, method: Any) -> None:
        ctx.overdub(method)

    unittest.TestCase._callTestMethod = run  # type: ignore[attr-defined, method-assign]
    try:
        tests = unittest.defaultTestLoader.loadTestsFromName(tests_name)
    except (ImportError, AttributeError, unittest.SkipTest) as error:
        print(repr(error))
        return SKIPPED
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(chosen(tests, skip))
    entered = sum(map(len, Empty.__dict__["_tables"].values()))
    print(f"{name}: {entered} functions were seen")
    return not result.wasSuccessful() or not entered


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3:]))
