"""Each pass on random programs: same behaviour, valid IR, a second run changes nothing."""

import pytest
from hypothesis import HealthCheck, given, settings

from pullback.passes.copy_prop import copy_prop
from pullback.passes.cse import cse
from pullback.passes.dce import dce, dead_params
from pullback.passes.fold import fold
from pullback.passes.lcssa import lcssa
from pullback.passes.licm import licm
from pullback.passes.loop_canonical import loop_canonical
from pullback.passes.mem2reg import mem2reg
from pullback.passes.simplify_cfg import simplify_cfg
from tests.ir.programs import arguments, structured, unstructured

from .checks import preserves


def closed(ir):
    changed = loop_canonical(ir)
    return lcssa(ir) | changed


PASSES = [
    *(simplify_cfg, copy_prop, dce, dead_params, mem2reg, loop_canonical, closed),
    *(fold, cse, licm),
]
KINDS = {"unstructured": unstructured(), "structured": structured()}


@pytest.mark.parametrize("transform", PASSES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_preserved(transform, kind):
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(KINDS[kind], arguments)
    def run(ir, args):
        preserves(transform, ir, args)

    run()
