"""TARP coverage: against brute force, known constants, and the controls that it must tell apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaluation import coverage as cov
from models.conjugate_simulators import ConjugateSimulator
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise
from models.unconstrained import Likelihood, UnconstrainedDraws


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([1e-3, 1.0, 1e4]))
def test_fraction_is_that_of_brute_force(seed, d, scale):
    rng = np.random.default_rng(seed)
    draws, truth, reference = (scale * rng.standard_normal(s) for s in ((50, d), d, (4, d)))
    brute = [np.mean([np.linalg.norm(x - r) < np.linalg.norm(truth - r) for x in draws]) for r in reference]
    np.testing.assert_array_equal(cov.fraction_nearer(draws, truth, reference), brute)


def test_fractions_are_those_of_the_library_tarp():
    """Its curve is the distribution function of the fractions at the edges of its own bins (smallest to largest).

    The library gives no fractions and no fixed levels, and seeds the global generator, so it is no dependency.
    """
    tarp = pytest.importorskip("tarp", reason="the library tarp is not installed (pip install tarp tqdm deprecation)")
    rng = np.random.default_rng(5)
    draws, truth = rng.standard_normal((400, 60, 3)), rng.standard_normal((60, 3))
    references = rng.uniform(-4, 4, (60, 3))
    curve, edges = tarp.get_tarp_coverage(draws, truth, references=references, norm=False, num_alpha_bins=20)
    ours = np.array([cov.fraction_nearer(draws[:, i], truth[i], references[i : i + 1])[0] for i in range(60)])
    assert (edges[0], edges[-1]) == (ours.min(), ours.max())
    inner = np.array([(ours < edge).mean() for edge in edges[1:-1]])
    np.testing.assert_allclose(curve[1:-1], inner, atol=1e-12)


def test_ties_are_not_nearer():
    assert cov.fraction_nearer(np.array([[1.0], [0.5]]), np.array([1.0]), np.array([[0.0]]))[0] == 0.5


def test_one_dimension_has_a_closed_form():
    """Draws of N(0, 1), truth t, reference r > t: f is the mass of (t, 2 r - t); within 5 standard errors."""
    draws = np.random.default_rng(0).standard_normal((200_000, 1))
    for t, r in ((-0.5, 1.0), (0.3, 0.4), (-3.0, 2.0)):
        exact = stats.norm.cdf(2 * r - t) - stats.norm.cdf(t)
        f = cov.fraction_nearer(draws, np.array([t]), np.array([[r]]))[0]
        assert abs(f - exact) < 5 * 0.5 / math.sqrt(200_000)


def test_coverage_and_its_error_by_hand():
    f = np.array([[0.02, 0.5], [0.02, 0.9995]])
    curve = cov.coverage(f, np.array([0.95, 0.5, 0.001]))
    np.testing.assert_array_equal(curve, [[1, 1, 1], [0, 0, 0.5]])
    assert len(cov.LEVELS) == 21
    np.testing.assert_allclose(cov.LEVELS[1:-1], np.arange(0.05, 0.96, 0.05))
    assert cov.coverage_rmse(np.ones((7, 1)))[0] == pytest.approx(0.584, abs=5e-4)  # C == 0
    half = np.tile([[0.0], [1.0]], (50, 3))
    np.testing.assert_allclose(cov.coverage_rmse(half), 0.3026, atol=5e-5)  # C == 0.5


def test_floor_of_a_right_posterior():
    """Constants of the specification: 0.0164 (sd 0.0068, 95 % point 0.0295) at 500 data sets, 0.0213 at 300."""
    floor = cov.floor(500, np.random.default_rng(1))
    assert floor.mean == pytest.approx(0.0164, abs=3e-4)
    assert floor.sd == pytest.approx(0.0068, abs=3e-4)
    assert floor.upper == pytest.approx(0.0295, abs=8e-4)
    assert cov.floor(300, np.random.default_rng(1)).mean == pytest.approx(0.0213, abs=4e-4)
    rng = np.random.default_rng(2)
    direct = [cov.coverage_rmse(rng.random((100, 1)))[0] for _ in range(2000)]
    small = cov.floor(100, rng)
    assert np.mean(direct) == pytest.approx(small.mean, abs=5 * small.sd / math.sqrt(2000))


def fractions(posteriors, truths, seed=0, draws=2000, redraws=4):
    rng = np.random.default_rng(seed)
    return np.array([cov.tarp_fractions(p, t, rng, draws, redraws) for p, t in zip(posteriors, truths, strict=True)])


def study(name, n, rng):
    """n data sets of a model: exact posteriors and true parameters."""
    found, truths = [], []
    for _ in range(n):
        if name == "linear":
            model = LinearRegressionUnknownNoise()
            theta = model.sample_prior(1, rng, 10)[0]
            found.append(model.exact_posterior(*model.simulate(theta, 200, rng)))
        else:
            model = ConjugateSimulator(name)
            theta = model.sample_prior(1, rng)[0]
            found.append(model.exact_posterior(model.simulate(theta, 200, rng)))
        truths.append(theta)
    return found, np.array(truths)


@pytest.mark.parametrize("name", ["gamma_exponential", "beta_bernoulli", "dirichlet_categorical", "linear"])
def test_controls(name):
    """The exact posterior is at the floor; one made twice too narrow or too wide about its mean is found out.

    300 data sets. Alarm rate of the first: 1e-3 (the floor's own 99.9 % point, 0.05). The others must exceed that
    point: for a Gaussian posterior their errors are 0.11 and 0.096 in one dimension, more in several.
    """
    rng = np.random.default_rng(11)
    exact, truths = study(name, 300, rng)
    null = np.sort([cov.coverage_rmse(rng.random((300, 1)))[0] for _ in range(4000)])[-4]
    assert cov.coverage_rmse(fractions(exact, truths))[0] < null

    def scaled(posterior, factor):
        draws = posterior.sample(2000, rng)
        m = draws.mean(axis=0)
        return UnconstrainedDraws(m + factor * (draws - m), Likelihood("categorical"))

    for factor in (0.5, 2.0):
        wrong = [scaled(p, factor) for p in exact]
        assert cov.coverage_rmse(fractions(wrong, truths)).min() > null, factor


def test_bootstrap_interval_covers():
    """Uniform f with a shift: over 60 studies the 95 % interval holds the large-sample value in at least 48 of them.

    At a true coverage of 90 % the chance of fewer than 48 is 2e-2 x 1e-1; the test guards against a wrong scale.
    """
    rng = np.random.default_rng(3)

    def shifted(n):
        return rng.beta(2.0, 1.0, (n, 1))

    truth = cov.coverage_rmse(shifted(400_000))[0]
    inside = 0
    for _ in range(60):
        b = cov.bootstrap(shifted(300), rng, resamples=400)
        assert b.low <= b.high
        inside += b.low <= truth <= b.high
    assert inside >= 48


def test_bootstrap_sd_is_that_of_new_studies():
    """Against 400 fresh studies of 300 data sets: within 15 %."""
    rng = np.random.default_rng(4)
    fresh = [cov.coverage_rmse(rng.beta(2.0, 1.0, (300, 1)))[0] for _ in range(400)]
    found = np.mean([cov.bootstrap(rng.beta(2.0, 1.0, (300, 1)), rng, 400).sd for _ in range(10)])
    assert found == pytest.approx(np.std(fresh), rel=0.15)


def test_scores_of_a_cell():
    rng = np.random.default_rng(5)
    f = rng.random((500, 20))
    scores = cov.coverage_scores(f, rng)
    rmse = cov.coverage_rmse(f)
    assert scores["tarp_coverage_rmse"][0] == rmse.mean()
    assert scores["tarp_coverage_rmse_redraws"][0] == rmse.std()
    assert scores["tarp_coverage_rmse_low"][0] <= rmse.mean()
    assert scores["tarp_coverage_rmse_floor"][0] == pytest.approx(0.0164, abs=5e-4)
    assert scores["tarp_coverage_0.500"][0] == pytest.approx((f < 0.5).mean())
    assert len([k for k in scores if k.startswith("tarp_coverage_0")]) == 42


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cov.coverage(np.array([[1.5]])), "0 to 1"),
        (lambda: cov.coverage(np.empty((0, 3))), "at least 1"),
        (lambda: cov.fraction_nearer(np.array([[np.nan]]), np.zeros(1), np.zeros((1, 1))), "not finite"),
        (lambda: cov.floor(0, np.random.default_rng(0)), "n = 0"),
        (lambda: cov.calibration_scores(np.array([1.5]), np.ones(1)), r"\[0, 1\]"),
        (lambda: cov.calibration_scores(np.array([0.5]), np.array([2.0])), "0 or 1"),
        (lambda: cov.calibration_scores(np.array([0.5]), np.ones(2)), "shape"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_calibrated_predictions_have_no_error_and_others_do():
    """200,000 rows: below 0.01 for the true probabilities (standard error of a bin at most 0.004), 0.05 for others."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.0, 1.0, 200_000)
    y = (rng.random(200_000) < p).astype(float)
    errors = ("calibration_rmse", "calibration_rmse_inverse", "calibration_rmse_program")
    right = cov.calibration_scores(p, y)
    assert {m for m in right if not cov.CURVE.fullmatch(m)} == set(errors)
    assert all(right[m][0] < 0.01 for m in errors)
    sharp = cov.calibration_scores(p**3 / (p**3 + (1 - p) ** 3), y)
    assert all(sharp[m][0] > 0.05 for m in errors)


def test_every_bin_has_its_place():
    p = np.array([0.0, 0.1, 0.45, 1.0])  # an edge belongs to the bin below it, as in scikit-learn
    y = np.array([0.0, 1.0, 1.0, 1.0])
    bins, curve = cov.equal_width_bins(p, y), cov.equal_width_curve(p, y)
    kept = np.isfinite(bins.fraction)
    np.testing.assert_array_equal(np.flatnonzero(kept), [0, 4, 9])
    np.testing.assert_allclose(bins.fraction[kept], curve.fraction)
    np.testing.assert_allclose(bins.predicted[kept], curve.predicted)
    found = cov.calibration_scores(p, y)
    assert found["calibration_fraction_0"][0] == 0.5
    assert "calibration_fraction_1" not in found


def test_curves_by_hand():
    p = np.array([0.05, 0.05, 0.95, 0.92])
    y = np.array([0.0, 1.0, 1.0, 1.0])
    curve = cov.equal_width_curve(p, y)
    np.testing.assert_allclose(curve.predicted, [0.05, 0.935])
    np.testing.assert_allclose(curve.fraction, [0.5, 1.0])
    count = cov.equal_count_curve(p, y, bins=2)
    np.testing.assert_allclose(count.predicted, [0.05, 0.935])
    np.testing.assert_allclose(count.fraction, [0.5, 1.0])
    assert cov.calibration_scores(p, y)["calibration_rmse"][0] == pytest.approx(math.hypot(0.45, 0.065) / math.sqrt(2))


def test_curves_have_ten_bins_unless_told():
    """Thirty rows in the middle of ten equal widths, three in each: both curves are the ten means."""
    p = np.repeat(np.arange(0.05, 1.0, 0.1), 3)
    for curve in (cov.equal_width_curve, cov.equal_count_curve):
        np.testing.assert_allclose(curve(p, np.tile([0.0, 1.0, 1.0], 10)).predicted, np.arange(0.05, 1.0, 0.1))
        np.testing.assert_allclose(curve(p, np.tile([0.0, 1.0, 1.0], 10)).fraction, np.full(10, 2 / 3))
