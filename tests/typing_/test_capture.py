"""What functions capture: numbers and arrays are read at each call, the rest is checked."""

from __future__ import annotations

import numpy as np
import pytest

from pullback.errors import TypingError
from pullback.typing_ import abstract_of, flat

from .support import call_flat, check, flattened

RATE = 2.5
TABLE = np.array([1.0, 2.0, 3.0])
PAIR = (1.5, 2)
AXIS = 0
NAME = "fast"
X = np.arange(1.0, 7.0)


def reads_globals(x):
    return x * RATE + TABLE[1] + PAIR[0] * PAIR[1]


def test_numbers_and_arrays_are_hidden_arguments():
    made = check(reads_globals, 2.0)
    assert [(h.kind, h.name) for h in made.hidden] == [
        ("global", "RATE"), ("global", "TABLE"), ("item", 0), ("item", 1),
    ]  # fmt: skip
    assert [p.type for p in made.ir.args[1:]] == [h.type for h in made.hidden]


def test_later_values_are_seen(monkeypatch):
    made = flattened(reads_globals, 2.0)
    before = call_flat(made, reads_globals, 2.0)
    TABLE[1] += 1
    monkeypatch.setitem(globals(), "RATE", 3.5)
    monkeypatch.setitem(globals(), "PAIR", (2.5, 4))
    after = call_flat(made, reads_globals, 2.0)
    TABLE[1] -= 1
    assert (before, after) == (5.0 + 2.0 + 3.0, 7.0 + 3.0 + 10.0)


def maker(k, table):
    def scaled(x):
        return k * x

    def f(x):
        return scaled(x) + table[0]

    return f


def test_a_new_closure_of_the_same_code_is_read_where_it_keeps_its_values():
    f, g = maker(2.0, TABLE), maker(5.0, TABLE + 1)
    made = flattened(f, 3.0)
    assert call_flat(made, f, 3.0) == 7.0
    assert call_flat(made, g, 3.0) == 17.0
    assert all(s.holds(g) for s in made.statics)


def chosen(x):
    return helper(x) if NAME == "fast" else -x


def helper(x):
    return x + 1


def other(x):
    return x + 2


def test_statics_tell_what_changed(monkeypatch):
    made = check(chosen, 2.0)
    assert made.statics and all(s.holds() for s in made.statics)
    monkeypatch.setitem(globals(), "helper", other)
    assert not all(s.holds() for s in made.statics)
    monkeypatch.undo()
    assert all(s.holds() for s in made.statics)
    monkeypatch.setitem(globals(), "NAME", "slow")
    assert not all(s.holds() for s in made.statics)
    monkeypatch.undo()
    monkeypatch.setattr(helper, "__code__", other.__code__)
    assert not all(s.holds() for s in made.statics)


def along(A):
    return np.sum(A, axis=AXIS)


def test_a_captured_integer_that_must_be_known_is_taken_by_value(monkeypatch):
    made = check(along, np.ones((2, 3)))
    assert not made.hidden
    monkeypatch.setitem(globals(), "AXIS", 1)
    assert not all(s.holds() for s in made.statics)


def test_a_captured_integer_that_need_not_be_known_is_read():
    n = 3
    made = check(lambda x: x[n] * n, X)
    assert [h.name for h in made.hidden] == ["n"]


def with_default(x, table=TABLE, k=2.0):
    return x * table[0] * k


def test_defaults_of_callees(monkeypatch):
    made = check(lambda x: with_default(x), 2.0)
    assert [h.kind for h in made.hidden] == ["default"]
    monkeypatch.setattr(with_default, "__defaults__", (TABLE, 3.0))
    assert not all(s.holds(lambda x: x) for s in made.statics)


class Settings:
    def __init__(self):
        self.gain = 3.0


SETTINGS = Settings()


def test_attributes_of_objects_are_read_at_each_call():
    f = lambda x: SETTINGS.gain * x
    made = check(f, 2.0)
    SETTINGS.gain = 4.0
    assert call_flat(made, f, 2.0) == 8.0
    SETTINGS.gain = 3.0


def store_captured(x):
    TABLE[0] += x
    return TABLE[0]


def test_captured_arrays_may_be_written_to():
    made = flattened(store_captured, 2.0)
    old = TABLE.copy()
    assert call_flat(made, store_captured, 2.0) == old[0] + 2.0
    assert TABLE[0] == old[0] + 2.0
    TABLE[:] = old


def functional(f, x):
    return f(x) * 2


def test_functions_are_arguments_by_value():
    made = flat(functional, [abstract_of(lambda x: x * RATE), abstract_of(2.0)])
    assert len(made.ir.args) == 2 and made.hidden[0].name == "RATE"


def test_nested_scopes_read_their_own_cells():
    a, b = 2.0, 3

    def outer(x):
        def inner(y):
            return y * a + x

        return inner(b) + inner(x)

    check(outer, 1.5)


def test_two_closures_of_one_function_keep_apart():
    def make(k):
        def scaled(x):
            return k * x

        return scaled

    def f(x):
        double, triple = make(2.0 * x), make(3.0 * x)
        return double(x) - triple(x) + double(1.0)

    check(f, 1.5)


def test_which_of_two_closures_is_refused_if_it_is_not_known():
    def make(k):
        def scaled(x):
            return k * x

        return scaled

    def f(x, c):
        double, triple = make(2.0 * x), make(3.0 * x)
        g = double if c else triple
        return g(x)

    with pytest.raises(TypingError, match="which of several closures"):
        flat(f, [abstract_of(1.0), abstract_of(True)])


def summed(A, axis, n):
    return np.sum(A, axis=axis) * n


def test_integer_arguments_that_must_be_known_are_taken_by_value():
    places = [(("self",), ("item", i)) for i in range(3)]
    args = (np.ones((2, 3)), 1, 4)
    made = flat(summed, [abstract_of(a, p) for a, p in zip(args, places)])
    assert [a.known for a in made.args] == [False, True, True]
    assert len(made.ir.args) == 1
    holding = [s for s in made.statics if s.place in places]
    assert len(holding) == 2


def test_integer_arguments_stay_arguments_where_they_can():
    place = (("self",), ("item", 0))
    made = flat(lambda n: n * 2, [abstract_of(3, place)])
    assert len(made.ir.args) == 1 and not made.args[0].known


def test_what_is_captured_below_a_body_is_noted_each_time():
    """Bodies of this package are inferred once for all, but not with a user's function inside."""
    from pullback.rules import registry

    def twice(f, x):
        raise NotImplementedError

    registry.body(twice)(applied)
    for _ in range(2):
        made = flat(lambda x: twice(helper, x) + twice(helper, x), [abstract_of(2.0)])
        assert any(s.value.value is helper.__code__ for s in made.statics)


exec("def applied(f, x):\n    return f(f(x))", scope := {"__name__": "pullback.rules.test"})
applied = scope["applied"]
