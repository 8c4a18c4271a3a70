"""The public schema: everything that is wrong at once, scalars as they are written, encodings. About 1 CPU second."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from datasets import yaml_file
from datasets.schema import (
    ABSENT,
    BOOLEAN,
    EMPTY,
    ESTIMATE,
    LEFT_OUT,
    LEVELS,
    NUMBER,
    OTHER,
    TO_STATE,
    Column,
    Problems,
    Schema,
    TableError,
    codec,
)  # fmt: skip

GOOD = """
rows: 300
task: classification
target: c
rate of class 1: 0.02
columns:
  x: {kind: number, range: [-1e1, 0100], default: 5, source: "code book, p. 3"}
  ward: {kind: levels, levels: [010, 08:30, 1_1, NO, 'null', 2020-01-01, ~], default: (other), missing: (missing)}
  id: left out
  member: {kind: true or false, default: empty row}
  pay: {kind: number, range: estimate, default: empty row}
  c: {kind: levels, levels: ["none", mild], source: protocol}
"""


def written(folder, text: str):
    path = folder / "schema.yaml"
    path.write_text(text)
    return path


def test_scalars_are_texts_as_written(tmp_path):
    """YAML 1.1 reads 010 as 8, 08:30 as 510, 1_1 as 11, NO as false and -1e1 as a text."""
    schema = Schema.read(written(tmp_path, GOOD))
    assert schema.column("ward").levels == ("010", "08:30", "1_1", "NO", "null", "2020-01-01", "~")
    assert (schema.column("x").range, schema.column("pay").range) == ((-10.0, 100.0), None)
    assert (schema.n, schema.classes, schema.rate) == (300, ("none", "mild"), 0.02)
    assert schema.coded[:3] == ("x", "ward=08:30", "ward=1_1")
    assert schema.bounds == ((-10.0, 100.0), *[(0.0, 1.0)] * 9, None)
    assert schema.sources == ("code book, p. 3", "protocol")


def test_a_schema_is_written_and_read_back(tmp_path):
    schema = Schema.read(written(tmp_path, GOOD))
    again = Schema.read(written(tmp_path, schema.text()))
    assert again == schema
    assert again.sha256 == schema.sha256
    assert replace(schema, n=301).sha256 != schema.sha256
    # a comment and the order of keys within a column say nothing
    assert Schema.read(written(tmp_path, GOOD.replace("rows", "# more\nrows"))).sha256 == schema.sha256
    assert replace(schema, looked=True).sha256 == schema.sha256
    assert len(replace(schema, looked=True).limits) == len(schema.limits) + 1


def test_everything_that_is_wrong_is_said_at_once(tmp_path):
    text = f"""
row: 300
encoding: utf-16
separator: colon
decimal: komma
task: regression
target: price
columns:
  a: {{kind: number, range: [1, 0], default: zero}}
  b: {{kind: number, default: 1}}
  c: {{kind: levels, levels: [x, x, (other)], default: y, missing: all}}
  d: {{kind: words}}
  e: {{kind: levels, levels: {TO_STATE}, default: (other)}}
  f: {{kind: true or false, default: maybe, range: [0, 1]}}
  g: [1, 2]
