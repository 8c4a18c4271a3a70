"""Drafts of a schema, from the header line and from public rows, and what is refused. About 8 CPU seconds."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets as sklearn_datasets

from datasets.draft import (
    FROM_ROWS,
    Given,
    from_header,
    from_rows,
    last_column,
    levels_of,
    ranges_of,
    table,
    with_codebook,
)
from datasets.records import MISSING
from datasets.schema import (
    ABSENT,
    BOOLEAN,
    EMPTY,
    LEFT_OUT,
    LEVELS,
    NUMBER,
    OTHER,
    TO_STATE,
    Problems,
    Schema,
    TableError,
)  # fmt: skip

MIRROR = os.environ.get("DPBAYES_MIRROR")
PUBLIC, STATED = Given(rows_are_public=True), Given()


def written(folder: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path = folder / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


def kinds(schema: Schema) -> dict[str, str]:
    return {c.name: c.kind for c in schema.columns}


def refused(path: Path, target: str | None = "y", task: str = "regression", given: Given = STATED) -> str:
    with pytest.raises(TableError) as e:
        from_rows(path, target, task, given)
    said = str(e.value)
    assert "\n" not in said
    assert "rows.csv" in said
    return said


# ------------------------------------------------------------------------------------------------- public rows


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**15), 10**15)), min_size=1
    ),
    separator=st.sampled_from("\t;|,"),
    comma=st.booleans(),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "windows-1252"]),
    quoted=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_the_format_of_public_rows_is_found(tmp_path_factory, rows, separator, comma, encoding, quoted):
    """The first row has 0,5, so that a comma is no sign of thousands. An encoding other than UTF-8 is stated."""
    rows = [(0.5, 1), *rows]
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, quoting=quoted)
    writer.writerow(["größe", "n", "y"])
    for x, n in rows:
        writer.writerow([repr(x).replace(".", ",") if comma else repr(x), n, -n])
    path = written(tmp_path_factory.mktemp("numbers"), out.getvalue(), encoding)
    stated = Given(encoding="" if encoding.startswith("utf") else encoding)
    schema = from_rows(path, "y", "regression", stated)
    assert (schema.n, schema.separator, schema.decimal) == (len(rows), separator, "," if comma else ".")
    assert schema.coded == ("größe", "n")
    made = table(path, schema)
    np.testing.assert_array_equal(made.x, np.array(rows, dtype=float))
    np.testing.assert_array_equal(made.y, [-n for _, n in rows])


def is_word(word: str) -> bool:
    """Neither empty, a missing value nor a number, without blanks around it."""
    return word == word.strip() and word.lower() not in MISSING and not any(c.isdigit() for c in word)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1, max_size=8).filter(is_word)


@settings(max_examples=60, deadline=None)
@given(words=st.lists(WORDS, min_size=2, max_size=6, unique=True), data=st.data())
def test_texts_are_read_as_their_levels(tmp_path_factory, words, data):
    """Also with quotes and separators in them; a text that is not stated and a gap are levels."""
    stated = tuple(words[:-1])
    chosen = data.draw(st.lists(st.sampled_from([*stated, "", "?"]), min_size=1, max_size=20))
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["a", "the text", "y"], *([k, word, 2 * k] for k, word in enumerate(chosen))])
    path = written(tmp_path_factory.mktemp("levels"), out.getvalue())
    schema = from_rows(path, "y", "regression", Given(levels={"the text": stated}))
    assert schema.column("the text").all_levels == (*stated, OTHER, ABSENT)
    place = {word: k for k, word in enumerate(stated)}
    expected = [place.get(word, len(stated) + 1) for word in chosen]
    made = table(path, schema)
    assert made.columns == ("a", *(f"the text={level}" for level in (*stated, OTHER, ABSENT)[1:]))
    np.testing.assert_array_equal(made.x[:, 1:], np.eye(len(stated) + 2)[expected][:, 1:])
    assert schema.bounds == (None, *[(0.0, 1.0)] * (len(stated) + 1))


def test_kinds_of_columns(tmp_path):
    rows = "n,x,flag,sex,day,y\n1,1.5,TRUE,M,2011-01-01,0\n2,2,false,,2011-01-02,1\n"
    path = written(tmp_path, rows)
    schema = from_rows(path, "y", "regression", Given(drop=("day",), rows_are_public=True))
    assert kinds(schema) == {"n": NUMBER, "x": NUMBER, "flag": BOOLEAN, "sex": LEVELS, "day": LEFT_OUT, "y": NUMBER}
    made = table(path, schema)
    assert made.columns == ("n", "x", "flag", "sex=(missing)")
    np.testing.assert_array_equal(made.x, [[1, 1.5, 1, 0], [2, 2, 0, 1]])
    assert schema.column("sex").source == FROM_ROWS
    assert schema.words == "Read as UTF-8, separated by commas, with a decimal point and a header line."


@pytest.mark.parametrize(
    ("rows", "labels"),
    [("a,y\n1,yes\n2,no\n", ("no", "yes")), ("a,y\n1,10\n2,9\n", ("9", "10")), ("a,y\n1,b\n2,a\n3,b\n", ("a", "b"))],
)
def test_classes_are_words_or_numbers(rows, labels, tmp_path):
    assert from_rows(written(tmp_path, rows), "y", "classification", PUBLIC).classes == labels


def test_white_space_separates_where_nothing_else_does(tmp_path):
    path = written(tmp_path, "a  b   y\n 1 2 3\n4  5 6 \n\n")
    schema = from_rows(path, "y", "regression", Given())
    assert (schema.separator, schema.n) == (" ", 2)
    np.testing.assert_array_equal(table(path, schema).x, [[1, 2], [4, 5]])


def test_names_of_a_file_without_a_header_line(tmp_path):
    path = written(tmp_path, "1,2\n3,4\n")
    assert last_column(path, Given(no_header=True)) == "c2"
    schema = from_rows(path, "q", "regression", Given(columns=("p", "q")))
    assert (schema.n, schema.coded, schema.header) == (2, ("p",), False)


def test_a_header_of_numbers_is_one_if_the_user_says_so(tmp_path):
    path = written(tmp_path, "0,1,2\n5,6,7\n8,9,10\n")
    assert "or --header if that line is one" in refused(path, "2")
    schema = from_rows(path, "2", "regression", Given(header=True))
    assert (schema.n, schema.coded, table(path, schema).y.tolist()) == (2, ("0", "1"), [7, 10])


def test_an_unnamed_column_may_be_left_out(tmp_path):
    path = written(tmp_path, ",a,y\n0,1,2\n1,3,4\n")
    assert "column 1 has no name; give it one, or leave it out with --drop c1" in refused(path)


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
    with pytest.raises(TableError, match=r"no header line: field [12] of its first line"):
        from_rows(path, target, task, PUBLIC)
    schema = from_rows(path, target, task, given)
    made = table(path, schema)
    assert (schema.n, made.x.shape, made.y.sum()) == (shape[0], shape, summary)
    if place.startswith("adult"):
        assert [c.name for c in schema.columns if c.missing == ABSENT] == ["c2", "c7", "c14"]
        assert schema.classes == ("<=50K", ">50K")


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer", "wine"])
@pytest.mark.parametrize("header", [True, False])
def test_tables_of_scikit_learn(tmp_path, name, header):
    found = vars(sklearn_datasets)[f"load_{name}"](as_frame=True)
    found.frame.to_csv(tmp_path / "rows.csv", index=False, header=header)
    task = "regression" if name == "diabetes" else "classification"
    given = Given() if header else Given(columns=tuple(found.frame.columns))
    schema = from_rows(tmp_path / "rows.csv", "target", task, given)
    made = table(tmp_path / "rows.csv", schema)
    assert (schema.n, made.columns) == (len(found.frame), tuple(found.data.columns))
    np.testing.assert_array_equal(made.x, found.data.to_numpy())
    np.testing.assert_array_equal(made.y, found.target.to_numpy())
    if not header:
        assert "no header line" in refused(tmp_path / "rows.csv", "target", task)


# ---------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("a,y\n", "has no rows"),
        ("a,a,y\n1,2,3\n", "columns 1 and 2 have the same name; rename one"),
        ("a,b\n1,2\n", "has no column 'y'; its first line does not name it"),
        ("1,2\n3,4\n", "no header line: field 1 of its first line is a value; give --columns"),
        ("x,y\nx,z\nu,y\n", "no header line, or has it twice"),
        ("a,y\n1,2\n3\n", "1 lines are blank, have an open quote or not 2 fields, separated by comma: first row 2"),
        ("a,y\n1,2\n3,4,5\n", "first row 2; correct or drop them"),
        (
            'a,y\n1,2\n1,"2\n3,4\n',
            "1 lines are blank, have an open quote or not 2 fields, separated by comma: first row 2",
        ),
        ("a,y\n1,2\n\n3,4\n", "first row 2"),
        ("a,y\n1,2\nred,3\n", "column 'a': 1 values are no numbers, as others are, first row 2; correct them"),
        ("a,y\n1,2\ninf,3\n", "column 'a': 1 values are no numbers, as others are, first row 2"),
        ("a,y\nred,2\n", "column 'a': it is text; list its levels, which have to be public, with --levels FILE, or"),
        ("a,y\n1,2\n,3\n", "column 'a': the number is missing in 1 rows, first row 2; fill or drop those rows, or"),
        ("a,y\n1,2\n2,NA\n", "column 'y': the target is missing in 1 rows, first row 2; drop such rows"),
        ("a,y\n,2\n?,3\n", "column 'a': it is empty; leave it out with --drop a"),
        ("a,y\n2011-01-31,2\n2011-02-01,3\n", "column 'a': the values are dates or times, first row 1"),
        ("a,y\n31.1.2011 12:30,2\n", "are dates or times, first row 1; write parts that matter"),
        ("a,y\n3-Jan-11,2\n", "are dates or times"),
        ("a,y\n12:30,2\n", "are dates or times"),
        ("a,y\n1,red\n", "column 'y': the target is text, and a regression is of numbers"),
        ('a,y\n"1,234",2\n', "row 1, column 'a': the comma of the number may be a decimal sign or one of thousands"),
        ("a;y\n1.234;2\n12.345;3\n", "column 'a': the point of each number may be a sign of thousands"),
        ("a;y\n1,5;2.5\n", "has a comma, and row 1 of column 'y' a point"),
        ('a,y\n"1,234.5",2\n', "column 'a': it is text"),
        (b"PK\x03\x04rest", "it is a workbook or an archive"),
        (b"PAR1rest", "it is a Parquet file"),
        ("sep=;\na;y\n1;2\n", "its first line is Excel's statement of the separator; delete that line"),
        (b"a,y\n1,\0\n", "has zero bytes"),
        ("a,y\n1,2\n".encode("utf-16"), "so it is UTF-16 or no text"),
        (
            "a,y\nда,1\n".encode("cp1251"),
            "is not in utf-8; state its encoding with --encoding, such as cp1252 or cp1251",
        ),
    ],
)
def test_what_is_refused_says_file_place_and_remedy(tmp_path, content, words):
    assert words in refused(written(tmp_path, content))


def test_all_faults_of_public_rows_are_said_at_once(tmp_path):
    path = written(tmp_path, "a,b,c,d,y\n1,,2011-01-01,red,\n,2,2011-01-02,blue,3\n3\n")
    said = refused(path)
    for words in (
        "1 lines are blank",
        "'a': the number is missing",
        "'b': the number is missing",
        "'c': the values are",
    ):
        assert words in said
    for words in ("'d': it is text", "'y': the target is missing"):
        assert words in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Given(columns=("a",)), "it has 2 columns, and --columns names 1"),
        (Given(columns=("a", "y")), "as others are, first row 1; correct them"),
        (Given(no_header=True), "has no column 'y'; the columns are c1, c2"),
        (Given(drop=("z",)), "no column 'z', named by --drop"),
        (Given(levels={"z": ("1",)}), "no column 'z', named by --levels"),
        (Given(ranges={"z": (0.0, 1.0)}), "no column 'z', named by --bounds"),
        (Given(drop=("y",)), "the target 'y' is left out by --drop"),
        (Given(levels={"y": ("1",)}), "the target 'y' of a regression has levels"),
    ],
)
def test_what_is_stated_has_to_fit_the_file(tmp_path, given, words):
    said = refused(written(tmp_path, "a,y\n1,2\n3,4\n"), given=given)
    assert words in said
    if given.columns == ("a", "y"):
        assert "if the first line is a header, leave out --no-header and --columns" in said


def test_levels_are_not_taken_from_rows_unless_these_are_public(tmp_path):
    path = written(tmp_path, "a,y\nred,1\nblue,0\n")
    assert "with --levels FILE, or leave it out with --drop a" in refused(path)
    assert from_rows(path, "y", "regression", PUBLIC).column("a").levels == ("blue", "red")
    classes = written(tmp_path, "a,y\n1,yes\n2,no\n")
    assert "state them with --levels FILE" in refused(classes, task="classification")
    schema = from_rows(classes, "y", "classification", Given(levels={"y": ("yes", "no")}))
    np.testing.assert_array_equal(table(classes, schema).y, [0, 1])


def test_classes_that_are_equal_as_numbers_are_refused_unless_stated(tmp_path):
    path = written(tmp_path, "a,y\n1,1\n2,01\n")
    assert "classes are equal as numbers and differ as texts" in refused(path, task="classification", given=PUBLIC)
    schema = from_rows(path, "y", "classification", Given(levels={"y": ("1", "01")}))
    np.testing.assert_array_equal(table(path, schema).y, [0, 1])


def test_a_class_that_is_not_stated_is_refused_with_its_row(tmp_path):
    path = written(tmp_path, "a,y\n1,yes\n2,maybe\n")
    schema = from_rows(path, "y", "classification", Given(levels={"y": ("yes", "no")}))
    with pytest.raises(
        Problems, match=r"column 'y': 1 of 2 fields .* do not fit: 1 not listed as a level; first row 2"
    ):
        table(path, schema)


def test_a_column_of_names_and_a_constant_one_are_refused(tmp_path):
    rows = "".join(f"name {chr(97 + k // 26)}{chr(97 + k % 26)},{k}\n" for k in range(120))
    assert "column 'a': it has more than 100 different texts" in refused(
        written(tmp_path, f"a,y\n{rows}"), given=PUBLIC
    )
    assert "column 'a': it is constant" in refused(written(tmp_path, "a,y\nred,1\nred,2\n"), given=PUBLIC)
    constant = refused(written(tmp_path, "a,y\n1,1\n2,1\n"), task="classification", given=PUBLIC)
    assert "the target is constant, so there is nothing to predict; name another target" in constant


# ---------------------------------------------------------------------------------------------- the header line


def test_a_draft_of_the_header_line_reads_no_row_and_marks_what_is_to_be_stated(tmp_path):
    path = written(tmp_path, b'age;town;id;pay\n\xff\x00;"\n')
    stated = Given(drop=("id",), levels={"town": ("A", "B")}, ranges={"age": (0.0, 120.0)}, source="code book")
    document = from_header(path, "pay", "regression", stated, None)
    assert document == {
        "encoding": "utf-8", "separator": "semicolon", "decimal": "point", "header": "yes", "rows": TO_STATE,
        "task": "regression", "target": "pay",
        "columns": {
            "age": {"kind": NUMBER, "range": ["0.0", "120.0"], "default": EMPTY, "source": "code book"},
            "town": {"kind": LEVELS, "levels": ["A", "B"], "default": OTHER, "missing": ABSENT, "source": "code book"},
            "id": {"kind": LEFT_OUT},
            "pay": {"kind": NUMBER, "range": TO_STATE, "source": TO_STATE},
        },
    }  # fmt: skip
    with pytest.raises(Problems, match="rows is still to be stated"):
        Schema.of(document)
    classes = from_header(path, "town", "classification", Given(), 3)["columns"]
    assert classes["town"]["levels"] == classes["age"]["kind"] == TO_STATE


def test_a_first_line_that_may_be_a_row_is_not_shown(tmp_path):
    for line in ("zxname,745.5\n", "745.5,y\n"):
        with pytest.raises(Problems) as e:
            from_header(written(tmp_path, line), "y", "regression", Given(), 3)
        assert "zx" not in str(e.value)
        assert "745" not in str(e.value)
    with pytest.raises(Problems, match="--no-header does not say how many columns"):
        from_header(written(tmp_path, "1,2\n"), "c2", "regression", Given(no_header=True), 3)


def test_a_codebook(tmp_path):
    book = tmp_path / "book.csv"
    book.write_text(
        "column,kind,lower,upper,levels,source\nage,number,0,120,,p. 1\ntown,levels,,,A | 01,p. 2\nid,left out,,,,\n"
    )
    found = with_codebook(Given(), book)
    assert (found.drop, found.levels, found.ranges) == (("id",), {"town": ("A", "01")}, {"age": (0.0, 120.0)})
    assert found.source == "book.csv"
    book.write_text("name\nage\n")
    with pytest.raises(TableError, match="is no codebook"):
        with_codebook(Given(), book)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a", "give lines `column: [level, level]`"),
        ("a: x", "'a' has x; give [level, level]"),
        ("a: []", "give [level, level]"),
        ("a: [[x]]", "give [level, level]"),
    ],
)
def test_a_file_of_levels_that_is_wrong(text, words, tmp_path):
    path = tmp_path / "levels.yaml"
    path.write_text(text)
    with pytest.raises(TableError, match=r"levels\.yaml") as e:
        levels_of(path)
    assert words in str(e.value)


def test_levels_and_ranges_are_read_as_written(tmp_path):
    path = tmp_path / "levels.yaml"
    path.write_text("ward: [010, 08:30, 1_1, NO, '1']\n")
    assert levels_of(path) == {"ward": ("010", "08:30", "1_1", "NO", "1")}
    path.write_text("x: [-1e1, 0100]\n")
    assert ranges_of(path) == {"x": (-10.0, 100.0)}
    for text, words in (("x: [1, 0]", "lower < upper"), ("x: [0, .nan]", "two numbers"), ("x: [0]", "two numbers")):
        path.write_text(text)
        with pytest.raises(TableError, match=words):
            ranges_of(path)
