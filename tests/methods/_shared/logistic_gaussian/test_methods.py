"""Every method that was taught logistic regression in the box: scores, budget, audit, determinism, refusals."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from scipy.special import expit

from methods import contract
from methods._shared.logistic_gaussian import gradients, plans
from methods.contract import MethodError
from models.bounded import BoundedLogisticRegression
from models.task import PublicKnowledge, Task
from privacy.accountants import epsilon_of, gdp_mu
from privacy.budget import BudgetExceeded, BudgetSpec, Mode
from privacy.ledger import Relation

KIND = "bounded_logistic_regression"
EXACT = ("ep", "sep", "vi", "nuts", "logistic_regression_fit")
NOISY = ("dp_sep_corrected", "dp_vi_vinaroz_corrected", "dp_sgd", "output_perturbation")
DRAWS = ("posterior_sampling_glm_diffused", "posterior_sampling_glm_concentrated", "posterior_sampling_ops")
DIRECT = "posterior_sampling_glm_direct"
PRIVATE = (*NOISY, *DRAWS)
OTHER = ("clipped_sep", "predict_mean")
ALL = (*EXACT, *PRIVATE, DIRECT, *OTHER)
#: parameters of the law of the rows below, in the box
THETA = np.array([2.4, -1.6, 0.8, -0.6])


def some_task(n=1500, seed=0, documented=True, model=None):
    """Three columns in [-1, 1] (the first two go together), classes by ``THETA``."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    x[:, 1] = np.clip(0.6 * x[:, 0] + 0.6 * x[:, 1], -1, 1)
    y = (rng.random(n) < expit(x @ THETA[:-1] + THETA[-1])).astype(float)
    bounds = ((-1.0, 1.0),) * 3 if documented else (None, (-1.0, 1.0), None)
    return Task("toy", model or BoundedLogisticRegression(), x, y, PublicKnowledge(n, bounds, None, "the law"))


@functools.cache
def test_rows():
    return some_task(4000, seed=99)


test_rows.__test__ = False


def fit(name, task, spec=None, seed=1, **change):
    method = contract.get(name, KIND)
    spec = spec or BudgetSpec(epsilon=8.0, delta=1e-5, mode=Mode.ENFORCE)
    budget = spec.open(np.random.default_rng([seed, 1]))
    return method.fit(task, method.Settings(**change), budget, np.random.default_rng([seed, 2]))


@functools.cache
def fitted(name, epsilon=8.0, documented=True):
    quick = {"num_warmup": 50, "num_samples": 100} if name == "nuts" else {}
    spec = BudgetSpec(epsilon=epsilon, delta=1e-5, mode=Mode.ENFORCE)
    return fit(name, some_task(documented=documented), spec, **quick)


def loss(found):
    rows = test_rows()
    return -float(found.posterior.predictive(rows.x, np.random.default_rng(0)).log_density(rows.y).mean())


@dataclasses.dataclass
class Numbers:
    """The parameters of a posterior that are numbers: the audit takes differences."""

    posterior: object

    def parameters(self):
        return {k: v for k, v in self.posterior.parameters().items() if k != "inner_kind"}


@dataclasses.dataclass
class Audited:
    """A method whose posterior is seen as :class:`Numbers`."""

    method: object

    def fit(self, *arguments):
        found = self.method.fit(*arguments)
        return dataclasses.replace(found, posterior=Numbers(found.posterior))


def centre_of(found):
    """Mean of theta in the box, (D,)."""
    inner = found.posterior.posterior
    return getattr(inner, "mean", None) if hasattr(inner, "mean") else getattr(inner, "theta", None)


def test_every_method_of_the_kind_is_here():
    """Those of other engines (DPVI and its readings) have tests of their own."""
    assert set(ALL) <= set(contract.names(KIND))


