"""Sums in vector loops, in the order of the program.

A sum of floating-point numbers in a loop may not be reordered, and for many processors LLVM leaves
such a loop as it is, with everything else that is done in it. Told so, it does the rest in vectors
and adds their lanes up one after the other: the result is the same, to the last bit. That is an
option of the whole process; so that nobody else's code is concerned, it is set while ours is
compiled, under Numba's lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import binding

OPTION = "-force-ordered-reductions"
KNOWN_TO = range(15, 23)
"""LLVM's versions that have been seen to have the option: one that has not ends the process."""


@contextmanager
def ordered_reductions() -> Iterator[None]:
    """Let LLVM vectorise loops with sums, for as long as this lasts."""
    known = binding.llvm_version_info[0] in KNOWN_TO
    if known:
        binding.set_option("pullback", f"{OPTION}=true")
    try:
        yield
    finally:
        if known:
            binding.set_option("pullback", f"{OPTION}=false")
