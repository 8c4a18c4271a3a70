"""The reader of the tables of Wang (2018), and what is stated of those that are data sets."""

import csv
import hashlib
import os
import re
from pathlib import Path

import numpy as np
import pytest

import datasets
from datasets import wang2018
from datasets.base import DataError
from datasets.fetch import build, fetch

MIRROR = os.environ.get("DPBAYES_MIRROR")


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


@pytest.mark.parametrize(
    ("convert", "theirs", "ours"),
    [
        (
            wang2018._bike,
            b"instant,dteday,season,yr\r\n1,2011-01-01,1,0,0.24\r\n2,2012-12-31,4,1,0.26\r\n",
            b"1,2011,01,01,1,0,0.24\r\n2,2012,12,31,4,1,0.26\r\n",
        ),
        (
            wang2018._forest,
            b"X,Y,month,day,FFMC,area\n7,5,mar,fri,86.2,0\n1,4,dec,sun,94.4,0\n",
            b"7,5,3,5,86.2,0\n1,4,12,7,94.4,0\n",
        ),
        (wang2018._servo, b"E,E,5,4, 0.28125095\nB,D,6,5, 0.5062525\n", b"5,5,5,4, 0.28125095\n2,4,6,5, 0.5062525\n"),
        (wang2018._without_header, b"No,Slag\r\n1,82\r\n", b"1,82\r\n"),
    ],
)
def test_a_source_in_another_coding(convert, theirs, ours):
    assert convert(theirs) == ours


def test_a_month_that_is_none_is_refused():
    with pytest.raises(LookupError):
        wang2018._forest(b"X,Y,month,day\n7,5,mai,fri\n")


@pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw file to compare")
def test_the_bike_file_of_uci_is_ours_in_another_coding():
    """UCI's header and dates, put back into our file, give the sha256 that others publish of UCI's file."""
    ours = (Path(MIRROR) / "bike/hour.csv").read_bytes()
    header = b"instant,dteday,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,casual,"
    dates = re.sub(rb"(?m)^(\d+),(\d+),(\d+),(\d+),", rb"\1,\2-\3-\4,", ours)
    theirs = header + b"registered,cnt\r\n" + dates
    assert hashlib.sha256(theirs).hexdigest() == "e03de4ee4ef4dc376ac6e04bf829673c6269e8eba5c60fa121640fa2f829504f"
    assert wang2018._bike(theirs) == ours


def test_the_fingerprint_does_not_depend_on_a_logarithm(tmp_path):
    """Logarithms differ in their last bit between processors."""
    path = tmp_path / "servo.data.txt"
    path.write_text("1,2,3,4,0.5\n1,2,3,5,2.5\n")
    table = wang2018.parse("servo", path)
    assert table.exact_y.tolist() == [0.5, 2.5]
    assert table.y.tolist() == np.log([0.5, 2.5]).tolist()
    assert wang2018.parse("airfoil", path).exact_y is None


@pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")
@pytest.mark.parametrize("name", sorted(wang2018.FINGERPRINTS))
def test_the_raw_files_have_the_stated_fingerprint(name, tmp_path):
    from papers.wang2018 import data

    known = data.dataset(name)
    paths = fetch(known, MIRROR, tmp_path, offline=True)
    assert known.table_sha256
    build(known, paths)  # raises DataError for another fingerprint
    if name in datasets.names("table") and name not in data.SHARED:
        assert datasets.get(name).table_sha256 == known.table_sha256
        assert datasets.get(name).raw == known.raw


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
        assert [(f.name, f.sha256) for f in d.raw] == [(r["file"], r["sha256"]) for r in here]
        assert all(r["url_not_tried"] in {s.url for s in f.sources} for f, r in zip(d.raw, here, strict=True))
        assert {d.licence} == {r["licence"] for r in here}
