"""The reader of the tables of Wang (2018), and what is stated of those that are data sets."""

import csv
from pathlib import Path

import pytest

from datasets import wang2018
from datasets.base import DataError


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1\t2 \t3 \r4\t5\t6 \r", [[1, 2, 3], [4, 5, 6]]),
        ("1, 2, 3\r\n4, 5\r\n", [[1, 2, 3], [4, 5, 0]]),
        ('"a";"b"\n1;2\n', [[1, 2]]),
        ("  1.5   2e-3\n\n", [[1.5, 0.002]]),
    ],
)
def test_reading(tmp_path, text, rows):
    path = tmp_path / "raw.txt"
    path.write_bytes(text.encode())
    assert wang2018.read(path).tolist() == rows


def test_a_word_among_the_numbers_is_named(tmp_path):
    (tmp_path / "raw.txt").write_text("1,2\n3,four\n")
    with pytest.raises(DataError, match=r"raw\.txt"):
        wang2018.read(tmp_path / "raw.txt")


def test_the_tables_of_a_collection_are_those_that_its_paper_lists():
    """Sizes, targets, files and checksums as in the lists of the published results."""
    home = Path(__file__).parents[2] / "papers" / "wang2018"
    with open(home / "datasets.csv", newline="") as sizes, open(home / "files.csv", newline="") as files:
        rows, raw = {r["dataset"]: r for r in csv.DictReader(sizes)}, list(csv.DictReader(files))
    left_out = {"3droad", "protein", "wine"}
    assert {d.name for d in wang2018.DATASETS} == {n for n, r in rows.items() if int(r["n"]) >= 500} - left_out
    for d in wang2018.DATASETS:
        assert (str(d.n_rows), str(d.n_inputs), d.target) == tuple(rows[d.name][c] for c in ("n", "d", "target"))
        here = [r for r in raw if r["dataset"] == d.name and not r["remark"].startswith("NOT HERE")]
        assert [(f.name, f.sha256, f.sources[0].url) for f in d.raw] == [
            (r["file"], r["sha256"], r["url_not_tried"]) for r in here
        ]
        assert {d.licence} == {r["licence"] for r in here}
