"""Rows by a schema: each line maps alone, by pandas or one by one, to the last bit. About 15 CPU seconds."""

from __future__ import annotations

import itertools
import os
import random
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets import records, row_faults
from datasets.records import Rows
from datasets.schema import (
    ABSENT,
    BOOLEAN,
    EMPTY,
    LEFT_OUT,
    LEVELS,
    NUMBER,
    OTHER,
    Column,
    Problems,
    Schema,
    TableError,
)

NAMES = ("age", "town", "member", "note", "score", "y")
HEAD = ",".join(NAMES).encode()


def schema(**changed) -> Schema:
    """A schema with a column of each kind."""
    columns = (
        Column("age", NUMBER, (0.0, 120.0), default="-7"),
        Column("town", LEVELS, levels=("café", "thé", "01"), default=OTHER, missing=ABSENT),
        Column("member", BOOLEAN, default="false"),
        Column("note", LEFT_OUT),
        Column("score", NUMBER, default=EMPTY),
        Column("y", NUMBER, (-9.0, 9.0)),
    )
    return Schema(**({"n": 40, "target": "y", "task": "regression", "columns": columns} | changed))


def lines(n: int = 40) -> list[bytes]:
    rng = random.Random(3)
    return [
        f"{rng.uniform(0, 99)!r},{rng.choice(['café', 'thé', '01', 'x', ''])},{rng.choice('01')},a note,"
        f"{rng.randrange(10**6)}e{rng.randint(-9, 9)},{rng.uniform(-9, 9)!r}".encode()
        for _ in range(n)
    ]


def read(folder: Path, rows: list[bytes], of: Schema, head: bytes | None = HEAD) -> Rows:
    path = folder / "rows.csv"
    path.write_bytes(b"".join(line + b"\n" for line in ([head] if head is not None else []) + rows))
    return records.read(path, of)


def one_by_one(folder: Path, rows: list[bytes], of: Schema, monkeypatch: pytest.MonkeyPatch, **more) -> Rows:
    """The rows without the short way of pandas."""
    with monkeypatch.context() as m:
        m.setattr(records._Made, "_plain", lambda self, block: np.zeros(block.count(b"\n"), dtype=bool))
        return read(folder, rows, of, **more)


def same(a: Rows, b: Rows, left_out: int = -1) -> bool:
    """Whether two readings are equal byte by byte, without one row."""
    rows = [k for k in range(len(a.y)) if k != left_out]
    return all(getattr(a, f)[rows].tobytes() == getattr(b, f)[rows].tobytes() for f in ("x", "y", "empty", "replaced"))


# ------------------------------------------------------------------------------------------------- what a row is


def test_each_field_has_its_value(tmp_path):
    rows = [
        "30,café,yes,z,1.5,2", " 40 , thé ,F,,-1e3 ,.5", '"50","01",T,"a, b",0,-1', "x,1,0,z,1,1", "1e400,,maybe,z,2,1",
        "5,NA,1,z,x,3", "5,thé,1,z,1,", "5,thé,1,z,1", "", '5,"thé,1,z,1,2',
    ]  # fmt: skip
    found = read(tmp_path, [r.encode() for r in rows], schema(n=12))
    assert found.columns == ("age", "town", "member", "score", "y")
    x = [
        [30, 0, 0, 0, 0, 1, 1.5], [40, 1, 0, 0, 0, 0, -1000], [50, 0, 1, 0, 0, 1, 0], [-7, 0, 0, 1, 0, 0, 1],
        [-7, 0, 0, 0, 1, 0, 2], *[[0] * 7] * 7,
    ]  # fmt: skip
    np.testing.assert_array_equal(found.x, x)
    np.testing.assert_array_equal(found.y, [2, 0.5, -1, 1, 1, *[0] * 7])
    np.testing.assert_array_equal(found.empty, [False] * 5 + [True] * 7)
    marks = {(3, 0), (3, 1), (4, 0), (4, 2), (5, 3), *((row, 4) for row in range(5, 12))}
    assert {tuple(map(int, at)) for at in np.argwhere(found.replaced)} == marks


