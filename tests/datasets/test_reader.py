"""The reader of a table that somebody has: what it reads, and one line for what it refuses. About 8 CPU seconds."""

import csv
import dataclasses
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets as sklearn_datasets

from datasets.reader import (
    ABSENT,
    BOOLEAN,
    LEFT_OUT,
    LEVELS,
    MISSING,
    NUMBER,
    OTHER,
    WHOLE,
    Given,
    Layout,
    TableError,
    check_levels,
    last_column,
    look,
    read,
    table,
)

MIRROR = os.environ.get("DPBAYES_MIRROR")
PUBLIC, STATED = Given(rows_are_public=True), Given()


def written(folder: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path = folder / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def kinds(layout: Layout) -> dict[str, str]:
    return {c.name: c.kind for c in layout.columns}


def refused(path: Path, target: str | None = "y", task: str = "regression", given: Given = STATED) -> str:
    with pytest.raises(TableError) as e:
        look(path, target, task, given)
    said = str(e.value)
    assert "\n" not in said
    assert "rows.csv" in said or "--columns" in said
    return said


# ------------------------------------------------------------------------------------------------- what is read


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**15), 10**15)), min_size=1
    ),
    separator=st.sampled_from("\t;|,"),
    comma=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "windows-1252"]),
    quoted=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_numbers_are_read_to_the_last_bit(tmp_path_factory, rows, separator, comma, encoding, quoted):
    """However they are written. The first row has 0,5, so that a comma is no sign of thousands."""
    rows = [(0.5, 1), *rows]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, quoting=quoted)
    writer.writerow(["größe", "n", "y"])
    for x, n in rows:
        writer.writerow([repr(x).replace(".", ",") if comma else repr(x), n, -n])
    path = written(tmp_path_factory.mktemp("numbers"), out.getvalue(), encoding)
    layout, count = look(path, "y", "regression", Given())
    assert (count, layout.separator, layout.decimal) == (len(rows), separator, "," if comma else ".")
    assert (kinds(layout)["n"], layout.inputs("y")) == (WHOLE, ("größe", "n"))
    made = table(path, layout, "y")
    np.testing.assert_array_equal(made.x, np.array(rows, dtype=float))
    np.testing.assert_array_equal(made.y, [-n for _, n in rows])


def is_word(word: str) -> bool:
    """Neither empty, a missing value nor a number."""
    return word == word.strip() and word.lower() not in MISSING and not any(c.isdigit() for c in word)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).filter(is_word)


@settings(max_examples=60)
@given(words=st.lists(WORDS, min_size=2, max_size=6, unique=True), data=st.data())
def test_texts_are_read_as_their_levels(tmp_path_factory, words, data):
    """Also with quotes, separators and ends of lines in them; a text that is not stated and a gap are levels."""
    stated = tuple(words[:-1])
    chosen = data.draw(st.lists(st.sampled_from([*words, "", "?"]), min_size=1, max_size=20))
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["a", "the text", "y"], *([k, word, 2 * k] for k, word in enumerate(chosen))])
    path = written(tmp_path_factory.mktemp("levels"), out.getvalue())
    layout, _ = look(path, "y", "regression", Given(levels={"the text": stated}))
    assert layout.column("the text").levels == (*stated, OTHER, ABSENT)
    place = {word: k for k, word in enumerate(stated)} | {words[-1]: len(stated)}
    expected = [place.get(word, len(stated) + 1) for word in chosen]
    np.testing.assert_array_equal(read(path, layout)["the text"], expected)
    made = table(path, layout, "y")
    assert made.columns == ("a", *(f"the text={level}" for level in (*stated, OTHER, ABSENT)[1:]))
    np.testing.assert_array_equal(made.x[:, 1:], np.eye(len(stated) + 2)[expected][:, 1:])
    bounds = layout.bounds("y")
    assert bounds == (None, *[(0.0, 1.0)] * (len(stated) + 1))


