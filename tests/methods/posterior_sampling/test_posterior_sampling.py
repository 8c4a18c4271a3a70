"""Adapters of posterior sampling in exponential families: what they draw, what they charge, what they refuse."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from scipy import stats

from methods import contract
from methods._shared.exponential_family import guarantee as g
from methods._shared.exponential_family.release import weights
from models.exponential_family import BetaBernoulli, ExponentialFamily
from models.task import PublicKnowledge, Task
from privacy.accountants import renyi_divergence
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Mechanism, Relation

DIRECT, DIFFUSED, CONCENTRATED, QUERY = (
    contract.get(f"posterior_sampling_{n}") for n in ("direct", "diffused", "concentrated", "query")
)
GAUSSIAN = contract.get("sufficient_statistics_perturbation")
DRAWS = (DIRECT, DIFFUSED, CONCENTRATED, QUERY)
CALIBRATED = (DIFFUSED, CONCENTRATED, QUERY)
BETA, PRIOR = BetaBernoulli(), (6.0, 18.0)


def some_task(successes=38, n=100, model=None):
    x = np.zeros((n, 1))
    x[:successes] = 1.0
    return Task("trials", model or ExponentialFamily.beta_bernoulli(6, 12), x)


def fit(method, renyi=None, task=None, seed=1, mode=Mode.RECORD, **settings):
    budget = BudgetSpec(renyi=renyi, mode=mode).open(np.random.default_rng([seed, 0]))
    return method.fit(task or some_task(), method.Settings(**settings), budget, np.random.default_rng([seed, 1]))


def values(method, renyi, task, draws, **settings):
    return np.array([float(fit(method, renyi, task, seed, **settings).posterior.value) for seed in range(draws)])


R, M = (w(BETA, PRIOR, 100, 15.0, 0.1) for w in (g.diffused_weight, g.concentrated_weight))


@pytest.mark.parametrize(
    ("method", "settings", "a", "b"),
    [
        (DIRECT, {}, 44, 74),
        (DIFFUSED, {}, 6 + 38 * R, 12 + 62 * R),
        (CONCENTRATED, {}, 6 / M + 38, 12 / M + 62),
        (QUERY, {"sampler": "diffused"}, 6 + 38 * R, 12 + 62 * R),
        (QUERY, {"sampler": "concentrated"}, 6 / M + 38, 12 / M + 62),
    ],
)
def test_draws_follow_the_law_of_the_algorithm(method, settings, a, b):
    """Kolmogorov-Smirnov at 2,000 fits; false-alarm rate 1e-6 each."""
    found = values(method, (15.0, 0.1), some_task(), 2000, **settings)
    assert stats.kstest(found, stats.beta(a, b).cdf).pvalue > 1e-6


def test_a_query_takes_values_between_zero_and_one():
    """sum phi = 40 of 100 rows, none of them 0 or 1."""
    task = Task("query", ExponentialFamily.beta_bernoulli(6, 12), np.full((100, 1), 0.4))
    r = g.diffused_weight(BETA, PRIOR, 100, 2.0, 0.05)
    found = values(QUERY, (2.0, 0.05), task, 1000)
    assert stats.kstest(found, stats.beta(6 + 40 * r, 12 + 60 * r).cdf).pvalue > 1e-6
    assert BETA.value(fit(QUERY, (2.0, 0.05), task).posterior.theta) == fit(QUERY, (2.0, 0.05), task).posterior.value


def test_the_gaussian_mechanism_follows_its_law():
    """Noise of variance order / (2 epsilon) on the sum, clipped to [0, n], then a draw; false-alarm rate 1e-6."""
    order, epsilon = 2.0, 0.01
    sigma = math.sqrt(order / (2 * epsilon))
    found = values(GAUSSIAN, (order, epsilon), some_task(), 2000)
    rng = np.random.default_rng(0)
    s = np.clip(38 + sigma * rng.standard_normal(200_000), 0, 100)
    assert stats.kstest(found, rng.beta(6 + s, 12 + 100 - s)).pvalue > 1e-6
    fitted = fit(GAUSSIAN, (order, epsilon))
    (event,) = fitted.ledger
    assert (event.mechanism, event.relation, event.sensitivity) == (Mechanism.GAUSSIAN, Relation.REPLACE_ONE, 1.0)
    assert event.noise_scale == pytest.approx(sigma)
    assert renyi_divergence(fitted.ledger, order) == pytest.approx(epsilon, rel=1e-12)


def test_the_gaussian_mechanism_takes_other_budgets():
    from privacy.accountants import epsilon_of

    for spec, check in (
        (
            BudgetSpec(epsilon=1.0, delta=1e-5),
            lambda led: epsilon_of(led, 1e-5).epsilon == pytest.approx(1.0, rel=1e-6),
        ),
        (BudgetSpec(noise_multiplier=3.0), lambda led: led.events[0].noise_multiplier == 3.0),
    ):
        fitted = GAUSSIAN.fit(
            some_task(), GAUSSIAN.Settings(), spec.open(np.random.default_rng(0)), np.random.default_rng(1)
        )
        assert check(fitted.ledger)
    with pytest.raises(ValueError, match=r"renyi: \[order, epsilon\]"):
        fit(GAUSSIAN)


@pytest.mark.parametrize("method", DRAWS, ids=lambda m: m.name)
def test_one_event_with_a_curve_and_a_written_proof(method):
    fitted = fit(method, (3.25, 0.1))
    (event,) = fitted.ledger
    assert event.mechanism is Mechanism.WRITTEN_BOUND
    assert event.relation is Relation.REPLACE_ONE is method.privacy
    assert event.steps == 1
    module, _, function = event.proof.rpartition(".")
    assert "Proof" in getattr(importlib.import_module(module), function).__doc__
    curve = dict(event.renyi_curve)
    if method is DIRECT:
        assert curve[3.25] == g.supremum(BETA, PRIOR, 100, 3.25)
    else:
        assert curve[3.25] == pytest.approx(0.1, rel=1e-12)
        assert curve[3.25] <= 0.1


def test_what_is_charged_is_what_is_drawn():
    """The weights of the diagnostics, of the law and of the event are one."""
    for method in (DIFFUSED, CONCENTRATED):
        fitted = fit(method, (15.0, 0.1))
        r, w = fitted.diagnostics["data_weight"], fitted.diagnostics["prior_weight"]
        assert dict(fitted.ledger.events[0].renyi_curve)[15.0] == g.supremum(BETA, PRIOR, 100, 15.0, r, w)
        assert fitted.diagnostics["critical_order"] == g.critical_order(BETA, PRIOR, r, w) > 15
    assert weights(BETA, PRIOR, 100, 15.0, 0.1, "diffused") == (R, 1.0)
    assert weights(BETA, PRIOR, 100, 15.0, 0.1, "concentrated") == (1.0, 1 / M)
    with pytest.raises(ValueError, match="algorithm 'tempered'"):
        weights(BETA, PRIOR, 100, 15.0, 0.1, "tempered")


@pytest.mark.parametrize("method", [*CALIBRATED, GAUSSIAN], ids=lambda m: m.name)
@pytest.mark.parametrize("renyi", [(1.0, 0.01), (2.0, 0.1), (15.0, 0.1), (15.0, 10.0)])
def test_calibrated_methods_keep_an_enforced_budget(method, renyi):
    fitted = fit(method, renyi, mode=Mode.ENFORCE)
    assert renyi_divergence(fitted.ledger, renyi[0]) <= renyi[1] * (1 + 1e-9)


def test_the_direct_draw_is_refused_where_it_costs_too_much():
    """ln(672 / 555) = 0.19129 at order 2; infinite at order 7."""
    assert len(fit(DIRECT, (2.0, 0.1913), mode=Mode.ENFORCE).ledger) == 1
    with pytest.raises(BudgetExceeded, match=r"0\.1913 at Renyi order 2"):
        fit(DIRECT, (2.0, 0.1912), mode=Mode.ENFORCE)
    with pytest.raises(BudgetExceeded, match="inf at Renyi order 7"):
        fit(DIRECT, (7.0, 1e6), mode=Mode.ENFORCE)
    assert len(fit(DIRECT).ledger) == 1  # without a budget: charged, not refused


def test_the_weights_do_not_depend_on_the_data():
    for method in (*DRAWS, GAUSSIAN):
        one, two = (fit(method, (2.0, 0.05), some_task(k)) for k in (0, 77))
        assert one.ledger.to_json() == two.ledger.to_json()
        assert one.diagnostics == two.diagnostics


def test_public_rows_take_the_bias_of_a_small_weight_away():
    """Prior mean 1/3, truth 1/2 (section 3.3). Expectations are exact; 400 draws within 6 standard errors of them."""
    plain = ExponentialFamily.beta_bernoulli(6, 12)
    informed = plain.with_public_rows(np.repeat([[0.0], [1.0]], 100, axis=0))
    renyi = (15.0, 0.01)
    for method, least in ((DIFFUSED, 3.0), (CONCENTRATED, 3.0)):
        bias = []
        for model in (plain, informed):
            task = some_task(50, model=model)
            fitted = fit(method, renyi, task)
            r, w = fitted.diagnostics["data_weight"], fitted.diagnostics["prior_weight"]
            a, total = w * model.natural + r * np.array([50, 100])
            expected = a / total
            found = values(method, renyi, task, 400)
            assert abs(found.mean() - expected) < 6 * stats.beta(a, total - a).std() / 20
            # the guarantee counts the public rows as part of the prior
            assert dict(fitted.ledger.events[0].renyi_curve)[15.0] <= 0.01
            bias.append(abs(expected - 0.5))
        assert bias[0] > least * bias[1]
    # a stronger prior leaves a larger weight to the private rows
    assert (
        fit(DIFFUSED, renyi, some_task(50, model=informed)).diagnostics["data_weight"]
        > fit(DIFFUSED, renyi, some_task(50, model=plain)).diagnostics["data_weight"]
    )


def test_the_other_families():
    rng = np.random.default_rng(0)
    categories = Task(
        "c", ExponentialFamily.dirichlet_categorical((2, 3, 4)), rng.integers(0, 3, (60, 1)).astype(float)
    )
    one_hot = Task("c", categories.model, np.eye(3)[categories.x[:, 0].astype(int)])
    means = Task("m", ExponentialFamily.gaussian_mean(0, 1, 1, 1), 0.3 + rng.standard_normal((100, 1)))
    for method in (DIRECT, DIFFUSED, CONCENTRATED, GAUSSIAN):
        p = fit(method, (2.0, 0.2), categories).posterior.value
        assert p.shape == (3,)
        assert p.sum() == pytest.approx(1.0)
        np.testing.assert_array_equal(p, fit(method, (2.0, 0.2), one_hot).posterior.value)
        assert math.isfinite(fit(method, (2.0, 0.2), means).posterior.value)
    assert fit(GAUSSIAN, (2.0, 0.2), categories).ledger.events[0].sensitivity == pytest.approx(math.sqrt(2))
    # 2 (2 clip)^2 / (2 variance (1 + n)) = 0.0396 is all that the posterior of the mean costs at order 2
    assert fit(DIFFUSED, (2.0, 0.04), means).diagnostics == {"data_weight": 1.0, "prior_weight": 1.0}
    assert fit(DIFFUSED, (2.0, 0.039), means).diagnostics["data_weight"] < 1
    assert "Beta system" in QUERY.supports(means)
    with pytest.raises(ValueError, match="Beta system"):
        fit(QUERY, (2.0, 0.2), means)


@pytest.mark.parametrize("method", CALIBRATED, ids=lambda m: m.name)
def test_a_budget_without_an_order_is_refused(method):
    with pytest.raises(ValueError, match=rf"{method.name}: .*renyi: \[order, epsilon\]"):
        fit(method)


@pytest.mark.parametrize("renyi", [(0.9, 1.0), (math.nan, 1.0), (2.0, 0.0), (2.0, -1.0)])
def test_a_budget_out_of_range_is_refused(renyi):
    with pytest.raises(ValueError, match="Renyi"):
        fit(DIFFUSED, renyi)


@pytest.mark.parametrize("method", [*DRAWS, GAUSSIAN], ids=lambda m: m.name)
def test_bad_rows_are_refused_before_anything_is_charged(method):
    good = some_task()
    for bad, message in (
        (Task("t", good.model, np.full((3, 1), 2.0)), "row 0 is 2"),
        (Task("t", good.model, np.zeros((3, 1)), public=PublicKnowledge(4)), "public number of rows"),
    ):
        budget = BudgetSpec(renyi=(2.0, 1.0)).open(np.random.default_rng(0))
        with pytest.raises(ValueError, match=message):
            method.fit(bad, method.Settings(), budget, np.random.default_rng(0))
        assert len(budget.ledger) == 0


def test_an_unknown_sampler_is_refused():
    with pytest.raises(ValueError, match=r"sampler = 'direct'.*diffused"):
        QUERY.Settings(sampler="direct")
