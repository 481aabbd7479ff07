"""The table in ``docs/numpy.md``: nothing in it is wrong, and a sample of it is made anew."""

import re
from pathlib import Path

import pytest

from .numpy_table import CONSTANT, RIGHT, classify, numba_callables

PAGE = Path(__file__).parents[2] / "docs" / "numpy.md"
ROWS = dict(re.findall(r"^\| `([\w.]+)` \| (.*?) \|$", PAGE.read_text(), re.M))


def test_nothing_is_wrong_and_most_is_right():
    assert not [name for name, verdict in ROWS.items() if verdict.startswith("WRONG")]
    assert sum(verdict in (RIGHT, CONSTANT) for verdict in ROWS.values()) >= 280


@pytest.mark.parametrize("name", sorted(ROWS)[::9])
def test_row(name):
    callables = numba_callables()
    if name not in callables:
        pytest.skip("not known to this version of Numba")
    verdict, detail = classify(callables[name])
    assert ROWS[name].startswith(verdict), detail
