"""Every function of whole packages comes back identical; CPython's tests pass on lowered code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from . import sweep

STDLIB = next(sweep.files("stdlib")).parent
QUICK = ["heapq.py", "statistics.py", "difflib.py", "json", "ast.py", "argparse.py", "colorsys.py"]
HERE = Path(__file__).parent


def check(paths):
    good, refused, failed = sweep.sweep(paths)
    assert not failed, "\n".join(failed)
    assert good > sum(refused.values())
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


LONG = pytest.param("statistics", marks=pytest.mark.sweep)


@pytest.mark.parametrize(
    "module", ["heapq", "bisect", "colorsys", "string", "textwrap", "fractions", "difflib", LONG]
)
def test_cpython_suite(module):
    """In a process of its own: the module is replaced for all who import it."""
    command = [sys.executable, str(HERE / "cpython_suite.py"), module]
    run = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if run.returncode == 77:
        pytest.skip("CPython's own tests are not installed")
    assert run.returncode == 0, run.stdout + run.stderr
    assert ": 0 functions replaced" not in run.stdout