def test_a_layout_is_written_and_read_back(tmp_path):
    path = written(tmp_path, "a;b;y\n1,5;x;yes\n2,5;;no\n")
    layout, _ = look(path, "y", "classification", PUBLIC)
    assert Layout.of(json.loads(json.dumps(dataclasses.asdict(layout)))) == layout
    assert layout.words == ("Read as UTF-8, separated by semicolons, with a decimal comma and a header line.")
    assert layout.column("b").words == (
        "2 levels, taken from the rows; coded as 1 column of 0 and 1, all of them 0 for 'x'"
    )


def test_columns_are_found_by_the_header_line(tmp_path):
    """In any order; without a header line by their place, and as many as there are."""
    layout, _ = look(written(tmp_path, "a,b,y\n1,2,3\n"), "y", "regression", Given())
    made = table(written(tmp_path, "y,new,b,a\n3,9,2,1\n"), layout, "y")
    assert (made.x.tolist(), made.y.tolist()) == ([[1, 2]], [3])
    with pytest.raises(TableError, match=r"rows\.csv has no column 'b'; its columns are a, y"):
        table(written(tmp_path, "a,y\n1,3\n"), layout, "y")
    layout, _ = look(written(tmp_path, "1,2,3\n"), "c3", "regression", Given(no_header=True))
    with pytest.raises(TableError, match=r"rows\.csv has 2 columns"):
        table(written(tmp_path, "1,3\n"), layout, "c3")


def test_kinds_of_columns(tmp_path):
    rows = "n,x,flag,sex,day,y\n1,1.5,TRUE,M,2011-01-01,0\n2,2,false,,2011-01-02,1\n"
    layout, _ = look(written(tmp_path, rows), "y", "regression", Given(drop=("day",), rows_are_public=True))
    assert kinds(layout) == {"n": WHOLE, "x": NUMBER, "flag": BOOLEAN, "sex": LEVELS, "day": LEFT_OUT, "y": WHOLE}
    made = table(tmp_path / "rows.csv", layout, "y")
    assert made.columns == ("n", "x", "flag", "sex=(missing)")
    np.testing.assert_array_equal(made.x, [[1, 1.5, 1, 0], [2, 2, 0, 1]])
    assert layout.bounds("y") == (None, None, (0.0, 1.0), (0.0, 1.0))


def test_codes_are_levels_if_they_are_stated_and_01_is_1(tmp_path):
    path = written(tmp_path, "month,y\n01,1\n2,2\n12,3\n?,4\n13,5\n")
    given = Given(levels=check_levels(path, {"month": [*range(1, 13)]}))
    layout, _ = look(path, "y", "regression", given)
    np.testing.assert_array_equal(read(path, layout)["month"], [0, 1, 11, 13, 12])


def test_a_question_mark_that_is_a_stated_level_is_not_missing(tmp_path):
    path = written(tmp_path, "a,y\n?,1\n,2\nx,3\n")
    layout, _ = look(path, "y", "regression", Given(levels={"a": ("?", "x")}))
    np.testing.assert_array_equal(read(path, layout)["a"], [0, 3, 1])


def test_classes_are_words_or_numbers(tmp_path):
    for rows, labels in (
        ("a,y\n1,yes\n2,no\n", ("no", "yes")),
        ("a,y\n1,10\n2,9\n", ("9", "10")),
        ("a,y\n1,1.0\n2,0\n3,1\n", ("0", "1")),
    ):
        path = written(tmp_path, rows)
        layout, _ = look(path, "y", "classification", PUBLIC)
        assert layout.column("y").levels == labels
    np.testing.assert_array_equal(table(path, layout, "y").y, [1, 0, 1])


def test_white_space_separates_where_nothing_else_does(tmp_path):
    path = written(tmp_path, "a  b   y\n 1 2 3\n4  5 6 \n\n")
    layout, rows = look(path, "y", "regression", Given())
    assert (layout.separator, rows) == (" ", 2)
    np.testing.assert_array_equal(table(path, layout, "y").x, [[1, 2], [4, 5]])


def test_names_of_a_file_without_a_header_line(tmp_path):
    path = written(tmp_path, "1,2\n3,4\n")
    assert last_column(path, Given(no_header=True)) == "c2"
    layout, rows = look(path, "q", "regression", Given(columns=("p", "q")))
    assert (rows, layout.inputs("q"), layout.header) == (2, ("p",), False)


