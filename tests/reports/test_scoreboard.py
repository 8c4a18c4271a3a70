"""The counts of verdicts: every distinct published number once, in the reading that is named."""

import csv
import gzip
import io
from collections import Counter

import pandas as pd
import pytest

from reports import scoreboard
from reports.readme import ROOT


@pytest.fixture(scope="module")
def verdicts():
    return scoreboard.read()


def lines(path):
    """A CSV file as dicts, read without pandas."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return list(csv.DictReader(io.StringIO(text.decode("utf-8"))))


KEY = ("source", "table", "dataset", "method", "setting", "metric")


def key(row):
    return tuple(row[k] for k in KEY)


def test_the_counts_are_those_of_other_code(verdicts):
    """Straight from the files: numbers that are no copies, the authors' code before the algorithm as printed."""
    said = [r for r in lines(ROOT / "reports/reference/verdicts.csv") if r["headline"] == "yes"]
    for path in sorted(ROOT.glob("papers/*/reference/verdicts.csv.gz")):
        said += lines(path)
    copied = {key(r) for p in ROOT.glob("papers/*/annotations.csv") for r in lines(p) if r.get("same_as")}
    words = {}
    for reading in ("printed", "authors"):
        words |= {key(r): r["verdict"] for r in said if r["reading"] == reading and key(r) not in copied}
    expected = Counter(words.values())
    board = scoreboard.counts(scoreboard.first(verdicts))
    assert board["numbers"].sum() == len(words)
    for word in ("reproduced", "compatible", "inconclusive"):
        assert board[word].sum() == expected[word]
    assert board["refuted"].sum() == expected["better"] + expected["worse"] + expected["differs"]
    assert (
        board["no_score"].sum()
        == len(words) - board[["reproduced", "compatible", "inconclusive", "refuted"]].sum().sum()
    )


def test_every_published_number_is_counted(verdicts):
    """The published files' rows without copies, of every source with numbers."""
    numbers = [r for p in ROOT.glob("papers/*/published.csv") for r in lines(p)]
    copied = {key(r) for p in ROOT.glob("papers/*/annotations.csv") for r in lines(p) if r.get("same_as")}
    assert {key(r) for r in numbers} - copied == set(map(tuple, scoreboard.first(verdicts)[list(KEY)].to_numpy()))


def test_a_count_per_source_and_reading(verdicts):
    board = scoreboard.by_reading(verdicts)
    assert (board[scoreboard.COUNTS].sum(axis=1) == board["numbers"]).all()
    assert list(board["reading"].unique()) == ["printed", "authors", "corrected"]
    assert not board.duplicated(["source", "reading"]).any()


def test_version_2_is_what_was_committed_under_it(verdicts):
    """The counts of that time, and no word of it is today's."""
    changes = lines(ROOT / "reports/reference/verdict_changes.csv")
    assert all(r["version_2"] != r["version_3"] for r in changes)
    old = scoreboard.counts(scoreboard.first(scoreboard.version_2(verdicts)))[scoreboard.COUNTS].sum()
    assert old.to_dict() == {
        "reproduced": 1317, "compatible": 1751, "inconclusive": 155, "refuted": 17, "no_score": 331,
    }  # fmt: skip


def test_a_change_that_is_no_longer_true_is_named(verdicts):
    first = lines(ROOT / "reports/reference/verdict_changes.csv")[0]
    at = (verdicts[[*KEY, "reading"]] == pd.Series({k: first[k] for k in (*KEY, "reading")})).all(axis=1)
    with pytest.raises(ValueError, match="by now"):
        scoreboard.version_2(verdicts.assign(verdict=verdicts["verdict"].mask(at, "worse")))


def row(method, reading, verdict):
    return dict.fromkeys(scoreboard.COLUMNS, "") | {
        "source": "s",
        "method": method,
        "reading": reading,
        "verdict": verdict,
    }


def test_the_first_reading_that_was_run_counts():
    made = pd.DataFrame(
        [
            row("a", "printed", "worse"),
            row("a", "authors", "reproduced"),
            row("a", "corrected", "better"),
            row("b", "printed", "better"),
            row("c", "printed", "no_data"),
        ]
    )
    assert scoreboard.first(made)["verdict"].tolist() == ["reproduced", "better", "no_data"]
    (counts,) = scoreboard.counts(scoreboard.first(made)).to_dict("records")
    assert counts == {
        "source": "s", "numbers": 3, "reproduced": 1, "compatible": 0, "inconclusive": 0, "refuted": 1, "no_score": 1,
    }  # fmt: skip


def test_no_rows_give_no_counts():
    assert scoreboard.counts(pd.DataFrame(columns=scoreboard.COLUMNS)).empty
