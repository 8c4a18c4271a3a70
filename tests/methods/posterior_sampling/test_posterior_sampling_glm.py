"""Guarantees of one logistic posterior draw: closed forms, brute force over neighbours, ledger, refusals."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from methods import contract
from methods.posterior_sampling._logistic import guarantee as g
from models.logistic_regression import LogisticRegression, potential, signed_rows
from models.task import PublicKnowledge, Task
from privacy.accountants import epsilon_of
from privacy.budget import BudgetSpec
from privacy.ledger import Event, Mechanism, Relation

DIRECT, CONCENTRATED, DIFFUSED, OPS = (
    contract.get(f"posterior_sampling_{n}") for n in ("glm_direct", "glm_concentrated", "glm_diffused", "ops")
)
PRIVATE = (CONCENTRATED, DIFFUSED, OPS)


def some_task(n=31, seed=5, model=None, y=None):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (n, 2))
    y = (x[:, 0] > 0).astype(float) if y is None else y
    return Task("adult", model or LogisticRegression(), x, y, PublicKnowledge(n, ((-2.0, 2.0),) * 2, None, "its law"))


def fit(method, renyi, task=None, seed=1, **settings):
    budget = BudgetSpec(renyi=renyi).open(np.random.default_rng(0))
    return method.fit(task or some_task(), method.Settings(**settings), budget, np.random.default_rng(seed))


def divergences(z, z_other, power, precision, orders, step, radius=math.inf):
    """Renyi divergences between the posteriors of two sets of signed rows, (len(orders),), by sums over a grid.

    The grid reaches where the law of each order has its mass: (n + 2 order) c / precision and 9 standard deviations.
    """
    d = z.shape[1]
    reach = (power * (len(z) + 2 * max(orders)) + 9 * math.sqrt(precision)) / precision
    axis = np.arange(-min(reach, radius), min(reach, radius) + step, step)
    w = np.stack(np.meshgrid(*[axis] * d, indexing="ij")).reshape(d, -1)
    w = w[:, np.linalg.norm(w, axis=0) <= radius]
    p, q = (-potential(w, rows, power, precision) for rows in (z, z_other))
    p, q = p - logsumexp(p), q - logsumexp(q)
    return np.array([np.exp(p) @ (p - q) if a == 1 else logsumexp(a * p + (1 - a) * q) / (a - 1) for a in orders])


@pytest.mark.parametrize(
    ("tau2", "order", "value"),
    [
        (0.01, 2, 0.009975124326799),
        (0.1, 2, 0.097618597676469),
        (1.0, 2, 0.831796565751186),
        (5.0, 2, 3.151238659199846),
        (0.1, 3, 0.146433052391413),
        (1.0, 3, 1.262090509935999),
        (1.0, 5, 2.166160180145274),
    ],
)
def test_flip_of_one_record(tau2, order, value):
    """The construction of theorem 18: one record changes its class; the others are orthogonal to it and cancel.

    Published closed form: D_2 = log(2 exp(tau^2 / 2) - 1), and sums of the same kind for whole orders.
    """
    z = np.array([[1.0]])
    (found,) = divergences(z, -z, 1.0, 1 / tau2, [order], 0.01 * math.sqrt(tau2))
    assert found == pytest.approx(value, rel=1e-9)
    # theorem 18's lower and theorem 16's upper bound
    assert (order - 1) * tau2 / 2 <= found <= g.renyi_bound(order, 1.0, 1 / tau2, 1.0)
    assert g.renyi_bound(order, 1.0, 1 / tau2, 1.0) == pytest.approx(2 * tau2 * order)


@pytest.mark.parametrize("tau2", [0.01, 0.1, 1.0, 5.0])
def test_theorem_16_holds_with_a_factor_of_four_to_spare_on_flips(tau2):
    z, orders = np.array([[1.0]]), [1, 1.5, 2, 5, 10]
    found = divergences(z, -z, 1.0, 1 / tau2, orders, 0.02 * math.sqrt(tau2))
    ratio = found / [g.renyi_bound(a, 1.0, 1 / tau2, 1.0) for a in orders]
    assert ratio.max() <= 0.25
    assert ratio.min() > 0.1  # the bound is of the right size


@pytest.mark.parametrize("seed", range(25))
def test_theorem_16_on_random_neighbours(seed):
    """Rows of a disc, up to 5 records, one replaced; both directions, four orders, any power."""
    rng = np.random.default_rng(seed)
    n, orders = int(rng.integers(1, 6)), [1, 1.5, 2, 5]
    x = rng.normal(size=(n + 1, 2))
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    z = signed_rows(x, rng.integers(0, 2, n + 1).astype(float))
    if seed % 3 == 0:
        z[n] = -z[0]
    power, precision = rng.choice([0.3, 1.0]), rng.uniform(0.5, 4.0)
    here, there = z[:n], np.vstack([z[1:n], z[n:]])
    bound = np.array([g.renyi_bound(a, power, precision, 1.0) for a in orders])
    for pair in ((here, there), (there, here)):
        ratio = divergences(*pair, power, precision, orders, 0.2 / math.sqrt(precision)) / bound
        assert ratio.max() <= 0.25


@pytest.mark.parametrize("seed", range(6))
def test_truncated_draws_keep_both_of_their_bounds(seed):
    """A small ball, so that the pure bound is the sharper one; the log ratio itself is checked as well."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4, 2))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    other = z.copy()
    other[0] = -z[0]
    power, precision, radius, orders = 1.0, 0.5, [0.2, 1.0, 3.0][seed % 3], [1, 2, 5, 20]
    found = divergences(z, other, power, precision, orders, 0.02 * radius, radius)
    bounds = [g.truncated_bound(a, power, precision, 1.0, radius) for a in orders]
    assert (found <= bounds).all()
    assert found.max() <= g.pure_bound(power, 1.0, radius) == 2 * radius
    assert g.truncated_bound(2, 1.0, 1.0, 1.0, 1e3) == g.renyi_bound(2, 1.0, 1.0, 1.0)
    assert g.truncated_bound(2, 1.0, 1e-3, 1.0, 0.01) == g.renyi_of_pure(2, 0.02) == 0.02**2


