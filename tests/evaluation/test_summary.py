import itertools
import math

import numpy as np
import pandas as pd
import pytest

from evaluation.summary import COLUMNS, mean_std, read_scores, seconds_of, summarise, values_by


def rows(values, **extra):
    base = dict.fromkeys(COLUMNS, "") | {
        "cell": "c",
        "experiment": "e",
        "dataset": "wine",
        "protocol": "authors",
        "method": "sep",
        "metric": "rmse",
        "unit": "target",
        "status": "ok",
    }
    return [base | {"split": str(k), "value": repr(v)} | extra for k, v in enumerate(values)]


def failed(split, status="diverged"):
    return rows([0.0])[0] | {
        "split": str(split),
        "metric": "",
        "value": "",
        "unit": "",
        "status": status,
        "reason": "why",
    }


def test_mean_std_against_numpy_and_independent_of_order():
    values = list(np.random.default_rng(1).lognormal(size=7) * 1e3)
    mean, sd, n = mean_std(values)
    assert (mean, sd, n) == (pytest.approx(np.mean(values)), pytest.approx(np.std(values, ddof=1)), 7)
    for order in itertools.islice(itertools.permutations(values), 0, 5040, 211):
        assert mean_std(order) == (mean, sd, n)


def test_small_counts():
    assert mean_std([2.0])[0::2] == (2.0, 1)
    assert math.isnan(mean_std([2.0])[1])
    assert math.isnan(mean_std([])[0])


def test_only_ok_rows_count_and_the_rest_is_told():
    frame = pd.DataFrame([*rows([1.0, 3.0]), failed(2), failed(3, "timeout")])
    (row,) = summarise(frame).to_dict("records")
    assert (row["mean"], row["n"], row["planned"], row["status"]) == (2.0, 2, 4, "ok")
    assert "2 of 4 splits without a score (1 diverged, 1 timeout): why" in row["reason"]


def test_a_cell_without_a_score_stays_visible():
    (row,) = summarise(pd.DataFrame([failed(0), failed(1), failed(2, "timeout")])).to_dict("records")
    assert (row["status"], row["reason"], row["n"], row["metric"]) == ("diverged", "why", 0, "")


def test_two_rows_for_one_split_are_refused():
    with pytest.raises(ValueError, match="two rows of rmse"):
        summarise(pd.DataFrame([*rows([1.0, 2.0]), rows([3.0])[0]]))


def test_the_dearest_split_is_the_cost_of_the_cell():
    a, b = rows([1.0, 2.0])
    frame = pd.DataFrame([a | {"epsilon": "0.9"}, b | {"epsilon": "inf"}])
    assert summarise(frame)["epsilon"].tolist() == ["inf"]


def test_rows_without_cpu_seconds_stay_readable(tmp_path):
    (row,) = rows([1.0])
    pd.DataFrame([row]).drop(columns="cpu_seconds").to_csv(tmp_path / "old.csv", index=False)
    assert read_scores(tmp_path / "old.csv")["cpu_seconds"].tolist() == [""]
    assert seconds_of(row | {"seconds": "4", "cpu_seconds": ""}) == (4.0, False)
    assert seconds_of(row | {"seconds": "4", "cpu_seconds": "3"}) == (3.0, True)
    assert seconds_of(row | {"seconds": "", "cpu_seconds": ""}) is None


def test_read_scores(tmp_path):
    pd.DataFrame(rows([1.0])).to_csv(tmp_path / "wine.csv", index=False)
    pd.DataFrame(rows([2.0], dataset="naval")).to_csv(tmp_path / "naval.csv", index=False)
    frame = read_scores(tmp_path)
    assert len(frame) == 2
    assert values_by(frame, "dataset", "metric")["naval", "rmse"] == {"0": 2.0}
    with pytest.raises(FileNotFoundError, match="no scores"):
        read_scores(tmp_path / "nothing")
    pd.DataFrame(rows([1.0], status="fine")).to_csv(tmp_path / "wine.csv", index=False)
    with pytest.raises(ValueError, match="unknown status 'fine'"):
        read_scores(tmp_path)
    pd.DataFrame(rows([1.0])).drop(columns="reason").to_csv(tmp_path / "wine.csv", index=False)
    with pytest.raises(ValueError, match="column 'reason' is missing"):
        read_scores(tmp_path / "wine.csv")


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", ""])
@pytest.mark.parametrize("metric", ["rmse", "rhat_max"])
def test_a_score_that_is_not_finite_is_not_ok(tmp_path, metric, value):
    """A diagnostic may be infinite, and a split that diverged has no value."""
    path = tmp_path / "scores.csv"
    bad = rows([1.0])[0] | {"split": "7", "metric": metric, "value": value}
    pd.DataFrame([*rows([1.0, 2.0]), failed(2), bad]).to_csv(path, index=False)
    if metric == "rhat_max" and "inf" in value:
        assert len(read_scores(path)) == 4
        return
    with pytest.raises(ValueError, match=rf"scores\.csv: {metric} of cell c, split '7', is '{value}' with status ok"):
        read_scores(path)
