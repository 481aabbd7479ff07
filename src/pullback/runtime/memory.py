"""Memory of compiled calls: the tape and the heap, in chunks that Python owns.

Machine code bumps addresses in a `Memory`'s frame; here is what it calls when a chunk is full. The
chunks are NumPy buffers held by the Memory, so nothing can leak, whatever a compiled function
does; they never move, so addresses stay good. When a Memory is used again its chunks are first
joined into one, so that the next call of the same size allocates nothing.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from . import frame as words
from .frame import STATE

FIRST_CHUNK = 1 << 16
KEPT = 1 << 30
"""How many bytes of idle memory are kept for the next calls."""

_PAGE = 64
_live: dict[int, ref[Memory]] = {}


class Chunk:
    """One buffer: its first address (a multiple of 64), the end, and the top when it was left."""

    __slots__ = ("buffer", "begin", "end", "top")

    def __init__(self, nbytes: int) -> None:
        self.buffer = np.empty(nbytes + _PAGE, np.uint8)
        start = self.buffer.ctypes.data
        self.begin = self.top = -(-start // _PAGE) * _PAGE
        self.end = start + nbytes + _PAGE

    def used(self) -> np.ndarray:
        """The bytes below the top."""
        first = self.begin - self.buffer.ctypes.data
        return self.buffer[first : first + self.top - self.begin]


class Stack:
    """Chunks of growing size, the last one in use. Those gone back from are spare: what they hold
    can be read until something is put on the stack again (records of several tapes may have been
    taken back before the first of them is read)."""

    def __init__(self) -> None:
        self.chunks = [Chunk(0)]
        self.spare: list[Chunk] = []
        self.capacity = 0  # the most bytes that all chunks had together

    @property
    def last(self) -> Chunk:
        return self.chunks[-1]

    def used(self, chunks: int | None = None) -> int:
        """Bytes in use in the first ``chunks`` chunks; `last.top` must be up to date."""
        return sum(c.top - c.begin for c in self.chunks[:chunks])

    def grow(self, nbytes: int) -> None:
        """Go on in a chunk with room for ``nbytes``."""
        chunk = next((c for c in self.spare if c.end - c.begin >= nbytes), None)
        self.spare.clear()
        if chunk is None:
            chunk = Chunk(max(nbytes, self.capacity, FIRST_CHUNK))
        chunk.top = chunk.begin
        self.chunks.append(chunk)
        self.capacity = max(self.capacity, sum(c.end - c.begin for c in self.chunks))

    def shrink(self) -> None:
        """Go back to the chunk before."""
        if len(self.chunks) > 1:
            self.spare.append(self.chunks.pop())

    def clear(self) -> None:
        """Empty, in one chunk with room for what all had together."""
        if len(self.chunks) > 1 or self.spare:
            self.chunks, self.spare = [], []  # freed before the new one is made
            self.chunks.append(Chunk(self.capacity))
        self.last.top = self.last.begin


class Snapshot:
    """What the tape and the heap held at one moment, and where."""

    __slots__ = ("tape", "heap", "nbytes")

    def __init__(self, tape: list[Any], heap: list[Any]) -> None:
        self.tape, self.heap = tape, heap
        self.nbytes = sum(content.nbytes for _, _, content in [*tape, *heap])


class Memory:
    """The tape and the heap of one call at a time. ``address`` is what compiled code is given."""

    def __init__(self) -> None:
        self.words = array("q", bytes(8 * words.WORDS))
        self.address = self.words.buffer_info()[0]
        self.tape, self.heap = Stack(), Stack()
        self.words[words.TURN] = _turn_address
        self._start()
        self.register()

    def register(self) -> None:
        """Let machine code that has the address find this object, as long as it lives."""
        address = self.address
        self.reference = _live[address] = ref(self, partial(_forget, address, _live.pop))

    def _enter(self) -> None:
        """Tell machine code where to go on."""
        w, tape, heap = self.words, self.tape.last, self.heap.last
        w[words.TAPE_TOP], w[words.TAPE_BEGIN], w[words.TAPE_END] = tape.top, tape.begin, tape.end
        w[words.TAPE_BELOW] = self.tape.used(-1)
        w[words.HEAP_TOP], w[words.HEAP_END] = heap.top, heap.end

    def _leave(self) -> None:
        """Note how far machine code has come."""
        self.tape.last.top = self.words[words.TAPE_TOP]
        self.heap.last.top = self.words[words.HEAP_TOP]

    def turn(self, what: int, nbytes: int) -> int:
        """Change chunks as machine code asks: the top to go on from."""
        self.turned = True
        self._leave()
        if what == words.MORE_HEAP:
            self.heap.grow(nbytes)
        elif what == words.MORE_TAPE:
            self.tape.grow(nbytes)
        else:
            self.tape.shrink()
        self._enter()
        return (self.heap if what == words.MORE_HEAP else self.tape).last.top

    def reset(self) -> None:
        """Give up everything recorded and allocated, and forget failures."""
        if self.turned:
            self.tape.clear()
            self.heap.clear()
            self._start()
        else:
            self.words[STATE] = self.start

    def _start(self) -> None:
        self.turned = False  # whether chunks were changed since
        self.words[words.PEAK] = self.words[words.SITE] = 0
        self._enter()
        self.start = self.words[STATE]

    @property
    def failed(self) -> bool:
        """Whether machine code left at a site of failure, see `backend.sites`."""
        return self.words[words.SITE] != 0

    @property
    def capacity(self) -> int:
        """Bytes held, used or not."""
        return self.tape.capacity + self.heap.capacity

    @property
    def tape_bytes(self) -> int:
        """Bytes on the tape: now, or at the cut of the function that ran if that is more."""
        self._leave()
        return max(self.tape.used(), self.words[words.PEAK])

    @property
    def heap_bytes(self) -> int:
        """Bytes of the arrays on the heap."""
        self._leave()
        return self.heap.used()

    def snapshot(self) -> Snapshot:
        """A copy of what is in use, to `restore` any number of times."""
        self._leave()
        held = [[(c, c.top, c.used().copy()) for c in s.chunks] for s in (self.tape, self.heap)]
        return Snapshot(*held)

    def restore(self, snapshot: Snapshot) -> None:
        """Put the bytes back at the addresses they had; what was allocated since is given up."""
        for stack, held in ((self.tape, snapshot.tape), (self.heap, snapshot.heap)):
            stack.chunks = [c for c, _, _ in held]
            stack.spare = []
            for chunk, top, content in held:
                chunk.top = top
                chunk.used()[:] = content
        self.turned = True
        self._enter()


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
def _turn(address: int, what: int, nbytes: int) -> int:
    try:
        memory = _live[address]()
        return 0 if memory is None else memory.turn(what, nbytes)
    except (MemoryError, ValueError):  # NumPy: too large to be the size of an array
        return 0


_turn_address = ctypes.cast(_turn, ctypes.c_void_p).value or 0


def _forget(address: int, pop: Callable[..., Any], _: Any) -> None:
    pop(address, None)


# -- idle memory -----------------------------------------------------------------------------------
_idle: list[Memory] = []


def checkout() -> Memory:
    """Memory for one call, empty."""
    try:
        return _idle.pop()
    except IndexError:
        return Memory()


def give_back(memory: Memory) -> None:
    """Keep it for another call, unless enough is kept already."""
    if memory.reference() is None:  # a finalizer calls this, after weak references were cleared
        memory.register()
    if memory.turned:
        memory.reset()
        if memory.capacity > KEPT:
            return
    else:
        memory.words[STATE] = memory.start
    # asked each time: it may not have been idle when the others were given back
    if _idle and memory.capacity + sum(m.capacity for m in list(_idle)) > KEPT:
        return
    _idle.append(memory)


def clear_buffers() -> None:
    """Free the memory kept for later calls.

    Tapes, private copies and shadows live in memory that calls hand on to each other, up to 1 GiB
    in all. What calls in progress and pullbacks hold is not touched.

        gradient = pb.grad(loss)(x)  # a long loop, a large tape
        pb.clear_buffers()
    """
    _idle.clear()
