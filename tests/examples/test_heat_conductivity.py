"""The second example: the scheme against its exact solution, the profile recovered."""

import numpy as np
import pytest

from pullback.examples import heat_conductivity as rod


def test_uniform_rod_approaches_the_linear_profile():
    held = np.tile([100.0, 0.0], (20_000, 1))
    log_k = np.full(rod.CELLS + 1, np.log(25.0))
    cells = np.arange(rod.CELLS)
    last = rod.simulate(log_k, held, cells, held.shape[0])[-1]
    np.testing.assert_allclose(last, 100 * (1 - (cells + 0.5) / rod.CELLS), atol=1e-2)


def test_uniform_rod_decays_as_the_series_says():
    """A rod at 1 with both ends at 0, after its first mode alone is left."""
    log_k = np.full(rod.CELLS + 1, np.log(25.0))
    ends = np.ones((1000, 2))
    middle = rod.simulate(log_k, ends, np.array([rod.CELLS // 2]), 1000)[0, 0]
    rate = 25.0 / rod.CAPACITY * (np.pi / rod.LENGTH) ** 2
    shape = np.sin(np.pi * (rod.CELLS // 2 + 0.5) / rod.CELLS)
    expected = 1 - 4 / np.pi * shape * np.exp(-rate * 1000 * rod.DT)
    assert middle == pytest.approx(expected, abs=2e-3)


def test_the_profile_is_recovered_within_its_error_bars():
    ends, readings = rod.experiment()
    found = rod.invert(ends, readings)
    truth = np.log(rod.true_conductivity())
    assert np.abs(np.exp(found.log_k - truth) - 1).max() < 0.06
    assert (np.abs(found.log_k - truth) < 2 * found.deviation).all()
    assert (found.deviation < 0.15).all()
    # Each reading contributes about one half.
    assert found.history[-1] == pytest.approx(readings.size / 2, rel=0.25)