"""
    with pytest.raises(Problems) as e:
        Schema.read(written(tmp_path, text))
    for said in (
        "nobody knows 'row'", "rows is missing", "the encoding 'utf-16'", "separator: 'colon'; give one of",
        "decimal: 'komma'",
        "target: there is no column 'price'; the columns are a, b, c", "column 'a': range: [1, 0]",
        "column 'a': default: state what", "column 'b': range: give [lower, upper], two numbers, or `estimate`",
        "column 'c': levels: x is listed twice", "column 'c': levels: (other) and (missing) are not listed",
        "column 'c': default: state what", "column 'c': missing: give", "column 'd': kind: give one of number",
        "column 'e': levels is still to be stated", "column 'f': range: only a number has one",
        "column 'f': default: state what", "column 'g': give lines such as",
    ):  # fmt: skip
        assert said in str(e.value), said
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": 0}, "rows: give the public number of rows"),
        ({"target": None}, "target: regression needs one"),
        ({"task": "density"}, "target: density has none"),
        ({"task": "classification"}, "the target of a classification has the kind levels"),
        ({"rate": 0.5}, "rate of class 1"),
        ({"encoding": "cp1252", "columns": (Column("a", LEVELS, levels=("да",), default=OTHER), Column("y", NUMBER))},
         "да cannot be written in the encoding cp1252"),
        ({"columns": (Column("a", NUMBER), Column("y", NUMBER))}, "column 'a': default: state what"),
        ({"columns": (Column("a", NUMBER, default="1"), Column("y", NUMBER, default="1"))}, "a target has none"),
        ({"columns": (Column("a", NUMBER, default="1"),) * 2 + (Column("y", NUMBER),)}, "columns of the same name: a"),
        ({"columns": (Column("a=b", NUMBER, default="1"), Column("a", LEVELS, levels=("c", "b"), default=OTHER),
                      Column("y", NUMBER))}, "a column and a level both become a=b"),
        ({"columns": (Column("a", LEFT_OUT), Column("y", NUMBER))}, "there is no input"),
        ({"columns": (Column("a", NUMBER, default=EMPTY, missing=ABSENT), Column("y", NUMBER))}, "missing: give"),
    ],
)  # fmt: skip
def test_a_schema_that_is_wrong(change, said):
    columns = (Column("a", NUMBER, default=EMPTY), Column("y", NUMBER))
    good = {"n": 9, "target": "y", "task": "regression", "columns": columns}
    Schema(**good)
    with pytest.raises(Problems) as e:
        Schema(**(good | change))
    assert said in str(e.value)


@pytest.mark.parametrize(
    "name", ["utf-8", "UTF8", "ascii", "latin-1", "cp1252", "windows-1251", "iso-8859-7", "koi8-r", "cp437"]
)
def test_encodings_of_one_byte_and_utf_8(name):
    assert codec(name)


@pytest.mark.parametrize(
    "name",
    [
        "utf-16", "utf-7", "utf-8-sig", "shift_jis", "gbk", "cp932", "cp037", "unicode_escape", "raw_unicode_escape",
        "rot13", "base64", "punycode", "no such", "",
    ],
)  # fmt: skip
def test_other_encodings_are_refused(name):
    with pytest.raises(TableError):
        codec(name)


def test_words_of_columns():
    column = Column("a", LEVELS, levels=("F", "M"), default=OTHER, missing=ABSENT)
    assert column.words == (
        "4 levels; coded as 3 columns of 0 and 1, all of them 0 for 'F'; a field that does not fit becomes (other)"
    )
    assert (
        Column("a", NUMBER, (0.0, 5.0), default="2").words
        == "number; range [0, 5]; a field that does not fit becomes 2"
    )
    assert Column("a", NUMBER).words == "number; range estimated from the budget"
    assert Column("a", BOOLEAN, default=EMPTY).words == (
        "true or false, coded as 1 and 0; a field that does not fit makes an empty row"
    )


def test_the_loader_of_texts_refuses_a_key_that_is_there_twice(tmp_path):
    with pytest.raises(TableError, match="the key 'rows' is there in line 1 too"):
        yaml_file.read(written(tmp_path, "rows: 1\nrows: 2\n"), TableError, yaml_file.TEXT)
    assert yaml_file.read(written(tmp_path, "a: 010"), TableError, yaml_file.TEXT) == {"a": "010"}
    assert yaml.safe_load("a: 010") == {"a": 8}


def test_a_range_may_be_estimated_only_by_that_word():
    columns = {"a": {"kind": "number", "range": "guess", "default": EMPTY}, "y": {"kind": "number", "range": ESTIMATE}}
    document = {"rows": "9", "task": "regression", "target": "y", "columns": columns}
    with pytest.raises(Problems, match="column 'a': range: give"):
        Schema.of(document)
