"""Tables and figures over a grid of budgets."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evaluation.sampler_distance import COLUMNS as COLUMNS_OF_DISTANCE
from evaluation.summary import COLUMNS
from papers.geumlek2017rdp import PAPER, figures, tables
from reports import sampler_tables
from reports.blocks import markdown
from reports.ledger import CONDITIONAL
from tests.made_up_run import run_of

CONCENTRATED, OPS = "posterior_sampling_glm_concentrated", "posterior_sampling_ops"


MODEL = {"kind": "logistic_regression", "scaling": "data"}


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    rows = []
    arms = [(CONCENTRATED, f"order={a};epsilon=e^{k}", 1.0) for a in (1, 10) for k in (-5, 3)]
    arms += [(OPS, "as charged;order=1;epsilon=e^-5", 2.0), (figures.DIRECT, "", 0.5)]
    for method, setting, level in arms:
        for split in range(4):
            for metric, sign in (("test_error", 1), ("test_log_likelihood", -1)):
                value = sign * (0.2 * level + 0.01 * rng.standard_normal())
                row = dict.fromkeys(COLUMNS, "") | {
                    "cell": f"{method}-{setting}", "experiment": "rdp_logistic", "dataset": "abalone",
                    "protocol": "thirds", "method": method, "setting": setting, "split": str(split), "metric": metric,
                    "value": repr(float(value)), "status": "ok", "epsilon": "0.25", "delta": "1e-05", "scale": "full",
                }  # fmt: skip
                rows.append(row)
    return pd.DataFrame(rows)


def test_budgets_are_rows_in_the_order_of_their_numbers(scores):
    table, long = tables.budget_table(scores, "t", "full", "Title", MODEL)
    (block,) = table.blocks
    wanted = ["no budget", "order=1, epsilon=e^-5", "order=1, epsilon=e^3", "order=10, epsilon=e^-5"]
    assert [name for name, _ in block.rows] == [*wanted, "order=10, epsilon=e^3"]
    assert len(block.columns) == 3
    assert any("as charged" in head for head in block.columns)
    text = markdown(table)
    assert "exact samples" in text
    assert "Markov chain" in text  # the leak of every method
    assert "epsilon 0.25" in text
    assert len(long) == 12  # six arms, two metrics


def test_the_leak_of_private_ranges_stands_where_the_config_scales_by_them(scores):
    """And not where the same methods run on rows that public ranges scale."""
    told = {}
    for scaling in ("data", "public"):
        table, _ = tables.budget_table(scores, "t", "full", "Title", {**MODEL, "scaling": scaling})
        told[scaling] = set(table.footnotes)
    (only,) = told["data"] - told["public"]
    assert "range of each input is that of the private rows" in only
    assert all(CONDITIONAL in text for text in told["public"] - told["data"])  # ranges that Abalone prints of itself


def test_an_entry_holds_mean_and_spread_of_both_metrics(scores):
    table, _ = tables.budget_table(scores, "t", "full", "Title", MODEL)
    here = scores[(scores["method"] == OPS) & (scores["metric"] == "test_error")]["value"].astype(float)
    (block,) = table.blocks
    column = next(k for k, head in enumerate(block.columns) if "as charged" in head)
    lines = dict(block.rows)["order=1, epsilon=e^-5"][column].lines
    assert lines[0] == f"error {here.mean():.4f} ± {here.std():.4f}"
    assert dict(block.rows)["no budget"][column].lines == ("-",)


def test_a_failed_cell_says_why(scores):
    hit = scores["method"] == OPS
    scores.loc[hit, ["status", "reason"]] = ["failed", "out of luck"]
    table, _ = tables.budget_table(scores, "t", "full", "Title", MODEL)
    assert "out of luck" in markdown(table)


def test_the_sampler_table_is_left_out_without_its_files(tmp_path):
    assert tables.sampler_table(tmp_path, ["rdp_sampler_abalone.csv"], "full") is None


def test_the_distance_of_the_draws_stands_beside_the_epsilon(scores, tmp_path):
    """In a table of its own and in the notes of the tables that show epsilons; nothing without the files."""
    names = ["rdp_sampler_abalone.csv", "sampler_separable.csv"]
    assert sampler_tables.distance_table(tmp_path, names, "full") is None
    assert sampler_tables.distance_note(tmp_path, names) == sampler_tables.distance_note(None, names) == ()
    row = {"task": "separable", "dataset": "", "method": figures.DIRECT, "setting": "beta0=0.001", "n": 10, "d": 1}
    row |= {"power": 1, "precision": 0.01, "radius": "inf", "epsilon": 296.0, "delta": 1e-5, "draws": 5000}
    row |= {"reference": "quadrature", "reference_size": "", "level": 0.001, "tv_by": "quadrature", "seconds": 4.0}
    for name, values in {"below": (0.02, 0.01, 0.03), "above": (0, 0, 0.001), "kolmogorov": (0.02, 0, 0.04)}.items():
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))
    row |= {"tv_low": 0.0040, "tv_high": 0.0041, "delta_added_low": 1.0, "delta_added_high": 1.0, "law_p": 0.5}
    row |= {"delta_exact": 0.0, "delta_drawn": 1e-31, "epsilon_exact": 39.4, "epsilon_drawn": ""}
    pd.DataFrame([row], columns=COLUMNS_OF_DISTANCE).to_csv(tmp_path / "sampler_separable.csv", index=False)
    table, long = sampler_tables.distance_table(tmp_path, names, "full")
    text = markdown(table)
    for shown in ("2.00% (1.00% to 3.00%)", "0.004 to 0.0041", "1 to 1", "39.4, -", "0.0e+00, 1.0e-31", "296 at 1e-05"):
        assert shown in text
    assert table.name == "sampler_distance_separable"
    assert len(long) == 1
    (note,) = sampler_tables.distance_note(tmp_path, names)
    assert "at most 0.0041" in note
    budgets, _ = tables.budget_table(scores, "t", "full", "Title", MODEL, [note])
    assert note in budgets.notes
    assert tables.sampler_table(tmp_path, names, "full") is None  # that file is of another table


def test_the_figure_of_a_grid_has_a_row_per_order_and_every_mean(scores, tmp_path):
    drawn = figures.build(run_of(tmp_path, {"experiment": "rdp_logistic"}, scores))
    assert [f.name for f in drawn] == ["geumlek2017rdp_figure3", "geumlek2017rdp_figure6"]
    data = pd.read_csv(tmp_path / "geumlek2017rdp_figure3.csv")
    assert len(data) == 6
    here = scores[(scores["setting"] == "order=10;epsilon=e^3") & (scores["metric"] == "test_error")]["value"]
    row = data[(data["order"] == 10) & (data["log_epsilon"] == 3)].iloc[0]
    assert row["mean"] == pytest.approx(here.astype(float).mean())
    # t(3) at 5 %, splits that share rows: sd sqrt(1/4 + 1/2)
    assert row["half_width"] == pytest.approx(3.182446305284263 * here.astype(float).std() * math.sqrt(0.75))
    negative = pd.read_csv(tmp_path / "geumlek2017rdp_figure6.csv")
    assert (negative["mean"] > 0).all()
    assert (tmp_path / "geumlek2017rdp_figure3.svg").stat().st_size > 10_000


def test_no_figure_where_there_is_nothing_for_it(scores, tmp_path):
    config = {"experiment": "rdp_logistic"}
    assert figures.build(run_of(tmp_path, config, scores[scores["status"] != "ok"])) == []
    config = {"experiment": "rdp_exponential_family", "extra": ["rdp_figure1.csv"]}
    config["extra_settings"] = {}
    assert figures.build(run_of(tmp_path, config, scores, extra=tmp_path)) == []


def test_captions_say_what_the_config_says(scores, tmp_path):
    """The figures of the committed tables, with another prior and count in the settings than the paper's."""
    names = ["rdp_figure1.csv", "rdp_figure2_kl.csv", "rdp_figure2_heldout.csv"]
    chosen = {"prior": [2, 5], "n": 77, "successes": 11, "repetitions": 1234}
    config = {"experiment": "rdp_exponential_family", "extra": names, "extra_settings": chosen}
    one, two, three = figures.build(run_of(tmp_path, config, scores, extra=PAPER.reference))
    assert "Beta(2, 3) prior (eta0 = (2, 5)), 77 trials" in one.caption
    assert "11 successes of 77 trials" in two.caption
    assert "lambda* = 3," in two.caption
    assert "1,234 repetitions" in three.caption
    assert "77 held-out trials" in three.title
