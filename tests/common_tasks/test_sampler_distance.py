"""How far draws of the common task's posteriors are from exact ones: its cells, and a wrong sampler that is caught."""

from __future__ import annotations

import datasets
from common_tasks import sampler_distance
from tests.papers.geumlek2017rdp.test_sampler_check import made_up
from workflow.experiments import cells

CONFIG = "common_tasks/experiments/common_logistic_regression.yaml"


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
