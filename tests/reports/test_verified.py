"""The table of verified pairs, and what it allows."""

import json

import pandas as pd
import pytest

from reports import reference
from reports.config import ReportError
from workflow import verified
from workflow.verified import STALE, UNVERIFIED, VERIFIED

PAIR = ("e", "m")


def row(**changes):
    given = {"experiment": "e", "method": "m", "status": VERIFIED, "closure": "now", "versions": "numpy 2"}
    return dict.fromkeys(verified.COLUMNS, "") | given | changes


def test_rows_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "verified.csv"
    assert verified.read(path) == {}
    rows = {("f", "a"): row(experiment="f", method="a", reason='it, "moved"'), PAIR: row()}
    verified.write(rows, path)
    assert verified.read(path) == rows
    assert list(verified.read(path)) == sorted(rows)


@pytest.mark.parametrize("text", ["experiment,method\n", ",".join(verified.COLUMNS) + "\ne,m,sound" + "," * 14 + "\n"])
def test_another_table_is_refused(tmp_path, text):
    path = tmp_path / "verified.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"verified\.csv: (columns|e/m: status 'sound')"):
        verified.read(path)


@pytest.mark.parametrize(
    ("known", "closure", "versions", "expected"),
    [
        (row(), "now", "numpy 2", VERIFIED),
        (row(), "other", "numpy 2", UNVERIFIED),
        (row(), "now", "numpy 3", UNVERIFIED),
        (None, "now", "numpy 2", UNVERIFIED),
        (row(status=STALE), "other", "numpy 2", STALE),
        (row(status=STALE), "now", "numpy 2", VERIFIED),  # the change is undone
        (row(status=UNVERIFIED), "other", "numpy 2", UNVERIFIED),
    ],
)
def test_state(known, closure, versions, expected):
    assert verified.state(known, closure, versions) == expected


def test_only_stale_and_unknown_scores_are_not_restored(tmp_path):
    path = tmp_path / "verified.csv"
    verified.write(
        {PAIR: row(), ("e", "s"): row(method="s", status=STALE), ("e", "u"): row(method="u", status=UNVERIFIED)}, path
    )
    allowed = {m: verified.restorable("e", m, path) for m in ("m", "s", "u", "gone")}
    assert allowed == {"m": True, "s": False, "u": True, "gone": False}


def scene(tmp_path, reused):
    scores = pd.DataFrame({"method": ["m", "m"], "cell": ["c1", "c2"]})
    for cell, was in zip(("c1", "c2"), reused, strict=True):
        (tmp_path / f"{cell}.json").write_text(json.dumps({"reused": [{}] if was else []}))
    return scores


def test_a_pair_of_which_all_was_run_is_verified_by_that(tmp_path):
    about = {"closure": "c", "commit": "k", "versions": "v", "state": STALE}
    known = {PAIR: row(status=STALE), ("other", "m"): row(experiment="other")}
    found = reference.verified_rows("e", scene(tmp_path, (False, False)), tmp_path, {"e/m": about}, known)
    assert found[PAIR]["status"] == VERIFIED
    assert [found[PAIR][k] for k in ("how", "closure", "commit", "versions")] == ["full run", "c", "k", "v"]
    assert found["other", "m"] == known["other", "m"]


@pytest.mark.parametrize("state", [STALE, UNVERIFIED])
def test_restored_scores_that_nobody_verified_become_no_reference(tmp_path, state):
    scores = scene(tmp_path, (True, False))
    with pytest.raises(ReportError, match=f"e/m is {state}, and some of its cells were restored"):
        reference.verified_rows("e", scores, tmp_path, {"e/m": {"state": state}}, {PAIR: row()})
    with pytest.raises(ReportError, match="e/m is unverified"):
        reference.verified_rows("e", scores, tmp_path, {}, {PAIR: row()})
    kept = reference.verified_rows("e", scores, tmp_path, {"e/m": {"state": VERIFIED}}, {PAIR: row()})
    assert kept == {PAIR: row()}
