"""Run CPython's own tests of a module in an empty context.

``python -m tests.context.cpython_suite MODULE [--skip PATTERN ...]`` runs each test of
``test.test_MODULE`` by ``overdub``, the module and its tests opted in, and prints how many
functions were entered. Exit status 77: no tests installed.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any
from unittest import IsolatedAsyncioTestCase, TestCase

import pullback as pb
from tests import cpython


class Empty(pb.Context):
    pass


def in_context(ctx: Empty, case: Any) -> None:
    """Have the test methods of a class of cases run by ``overdub``."""
    plain = case._callTestMethod

    def call(self: TestCase, method: Any) -> None:
        inside = functools.partial(ctx.overdub, method)
        plain(self, coroutine(inside) if inspect.iscoroutinefunction(method) else inside)

    case._callTestMethod = call


def coroutine(f: Any) -> Any:
    async def run() -> Any:
        return await f()

    return run


def main(name: str, skip: list[str]) -> int:
    ctx = Empty(recurse_into=[name, cpython.tests_of(name)])
    for case in (IsolatedAsyncioTestCase, TestCase):
        in_context(ctx, case)
    passed = cpython.run(cpython.load(name), skip)
    entered = sum(map(len, Empty.__dict__["_tables"].values()))
    print(f"{name}: {entered} functions were seen")
    return not (passed and entered)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[3:]))