@pytest.mark.parametrize(
    ("n", "order", "epsilon", "beta", "power"),
    [
        (2784, 1, math.exp(-5), 0.106618649, 0.096846385),
        (2784, 10, 1.0, 0.007183908, 0.373095162),
        (2784, 100, math.exp(3), 0.003576657, 0.528763344),
        (7988, 1, math.exp(-5), 0.037159028, 0.164046824),
    ],
)
def test_calibration_to_the_published_digits(n, order, epsilon, beta, power):
    assert g.concentrated_beta(order, epsilon, n, 1e-3, 1.0) == pytest.approx(beta, abs=6e-10)
    assert g.diffused_power(order, epsilon, n, 1e-3, 1.0) == pytest.approx(power, abs=6e-10)
    # both spend the budget, no more
    assert g.renyi_bound(order, 1.0, n * beta, 1.0) == pytest.approx(epsilon, rel=1e-6)
    assert g.renyi_bound(order, power, n * 1e-3, 1.0) == pytest.approx(epsilon, rel=1e-6)


def test_calibration_stops_at_the_posterior_itself():
    assert g.concentrated_beta(1, 50.0, 2784, 1e-3, 1.0) == 1e-3
    assert g.diffused_power(1, 50.0, 2784, 1e-3, 1.0) == 1.0
    assert g.ops_power(1.0, 1e-3, 1.0) == 2.5e-4
    assert g.ops_power(1.0, 1e-3, 1.0, tight=True) == 5e-4
    assert g.ops_power(1e5, 1e-3, 1.0) == 1.0
    assert g.fair_pure_epsilon(10, 0.05) == pytest.approx(0.1)
    assert g.fair_pure_epsilon(10, 0.5) == 0.5
    # theorem 16 against the charge of OPS: better exactly where order < 2 n / power
    for order, better in ((199, True), (201, False)):
        assert (g.renyi_bound(order, 1.0, 100 * 1e-3, 1.0) < 4 * 1.0 / 1e-3) is better


def test_the_orders_are_those_of_the_accountant():
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    assert list(g.ORDERS) == list(rdp.DEFAULT_RDP_ORDERS)


@pytest.mark.parametrize("method", [DIRECT, *PRIVATE], ids=lambda m: m.name)
def test_one_event_with_a_curve_and_a_written_proof(method):
    fitted = fit(method, (7.25, 0.3))
    (event,) = fitted.ledger
    assert event.mechanism is Mechanism.WRITTEN_BOUND
    assert event.relation is Relation.REPLACE_ONE is method.privacy
    assert event.steps == 1
    curve = dict(event.renyi_curve)
    assert set(curve) == {*map(float, g.ORDERS), 7.25}
    module, _, function = event.proof.rpartition(".")
    assert "Proof." in getattr(importlib.import_module(module), function).__doc__
    if method in (CONCENTRATED, DIFFUSED):
        assert curve[7.25] == pytest.approx(0.3, rel=1e-12)  # all of it is used
        assert curve[1.1] == pytest.approx(0.3 * 1.1 / 7.25, rel=1e-12)  # theorem 17: linear in the order
    if method is OPS:
        assert curve[7.25] <= 0.3 / 2  # charged twice what a proof needs, at least
    # it composes with the accountants of the suite
    cost = epsilon_of(fitted.ledger, 1e-5)
    assert 0 < cost.epsilon < math.inf
    assert cost.relation is Relation.REPLACE_ONE


def test_the_direct_draw_is_charged_theorem_16():
    budget = BudgetSpec().open(np.random.default_rng(0))
    fitted = DIRECT.fit(some_task(), DIRECT.Settings(), budget, np.random.default_rng(1))
    assert dict(fitted.ledger.events[0].renyi_curve)[2.0] == pytest.approx(4 / (31 * 1e-3))


