"""What the way to the box costs, and what it gives."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from methods._shared import frames
from methods.contract import Fit
from models.bounded import BoundedLinearRegression, BoundedMixture
from models.task import PublicKnowledge, Task
from privacy import audit
from privacy.accountants import epsilon_of
from privacy.budget import BudgetExceeded, BudgetSpec
from privacy.ledger import Relation

RNG = np.random.default_rng(4)
X = np.column_stack([RNG.uniform(0, 10, 500), RNG.normal(100.0, 3.0, 500)])
Y = X[:, 0] + RNG.normal(size=500)
KNOWN = PublicKnowledge(500, ((0.0, 10.0), None), None, "made up")
MODEL = BoundedLinearRegression()
SPEC = BudgetSpec(epsilon=1.0, delta=1e-5, mode="enforce")


def task(public=KNOWN, model=MODEL, rows=slice(None)) -> Task:
    y = None if model.kind == "bounded_mixture" else Y[rows]
    return Task("made up", model, X[rows], y, public)


def opened(spec=SPEC, seed=0):
    return spec.open(np.random.default_rng(seed))


def test_without_a_budget_the_moments_are_those_of_the_rows():
    frame = frames.make_frame(task(), None)
    assert (frame.x_shift[0], frame.x_scale[0]) == (5.0, 5.0)
    assert frame.x_shift[1] == pytest.approx(X[:, 1].mean())
    assert frame.x_scale[1] == pytest.approx(3 * X[:, 1].std())
    assert frame.y_scale == pytest.approx(3 * Y.std())


def test_documented_ranges_cost_nothing():
    known = PublicKnowledge(500, ((0.0, 10.0), (90.0, 110.0)), (-5.0, 15.0), "made up")
    budget = opened()
    frame = frames.make_frame(task(known), budget)
    assert len(budget.ledger) == 0
    assert frame.y_shift == 5.0
    assert frame.y_scale == 10.0


def test_bought_columns_cost_their_share_of_the_budget():
    from privacy.accountants import gdp_mu

    budget = opened()
    frames.make_frame(task(), budget, share=0.25)
    assert len(budget.ledger) == 2
    spent = epsilon_of(budget.ledger, 1e-5)
    assert spent.relation is Relation.ADD_REMOVE
    assert gdp_mu(spent.epsilon, 1e-5) == pytest.approx(math.sqrt(0.25) * gdp_mu(1.0, 1e-5), rel=1e-3)


def test_a_large_budget_buys_the_moments_of_the_rows():
    bought = frames.make_frame(task(), opened(BudgetSpec(epsilon=1e6, delta=1e-5)))
    free = frames.make_frame(task(), None)
    np.testing.assert_allclose(bought.x_shift, free.x_shift, rtol=1e-3)
    np.testing.assert_allclose(bought.x_scale, free.x_scale, rtol=1e-2)
    assert bought.y_scale == pytest.approx(free.y_scale, rel=1e-2)


def test_the_mixture_has_no_target_and_a_wider_range():
    frame = frames.make_frame(task(model=BoundedMixture(2)), None)
    assert (frame.y_shift, frame.y_scale, frame.stretch) == (0.0, 1.0, 3.0)


def test_what_is_left_uses_up_the_budget():
    budget = opened()
    frames.make_frame(task(), budget)
    multiplier = frames.left_for(budget, "sums", Relation.ADD_REMOVE)
    budget.gaussian("sums", sensitivity=2.0, noise_multiplier=multiplier, relation=Relation.ADD_REMOVE, proof="a test")
    assert 0.999 < epsilon_of(budget.ledger, 1e-5).epsilon <= 1.0


def test_the_remainder_charges_the_whole_budget():
    budget = opened()
    rest = budget.stating(3.0)
    assert (rest.noise_multiplier, rest.epsilon) == (3.0, None)
    with pytest.raises(BudgetExceeded):
        rest.gaussian("sums", sensitivity=1.0, noise_multiplier=0.1, relation=Relation.ADD_REMOVE, proof="a test")
    assert len(budget.ledger) == 0
    rest.gaussian("sums", sensitivity=1.0, noise_multiplier=30.0, relation=Relation.ADD_REMOVE, proof="a test")
    assert len(budget.ledger) == len(rest.ledger) == 1


class Nothing(frames.InFrame):
    """Releases the frame and nothing else."""

    name = "nothing"
    models = ("bounded_linear_regression",)
    privacy = Relation.ADD_REMOVE

    @dataclass(frozen=True)
    class Settings:
        """None."""

    def fit_unit(self, task, settings, budget, rng):
        posterior = task.model.exact_posterior(np.zeros((0, task.x.shape[1])), np.zeros(0))
        return Fit(posterior, budget.ledger)


def test_the_releases_of_the_frame_keep_their_sensitivity_on_neighbours():
    whole = task()
    for changed in (499, 0):
        rows = np.delete(np.arange(500), changed)
        r = audit.replay(Nothing(), whole, task(rows=rows), Nothing.Settings(), SPEC, 3)
        assert r.ratio <= 1 + audit.ROUNDING
        assert r.ratio > 0.05  # the row is in the releases
        assert r.posterior_change == 0
        assert not r.events_differ


def test_a_private_scaling_of_no_rows_is_made():
    """That no row is left may follow from one row, so it is no reason to refuse."""
    frame = frames.make_frame(task(rows=slice(0)), opened(BudgetSpec(noise_multiplier=1.0)))
    assert np.isfinite([*frame.x_shift, *frame.x_scale]).all()


def test_wrong_tasks_and_budgets_are_refused():
    with pytest.raises(ValueError, match="at least 1 training row"):
        frames.make_frame(task(rows=slice(0)), None)
    with pytest.raises(ValueError, match="3 entries for 2 columns"):
        frames.make_frame(task(PublicKnowledge(500, (None,) * 3)), None)
    with pytest.raises(ValueError, match="noise_multiplier"):
        frames.make_frame(task(), opened(BudgetSpec()))
