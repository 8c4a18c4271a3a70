"""The laws of one weight: against closed forms, against draws of the sampler, and against a wrong law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest, norm

from methods._shared.logistic.sampler import Plan, Target, laplace, sample
from methods.posterior_sampling._logistic.guarantee import renyi_bound
from papers.geumlek2017rdp import one_weight

SEPARABLE = np.ones((10, 1))


@pytest.fixture(scope="module")
def weak():
    """The laws of ten separable rows under a weak prior, and of the same with one label flipped."""
    other = np.concatenate([-SEPARABLE[:1], SEPARABLE[1:]])
    return one_weight.neighbours(SEPARABLE, other, Target(1.0, 0.01))


def test_without_likelihood_both_laws_are_the_normal_prior():
    found = one_weight.law(SEPARABLE, Target(0.0, 4.0))
    for level in (1e-3, 0.2, 0.5, 0.999):
        assert found.quantile(level) == pytest.approx(0.5 * norm.ppf(level), abs=1e-5)
    assert found.distance < 1e-8
    assert found.start_distance < 1e-8
    assert found.error < 1e-6


def test_the_exact_law_of_one_row():
    """sigmoid(w) + sigmoid(-w) = 1, so one row's posterior is the prior times 2 sigmoid(w), whatever the precision."""
    found = one_weight.law(SEPARABLE[:1], Target(1.0, 0.5))
    sd = math.sqrt(2.0)
    wanted = norm.logpdf(found.w, scale=sd) + math.log(2.0) - np.logaddexp(0.0, -found.w)
    inside = np.abs(found.w) < 6 * sd
    np.testing.assert_allclose(found.log_exact[inside], wanted[inside], atol=1e-8)


def test_a_longer_run_is_nearer_and_none_is_farther_than_its_start(weak):
    distances = [one_weight.law(SEPARABLE, Target(1.0, 0.1), Plan(t, 8)).distance for t in (1, 3, 10)]
    assert distances[0] > 5 * distances[1] > 25 * distances[2]
    here, _ = weak
    assert here.distance < here.start_distance
    assert here.known


def test_draws_of_the_sampler_follow_the_law_that_was_computed_and_not_the_exact_one(weak):
    """Kolmogorov-Smirnov over draws of a run of one trajectory, and of the default run.

    False alarm 1e-4 each (fixed seeds). The law after one trajectory is some .03 from the exact one in distribution
    function: 16,000 draws tell them apart, 4,000 would not for certain.
    """
    for plan, draws in ((Plan(1, 8), 16_000), (Plan(), 4000)):
        rngs = [np.random.default_rng([4, i]) for i in range(draws)]
        target = Target(1.0, 0.01)
        w = sample(SEPARABLE, [target] * draws, rngs, plan).weights[:, 0]
        law = one_weight.law(SEPARABLE, target, plan) if plan != Plan() else weak[0]
        assert kstest(w, law.drawn_cdf).pvalue > 1e-4
        if plan != Plan():
            assert kstest(w, law.exact_cdf).pvalue < 1e-6


def test_what_two_gaussians_hide():
    """power 0: two normal laws. Here one law moved by hand: delta(epsilon) of the Gaussian mechanism, closed form."""
    one = one_weight.law(SEPARABLE, Target(0.0, 1.0))
    moved = one_weight.Law(one.w + 0.8, one.log_exact, one.log_start, one.log_drawn)
    for epsilon in (0.0, 0.5, 2.0):
        wanted = norm.cdf(0.4 - epsilon / 0.8) - math.exp(epsilon) * norm.cdf(-0.4 - epsilon / 0.8)
        assert one_weight.hidden(one, moved, epsilon, drawn=False) == pytest.approx(wanted, abs=2e-5)
    told = one_weight.epsilon_at(one, moved, 0.01, drawn=False)
    assert one_weight.hidden(one, moved, told, drawn=False) <= 0.01
    assert one_weight.hidden(one, moved, told - 2e-3, drawn=False) > 0.01


def test_the_exact_draws_keep_the_bound_and_the_program_pays_more(weak):
    """Ten separable rows, precision .01, replaced row: order 2's bound is 4 / .01 nats."""
    here, there = weak
    exact, drawn = (one_weight.epsilon_at(here, there, 1e-5, drawn=d) for d in (False, True))
    assert exact < drawn < renyi_bound(2.0, 1.0, 0.01, 1.0)


def test_the_start_is_the_laplace_approximation(weak):
    here, _ = weak
    (around,), _ = laplace(SEPARABLE, [Target(1.0, 0.01)])
    wanted = norm.logpdf(here.w, around.mode[0], around.whitening[0, 0])
    np.testing.assert_allclose(here.log_start, wanted, atol=1e-9)


def test_more_than_one_column_is_refused():
    with pytest.raises(ValueError, match="2 columns"):
        one_weight.law(np.ones((3, 2)), Target(1.0, 1.0))
