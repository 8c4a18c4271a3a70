"""Recomputed rows against committed ones: numbers within bands, status and cost exactly."""

import math

import pytest

from workflow import compare, sample
from workflow.compare import Outcome, compare_cell
from workflow.experiments import cells
from workflow.papers import experiments as files

CELL = next(c for c in cells(files()["common_network"], "full") if c.method == "sep")


@pytest.fixture(autouse=True)
def other_kernels(monkeypatch):
    """As on a processor that cannot run the kernels of the committed scores."""
    monkeypatch.setattr(compare, "same_kernels", lambda: False)


ROW = {"cell": CELL.id, "status": "ok", "reason": "", "epsilon": "1", "delta": "1e-05", "relation": "add_remove"}


def row(split, metric, value, **changes):
    return {**ROW, "accountant": "a", "split": split, "metric": metric, "value": str(value), **changes}


OLD = [row(str(k), "rmse", 1.0 + 0.1 * k) for k in range(10)]


def outcome(new, splits=("0",), old=OLD):
    about = Outcome(("e", "m"))
    compare_cell(about, CELL, new, old, set(splits), len(splits))
    return about


def test_equal_rows_agree():
    about = outcome([row(0, "rmse", 1.0), row(9, "rmse", 1.9)], ("0", "9"))
    assert (about.wrong, about.compared) == ([], 2)


def test_half_a_standard_error_of_the_committed_splits_is_the_band_of_chaotic_training():
    sd = math.sqrt(sum((0.1 * k - 0.45) ** 2 for k in range(10)) / 9)
    allowed, _ = compare.band(CELL, "rmse", 1.0, OLD)
    assert allowed == pytest.approx(0.5 * sd / math.sqrt(10))
    assert outcome([row(0, "rmse", 1.0 + 0.99 * allowed)]).wrong == []
    (said,) = outcome([row(0, "rmse", 1.0 + 1.01 * allowed)]).wrong
    assert "rmse is" in said
    assert "half a standard error" in said


@pytest.mark.parametrize(
    ("column", "here", "was", "same"),
    [
        ("epsilon", "0.99999999999", "1", True),  # rounding of the search for the noise
        ("epsilon", "1.000001", "1", False),
        ("epsilon", "inf", "inf", True),
        ("epsilon", "1", "inf", False),
        ("epsilon", "", "1", False),
        ("delta", "1.00000000001e-05", "1e-05", False),
        ("relation", "replace", "add_remove", False),
    ],
)
def test_what_a_fit_cost_is_the_same_to_rounding(column, here, was, same):
    assert compare.same_cost(column, here, was) is same
    found = outcome([row(0, "rmse", 1.0, **{column: here})], old=[row("0", "rmse", 1.0, **{column: was})])
    assert (found.wrong == []) is same


def test_another_chain_may_be_as_far_as_splits_are():
    chain = next(c for c in cells(files()["common_logistic_regression"], "full") if c.method == "nuts")
    sd = math.sqrt(sum((0.1 * k - 0.45) ** 2 for k in range(10)) / 9)
    allowed, how = compare.band(chain, "rmse", 1.0, OLD)
    assert (allowed, how) == (pytest.approx(4 * sd), "another chain")


@pytest.mark.parametrize(("method", "experiment", "relative"), [
    ("ridge", "dpsep_uci", 1e-8), ("vi", "common_density", 1e-6),
    ("dp_vi_vinaroz_corrected", "common_linear_regression", 1e-3),
])  # fmt: skip
def test_bands_of_the_config(method, experiment, relative):
    found = next(c for c in cells(files()[experiment], "full") if c.method == method)
    assert compare.band(found, "rmse", 5.0, OLD)[0] == pytest.approx(5 * relative)


@pytest.mark.parametrize("change", [
    {"status": "diverged", "reason": "why"}, {"epsilon": "1.0000001"}, {"delta": "1e-06"},
    {"relation": "replace_one"}, {"accountant": "b"},
])  # fmt: skip
def test_status_and_cost_are_compared_exactly(change):
    assert len(outcome([row(0, "rmse", 1.0, **change)]).wrong) == 1