def test_there_are_exactly_n_rows(tmp_path):
    rows = lines()
    whole = read(tmp_path, rows, schema())
    fewer = read(tmp_path, rows, schema(n=7))
    assert fewer.x.tobytes() == whole.x[:7].tobytes()
    more = read(tmp_path, rows, schema(n=50))
    assert more.x[:40].tobytes() == whole.x.tobytes()
    assert more.empty[40:].all()
    assert not more.x[40:].any()


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_ends_of_lines_and_a_byte_order_mark(end, mark, tmp_path):
    expected = read(tmp_path, lines(), schema())
    path = tmp_path / "other.csv"
    for last in (b"", end):
        path.write_bytes(mark + end.join([HEAD, *lines()]) + last)
        assert same(records.read(path, schema()), expected)


def test_a_long_line_is_an_empty_row(tmp_path, monkeypatch):
    rows = lines(3)
    for size, empty in ((records.MOST_BYTES, False), (records.MOST_BYTES + 1, True)):
        note = b"5,x,1,%b,1,1"
        row = note % (b"z" * (size - len(note) + 2))
        assert len(row) == size
        for found in (
            read(tmp_path, [*rows, row], schema(n=4)),
            one_by_one(tmp_path, [*rows, row], schema(n=4), monkeypatch),
        ):
            assert found.empty.tolist() == [False, False, False, empty]


def test_a_class_is_its_place_and_any_other_text_is_an_empty_row(tmp_path):
    """Also a class that is a missing value elsewhere, and classes that are equal as numbers."""
    columns = (Column("x", NUMBER, default="0"), Column("c", LEVELS, levels=("none", "1", "01")))
    of = Schema(6, "c", "classification", columns)
    found = read(tmp_path, [b"1,none", b"1,1", b"1,01", b"1,NONE", b"1,1.0", b"1,"], of, b"x,c")
    assert found.y.tolist() == [0, 1, 2, 0, 0, 0]
    assert found.empty.tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize(("separator", "decimal"), [(";", ","), ("\t", "."), ("|", ","), (" ", ".")])
def test_separators_and_decimal_signs(separator, decimal, tmp_path, monkeypatch):
    values = np.random.default_rng(1).normal(size=(30, 2))
    rows = [separator.join(repr(float(v)).replace(".", decimal) for v in row).encode() for row in values]
    of = Schema(
        30, "y", "regression", (Column("x", NUMBER, default=EMPTY), Column("y", NUMBER)), separator=separator,
        decimal=decimal,
    )  # fmt: skip
    head = f"x{separator}y".encode()
    found = read(tmp_path, rows, of, head)
    np.testing.assert_array_equal(np.column_stack([found.x, found.y]), values)
    assert same(found, one_by_one(tmp_path, rows, of, monkeypatch, head=head))
    other = "," if decimal == "." else "."
    wrong = read(tmp_path, [f"1{other}5{separator}1".encode(), *rows[1:]], of, head)
    assert wrong.empty.tolist() == [True] + [False] * 29


@pytest.mark.parametrize(("encoding", "levels"), [("cp1251", ("да", "нет")), ("iso-8859-7", ("ναι", "όχι"))])
def test_single_byte_encodings(encoding, levels, tmp_path):
    columns = (Column("a", LEVELS, levels=levels, default=OTHER), Column("y", NUMBER))
    of = Schema(2, "y", "regression", columns, encoding=encoding)
    found = read(tmp_path, [f"{word},1".encode(encoding) for word in levels], of, b"a,y")
    assert found.x.tolist() == [[0, 0], [1, 0]]
    assert not found.replaced.any()


# --------------------------------------------------------------------------------------- nothing but its own row


@cache
def unchanged() -> Rows:
    with tempfile.TemporaryDirectory() as folder:
        return read(Path(folder), lines(), schema())


def same_for_others(folder: Path, row: bytes, at: int) -> None:
    changed = lines()
    changed[at] = row
    assert same(read(folder, changed, schema()), unchanged(), left_out=at)


WRONG = [
    b"caf\xe9,\xff,\xfe", b"\x00", b'"', b'5,"caf', b"5,caf\xe9,1,z,1,1", b"", b"   ", b"1e999,x,y,z,1e-999,1e308",
    b"9" * 400 + b",x,1,z,1,1", b"1,2,3", b"1,2,3,4,5,6,7,8", b"nan,nan,nan,nan,nan,nan", b"\xef\xbb\xbf1,x,1,z,1,1",
    b"1\r,x,1,z,1,1", b"1.5.5,x,1,z,1e1e1,1", b"1,x,1,z,1,1\x85", b"0x10,x,1,z,inf,1_000", b'1,"a""b",1,z,1,1',
    b"age,town,member,note,score,y",
]  # fmt: skip


