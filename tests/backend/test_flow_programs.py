"""Random programs of exceptions and suspensions do what they did before, on every path."""

from __future__ import annotations

import pytest

from pullback.backend import lower
from pullback.frontend import lift
from pullback.ir.printer import format_ir
from pullback.ir.verify import verify

from .flow_programs import Trip, make
from .observed import drive

SCRIPTS = [(), ("sent", ValueError), (KeyError, 1), (2, "close")]
FUSES = 14
SEEDS = range(25)
MANY = range(25, 1500)


def check(seed: int, kind: str) -> None:
    f = make(seed, kind)
    ir = verify(lift(f))
    g = lower(ir)
    assert format_ir(verify(lift(g))) == format_ir(ir)
    for fuse in range(FUSES):

        def args(fuse=fuse):
            log = []
            return log, Trip(log, fuse)

        for script in SCRIPTS if kind != "function" else SCRIPTS[:1]:
            assert drive(g, args, script) == drive(f, args, script)


@pytest.mark.parametrize("kind", ["function", "generator", "coroutine", "asyncgen"])
@pytest.mark.parametrize("seed", SEEDS)
def test_program(seed, kind):
    check(seed, kind)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["function", "generator", "coroutine", "asyncgen"])
def test_many_programs(kind):
    for seed in MANY:
        check(seed, kind)
