"""The short way from a call to the kernel, for calls like the one before: the same code object,
the same types, nothing else to look at. One function, written out, does what `Operator.__call__`
does over several objects: the checks, the shadows, memory for the kernel, and the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba._dispatcher import compute_fingerprint

from ..ad.assume import Unlikely
from ..backend.native import Compiled
from ..backend.sites import raise_at
from ..rules import registry
from ..runtime.memory import checkout, give_back
from .arguments import Target
from .operator import MISSED, missed
from .wrapper import Wrapper, unpacked

_PLAIN = (float, int, complex, bool, np.ndarray)

_CALL = """
def run(args):
    if len(args) != {n}:
        return MISSED
    {unpack}
    if {other}:
        return MISSED
    {captured}
    {prepare}
    memory = checkout()
    try:
        out = entry(memory.address, {passed})
        return {returned}
    except SystemError:
        if not memory.failed:
            raise
        failed = failure(memory)
    finally:
        give_back(memory)
    return raise_(*failed)
"""

_CAPTURED = """captured = capture(function)
    if captured is None:
        return MISSED
    {unpack}
    if {other}:
        return MISSED"""


def _raise(*failed: Any) -> Any:
    if isinstance(failed[0], Unlikely):
        return MISSED
    raise_at(*failed)


def quick(w: Wrapper, returned: str, target: Target, values: tuple[Any, ...]) -> Callable[..., Any]:
    """``args -> returned`` for arguments of the types of ``values``, or `MISSED`. There is none for
    arguments that are more than numbers and arrays."""
    p, n = w.prepared, len(values)
    plain = all(type(v) in _PLAIN or isinstance(v, np.generic) for v in values)
    if not (plain and values and p.plain and isinstance(w.call, Compiled)):
        return missed
    w.scope |= {
        "MISSED": MISSED, "py": target.py, "function": target.function, "registry": registry,
        "fingerprint": compute_fingerprint, "capture": p.capture, "check": p.check,
        "checkout": checkout, "give_back": give_back, "entry": w.call.entry,
        "failure": w.call.sites.failure, "raise_": _raise,
    }  # fmt: skip
    other = [
        f"py.__code__ is not {w.name(target.code)}",
        f"registry._generation != {p.generation}",
        *(f"type(x{i}) is not {w.name(type(v))}" for i, v in enumerate(values)),
        f"fingerprint(args) != {w.name(compute_fingerprint(values))}",
    ]
    # the fingerprint does not tell byte orders apart
    swapped = [(i, f"x{i}.dtype is not {w.name(dtype)}") for i, dtype in p.dtypes]
    captured = _CAPTURED.format(
        unpack=unpacked(w.given[n:], "captured"),
        other=" or ".join(test for i, test in swapped if i >= n) or "False",
    )
    prepare = [*w.shadows]
    if p.written or "leaves" in returned:
        prepare.insert(0, f"leaves = {''.join(f'{x}, ' for x in w.given)}; ")
    if p.written:
        prepare.insert(1, "check(leaves); ")
    source = _CALL.format(
        n=n,
        unpack=unpacked(w.given[:n], "args"),
        other=" or ".join([*other, *(test for i, test in swapped if i < n)]),
        captured=captured if p.captures else "",
        prepare="".join(prepare),
        passed=w.passed,
        returned=returned,
    )
    return w.define(source)
