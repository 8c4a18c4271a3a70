"""Arguments of ./bench, and what it says before it starts."""

import pytest

from workflow import plan
from workflow.launch import scaled


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ([], ["--cores", "all", "--config", "scale=full"]),
        (["-n"], ["--cores", "all", "-n", "--config", "scale=full"]),
        (["--config", "reuse=reference"], ["--cores", "all", "--config", "scale=full", "reuse=reference"]),
        (["--cores", "8"], ["--cores", "8", "--config", "scale=full"]),
        (["-c", "8"], ["--cores", "8", "--config", "scale=full"]),
    ],
)
def test_a_scale_keeps_the_users_own_arguments(monkeypatch, rest, expected):
    monkeypatch.delenv("DPBAYES_CORES", raising=False)
    assert scaled("full", rest) == expected


def test_cores_from_the_environment(monkeypatch):
    monkeypatch.setenv("DPBAYES_CORES", "3")
    assert scaled("quick", [])[:2] == ["--cores", "3"]


@pytest.mark.parametrize("scale", ["full", "quick", "tiny"])
def test_the_plan_says_cells_time_and_download(scale):
    text = plan.describe(scale)
    assert f"scale {scale}" in text
    for word in ("cells", "MB to download", "min on 2 cores", "index.html"):
        assert word in text


def test_a_missing_download_is_counted(tmp_path):
    assert plan.download_mb({"year"}, tmp_path) > 200
    assert plan.download_mb({"synthetic_year"}, tmp_path) == 0


def test_readings_of_one_run_cost_one_run(monkeypatch):
    """Five readings of the run at epsilon 0.1 on Adult, 20 runs of 9 s, and an overhead: not five times that."""
    key = ("nadpvi_adult", "adult_complete", "na_dpvi", "epsilon=0.1")
    with_run = plan.estimate("full")[1]
    monkeypatch.setattr(
        plan,
        "reference_seconds",
        lambda: dict.fromkeys([(*key[:2], m, key[3]) for m in ("dpvi", "dpvi_last_iterate", "na_dpvi")], 9.0),
    )
    three = plan.estimate("full")[1]
    monkeypatch.setattr(plan, "reference_seconds", lambda: {key: 9.0})
    assert plan.estimate("full")[1] == pytest.approx(three)
    monkeypatch.setattr(plan, "reference_seconds", dict)
    nothing = plan.estimate("full")[1]
    assert three - nothing == pytest.approx(20 * 9.0)
    assert with_run > nothing


def test_shorter_training_costs_its_share():
    assert plan.shorter({"epochs": 4}, {"epochs": 40}) == 0.1
    assert plan.shorter({"steps": 500}, {"steps": 10_000}) == 0.05
    assert plan.shorter({}, {}) == 1.0