def test_an_unnamed_column_may_be_left_out(tmp_path):
    path = written(tmp_path, ",a,y\n0,1,2\n1,3,4\n")
    assert "column 1 has no name; give it one, or leave it out with --drop c1" in refused(path)
    layout, _ = look(path, "y", "regression", Given(drop=("c1",)))
    assert layout.inputs("y") == ("a",)


# ------------------------------------------------------------------------------------- tables that people have


@pytest.mark.parametrize(
    ("place", "target", "task", "given", "shape", "summary"),
    [
        ("bike/hour.csv", "c19", "regression", Given(no_header=True, drop=("c1", "c17", "c18")), (17379, 15), 3292679),
        ("abalone/abalone.data", "c9", "regression", Given(no_header=True, rows_are_public=True), (4177, 9), 41493),
        ("adult/adult.data", "c15", "classification", Given(no_header=True, rows_are_public=True), (32561, 100), 7841),
    ],
)
@pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to read")
def test_files_of_the_mirror(place, target, task, given, shape, summary):
    """As they are: without a header line, which is refused unless the user says so. Sums of the target by hand."""
    path = Path(MIRROR) / place
    with pytest.raises(TableError, match=r"has no header line: field [12] of its first line"):
        look(path, target, task, PUBLIC)
    layout, rows = look(path, target, task, given)
    made = table(path, layout, target)
    assert (rows, made.x.shape, made.y.sum()) == (shape[0], shape, summary)
    if place.startswith("adult"):
        assert [c.name for c in layout.columns if ABSENT in c.levels] == ["c2", "c7", "c14"]
        assert layout.column("c15").levels == ("<=50K", ">50K")


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "wine"])
@pytest.mark.parametrize("header", [True, False])
def test_tables_of_scikit_learn(tmp_path, name, header):
    found = vars(sklearn_datasets)[f"load_{name}"](as_frame=True)
    found.frame.to_csv(tmp_path / "rows.csv", index=False, header=header)
    task = "regression" if name == "diabetes" else "classification"
    given = Given() if header else Given(columns=tuple(found.frame.columns))
    layout, rows = look(tmp_path / "rows.csv", "target", task, given)
    made = table(tmp_path / "rows.csv", layout, "target")
    assert (rows, made.columns) == (len(found.frame), tuple(found.data.columns))
    np.testing.assert_array_equal(made.x, found.data.to_numpy())
    np.testing.assert_array_equal(made.y, found.target.to_numpy())
    if not header:
        assert "has no header line" in refused(tmp_path / "rows.csv", "target", task)


