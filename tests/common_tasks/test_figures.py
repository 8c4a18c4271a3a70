"""Figures of the common tasks from made-up scores; what they show is read back from their data."""

from __future__ import annotations

import pandas as pd
import pytest

from common_tasks import figures as common_figures
from common_tasks import scores as common_scores
from tests.common_tasks import made_up

SIZES = pd.DataFrame({"dataset": ["wine", "power"], "n": [1588, 9527]})


@pytest.fixture(scope="module")
def family():
    return common_scores.read(made_up.CONFIG, made_up.linear_regression())


def test_every_figure_is_drawn_with_its_data(family, tmp_path):
    drawn = common_figures.build(tmp_path, [family], SIZES)
    names = ["linear_regression_rmse", "linear_regression_test_log_likelihood", "linear_regression_coverage"]
    assert [f.name for f in drawn] == [f"common_{n}" for n in names]
    for figure in drawn:
        assert (tmp_path / f"{figure.name}.svg").stat().st_size > 10_000
    data = pd.read_csv(tmp_path / "common_linear_regression_rmse.csv", dtype={"epsilon": str})
    scores = made_up.linear_regression()
    kept = (
        (scores["method"] == "dp_vi_vinaroz_corrected")
        & (scores["setting"] == "epsilon=1")
        & (scores["metric"] == "rmse")
    )
    mean = scores.loc[kept & (scores["dataset"] == "wine"), "value"].astype(float).mean()
    row = data[
        (data["method"] == "dp_vi_vinaroz_corrected") & (data["epsilon"] == "1") & (data["dataset"] == "wine")
    ].iloc[0]
    assert row["mean"] == pytest.approx(mean)


def test_the_axis_ends_a_little_beyond_the_worst_yardstick(family):
    table = common_figures.points(family, "rmse")
    low, high = common_figures.limits(table[table["dataset"] == "wine"], "rmse")
    assert 0.3 < low < 0.4
    assert 1.3 < high < 1.4  # predicting the mean has 1; a method with 40 is beyond
    table = common_figures.points(family, "test_log_likelihood")
    low, high = common_figures.limits(table[table["dataset"] == "wine"], "test_log_likelihood")
    assert -2.8 < low < -2.6
    assert high > -0.8


def test_a_far_yardstick_does_not_press_the_methods_together():
    """Methods between 1.0 and 1.3, the mean at 100: the axis ends near the methods."""
    rows = made_up.rows(made_up.CONFIG, "wine", "predict_mean", "", {"rmse": 100.0})
    for k, method in enumerate(("dp_vi_vinaroz_corrected", "dpvi", "na_dpvi", "dpvim")):
        rows += made_up.rows(made_up.CONFIG, "wine", method, "epsilon=1", {"rmse": 1 + 0.1 * k})
    family = common_scores.read(made_up.CONFIG, pd.DataFrame(rows))
    low, high = common_figures.limits(common_figures.points(family, "rmse"), "rmse")
    assert low < 1.0
    assert 1.25 < high < 1.5


def test_limits_without_yardsticks_or_spread():
    one = common_scores.read(made_up.CONFIG, made_up.one_method())
    table = common_figures.points(one, "rmse")
    low, high = common_figures.limits(table, "rmse")
    assert low < table["mean"].min()
    assert table["mean"].max() < high


def test_nothing_to_draw_draws_nothing(tmp_path):
    free = pd.DataFrame(made_up.rows(made_up.CONFIG, "wine", "ridge", "", {"rmse": 0.5}))
    assert common_figures.build(tmp_path, [common_scores.read(made_up.CONFIG, free)], SIZES) == []


def test_one_method_on_one_split_is_drawn(tmp_path):
    one = common_scores.read(made_up.CONFIG, made_up.one_method())
    drawn = common_figures.build(tmp_path, [one], SIZES.iloc[:0])
    assert drawn[0].name == "common_linear_regression_rmse"


@pytest.mark.parametrize(("n", "test"), [(10, 1), (1588, 159), (9527, 953), (45730, 4573)])
def test_held_out_rows_are_those_of_the_split(n, test):
    from datasets.protocols.splits import literature

    assert common_figures.held_out(n) == test == len(literature(n, 1)[0][1])


def bins(family, **changes):
    """Made-up bins of two methods on both data sets."""
    scores = family.scores.drop_duplicates("cell")
    rows = []
    for r in scores[scores["method"].isin(["dp_vi_vinaroz_corrected", "exact_posterior"])].to_dict("records"):
        key = {k: r[k] for k in ("cell", "dataset", "method", "setting")}
        for k in (9, 12):
            rows.append(key | {"bin": k, "count": 100, "confidence": k / 15 - 0.03, "accuracy": k / 15 - 0.1} | changes)
    return pd.DataFrame(rows)


def test_reliability_has_a_panel_an_epsilon_and_data_set(tmp_path, family):
    figure = common_figures.reliability(tmp_path, family, bins(family))
    assert figure.name == "common_linear_regression_reliability"
    drawn = pd.read_csv(tmp_path / f"{figure.name}.csv")
    assert set(drawn["method"]) == {"dp_vi_vinaroz_corrected", "exact_posterior"}
    assert (tmp_path / f"{figure.name}.svg").stat().st_size > 10_000


def test_reliability_leaves_out_small_bins_and_other_families(tmp_path, family):
    assert common_figures.reliability(tmp_path, family, bins(family, count=common_figures.FEWEST - 1)) is None
    assert common_figures.reliability(tmp_path, family, bins(family, cell="of another family")) is None
