"""The words of a call's frame: one small int64 array that Python and machine code both know.

Machine code gets its address as the hidden first argument. It holds the ends of the tape and of the
heap, the function that is called when one of them is full, and what failed where.
"""

TAPE_TOP, TAPE_BEGIN, TAPE_END = 0, 1, 2  # addresses in the tape's current chunk
HEAP_TOP, HEAP_END = 3, 4  # addresses in the heap's current chunk
TAPE_BELOW = 5  # bytes of tape in the chunks before the current one
TURN = 6  # address of the function (frame, what, nbytes) -> address that changes chunks
PEAK = 7  # bytes on the tape at the cut
SITE = 8  # number of the site that failed, 0 if none; its operands follow
STATE = slice(0, SITE + 1)  # what describes a state; the rest is only read after a failure
WORDS = 40
OPERANDS = WORDS - SITE - 1  # how many words of operands there is room for

MORE_TAPE, LESS_TAPE, MORE_HEAP = 0, 1, 2  # what TURN is asked for