@pytest.mark.parametrize("name", [*EXACT, *PRIVATE])
def test_it_predicts(name):
    """At epsilon = 8 within .06 nats a row of the law itself, far from the rate of class 1 (.1 nats worse)."""
    rows = test_rows()
    margins = rows.x @ THETA[:-1] + THETA[-1]
    best = float(np.logaddexp(0.0, -(2 * rows.y - 1) * margins).mean())
    assert best - 0.005 < loss(fitted(name)) < best + (0.01 if name in EXACT else 0.06)
    assert loss(fitted("predict_mean")) > best + 0.06


@pytest.mark.parametrize("name", EXACT[:3])
def test_approximations_have_the_moments_of_the_sampler(name):
    """Means within half a standard deviation (SEP: its weights differ; 400 draws: .05), spreads within 25 %."""
    draws = fitted("nuts").posterior.posterior.draws
    q = fitted(name).posterior.posterior
    sd = draws.std(axis=0)
    assert np.max(np.abs(q.mean - draws.mean(axis=0)) / sd) < 0.5
    np.testing.assert_allclose(np.sqrt(np.diag(q.covariance)), sd, rtol=0.25)
    assert fitted("nuts").diagnostics["rhat_max"] < 1.1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("name", PRIVATE)
def test_the_budget_is_kept_and_used(name, epsilon):
    """More than 90 % where nothing but the frame is bought in advance; a draw at most the whole likelihood."""
    found = fitted(name, epsilon, documented=False)
    cost = epsilon_of(found.ledger, 1e-5)
    assert cost.relation is Relation.ADD_REMOVE
    assert cost.epsilon <= epsilon * (1 + 1e-9)
    whole = found.diagnostics.get("power") == 1.0 and found.diagnostics.get("precision") == 1.0
    assert whole or cost.epsilon > 0.9 * epsilon
    assert len(found.ledger) >= 3  # two releases of the frame


@pytest.mark.parametrize("name", [*EXACT, *OTHER])
def test_what_is_not_private_charges_nothing(name):
    assert len(fitted(name).ledger) == 0
    assert contract.get(name, KIND).privacy is None


#: method, twin, settings that let the data through, tolerance in posterior standard deviations of EP
TWINS = (
    ("dp_sep_corrected", "ep", {"steps": 40, "clip_factor": 20.0}, 0.3),
    ("dp_sgd", "vi", {"clip_factor": 20.0, "batch_rows": 1500}, 0.3),
    pytest.param(
        "dp_vi_vinaroz_corrected", "vi", {"clip_factor": 20.0, "batch_rows": 1500}, 0.3, marks=pytest.mark.nightly
    ),
    ("output_perturbation", "vi", {"ridge_factor": 1e-3, "norm_factor": 10.0}, 0.3),
)


@pytest.mark.parametrize(("name", "twin", "change", "tolerance"), TWINS)
def test_without_noise_it_is_its_twin(name, twin, change, tolerance):
    """At epsilon = 1e6. The mode and the mean of this posterior are .1 standard deviations apart; the last releases
    of DP-SEP weigh most, and those at the start are not forgotten."""
    found = fit(name, some_task(), BudgetSpec(epsilon=1e6, delta=1e-5), **change)
    q = fitted(twin).posterior.posterior
    assert np.max(np.abs(centre_of(found) - q.mean) / np.sqrt(np.diag(q.covariance))) < tolerance


def test_dp_sep_without_noise_has_the_spread_of_ep():
    """5 %: sites of the first steps, where q is wide, are a small part of the average."""
    found = fit("dp_sep_corrected", some_task(), BudgetSpec(epsilon=1e6, delta=1e-5), steps=40, clip_factor=20.0)
    ours, ep = (np.diag(f.posterior.posterior.covariance) for f in (found, fitted("ep")))
    np.testing.assert_allclose(ours, ep, rtol=0.05)


