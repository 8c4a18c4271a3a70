"""Gibbs given noisy statistics of conjugate families: its conditionals, its target, its sensitivities."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from methods import contract
from methods.sufficient_statistics._bernstein_sheldon import families as fam
from models.conjugate_simulators import ConjugateSimulator
from models.kind import tiny_cases
from privacy.accountants import epsilon_of
from privacy.budget import BudgetExceeded, BudgetSpec


@pytest.mark.parametrize(
    ("mean", "sd", "low", "high"),
    [(0.0, 1.0, -1.0, 2.0), (-5.0, 1.0, 0.0, math.inf), (30.0, 2.0, 0.0, 25.0), (3.0, 0.5, 0.0, math.inf)],
)
def test_truncated_normal_follows_its_law(mean, sd, low, high):
    """False-alarm rate 1e-4."""
    rng = np.random.default_rng(1)
    x = [fam.truncated_normal(mean, sd, low, high, rng) for _ in range(3000)]
    law = stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    assert stats.kstest(x, law.cdf).pvalue > 1e-4


def test_a_truncation_without_mass_gives_the_nearer_end():
    rng = np.random.default_rng(0)
    assert fam.truncated_normal(-100.0, 1.0, 0.0, 5.0, rng) == pytest.approx(0.0, abs=0.1)
    assert fam.truncated_normal(100.0, 1.0, 0.0, 5.0, rng) == pytest.approx(5.0, abs=0.1)


def test_mixing_variances_make_laplace_noise():
    """Alternating s | w (flat prior) and w | s leaves z - s Laplace(b): 10 chains' worth, false-alarm rate 1e-4."""
    rng, b = np.random.default_rng(2), 3.0
    s = rng.laplace(0.0, b, 4000)
    for _ in range(10):
        w = fam.mixing_variances(-s, b, rng)
        assert (w > 0).all()
        s = np.sqrt(w) * rng.standard_normal(4000)
    assert stats.kstest(s, stats.laplace(scale=b).cdf).pvalue > 1e-4
    assert stats.kstest(w, stats.expon(scale=2 * b * b).cdf).pvalue > 1e-4


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.4), (0.4, 1.2), (1.2, math.inf)])
def test_section_moments(low, high):
    rate = 2.5

    def moment(k):
        return integrate.quad(lambda x: x**k * rate * math.exp(-rate * x), low, min(high, 40.0))[0]

    mean, variance = fam.section_moments(rate, low, high)
    assert mean == pytest.approx(moment(1), rel=1e-8)
    assert variance == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-8)


def test_gibbs_has_the_noise_aware_posterior_of_beta_bernoulli():
    """Against quadrature over (p, s) of prior x CLT normal x Laplace: mean and sd within 5 batch standard errors."""
    model, n, b, z = ConjugateSimulator("beta_bernoulli"), 200, 10.0, np.array([70.0])
    p, s = np.linspace(0.01, 0.99, 500)[:, None], np.linspace(0, n, 2001)
    # The sampler alternates N(z, w) x N(np, np(1-p)) and Beta(10 + s, 10 + n - s): the chain of the published program,
    # whose two conditionals agree with one joint law up to the normal approximation.
    density = (
        stats.beta.pdf(p, 10, 10) * stats.norm.pdf(s, n * p, np.sqrt(n * p * (1 - p))) * stats.laplace.pdf(z, s, b)
    )
    weight = density.sum(axis=1) / density.sum()
    mean = float(weight @ p[:, 0])
    sd = math.sqrt(weight @ (p[:, 0] - mean) ** 2)
    draws = fam.gibbs(model, z, b, n, 200, 12_000, np.random.default_rng(3)).draws[:, 0].astype(float)
    found = 1 / (1 + np.exp(-draws))
    error = found.reshape(40, -1).mean(axis=1).std(ddof=1) / math.sqrt(40)
    # 0.02 sd: the normal approximation at n = 200
    assert abs(found.mean() - mean) < 5 * error + 0.02 * sd
    assert found.std() == pytest.approx(sd, rel=0.08)


