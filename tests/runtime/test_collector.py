from __future__ import annotations

import gc

import pytest

from pullback.runtime.collector import paused


def test_on_again_after_the_outermost_block() -> None:
    with paused():
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_on_again_after_an_exception() -> None:
    with pytest.raises(ValueError, match="stop"), paused():
        raise ValueError("stop")
    assert gc.isenabled()


def test_off_stays_off() -> None:
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