@pytest.mark.parametrize("name", [*DRAWS, DIRECT])
def test_without_a_bound_a_draw_is_one_of_the_posterior(name):
    """Twenty draws: the mean squared distance in posterior standard deviations is chi-squared with 80 degrees of
    freedom over 80; outside of [.5, 1.7] with probability below 1e-3 (and 1e-4)."""
    q = fitted("nuts").posterior.posterior.draws.astype(float)
    centre, inverse = q.mean(axis=0), np.linalg.inv(np.cov(q.T))
    spec = BudgetSpec(epsilon=1e6, delta=1e-5)
    change = {"radius_factor": 50.0} if name.endswith("ops") else {}
    away = [centre_of(fit(name, some_task(), spec, seed=s, **change)) - centre for s in range(20)]
    assert 0.5 < np.mean([a @ inverse @ a for a in away]) / len(centre) < 1.7


@pytest.mark.parametrize("name", PRIVATE)
def test_a_budget_that_states_nothing_is_refused(name):
    with pytest.raises(ValueError, match="states no"):
        fit(name, some_task(50), BudgetSpec())


def test_a_draw_from_the_model_itself_says_what_it_would_need():
    """D = 4 and prior_sd = 1: the curve 2 order, which is that of a Gaussian release at mu = 2."""
    with pytest.raises(BudgetExceeded, match=r"needs epsilon = 1[0-9]\.\d+ at delta = 1e-05; the budget is 8"):
        fit(DIRECT, some_task(50))
    found = fit(DIRECT, some_task(50, model=BoundedLogisticRegression(prior_sd=0.5)))
    assert epsilon_of(found.ledger, 1e-5).epsilon <= 8.0


def test_an_overspent_budget_is_refused():
    spec = BudgetSpec(epsilon=1.0, delta=1e-5, mode=Mode.ENFORCE)
    budget = spec.open(np.random.default_rng(0))
    method = contract.get("dp_sep_corrected", KIND)
    almost = 1.01 / gdp_mu(1.0, 1e-5)  # leaves 2 % of mu^2; the centre costs 5 %
    budget.gaussian("before", sensitivity=1.0, noise_multiplier=almost, relation=Relation.ADD_REMOVE, proof="t")
    with pytest.raises(BudgetExceeded, match="the budget is 1"):
        method.fit(some_task(50), method.Settings(), budget, np.random.default_rng(0))


@pytest.mark.parametrize("name", ALL)
def test_wrong_settings_are_refused(name):
    """Every number of the settings, at a value that makes no sense."""
    settings = contract.get(name, KIND).Settings
    for field in dataclasses.fields(settings):
        wrong = () if isinstance(field.default, tuple) else -1
        with pytest.raises(ValueError, match=field.name):
            settings(**{field.name: wrong})


def test_privacy_noise_widens_the_corrected_dp_sep():
    """The covariance of q holds the noise of the releases: more than twice EP's at epsilon = .1."""
    tight, wide = fitted("ep"), fitted("dp_sep_corrected", 0.1)
    ratio = np.trace(wide.posterior.posterior.covariance) / np.trace(tight.posterior.posterior.covariance)
    assert ratio > 2


def test_ops_refuses_a_ball_that_holds_next_to_nothing_of_the_prior():
    """4 coordinates: |theta|^2 is chi-squared of 4 degrees, and below .01 with probability .0000125."""
    with pytest.raises(MethodError, match=r"radius 0\.1 holds 1\.2e-05 of the prior; raise radius_factor"):
        fit("posterior_sampling_ops", some_task(), radius_factor=0.05)


@pytest.mark.parametrize(("n", "epsilon", "expected"), [(1500, 1.0, 101), (40_000, 0.1, 326), (1_000_000, 8.0, 10_000)])
def test_steps_follow_rows_and_budget(n, epsilon, expected):
    """A quarter of n mu, mu = .0325 and .2681 at epsilon = .1 and 1 (Gaussian DP, delta = 1e-5), at most 10,000."""
    budget = BudgetSpec(epsilon=epsilon, delta=1e-5).open(np.random.default_rng(0))
    settings = plans.DescentSettings(batch_rows=n)
    assert gradients.plan_of(settings, n, 2.0, budget, "sum", Relation.ADD_REMOVE).steps == expected
