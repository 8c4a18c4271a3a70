"""Parsing: genuine files against their fingerprints (with a mirror), the format's traps on small made-up files."""

import os
from pathlib import Path

import numpy as np
import pytest

import datasets
from datasets.base import DataError, Table, table_sha256
from datasets.fetch import build, fetch, file_sha256
from datasets.power import matching_rows
from datasets.store import load, save
from datasets.synthetic import year_shaped

MIRROR = os.environ.get("DPBAYES_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")


def _table(name: str) -> Table:
    dataset = datasets.get(name)
    return dataset.parse(*(Path(MIRROR) / name / raw.name for raw in dataset.raw))


@needs_mirror
@pytest.mark.parametrize("name", ["kin8nm", "naval", "power", "protein", "wine"])
def test_mirror_to_npz(name, tmp_path):
    """Fetched from the mirror, every table has its published fingerprint (a wrong one raises in build)."""
    dataset = datasets.get(name)
    paths = fetch(dataset, MIRROR, tmp_path, offline=True)
    assert [file_sha256(p) for p in paths] == [r.sha256 for r in dataset.raw]
    table, fingerprint = build(dataset, paths)
    assert fingerprint == dataset.table_sha256 != ""
    save(tmp_path / "t.npz", dataset, table)
    loaded = load(tmp_path / "t.npz")
    assert loaded.ok
    assert loaded.data_hash == dataset.table_sha256
    assert loaded.raw_sha256 == tuple(r.sha256 for r in dataset.raw)
    np.testing.assert_array_equal(loaded.x, table.x)
    np.testing.assert_array_equal(loaded.y, table.y)


@needs_mirror
@pytest.mark.parametrize("name", ["kin8nm", "naval", "power", "protein", "wine"])
def test_rows_keep_to_the_documented_bounds(name):
    """A documented range that the rows leave would be misread documentation."""
    dataset, table = datasets.get(name), _table(name)
    for values, bounds in [*zip(table.x.T, dataset.x_bounds, strict=True), (table.y, dataset.y_bounds)]:
        if bounds is not None:
            assert bounds[0] <= values.min()
            assert values.max() <= bounds[1]


#: printed ranges that the rows fill, and that hold whatever the rows: the grid of a simulation.
FILLED = {"naval": {"v", "GT compressor decay state coefficient"}}


@needs_mirror
@pytest.mark.parametrize("name", ["abalone", "kin8nm", "naval", "power", "protein", "wine"])
def test_extremes_are_those_of_the_rows_and_no_other_range_is(name):
    """A range that both ends of a column fill, up to the digits printed, is named as an extreme or listed here."""
    dataset, table = datasets.get(name), _table(name)
    values = dict(zip((*dataset.columns, dataset.target), (*table.x.T, table.y), strict=True))
    filled = set()
    for column, (low, high) in dataset.bounds_of.items():
        spare = 0.002 * (high - low)
        coded = set(np.unique(values[column])) <= {0.0, 1.0}
        if values[column].min() - low <= spare and high - values[column].max() <= spare and not coded:
            filled.add(column)
    assert filled == set(dataset.extremes or ()) | FILLED.get(name, set())


@needs_mirror
def test_naval_traps():
    table = _table("naval")
    assert [i for i in range(16) if np.ptp(table.x[:, i]) == 0] == [8, 11]
    np.testing.assert_array_equal(table.x[:, 5], table.x[:, 6])
    # The compressor's grid reaches down to 0.95, the turbine's only to 0.975: the target is the compressor's.
    assert table.y.min() == 0.95
    assert table.extra.shape == (11934, 1)
    assert table.extra.min() == 0.975


@needs_mirror
def test_power_sheets():
    import openpyxl

    table = _table("power")
    order = table.authors_order
    assert sorted(order) == list(range(9568))
    assert (order != np.arange(9568)).any()
    path = Path(MIRROR) / "power" / "Folds5x2_pp.xlsx"
    book = openpyxl.load_workbook(path, read_only=True)
    first = np.array(list(book.worksheets[0].iter_rows(min_row=2, values_only=True)), dtype=float)
    book.close()
    np.testing.assert_array_equal(np.column_stack([table.x, table.y])[order], first)