@pytest.mark.parametrize("row", WRONG)
@pytest.mark.parametrize("at", [0, 17, 39])
def test_a_wrong_row_changes_no_other(row, at, tmp_path, monkeypatch):
    """The attacks of bytes, quotes, numbers and lengths; the same by pandas and one by one."""
    same_for_others(tmp_path, row, at)
    changed = lines()
    changed[at] = row
    assert same(read(tmp_path, changed, schema()), one_by_one(tmp_path, changed, schema(), monkeypatch))


ANY_ROW = st.one_of(
    st.binary(max_size=60).map(lambda b: b.replace(b"\n", b"")),
    st.lists(
        st.one_of(
            st.text(max_size=8).map(lambda t: t.encode("utf-8", "surrogatepass")), st.binary(max_size=6),
            st.floats().map(lambda f: repr(f).encode()), st.integers().map(lambda k: str(k).encode()),
            st.sampled_from([b'"', b"", b"\0", b"1e400", "café".encode(), b"caf\xe9", b"-", b"1e", b"2.", b".5"]),
        ),
        min_size=4, max_size=8,
    ).map(lambda fields: b",".join(fields).replace(b"\n", b"")),
)  # fmt: skip


@settings(max_examples=1000, deadline=None)
@given(row=ANY_ROW, at=st.integers(0, 39))
def test_a_thousand_rows_of_anything_change_no_other(tmp_path_factory, row, at):
    same_for_others(tmp_path_factory.getbasetemp(), row, at)


def test_each_byte_of_a_line_through_all_values_changes_no_other_row(tmp_path, monkeypatch):
    """A line end makes two lines of one, so there the rows below move on, and are the same.

    Pandas reads each line that it would be given, and the other lines as they are.
    """
    rows, at = [*lines(2), "5.5,thé,1,z,2e3,-1".encode(), *lines(1)], 2
    of = schema(n=5)
    expected = read(tmp_path, rows, of)
    for place, byte in itertools.product(range(len(rows[at])), range(256)):
        changed = rows[at][:place] + bytes([byte]) + rows[at][place + 1 :]
        all_rows = [*rows[:at], changed, *rows[at + 1 :]]
        found = one_by_one(tmp_path, all_rows, of, monkeypatch)
        if records._Made(of)._plain(changed + b"\n").all():
            assert same(read(tmp_path, all_rows, of), found)
        if byte == ord("\n"):
            assert found.x[at + 2 :].tobytes() == expected.x[at + 1 : -1].tobytes()
        else:
            assert same(found, expected, left_out=at), (place, byte)


@pytest.mark.nightly
def test_random_bytes_in_one_row_change_no_other(tmp_path, monkeypatch):
    """A fuzzer: 20,000 mutations of a line, each read by pandas and one by one. The seed is that of the day."""
    seed = int(os.environ.get("DPBAYES_FUZZ", "0")) or random.SystemRandom().getrandbits(32)
    rng, rows = random.Random(seed), lines(8)
    of = schema(n=8)
    expected = read(tmp_path, rows, of)
    for _ in range(20_000):
        at = rng.randrange(8)
        line = bytearray(rows[at])
        for _ in range(rng.randint(1, 6)):
            place = rng.randrange(len(line) + 1)
            piece = rng.choice([rng.randbytes(1), b'"', b",", b"\r", b"\0", b"e", b".", b"\xc3", b" "])
            line[place : place + rng.randint(0, 3)] = piece
        changed = [*rows[:at], bytes(line).replace(b"\n", b""), *rows[at + 1 :]]
        found = read(tmp_path, changed, of)
        assert same(found, expected, left_out=at), (seed, bytes(line))
        assert same(found, one_by_one(tmp_path, changed, of, monkeypatch)), (seed, bytes(line))


# ------------------------------------------------------------------------------------------- both ways of reading


