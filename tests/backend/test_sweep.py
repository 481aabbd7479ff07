"""Every function of whole packages comes back identical; CPython's tests pass on lowered code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .. import cpython
from . import sweep

STDLIB = next(sweep.files("stdlib")).parent
QUICK = [
    "heapq.py", "statistics.py", "json", "argparse.py", "colorsys.py", "contextlib.py",
    "tokenize.py", "asyncio/queues.py", "asyncio/tasks.py", "traceback.py", "typing.py",
]  # fmt: skip
ROOT = Path(__file__).parents[2]


def check(paths):
    good, refused, failed = sweep.sweep(paths)
    assert not failed, "\n".join(failed)
    assert good > 100 * sum(refused.values())
    assert set(refused) <= set(sweep.CONSTRUCTS)
    return good


@pytest.mark.parametrize("name", QUICK)
def test_some_of_the_standard_library(name):
    assert check(sweep.files(str(STDLIB / name))) > 5


def test_numpy_linalg():
    import numpy.linalg

    assert check(sweep.files(str(Path(numpy.linalg.__file__).parent / "_linalg.py"))) > 50


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["stdlib", "numpy", "scipy"])
def test_everything(name):
    assert check(sweep.files(name)) > 5000


MODULES = [
    "heapq", "bisect", "colorsys", "string", "textwrap", "fractions", "difflib", "json", "csv",
    "copy", "pprint", "contextlib", "functools", "dataclasses", "random", "collections",
    "asyncio.queues", "shlex", "configparser",
]  # fmt: skip
"""Modules of the standard library whose functions are replaced."""

PROGRAMS = [
    "test.test_with", "test.test_except_star", "test.test_raise", "test.test_yield_from",
    "test.test_generators", "test.test_asyncgen", "test.test_exception_group", "test.test_scope",
]  # fmt: skip
"""CPython's tests of the language, replaced themselves."""

SLOW = [
    "statistics", "tokenize", "ast", "_pydecimal", "traceback", "enum", "typing", "argparse",
    "test.test_coroutines", "test.test_exceptions", "test.test_patma", "test.test_contextlib",
    "test.test_contextlib_async", "test.test_super", "test.test_grammar", "test.test_class",
    "test.test_named_expressions", "test.test_exception_variations", "test.test_listcomps",
]  # fmt: skip

NOT_KEPT = {
    # what reads frames: where a dead frame was, the values of locals, lines as they are traced
    "test.test_exceptions": ["PEP626", "test_name_error_suggestions", "cleanup_exc_state"],
    "test.test_patma": ["TestTracing"],
    # objects let go by `x = None` are let go when the function ends
    "test.test_coroutines": ["test_fatal_coro_warning"],
    # super() after its first argument is deleted, or while another global has its name
    "test.test_super": ["test_obscure_super_errors", "test_shadowed_dynamic"],
}
"""By module the tests of what a lowered function does not keep."""


def run_suite(module):
    """In a process of its own: the module is replaced for all who import it."""
    command = [sys.executable, "-m", "tests.backend.cpython_suite", module]
    if module in NOT_KEPT:
        command += ["--skip", *NOT_KEPT[module]]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=ROOT)
    if run.returncode == cpython.SKIPPED:
        pytest.skip("CPython's own tests are not installed")
    assert run.returncode == 0, run.stdout + run.stderr
    assert ": 0 functions replaced" not in run.stdout


@pytest.mark.parametrize("module", [*MODULES, *PROGRAMS])
def test_cpython_suite(module):
    run_suite(module)


@pytest.mark.sweep
@pytest.mark.parametrize("module", SLOW)
def test_long_cpython_suite(module):
    run_suite(module)
