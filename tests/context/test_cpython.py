"""CPython's own tests of its modules pass in an empty context."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..cpython import SKIPPED

ROOT = Path(__file__).parents[2]
QUICK = ("bisect", "shlex", "string", "textwrap")
MORE = (
    "heapq", "statistics", "fractions", "difflib", "json", "csv", "argparse", "dataclasses",
    "random", "decimal", "pprint", "configparser", "collections", "typing",
)  # fmt: skip
LIFETIMES = {
    "functools": ("weakref", "lru_cache_weakrefable"), "enum": ("exceptions_reset",),
    "copy": ("weakvaluedict",), "ast": ("garbage_collection",), "contextlib": ("nokeepref",),
}  # fmt: skip
"""Objects live a little longer in contextual code: tests of when they go are left out."""


def run(module, skip=()):
    command = [sys.executable, "-m", "tests.context.cpython_suite", module, "--skip", *skip]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=ROOT)
    if done.returncode == SKIPPED:
        pytest.skip("CPython's tests are not installed")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("module", QUICK)
def test_quick_modules(module):
    run(module)


@pytest.mark.sweep
@pytest.mark.parametrize("module", MORE)
def test_more_modules(module):
    run(module)


@pytest.mark.sweep
@pytest.mark.parametrize("module", LIFETIMES)
def test_modules_that_ask_when_objects_go(module):
    run(module, LIFETIMES[module])
