"""Nothing is lost between the tidy scores and their two committed files."""

import io

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.summary import COLUMNS
from reports import compact, reference
from reports.files import csv_text, write_csv


def through_text(frame):
    return pd.read_csv(io.StringIO(csv_text(frame)), dtype=str, keep_default_na=False)


def again(scores):
    """Through both files and back."""
    rows, cells = (through_text(part) for part in compact.compact(scores))
    return compact.expand(scores["experiment"].iloc[0], rows, cells)


def assert_same_but_seed(found, scores):
    assert list(found.columns) == COLUMNS
    assert (found["seed"] == "").all()
    pd.testing.assert_frame_equal(found.drop(columns="seed"), scores[COLUMNS].drop(columns="seed"))


def row(**values):
    base = dict.fromkeys(COLUMNS, "") | {"cell": "c", "experiment": "e", "dataset": "wine", "protocol": "authors"}
    base |= {"method": "sep", "split": "0", "metric": "rmse", "value": "1.5", "status": "ok", "scale": "full"}
    return base | {"epsilon": "0.9", "delta": "1e-05", "relation": "add_remove", "accountant": "pld"} | values


def frame(*rows):
    return pd.DataFrame(rows, columns=COLUMNS, dtype=str)


def test_every_column_has_one_home():
    assert sorted([*compact.ROW[1:], *compact.KEY, *compact.HOISTED, "experiment", "seed"]) == sorted(COLUMNS)
    assert compact.ROW[0] == "key"


@pytest.mark.parametrize("name", reference.experiments())
def test_the_committed_scores_come_back(name):
    scores = compact.read(reference.FOLDER, name)
    assert_same_but_seed(again(scores), scores)
    # The files are what the one writer makes: no repetition slips in by hand.
    for part, made in zip(("scores", "cells"), compact.compact(scores), strict=True):
        assert (reference.FOLDER / part / f"{name}.csv").read_text(encoding="utf-8") == csv_text(made)


def test_the_committed_reference_is_within_its_limit():
    size = sum(p.stat().st_size for p in reference.FOLDER.rglob("*") if p.is_file())
    assert 0 < size < reference.LIMIT_BYTES


def test_what_a_cell_shares_stands_once():
    scores = frame(row(), row(split="1", value="2.5"), row(method="ep", cell="d", epsilon="inf"))
    rows, cells = compact.compact(scores)
    assert list(rows.columns) == compact.ROW
    assert list(cells.columns) == ["key", *compact.KEY, *compact.HOISTED]
    assert cells["epsilon"].tolist() == ["0.9", "inf"]
    assert_same_but_seed(again(scores), scores)


def test_a_failed_split_without_ledger_keeps_its_blank_epsilon():
    no_ledger = dict.fromkeys(["epsilon", "delta", "relation", "accountant"], "")
    lost = row(split="1", metric="", value="", status="diverged", reason="why, not?", **no_ledger)
    scores = frame(row(), lost, row(method="ep"))
    rows, cells = compact.compact(scores)
    assert list(rows.columns) == [*compact.ROW, *no_ledger]
    assert rows["epsilon"].tolist() == ["0.9", "", "0.9"]
    assert not set(no_ledger) & set(cells.columns)
    assert_same_but_seed(again(scores), scores)


def test_one_key_with_two_cell_ids():
    scores = frame(row(), row(split="1", cell="other settings"))
    rows, cells = compact.compact(scores)
    assert rows["cell"].tolist() == ["c", "other settings"]
    assert len(cells) == 1
    assert_same_but_seed(again(scores), scores)


TEXT = st.text("ab1,\"'= ;\n.é", max_size=4)
FEW = st.sampled_from(["", "a", "NA", "1e-05", "x,y", 'say "z"'])


@st.composite
def any_scores(draw):
    """Scores of one experiment: hoisted columns constant in a cell or not, any order of rows, any text."""
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        one = dict.fromkeys(COLUMNS, "") | {c: draw(FEW) for c in [*compact.KEY, *compact.HOISTED]}
        one |= {c: draw(TEXT) for c in ("value", "reason", "seconds", "split")}
        rows.append(one | {"experiment": "e", "status": draw(st.sampled_from(["ok", "failed"]))})
    if draw(st.booleans()):
        first = {}
        for one in rows:  # constants of a cell, as a run writes them
            own = first.setdefault(tuple(one[k] for k in compact.KEY), one)
            one |= {c: own[c] for c in compact.HOISTED[draw(st.integers(0, 3)) :]}
    return frame(*rows)


@settings(max_examples=150, deadline=None)
@given(any_scores())
def test_any_scores_come_back(scores):
    assert_same_but_seed(again(scores), scores)
    rows, cells = compact.compact(scores)
    assert not cells.duplicated(compact.KEY).any()
    for column in compact.HOISTED:
        constant = all(len(set(g[column])) == 1 for _, g in scores.groupby(compact.KEY))
        assert (column in cells.columns) == constant == (column not in rows.columns)


def test_what_would_be_lost_is_refused():
    with pytest.raises(ValueError, match="scores of e, f; give those of one experiment"):
        compact.compact(frame(row(), row(experiment="f")))
    with pytest.raises(ValueError, match="no experiment"):
        compact.compact(frame())
    with pytest.raises(ValueError, match=r"e: \('wine', 'authors', 'sep', '0'\) has two seeds"):
        compact.compact(frame(row(seed="1"), row(metric="test_log_likelihood", seed="2")))


def test_files_that_do_not_fit_together_are_refused():
    rows, cells = compact.compact(frame(row(), row(method="ep")))
    sep, ep = (compact.key_of("wine", "authors", m, "") for m in ("sep", "ep"))
    with pytest.raises(ValueError, match=rf"{sep} has no row in cells/e\.csv"):
        compact.expand("e", rows, cells[cells["method"] != "sep"])
    with pytest.raises(ValueError, match=rf"{ep} has no row in scores/e\.csv"):
        compact.expand("e", rows[rows["key"] != ep], cells)
    with pytest.raises(ValueError, match=r"stands twice in cells/e\.csv"):
        compact.expand("e", rows, pd.concat([cells, cells]))
    with pytest.raises(ValueError, match="column 'epsilon' is missing"):
        compact.expand("e", rows, cells.drop(columns="epsilon"))
    with pytest.raises(ValueError, match="column 'setting' is missing"):
        compact.expand("e", rows, cells.drop(columns="setting"))
    with pytest.raises(ValueError, match="column 'delta' is in the scores and in the cells"):
        compact.expand("e", rows.assign(delta=""), cells)


def test_reading_names_the_file_at_fault(tmp_path):
    rows, cells = compact.compact(frame(row(), row(split="1")))
    write_csv(tmp_path / "scores" / "e.csv", rows)
    with pytest.raises(FileNotFoundError, match=r"cells/e\.csv is missing"):
        compact.read(tmp_path, "e")
    write_csv(tmp_path / "cells" / "e.csv", cells)
    assert compact.experiments(tmp_path) == ["e"]
    assert_same_but_seed(compact.read(tmp_path, "e"), frame(row(), row(split="1")))
    write_csv(tmp_path / "scores" / "e.csv", rows.assign(status="fine"))
    with pytest.raises(ValueError, match=r"scores/e\.csv: unknown status 'fine'"):
        compact.read(tmp_path, "e")