@pytest.mark.parametrize("family", ["gamma_exponential", "beta_bernoulli", "dirichlet_categorical"])
def test_without_noise_the_exact_posterior_comes_back(family):
    """b = 1e-3: mean within 5 standard errors of 4000 draws times 3 (autocorrelation), sd within 10 %.

    Gamma-exponential: all rows are inside a section (0, 50), which loses nothing.
    """
    rng, model = np.random.default_rng(4), ConjugateSimulator(family)
    x = model.simulate(np.full(model.dimension(), 0.4), 1000, rng)
    ends = (0.0, 50.0) if family == "gamma_exponential" else None
    value, *_ = fam.release_of(model, x, ends)
    draws = fam.gibbs(model, value, 1e-3, 1000, 200, 4000, rng, ends).draws.astype(float)
    exact = model.exact_posterior(x).sample(20_000, rng)
    assert (np.abs(draws.mean(axis=0) - exact.mean(axis=0)) < 15 * exact.std(axis=0) / math.sqrt(4000)).all()
    np.testing.assert_allclose(draws.std(axis=0), exact.std(axis=0), rtol=0.1)


rows = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8)


@settings(max_examples=200, deadline=None)
@given(rows, st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, 0.0, 1.0, 2.0]))
def test_replacing_a_row_moves_a_release_by_its_sensitivity_at_most(values, other):
    a = np.array(values)[:, None]
    b = a.copy()
    b[-1] = other
    for model, ends in (
        (ConjugateSimulator("gamma_exponential"), (0.3, 1.7)),
        (ConjugateSimulator("beta_bernoulli"), None),
        (ConjugateSimulator("dirichlet_categorical"), None),
    ):
        one, sizes, _ = fam.release_of(model, a, ends)
        two = fam.release_of(model, b, ends)[0]
        assert np.abs(one - two).sum() <= sizes.proven * (1 + 1e-9)
        assert abs(one[0] - two[0]) <= sizes.first * (1 + 1e-9)


def test_published_sensitivities_are_too_small():
    """Replacing a row by one from outside the section, or one category by another, moves more than the program says."""
    gamma, dirichlet = ConjugateSimulator("gamma_exponential"), ConjugateSimulator("dirichlet_categorical")
    one, (*_, declared), _ = fam.release_of(gamma, np.array([[0.0]]), (0.3, 1.7))
    assert abs(fam.release_of(gamma, np.array([[1.69]]), (0.3, 1.7))[0] - one).sum() > declared
    one, (*_, declared), _ = fam.release_of(dirichlet, np.array([[0.0]]), None)
    assert np.abs(fam.release_of(dirichlet, np.array([[1.0]]), None)[0] - one).sum() > declared


def test_sections():
    model = ConjugateSimulator("gamma_exponential")
    low, high = fam.section(model, None)
    rate = stats.gamma(8, scale=0.5).rvs(200_000, random_state=1)
    x = stats.expon.rvs(scale=1 / rate, random_state=2)
    assert low == 0.0
    assert (x > high).mean() == pytest.approx(fam.TAIL, abs=5 * math.sqrt(0.025 / 200_000))
    ends = fam.section(model, np.full((5, 1), 0.25))
    np.testing.assert_allclose(ends, stats.expon(scale=0.25).ppf([0.025, 0.975]))
    assert fam.section(ConjugateSimulator("beta_bernoulli"), None) is None


def test_the_laplace_release_takes_a_pure_budget():
    """delta = 0 in mode enforce: the one release spends epsilon, and half of its noise overspends."""
    method, task = contract.get("bernstein_sheldon_2018"), tiny_cases()["conjugate_simulator"](12, 0)
    spec = BudgetSpec(epsilon=1.0, delta=0.0, mode="enforce")
    fit = method.fit(task, method.Settings(5, 5), spec.open(np.random.default_rng(0)), np.random.default_rng(1))
    cost = epsilon_of(fit.ledger, 0.0)
    assert (cost.epsilon, cost.accountant) == (pytest.approx(1.0), "pure")
    (event,) = fit.ledger
    with pytest.raises(BudgetExceeded, match="at delta = 0"):
        spec.open(np.random.default_rng(0)).spend(replace(event, noise_scale=event.noise_scale / 2))
