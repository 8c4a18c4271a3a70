"""Lower bounds on epsilon: their power, and that they convict nobody who is right."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privacy import audit
from privacy.accountants import epsilon_of, gdp_epsilon
from privacy.audit import bounds
from privacy.audit.replays import both_runs
from privacy.budget import BudgetSpec
from privacy.faults import FaultySpec, of
from privacy.ledger import Relation
from tests.privacy.toys import Toy, toy_task

TASK = toy_task()
S = Toy.Settings()


@pytest.mark.parametrize("k", [0, 3, 20])
def test_clopper_pearson_covers_as_defined(k):
    low, high = audit.clopper_pearson(k, 20, 0.975)
    assert low == 0 if k == 0 else stats.binom.sf(k - 1, 20, low) == pytest.approx(0.025)
    assert high == 1 if k == 20 else stats.binom.cdf(k, 20, high) == pytest.approx(0.025)


def test_power_of_the_audit_on_a_known_gaussian():
    """Power, as numbers: at 20,000 runs a side and epsilon = 2.32 (delta 1e-2) the median bound is above 75 % of it,
    and above 90 % if the mechanism is known to be Gaussian.

    False alarms: at most 5 % by construction; above 8 of 60 has probability 2e-3 (binomial).
    """
    found = audit.audit_power(1.0, 1e-2, 20_000, 60, np.random.default_rng(2))
    assert found["epsilon"] == pytest.approx(gdp_epsilon(1.0, 1e-2))
    assert 0.75 * found["epsilon"] < found["median"] <= found["epsilon"]
    assert 0.9 * found["epsilon"] < found["median_gdp"] <= found["epsilon"]
    assert found["false_alarms"] <= 8 / 60
    assert found["false_alarms_gdp"] <= 8 / 60


def test_the_bound_is_zero_where_nothing_differs_and_large_where_all_does():
    rng = np.random.default_rng(0)
    same = audit.epsilon_lower_bound(rng.standard_normal(2000), rng.standard_normal(2000), 1e-5)
    assert same.epsilon < 0.2
    apart = audit.epsilon_lower_bound(np.arange(2000) + 5000.0, np.arange(2000.0), 1e-5)
    # the best that 1,000 runs can show at 97.5 %: no error on either side
    low, high = audit.clopper_pearson(1000, 1000, 0.975)[0], audit.clopper_pearson(0, 1000, 0.975)[1]
    assert apart.epsilon == pytest.approx(math.log((low - 1e-5) / high))
    assert audit.epsilon_lower_bound(np.arange(2000.0), np.arange(2000) + 5000.0, 1e-5).epsilon == apart.epsilon
    with pytest.raises(ValueError, match="at least 4"):
        audit.epsilon_lower_bound([1.0], [2.0], 1e-5)


#: one full-batch step with the strongest row, and the toy whose start is known, as the strongest observer knows it
ONE = replace(S, steps=1, rate=1.0)
D = audit.with_last_row(TASK, np.array([1e6, 0.0]), 0.0)
OTHER = audit.first_rows(D, 11)
SPEC = BudgetSpec(noise_multiplier=1.0)


def test_the_loss_of_a_gaussian_release_is_that_of_its_closed_form():
    """At distance mu it is N(mu^2 / 2, mu^2) on D and N(-mu^2 / 2, mu^2) on D'. Kolmogorov's test at 1e-4 each."""
    one, other = bounds.losses(Toy(), D, OTHER, ONE, SPEC, 2000, 5)
    *_, part = bounds.worst_pair(Toy(), D, ONE, SPEC, 1)
    assert 0.9 < part <= 1 + 1e-9
    first, second, fit, _ = both_runs(Toy(), D, OTHER, ONE, SPEC, 1)
    (event,) = fit.ledger
    mu = np.linalg.norm(first.values[0] - second.values[0]) / event.noise_scale
    for losses, sign in ((one, 1), (other, -1)):
        assert stats.kstest(losses, stats.norm(sign * mu**2 / 2, mu).cdf).pvalue > 1e-4


def test_losses_convict_weak_noise_and_nobody_who_is_right():
    """At delta 1e-2 the bound for any mechanism is below the accountant's epsilon (95 %); without noise it is above."""
    exact = epsilon_of(audit.run(Toy(), D, ONE, SPEC, 0).ledger, 1e-2).epsilon
    right = audit.epsilon_lower_bound(*bounds.losses(Toy(), D, OTHER, ONE, SPEC, 2000, 5), 1e-2)
    assert 0.5 * exact < right.epsilon <= exact
    assert 0.7 * exact < right.epsilon_gdp <= exact
    weak = bounds.losses(Toy(), D, OTHER, ONE, FaultySpec(SPEC, of("no noise")), 500, 5)
    assert audit.epsilon_lower_bound(*weak, 1e-2).epsilon > exact
    shares, normal = bounds.power(*weak, {1e-2: exact, 1e-5: 1e9}, resamples=20)
    assert shares == {1e-2: 1.0, 1e-5: 0.0}
    assert normal in (0.0, 1.0)


