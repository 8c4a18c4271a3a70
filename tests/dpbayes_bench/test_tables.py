"""The tidy tables hold the committed numbers, each once, and the dictionary describes them."""

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpbayes_bench
from dpbayes_bench import tables
from evaluation.summary import COLUMNS, summarise
from reports import ledger, verdicts
from reports.reference import FOLDER
from workflow import committed

ROOT = Path(__file__).resolve().parents[2]


def test_scores_of_an_experiment_are_its_committed_rows():
    rows = committed.read(FOLDER, "common_network")
    path = committed.path_of(FOLDER, "common_network")
    frame = tables.typed_scores([tables.scores_of(path)])
    assert len(frame) == len(rows)
    assert set(frame["paper"]) == {"common_tasks"}
    values = pd.to_numeric(rows["value"].replace("", None)).to_numpy(float)
    assert np.array_equal(frame["value"].to_numpy(), values, equal_nan=True)
    assert (frame["measure"].astype(str).to_numpy() == rows["metric"].to_numpy()).all()
    asked = frame.drop_duplicates("setting").set_index("setting")["epsilon_asked"]
    assert asked["epsilon=0.1"] == 0.1
    assert np.isnan(asked[""])


def test_repetitions_of_a_paper_with_files_of_its_own_come_back_to_their_mean():
    path = ROOT / "papers/wang2018/reference/scores/yacht.csv.gz"
    rows = tables.text(path)
    frame = tables.typed_scores([tables.scores_of(path)])
    count = pd.to_numeric(rows["repeats"]).sum()
    assert len(frame) == count
    means = frame.groupby("cell", sort=False, observed=True)["value"].mean().to_numpy()
    # the runs have six digits, and half a unit of the sixth is 5e-6 of a number
    assert means == pytest.approx(pd.to_numeric(rows["mean"]).to_numpy(), rel=5e-6)


def test_runs_that_count_rows_become_shares():
    path = ROOT / "papers/jalko2017dpvi/reference/scores/non_dp.csv.gz"
    rows = tables.text(path)
    frame = tables.typed_scores([tables.scores_of(path)])
    errors = frame[frame["measure"] == "test_error"]
    means = errors.groupby("cell", sort=False, observed=True)["value"].mean().to_numpy()
    assert means == pytest.approx(pd.to_numeric(rows["mean"]).to_numpy(), rel=1e-12)
    assert set(frame["unit"]) == {"share", "nats"}


def test_the_epsilon_of_a_setting_is_read():
    words = pd.Series(["", "epsilon=1", "tuned;epsilon=0.1", "epsilon~0.9;clip=1", "order=1;epsilon=e^-2", "clip=1"])
    found = tables.epsilon_asked(words)
    assert found.iloc[1:5].tolist() == pytest.approx([1.0, 0.1, 0.9, np.exp(-2)])
    assert np.isnan(found.iloc[[0, 5]]).all()


def test_verdicts_and_ledger_have_every_committed_row():
    judged, costs = tables.verdicts(ROOT), tables.ledger(ROOT)
    own = [tables.text(path) for path in ROOT.glob("papers/*/reference/verdicts.csv.gz")]
    main = tables.text(ROOT / "reports/reference/verdicts.csv")
    assert len(judged) == len(main) + sum(map(len, own))
    assert judged["verdict"].iloc[: len(main)].tolist() == main["verdict"].tolist()
    assert judged["mean"].iloc[0] == float(main["mean"].iloc[0])
    assert not (judged["paper"] == "").any()
    committed_rows = committed.ledgers(ROOT / "reports/reference")
    assert (costs["cell"].iloc[: len(committed_rows)] == committed_rows["cell"]).all()
    assert not (costs["paper"] == "").any()
    # one total a private cell of the papers with files of their own
    own_rows = costs.iloc[len(committed_rows) :]
    private = sum(
        (tables.text(p)["ledger"] != "").sum() for p in tables.score_files(ROOT) if "ledger" in tables.text(p)
    )
    assert (own_rows["event"] == tables.TOTAL).sum() == private


