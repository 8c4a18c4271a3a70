"""Tables of one's own: what is read, and one line for what is wrong. About 2 CPU seconds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

import datasets
from common_tasks.own_data import compare, study, table
from common_tasks.own_data.table import facts
from datasets import draft
from datasets.draft import Given, ranges_of
from datasets.fetch import build
from datasets.schema import ABSENT, TableError
from tests.common_tasks import made_up
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
    known = facts(path, "y", "regression", Given(ranges=ranges_of(bounds)))
    assert (known.schema.n, known.schema.coded) == (80, ("a b", "c"))
    assert known.bounds == {"a b": (-5.0, 5.0), "y": (-9.0, 9.0)}
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
        assert list(known.schema.classes) == labels
        made = draft.table(tmp_path / "My table.csv", known.schema)
        np.testing.assert_array_equal(made.y, (frame["class"] == "yes").to_numpy(float))


def test_density_needs_no_target(tmp_path, frame):
    known = facts(csv(tmp_path, frame[["a b", "c"]]), None, "density")
    assert (known.schema.target, known.schema.coded) == (None, ("a b", "c"))


def test_text_is_coded_by_its_levels_and_the_page_says_so(tmp_path, frame):
    """Their range is known; what is stated has a level for any other text and one for a gap."""
    given = frame.drop(columns="class").assign(
        sex=["M", "F", None, "I"] * 20, flag=["yes", "no"] * 40, day="2011-01-01"
    )
    path = csv(tmp_path, given)
    known = facts(path, "y", "regression", Given(drop=("day",), rows_are_public=True))
    coded = ["sex=I", "sex=M", f"sex={ABSENT}", "flag"]
    assert known.schema.coded == ("a b", "c", *coded)
    assert known.bounds == {name: (0.0, 1.0) for name in coded}
    (tmp_path / "own_t.yaml").write_text(table.write_facts(known))
    made, _ = build(table.data_set(tmp_path / "own_t.yaml"), (path,))
    np.testing.assert_array_equal(made.x[:4, 2:], [[0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]])
    said = {r["column"]: r["what was done"] for r in compare.columns_of(known)}
    assert said["sex"].startswith("4 levels; coded as 3 columns of 0 and 1, all of them 0 for 'F'")
    assert said["flag"].startswith("true or false, coded as 1 and 0;")
    assert (said["day"], said["y"]) == ("left out", "target, number; range estimated from the budget")
    args = SimpleNamespace(task="regression", epsilon=[1.0], delta=1e-5, levels=None)
    none = SimpleNamespace(data=pd.DataFrame(columns=["dataset", "unit", "low", "epsilon"]), taken={})
    scores = pd.DataFrame({"epsilon": ["0.9"], "setting": ["epsilon=1"]})
    text = compare.page_text(args, known, scores, none)
    assert text.first[0].startswith("First, state the ranges of your columns: 3 of 7 have none here")
    assert "The levels of sex are taken from the rows" in text.read
    assert "separated by commas, with a decimal point and a header line. Rows are counted from 1." in text.read
    levels = Given(drop=("day",), levels={"sex": ("F", "M", "I")})
    stated = facts(path, "y", "regression", levels)
    assert "taken from" not in compare.page_text(args, stated, scores, none).read
    assert stated.schema.coded == ("a b", "c", "sex=M", "sex=I", "sex=(other)", "sex=(missing)", "flag")


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
        ("nan", "column 'c': the number is missing in 1 rows, first row 4"),
        ("inf", "column 'c': 1 values are no numbers, as others are, first row 1"),
        ("constant", "column 'c' is constant; leave it out with --drop"),
        ("text", "column 'c': 40 values are no numbers, as others are, first row 2"),
        ("few", "has 49 rows; give at least 50"),
        ("target only", "there is no input"),
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
        ("y", "classification", "has 80 classes: the classification of the common tasks"),
        ("class", "regression", "the target is text"),
    ):
        with pytest.raises(TableError) as e:
            facts(path, target, task)
        assert said in str(e.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b: [-0.1, 0.1]", "does not cover column 'a b', whose values go from"),
        ("z: [0, 1]", "it has no column 'z', named by --bounds; the columns are a b, c, y"),
        ("c: [1, 0]", "give lower < upper"),
        ("c: 3", "give [lower, upper]"),
        ("c: [0, .nan]", "two numbers"),
        ("- c", "give lines `column: [lower, upper]`"),
        ("c: [0", "not readable as YAML"),
    ],
)
def test_ranges_that_do_not_fit(tmp_path, frame, text, said):
    bounds = tmp_path / "bounds.yaml"
    bounds.write_text(text)
    path = csv(tmp_path, frame.drop(columns="class"))
    with pytest.raises(TableError, match=r"bounds\.yaml|My table\.csv") as e:
        facts(path, "y", "regression", Given(ranges=ranges_of(bounds), rows_are_public=True))
    assert said in str(e.value)


def test_files_that_are_not_there(tmp_path, frame):
    with pytest.raises(TableError, match=r"no file .*nowhere\.csv"):
        facts(tmp_path / "nowhere.csv", "y", "regression")
    with pytest.raises(TableError, match=r"no file .*nowhere\.yaml"):
        ranges_of(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epsilon", "0"], "--epsilon 0 is no budget"),
        (["--epsilon", "-1"], "--epsilon -1 is no budget"),
        (["--epsilon", "nan"], "--epsilon nan is no budget"),
        (["--epsilon", "1", "1"], "the same number twice"),
        (["--delta", "1"], "--delta 1 is no probability"),
        (["--classes", "3"], "--classes 3: the classification of the common tasks is a logistic regression of two"),
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


def test_a_file_without_a_header_line_and_its_options(tmp_path, frame, capsys):
    """The command itself: refused in one line; with the options it goes on to the next check."""
    path = tmp_path / "My table.csv"
    frame.to_csv(path, index=False, header=False)
    given = ["compare", str(path), "--task", "classification", "--target", "c4", "--epsilon", "-1"]
    assert cli.main(given) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "no header line" in line
    assert "--no-header" in line
    assert cli.main([*given, "--no-header", "--drop", "c2", "c3"]) == 2
    assert "--epsilon -1 is no budget" in capsys.readouterr().err
    (tmp_path / "levels.yaml").write_text("c4: ['no']\n")
    assert cli.main([*given, "--no-header", "--levels", str(tmp_path / "levels.yaml")]) == 1
    assert "column 'c4': levels: one class; a classification needs two" in capsys.readouterr().err
    assert cli.main([*given, "--no-header", "--levels", str(tmp_path / "nowhere.yaml")]) == 1
    assert "nowhere.yaml; write a line `column: [level, level]`" in capsys.readouterr().err


def test_the_last_page_of_compare_is_written(tmp_path, frame, monkeypatch, capsys):
    """The fits are replaced by scores that are typed here."""
    score = {"predict_mean": -2.0, "exact_posterior": -1.0, "adassp": -1.2}

    def fitted(what, everything, *_):
        made = [
            row
            for cell in everything
            for row in made_up.rows(
                {"experiment": what.name}, cell.dataset, cell.method, cell.setting,
                {"test_log_likelihood": score[cell.method]},
            )
        ]  # fmt: skip
        what.scores.parent.mkdir(parents=True)
        pd.DataFrame(made).to_csv(what.scores, index=False)

    monkeypatch.setattr(study, "_snakemake", fitted)
    given = [str(csv(tmp_path, frame[["a b", "c", "y"]])), "--target", "y", "--task", "regression"]
    assert cli.main(["compare", *given, "--methods", "adassp", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "take AdaSSP (baseline): its score is the highest on this table, 0.80." in said
    assert said.endswith(f"Page: {tmp_path / 'out' / 'index.html'}\n")
    assert "take AdaSSP" in (tmp_path / "out" / "index.html").read_text()
    assert cli.main(["compare", *given, "--methods", "adassp", "--out", given[0]]) == 1
    assert "name another folder with --out" in capsys.readouterr().err


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
