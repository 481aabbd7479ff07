"""The tape on CPython: last in, first out, and every misuse an error."""

import numpy as np
import pytest
from numba import types

from pullback.runtime import prims
from pullback.runtime.tape import Tape


def test_records_come_back_in_reverse():
    tape = Tape()
    sizes = [8, 1, 24, 12]
    made = [prims.record(tape, n) for n in sizes]
    for address in made:
        prims.poke(address, 0, address)
    for n, address in zip(sizes[::-1], made[::-1]):
        assert prims.unrecord(tape, n) == address
        assert prims.peek(address, 0, types.int64) == address
    assert tape.tape_bytes == 0


def test_two_tapes_do_not_meet():
    one, two = Tape(), Tape()
    a, b = prims.record(one, 8), prims.record(two, 8)
    prims.poke(a, 0, "one")
    prims.poke(b, 0, "two")
    assert (prims.peek(a, 0, None), prims.peek(b, 0, None)) == ("one", "two")


@pytest.mark.parametrize("nbytes", [8, 4000])
def test_what_a_new_record_covers_is_forgotten(nbytes):
    tape = Tape()
    prims.record(tape, 8)
    address = prims.record(tape, nbytes)
    for k in range(0, nbytes, 8):
        prims.poke(address, k, k)
    prims.unrecord(tape, nbytes)
    assert prims.record(tape, nbytes) == address
    with pytest.raises(KeyError):
        prims.peek(address, 0, types.float64)


def test_taking_more_than_was_put_raises():
    tape = Tape()
    prims.record(tape, 8)
    with pytest.raises(IndexError):
        prims.unrecord(tape, 16)


def test_a_snapshot_can_be_restored_again_and_again():
    tape = Tape()
    x = prims.heap_zeros(tape, np.float64, "C", 3)
    address = prims.record(tape, 8)
    prims.poke(address, 0, 1.5)
    x[:] = 7
    held = tape.snapshot()
    for _ in range(2):
        prims.poke(prims.unrecord(tape, 8), 0, 0.0)
        x[:] = 0
        prims.heap_empty(tape, np.float64, "C", 2)
        tape.restore(held)
        assert x.tolist() == [7, 7, 7]
        assert prims.peek(prims.unrecord(tape, 8), 0, types.float64) == 1.5
        tape.restore(held)
    assert tape.heap_bytes == 24


def test_sizes_of_cells():
    sizes = {types.float64: 8, types.float32: 4, types.boolean: 1, types.complex128: 16}
    for t, n in sizes.items():
        assert prims.nbytes_of(t) == n
    assert prims.nbytes_of(types.float64[:, :]) == 40
