"""The command line, as a user types it."""

import pytest
from click.testing import CliRunner

from pullback.backend import cache
from pullback.cli import main

MODEL = """
import math
import numpy as np

SCALE = 2.0
WEIGHTS = np.array([1.0, 2.0, 3.0])

class Model:
    @staticmethod
    def loss(x):
        return x * x

def loss(x, k=1.0):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.sin(k * x[i])
    return s

def raises(x):
    raise ValueError("too small")

def square(x):
    return x * x
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return str(path)


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_help_names_every_command():
    out = run("--help").output
    assert all(name in out for name in ("demo", "ir", "check", "explain"))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere.py:f", "there is no file 'nowhere.py'"),
        ("no_such_module:f", "neither a file nor a module"),
        ("{model}", "write FILE:FUNC"),
        ("{model}:los", "has no 'los'; it has loss"),
        ("{model}:Model.los", "has no 'Model.los'; it has loss"),
        ("{model}:SCALE", "SCALE is a float, not a function"),
    ],
)
def test_a_wrong_target_is_one_clear_line(model, target, message):
    result = run("ir", target.format(model=model))
    assert result.exit_code == 1
    assert message in result.output
    assert result.output.count("\n") == 1


def test_a_file_that_does_not_import_says_why(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import math\n1 / 0\n")
    result = run("ir", f"{path}:f")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.output


def test_a_wrong_argument_is_named(model):
    result = run("check", f"{model}:square", "np.onse(3)")
    assert result.exit_code == 1
    assert "argument 'np.onse(3)' is no value: AttributeError" in result.output


def test_ir_prints_the_lifted_function(model):
    result = run("ir", f"{model}:loss")
    assert result.exit_code == 0, result.output
    assert "loss" in result.output and "math" in result.output
    assert "\x1b[" not in result.output  # no colour where there is no terminal


def test_ir_takes_the_name_of_a_module():
    assert run("ir", "colorsys:rgb_to_hsv").exit_code == 0


def test_check_passes_on_a_right_function(model):
    result = run("check", f"{model}:loss", "WEIGHTS", "-1.5")
    assert result.exit_code == 0, result.output
    assert "agree" in result.output


def test_check_shows_a_coded_error_without_a_traceback(model):
    result = run("check", f"{model}:square", "3")
    assert result.exit_code == 1
    assert "[PB302]" in result.output
    assert "Traceback" not in result.output


def test_an_exception_of_the_function_is_shown_with_its_type(model):
    result = run("check", f"{model}:raises", "1.0")
    assert result.exit_code == 1
    assert "ValueError: too small" in result.output


def test_explain_prints_something_about_the_function(model):
    result = run("explain", f"{model}:loss", "np.ones(3)")
    assert result.exit_code == 0, result.output
    assert "loss" in result.output


# -- machine code on disk --------------------------------------------------------------------------
def test_the_cache_is_measured_and_cleared(tmp_path, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path))
    (tmp_path / "letter.txt").write_text("mine")
    assert run("cache", "info").output == f"{tmp_path}\n0 files, 0.0 MB\n"
    cache.save("key", b"x" * 1_500_000)
    assert run("cache", "info").output == f"{tmp_path}\n1 file, 1.5 MB\n"
    assert run("cache", "clear").output == f"1 file removed from {tmp_path}\n"
    assert cache.load("key") is None
    assert [f.name for f in tmp_path.iterdir()] == ["letter.txt"]


def test_there_need_not_be_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PULLBACK_CACHE_DIR", str(tmp_path / "nowhere"))
    assert "0 files" in run("cache", "info").output
    assert run("cache", "clear").output.startswith("0 files removed")
