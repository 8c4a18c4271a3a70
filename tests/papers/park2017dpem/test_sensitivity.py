"""DP-EM's sensitivities on neighbours, and the epsilon of its noise."""

import numpy as np
import pytest

from papers.park2017dpem import sensitivity as dpem_sensitivity


def test_worst_case_exceeds_the_covariance_by_nearly_four():
    rows = [r for r in dpem_sensitivity.worst_cases() if r["statistic"] == "covariance"]
    assert [r["n"] for r in rows] == [20, 100, 1000, 10_000]
    assert [round(r["ratio"], 2) for r in rows[:3]] == [3.62, 3.92, 3.99]
    assert all(r["ratio"] < 4 for r in rows)


def test_rescaling_moves_more_than_is_declared():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    x[7] *= 20.0  # without this row all others are scaled otherwise
    rows = dpem_sensitivity.on_data(x)
    worst = max(r["ratio"] for r in rows if r["case"] == "longest row at zero, rescaled" and r["statistic"] == "mean")
    assert worst > 1.5  # one row changes the mean by more than the program declares, and by no rounding error
    assert {r["iteration"] for r in rows} == {1, 2, 5, 10}


def test_epsilons_grow_with_steps_and_sensitivity():
    rows = dpem_sensitivity.epsilons()
    at = {(r["release"], r["composition"], r["claimed"], r["reading"]): r["epsilon"] for r in rows}
    for key, value in at.items():
        if key[3] == "as declared":
            assert value < at[*key[:3], "11 M-steps"] < at[*key[:3], "11 M-steps, covariance x 4"]
    # the program's zCDP counts a Gaussian group as pure: far more careful than it claims to be
    assert at["GGG", "zcdp", 1.0, "as declared"] < 0.25
    assert at["GGG", "moments", 1.0, "as declared"] == pytest.approx(0.68, abs=0.01)
