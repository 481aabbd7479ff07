"""CPython's own tests of its modules pass in an empty context."""

import subprocess
import sys
from pathlib import Path

import pytest

from ..cpython import SKIPPED

ROOT = Path(__file__).parents[2]
QUICK = (
    "asyncio.queues",
    "bisect",
    "colorsys",
    "contextlib",
    "copy",
    "shlex",
    "string",
    "textwrap",
)
MORE = (
    "_pydecimal", "argparse", "ast", "collections", "configparser", "csv", "dataclasses", "difflib",
    "enum", "fractions", "functools", "heapq", "json", "pprint", "random", "statistics", "tokenize",
    "traceback", "typing",
)  # fmt: skip

NOT_KEPT = {
    "functools": (
        # an object that `x = None` lets go is let go when the function ends
        "TestPartial*.test_weakref",
        # a warning by C code about reading an attribute, which a file of the context reads
        "TestPartialC*.test_partial_as_method",
    ),
    "traceback": (
        # locals as they are seen from outside: more of them, and none that nobody reads
        "test_format_locals", "test_print", "test_comparison_params_variations",
        "FormattingTests.test_name_error_suggestions",
        # an interrupt before the first instruction, which is another one
        "test_KeyboardInterrupt_at_first_line_of_frame",
    ),
}  # fmt: skip
"""By module the tests of what contextual code does not keep."""


def run(module):
    skip = NOT_KEPT.get(module, ())
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