def test_a_column_that_the_dictionary_does_not_have_is_refused():
    with pytest.raises(ValueError, match="scores: no line for the column 'colour'"):
        tables.typed(pd.DataFrame({"colour": ["red"]}), "scores")


def test_types_are_those_of_the_dictionary():
    frame = tables.typed(
        pd.DataFrame({"value": ["1.5", "", "inf"], "split": ["0", "", "2"], "cell": ["a", "", "b"]}), "scores"
    )
    assert frame["value"].tolist()[::2] == [1.5, np.inf]
    assert frame["split"].isna().tolist() == [False, True, False]
    assert str(frame["split"].dtype) == "Int64"
    assert str(frame["cell"].dtype) == "category"
    assert frame.columns.tolist() == dpbayes_bench.columns("scores")["column"].tolist()


def test_every_entry_of_the_dictionary_says_something():
    told = dpbayes_bench.columns()
    assert set(told["type"]) == {"text", "category", "number", "integer"}
    assert (told["meaning"].str.len() > 5).all()
    assert (told.loc[told["type"] == "number", "unit"] != "").all()
    assert not told.duplicated(["table", "column"]).any()
    with pytest.raises(KeyError, match="there are scores, verdicts, claims, ledger, settings"):
        dpbayes_bench.columns("nothing")


def test_the_dictionary_has_every_column_that_the_suite_writes():
    for name, columns in (("scores", COLUMNS), ("verdicts", verdicts.COLUMNS), ("ledger", ledger.COLUMNS)):
        wanted = {"measure" if c == "metric" and name == "scores" else c for c in columns}
        assert wanted <= set(dpbayes_bench.columns(name)["column"]), f"describe it in {tables.HERE / 'columns.csv'}"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no committed scores"):
        tables.score_files(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"verdicts\.csv is missing"):
        tables.verdicts(tmp_path)


def test_a_task_has_the_means_of_the_suite():
    found = dpbayes_bench.task("wine-linear_regression", 1.0)
    rows = committed.read(FOLDER, "common_linear_regression")
    wanted = summarise(rows[rows["dataset"] == "wine"]).set_index(["method", "setting", "metric"])
    assert set(found["epsilon_asked"].dropna()) == {1.0}
    assert {"exact_posterior", "adassp", "dpvi"} <= set(found["method"])
    for row in found.to_dict("records"):
        same = wanted.loc[(row["method"], row["setting"], row["measure"])]
        assert (row["n"], row["status"]) == (same["n"], same["status"])
        if row["n"]:
            # pandas and math.fsum add in another order
            assert row["mean"] == pytest.approx(same["mean"], rel=1e-12)
            assert row["std"] == pytest.approx(same["std"], rel=1e-9, abs=1e-15, nan_ok=True)
    assert set(dpbayes_bench.task("wine-linear_regression")["epsilon_asked"].dropna()) == {0.1, 1.0, 8.0}


def test_unknown_tasks_and_budgets_name_the_known_ones():
    with pytest.raises(KeyError, match=r"no task 'wine'; there are .*wine-linear_regression"):
        dpbayes_bench.task("wine")
    with pytest.raises(ValueError, match=r"nothing ran at epsilon = 2; budgets are 0\.1, 1, 8"):
        dpbayes_bench.task("wine-linear_regression", 2.0)
    with pytest.raises(KeyError, match="no task 'wine'"):
        dpbayes_bench.reference_posterior("wine")


def test_a_damaged_number_is_refused(tmp_path):
    path = tmp_path / "papers/p/reference/scores/e.csv.gz"
    path.parent.mkdir(parents=True)
    text = gzip.decompress(committed.path_of(FOLDER, "dpsep_year_scale").read_bytes()).decode()
    rows = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False).head(1).assign(value="1,5")
    rows.to_csv(path, index=False)
    with pytest.raises(ValueError, match="1,5"):
        tables.typed_scores([tables.scores_of(path)])
