"""Random programs: flattened on CPython, typed twice, and a sample in machine code."""

from __future__ import annotations

import copy

import pytest

from pullback.backend.native import compile_native

from ..ad.programs import program
from .support import check, leaves_of, missing, outcome, rebuilt, same


@pytest.mark.parametrize("seed", range(150))
def test_agrees_with_cpython(seed):
    p = program(seed)
    check(p.function, *p.arguments(), rtol=1e-15)


@pytest.mark.parametrize("seed", range(150, 154))
def test_agrees_in_machine_code(seed):
    p = program(seed)
    args = p.arguments()
    made = check(p.function, *args, rtol=1e-15)
    theirs, ours = copy.deepcopy(args), copy.deepcopy(args)
    ours = (*ours, *missing(p.function, ours))
    want = outcome(p.function, *theirs)
    operands = [x for v, a in zip(ours, made.args) for x in leaves_of(v, a)]
    operands += [h.read(p.function) for h in made.hidden]
    got = outcome(lambda: rebuilt(made.result, iter(compile_native(made.ir)(*operands))))
    if isinstance(want, Exception):
        assert type(got) is type(want) and str(got) == str(want)
    else:
        same(want, got, 1e-12)
    same(theirs, ours, 1e-12)
