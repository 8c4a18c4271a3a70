"""The committed scores come back as they were written."""

import gzip
import json
from dataclasses import dataclass

import pandas as pd
import pytest

from datasets.files import write_bytes
from evaluation.summary import COLUMNS
from reports import reference
from reports.config import ReportError
from workflow import committed, imports

ROW = dict.fromkeys(COLUMNS, "") | {"cell": "c", "experiment": "e", "metric": "rmse", "value": "1.5", "status": "ok"}


def frame(**changes):
    return pd.DataFrame([ROW | changes], columns=COLUMNS, dtype=str)


def test_what_is_written_comes_back_and_gives_the_same_bytes(tmp_path):
    scores = frame(reason='a "quoted", odd\nreason')
    write_bytes(committed.path_of(tmp_path, "e"), committed.encoded(scores))
    assert committed.experiments(tmp_path) == ["e"]
    back = committed.read(tmp_path, "e")
    pd.testing.assert_frame_equal(back, scores)
    assert committed.encoded(back) == committed.encoded(scores)


def test_a_column_that_no_row_has_is_not_written():
    assert b"cpu_seconds" not in gzip.decompress(committed.encoded(frame()))
    assert b",cpu_seconds," in gzip.decompress(committed.encoded(frame(cpu_seconds="0.5")))


def test_a_missing_file_and_an_unknown_status_are_clear_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"e\.csv\.gz is missing; a full run"):
        committed.read(tmp_path, "e")
    write_bytes(committed.path_of(tmp_path, "e"), committed.encoded(frame(status="fine")))
    with pytest.raises(ValueError, match=r"e\.csv\.gz: unknown status 'fine'"):
        committed.read(tmp_path, "e")


def test_a_damaged_file_is_an_error(tmp_path):
    write_bytes(committed.path_of(tmp_path, "e"), committed.encoded(frame())[:-9])
    with pytest.raises(ValueError, match=r"e\.csv\.gz is damaged"):
        committed.read(tmp_path, "e")


@dataclass(frozen=True)
class Cell:
    splits: int
    drawn: bool = False
    dataset, protocol, method, setting = "wine", "authors", "sep", ""

    @property
    def id(self):
        return f"cell of {self.splits}"


def scores_of(splits, **changes):
    told = {"dataset": "wine", "protocol": "authors", "method": "sep", "cell": f"cell of {splits}"}
    return pd.concat([frame(**(told | {"split": str(k)} | changes)) for k in range(splits)])


def test_a_cell_stands_for_the_same_with_fewer_splits():
    known = committed.splits_of(scores_of(3))
    assert committed.as_committed(Cell(3), known) == Cell(3)
    assert committed.as_committed(Cell(5), known) == Cell(3)
    assert committed.as_committed(Cell(2), known) == Cell(2)  # more splits than are asked for: another cell
    assert committed.as_committed(Cell(5, drawn=True), known) == Cell(5, drawn=True)
    assert committed.as_committed(Cell(5), {}) == Cell(5)
    assert committed.as_committed(Cell(5), committed.splits_of(scores_of(3, cell="other settings"))) == Cell(5)
    whole = pd.concat([scores_of(3), frame(dataset="wine", protocol="authors", method="sep", cell="cell of 3")])
    assert committed.as_committed(Cell(5), committed.splits_of(whole)) == Cell(5)


@pytest.mark.parametrize("name", reference.experiments())
def test_every_committed_row_has_its_seed(name):
    scores = committed.read(reference.FOLDER, name)
    of_a_split = (scores["split"] != "") & (scores["status"] != "not_supported")
    assert scores.loc[of_a_split, "seed"].ne("").all()


def test_the_committed_reference_is_within_its_limit():
    size = sum(p.stat().st_size for p in reference.files_of())
    assert 0 < size < reference.LIMIT_BYTES


ENTRY = ("e", "m")
MANIFEST = {"commit": "", "python": "3.11.7", "versions": {"torch": "2.13.0+cpu", "numpy": "2.4.6", "pandas": "3.1.1"}}


def test_a_run_has_the_public_versions_of_what_makes_numbers(tmp_path):
    row = committed.run_of(ENTRY, MANIFEST)
    assert row["versions"] == "python 3.11, numpy 2.4.6, torch 2.13.0"
    rows = {("f", "a"): row | {"experiment": "f", "method": "a"}, ENTRY: row}
    committed.write_runs(rows, tmp_path)
    assert committed.runs(tmp_path) == rows
    assert list(committed.runs(tmp_path)) == sorted(rows)
    (tmp_path / "runs.csv").write_text("experiment,method\n")
    with pytest.raises(ValueError, match=r"runs\.csv: columns"):
        committed.runs(tmp_path)


def test_every_method_with_committed_scores_has_its_whole_run():
    runs = committed.runs()
    known = {(e, m) for e in committed.experiments(reference.FOLDER) for m in methods_of(e)}
    assert set(runs) == known
    for commit in {r["commit"] for r in runs.values()}:
        dates = {r["date"] for r in runs.values() if r["commit"] == commit}
        day = (imports.git("show", "-s", "--format=%cs", commit) or "").strip()
        assert dates == {day} or not day  # a shallow clone does not know the commit


def methods_of(experiment):
    return set(committed.read(reference.FOLDER, experiment)["method"])


def scene(tmp_path, restored, fitted=(False, False)):
    for cell, was, more in zip(("c1", "c2"), restored, fitted, strict=True):
        record = {"reused": [{}] if was else [], "splits": [{}] if more or not was else []}
        (tmp_path / f"{cell}.json").write_text(json.dumps(record))
    return pd.DataFrame({"method": ["m", "m"], "cell": ["c1", "c2"]})


def test_a_method_of_which_all_was_fitted_has_the_commit_of_the_run(tmp_path):
    known = {ENTRY: {"commit": "old"}, ("other", "m"): {"commit": "old"}, ("e", "gone"): {"commit": "old"}}
    found = reference.whole_runs("e", scene(tmp_path, (False, False)), tmp_path, MANIFEST | {"commit": "new"}, known)
    assert {e: row["commit"] for e, row in found.items()} == {ENTRY: "new", ("other", "m"): "old"}


def test_a_method_of_which_all_was_restored_keeps_its_run(tmp_path):
    known = {ENTRY: {"commit": "old"}}
    assert reference.whole_runs("e", scene(tmp_path, (True, True)), tmp_path, MANIFEST, known) == known


@pytest.mark.parametrize(
    ("restored", "fitted", "known"),
    [
        ((True, False), (False, False), {ENTRY: {}}),
        ((True, True), (False, True), {ENTRY: {}}),  # splits were added
        ((True, True), (False, False), {}),
    ],
)
def test_only_a_whole_run_becomes_reference(tmp_path, restored, fitted, known):
    with pytest.raises(ReportError, match="e/m: some of its cells were restored"):
        reference.whole_runs("e", scene(tmp_path, restored, fitted), tmp_path, MANIFEST, known)
