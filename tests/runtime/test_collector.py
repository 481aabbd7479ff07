from __future__ import annotations

import gc
import weakref

import pytest

from pullback.runtime.collector import keep, paused


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


@pytest.mark.skipif(gc.get_freeze_count() > 0, reason="CPython 3.12 has frozen objects of its own")
def test_what_is_kept_is_old_and_still_collected() -> None:
    class Node:
        pass

    x = Node()
    x.itself = x  # type: ignore[attr-defined]
    watch = weakref.ref(x)
    with paused():
        assert any(y is x for y in gc.get_objects(generation=0))
        keep()
        assert not any(y is x for y in gc.get_objects(generation=0))
    assert gc.get_freeze_count() == 0
    del x
    gc.collect()
    assert watch() is None


def test_what_the_user_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        keep()
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
