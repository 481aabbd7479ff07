"""Machine code for the tape and the heap: a few loads and stores at the frame's words.

A record bumps an address; only where a chunk is full (or empty, going back) the frame's TURN
function is called, which lives in `memory`. Cells are raw bytes without alignment; an array is
written as its pointer, shape and strides and comes back uncounted.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing import signature

from . import frame as words
from . import prims as p
from .native_arrays import (
    ALIGNMENT,
    checked_nbytes,
    clear,
    copy_elements,
    fresh_typer,
    matching_strides,
    nbytes_of,
)
from .native_core import (
    I8,
    I64,
    arr_of,
    dense_strides,
    itemsize,
    like,
    make_arr,
    native,
    plain,
)
from .tape import ALIGNMENT as RECORD_ALIGNMENT

INT = types.int64
TURN = ir.FunctionType(I64, [I64, I64, I64])


def _word(b: Any, address: Any, k: int) -> Any:
    return b.gep(b.inttoptr(address, I64.as_pointer()), [I64(k)], inbounds=True)


def _turn(b: Any, address: Any, what: int, nbytes: Any) -> Any:
    """Change chunks: the new top, 0 if memory ran out."""
    fn = b.inttoptr(b.load(_word(b, address, words.TURN)), TURN.as_pointer())
    return b.call(fn, [address, I64(what), nbytes])


def _round_up(b: Any, n: Any, to: int) -> Any:
    return b.and_(b.add(n, I64(to - 1)), I64(-to))


def _unless(b: Any, usual: Any, condition: Any, rarely: Any) -> Any:
    """``usual``, but what ``rarely()`` computes if ``condition``."""
    before = b.block
    with b.if_then(condition, likely=False):
        other = rarely()
        there = b.block
    merged = b.phi(I64)
    merged.add_incoming(usual, before)
    merged.add_incoming(other, there)
    return merged


def _bump(frame: Any, b: Any, tape: Any, top: Any, nbytes: Any, what: int) -> Any:
    """Take ``nbytes`` bytes at ``top`` or in a new chunk; fails if memory ran out."""
    top_word, end_word = (
        (words.TAPE_TOP, words.TAPE_END)
        if what == words.MORE_TAPE
        else (words.HEAP_TOP, words.HEAP_END)
    )
    room = b.sub(b.load(_word(b, tape, end_word)), top)

    def elsewhere() -> Any:
        fresh = _turn(b, tape, what, nbytes)
        frame.fail_if(b.icmp_signed("==", fresh, I64(0)))
        return fresh

    top = _unless(b, top, b.icmp_signed(">", nbytes, room), elsewhere)
    b.store(b.add(top, nbytes), _word(b, tape, top_word))
    return top


@native(p.record, fails=True)
def _record(n: int) -> Any:
    def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
        tape, nbytes = args[0], _round_up(b, args[1], RECORD_ALIGNMENT)
        top = b.load(_word(b, tape, words.TAPE_TOP))
        return _bump(frame, b, tape, top, nbytes, words.MORE_TAPE)

    return lambda context, tape, nbytes: signature(INT, INT, INT), codegen


@native(p.unrecord)
def _unrecord(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        tape, nbytes = args[0], _round_up(b, args[1], RECORD_ALIGNMENT)
        top = b.load(_word(b, tape, words.TAPE_TOP))
        at_begin = b.icmp_signed("==", top, b.load(_word(b, tape, words.TAPE_BEGIN)))
        top = _unless(b, top, at_begin, lambda: _turn(b, tape, words.LESS_TAPE, nbytes))
        address = b.sub(top, nbytes)
        b.store(address, _word(b, tape, words.TAPE_TOP))
        return address

    return lambda context, tape, nbytes: signature(INT, INT, INT), codegen


# -- cells -----------------------------------------------------------------------------------------
def _cell(b: Any, address: Any, offset: Any, type: Any) -> Any:
    """Indexed from the address, not computed with it: so loops over cells become vector code."""
    return b.bitcast(b.gep(b.inttoptr(address, I8.as_pointer()), [offset]), type.as_pointer())


def _handle(b: Any, address: Any, offset: Any, k: int) -> Any:
    """The cell of the k-th word of an array's handle."""
    return _cell(b, address, b.add(offset, I64(8 * k)), I64)


