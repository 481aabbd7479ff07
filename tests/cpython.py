"""CPython's own tests of its modules: finding them, choosing among them, running them."""

from __future__ import annotations

import sys
import unittest
from fnmatch import fnmatch
from typing import Any

SKIPPED = 77
"""The exit status where no tests are installed."""

TESTS = {"_pydecimal": "test.test_decimal"}
"""Modules whose tests are called otherwise."""


def tests_of(name: str) -> str:
    """The module with the tests of a module; a module of tests is its own."""
    if name in TESTS or name.startswith("test."):
        return TESTS.get(name, name)
    package, _, module = name.rpartition(".")
    return f"test.test_{package}.test_{module}" if package else f"test.test_{name}"


def chosen(suite: Any, skip: list[str]) -> unittest.TestSuite:
    """The tests whose names fit none of the patterns."""
    out = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            out.addTest(chosen(test, skip))
        elif not any(fnmatch(test.id(), f"*{p}*") for p in skip):
            out.addTest(test)
    return out


def load(name: str) -> unittest.TestSuite:
    """The tests of the module; leaves the process if there are none."""
    try:
        return unittest.defaultTestLoader.loadTestsFromName(tests_of(name))
    except (ImportError, AttributeError, unittest.SkipTest) as error:
        print(repr(error))
        sys.exit(SKIPPED)


def run(tests: unittest.TestSuite, skip: list[str]) -> bool:
    """Whether all chosen tests pass."""
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=0)
    return runner.run(chosen(tests, skip)).wasSuccessful()
