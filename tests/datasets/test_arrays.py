"""Rows of data frames and arrays by a schema: each row alone, whatever the types of the container are."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets import arrays, records
from datasets.schema import ABSENT, BOOLEAN, EMPTY, LEVELS, NUMBER, OTHER, Column, Schema

NAMES = ("age", "dose", "code", "smokes", "ill")
SCHEMA = Schema(
    n=6, target="ill", task="classification",
    columns=(
        Column("age", NUMBER, (0.0, 120.0), default="50"), Column("dose", NUMBER, (0.0, 10.0), default=EMPTY),
        Column("code", LEVELS, levels=("1", "01", "2.0"), default=OTHER, missing=ABSENT),
        Column("smokes", BOOLEAN, default="false"), Column("ill", LEVELS, levels=("no", "yes")),
    ),
)  # fmt: skip
#: values that somebody may find, or put, in a field
ODD = [
    None, float("nan"), float("inf"), -float("inf"), 1e308, 10**400, -(10**400), "", "x", "1,5", "\x00", "\udcff", "é",
    b"\xff", b"3", True, False, 3, 2**60, 1 + 0j, 1 + 1j, pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64(3, "D"),
    pd.Timestamp("2020-01-01"), datetime.date(2020, 1, 1), Decimal("sNaN"), Decimal("1.5"), Decimal("1e999"),
    Fraction(1, 3), [1, 2], (1,), {"a": 1}, object(), np.float32(0.1), np.ma.masked,
]  # fmt: skip
FIELDS = st.one_of(st.sampled_from(ODD), st.floats(), st.integers(), st.text(max_size=4), st.binary(max_size=4))
ROW = [[30, 1.5, "1", True, "no"], [40.5, 2, "01", False, "yes"], [None, 3.0, 2.0, None, "yes"]]


def tables(rows: list[list]) -> dict[str, tuple]:
    """The same rows in several containers, whose types follow from all of the rows."""
    frame = pd.DataFrame([dict(zip(NAMES, row, strict=True)) for row in rows])
    inside = np.empty((len(rows), 4), dtype=object)
    for i, row in enumerate(rows):
        for j in range(4):
            inside[i, j] = row[j]
    target = np.empty(len(rows), dtype=object)
    target[:] = [row[4] for row in rows]
    return {"a frame": (frame, None), "a frame and a target": (frame.drop(columns="ill"), target),
            "objects": (inside, target)}  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(FIELDS, min_size=5, max_size=5), st.integers(0, 2))
def test_one_row_changes_no_other_row(fields, at):
    changed = [*ROW]
    changed[at] = fields
    before, after = tables(ROW), tables(changed)
    others = [i for i in range(SCHEMA.n) if i != at]
    for name in before:
        assert not arrays.faults(*before[name], SCHEMA)
        assert not arrays.faults(*after[name], SCHEMA)
        one, two = (arrays.rows_of(*t[name], SCHEMA) for t in (before, after))
        for word in ("x", "y", "empty", "replaced"):
            a, b = getattr(one, word), getattr(two, word)
            assert (a[others] == b[others]).all(), word
            assert np.isfinite(b).all()


def test_each_value_by_hand():
    found = arrays.rows_of(*tables(ROW)["a frame"], SCHEMA)
    assert SCHEMA.coded == ("age", "dose", "code=01", "code=2.0", "code=(other)", "code=(missing)", "smokes")
    assert found.x[:3].tolist() == [
        [30, 1.5, 0, 0, 0, 0, 1], [40.5, 2, 1, 0, 0, 0, 0], [50, 3, 0, 1, 0, 0, 0],
    ]  # fmt: skip
    assert found.y[:3].tolist() == [0, 1, 1]
    assert found.empty.tolist() == [False] * 3 + [True] * 3
    assert found.replaced[2].tolist() == [True, False, False, True, False]
    assert found.replaced[3].tolist() == [False] * 4 + [True]


@pytest.mark.parametrize(
    "wide", [np.int8, np.int64, np.uint64, np.float32, np.float64, bool, "Int64", "Float64", object]
)
def test_a_number_is_the_same_in_every_type_of_column(wide):
    frame = tables(ROW[:2])["a frame"][0]
    for value in (0, 1):
        one = arrays.rows_of(frame.assign(dose=pd.Series([value, value]).astype(wide)), None, SCHEMA)
        assert one.x[:2, 1].tolist() == [value, value]
        levels = arrays.rows_of(frame.assign(smokes=pd.Series([value, value]).astype(wide)), None, SCHEMA)
        assert levels.x[:2, 6].tolist() == [value, value]


def test_a_large_whole_number_is_read_as_a_double_in_every_type_of_column():
    """A None in another row turns the column into doubles; it must not change this row."""
    frame = tables(ROW[:2])["a frame"][0]
    exact, rounded = (frame.assign(age=pd.Series([2**53 + 1, v])) for v in (3, None))
    assert str(exact["age"].dtype) != str(rounded["age"].dtype)
    for name in ("age", "code"):
        one, two = (arrays.rows_of(f.assign(**{name: f["age"]}), None, SCHEMA).x[0] for f in (exact, rounded))
        assert (one == two).all()


def test_a_masked_value_is_missing():
    x = np.ma.array(np.array([[30, 1.0, 1, 1]] * 2), mask=[[True, False, True, False], [False] * 4])
    found = arrays.rows_of(x, ["no", "yes"], SCHEMA)
    assert found.x[:2].tolist() == [[50, 1, 0, 0, 0, 1, 1], [30, 1, 0, 0, 0, 0, 1]]


def test_a_text_is_read_as_a_field_of_a_file():
    frame = pd.DataFrame([dict(zip(NAMES, ("30", " 1.5", "01", "yes", "no"), strict=True))])
    found = arrays.rows_of(frame, None, SCHEMA)
    assert found.x[0].tolist() == [30, 1.5, 1, 0, 0, 0, 1]
    of_field = records.field_value(SCHEMA.columns[0], SCHEMA)
    for text in ("1e3", "1_0", "0x1", "nan", "inf", "1,5", "", "٣"):
        assert arrays.value_of(SCHEMA.columns[0], SCHEMA)(text) == of_field(text.encode())


def test_rows_beyond_the_public_number_are_left_out_and_missing_ones_are_empty():
    frame = pd.concat([tables(ROW)["a frame"][0]] * 3, ignore_index=True)
    assert arrays.rows_of(frame, None, SCHEMA).x.shape == (6, 7)
    assert not arrays.rows_of(frame, None, SCHEMA).empty.any()
    assert arrays.rows_of(frame[:0], None, SCHEMA).empty.all()


@pytest.mark.parametrize(
    ("change", "y", "said"),
    [
        (lambda f: f.set_axis(["age", "age", *NAMES[2:]], axis=1), None, ["of the name age", "no column dose"]),
        (lambda f: f.assign(more=1), None, ["the schema has no column more"]),
        (lambda f: f.drop(columns="ill"), None, ["X has no column ill"]),
        (lambda f: f.to_numpy(), ["no"] * 3, [r"X has the shape (3, 5)"]),
        (lambda f: f.to_numpy()[:, :4], None, ["y is None"]),
        (lambda f: f.drop(columns=["ill", "age"]), ["no"] * 2, ["no column age", r"y has the shape (2,); X has 3"]),
    ],
)  # fmt: skip
def test_everything_that_is_wrong_with_the_containers_is_listed(change, y, said):
    found = arrays.faults(change(tables(ROW)["a frame"][0]), y, SCHEMA)
    assert len(found) == len(said)
    assert all(word in text for word, text in zip(said, found, strict=True))
