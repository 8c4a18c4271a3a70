"""One fit with canaries: the bound holds for randomised response, and finds a fit without noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from privacy.audit import canaries
from privacy.budget import BudgetSpec
from privacy.ledger import Relation
from tests.privacy.toys import Toy, toy_task


def test_the_p_value_is_that_of_randomised_response_and_grows_with_delta():
    epsilon = 1.0
    share = math.e / (1 + math.e)
    assert canaries.p_value(epsilon, 0.0, 100, 50, 40) == pytest.approx(stats.binom.sf(39, 50, share))
    larger = [canaries.p_value(epsilon, delta, 100, 50, 40) for delta in (0.0, 1e-5, 1e-2)]
    assert larger == sorted(larger)
    assert canaries.p_value(0.0, 1.0, 100, 50, 40) == 1.0
    with pytest.raises(ValueError, match="51 right of 50"):
        canaries.p_value(epsilon, 0.0, 100, 50, 51)


def test_the_bound_is_the_largest_refused_epsilon():
    found = canaries.lower_bound(1000, 500, 480, 1e-5)
    assert canaries.p_value(found, 1e-5, 1000, 500, 480) <= 0.05 < canaries.p_value(found + 1e-3, 1e-5, 1000, 500, 480)
    assert canaries.lower_bound(1000, 500, 250, 1e-5) == 0.0
    assert canaries.lower_bound(1000, 500, 500, 0.0) == pytest.approx(math.log(1 / (0.05 ** (-1 / 500) - 1)), abs=1e-5)


def test_randomised_response_is_convicted_by_chance_only():
    """Each guess is right with probability e^eps / (1 + e^eps): at most 5 % false alarms. 25 of 200 has p = 2e-5."""
    epsilon, rng = 1.5, np.random.default_rng(0)
    right = rng.binomial(500, 1 / (1 + math.exp(-epsilon)), 200)
    assert sum(canaries.lower_bound(1000, 500, int(r), 1e-5) > epsilon for r in right) < 25


def test_power_grows_with_canaries_and_distance():
    epsilon, delta = 1.0, 1e-5
    assert canaries.power(1000, 1.0, epsilon, delta) < canaries.power(1000, 4.0, epsilon, delta) == 1.0
    assert canaries.power(10, 4.0, epsilon, delta) < canaries.power(1000, 4.0, epsilon, delta)


@pytest.mark.parametrize("relation", list(Relation))
def test_the_coins_say_which_canaries_are_in(relation):
    task, rows, coins = toy_task(), np.ones((3, 2)), np.array([True, False, True])
    found = canaries.tasks_of(task, relation, rows, np.arange(3.0), coins)
    assert found.public.n == task.n + 3
    if relation is Relation.ADD_REMOVE:
        assert found.y[task.n :].tolist() == [0.0, 2.0]
    else:
        assert found.x[task.n :].tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]


def test_guesses_without_noise_are_right_and_under_noise_the_bound_holds():
    """Canaries along two axes; one full-batch step. Under the noise of epsilon = .27 the bound may exceed it by chance
    of 5 %, and the seed is fixed."""
    task, settings = toy_task(), replace(Toy.Settings(), steps=1, rate=1.0)
    rows = np.array([[1e3, 0.0], [0.0, 1e3]])
    bare = BudgetSpec(noise_multiplier=1e-3)
    found, coins = canaries.scores(Toy(), task, settings, bare, 2, rows, np.zeros(2))
    assert ((found > 0) == coins).all()
    many = np.tile(rows, (20, 1))
    noisy, coins = canaries.scores(Toy(), task, settings, BudgetSpec(noise_multiplier=15.0), 2, many, np.zeros(40))
    assert canaries.lower_bound(40, *canaries.right_guesses(noisy, coins), 1e-5) <= 0.27