@native(p.poke)
def _poke(n: int) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        address, offset, value = args
        type = sig.args[2]
        if isinstance(type, types.Array):
            x = arr_of(cx, b, type, value)
            words = [b.ptrtoint(x.data, I64), *x.shape, *x.strides]
            for k, word in enumerate(words):
                b.store(word, _handle(b, address, offset, k), align=1)
        else:
            cell = _cell(b, address, offset, cx.get_data_type(type))
            cx.pack_value(b, type, value, cell, align=1)
        return cx.get_dummy_value()

    return lambda context, address, offset, v: signature(types.none, INT, INT, plain(v)), codegen


@native(p.peek, 2)
def _peek(n: int, type: Any) -> Any:
    def codegen(cx: Any, b: Any, sig: Any, args: Any) -> Any:
        address, offset = args
        if not isinstance(type, types.Array):
            cell = _cell(b, address, offset, cx.get_data_type(type))
            return cx.unpack_value(b, type, cell, align=1)
        count = 1 + 2 * type.ndim
        data, *rest = (b.load(_handle(b, address, offset, k), align=1) for k in range(count))
        pointer = b.inttoptr(data, I8.as_pointer())
        return make_arr(cx, b, type, pointer, rest[: type.ndim], rest[type.ndim :])

    return lambda context, address, offset: signature(type, INT, INT), codegen


# -- heap ------------------------------------------------------------------------------------------
def on_heap(frame: Any, b: Any, tape: Any, nbytes: Any) -> Any:
    """The address of ``nbytes`` bytes on the heap."""
    top = _round_up(b, b.load(_word(b, tape, words.HEAP_TOP)), ALIGNMENT)
    top = _bump(frame, b, tape, top, nbytes, words.MORE_HEAP)
    return b.inttoptr(top, I8.as_pointer())


def _heap(zero: bool) -> Any:
    def make(n: int, dtype: Any, order: str) -> Any:
        typer = fresh_typer(dtype, order)

        def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
            cx, type, (tape, *shape) = frame.cx, sig.return_type, args
            nbytes = checked_nbytes(frame, b, shape, itemsize(cx, type))
            data = on_heap(frame, b, tape, nbytes)
            if zero:
                clear(b, data, nbytes)
            return make_arr(cx, b, type, data, shape, dense_strides(cx, b, type, shape, order))

        def with_tape(context: Any, tape: Any, *dims: Any) -> Any:
            sig = typer(context, *dims)
            return signature(sig.return_type, INT, *sig.args)

        return with_tape, codegen

    return make


native(p.heap_empty, 1, 2, fails=True)(_heap(False))
native(p.heap_zeros, 1, 2, fails=True)(_heap(True))


def _heap_like(zero: bool) -> Any:
    def make(n: int) -> Any:
        def codegen(frame: Any, b: Any, sig: Any, args: Any) -> Any:
            cx, type = frame.cx, sig.return_type
            x = arr_of(cx, b, sig.args[1], args[1])
            nbytes = nbytes_of(cx, b, x)
            data = on_heap(frame, b, args[0], nbytes)
            value = make_arr(cx, b, type, data, x.shape, matching_strides(cx, b, x))
            if zero:
                clear(b, data, nbytes)
            else:
                copy_elements(cx, b, x, arr_of(cx, b, type, value))
            return value

        def typer(context: Any, tape: Any, x: Any) -> Any:
            return signature(like(x, x.ndim, x.layout).copy(readonly=False), INT, x)

        return typer, codegen

    return make


native(p.heap_zeros_like, fails=True)(_heap_like(True))
native(p.heap_own, fails=True)(_heap_like(False))


@native(p.null, 0)
def _null(n: int, type: Any) -> Any:
    return lambda context: signature(type), lambda cx, b, sig, args: cx.get_constant_null(type)
