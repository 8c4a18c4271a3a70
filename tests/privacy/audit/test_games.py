"""Lower bounds on epsilon: their power, and that they convict nobody who is right."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privacy import audit
from privacy.accountants import epsilon_of, gdp_epsilon
from privacy.budget import BudgetSpec
from tests.privacy.toys import Toy, toy_task, variant

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


def test_the_game_finds_a_bare_toy_and_does_not_convict_the_right_one():
    """One full-batch step: the lower bound stays below the accountant's epsilon (95 %), noise x 0.1 breaks it."""
    one = replace(S, steps=1, rate=1.0)
    d = audit.with_last_row(TASK, np.array([1e6, 0.0]), 0.0)
    dprime = audit.first_rows(d, 11)
    spec = BudgetSpec(noise_multiplier=1.0)
    exact = epsilon_of(audit.run(Toy(), d, one, spec, 0).ledger, 1e-2).epsilon
    # the start is random too: fix it, as the strongest observer would know it
    known = variant(fit=lambda self, t, s, b, rng: Toy.fit(self, t, s, b, np.random.default_rng(0)))
    right = audit.distinguishing_game(known, d, dprime, one, spec, 2000, 5, 1e-2)
    assert 0.3 * exact < right.epsilon <= exact
    assert right.epsilon_gdp <= exact
    weak = variant(fast_noise=0.1, fit=known.fit.__func__)
    assert audit.distinguishing_game(weak, d, dprime, one, spec, 2000, 5, 1e-2).epsilon > exact
