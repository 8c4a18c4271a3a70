"""Draws against the law of a posterior with a wall: a wrong sampler is caught, a weak prior shows the distance."""

from __future__ import annotations

import pytest

from papers.geumlek2017rdp import separable

#: ten rows, precision .01; and the concentrated posterior at order 10, epsilon e^1, where the draws are all but exact.
WEAK, GOOD = 8, 1


def test_good_draws_follow_their_law_and_a_wrong_sampler_is_caught():
    """False alarm: 1e-3 for ``law_p`` (fixed seeds), 5 % for the interval of the Kolmogorov distance.

    Power: a law whose distribution function is t from the right one is rejected at 1e-3 with probability of at least
    .99 where t > (1.95 + 2.33 / 2) / sqrt(5000) = .044 (the limit, and a binomial quantile at the point of largest
    difference). Draws 25 % too wide are .053 off.
    """
    good = separable.separable_row(GOOD)
    assert good["law_p"] > 1e-3
    assert good["kolmogorov_low"] == 0
    assert good["tv_high"] < 1e-6
    assert good["delta_added_high"] < 1e-4
    assert good["below_low"] <= 1e-3 <= good["below_high"]
    wide = separable.separable_row(GOOD, wrong=lambda w: w.mean() + 1.25 * (w - w.mean()))
    assert wide["law_p"] < 1e-3
    assert wide["kolmogorov_low"] > 0
    assert wide["below_low"] > 1e-3


def test_a_weak_prior_shows_the_distance():
    """Ten separable rows: the draws' distance is known by quadrature, and what they show is more than exact ones do."""
    row = separable.separable_row(WEAK, 1000)
    assert row["n"] == 10
    assert row["precision"] == pytest.approx(0.01)
    assert 3e-3 < row["tv_low"] < row["tv_high"] < 5e-3
    assert row["tv_by"] == "quadrature"
    assert row["delta_added_high"] == 1.0  # no bound is left at such an epsilon
    assert row["epsilon_exact"] < row["epsilon_drawn"] < row["epsilon"]
