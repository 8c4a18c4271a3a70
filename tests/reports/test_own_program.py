"""Commands that the papers with a program of their own share."""

from __future__ import annotations

import gzip

import pandas as pd
import pytest

from reports import own_program
from reports.own_program import Program, check_command, read_scores, score_command, write


def rows(name, scale, mirror, raw):
    yield {"name": name, "scale": scale, "value": "1.5"}


def table_of_sums(scores, folder):
    return {"sums.csv": pd.DataFrame({"sum": [scores["value"].astype(float).sum()]})}


@pytest.fixture
def program(tmp_path, monkeypatch):
    """One whose committed reference stands in a folder of the test."""
    monkeypatch.setattr(own_program, "ROOT", tmp_path)
    found = Program("someone", table_of_sums, ("small",), lambda *_: None, lambda *_: None)
    made = tmp_path / "made"
    assert (
        score_command("m", "told", ["wine"], rows, ["name", "scale", "value"], ["wine", "--out", f"{made}/wine.csv.gz"])
        == 0
    )
    small = {"small": lambda mirror: pd.DataFrame({"x": [1 / 3]})}
    assert check_command("m", "told", small, ["small", "--out", str(made / "small.csv")]) == 0
    found.build(made, made, found.reference)
    return found


def test_the_same_table_is_the_same_file(tmp_path):
    frame = pd.DataFrame({"x": [1 / 3, 2.0]})
    for folder in ("a", "b"):
        write(tmp_path / folder / "t.csv.gz", frame)
    first = (tmp_path / "a/t.csv.gz").read_bytes()
    assert first == (tmp_path / "b/t.csv.gz").read_bytes()
    assert gzip.decompress(first) == b"x\n0.333333333\n2\n"
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["t.csv.gz"]


def test_tables_follow_from_scores_or_are_named(program):
    assert program.check() == []
    (program.reference / "sums.csv").write_text("sum\n2\n")
    assert program.check() == ["sums.csv"]


def test_only_full_scale_becomes_reference(program, tmp_path):
    score_command(
        "m", "told", ["wine"], rows, ["name", "scale", "value"],
        ["wine", "--scale", "tiny", "--out", str(tmp_path / "small/wine.csv.gz")],
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"scale \['tiny'\]; only full may become reference"):
        program.build(tmp_path / "small", program.reference, program.reference)
    program.build(tmp_path / "small", program.reference, tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere/sums.csv").read_text() == "sum\n1.5\n"


def test_a_folder_without_scores_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="run the tables first"):
        read_scores(tmp_path)


def test_an_unknown_table_is_refused(capsys, tmp_path):
    with pytest.raises(SystemExit):
        score_command("m", "told", ["wine"], rows, ["name"], ["power", "--out", str(tmp_path / "x.csv.gz")])
    assert "invalid choice: 'power'" in capsys.readouterr().err
