"""What the operations of the language mean, written as functions: as the interpreter does it."""

import itertools

import pytest

from pullback.ir import intrinsics


class Sized:
    """Three items, and a length that nobody should ask for."""

    def __iter__(self):
        return iter("abc")

    def __len__(self):
        raise AssertionError("asked for the length")


def two(items):
    a, b = items
    return a, b


def ends(items):
    a, *rest, b = items
    return a, rest, b


UNPACKED = [(1, 2), [1], "abc", {1: 2, 3: 4}, (), 7, None, iter([1, 2]), range(5), Sized()]


def outcome(f, *args):
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("items", UNPACKED, ids=lambda x: f"{type(x).__name__}")
def test_unpacking(items):
    items, again = itertools.tee(items) if hasattr(items, "__next__") else (items, items)
    assert outcome(intrinsics.unpack, items, 2) == outcome(two, again)


@pytest.mark.parametrize("items", UNPACKED, ids=lambda x: f"{type(x).__name__}")
def test_unpacking_with_a_star(items):
    items, again = itertools.tee(items) if hasattr(items, "__next__") else (items, items)
    assert outcome(intrinsics.unpack_ex, items, 1, 1) == outcome(ends, again)


def test_unpacking_takes_one_item_too_many_and_no_more():
    counter = itertools.count()
    with pytest.raises(ValueError, match="too many values to unpack"):
        intrinsics.unpack(counter, 2)
    assert next(counter) == 3
