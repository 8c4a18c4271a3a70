"""Tables and figures of DP Bayes by backprop from made-up scores."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evaluation.summary import COLUMNS
from papers.dp_bayes_by_backprop2020note import figures, tables
from reports.blocks import markdown
from tests.made_up_run import run_of

CONFIG = {"experiment": "bbb_mnist", "title": "Title"}
CONFIG |= {"model": {"kind": "bnn_classification"}}
ARMS = [
    ("dp_bayes_by_backprop_corrected", "epsilon=0.5", "0.5", 0.08, 5),
    ("dp_bayes_by_backprop_corrected", "epsilon=8", "7.99", 0.04, 5),
    ("dp_bayes_by_backprop_corrected", "rho_start=-3;epsilon=8", "7.99", 0.05, 3),
    ("dp_sgd", "epsilon=8", "7.99", 0.035, 5),
    (figures.NOTE, "as printed;epsilon=8", "248.2", 0.8, 1),
    ("classifier_sgd", "", "", 0.018, 3),
    ("bayes_by_backprop", "gaussian prior", "", 0.015, 3),
]


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    rows = []
    for method, setting, epsilon, level, n in ARMS:
        for split in range(n):
            for metric, factor in (("test_error", 1), ("test_log_likelihood", -4), ("expected_calibration_error", 0.2)):
                value = factor * level * (1 + 0.05 * rng.standard_normal())
                rows.append(dict.fromkeys(COLUMNS, "") | {
                    "cell": f"{method}-{setting}", "experiment": "bbb_mnist", "dataset": "mnist_digits",
                    "protocol": "official", "method": method, "setting": setting, "split": str(split),
                    "metric": metric, "value": repr(float(value)), "status": "ok", "epsilon": epsilon,
                    "delta": "1e-05" if epsilon else "", "scale": "full",
                })  # fmt: skip
    return pd.DataFrame(rows)


@pytest.fixture
def extra(tmp_path):
    folder = tmp_path / "extra"
    folder.mkdir()
    curve, bins = [], []
    for method, setting, _, level, n in ARMS:
        keys = {"cell": f"{method}-{setting}", "method": method, "setting": setting}
        for split in range(n):
            curve += [keys | {"split": split, "epoch": e, "test_error": min(0.9, level * (1 + 3 / e)),
                              "test_log_likelihood": -1.0} for e in (1, 5, 30)]  # fmt: skip
            bins += [keys | {"split": split, "bin": b, "count": 10 * b, "confidence": b / 15, "accuracy": 0.1 * split}
                     for b in (2, 9, 15)]  # fmt: skip
    pd.DataFrame(curve).to_csv(folder / "bbb_learning_curves.csv", index=False)
    pd.DataFrame(bins).to_csv(folder / "bbb_reliability.csv", index=False)
    row = {"case": "epsilon=8", "lot": 256, "noise_multiplier": 0.6, "epochs": 30, "epsilon_dp_sgd": 7.99}
    row |= {"epsilon_epochs_replace": 248.2, "epsilon_epochs_zero_out": 81.1}
    pd.DataFrame([row]).to_csv(folder / "bbb_accounting.csv", index=False)
    return folder


def test_settings_are_a_label_and_an_epsilon():
    assert figures.split_setting("as printed;epsilon=1.2") == ("as printed", 1.2)
    assert figures.split_setting("epsilon=8") == ("", 8.0)
    label, budget = figures.split_setting("gaussian prior")
    assert label == "gaussian prior"
    assert math.isnan(budget)


def test_a_row_per_epsilon_and_both_epsilons_of_the_note(scores):
    table, long = tables.scores_table(scores, CONFIG, "full")
    private, free, published = table.blocks
    assert [name for name, _ in private.rows] == ["epsilon = 0.5", "epsilon = 8"]
    assert [name for name, _ in free.rows] == ["Bayes by backprop, gaussian prior", "SGD (classification)"]
    note = next(k for k, head in enumerate(private.columns) if "note" in head)
    assert dict(private.rows)["epsilon = 8"][note].after == ("claims 8, epsilon 248 holds",)
    assert dict(private.rows)["epsilon = 0.5"][note].lines == ("-",)
    here = scores[(scores["method"] == "dp_sgd") & (scores["metric"] == "test_error")]["value"].astype(float)
    column = next(k for k, head in enumerate(private.columns) if head.startswith("DP-SGD"))
    wanted = f"error {100 * here.mean():.2f} ± {100 * here.std():.2f} (5)"
    assert dict(private.rows)["epsilon = 8"][column].lines[0] == wanted
    text = markdown(table)
    assert "clip, learning rate and batch size are those of a published example" in text  # the leak
    assert len(published.rows) == len(pd.read_csv(figures.PUBLISHED))
    assert set(long["scale"]) == {"full"}


def test_a_failed_cell_says_why(scores):
    hit = scores["method"] == "dp_sgd"
    scores.loc[hit, ["status", "reason"]] = ["diverged", "out of luck"]
    assert "out of luck" in markdown(tables.scores_table(scores, CONFIG, "full")[0])


def test_accounting_table(extra, tmp_path):
    table, _ = tables.accounting_table(extra, "full")
    ((name, entries),) = table.blocks[0].rows
    assert name == "sigma 0.6, lot 256, 30 epochs (epsilon=8)"
    assert [e.lines for e in entries] == [("7.99",), ("248.20",), ("81.10",)]
    assert tables.accounting_table(tmp_path / "nothing", "full") is None


def test_all_three_figures(scores, extra, tmp_path):
    drawn = figures.build(run_of(tmp_path, CONFIG, scores, extra=extra))
    assert [f.name.removeprefix("bbb_mnist_") for f in drawn] == ["error", "reliability", "learning_curves"]
    for figure in drawn:
        assert (tmp_path / f"{figure.name}.svg").stat().st_size > 10_000
    data = pd.read_csv(tmp_path / "bbb_mnist_error.csv")
    row = data[(data["method"] == "dp_sgd") & (data["budget"] == 8)].iloc[0]
    here = scores[(scores["method"] == "dp_sgd") & (scores["metric"] == "test_error")]["value"].astype(float)
    assert row["mean"] == pytest.approx(100 * here.mean())
    # independent runs on one split: t(4) at 5 %, no term for shared rows
    assert row["half_width"] == pytest.approx(2.7764451051977987 * 100 * here.std() / math.sqrt(5))
    assert (data["what"] == "published").sum() == len(pd.read_csv(figures.PUBLISHED))
    assert "DP-SGD: 5" in drawn[0].caption
    assert "never below 88 %" in drawn[2].caption  # the flat curve that is left out: 0.8 (1 + 3 / 30)


def test_bins_are_pooled_over_runs_by_their_counts(extra, tmp_path):
    figures.reliability(tmp_path, extra / "bbb_reliability.csv")
    data = pd.read_csv(tmp_path / "bbb_mnist_reliability.csv")
    row = data[(data["method"] == "dp_sgd") & (data["bin"] == 9)].iloc[0]
    assert row["count"] == 5 * 90
    assert row["accuracy"] == pytest.approx(0.2)
    assert row["confidence"] == pytest.approx(0.6)


def test_no_figure_where_there_is_nothing_for_it(scores, tmp_path):
    assert figures.build(run_of(tmp_path, CONFIG, scores[scores["status"] != "ok"], extra=tmp_path)) == []
    empty = tmp_path / "bbb_learning_curves.csv"
    empty.write_text("cell,method,setting,split,epoch,test_error,test_log_likelihood\n")
    assert figures.curves(tmp_path, empty) is None


def test_published_numbers_are_percents_with_a_source():
    table = pd.read_csv(figures.PUBLISHED)
    assert table["test_error_percent"].between(0.5, 15).all()
    assert set(table["source"]) == {"abadi2016deep", "blundell2015weight"}
    assert set(figures.BLUNDELL) <= set(table["method"])