def test_pandas_reads_numbers_as_float_does_or_refuses_them(tmp_path, monkeypatch):
    """All texts of up to five characters of numbers that it would be given, and halves between two doubles."""
    of = Schema(1, "y", "regression", (Column("x", NUMBER, default="7"), Column("y", NUMBER)), header=False)
    texts = ["".join(t) for size in range(1, 6) for t in itertools.product("05+-.eE", repeat=size)]
    given = [t.encode() + b",1\n" for t in texts]
    plain = [t for t, line in zip(texts, given, strict=True) if records._Made(of)._plain(line).all()]
    numbers = [t for t in plain if records._NUMBER.fullmatch(t.encode())]
    wrong = [t for t in plain if t not in {*numbers}]
    assert len(numbers) > 500
    assert wrong  # such as 0.0.0
    for text in wrong:
        assert read(tmp_path, [text.encode() + b",1"], of, None).replaced[0, 0]
    rows = [t.encode() + b",1" for t in numbers]
    of = replace(of, n=len(rows))
    assert same(read(tmp_path, rows, of, None), one_by_one(tmp_path, rows, of, monkeypatch, head=None))


@settings(max_examples=200, deadline=None)
@given(
    values=st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.tuples(st.integers(0, 10**40), st.integers(0, 10**40), st.integers(-340, 300)).map(
                lambda t: f"{t[0]}.{t[1]}e{t[2]}"
            ),
            st.floats(allow_nan=False, allow_infinity=False, width=32).map(lambda f: f"{f:.60f}"),
        ),
        min_size=1,
        max_size=50,
    )
)
def test_numbers_are_read_to_the_last_bit(tmp_path_factory, values):
    of = Schema(len(values), "y", "regression", (Column("x", NUMBER, default="7"), Column("y", NUMBER)), header=False)
    found = read(tmp_path_factory.getbasetemp(), [f"{v},1".encode() for v in values], of, None)
    expected = [float(v) if np.isfinite(float(v)) else 7.0 for v in values]
    np.testing.assert_array_equal(found.x[:, 0], expected)
    np.testing.assert_array_equal(np.signbit(found.x[:, 0]), np.signbit(expected))


def test_the_size_of_a_block_changes_nothing(tmp_path, monkeypatch):
    rows = [line for pair in zip(lines(), WRONG * 3, strict=False) for line in pair]
    of = schema(n=len(rows))
    expected = read(tmp_path, rows, of)
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(records, "BLOCK", size)
        assert same(read(tmp_path, rows, of), expected)


# ------------------------------------------------------------------------------------------------------ the header


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"age,town,member,note,y", "does not have score"),
        (b"age,town,member,note,score,y,more", "the schema does not have more"),
        (b"town,age,member,note,score,y", "in another order"),
        (b"age;town;member;note;score;y", "has one field, the schema 6 columns; another separator"),
        (b"1,2,3,4,5,6", "does not have age, town, member, note, score, y"),
        (b'"age', "its first line is no header"),
        (b"\xff,town", "its first line is no header"),
        (b"", "its first line is no header"),
    ],
)
def test_a_header_line_that_is_not_the_schemas_is_refused(head, said, tmp_path):
    with pytest.raises(Problems) as e:
        read(tmp_path, lines(), schema(), head)
    assert said in str(e.value)
    assert "1, 2" not in str(e.value)  # a first line that may be a row is not shown


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(TableError, match=r"no file .*nowhere\.csv"):
        records.read(tmp_path / "nowhere.csv", schema())


def test_faults_of_rows_are_counted_by_column_and_kind_without_values(tmp_path):
    rows = [
        b"30,caf\xc3\xa9,yes,z,1,2", b"31,caf\xe9,yes,z,1,2", b'"3,5",CAF\xc3\x89,yes,z,1,2', b"x,zx,yes,z,,zx",
        b'"open', b"1,2",
    ]  # fmt: skip
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\n".join([HEAD, *rows]))
    found = row_faults.of(path, schema(n=8))
    assert found == [
        "the file has 6 rows, the schema 8; missing ones are empty rows, others are ignored",
        "2 of 6 lines (33.33%) are blank, too long, have an open quote or not 6 fields: first row 5",
        "1 of 6 lines (16.67%) have an odd number of quotes",
        "column 'age': 2 of 6 fields (33.33%) do not fit: 1 with a comma, which is not the decimal sign, 1 no number; "
        "first row 3",
        "column 'town': 3 of 6 fields (50.00%) do not fit: 1 not in utf-8, 1 differ from a level in upper and lower "
        "case only, 1 not listed as a level; first row 2",
        "column 'score': 1 of 6 fields (16.67%) do not fit: 1 missing; first row 4",
        "column 'y': 1 of 6 fields (16.67%) do not fit: 1 no number; first row 4",
    ]
    read(tmp_path, ["30,thé,yes,z,1.25,2".encode()] * 4, schema(n=4))
    assert row_faults.of(path, schema(n=4)) == []
