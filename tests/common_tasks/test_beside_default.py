"""Tuned settings and ablations from made-up scores: beside the default; ablations in no comparison."""

from __future__ import annotations

import pandas as pd
import pytest

from common_tasks import comparisons as compare
from common_tasks import figures as common_figures
from common_tasks import privacy as common_privacy
from common_tasks import scores as common_scores
from common_tasks import tables as common_tables
from common_tasks.beside_default import ablations_table, tuned_table
from evaluation.summary import COLUMNS
from reports.blocks import markdown
from tests.common_tasks import made_up


def with_ablation(epsilon="8", rmse=0.1, dataset="wine", **more):
    """The made-up family with one ablation that beats everybody."""
    values = {"rmse": rmse, "test_log_likelihood": -2 * rmse}
    added = made_up.rows(
        made_up.CONFIG, dataset, "dp_vi_vinaroz_corrected", f"ablation;steps=9;epsilon={epsilon}", values, **more
    )
    return common_scores.read(
        made_up.CONFIG, pd.concat([made_up.linear_regression(), pd.DataFrame(added, columns=COLUMNS)])
    )


def test_an_ablation_is_in_no_comparison():
    plain, family = common_scores.read(made_up.CONFIG, made_up.linear_regression()), with_ablation()
    assert family.arms == plain.arms
    assert family.columns == plain.columns
    assert [common_scores.label(a) for a in family.ablations] == ["steps=9"]
    for column in family.columns:
        assert compare.competitors(family, column) == compare.competitors(plain, column)
    for build in (common_tables.score_table, common_tables.calibration_table):
        assert markdown(build(family, "full")[0]) == markdown(build(plain, "full")[0])
    assert common_figures.points(family, "rmse").equals(common_figures.points(plain, "rmse"))


def test_an_ablation_stands_beside_its_default():
    family = with_ablation()
    table, long = ablations_table([family], "full")
    assert list(long["metric"]) == ["rmse", "test_log_likelihood"]
    first = long.iloc[0]
    default = family.summary[
        "wine", next(a for a in family.arms if a.method == "dp_vi_vinaroz_corrected" and a.epsilon == "8"), "rmse"
    ]
    assert (first["default_setting"], first["default_mean"]) == ("epsilon=8", default["mean"])
    assert first["low"] < 0.52 - 0.1 < first["high"]  # an error that is smaller is better: above 0
    text = markdown(table)
    assert "steps=9" in text
    assert f"{default['mean']:.4g}" in text
    assert ", at epsilon" not in text


def test_beside_an_epsilon_of_its_own_stands_the_default_at_its_largest():
    table, long = ablations_table([with_ablation("1e+06")], "full")
    assert set(long["default_setting"]) == {"epsilon=8"}
    assert markdown(table).count(", at epsilon = 8") == 2


def test_an_ablation_that_failed_shows_its_status():
    rows = made_up.bad(
        made_up.CONFIG, "wine", "dp_vi_vinaroz_corrected", "ablation;steps=9;epsilon=8", "diverged", "not finite"
    )
    frame = pd.concat([made_up.linear_regression(), pd.DataFrame(rows, columns=COLUMNS)])
    table, long = ablations_table([common_scores.read(made_up.CONFIG, frame)], "full")
    assert set(long["status"]) == {"diverged"}
    assert long["better_by"].isna().all()
    assert "diverged" in markdown(table)


def test_without_ablations_there_is_no_table():
    assert ablations_table([common_scores.read(made_up.CONFIG, made_up.linear_regression())], "full") is None


@pytest.mark.parametrize("epsilon", ["8", "1e+06"])
def test_the_privacy_of_an_ablation_is_stated(epsilon):
    family = with_ablation(epsilon)
    none = pd.DataFrame(columns=["cell", "event", "epsilon", "reason"])
    frame = common_privacy.privacy_frame([family], none)
    mine = frame[frame["setting"].str.startswith("ablation")]
    assert list(mine["claim"]) == ["holds except for named leaks"]  # on wine, where the range release got its guard
    table, _ = common_privacy.privacy_table([family], none, "full")
    assert "steps=9" in markdown(table)


def test_tuned_settings_stand_beside_their_default_and_are_counted():
    family = made_up.linear_regression()
    good = {"rmse": 0.3, "test_log_likelihood": -0.6}
    better = made_up.rows(made_up.CONFIG, "wine", "dp_vi_vinaroz_corrected", "tuned;epsilon=1", good)
    worse = made_up.rows(made_up.CONFIG, "wine", "na_dpvi", "tuned;epsilon=8", {"rmse": 0.9})
    frame = pd.concat([family, pd.DataFrame([*better, *worse], columns=COLUMNS)])
    table, long = tuned_table([common_scores.read(made_up.CONFIG, frame)], "full")
    assert [(r.method, r.metric) for r in long.itertuples()] == [
        (method, metric)
        for method in ("dp_vi_vinaroz_corrected", "na_dpvi")
        for metric in ("rmse", "test_log_likelihood")
    ]
    assert long["better_by"].iloc[0] == pytest.approx(0.71 - 0.3, abs=0.02)
    assert "better in 2, worse in 1, not separated in 0" in markdown(table)


def test_without_tuned_settings_there_is_no_table():
    assert tuned_table([common_scores.read(made_up.CONFIG, made_up.linear_regression())], "full") is None