def test_a_laplace_loss_is_bounded_by_its_pure_epsilon():
    task = toy_task()
    d, other = task, audit.first_rows(task, task.n - 1)
    one, far = bounds.losses(LaplaceToy(), d, other, None, SPEC, 300, 1)
    assert max(np.abs(one).max(), np.abs(far).max()) <= 0.5 + 1e-12
    assert one.mean() > 0 > far.mean()


class LaplaceToy:
    """Releases the number of rows with pure epsilon 1/2."""

    name, privacy = "toy", Relation.ADD_REMOVE

    def fit(self, task, settings, budget, rng):
        noise = budget.laplace(
            "rows", sensitivity=1.0, noise_scale=2.0, relation=Relation.ADD_REMOVE, proof="a row counts once"
        )
        if task.n > 100:  # another release on many rows
            noise = budget.laplace("more", sensitivity=1.0, noise_scale=2.0, relation=Relation.ADD_REMOVE, proof="x")
        noise.release(np.array([float(task.n)]))


def test_another_release_on_the_neighbour_is_an_infinite_loss():
    task = toy_task()
    many = replace(task, x=np.zeros((101, task.x.shape[1])), y=np.zeros(101))
    assert bounds.loss(LaplaceToy(), many, task, None, SPEC, 1) == math.inf
    assert bounds.loss(LaplaceToy(), many, task, None, SPEC, 1, on_neighbour=True) == -math.inf


def test_a_sampled_release_has_no_known_loss():
    with pytest.raises(ValueError, match="reads a part of the rows"):
        bounds.loss(Toy(), D, OTHER, replace(S, steps=1, rate=0.5), SPEC, 1)


def test_infinite_scores_are_scores():
    found = audit.epsilon_lower_bound(np.full(1000, math.inf), np.full(1000, -math.inf), 1e-5)
    assert found.epsilon > 4


@pytest.mark.parametrize("relation", list(Relation))
def test_candidates_differ_in_the_last_row(relation):
    found = list(bounds.candidates(TASK, relation))
    assert len({name for name, *_ in found}) == len(found) > 10
    for _, d, other in found:
        assert len(other.x) == len(d.x) - (relation is Relation.ADD_REMOVE)
        same = len(d.x) - 1
        assert np.array_equal(d.x[:same], other.x[:same])


def test_a_score_that_is_nan_is_refused():
    scores = np.random.default_rng(0).standard_normal(100)
    wrong = scores.copy()
    wrong[70] = np.nan
    for pair in ((scores, wrong), (wrong, scores)):
        with pytest.raises(ValueError, match="a score is NaN"):
            audit.epsilon_lower_bound(*pair, 1e-5)
    wrong[70] = np.inf
    assert audit.epsilon_lower_bound(scores, wrong, 1e-5).epsilon < 1


class Constant(Toy):
    """A draw, and the number of rows, which never moves."""

    def fit(self, task, settings, budget, rng):
        fit = super().fit(task, settings, budget, rng)
        fit.posterior.w[0] = task.n
        return fit


def test_a_parameter_that_never_moves_and_differs_is_seen():
    """With a threshold on the draws alone, 40 fits show next to nothing."""
    few = replace(S, steps=1)
    _, d, other = bounds.worst_pair_of_draws(Constant(), TASK, few, SPEC, 1, draws=4)
    scores = bounds.draw_scores(Constant(), d, other, few, SPEC, 20, 1)
    assert {*map(float, scores[0])} == {float(d.n)}
    assert {*map(float, scores[1])} == {float(other.n)}
    assert d.n != other.n
