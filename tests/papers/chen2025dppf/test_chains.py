"""The sampler of the exact posterior: its densities, its limits, and exact answers for three rows.

Compiling it takes more CPU time than its runs, so what runs it is nightly.
"""

import math

import numpy as np
import pytest
from scipy import stats

from papers.chen2025dppf import chains, published, releases, run
from papers.chen2025dppf.chains import NAMES, PRIORS, Length

CENTRE, OTHER = np.array([0.0, 1, 1, 0, 0]), np.array([0.5, 2, 0.5, 1, -1])


@pytest.mark.parametrize(
    ("prior", "expected"),
    [("conjugate", (-4.94996278, -6.26810996)), ("heavy", (-4.22550901, -7.04134588)),
     ("independent", (None, -7.11301132))],
)  # fmt: skip
def test_log_priors(prior, expected):
    for theta, value in zip((CENTRE, OTHER), expected, strict=True):
        if value is not None:
            assert chains.log_prior.py_func(theta, PRIORS[prior]) == pytest.approx(value, abs=6e-9)


@pytest.mark.nightly
@pytest.mark.parametrize("prior", PRIORS)
def test_draws_of_the_prior_have_its_margins(prior):
    """4,000 draws, Kolmogorov-Smirnov at 1e-5 per parameter."""
    rng = np.random.default_rng(1)
    draws = np.array([chains.from_prior(PRIORS[prior], rng) for _ in range(4000)])
    t2, half = stats.t(2), lambda x: 2 * stats.t.cdf(x, 2) - 1
    heavy = [t2.cdf, half, stats.weibull_min(2, scale=1.25).cdf, t2.cdf, t2.cdf]
    # a coefficient has Student's t with 2 degrees in all of them: its precision is Gamma(1, 1)
    laws = [stats.norm.cdf, stats.chi2(2).cdf, stats.expon.cdf, t2.cdf, t2.cdf] if prior == "conjugate" else heavy
    for x, law in zip(draws.T, laws, strict=True):
        assert stats.kstest(x, law).pvalue > 1e-5


QUARTILES = {
    "conjugate": [(-0.174, 0.615, 1.360), (0.436, 1.173, 2.520), (0.118, 0.340, 0.829), (-0.267, 0.805, 2.360),
                  (-0.315, 0.904, 2.315)],
    "heavy": [(-0.002, 0.957, 2.085), (0.316, 0.744, 1.503), (0.657, 1.031, 1.464), (-0.290, 0.753, 2.313),
              (0.017, 1.133, 2.447)],
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("prior", QUARTILES)
def test_three_rows_have_the_posterior_of_importance_sampling(prior):
    """Shares of the draws below quartiles from millions of weighted simulations.

    The chains have some 8,000 effective draws: .03 is 5.5 standard errors. A noise of twice the scale in the sweep of
    the rows, or in the non-centred moves, moves a share by .05 or more.
    """
    s = np.array([3, 1.5, 3, 1.5, 1.0])
    draws = chains.posterior(s, 3, 2.0, prior, np.random.default_rng(2), Length(4, 1000, 15_000, 3)).reshape(-1, 5)
    for name, x, quartiles in zip(NAMES, draws.T, QUARTILES[prior], strict=True):
        assert [(x < q).mean() for q in quartiles] == pytest.approx([0.25, 0.5, 0.75], abs=0.03), name


@pytest.mark.nightly
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("moves", ["rows", "together"])
def test_each_move_leaves_the_prior_as_it_is(prior, moves):
    """Where a release says nothing: 800 draws of prior and rows, moved; Kolmogorov-Smirnov at 1e-5 per parameter."""
    rng, code, found = np.random.default_rng(3), PRIORS[prior], []
    s, root = np.zeros(5), 0.5 * np.eye(5)
    for _ in range(800):
        theta = chains.from_prior(code, rng)
        x = theta[0] + rng.standard_normal(4) / math.sqrt(theta[1])
        y = theta[3] + theta[4] * x + rng.standard_normal(4) / math.sqrt(theta[2])
        if moves == "rows":
            chains.given_rows(theta, x, y, code, rng)
            chains.walk_given_rows(theta, x, y, code, 2, rng)
        else:
            chains.together(theta, x, y, s, 1e9, chains.BOUND, code, root, rng)
        found.append(theta)
    prior_draws = np.array([chains.from_prior(code, rng) for _ in range(8000)])
    for a, b in zip(np.array(found).T, prior_draws.T, strict=True):
        assert stats.ks_2samp(a, b).pvalue > 1e-5


@pytest.mark.nightly
def test_with_hardly_any_noise_it_is_the_conjugate_posterior():
    """Sums without clipping and nearly without noise: means within .15 sd of the exact ones, which are 3 errors."""
    rng = np.random.default_rng(4)
    x = 0.3 * rng.standard_normal(60)
    y = 0.2 + 0.5 * x + 0.4 * rng.standard_normal(60)
    assert max(np.abs(x).max(), np.abs(y).max()) < chains.BOUND
    s = releases.sums(x, y)
    draws = chains.posterior(s, 60, 0.002, "conjugate", rng, Length(4, 3000, 12_000, 4)).reshape(-1, 5)
    a = np.array([[61, x.sum()], [x.sum(), x @ x + 1]])
    m = np.linalg.solve(a, [y.sum(), x @ y])
    rate = 1 + 0.5 * (y @ y - m @ [y.sum(), x @ y])
    assert np.abs(draws[:, 2].mean() - 31 / rate) / draws[:, 2].std() < 0.15
    assert (np.abs(draws[:, 3:].mean(axis=0) - m) / draws[:, 3:].std(axis=0) < 0.15).all()


@pytest.mark.nightly
def test_the_rival_without_a_second_noise_is_right():
    """20 chains of the authors' code on one release, beside those of another program: 4.5 standard errors for means,
    and a factor of 2 for spreads, which 1 of 200 pairs of 20 normal runs exceeds. With the second noise the spread of
    the slope is five times as large."""
    found = run.chain_runs("epsilon=2;n=300;prior=conjugate", "corrected", 20, 10_000)
    for metric, mean, sd in (("beta1_mean", 1.967, 0.051), ("tau_mean", 0.600, 0.045)):
        assert found[metric].mean() == pytest.approx(mean, abs=4.5 * sd * math.sqrt(2 / 20)), metric
        assert 0.5 < found[metric].std(ddof=1) / sd < 2, metric
    assert found["beta1_ess"].mean() == pytest.approx(76, rel=0.25)


EXACT = {
    ("conjugate", 1, 100): (0.393, 1.477, 0.992, 0.219, 1.240, 1.047),
    ("heavy", 2, 300): (0.992, 1.051, 0.948, 0.895, -0.100, 2.126),
}


@pytest.mark.nightly
@pytest.mark.parametrize(("prior", "epsilon", "n"), EXACT)
def test_exact_posteriors_of_releases(prior, epsilon, n):
    """Mean of tau, and medians, by another program; tolerances are some 5 of both programs' Monte Carlo errors."""
    s = published.release("chen_lr", epsilon, n)
    draws = chains.posterior(s, n, 8 / epsilon, prior, np.random.default_rng(5), Length(2, 800, 3000, 1)).reshape(-1, 5)
    mean, *medians = EXACT[prior, epsilon, n]
    error = draws.std(axis=0) / math.sqrt(400)
    low, high = np.quantile(draws, (0.25, 0.75), axis=0)
    assert abs(draws[:, 2].mean() - mean) < 5 * error[2]
    assert (np.abs(np.median(draws, axis=0) - medians) < 5 * 1.25 * (high - low) / 1.349 / math.sqrt(400)).all()