def test_a_metric_that_comes_or_goes_is_named():
    assert "not in the reference" in outcome([row(0, "rmse", 1.0), row(0, "other", 1.0)]).wrong[0]
    assert "not in the recomputation" in outcome([]).wrong[0]


def test_a_split_that_ends_the_same_way_agrees():
    failed = row("3", "", "", status="failed", reason="ValueError: x")
    about = outcome([failed | {"split": 3, "reason": "ValueError: y"}], ("3",), [failed])
    assert (about.wrong, about.compared) == ([], 1)


def test_numbers_of_all_splits_together_need_all_splits():
    whole = row("", "coverage", 0.5)
    assert outcome([row(0, "rmse", 1.0)], old=[*OLD, whole]).wrong == []
    every = [row(k, "rmse", 1.0 + 0.1 * k) for k in range(10)]
    names = [str(k) for k in range(10)]
    assert len(outcome(every, names, [*OLD, whole]).wrong) == 1
    assert outcome([*every, whole], names, [*OLD, whole]).wrong == []


def test_the_shift_nearest_to_its_band_is_told():
    about = Outcome(("e", "m"))
    about.compare("x", "a", 1.0, 1.0, 0.5, "")
    about.compare("x", "b", 2.2, 2.0, 1.0, "")
    about.compare("x", "c", 1.1, 1.0, 1.0, "")
    assert about.nearest == (pytest.approx(0.1), 0.5, "b")
    assert about.bands == [(0.5, "a"), (0.5, "b"), (1.0, "c")]


EVENT = {
    "what": "sum", "mechanism": "gaussian", "relation": "add_remove", "sensitivity": 1.0, "noise_scale": 2.0,
    "sampling": "poisson", "sampling_rate": 0.1, "steps": 5, "renyi_curve": [],
}  # fmt: skip


def test_events_that_were_verified_are_compared():
    about = Outcome(("e", "m"))
    about.compare_events("0123456789abcdef")  # nothing recomputed: nothing to say
    assert about.wrong == []
    about.events = [("cell", 0, [EVENT])]
    about.compare_events(about.ledger)
    about.compare_events(sample.events_digest([("cell", 1, [EVENT | {"steps": 7}])]))  # of another split: no comparison
    assert about.wrong == []
    about.compare_events(sample.events_digest([("cell", 0, [EVENT | {"steps": 7}])]))
    assert about.wrong == ["e/m: the events of its ledgers are not those that were verified"]


def test_with_the_same_kernels_nothing_is_chaotic(monkeypatch):
    monkeypatch.setattr(compare, "same_kernels", lambda: True)
    assert compare.band(CELL, "rmse", 5.0, OLD) == (pytest.approx(5e-6), "same kernels")
    monkeypatch.setitem(compare.bands(), "other_kernels", ["common_network/vi"])
    other = next(c for c in cells(files()["common_network"], "full") if c.method == "vi")
    assert compare.band(other, "rmse", 5.0, OLD)[1] == "half a standard error"
    closed = next(c for c in cells(files()["dpsep_uci"], "full") if c.method == "ridge")
    assert compare.band(closed, "rmse", 5.0, OLD)[1] == "closed form"
    chain = next(c for c in cells(files()["common_logistic_regression"], "full") if c.method == "nuts")
    assert compare.band(chain, "rmse", 5.0, OLD)[1] == "another chain", "XLA has code of its own for each processor"


def test_every_name_in_the_config_exists():
    config = compare.bands()
    from methods import contract
    from workflow.experiments import experiment_files, load

    names = {load(p)["experiment"] for p in experiment_files()}
    assert set(config["experiments"]) <= names
    pairs = {f"{c.experiment}/{c.method}" for p in experiment_files() for c in cells(p, "full")}
    assert set(config["other_kernels"]) <= pairs
    assert {m for of in config["methods"].values() for m in of} <= set(contract.names())
    for exemption in config["not_executed"]:
        text = (compare.ROOT / exemption["file"]).read_text(encoding="utf-8")
        assert exemption["text"] in text, f"{exemption['file']} has no '{exemption['text']}'"
        assert exemption["reason"]
