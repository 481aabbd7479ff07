"""The primitives' types here are those of their machine code."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba.core import types

from pullback.ir.core import Const, Value
from pullback.runtime import native_prims, prims  # noqa: F401  (registers the machine code)
from pullback.runtime.native_core import PRIMITIVES, specialise
from pullback.typing_.ask import context
from pullback.typing_.lattice import ATuple, AVal, constant, static
from pullback.typing_.prim_types import PRIM_TYPES, STATIC

F8, I8, C16 = types.float64, types.int64, types.complex128
VIEWED = [
    types.Array(t, n, layout, readonly=ro)
    for t, n, layout, ro in [
        (F8, 1, "C", False), (F8, 1, "A", False), (F8, 2, "C", False), (F8, 2, "F", True),
        (F8, 3, "C", False), (F8, 3, "A", False), (C16, 2, "F", False),
    ]
]  # fmt: skip
MATRIX = types.Array(F8, 2, "C")
VECTOR = types.Array(F8, 1, "C")
SPECS = ["i", "u", "s", "n", ":", "iu", "ui", "u:", ":u", "ii", "ni", "si"]


def calls():
    """(primitive, operands): types are run-time operands, anything else is a constant."""
    for t in VIEWED:
        yield prims.dim, (t, Const(0))
        yield prims.load, (t, *[I8] * t.ndim)
        yield prims.transpose, (t, Const(tuple(range(t.ndim))[::-1]))
        yield prims.transpose, (t, Const(tuple(range(t.ndim))))
        yield prims.contiguous, (t,)
        yield prims.own, (t,)
        yield prims.same_layout_zeros, (t,)
        yield prims.heap_zeros_like, (I8, t)
        yield prims.heap_own, (I8, t)
        yield prims.overlap_copy, (t, t)
        if t.dtype == C16:
            yield prims.real_view, (t,)
            yield prims.imag_view, (t,)
        if t.layout == "C":
            yield prims.reshape, (t, I8, I8)
        for spec in SPECS:
            if len(spec.replace("n", "")) <= t.ndim:
                ints = sum(prims.SPEC_INTS[s] for s in spec)
                yield prims.subview, (t, Const(spec), *[I8] * ints)
    for order, n in itertools.product("CF", (0, 1, 2)):
        for make in (prims.empty, prims.zeros):
            yield make, (Const(np.dtype("f4")), Const(order), *[I8] * n)
        yield prims.heap_zeros, (I8, Const(np.dtype("c16")), Const(order), *[I8] * n)
    yield prims.index, (I8, I8, Const(0))
    yield prims.wrap, (I8, I8)
    yield prims.slice_start, (Const(None), I8, I8)
    yield prims.slice_count, (I8, Const(None), I8, I8)
    for a, b in itertools.product((F8, I8), repeat=2):
        yield prims.pydiv, (a, b)
        yield prims.pyfloordiv, (a, b)
        yield prims.pymod, (a, b)
    yield prims.real, (C16,)
    yield prims.imag, (types.complex64,)
    yield prims.cast, (Const(types.float32), F8)
    yield prims.peek, (I8, Const(0), Const(MATRIX))
    yield prims.record, (I8, I8)
    for a, b in itertools.product((VECTOR, MATRIX), repeat=2):
        yield prims.matmul, (a, b)
    yield prims.solve, (MATRIX, VECTOR)
    yield prims.solve, (MATRIX, types.Array(F8, 2, "A"))
    for f in (prims.inv, prims.det, prims.slogdet, prims.cholesky, prims.eigh, prims.svd, prims.qr):
        yield f, (types.Array(F8, 2, "F"),)
    yield prims.eig, (types.Array(C16, 2, "C"),)
    yield prims.svd_full, (types.Array(types.complex64, 2, "C"),)
    yield prims.lstsq, (MATRIX, types.Array(F8, 2, "A"), F8)
    yield prims.pinv, (types.Array(types.float32, 2, "A"), F8)


CALLS = list(calls())


def abstract(prim, k, x):
    if isinstance(x, Const):
        return static(x.value) if k in STATIC.get(prim, ()) else constant(x.value)
    return AVal(x)


@pytest.mark.parametrize("prim, operands", CALLS, ids=lambda x: getattr(x, "__name__", None))
def test_types_agree_with_machine_code(prim, operands):
    ours = PRIM_TYPES[prim](tuple(abstract(prim, k, x) for k, x in enumerate(operands)))
    given = [x if isinstance(x, Const) else Value(k, None, x) for k, x in enumerate(operands)]
    native = specialise(prim, given)
    theirs = native.typer(context(), *(operands[k] for k in native.kept)).return_type
    assert ours.type == theirs, (ours, theirs)
    if isinstance(ours, ATuple):
        assert tuple(e.type for e in ours.elements) == tuple(theirs.types)


def test_every_primitive_has_a_type():
    untyped = {prims.select, prims.pack}  # typed where they are resolved
    assert set(PRIMITIVES) - set(PRIM_TYPES) <= untyped
