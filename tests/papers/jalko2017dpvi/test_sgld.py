"""Langevin dynamics: law, sensitivity and ledger of the sound one; noise and slips of the program."""

import math

import numpy as np
import pytest

from papers.jalko2017dpvi import sgld
from privacy.accountants import epsilon_of, gdp_epsilon
from privacy.budget import BudgetSpec
from privacy.ledger import Relation
from privacy.repeats import Repeats


def rows(n=80, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)


def budget(seed=0):
    return BudgetSpec(delta=1e-5).open(np.random.default_rng(seed))


def test_gradients_by_finite_differences():
    x, y = rows()
    sign, w, step = 2 * y - 1, np.array([[0.3, -0.7]]), 1e-6

    def log_likelihood(v):
        return -np.logaddexp(0, -sign * (x @ v))

    g = sgld.gradients(x, sign, w)[0][:, None] * x
    for j in range(2):
        e = step * np.eye(2)[j]
        assert g[:, j] == pytest.approx((log_likelihood(w[0] + e) - log_likelihood(w[0] - e)) / (2 * step), abs=1e-8)


def test_the_chain_has_the_posteriors_temperature():
    """Little clipping, large budget: mean and variance by quadrature on a grid. 2,000 chains, so the variance has a
    standard error of 3.2 %; discretisation adds h Lambda / 4 = 3 % at most."""
    x, y = rows(d=1)
    sign = 2 * y - 1
    curvature = (x[:, 0] ** 2).sum() / 4 + 1
    steps, h = 400, 0.12 / curvature
    mu = math.sqrt(h * steps) / 2 * 20  # add/remove with C = 20
    chain = sgld.sound(x, y, mu, 20.0, steps, Relation.ADD_REMOVE, budget(), np.random.default_rng(1), 2000)
    grid = np.linspace(-6, 6, 4001)
    log = -np.logaddexp(0, -sign[:, None] * np.outer(x[:, 0], grid)).sum(axis=0) - grid**2 / 2
    p = np.exp(log - log.max())
    p /= p.sum()
    mean = p @ grid
    variance = p @ (grid - mean) ** 2
    last = chain[-1][:, 0]
    assert last.mean() == pytest.approx(mean, abs=6 * math.sqrt(variance / 2000))
    assert last.var() / variance == pytest.approx(1, abs=0.2)  # half temperature would have .5


@pytest.mark.parametrize("relation", list(Relation))
def test_the_ledger_costs_mu(relation):
    b = budget()
    sgld.sound(*rows(), 0.7, 1.5, 25, relation, b, np.random.default_rng(0), 2)
    (event,) = b.ledger
    assert event.sensitivity == (3.0 if relation is Relation.REPLACE_ONE else 1.5)
    assert event.steps == 25
    assert epsilon_of(b.ledger, 1e-5).epsilon == pytest.approx(gdp_epsilon(0.7, 1e-5), rel=1e-6)


def test_what_is_released_moves_by_at_most_the_sensitivity():
    """The first step starts at 0, so w_1 (2 / h) is the noisy sum: neighbours on the same noise differ by C or 2 C."""
    x, y = rows()
    mu, clip = 0.5, 0.8
    far = np.vstack([x[:-1], [[300.0, -200.0]]])
    mirrored = np.vstack([x[:-1], [[-300.0, 200.0]]])

    def first(table, labels, relation):
        b, rng = budget(), np.random.default_rng(3)
        chain = sgld.sound(table, labels, mu, clip, 1, relation, b, rng, 1)
        h = (2 / b.ledger.events[0].noise_scale) ** 2
        return chain[0, 0] * 2 / h

    one = np.append(y[:-1], 1.0)
    moved = first(far, one, Relation.REPLACE_ONE) - first(mirrored, one, Relation.REPLACE_ONE)
    assert np.linalg.norm(moved) == pytest.approx(2 * clip, rel=1e-9)
    moved = first(far, one, Relation.ADD_REMOVE) - first(x[:-1], y[:-1], Relation.ADD_REMOVE)
    assert np.linalg.norm(moved) == pytest.approx(clip, rel=1e-9)


def test_the_program_has_no_guarantee_and_stays_in_its_ball():
    x, y = rows(200)
    for noise in (0.0, 3.0):
        b = budget()
        chain = sgld.program(x, y, 10, noise, True, b, np.random.default_rng(0), 3)
        assert epsilon_of(b.ledger, 1e-5).epsilon == math.inf
        assert np.linalg.norm(chain, axis=2).max() <= sgld.BOUND - 1 + 1e-9
        assert len(chain) == sgld.LAST


def test_all_noise_of_the_program_is_that_of_its_repeats(monkeypatch):
    """Without it the chain is the one that has no noise."""

    class Silent(Repeats):
        def steps(self, mechanism):
            release = super().steps(mechanism)
            return lambda value: value + 0.0 * release(value)

    x, y = rows(200)

    def chain(noise, temperature):
        return sgld.program(x, y, 10, noise, temperature, budget(), np.random.default_rng(0), 3)

    bare, noisy = chain(0.0, False), chain(3.0, True)
    assert np.abs(noisy - bare).max() > 0.1
    monkeypatch.setattr(sgld, "Repeats", Silent)
    for noise, temperature in ((3.0, True), (0.0, True), (3.0, False)):
        np.testing.assert_allclose(chain(noise, temperature), bare, rtol=1e-9)


def test_the_constant_of_the_programs_noise():
    """K as dp_sgld.py computes it, term by term."""
    n, b, epsilon, delta, passes, bound = 3341, 167, 8.2, 1e-3, 10, 5
    by_hand = 128 * n * passes * bound**2 / (b * epsilon**2)
    by_hand = by_hand * np.log(5 * n * passes / (2 * b * delta)) * np.log(2 / delta)
    assert sgld.program_noise(n, b, epsilon, delta) == pytest.approx(by_hand, rel=1e-12)
