"""A constant outside the domain of a function is for the call to refuse, not for typing."""

import math

import pytest

import pullback as pb


def log_of_sum(x, n):
    s = 0.0
    for _ in range(n):
        s += x
    return math.log(s)


def inverse_of_sum(x, n):
    s = 0.0
    for _ in range(n):
        s += x
    return 1 / s


@pytest.mark.parametrize("f", [log_of_sum, inverse_of_sum])
def test_a_loop_of_no_trips_does_not_spoil_the_type(f):
    ir = pb.infer(pb.lift(f), 2.0, 3)
    returned = [b.term.value.type for b in ir if type(b.term).__name__ == "Return"]
    assert [str(t) for t in returned] == ["float64"]