def test_ops_settings():
    renyi = (10.0, 0.05)
    plain, fair, both = (
        fit(OPS, renyi, **s) for s in ({}, {"renyi_conversion": True}, {"renyi_conversion": True, "tight_range": True})
    )
    powers = [f.diagnostics["power"] for f in (plain, fair, both)]
    np.testing.assert_allclose(powers, [0.05e-3 / 4, 0.1e-3 / 4, 0.1e-3 / 2], rtol=1e-12)
    assert plain.diagnostics["radius"] == 1e3
    for fitted in (plain, fair, both):
        assert dict(fitted.ledger.events[0].renyi_curve)[10.0] <= 0.05 * (1 + 1e-12)


def laws(method, renyi, task, draws=150):
    return np.array([fit(method, renyi, task, seed).posterior.weights for seed in range(draws)])


def test_limits_in_epsilon():
    """epsilon -> 0: algorithm 5 goes to a point, algorithm 6 to the prior; large epsilon: both to the posterior.

    150 draws of 2 weights: a standard deviation is known to 6 %, so 30 % is five of its errors.
    """
    task = some_task()
    prior_sd = 1 / math.sqrt(31 * 1e-3)
    assert np.abs(laws(CONCENTRATED, (2.0, 1e-6), task)).max() < 0.02
    np.testing.assert_allclose(laws(DIFFUSED, (2.0, 1e-8), task).std(axis=0), prior_sd, rtol=0.3)
    same = [fit(m, (2.0, 1e6), task).posterior.weights for m in (DIRECT, CONCENTRATED, DIFFUSED)]
    np.testing.assert_array_equal(same[0], same[1])
    np.testing.assert_array_equal(same[0], same[2])


def test_without_budget_a_draw_is_one_of_the_prior():
    """Oracle: squares over the prior variance add up to chi-squared, 300 degrees; false alarm 1e-6.

    A prior half as wide again, or one that the likelihood has made narrower by a third, is not taken for it.
    """
    scaled = laws(DIFFUSED, (2.0, 1e-8), some_task()) * math.sqrt(31 * 1e-3)
    total, law = float((scaled**2).sum()), stats.chi2(scaled.size)

    def p_value(value: float) -> float:
        return 2 * min(law.cdf(value), law.sf(value))

    assert p_value(total) > 1e-6
    assert p_value(total * 1.5**2) < 1e-6
    assert p_value(total * (2 / 3) ** 2) < 1e-6
    assert stats.kstest(scaled.ravel(), "norm").pvalue > 1e-6


def test_the_draw_depends_on_rng_alone():
    first, again, other = (fit(DIFFUSED, (2.0, 1.0), seed=s).posterior.weights for s in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()


@pytest.mark.parametrize("method", PRIVATE, ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("renyi", "message"),
    [
        (None, r"renyi: \[order, epsilon\]"),
        ((0.9, 1.0), "order 0.9"),
        ((math.nan, 1.0), "order nan"),
        ((math.inf, 1.0), "order inf"),
        ((2.0, 0.0), "epsilon 0.0"),
        ((2.0, -1.0), "epsilon -1.0"),
        ((2.0, math.inf), "epsilon inf"),
    ],
)
def test_a_budget_out_of_range_is_refused(method, renyi, message):
    with pytest.raises(ValueError, match=message):
        fit(method, renyi)


@pytest.mark.parametrize("method", [DIRECT, *PRIVATE], ids=lambda m: m.name)
def test_rows_and_labels_out_of_range_are_refused_before_anything_is_charged(method):
    long = some_task(model=LogisticRegression(scaling="none"))
    wrong = some_task(y=np.full(31, -1.0))
    for task, message in ((long, "above norm_bound"), (wrong, "y = -1")):
        budget = BudgetSpec(renyi=(2.0, 1.0)).open(np.random.default_rng(0))
        with pytest.raises(ValueError, match=message):
            method.fit(task, method.Settings(), budget, np.random.default_rng(0))
        assert len(budget.ledger) == 0


@pytest.mark.parametrize("method", [DIRECT, *PRIVATE], ids=lambda m: m.name)
def test_settings_out_of_range_are_refused(method):
    with pytest.raises(ValueError, match="trajectories = 0"):
        method.Settings(trajectories=0)
    with pytest.raises(ValueError, match="leapfrog_steps = 0"):
        method.Settings(leapfrog_steps=0)


@pytest.mark.parametrize("order", [0.99, -1.0, math.nan, math.inf])
def test_orders_below_one_have_no_bound(order):
    for bound in (lambda: g.renyi_bound(order, 1.0, 1.0, 1.0), lambda: g.renyi_of_pure(order, 1.0)):
        with pytest.raises(ValueError, match="Renyi order"):
            bound()


def test_two_draws_compose_with_each_other():
    """The curves add: two equal draws cost what one of twice the epsilon costs."""
    one = g.draw_event(1.0, 10.0, 1.0)
    twice = g.draw_event(math.sqrt(2.0), 10.0, 1.0)
    assert isinstance(one, Event)
    budget = BudgetSpec().open(np.random.default_rng(0))
    budget.spend(one)
    budget.spend(one)
    other = BudgetSpec().open(np.random.default_rng(0))
    other.spend(twice)
    assert epsilon_of(budget.ledger, 1e-5).epsilon == pytest.approx(epsilon_of(other.ledger, 1e-5).epsilon, rel=1e-9)
