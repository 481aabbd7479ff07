"""Running kernels: memory, shadows, and results as users know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ad.compile import Kernel, Options
from ..runtime.memory import Memory, checkout, give_back
from ..runtime.tape import Tape
from .tree import Tree, build, converter, leaves


def runner(kernel: Kernel, options: Options) -> Callable[..., tuple[Any, ...]]:
    """Calls the kernel on memory of its own: takes all parameters but the tape."""
    if options.run == "native":
        return kernel.call
    if not kernel.tapes:
        return kernel.call
    call = kernel.call
    return lambda *args: call(Tape(), *args)


class Arena:
    """Tape and heap that stay between the two halves of a split derivative."""

    def __init__(self, options: Options) -> None:
        self.native = options.run == "native"
        self.memory: Any = checkout() if self.native else Tape()

    def run(self, function: Any, *args: Any) -> Any:
        if self.native:
            return function.run(self.memory, *args)
        return function(self.memory, *args)

    @property
    def nbytes(self) -> int:
        return int(self.memory.tape_bytes + self.memory.heap_bytes)

    def close(self) -> None:
        """Give the memory back; the arena is not used again."""
        memory, self.memory = self.memory, None
        if isinstance(memory, Memory):
            give_back(memory)


# -- results ---------------------------------------------------------------------------------------
class Results:
    """Puts the value of a call together from the leaves that a kernel returns. ``from_args``: for
    each leaf the entry parameter that it is or is a view of."""

    def __init__(self, tree: Tree, from_args: Sequence[int | None] = ()) -> None:
        self.tree = tree
        self.types = [leaf.type for leaf in leaves(tree)]
        self.n = len(self.types)
        self.convert = [converter(t) for t in self.types]
        origins = from_args or [None] * self.n
        self.views = [(k, o) for k, o in enumerate(origins) if o is not None]

    def __call__(self, parts: Sequence[Any], args: Sequence[Any], private: Any = None) -> Any:
        """The value. ``args`` are the caller's; ``private`` the copies that the kernel saw."""
        return build(self.tree, iter(self.leaves(parts, args, private)))

    def leaves(self, parts: Sequence[Any], args: Sequence[Any], private: Any = None) -> list[Any]:
        made = [c(p) for c, p in zip(self.convert, parts)]
        for k, origin in self.views:
            seen = args if private is None else private
            made[k] = same_part(parts[k], seen[origin], args[origin])
        return made


def same_part(view: np.ndarray, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The part of ``other`` that ``view`` is of ``whole``, which has the same strides."""
    start = address(view) - address(whole)
    if start == 0 and _layout(view) == _layout(other):
        return other
    if whole is other and other.flags.writeable:
        return view
    return array_at(address(other) + start, view.shape, view.strides, view.dtype, other)


def _layout(x: np.ndarray) -> tuple[Any, ...]:
    return x.shape, x.strides, x.dtype


def address(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


class _Block:
    """Memory of another array, as NumPy's array interface asks for it."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def array_at(
    start: int, shape: Any, strides: Any, dtype: np.dtype[Any], owner: np.ndarray
) -> np.ndarray:
    """An array in the memory that ``owner`` holds."""
    interface = {
        "version": 3,
        "data": (start, not owner.flags.writeable),
        "shape": shape,
        "strides": strides,
        "typestr": dtype.str,
    }
    return np.asarray(_Block(interface, owner))


def twin(x: np.ndarray, exact: bool) -> np.ndarray:
    """A private copy of ``x``; ``exact``: with the same strides, so that views can be moved."""
    if not exact or x.flags.c_contiguous or x.flags.f_contiguous:
        return x.copy("F" if x.flags.f_contiguous and not x.flags.c_contiguous else "C")
    low, high = np.lib.array_utils.byte_bounds(x)
    span = array_at(low, (high - low,), (1,), np.dtype(np.uint8), x)
    raw = np.empty(high - low, np.uint8)
    raw[...] = span
    return np.ndarray(x.shape, x.dtype, raw, address(x) - low, x.strides)
