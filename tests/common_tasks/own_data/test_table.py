"""Tables of one's own: what is read, and one line for what is wrong. About 2 CPU seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import datasets
from common_tasks.own_data import compare, table
from common_tasks.own_data.table import TableError, facts
from datasets.fetch import build
from workflow import cli


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 2))
    return pd.DataFrame({"a b": x[:, 0], "c": x[:, 1], "y": x.sum(axis=1), "class": np.where(x[:, 0] > 0, "yes", "no")})


def csv(folder: Path, frame: pd.DataFrame) -> Path:
    path = folder / "My table.csv"
    frame.to_csv(path, index=False)
    return path


def test_regression_and_its_data_set(tmp_path, frame):
    path = csv(tmp_path, frame.drop(columns="class"))
    bounds = tmp_path / "bounds.yaml"
    bounds.write_text("a b: [-5, 5]\ny: [-9, 9]\n")
    known = facts(path, "y", "regression", bounds)
    assert (known.rows, known.columns, known.bounds) == (80, ["a b", "c"], {"a b": [-5.0, 5.0], "y": [-9.0, 9.0]})
    (tmp_path / "own_my_table.yaml").write_text(table.write_facts(known))
    found = table.data_set(tmp_path / "own_my_table.yaml")
    assert found.name == "own_my_table"
    assert (found.x_bounds, found.y_bounds) == (((-5.0, 5.0), None), (-9.0, 9.0))
    made, _ = build(found, (path,))
    np.testing.assert_array_equal(made.x, frame[["a b", "c"]].to_numpy())
    np.testing.assert_array_equal(made.y, frame["y"].to_numpy())


def test_classes_are_text_or_numbers(tmp_path, frame):
    for column, labels in (("class", ["no", "yes"]), ("flag", ["0", "1"])):
        given = frame.assign(flag=(frame["class"] == "yes").astype(int))
        known = facts(csv(tmp_path, given[["a b", column]]), column, "classification")
        assert known.labels == labels
        made = table.parse(tmp_path / "My table.csv", known)
        np.testing.assert_array_equal(made.y, (frame["class"] == "yes").to_numpy(float))


def test_density_needs_no_target(tmp_path, frame):
    known = facts(csv(tmp_path, frame[["a b", "c"]]), None, "density")
    assert (known.target, known.columns) == ("", ["a b", "c"])


def wrong(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    out = frame.drop(columns="class")
    if what == "nan":
        out.loc[3, "c"] = np.nan
    elif what == "inf":
        out.loc[0, "c"] = np.inf
    elif what == "constant":
        out["c"] = 2.0
    elif what == "text":
        out["c"] = ["1", "red"] * 40
    elif what == "few":
        out = out.head(49)
    elif what == "target only":
        out = out[["y"]]
    return out


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("nan", "column 'c' is empty, NaN or infinite in 1 rows, the first is row 4"),
        ("inf", "column 'c' is empty, NaN or infinite in 1 rows, the first is row 1"),
        ("constant", "column 'c' is constant (2.0); drop it"),
        ("text", "column 'c' is text (row 2: 'red')"),
        ("few", "has 49 rows; give at least 50"),
        ("target only", "no column besides the target"),
    ],
)
def test_what_a_table_may_not_hold(tmp_path, frame, what, said):
    with pytest.raises(TableError, match=r"My table\.csv") as e:
        facts(csv(tmp_path, wrong(frame, what)), "y", "regression")
    assert said in str(e.value)
    assert "\n" not in str(e.value)


def test_targets_that_do_not_fit(tmp_path, frame):
    path = csv(tmp_path, frame)
    for target, task, said in (
        ("z", "regression", "no column 'z'; the columns are a b, c, y, class"),
        (None, "regression", "needs --target COLUMN"),
        ("y", "classification", "has 80 values; classification is of two classes"),
        ("class", "regression", "column 'class' is text"),
    ):
        with pytest.raises(TableError) as e:
            facts(path, target, task)
        assert said in str(e.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b: [-0.1, 0.1]", "does not cover column 'a b', whose values go from"),
        ("z: [0, 1]", "'z' is no column that takes a range; those are a b, c, y"),
        ("c: [1, 0]", "give lower < upper"),
        ("c: 3", "give [lower, upper], two numbers"),
        ("c: [0, .nan]", "no number"),
        ("- c", "give lines `column: [lower, upper]`"),
        ("c: [0", "not readable as YAML"),
    ],
)
def test_ranges_that_do_not_fit(tmp_path, frame, text, said):
    bounds = tmp_path / "bounds.yaml"
    bounds.write_text(text)
    with pytest.raises(TableError, match=r"bounds\.yaml") as e:
        facts(csv(tmp_path, frame.drop(columns="class")), "y", "regression", bounds)
    assert said in str(e.value)


def test_files_that_are_not_there(tmp_path, frame):
    with pytest.raises(TableError, match=r"no file .*nowhere\.csv"):
        facts(tmp_path / "nowhere.csv", "y", "regression")
    with pytest.raises(TableError, match=r"no file .*nowhere\.yaml"):
        facts(csv(tmp_path, frame[["a b", "y"]]), "y", "regression", tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilon", "0"], "--epsilon 0 is no budget"),
        (["--epsilon", "-1"], "--epsilon -1 is no budget"),
        (["--epsilon", "nan"], "--epsilon nan is no budget"),
        (["--epsilon", "1", "1"], "the same number twice"),
        (["--delta", "1"], "--delta 1 is no probability"),
        (["--minutes", "0"], "--minutes 0; give a number above 0"),
        (["--name", "../x"], "--name '../x'"),
        (["--task", "ranking"], "'ranking' is not one of"),
    ],
)
def test_the_command_line_of_compare_says_it_in_one_line(tmp_path, frame, arguments, said, capsys):
    given = [str(csv(tmp_path, frame[["a b", "c", "y"]])), "--target", "y", "--task", "regression", *arguments]
    assert cli.main(["compare", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


def test_a_large_delta_is_warned_of(tmp_path, frame, capsys):
    given = [str(csv(tmp_path, frame[["a b", "c", "y"]])), "--target", "y", "--task", "regression", "--delta", "0.1"]
    assert cli.main(["compare", *given, "--methods", "nobody", "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "warning: delta = 0.1 is not below 1/rows = 0.014" in said
    assert "no private method of this task" in said


def test_a_data_set_of_a_table_is_found_from_outside(tmp_path, frame):
    path = csv(tmp_path, frame[["a b", "c", "y"]])
    (tmp_path / "own_t.yaml").write_text(table.write_facts(facts(path, "y", "regression")))
    (tmp_path / "own_t.py").write_text(compare._FILE.format(code="x"))
    before = datasets.outside()
    try:
        datasets.take([tmp_path / "own_t.py"])
        assert datasets.get("own_t").n_rows == 80
        assert "wine" in datasets.names()
    finally:
        datasets.take(before)
    assert "own_t" not in datasets.names()
    assert yaml.safe_load((tmp_path / "own_t.yaml").read_text())["file"] == "My table.csv"
