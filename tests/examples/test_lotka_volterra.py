"""The demo: its data, its model against SciPy, its fit against the known answer."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import lognorm

from pullback.examples import lotka_volterra as demo

# Found by SciPy's own finite differences, standard errors from differences of differences.
KNOWN = {
    "alpha": (0.5400, 0.0549),
    "beta": (0.02716, 0.0036),
    "gamma": (0.7966, 0.0779),
    "delta": (0.02370, 0.0030),
    "u0": (34.599, 2.596),
    "v0": (5.844, 0.449),
    "sigma_u": (0.2184, 0.0338),
    "sigma_v": (0.2201, 0.0341),
}


@pytest.fixture(scope="module")
def pelts():
    return demo.load()[1]


def test_the_data_are_the_21_years_of_the_record():
    years, pelts = demo.load()
    assert years.tolist() == list(range(1900, 1921))
    assert pelts[0].tolist() == [30.0, 4.0] and pelts[-1].tolist() == [24.7, 8.6]
    assert pelts.sum(axis=0) == pytest.approx([715.7, 423.5])


def test_the_model_solves_the_equations(pelts):
    p = np.exp(demo.first_guess(pelts))

    def rates(t, z):
        return (p[0] - p[1] * z[1]) * z[0], (p[3] * z[0] - p[2]) * z[1]

    exact = solve_ivp(rates, (0, 20), p[4:6], t_eval=np.arange(21), rtol=1e-11, atol=1e-11).y.T
    np.testing.assert_allclose(demo.simulate(p, 21, 50, 0.02), exact, rtol=1e-6)


def test_the_likelihood_is_log_normal(pelts):
    q = demo.first_guess(pelts)
    p = np.exp(q)
    z = demo.simulate(p, 21, demo.STEPS, 1 / demo.STEPS)
    expected = -lognorm.logpdf(pelts, s=p[6:8], scale=z).sum()
    assert demo.negative_log_likelihood(q, pelts) == pytest.approx(expected, rel=1e-12)


def test_the_fit_finds_the_known_answer_and_its_errors(pelts):
    found = demo.fit(pelts)
    assert found.result.fun == pytest.approx(122.9259506, abs=1e-6)
    assert found.history[-1] == pytest.approx(found.result.fun)
    assert all(b <= a for a, b in zip(found.history, found.history[1:]))
    np.testing.assert_allclose(found.estimate, [v for v, _ in KNOWN.values()], rtol=1e-3)
    np.testing.assert_allclose(found.error, [e for _, e in KNOWN.values()], rtol=2e-2)


def test_the_gradient_beats_finite_differences_in_accuracy(pelts):
    exact, rough, _ = demo.compare(pelts)
    assert exact.gradient_error < 1e-7
    assert exact.gradient_error < rough.gradient_error
    assert exact.evaluations < rough.evaluations


def test_main_reports_and_draws(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    figure = tmp_path / "new folder" / "fit.png"
    demo.main(figure)
    assert figure.stat().st_size > 20_000
    out = capsys.readouterr().out
    assert all(name in out for name in demo.UNKNOWNS)
    assert "122.925951" in out
