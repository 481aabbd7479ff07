"""The line that says what is being compiled."""

import io

import pytest

import pullback as pb
from pullback.api import flats, status

from . import PYTHON


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Makes stderr a terminal. (In the test itself: pytest sets stderr anew for it.)"""

    def make():
        stream = Terminal()
        monkeypatch.setattr("sys.stderr", stream)
        return stream

    return make


def slow(monkeypatch, delay):
    """Compiling waits until the line was due."""
    monkeypatch.setattr(status, "DELAY", delay)
    real, waited = flats.prepare, []

    def prepare(*args):
        import threading

        threading.Event().wait(0.2)
        waited.append(1)
        return real(*args)

    monkeypatch.setattr(flats, "prepare", prepare)
    return waited


def square(x):
    return x * x


def test_one_line_that_goes_away(terminal, monkeypatch):
    stream = terminal()
    slow(monkeypatch, 0.01)
    assert pb.grad(square, options=PYTHON)(3.0) == 6.0
    text = stream.getvalue()
    assert text.count("pullback: compiling") == 1 and "gradient of square(float)" in text
    assert text.endswith("\r\x1b[K") and "\n" not in text


def test_nothing_if_it_is_quick(terminal):
    stream = terminal()
    assert pb.grad(square, options=PYTHON)(3.0) == 6.0
    assert stream.getvalue() == ""


def test_nothing_where_there_is_no_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    slow(monkeypatch, 0.01)
    assert pb.grad(square, options=PYTHON)(3.0) == 6.0
    assert stream.getvalue() == ""


def test_the_line_goes_away_after_an_error(terminal, monkeypatch):
    stream = terminal()
    slow(monkeypatch, 0.01)
    with pytest.raises(pb.PullbackError):
        pb.grad(lambda x: x + "1", options=PYTHON)(3.0)
    assert stream.getvalue().endswith("\r\x1b[K")
    with status.compiling("more"):
        pass
