"""Grids of budgets are written out as arms."""

from __future__ import annotations

import math

import pytest

from evaluation.arms import written_out

ARM = {"method": "m", "label": "fair", "protocols": ["p"], "budget": {"mode": "enforce"}}


def test_a_grid_becomes_one_arm_a_budget():
    arms = written_out([{**ARM, "budget_grid": {"orders": [1, 10], "log_epsilons": [-5, 0]}}])
    assert [a["label"] for a in arms] == [
        "fair;order=1;epsilon=e^-5",
        "fair;order=1;epsilon=e^0",
        "fair;order=10;epsilon=e^-5",
        "fair;order=10;epsilon=e^0",
    ]
    assert arms[0]["budget"] == {"mode": "enforce", "renyi": [1.0, math.exp(-5)]}
    assert {a["family"] for a in arms} == {"m fair"}
    assert all("budget_grid" not in a and a["quick"] for a in arms)


def test_without_orders_the_budget_is_epsilon_and_the_arms_delta():
    (arm,) = written_out(
        [{"method": "m", "protocols": [], "budget": {"delta": 1e-5}, "budget_grid": {"epsilons": [2]}}]
    )
    assert arm["budget"] == {"delta": 1e-5, "epsilon": 2.0}
    assert arm["label"] == "epsilon=2"
    assert arm["family"] == "m"


def test_quick_names_what_runs_below_full_scale():
    grid = {"orders": [1, 10], "epsilons": [0.5, 1], "quick": {"orders": [10], "epsilons": [1]}}
    arms = written_out([{**ARM, "budget_grid": grid}])
    assert [a["label"] for a in arms if a["quick"]] == ["fair;order=10;epsilon=1"]
    assert not any(a["quick"] for a in written_out([{**ARM, "quick": False, "budget_grid": grid}]))


def test_arms_without_a_grid_stay_as_they_are():
    assert written_out([ARM]) == [ARM]


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"orders": [1]}, "either epsilons or log_epsilons"),
        ({"epsilons": [1], "log_epsilons": [0]}, "either epsilons or log_epsilons"),
        ({"epsilons": [1], "quick": {"epsilons": [2]}}, "quick.epsilons: 2 is not one of"),
        ({"epsilons": [1], "quick": {"orders": [2]}}, "quick.orders: 2 is not one of"),
    ],
)
def test_a_grid_that_says_too_little_or_too_much_is_refused(grid, words):
    with pytest.raises(ValueError, match=words):
        written_out([{**ARM, "budget_grid": grid}])


def test_methods_that_read_one_run_are_one_family():
    arms = written_out([{"methods": ["a", "b"], "label": "x", "protocols": ["p"], "budget": {"delta": 1e-5}}])
    assert [a["method"] for a in arms] == ["a", "b"]
    assert {a["family"] for a in arms} == {"a x"}
    assert all("methods" not in a and a["label"] == "x" and a["budget"] == {"delta": 1e-5} for a in arms)


@pytest.mark.parametrize("other", [{"method": "c"}, {"budget_grid": {"epsilons": [1]}}])
def test_methods_go_with_no_method_and_no_grid(other):
    with pytest.raises(ValueError, match="keep one"):
        written_out([{"methods": ["a", "b"], "protocols": [], **other}])
