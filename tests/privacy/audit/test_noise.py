"""The test of the noise has the rates that it states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privacy import audit
from privacy.audit.noise import Listener, Serial
from privacy.ledger import Event, Mechanism, Relation


@pytest.mark.parametrize("n", [200, 1000])
def test_noise_law_has_the_stated_false_alarm_rate_and_power(n):
    """400 trials at alpha = 0.01: the count of alarms stays within its 1e-6 binomial range; alpha/2 each is an upper
    bound (union), so only the upper end is tested. 2/3 and 3/2 of sigma are found always at these n (power > 1 - 1e-9).
    """
    rng = np.random.default_rng(8)
    samples = 2.0 * rng.standard_normal((400, n))
    alarms = sum(not audit.noise_law(s, 2.0, 0.01).accepted for s in samples)
    assert alarms <= stats.binom.isf(1e-6, 400, 0.01)
    for wrong in (3.0, 4.0 / 3.0):
        assert audit.noise_law_power(n, 2.0 / wrong, 0.01) > 1 - 1e-3
        assert not any(audit.noise_law(s, wrong, 0.01).accepted for s in samples[:50])


@pytest.mark.parametrize("ratio", [1.0, 1.1, 1.5])
def test_power_of_the_noise_law_against_simulation(ratio):
    """2000 trials: the share of rejections by variance lies within 4 binomial standard errors (false alarm 6e-5)."""
    rng = np.random.default_rng(3)
    z = ratio * rng.standard_normal((2000, 60))
    square = (z**2).sum(axis=1)
    tail = stats.chi2.cdf(square, 60)
    share = np.mean(2 * np.minimum(tail, 1 - tail) < 0.01 / 2)
    power = audit.noise_law_power(60, ratio, 0.01)
    assert abs(share - power) <= 4 * math.sqrt(power * (1 - power) / 2000)


def test_noise_law_sees_another_shape_of_the_same_variance():
    rng = np.random.default_rng(1)
    law = audit.noise_law(rng.laplace(0.0, 1 / math.sqrt(2), 4000), 1.0)
    assert not law.accepted
    assert law.p_variance > 1e-6
    with pytest.raises(ValueError, match="samples"):
        audit.noise_law(np.zeros(1), 1.0)


EVENT = Event("x", Mechanism.GAUSSIAN, Relation.ADD_REMOVE, 1.0, 2.0)


def serial(rows: np.ndarray, parts: int = 4) -> str:
    """What is found on noise of this many rows, as a fit draws it in ``parts``."""
    found = Serial()
    found.add(Listener(heard=[(EVENT, EVENT.noise_scale * part) for part in np.array_split(rows, parts)]))
    return found.fault()


def test_noise_in_pairs_or_carried_on_or_alike_in_a_release_is_found():
    """Each number has the declared law, so that no test of the law sees it."""
    z = np.random.default_rng(2).standard_normal((200, 3))
    carried, pairs, alike = z.copy(), z.copy(), z.copy()
    for k in range(1, len(z)):
        carried[k] = 0.6 * carried[k - 1] + 0.8 * z[k]
    pairs[1::2] = -pairs[::2]
    alike[:, 1:] = 0.6 * z[:, :1] + 0.8 * z[:, 1:]
    assert serial(z) == ""
    for rows, what, expected in (
        (carried, "successive releases", 0.6),
        (pairs, "successive releases", -0.5),
        (alike, "the numbers of a release", (0.6 + 0.6**2) / 2),
    ):
        words = serial(rows)
        assert words.startswith(f"the noise of {what} has a correlation of ")
        assert float(words.split()[-5]) == pytest.approx(expected, abs=0.2)


def test_the_bound_on_a_sum_of_products_holds():
    """At a rate of 1e-2 in the place of 1e-9, 2,000 chains of independent numbers: the bound is far from sharp."""
    z = np.random.default_rng(4).standard_normal((2000, 100))
    x = math.log(2 / 1e-2)
    sums = np.abs((z[:, 1:] * z[:, :-1]).sum(axis=1))
    assert np.mean(sums > math.sqrt(2 * 99 * x) + 2 * x) <= 1e-2
    assert np.mean(sums > math.sqrt(2 * 99 * x) / 3) > 1e-2


def test_noise_that_is_no_number_is_correlated():
    rows = np.random.default_rng(0).standard_normal((20, 30))
    assert serial(rows) == ""
    rows[3, 4] = np.nan
    assert "correlation of nan" in serial(rows)
