"""Kinds of CSV files that people reported to tools like this one: the right value, or one clear line.

Ranges that end too early, and frames in Python, have tests of their own.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from common_tasks.own_data import fit, schemas
from datasets import records
from datasets.schema import TableError
from workflow import cli

OPTIONS = {
    "schema": None, "task": "regression", "target": "y", "rows": 60, "bounds": None, "citation": None,
    "estimate_ranges": True, "columns": "", "drop": (), "levels": None, "no_header": False, "header": False,
    "encoding": "",
}  # fmt: skip


def table(folder: Path, text: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rows_of(path: Path, levels: str = "", **given) -> tuple[records.Rows, tuple[str, ...]]:
    """The rows as ``fit`` reads them with these options, and the names of the inputs."""
    if levels:
        given["levels"] = path.with_name("levels.yaml")
        given["levels"].write_text(levels)
    schema, _ = schemas.schema_of(SimpleNamespace(file=path, **(OPTIONS | given)))
    return records.read(path, schema), schema.coded


def said_by(words: list[str], capsys) -> str:
    assert cli.main(words) != 0
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if "warning" not in line][-1]


@pytest.mark.parametrize("written", ["[010, 020, 100]", "['010', '020', '100']"])
def test_levels_with_a_leading_zero(written, tmp_path):
    """YAML 1.1 reads 010 as 8."""
    path = table(tmp_path, "ward,y\n" + "010,1\n020,2\n100,3\n" * 20)
    found, coded = rows_of(path, f"ward: {written}\n")
    assert coded == ("ward=020", "ward=100", "ward=(other)", "ward=(missing)")
    np.testing.assert_array_equal(found.x[:3], [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    assert not found.replaced.any()


@pytest.mark.parametrize(
    "pair", [("1", "01"), ("0e1", "0e2"), ("9" * 20, "9" * 19 + "8"), ("08:30", "8:30"), ("1_1", "11")]
)
def test_levels_and_classes_that_are_equal_as_numbers(pair, tmp_path):
    a, b = pair
    path = table(tmp_path, "code,y\n" + f"{a},1\n{b},2\n" * 30)
    found, _ = rows_of(path, f"code: [{a}, {b}]\n")
    np.testing.assert_array_equal(found.x[:2, 0], [0, 1])
    path = table(tmp_path, "x,y\n" + f"1,{a}\n1,{b}\n" * 30)
    found, _ = rows_of(path, f"'y': [{a}, {b}]\n", task="classification")
    np.testing.assert_array_equal(found.y, [0, 1] * 30)
    assert not found.empty.any()


@pytest.mark.parametrize("word", ["none", "NA", "null", "?"])
def test_a_class_with_the_name_of_a_missing_value(word, tmp_path):
    path = table(tmp_path, "x,y\n" + f"1,{word}\n1,mild\n" * 30)
    found, _ = rows_of(path, f"'y': ['{word}', mild]\n", task="classification")
    np.testing.assert_array_equal(found.y, [0, 1] * 30)
    assert not found.empty.any()


def test_the_page_and_the_guarantee_name_the_classes(tmp_path, capsys):
    path = table(tmp_path, "x,c\n" + "1,ill\n-1,well\n" * 30)
    (tmp_path / "l.yaml").write_text("c: [ill, well]\n")
    words = ["fit", str(path), "--task", "classification", "--target", "c", "--rows", "60", "--method", "dp_sgd"]
    words += ["--epsilon", "5", "--levels", str(tmp_path / "l.yaml"), "--estimate-ranges", "--unchecked"]
    assert cli.main([*words, "--draws", "9", "--out", str(tmp_path / "out")]) == 0
    assert "Class 1 is well" in capsys.readouterr().out
    assert "Class 1 is 'well', and class 0 is 'ill'" in (tmp_path / "out/fit.md").read_text()
    assert '"well"' in (tmp_path / "out/guarantee.json").read_text()


@pytest.mark.parametrize("head", ["0,1,2", "x,2019,2020", "2019,x,0"])
def test_a_header_of_numbers(head, tmp_path):
    """The advice is no circle: --header takes it, and the number of rows is right."""
    path = table(tmp_path, head + "\n" + "5,6,7\n" * 60)
    target = head.split(",")[2]
    with pytest.raises(TableError, match="or --header if that line is one"):
        rows_of(path, target=target)
    found, coded = rows_of(path, target=target, header=True)
    assert coded == tuple(head.split(",")[:2])
    np.testing.assert_array_equal(np.column_stack([found.x, found.y]), [[5, 6, 7]] * 60)


@pytest.mark.parametrize(("encoding", "words"), [("cp1251", ("да", "нет")), ("iso-8859-7", ("ναι", "όχι"))])
def test_another_encoding(encoding, words, tmp_path, capsys):
    """Never guessed: as UTF-8, no level fits, and the look says why; stated, each level is found."""
    path = table(tmp_path, ("answer,y\n" + f"{words[0]},1\n{words[1]},2\n" * 30).encode(encoding))
    levels = f"answer: [{words[0]}, {words[1]}]\n"
    found, _ = rows_of(path, levels, encoding=encoding)
    np.testing.assert_array_equal(found.x[:2, 0], [0, 1])
    given = ["--task", "regression", "--target", "y", "--rows", "60", "--levels", str(tmp_path / "levels.yaml")]
    assert cli.main(["check-rows", str(path), *given, "--estimate-ranges"]) == 0
    assert "column 'answer': 60 of 60 fields (100.00%) do not fit: 60 not in utf-8" in capsys.readouterr().out
    words = ["compare", str(path), "--task", "regression", "--target", "y"]
    assert "is not in utf-8; state its encoding with --encoding" in said_by(words, capsys)


def test_ranges_with_an_exponent(tmp_path):
    path = table(tmp_path, "x,y\n" + "1,2\n" * 60)
    (tmp_path / "b.yaml").write_text("x: [-1e1, 1e1]\n'y': [-1E2, +1.e2]\n")
    schema, _ = schemas.schema_of(SimpleNamespace(file=path, **(OPTIONS | {"bounds": tmp_path / "b.yaml"})))
    assert (schema.bounds, schema.y_bounds) == (((-10, 10),), (-100, 100))


def test_all_columns_with_missing_numbers_are_listed_at_once(tmp_path, capsys):
    path = table(tmp_path, "a,b,c,y\n" + "1,2,3,4\n" * 57 + ",2,3,4\n1,NA,3,4\n1,2,,4\n")
    said = said_by(["compare", str(path), "--task", "regression", "--target", "y"], capsys)
    for name in "abc":
        assert f"column '{name}': the number is missing in 1 rows" in said
    given = ["--task", "regression", "--target", "y", "--rows", "60", "--estimate-ranges"]
    assert cli.main(["check-rows", str(path), *given]) == 0
    said = capsys.readouterr().out
    for name in "abc":
        assert f"column '{name}': 1 of 60 fields (1.67%) do not fit: 1 missing" in said
    found, _ = rows_of(path)
    assert found.empty.tolist() == [False] * 57 + [True] * 3


def test_a_constant_target(tmp_path, capsys):
    path = table(tmp_path, "x,y\n" + "".join(f"{k},5\n" for k in range(60)))
    said = said_by(["compare", str(path), "--task", "regression", "--target", "y"], capsys)
    assert "the target 'y' is constant, so there is nothing to predict; name another target" in said
    assert "--drop" not in said


def test_two_files_of_one_name(tmp_path, capsys):
    """The page of the first is not overwritten."""
    words = ["--task", "regression", "--target", "y", "--methods", "nobody", "--out", str(tmp_path / "out")]
    for folder, last in (("a", "59,1"), ("b", "59,2")):
        path = table(
            tmp_path, "x,y\n" + "".join(f"{k},{k * k % 7}\n" for k in range(59)) + last + "\n", f"{folder}/data.csv"
        )
        said = said_by(["compare", str(path), *words], capsys)
    assert "holds the page of another data.csv; name another folder with --name or --out" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sep=;\nx;y\n1;2\n", "its first line is Excel's statement of the separator; delete that line"),
        (b"PAR1\x15\x04", "it is a Parquet file, no text; write it as CSV"),
        (b"PK\x03\x04", "it is a workbook or an archive, no text; save the sheet as CSV"),
    ],
)
def test_files_that_are_no_plain_csv(text, words, tmp_path, capsys):
    path = table(tmp_path, text)
    given = [str(path), "--task", "regression", "--target", "y"]
    assert words in said_by(["compare", *given], capsys)
    more = ["--rows", "60", "--method", "adassp", "--epsilon", "1", "--estimate-ranges", "--unchecked"]
    assert words in said_by(["fit", *given, *more], capsys)


def test_a_comment_in_front_of_the_header_line(tmp_path, capsys):
    path = table(tmp_path, "# made by a tool\nx,y\n" + "1,2\n" * 60)
    given = [str(path), "--task", "regression", "--target", "y", "--rows", "60", "--method", "adassp", "--epsilon", "1"]
    assert "it has no column 'y'; its first line does not name it" in said_by(["fit", *given, "--unchecked"], capsys)


def test_a_sign_of_thousands(tmp_path, capsys):
    """In a file separated by semicolons, 1.234 may be a thousand: refused for public rows, reported to the owner."""
    path = table(tmp_path, "x;y\n" + "1.234;2\n12.345;3\n" * 30)
    words = ["--task", "regression", "--target", "y"]
    assert "the point of each number may be a sign of thousands" in said_by(["compare", str(path), *words], capsys)
    assert cli.main(["check-rows", str(path), *words, "--rows", "60", "--estimate-ranges"]) == 0
    assert "column 'x': each number may have a sign of thousands" in capsys.readouterr().out


def test_a_decimal_comma_in_one_column_is_reported_to_the_owner(tmp_path, capsys):
    path = table(tmp_path, "x;y\n" + "1,5;2\n2,25;3\n" * 30)
    words = ["--task", "regression", "--target", "y", "--rows", "60", "--estimate-ranges"]
    assert cli.main(["check-rows", str(path), *words]) == 0
    said = capsys.readouterr().out
    assert "column 'x': 60 of 60 fields (100.00%) do not fit: 60 with a comma, which is not the decimal sign" in said


def test_a_draft_of_the_header_line_is_completed_checked_and_fitted(tmp_path, capsys):
    """As a new user would: schema, an editor, check-rows, fit."""
    path = table(tmp_path, "age,town,y\n" + "30,A,1\n40,B,2\n" * 30)
    assert cli.main(["schema", str(path), "--task", "regression", "--target", "y"]) == 0
    assert "Replace each TO STATE: rows, age: kind, age: range" in capsys.readouterr().out
    schema = tmp_path / "schema.yaml"
    by = [str(path), "--schema", str(schema)]
    said = said_by(["check-rows", *by], capsys)
    for words in (
        "rows is still to be stated",
        "column 'age': kind is still",
        "column 'town': range is still",
        "'y': range",
    ):
        assert words in said
    assert not (tmp_path / "t.csv.checked").exists()
    text = schema.read_text()
    text = text.replace("rows: TO STATE", "rows: 60").replace("kind: TO STATE", "kind: number", 1)
    text = text.replace(
        "kind: TO STATE\n    range: TO STATE\n    default: empty row",
        "kind: levels\n    levels: [A, B]\n    default: (other)",
    )
    schema.write_text(
        text.replace("range: TO STATE", "range: [0, 100]").replace("source: TO STATE", "source: protocol")
    )
    assert cli.main(["check-rows", *by]) == 0
    assert "each field fits its column" in capsys.readouterr().out
    words = ["fit", *by, "--method", "adassp", "--epsilon", "1", "--draws", "9", "--out", str(tmp_path / "out")]
    assert cli.main(words) == 0
    assert cli.main(["schema", str(path), "--task", "regression", "--target", "y"]) == 1
    assert "is there already; name another file with --out" in capsys.readouterr().err


def test_a_draft_from_a_public_sample_says_what_a_private_one_costs(tmp_path, capsys):
    path = table(tmp_path, "age,town,y\n" + "30,C,1\n" * 60)
    sample = table(tmp_path, "age,town,y\n" + "30,A,1\n40,B,2\n", "sample.csv")
    words = ["schema", str(path), "--task", "regression", "--target", "y", "--rows", "60", "--public-sample"]
    assert cli.main([*words, str(sample), "--out", str(tmp_path / "a.yaml")]) == 0
    assert "no epsilon counts" not in capsys.readouterr().err
    text = (tmp_path / "a.yaml").read_text()
    assert "levels: [A, B]\n    default: (other)\n    missing: (missing)\n    source: public sample sample.csv" in text
    assert "range: TO STATE" in text
    table(tmp_path, "age,town,y\n" + "30,A,1\n40,B,2\n" * 30)
    assert cli.main([*words, str(path), "--out", str(tmp_path / "b.yaml")]) == 0
    assert "that is a release that no epsilon counts" in capsys.readouterr().err


def test_the_look_has_no_value_of_a_row(tmp_path, capsys):
    path = table(tmp_path, "age,y\n" + "zx17,1\n" * 30 + "88.5,zy\n" * 30)
    assert (
        cli.main(
            ["check-rows", str(path), "--task", "regression", "--target", "y", "--rows", "60", "--estimate-ranges"]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert not [word for word in ("zx", "zy", "88") if word in said]
    assert fit.MODELS
