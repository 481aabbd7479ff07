import math
import operator

import pytest

from pullback.rules import registry
from pullback.rules.registry import array_rule, body, inactive, scalar_rule


@pytest.fixture(autouse=True)
def _tables(monkeypatch):
    """Each test writes to copies of the tables."""
    for name in ("_scalar", "_array", "_bodies", "_methods", "_inactive"):
        monkeypatch.setattr(registry, name, getattr(registry, name).copy())


def test_scalar_rule_is_found_by_its_callable():
    def f(x):
        return x * x

    rule = scalar_rule(f, lambda y, x: 2 * x)
    assert registry.scalar(f) is rule
    assert rule.partials[0](9.0, 3.0) == 6.0
    assert registry.scalar(lambda x: x) is None


def test_a_later_rule_replaces_an_earlier_one_and_is_noticed():
    before = registry.generation()
    scalar_rule(math.sin, lambda y, x: 7.0)
    assert registry.scalar(math.sin).partials[0](0.0, 0.0) == 7.0
    assert registry.generation() > before


def test_wirtinger_of_one_operand_is_one_pair():
    def dz(y, z):
        return 1.0

    def f(z):
        return z

    assert scalar_rule(f, dz, wirtinger=(None, dz)).wirtinger == ((None, dz),)
    assert scalar_rule(f, dz, None, wirtinger=((dz, dz), (None, None))).wirtinger[0] == (dz, dz)
    with pytest.raises(ValueError, match="one pair"):
        scalar_rule(f, dz, dz, wirtinger=((dz, dz),))


def test_body_plain_and_typed():
    def f(x, k=0):
        return x

    @body(f)
    def plain(x, k=0):
        return x

    assert registry.body_for(f, ("aval",)) is plain

    @body.typed(f)
    def resolve(x, k=None):
        return plain if k == "one" else None

    assert registry.body_for(f, ("x",), {"k": "one"}) is plain
    assert registry.body_for(f, ("x", "one")) is plain
    assert registry.body_for(f, ("x",)) is None
    assert registry.body_for(f, ()) is None, "arguments that do not bind have no body"
    assert registry.body_for([], ()) is None, "unhashable"


def test_array_rule_and_inactive():
    rule = array_rule(operator.matmul, forward=max, reverse=min)
    assert registry.array(operator.matmul) is rule
    assert registry.array(len) is None

    @inactive
    def draw():
        return 4

    assert registry.is_inactive(draw) and not registry.is_inactive(max)
    assert not registry.is_inactive([])