# ---------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("a,y\n", "has no rows"),
        ("a,a,y\n1,2,3\n", "columns 1 and 2 have the same name; rename one"),
        ("a,b\n1,2\n", "has no column 'y'; its first line does not name it"),
        ("1,2\n3,4\n", "has no header line: field 1 of its first line is a value; give --columns"),
        ("x,y\nx,z\nu,y\n", "has no header line, or has it twice"),
        ("a,y\n1,2\n3\n", "line 3 (empty ones not counted) has 1 fields, the first has 2"),
        ("a,y\n1,2\n3,4,5\n", "line 3 (empty ones not counted) has 3 fields, the first has 2"),
        ('a,y\n1,"2\n', "cannot be read (unexpected end of data); close or double its quotes"),
        ("a,y\n1,2\nred,3\n", "row 2, column 'a': the value is no number, as other rows have"),
        ("a,y\n1,2\ninf,3\n", "row 2, column 'a': the value is no number"),
        ("a,y\nred,2\n", "row 1, column 'a': the value is text; list the column's levels, which have to be public"),
        ("a,b,y\nred,big,2\n", "or leave it out with --drop a. Text is in 2 columns: a, b"),
        ("a,y\n1,2\n,3\n", "row 2, column 'a': the number is missing, in 1 of 2 rows; fill or drop those rows, or"),
        ("a,y\n1,2\n2,NA\n", "row 2, column 'y': the target is missing; drop such rows (1)"),
        ("a,y\n,2\n?,3\n", "column 'a' is empty; leave it out with --drop a"),
        ("a,y\n2011-01-31,2\n2011-02-01,3\n", "row 1, column 'a': the value is a date or a time"),
        ("a,y\n31.1.2011 12:30,2\n", "is a date or a time; write parts of it that matter"),
        ("a,y\n3-Jan-11,2\n", "is a date or a time"),
        ("a,y\n12:30,2\n", "is a date or a time"),
        ("a,y\n1,red\n", "row 1, column 'y': the target is text, and a regression is of numbers"),
        ('a,y\n"1,234",2\n', "row 1, column 'a': the comma of the number may be a decimal sign or one of thousands"),
        ("a;y\n1,5;2.5\n", "has a comma, and row 1 of column 'y' a point"),
        ('a,y\n"1,234.5",2\n', "row 1, column 'a': the value is text"),
        (b"PK\x03\x04rest", "is a workbook or an archive"),
        (b"a,y\n1,\0\n", "has zero bytes"),
        (b"a,y\n1,\x81\n", "is neither UTF-8 nor Windows-1252"),
    ],
)
def test_what_is_refused_says_file_place_and_remedy(tmp_path, content, words):
    assert words in refused(written(tmp_path, content))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Given(columns=("a",)), "has 2 columns, and --columns names 1"),
        (Given(columns=("a", "y")), "row 1, column 'a': the value is no number, as other rows have"),
        (Given(no_header=True), "has no column 'y'; the columns are c1, c2"),
        (Given(drop=("z",)), "has no column 'z', which is named by --drop"),
        (Given(levels={"z": ("1",)}), "has no column 'z', which is named by --levels"),
        (Given(drop=("y",)), "the target 'y' is left out by --drop"),
        (Given(levels={"y": ("1",)}), "the target 'y' of a regression has levels"),
    ],
)
def test_what_is_stated_has_to_fit_the_file(tmp_path, given, words):
    said = refused(written(tmp_path, "a,y\n1,2\n3,4\n"), given=given)
    assert words in said
    if given.columns == ("a", "y"):
        assert said.endswith("if the first line is a header, leave out --no-header and --columns")


def test_levels_are_not_taken_from_rows_unless_these_are_public(tmp_path):
    path = written(tmp_path, "a,y\nred,1\nblue,0\n")
    assert "with --levels FILE, or leave it out with --drop a" in refused(path)
    assert look(path, "y", "regression", PUBLIC)[0].column("a").levels == ("blue", "red")
    classes = written(tmp_path, "a,y\n1,yes\n2,no\n")
    assert "state them with --levels FILE" in refused(classes, task="classification")
    layout, _ = look(classes, "y", "classification", Given(levels={"y": ("yes", "no")}))
    np.testing.assert_array_equal(table(classes, layout, "y").y, [0, 1])


def test_a_class_that_is_not_stated_is_refused_with_its_row(tmp_path):
    path = written(tmp_path, "a,y\n1,yes\n2,maybe\n")
    layout, _ = look(path, "y", "classification", Given(levels={"y": ("yes", "no")}))
    with pytest.raises(TableError, match=r"rows\.csv, row 2, column 'y': the value is none of its 2 levels"):
        table(path, layout, "y")


def test_a_column_of_names_is_refused(tmp_path):
    rows = "".join(f"name {chr(97 + k // 26)}{chr(97 + k % 26)},{k}\n" for k in range(120))
    said = refused(written(tmp_path, f"a,y\n{rows}"), given=PUBLIC)
    assert "row 1, column 'a': the column has more than 100 different texts" in said
    assert "column 'a' is constant" in refused(written(tmp_path, "a,y\nred,1\nred,2\n"), given=PUBLIC)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (["a"], "give lines `column: [level, level]`"),
        ({"a": "x"}, "'a' has 'x'; give a list of levels"),
        ({"a": []}, "give a list of levels"),
        ({"a": [True]}, "write it as a word in quotes"),
        ({"a": ["x", " x"]}, "has the level 'x' twice"),
        ({"a": [OTHER]}, "names (other) or (missing)"),
    ],
)
def test_levels_that_do_not_fit(stated, words):
    with pytest.raises(TableError, match=r"levels\.yaml") as e:
        check_levels(Path("levels.yaml"), stated)
    assert words in str(e.value)
