"""What the pages of `compare` and `advise` say first. About 1 CPU second."""

import pandas as pd
import pytest

from common_tasks import rows
from common_tasks.own_data import first


def test_ranges_come_first_unless_all_are_stated():
    assert first.ranges([], 3) == ""
    said = first.ranges([*"abcdefgh"], 10)
    assert said.startswith("First, state the ranges of your columns: 8 of 10 have none here (a, b, c and 5 more), so")
    assert '"age: [0, 120]"' in said
    assert "--bounds" in said
    assert first.assumed_ranges(True) == ""
    assert "--known-ranges" in first.assumed_ranges(False)


def scores(*rows: tuple[str, str, str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["epsilon", "dataset", "unit", "low"])


def test_too_few_rows_are_said_where_no_method_is_better_than_the_baseline():
    """By the lower end of the best interval; what the model expects of the next table does not count."""
    data = scores(
        ("1", "curved", "scaled", -0.2),
        ("1", "curved", "scaled", 0.0),
        ("1", "linear", "scaled", -0.1),
        ("1", "linear", "scaled", 0.4),
        ("1", "(next table)", "scaled", -1.0),
        ("8", "curved", "scaled", 0.1),
    )
    (said,) = first.too_small(data, 400, {"curved": "the shape curved"})
    assert said.startswith("Too few rows for epsilon = 1, as far as was shown: on the shape curved with 400 rows")
    (said,) = first.too_small(data.assign(unit="nats"), 400, {"curved": "mine.csv"})
    assert said.startswith("Too few rows, or too little in the inputs: on mine.csv with 400 rows, the model is not")
    assert first.too_small(data.assign(low=float("nan")), 400, {}) == []


def test_rows_are_not_called_too_few_where_ranges_were_estimated():
    data = scores(("5", "mine", "scaled", -0.2))
    (said,) = first.too_small(data, 1800, {"mine": "mine.csv"}, unknown=2)
    assert "Too few rows" not in said
    assert "The ranges of 2 columns were estimated, so this run cannot say whether the rows are too few." in said
    assert "--bounds" in said
    assert first.too_small(data, 1800, {"mine": "mine.csv"})[0].startswith("Too few rows for epsilon = 5")


def test_hidden_ranges_are_forecast_from_public_numbers():
    said = first.hidden_ranges(700, 10, True, 1.0, 1e-5)
    assert said.startswith("At epsilon = 1 with 700 rows: The noise may hide ranges:")
    assert "of the 10 inputs without a stated range are expected to be left out" in said
    assert "the fit is lost" not in said
    assert "the fit is lost" in first.hidden_ranges(88, 9, True, 1.0, 1e-5)
    assert first.hidden_ranges(30_000, 10, True, 1.0, 1e-5) == ""
    assert first.hidden_ranges(442, 0, False, 1.0, 1e-5) == ""


@pytest.mark.parametrize(("counts", "share"), [((995, 5), "0.50%"), ((5, 995), "0.50%"), ((91, 9), "9.00%")])
def test_a_rare_class_is_warned_of_with_the_constant_prediction(counts, share):
    rows = [("predict_mean", "ok", "test_error", "0.004"), ("predict_mean", "ok", "test_error", "0.006")]
    rows += [("predict_mean", "ok", "test_log_likelihood", "-0.03"), ("dpvi", "ok", "test_error", "0.5")]
    frame = pd.DataFrame(rows, columns=["method", "status", "metric", "value"])
    said = first.rare_class(counts, ("good", "bad"), frame)
    few, most = ("bad", "good") if counts[0] > counts[1] else ("good", "bad")
    assert f"'{few}' is the class of {min(counts)} of {sum(counts)} rows ({share})" in said
    assert f"A prediction of '{most}' for each row" in said
    assert "a mean test error of 0.005 and test log-likelihood of -0.03." in said
    part = min(counts) / sum(counts)
    assert said.endswith(
        f"Read the average precision of '{few}', which is {part:.2g} for a constant prediction, and the Brier score."
    )


def test_classes_that_are_not_rare_are_not_warned_of():
    frame = pd.DataFrame(columns=["method", "status", "metric", "value"])
    assert first.rare_class((90, 10), ("a", "b"), frame) == ""
    assert first.rare_class((), (), frame) == ""
    assert "Over the splits" not in first.rare_class((99, 1), ("a", "b"), frame)


def test_what_rows_are_needed_is_read_from_the_committed_study():
    for task in ("regression", "classification"):
        said = first.rows_needed(task, 3000, [1, 8], known=False)
        here = rows.committed().query("task == @task and ranges == 'estimated' and rows == 3000 and epsilon == '1'")
        costs = (1 - here["score"]).round(2) + 0.0
        assert f"At epsilon = 1 with 3,000 rows, privacy costs {costs.min():.2f} to {costs.max():.2f} on" in said
        assert "At epsilon = 8 with" in said
        assert said.endswith(rows.LIMITS)
    assert first.rows_needed("density", 3000, [1], known=False) == ""
