"""Machine code on disk, by fingerprint: a second process loads what the first compiled.

The fingerprint is of the final IR, so an entry is never stale: it can only be unused. It also holds
the versions of everything that makes the code, this package's own source among them, and the
processor. Files are private to the user, written whole or not at all; what cannot be read is
compiled again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

LIMIT = 1000
"""How many files are kept; the least recently used go first."""

SUFFIX = ".machine-code"
"""What their names end in."""


def directory() -> Path:
    """Where the files are: ``PULLBACK_CACHE_DIR``, or the user's cache directory."""
    chosen = os.environ.get("PULLBACK_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pullback"


@functools.cache
def versions() -> tuple[str, ...]:
    """What machine code depends on besides the IR."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for name in ("backend", "runtime"):
        for path in sorted((package / name).rglob("*.py")):
            digest.update(path.read_bytes())
    found = [numba.__version__, llvmlite.__version__, np.__version__, sys.version]
    return (*found, digest.hexdigest())


def load(key: str) -> Any:
    """What was saved under ``key``, or None."""
    path = directory() / (key + SUFFIX)
    try:
        found = path.read_bytes()
        digest, content = found[:32], found[32:]
        if hashlib.sha256(content).digest() != digest:
            raise ValueError("damaged")  # machine code is not run on trust
        content = pickle.loads(content)
        path.touch()
    except FileNotFoundError:
        return None
    except Exception:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    return content


def save(key: str, content: Any) -> None:
    """Keep ``content``; silently not, if the directory cannot be written."""
    try:
        folder = directory()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(SUFFIX, dir=folder)
        with os.fdopen(handle, "wb") as file:
            data = pickle.dumps(content)
            file.write(hashlib.sha256(data).digest() + data)
        os.replace(name, folder / (key + SUFFIX))
        prune()
    except OSError:
        return


def prune() -> None:
    """Remove the least recently used quarter of the files if there are too many."""
    found = files()
    if len(found) > LIMIT:
        found.sort(key=lambda f: f.stat().st_mtime)
        for f in found[: LIMIT // 4]:
            f.unlink(missing_ok=True)


def files() -> list[Path]:
    """The files that there are. Others in the directory are not ours, and never touched."""
    return [f for f in directory().glob("*" + SUFFIX) if f.is_file()]


def clear() -> int:
    """Remove all files; how many there were."""
    found = files()
    for f in found:
        f.unlink(missing_ok=True)
    return len(found)
