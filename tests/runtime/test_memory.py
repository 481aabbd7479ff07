"""Tape and heap memory of compiled calls: growth, reuse, snapshots."""

import gc

import numpy as np
import pytest
from numba import types

from pullback.runtime import memory, prims
from pullback.runtime.memory import Memory, Stack
from tests.backend.irs import Writer

TAPE = ("tape", types.int64)
N = ("n", types.int64)
F8 = types.float64


@pytest.fixture(scope="module")
def stack():
    """Records n numbers of two cells each, then n arrays of one number: (push, pop)."""
    w = Writer(TAPE, N)
    tape, n = w.params
    i, close = w.loop(n)
    address = w(prims.record, tape, 12)
    w(prims.poke, address, 0, w(prims.cast, F8, i))
    w(prims.poke, address, 8, w(prims.cast, types.float32, i))
    x = w(prims.heap_zeros, tape, np.dtype("f8"), "C", 3)
    w(prims.store, x, w(prims.cast, F8, i), 1)
    w(prims.poke, w(prims.record, tape, 24), 0, x)
    close()
    push = w.compile(0)

    w = Writer(TAPE, N)
    tape, n = w.params
    out = w(prims.zeros, np.dtype("f8"), "C", n, 3)
    i, close = w.loop(n)
    x = w(prims.peek, w(prims.unrecord, tape, 24), 0, types.float64[::1])
    address = w(prims.unrecord, tape, 12)
    wide, narrow = (w(prims.peek, address, k, t) for k, t in ((0, F8), (8, types.float32)))
    for k, v in enumerate((wide, narrow, w(prims.load, x, 1))):
        w(prims.store, out, v, i, k)
    close()
    return push, w.compile(out)


def expected(n):
    return np.repeat(np.arange(n)[::-1], 3).reshape(n, 3)


@pytest.mark.parametrize("n", [0, 1, 3000, 100_000])
def test_records_and_arrays_come_back_as_they_were(stack, n):
    push, pop = stack
    m = Memory()
    push.run(m, n)
    assert m.tape_bytes >= n * (12 + 24)
    assert m.heap_bytes >= n * 24
    np.testing.assert_array_equal(pop.run(m, n)[0], expected(n))
    assert m.tape_bytes == 0


def test_a_second_call_of_the_same_size_allocates_nothing(stack, monkeypatch):
    push, pop = stack
    m = Memory()
    for n in (50_000, 50_000, 20_000):
        push.run(m, n)
        pop.run(m, n)
        m.reset()
        kept = m.capacity
        if n == 50_000:
            monkeypatch.setattr(m, "turn", None)
    assert len(m.tape.chunks) == len(m.heap.chunks) == 1
    assert m.capacity == kept


def test_records_across_the_end_of_a_chunk_go_back_and_forth(stack):
    push, pop = stack
    m = Memory()
    sizes = [1000, 3000, 500, 7000]
    for n in sizes:
        push.run(m, n)
    np.testing.assert_array_equal(pop.run(m, 2000)[0][:, 0], np.arange(5000, 7000)[::-1])
    push.run(m, 2000)
    pop.run(m, 7000)
    for n in sizes[-2::-1]:
        np.testing.assert_array_equal(pop.run(m, n)[0], expected(n))


def test_a_snapshot_can_be_replayed_again_and_again(stack):
    push, pop = stack
    m = Memory()
    n = 4000
    push.run(m, n)
    held = m.snapshot()
    assert held.nbytes >= n * (36 + 24)
    for _ in range(3):
        np.testing.assert_array_equal(pop.run(m, n)[0], expected(n))
        push.run(m, 2 * n)  # scribble over all of it
        m.restore(held)
    assert m.tape_bytes == n * 40


def test_a_request_beyond_all_memory_is_a_memory_error():
    w = Writer(TAPE, N)
    w(prims.record, *w.params)
    f = w.compile(0)
    m = Memory()
    with pytest.raises(MemoryError):
        f.run(m, 1 << 60)
    m.reset()
    f.run(m, 100)

    w = Writer(TAPE, N)
    w(prims.heap_empty, w.params[0], np.dtype("f8"), "C", w.params[1])
    g = w.compile(0)
    with pytest.raises(ValueError, match="negative dimensions"):
        g(-1)
    with pytest.raises(MemoryError):
        g(1 << 57)


def test_arrays_on_the_heap_are_aligned_zeroed_and_apart(stack):
    w = Writer(TAPE, N)
    tape, n = w.params
    x = w(prims.heap_zeros, tape, np.dtype("f4"), "F", n, 3)
    y = w(prims.heap_own, tape, x)
    z = w(prims.heap_zeros_like, tape, w(prims.transpose, x, (1, 0)))
    w(prims.store, y, 5.0, 0, 0)
    f = w.compile(*(w(prims.own, a) for a in (x, y, z)))
    m = Memory()
    stack[0].run(m, 100)
    m.reset()
    x, y, z = f.run(m, 5)
    assert (m.words[3] - m.heap.last.begin) >= 3 * 60
    assert not x.any()
    assert not z.any()
    assert (x.shape, z.shape, x.flags.f_contiguous) == ((5, 3), (3, 5), True)
    assert y.sum() == 5


def test_idle_memory_is_kept_up_to_a_limit_and_freed_on_request(stack, monkeypatch):
    memory.clear_buffers()
    m = memory.checkout()
    stack[0].run(m, 10_000)
    memory.give_back(m)
    assert memory.checkout() is m
    stack[0].run(m, 40_000)
    monkeypatch.setattr(memory, "KEPT", 1000)
    memory.give_back(m)
    assert memory.checkout() is not m
    memory.give_back(Memory())
    memory.clear_buffers()
    assert not memory._idle


def test_the_limit_holds_for_memory_used_at_the_same_time(stack, monkeypatch):
    """As by several threads: each finds room for what it holds while the others are at work."""
    memory.clear_buffers()
    several = [Memory() for _ in range(4)]
    for m in several:
        stack[0].run(m, 10_000)
        m.reset()
    room_for_two = 5 * several[0].capacity // 2  # they differ by some bytes, for alignment
    monkeypatch.setattr(memory, "KEPT", room_for_two)
    for m in several:
        stack[0].run(m, 10_000)
        assert not m.turned
    for m in several:
        memory.give_back(m)
    assert len(memory._idle) == 2
    memory.clear_buffers()


def test_memory_is_freed_with_its_owner():
    import gc
    import weakref

    m = Memory()
    watch = weakref.ref(m)
    address = m.address
    del m
    gc.collect()
    assert watch() is None
    assert address not in memory._live


def test_memory_given_back_by_a_finalizer_of_a_cycle_is_found_again(stack):
    class Owner:
        def __init__(self):
            self.memory, self.cycle = memory.checkout(), self

        def __del__(self):
            memory.give_back(self.memory)

    memory.clear_buffers()
    address = Owner().memory.address
    gc.collect()
    again = memory.checkout()
    assert again.address == address
    push, pop = stack
    push.run(again, 3000)  # asks for more memory
    np.testing.assert_array_equal(pop.run(again, 3000)[0], expected(3000))
    memory.clear_buffers()


def test_records_of_several_tapes_can_be_read_after_all_were_taken_back() -> None:
    stack = Stack()
    for _ in range(4):
        stack.grow(2 * stack.capacity + 1)
    taken = stack.chunks[3:]
    stack.shrink()
    stack.shrink()
    assert all(any(c is s for s in stack.spare) for c in taken)
    stack.grow(1)
    assert stack.spare == []
