"""How far draws are from exact ones: intervals, a wrong sampler that is caught, what a distance adds to delta."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

import datasets
from tests.papers.geumlek2017rdp.test_sampler_check import made_up
from workflow import sampler_distance
from workflow.experiments import cells

CONFIG = "common_tasks/experiments/common_logistic_regression.yaml"
#: ten rows, precision .01; and the concentrated posterior at order 10, epsilon e^1, where the draws are all but exact.
WEAK, GOOD = 8, 1


def test_a_share_has_the_interval_of_clopper_and_pearson():
    """0 of n and n of n have closed forms; 5 % two-sided."""
    assert sampler_distance.share(0, 50) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 50)))
    assert sampler_distance.share(50, 50) == (1.0, pytest.approx(0.025 ** (1 / 50)), 1.0)


def test_the_band_of_a_distribution_function_holds_as_often_as_it_says():
    """500 samples of 200 uniforms: the distance is outside with at most 5 %; 40 of 500 has probability 1e-3."""
    rng = np.random.default_rng(0)
    grid = np.arange(1, 201) / 200
    far = [np.abs(np.sort(rng.random(200)) - grid + 0.0025).max() + 0.0025 for _ in range(500)]
    assert np.sum(np.array(far) > sampler_distance.half_width(200)) < 40


def test_the_distance_of_two_samples_counts_weights():
    a = np.array([1.0, 2.0, 3.0])
    assert sampler_distance.kolmogorov(a, a) == pytest.approx(0.0)
    assert sampler_distance.kolmogorov(a, a + 10) == pytest.approx(1.0)
    # mass 3/4 at 1, 1/8 at 2 and at 3 against thirds
    assert sampler_distance.kolmogorov(a, a, np.array([6.0, 1.0, 1.0])) == pytest.approx(0.75 - 1 / 3)


def test_what_a_distance_adds_to_delta_is_a_bound():
    """Two normal laws moved by a little: delta of the moved pair is at most delta of the pair and (1 + e^epsilon) t."""

    def delta(shift, epsilon):
        return norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * norm.cdf(-shift / 2 - epsilon / shift)

    for epsilon in (0.1, 1.0, 4.0):
        # one law moved by .1: total variation 2 Phi(.05) - 1
        t = 2 * norm.cdf(0.05) - 1
        assert delta(1.1, epsilon) <= delta(1.0, epsilon) + sampler_distance.added(epsilon, t)
    assert sampler_distance.added(800.0, 1e-3) == 1.0
    assert sampler_distance.added(0.0, 0.0) == 0.0


def test_good_draws_follow_their_law_and_a_wrong_sampler_is_caught():
    """False alarm: 1e-3 for ``law_p`` (fixed seeds), 5 % for the interval of the Kolmogorov distance.

    Power: a law whose distribution function is t from the right one is rejected at 1e-3 with probability of at least
    .99 where t > (1.95 + 2.33 / 2) / sqrt(5000) = .044 (the limit, and a binomial quantile at the point of largest
    difference). Draws 25 % too wide are .053 off.
    """
    good = sampler_distance.separable_row(GOOD)
    assert good["law_p"] > 1e-3
    assert good["kolmogorov_low"] == 0
    assert good["tv_high"] < 1e-6
    assert good["delta_added_high"] < 1e-4
    assert good["below_low"] <= 1e-3 <= good["below_high"]
    wide = sampler_distance.separable_row(GOOD, wrong=lambda w: w.mean() + 1.25 * (w - w.mean()))
    assert wide["law_p"] < 1e-3
    assert wide["kolmogorov_low"] > 0
    assert wide["below_low"] > 1e-3


def test_a_weak_prior_shows_the_distance():
    """Ten separable rows: the draws' distance is known by quadrature, and what they show is more than exact ones do."""
    row = sampler_distance.separable_row(WEAK, 1000)
    assert row["n"] == 10
    assert row["precision"] == pytest.approx(0.01)
    assert 3e-3 < row["tv_low"] < row["tv_high"] < 5e-3
    assert row["tv_by"] == "quadrature"
    assert row["delta_added_high"] == 1.0  # no bound is left at such an epsilon
    assert row["epsilon_exact"] < row["epsilon_drawn"] < row["epsilon"]


def test_the_laws_of_the_common_task_are_its_cells():
    known = {(c.dataset, c.method, c.setting) for c in cells(CONFIG, "full")}
    for dataset, laws in sampler_distance.COMMON.items():
        assert {(dataset, method, f"epsilon={epsilon}") for method, epsilon in laws} <= known


def test_a_row_of_the_common_task(tmp_path):
    """On a small table: the sampler's draws are not told from the reference, shifted ones are (5 % an interval)."""
    made_up(tmp_path / "abalone.npz")
    data = datasets.load(tmp_path / "abalone.npz")
    at = {(c.method, c.setting): c for c in cells(CONFIG, "full") if c.dataset == "abalone"}
    cell = at[sampler_distance.DIFFUSED, "epsilon=1"]
    row = sampler_distance.common_row(cell, data, 300, 0.01)
    assert set(row) == set(sampler_distance.COLUMNS)
    assert row["reference"] == "importance sampling"
    assert row["epsilon"] <= 1.0
    assert row["kolmogorov_low"] == 0
    assert row["tv_low"] <= row["tv_high"] < 0.5
    wrong = sampler_distance.common_row(cell, data, 300, 0.01, wrong=lambda w: w + 1.5)
    assert wrong["kolmogorov_low"] > 0


def test_rows_of_an_interrupted_run_are_kept(tmp_path):
    out, made = tmp_path / "t.csv", []

    def make(k):
        def row():
            made.append(k)
            if k == 1 and made.count(1) == 1:
                raise KeyboardInterrupt
            return {"seconds": float(k)}

        return row

    makers = [make(0), make(1)]
    with pytest.raises(KeyboardInterrupt):
        sampler_distance.kept(out, {"code": "a"}, makers)
    assert sampler_distance.kept(out, {"code": "a"}, makers) == [{"seconds": 0.0}, {"seconds": 1.0}]
    assert made == [0, 1, 1]
    sampler_distance.kept(out, {"code": "b"}, makers)  # other code: all anew
    assert made == [0, 1, 1, 0, 1]
