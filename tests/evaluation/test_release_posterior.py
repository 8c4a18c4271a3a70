"""The exact posterior given a private release: its parts, exact answers for few rows, calibration, its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evaluation import release_posterior as rp
from models.linear_regression_unknown_noise import LinearRegressionUnknownNoise

MODEL = LinearRegressionUnknownNoise(shape=3.0, scale=2.0, precision=1.0)
INPUTS = rp.InputsPrior(mean_sd=1.0, shape=2.0, rate=1.5)
BOUNDS, UNITS = np.array([4.0, 5.0]), np.array([4.0, 5.0])


def noisy(values, scale, noise, rng):
    return values + (
        rng.laplace(0.0, scale, len(values)) if noise == "laplace" else rng.normal(0.0, scale, len(values))
    )


def log_noise(difference, scale, noise):
    r = difference / scale
    return -np.abs(r).sum(axis=-1) if noise == "laplace" else -0.5 * (r**2).sum(axis=-1)


def from_prior(count, rng):
    """Parameters (count, 5) in the order of ``names(1, True)``."""
    v = MODEL.scale / rng.gamma(MODEL.shape, 1.0, count)
    w = np.sqrt(v / MODEL.precision)[:, None] * rng.standard_normal((count, 2))
    phi = rng.gamma(INPUTS.shape, 1.0 / INPUTS.rate, count)
    return np.column_stack([w, v, INPUTS.mean_sd * rng.standard_normal(count), phi])


def rows_of(theta, n, rng):
    """x, y (count, n) at parameters theta (count, 5)."""
    w, b, v, mu, phi = theta.T[:, :, None]
    x = mu + rng.standard_normal((len(theta), n)) / np.sqrt(phi)
    return x, w * x + b + np.sqrt(v) * rng.standard_normal((len(theta), n))


def sums_of(x, y):
    """Clipped and scaled moments of rows (count, n), (count, 5)."""
    u, t = np.clip(x, -4, 4) / 4, np.clip(y, -5, 5) / 5
    return np.stack([u * u, u * t, t * t, u, t], axis=-1).sum(axis=-2)


def test_sums_follow_the_rows_one_difference_at_a_time():
    rng = np.random.default_rng(0)
    x, y, bounds, units = (
        3 * rng.standard_normal((50, 2)),
        rng.standard_normal(50),
        np.array([2.0, 3.0, 1.0]),
        np.ones(3),
    )
    values = rp.moments(x, y, bounds, units) + 1.0
    off, before = np.ones(9), x.copy()
    law = np.array([0.5, -0.5, 0.2]), 0.7, np.array([1.0, 0.0]), np.array([1.0, 2.0])
    taken = rp._sweep_rows(x, y, off, *law, bounds, units, np.full(9, 2.0), False, rng)
    assert 0 < taken == (x != before).all(axis=1).sum() < 50
    np.testing.assert_allclose(off, values - rp.moments(x, y, bounds, units), atol=1e-10)
    u = np.column_stack([np.clip(x, -bounds[:2], bounds[:2]), np.clip(y, -1, 1)])
    expected = np.append((u.T @ u)[np.triu_indices(3)], u.sum(axis=0))
    np.testing.assert_allclose(rp.moments(x, y, bounds, units), expected)


def test_rebuilt_sums_are_those_of_rebuilt_rows():
    rng = np.random.default_rng(1)
    z, e, bounds, units = (
        rng.standard_normal((40, 2)),
        rng.standard_normal(40),
        np.array([1.0, 2.0, 1.5]),
        np.full(3, 2.0),
    )
    law = np.array([0.5, -0.5, 0.2]), 0.7, np.array([1.0, 0.0]), np.array([1.0, 2.0])
    x = law[2] + law[3] * z
    y = x @ law[0][:2] + law[0][2] + law[1] * e
    expected = rp.moments(x, y, bounds, units)
    np.testing.assert_allclose(rp._rebuilt(z, e, *law, bounds, units), expected)
    other = rp.moments(x, y + 1.0, bounds, units)  # the same inputs
    np.testing.assert_allclose(rp._rebuilt_target(z, e, *law, bounds, units, other), expected)


def errors_for_one_row(noise, seed):
    """No input and one row, so that p(v | release) is an integral over y alone. Largest difference of the two
    distribution functions of v, and the error of the intercept's mean in standard deviations.
    """
    release = rp.Release(np.array([1.4, -0.9]), 0.5, 1, np.array([2.0]), np.ones(1), noise)
    v = np.exp(np.linspace(math.log(0.02), math.log(500), 800))[:, None]
    y = np.linspace(-60, 60, 4001)
    clipped = np.clip(y, -2, 2)
    weight = np.exp(log_noise(release.values - np.column_stack([clipped**2, clipped]), 0.5, noise))
    joint = stats.norm.pdf(y, 0, np.sqrt(v * 2.0)) * weight * stats.invgamma.pdf(v, 3.0, scale=2.0) * v  # in log v
    joint /= joint.sum()
    draws, _ = rp.sample(MODEL, release, np.random.default_rng([seed, 2]), chains=1, burn_in=100, sweeps=2000)
    intercept, found = draws[..., 0].ravel(), draws[..., 1].ravel()
    at = np.searchsorted(np.sort(found), v[:, 0]) / len(found)
    mean = (joint.sum(axis=0) * y / 2.0).sum()  # E[w | y] = y / (1 + precision)
    return np.abs(at - joint.sum(axis=1).cumsum()).max(), (intercept.mean() - mean) / intercept.std()


@pytest.mark.parametrize("noise", rp.NOISES)
def test_one_row_has_the_posterior_of_quadrature(noise):
    """Over 8 seeds the errors had a mean of at most .020 and .012, and a standard deviation of at most .01 and .025.

    .11 is 4 standard deviations above: a false-alarm rate below 1e-4.
    """
    assert np.abs(errors_for_one_row(noise, 0)).max() < 0.11


def errors_for_three_rows(noise, seed, sweeps=1500):
    """Shares of the draws below the quartiles of 200,000 weighted simulations, less .25, .5 and .75; (5, 3)."""
    rng = np.random.default_rng(3)
    theta = from_prior(200_000, rng)
    release = rp.Release(np.array([0.5, 0.6, 1.3, 0.7, 1.2]), 0.5, 3, BOUNDS, UNITS, noise)
    log_weight = log_noise(release.values - sums_of(*rows_of(theta, 3, rng)), 0.5, noise)
    weight = np.exp(log_weight - log_weight.max())
    assert weight.sum() ** 2 / (weight**2).sum() > 8000
    draws, _ = rp.sample(
        MODEL, release, np.random.default_rng([seed, 4]), inputs_prior=INPUTS, chains=2, burn_in=100, sweeps=sweeps
    )
    out = []
    for reference, found in zip(theta.T, draws.reshape(-1, 5).T, strict=True):
        order = np.argsort(reference)
        levels = weight[order].cumsum() / weight.sum()
        out.append([(found < reference[order][np.searchsorted(levels, q)]).mean() - q for q in (0.25, 0.5, 0.75)])
    return np.array(out)


@pytest.mark.parametrize("noise", rp.NOISES)
def test_three_rows_have_the_posterior_of_weighted_simulations(noise):
    """Over 8 seeds the root mean square of each of the 15 errors was at most .022.

    The tolerance is 4.5 of them: a false-alarm rate of 1e-4.
    """
    assert np.abs(errors_for_three_rows(noise, 0)).max() < 0.1


@pytest.mark.parametrize("noise", rp.NOISES)
def test_the_sweep_of_the_rows_has_that_posterior_by_itself(noise, monkeypatch):
    """Over 4 seeds the root mean square of each of the 15 errors was at most .014. The tolerance is 7 of them.

    With twice the scale of the noise in this step, the largest error was .22 (Laplace) and .30 (Gaussian).
    """
    monkeypatch.setattr(rp, "PRIOR_STEPS", ())
    monkeypatch.setattr(rp, "WALK_STEPS", ())
    assert np.abs(errors_for_three_rows(noise, 0, sweeps=8000)).max() < 0.1


@pytest.mark.parametrize(("prior_steps", "walk_steps"), [((0.5,) * 6, ()), ((), (1.0,) * 6), ((1.0,), (0.5,) * 3)])
def test_non_centred_moves_leave_the_prior_as_it_is(prior_steps, walk_steps, monkeypatch):
    """1,000 draws of the prior, moved where the release says nothing: Kolmogorov-Smirnov tests of the 5 parameters and
    of the squared standardised weights at 1e-5, a false-alarm rate of 6e-5 per case.
    """
    monkeypatch.setattr(rp, "PRIOR_STEPS", prior_steps)
    monkeypatch.setattr(rp, "WALK_STEPS", walk_steps)
    release, rng, moved = rp.Release(np.zeros(5), 1e9, 2, BOUNDS, UNITS), np.random.default_rng(13), []
    for _ in range(1000):
        chain = rp._Chain(MODEL, release, INPUTS, rng)
        chain.spread = 0.5 * np.eye(5)
        chain.together()
        moved.append(chain.parameters())
    moved, prior = np.array(moved), from_prior(20_000, rng)
    for found, reference in zip(moved.T, prior.T, strict=True):
        assert stats.ks_2samp(found, reference).pvalue > 1e-5
    assert stats.kstest((moved[:, :2] ** 2).sum(axis=1) / moved[:, 2], stats.chi2(2).cdf).pvalue > 1e-5


@pytest.mark.nightly
def test_simulation_based_calibration():
    """Ranks of the true parameters among 19 draws, 60 data sets of 30 rows, both kinds of noise in turn.

    Kolmogorov-Smirnov tests of 5 ranks at 1e-4: a false-alarm rate of 5e-4. Chains start at the prior with a generator
    of their own, not that of the data.
    """
    ranks = []
    for k in range(60):
        rng, noise = np.random.default_rng([k, 5]), rp.NOISES[k % 2]
        theta = from_prior(1, rng)
        values = noisy(sums_of(*rows_of(theta, 30, rng))[0], 0.6, noise, rng)
        release = rp.Release(values, 0.6, 30, BOUNDS, UNITS, noise)
        draws, _ = rp.sample(
            MODEL,
            release,
            np.random.default_rng([k, 6]),
            inputs_prior=INPUTS,
            chains=1,
            burn_in=80,
            sweeps=190,
            thin=10,
        )
        assert draws.shape == (1, 19, 5)
        ranks.append((draws[0] < theta).sum(axis=0))
    spread = (np.array(ranks) + np.random.default_rng(7).random((60, 5))) / 20
    for name, column in zip(rp.names(1, True), spread.T, strict=True):
        assert stats.kstest(column, "uniform").pvalue > 1e-4, name


def errors_with_hardly_any_noise(seed):
    """Noise of .05 against sampling errors above 1: means in standard deviations of the posterior given the rows, and
    logarithms of standard deviations; (2, 3).
    """
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((60, 1)), rng.standard_normal(60)
    y = 0.7 * x[:, 0] - 0.3 + 0.8 * y
    wide, ones = np.full(2, 50.0), np.ones(2)
    release = rp.Release(noisy(rp.moments(x, y, wide, ones), 0.05, "laplace", rng), 0.05, 60, wide, ones)
    draws, _ = rp.sample(MODEL, release, np.random.default_rng([seed, 9]), chains=1, burn_in=1500, sweeps=3000)
    found = draws.reshape(-1, 3)
    exact = MODEL.exact_posterior(x, y).sample(20_000, rng)
    exact[:, 2] = np.logaddexp(0.0, exact[:, 2])
    sd = exact.std(axis=0)
    return np.array([(found.mean(axis=0) - exact.mean(axis=0)) / sd, np.log(found.std(axis=0) / sd)])


def test_with_hardly_any_noise_it_is_the_conjugate_posterior():
    """Over 8 seeds the root mean square of each of the 6 errors was at most .021.

    The tolerance is 5 of them: a false-alarm rate of 4e-6.
    """
    assert np.abs(errors_with_hardly_any_noise(0)).max() < 0.105


@pytest.mark.parametrize("noise", rp.NOISES)
def test_with_nothing_but_noise_it_is_the_prior(noise):
    """Scale 1e6: Kolmogorov-Smirnov tests of every fifth draw against the prior, false-alarm rate 5e-4."""
    release = rp.Release(np.array([3e5, -1e6, 0.0, 2e6, 1e5]), 1e6, 20, BOUNDS, UNITS, noise)
    draws, taken = rp.sample(
        MODEL, release, np.random.default_rng(10), inputs_prior=INPUTS, chains=1, burn_in=50, sweeps=1000, thin=5
    )
    assert taken > 0.999
    prior = from_prior(20_000, np.random.default_rng(11))
    for found, reference in zip(draws[0].T, prior.T, strict=True):
        assert stats.ks_2samp(found, reference).pvalue > 1e-4


@pytest.mark.parametrize(
    ("change", "told"),
    [({"values": np.zeros(4)}, "give 5"), ({"noise": "uniform"}, "uniform"), ({"scale": 0.0}, "units above 0"),
     *(({name: wrong * np.ones(size)}, "finite") for name, size in (("values", 5), ("scale", 5), ("units", 2))
       for wrong in (np.nan, np.inf)),
     ({"bounds": np.nan * BOUNDS}, "bounds above 0")],
)  # fmt: skip
def test_a_release_that_is_none_is_refused(change, told):
    good = {"values": np.zeros(5), "scale": 1.0, "n": 3, "bounds": BOUNDS, "units": UNITS}
    with pytest.raises(ValueError, match=told):
        rp.Release(**good | change)


def test_the_same_generator_gives_the_same_draws():
    release = rp.Release(np.ones(5), 1.0, 5, BOUNDS, UNITS)
    one, two = (rp.sample(MODEL, release, np.random.default_rng(1), chains=2, burn_in=9, sweeps=4)[0] for _ in "ab")
    np.testing.assert_array_equal(one, two)
    assert one.shape == (2, 4, 3)
    assert (one[0] != one[1]).all()