@needs_mirror
def test_year_parses_genuine_rows():
    files = sorted((Path(MIRROR) / "year_subset").glob("*.csv"))
    if not files:
        pytest.skip("the mirror has no year_subset")
    for path in files:
        table = datasets.get("year").parse(path)
        lines = path.read_text().split()
        assert table.x.shape == (len(lines), 90)
        middle = len(lines) // 2
        np.testing.assert_array_equal([table.y[middle], *table.x[middle]], [float(v) for v in lines[middle].split(",")])
        assert table.y.min() >= 1922
        assert table.y.max() <= 2011


def _year_lines(n: int) -> tuple[np.ndarray, str]:
    rows = np.round(np.random.default_rng(5).normal(0, 300, (n, 91)), 5)
    rows[:, 0] = np.arange(n) % 90 + 1922
    return rows, "".join(",".join([f"{r[0]:.0f}", *(f"{v:.5f}" for v in r[1:])]) + "\n" for r in rows)


@pytest.mark.parametrize("n", [1, 7, 10, 11])
def test_year_format_in_blocks(n, tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.year._LINES_PER_BLOCK", 5)
    rows, text = _year_lines(n)
    path = tmp_path / "YearPredictionMSD.txt"
    path.write_text(text + "\n")
    table = datasets.get("year").parse(path)
    np.testing.assert_array_equal(table.y, rows[:, 0])
    np.testing.assert_array_equal(table.x, rows[:, 1:])


def test_year_with_a_missing_column_or_no_rows(tmp_path):
    path = tmp_path / "YearPredictionMSD.txt"
    path.write_text("".join(line.rsplit(",", 1)[0] + "\n" for line in _year_lines(3)[1].splitlines()))
    with pytest.raises(DataError, match=r"YearPredictionMSD.txt has 90 columns where 91 are due; delete"):
        datasets.get("year").parse(path)
    path.write_text("\n")
    with pytest.raises(DataError, match=r"YearPredictionMSD\.txt has no rows"):
        datasets.get("year").parse(path)


def test_protein_moves_its_target_last(tmp_path):
    path = tmp_path / "CASP.csv"
    path.write_text('"RMSD",' + ",".join(f'"F{i}"' for i in range(1, 10)) + "\n17.5,1,2,3,4,5,6,7,8,9\n")
    table = datasets.get("protein").parse(path)
    np.testing.assert_array_equal(table.x, [[1, 2, 3, 4, 5, 6, 7, 8, 9]])
    np.testing.assert_array_equal(table.y, [17.5])


def test_missing_column_is_named(tmp_path):
    path = tmp_path / "winequality-red.csv"
    path.write_text('"fixed acidity";"quality"\n7.4;5\n')
    with pytest.raises(DataError, match=r"winequality-red.csv has no column 'volatile acidity'.*fetch it again"):
        datasets.get("wine").parse(path)


def test_naval_with_a_missing_column(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("1 2 3\n")
    with pytest.raises(DataError, match=r"data.txt has 3 columns where 18 are due"):
        datasets.get("naval").parse(path)


@pytest.mark.parametrize("line", ["1,2", "a,b,c,d,e,f,g,h,i"])
def test_bad_line(line, tmp_path):
    path = tmp_path / "kin.csv"
    path.write_text(",".join([*(f"theta{i}" for i in range(1, 9)), "y"]) + "\n0,0,0,0,0,0,0,0,0\n" + line + "\n")
    with pytest.raises(DataError, match=r"kin.csv cannot be read .*; delete the file"):
        datasets.get("kin8nm").parse(path)


def _workbook(path: Path, sheets: dict) -> Path:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_power_on_a_small_workbook(tmp_path):
    header = ["AT", "V", "AP", "RH", "PE"]
    a, b, c = [1.0, 2, 3, 4, 5], [6.0, 7, 8, 9, 10], [1.0, 2, 3, 4, 6]
    path = _workbook(tmp_path / "p.xlsx", {"Sheet1": [header, c, a, b, a], "Sheet5": [header, a, b, a, c]})
    table = datasets.get("power").parse(path)
    np.testing.assert_array_equal(table.y, [5, 10, 5, 6])
    np.testing.assert_array_equal(table.authors_order, [3, 0, 1, 2])

    path = _workbook(tmp_path / "q.xlsx", {"Sheet1": [header, a], "Sheet5": [["AT", "V", "AP", "RH"], a[:4]]})
    with pytest.raises(DataError, match=r"q.xlsx has no column 'PE'"):
        datasets.get("power").parse(path)
    path = _workbook(tmp_path / "r.xlsx", {"Sheet1": [header, a]})
    with pytest.raises(DataError, match=r"r.xlsx has no sheet 'Sheet5'"):
        datasets.get("power").parse(path)
    path = _workbook(tmp_path / "s.xlsx", {"Sheet1": [header, a], "Sheet5": [header, b]})
    with pytest.raises(DataError, match="different rows"):
        datasets.get("power").parse(path)
    (tmp_path / "t.xlsx").write_bytes(b"no zip")
    with pytest.raises(DataError, match=r"t.xlsx is no workbook"):
        datasets.get("power").parse(tmp_path / "t.xlsx")


def test_matching_rows_with_many_ties():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (200, 2)).astype(float)
    shuffled = rows[rng.permutation(200)]
    order = matching_rows(Path("x"), rows, shuffled)
    np.testing.assert_array_equal(rows[order], shuffled)
    assert sorted(order) == list(range(200))


def test_table_fingerprint_is_of_the_rows():
    import hashlib

    rng = np.random.default_rng(1)
    x, y, extra = rng.normal(size=(50_001, 3)), rng.normal(size=50_001), rng.normal(size=(50_001, 2))
    whole = np.column_stack([x, y, extra]).astype("<f8").tobytes()  # across the blocks of 20,000 rows
    assert table_sha256(x, y, extra) == hashlib.sha256(whole).hexdigest()
    assert table_sha256(np.asfortranarray(x), y) == table_sha256(x, y)


def test_synthetic_year_table():
    table = year_shaped(np.random.default_rng(11), 5000)
    assert table.x.shape == (5000, 90)
    assert table.y.min() >= 1922
    assert table.y.max() <= 2011
    np.testing.assert_array_equal(table.y, np.rint(table.y))
    again = year_shaped(np.random.default_rng(11), 5000)
    assert table_sha256(table.x, table.y) == table_sha256(again.x, again.y)
    # Inputs are correlated: with independent ones the mean |r| of 5,000 rows would be near 0.011.
    r = np.corrcoef(table.x.T)
    assert np.abs(r[np.triu_indices(90, 1)]).mean() > 0.05
    # The inputs say something of the target: a linear fit removes a fifth of the variance, out of sample.
    z = (table.x - table.x.mean(0)) / table.x.std(0)
    w = np.linalg.lstsq(z[:4000], table.y[:4000] - table.y[:4000].mean(), rcond=None)[0]
    residual = table.y[4000:] - table.y[:4000].mean() - z[4000:] @ w
    assert residual.var() < 0.8 * table.y[4000:].var()
    with pytest.raises(ValueError, match="n = 0"):
        year_shaped(np.random.default_rng(0), 0)


def test_synthetic_entry_needs_no_file(tmp_path):
    import dataclasses

    entry = datasets.get("synthetic_year")
    assert entry.kind == "synthetic"
    small = dataclasses.replace(entry, n_rows=50, generate=lambda rng: year_shaped(rng, 50))
    assert fetch(small, None, tmp_path, offline=True) == ()
    table, fingerprint = build(small)
    assert build(small)[1] == fingerprint
    save(tmp_path / "s.npz", small, table)
    assert load(tmp_path / "s.npz").kind == "synthetic"
