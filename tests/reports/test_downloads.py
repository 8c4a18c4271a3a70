"""The downloads: whole, described column by column, the same bytes twice, and those of a run where one is named."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

import dpbayes_bench
from datasets.files import csv_text
from dpbayes_bench import tables
from evaluation.summary import COLUMNS
from reports import claims, downloads
from workflow import experiments, papers


@pytest.fixture(scope="module")
def small():
    """The tables, of the committed scores one file a form of score file."""
    with pytest.MonkeyPatch.context() as patch:
        kept = ("common_network", "non_dp", "yacht")
        files = [p for p in tables.score_files(downloads.ROOT) if p.name.removesuffix(".csv.gz") in kept]
        patch.setattr(tables, "score_files", lambda home: files)
        only = {k: v for k, v in papers.experiments().items() if k in kept}
        patch.setattr(papers, "experiments", lambda: only)
        yield downloads.build()


@pytest.fixture(scope="module")
def written(small, tmp_path_factory):
    """A folder with all files of these tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(downloads, "build", lambda results: small)
        out = tmp_path_factory.mktemp("downloads")
        paths = downloads.write(out)
        assert sorted(paths) == sorted(out.iterdir())
        again = tmp_path_factory.mktemp("again")
        downloads.write(again)
        for path in paths:
            assert (again / path.name).read_bytes() == path.read_bytes(), f"{path.name}: other bytes the second time"
        return out


def test_the_dictionary_has_every_column_of_every_file_and_no_other(written):
    told = pd.read_csv(written / "dictionary.csv", dtype=str, keep_default_na=False)
    assert list(told["table"].unique()) == list(downloads.TABLES)
    assert {p.name for p in written.glob("*.csv.gz")} == {f"{t}.csv.gz" for t in downloads.TABLES}
    for name, rows in told.groupby("table"):
        with gzip.open(written / f"{name}.csv.gz", "rt") as f:
            assert f.readline().rstrip("\n").split(",") == rows["column"].tolist()
    text = (written / "dictionary.md").read_text()
    assert all(f"| `{c}` |" in text for c in told["column"])


def test_parquet_and_csv_hold_the_same(written, small):
    import fastparquet

    for name, frame in small.items():
        with open(written / f"{name}.parquet", "rb") as f:
            stored = fastparquet.ParquetFile(f).to_pandas()
        text = gzip.decompress((written / f"{name}.csv.gz").read_bytes()).decode()
        assert text == csv_text(frame)
        assert stored.columns.tolist() == frame.columns.tolist()
        for column in frame:
            if frame[column].dtype.kind == "f":
                assert np.array_equal(stored[column].to_numpy(float), frame[column].to_numpy(), equal_nan=True), column
            else:
                assert stored[column].astype(str).tolist() == frame[column].astype(str).tolist(), (name, column)


def test_json_of_the_verdicts_reads_back(written, small):
    rows = json.loads((written / "verdicts.json").read_text())
    frame = small["verdicts"]
    assert len(rows) == len(frame)
    assert [r["verdict"] for r in rows] == frame["verdict"].tolist()
    first = frame["mean"].notna().to_numpy().argmax()
    assert rows[first]["mean"] == frame["mean"].iloc[first]
    assert {r["detectable"] for r in rows if isinstance(r["detectable"], str)} == {"inf"}


def test_claims_stand_with_their_paper_and_words(small):
    frame = small["claims"]
    assert not (frame[["paper", "quote", "verdict"]] == "").any().any()
    known = {c.id: c for c in claims.load()}
    main = frame[frame["id"].isin(known)]
    assert len(main) == len(pd.read_csv(papers.REFERENCE / "claims.csv"))
    for row in main.to_dict("records"):
        assert (row["place"], row["statement"]) == (known[row["id"]].place, known[row["id"]].statement)


def test_settings_are_those_of_the_cells_with_defaults_written_out(small):
    frame = small["settings"]
    path = papers.experiments()["common_network"]
    for cell in experiments.cells(path, "full"):
        rows = frame[frame["cell"] == cell.id]
        found = {(r["group"], r["name"]): json.loads(r["value"]) for r in rows.to_dict("records")}
        assert found["run", "splits"] == cell.splits
        for name, value in cell.settings:
            assert found["settings", name] == json.loads(json.dumps(value))
        assert {n for g, n in found if g == "settings"} == set(cell.build_settings().__dataclass_fields__)
    scored = set(small["scores"]["cell"].astype(str))
    assert scored == set(frame["cell"]), "a cell with scores and no settings, or the other way"


def test_a_run_of_ones_own_takes_the_place_of_the_reference(tmp_path, monkeypatch):
    row = dict.fromkeys(COLUMNS, "") | {
        "cell": "x", "experiment": "common_network", "method": "vi", "metric": "rmse", "value": "0.25", "split": "0",
        "status": "ok", "setting": "epsilon=1", "scale": "quick",
    }  # fmt: skip
    place = tmp_path / "scores/common_network/wine.csv"
    place.parent.mkdir(parents=True)
    pd.DataFrame([row]).to_csv(place, index=False)
    monkeypatch.setattr(tables, "score_files", lambda home: [])
    frame = downloads.scores(tmp_path)
    (found,) = frame.to_dict("records")
    assert (found["value"], found["epsilon_asked"], found["paper"], found["scale"]) == (
        0.25,
        1.0,
        "common_tasks",
        "quick",
    )


def test_a_run_without_scores_gets_one_line(tmp_path, capsys):
    assert downloads.main(["--out", str(tmp_path / "out"), "--results", str(tmp_path / "nothing")]) == 1
    said = capsys.readouterr().err
    assert "no scores at" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_columns_of_the_package_are_those_of_the_downloads(small):
    for name, frame in small.items():
        assert frame.columns.tolist() == dpbayes_bench.columns(name)["column"].tolist()


def test_an_infinity_is_a_text_in_json():
    frame = pd.DataFrame({"a": [np.inf, np.nan, 1.5]})
    assert json.load(io.StringIO(downloads.as_json(frame))) == [{"a": "inf"}, {"a": None}, {"a": 1.5}]
