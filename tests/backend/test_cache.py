"""Machine code on disk: found by another process, never wrong, never in the way."""

import operator
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest
from numba import types

from pullback.backend import cache, native
from pullback.backend.native import compile_native
from pullback.ir.core import Loc
from pullback.runtime import prims
from tests.backend.irs import Writer

V = types.float64[::1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(native, "_machines", {})
    return tmp_path


def scaled(factor, line=1):
    """x[2] * factor, in a fresh IR."""
    w = Writer(("x", V))
    w.loc = Loc("user.py", line, "f")
    (x,) = w.params
    i = w(prims.index, 2, w(prims.dim, x, 0))
    y = w(prims.own, x)
    w(prims.store, y, w(operator.mul, w(prims.load, x, i), factor, type=types.float64), i)
    return w.returns(w(prims.load, y, i), y)


def run(factor, line=1):
    return compile_native(scaled(factor, line), {"cache": True})


PROGRAM = """
import traceback
import numpy as np
from pullback.backend import native
from tests.backend.test_cache import run
compiled = []
compile = native.Unit.compile
native.Unit.compile = lambda self: compiled.append(self) or compile(self)
print(run(2.0)(np.arange(3.0))[1][2], run(3.0)(np.arange(3.0))[0], len(compiled))
try:
    run(2.0, 77)(np.zeros(2))
except IndexError as e:
    print(traceback.extract_tb(e.__traceback__)[-1].lineno)
"""


def other_process(folder):
    env = {**os.environ, "PULLBACK_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_another_process_loads_what_was_compiled(folder):
    assert run(2.0)(np.arange(3.0))[0] == 4.0
    value, other, compiled, line = other_process(folder)
    assert (value, other) == ("4.0", "6.0")
    assert compiled == "1"  # the other factor
    assert line == "77"  # of this process's source
    assert other_process(folder)[2] == "0"


def foreign(content):
    return b"not machine code"


def empty(content):
    return b""


def truncated(content):
    return content[: len(content) // 2]


def damaged(content):
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]


@pytest.mark.parametrize("harm", [foreign, empty, truncated, damaged])
def test_what_cannot_be_read_is_compiled_again(folder, harm):
    run(2.0)
    (file,) = folder.iterdir()
    good = file.read_bytes()
    file.write_bytes(harm(good))
    native._machines.clear()
    assert run(2.0)(np.arange(3.0))[0] == 4.0
    assert len(file.read_bytes()) == len(good)


def test_two_processes_at_once(folder):
    """Both compile or load, whole files stay, and nothing else."""
    env = {**os.environ, "PULLBACK_CACHE_DIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    start = [sys.executable, "-c", PROGRAM]
    both = [subprocess.Popen(start, env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        out, _ = process.communicate()
        assert process.returncode == 0 and out.split()[:2] == ["4.0", "6.0"]
    assert len(list(folder.iterdir())) == len(cache.files()) == 2
    assert other_process(folder)[2] == "0"


def test_other_versions_are_other_code(folder, monkeypatch):
    run(2.0)
    native._machines.clear()
    monkeypatch.setattr(cache, "versions", lambda: ("another",))
    run(2.0)
    assert len(cache.files()) == 2


def test_a_directory_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(blocked))
    assert run(5.0)(np.arange(3.0))[0] == 10.0


def test_old_files_make_room(folder, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 4)
    for k in range(5):
        cache.save(f"{k}", k)
        os.utime(folder / f"{k}{cache.SUFFIX}", (k, k))
    cache.save("last", 0)
    names = {f.stem for f in folder.iterdir()}
    assert "last" in names
    assert "0" not in names
    assert cache.load("0") is None
    (folder / "of the user").touch()
    assert cache.clear() == len(names)
    assert [f.name for f in folder.iterdir()] == ["of the user"]


def test_the_same_function_is_compiled_once_in_a_process(monkeypatch):
    monkeypatch.setattr(native, "_machines", native.WeakValueDictionary())
    f, g = compile_native(scaled(7.0, 1)), compile_native(scaled(7.0, 50))
    assert f.machine is g.machine
    for h, line in ((f, 1), (g, 50)):
        with pytest.raises(IndexError) as caught:
            h(np.zeros(1))
        assert traceback.extract_tb(caught.tb)[-1].lineno == line
    assert compile_native(scaled(8.0)).machine is not f.machine


def test_the_key_covers_all_that_makes_code(monkeypatch):
    """Also the elementary functions: an edit of a coefficient makes another key."""
    read = Path.read_bytes
    before = cache.versions.__wrapped__()

    def edited(path):
        return read(path) + (b"#" if path.name == "tables.py" else b"")

    monkeypatch.setattr(Path, "read_bytes", edited)
    assert cache.versions.__wrapped__() != before
