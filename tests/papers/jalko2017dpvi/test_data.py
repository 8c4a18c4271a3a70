"""The two coded tables."""

import hashlib
import os

import numpy as np
import pytest

import datasets
from datasets.base import DataError, table_sha256
from papers.jalko2017dpvi import data, run

MIRROR = os.environ.get("DPBAYES_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")

ABALONE = "M,0.455,0.365,0.095,0.514,0.2245,0.101,0.15,15\nI,0.33,0.255,0.08,0.205,0.0895,0.0395,0.055,9\n"
ADULT = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, "
    "United-States, <=50K\n"
    "50, ?, 83311, Bachelors, 13, Married-civ-spouse, Exec-managerial, Husband, White, Male, 0, 0, 13, Cuba, >50K\n"
)


def test_abalone_is_coded_by_sex_and_rings(tmp_path):
    path = tmp_path / "abalone.data"
    path.write_text(ABALONE)
    table = data.parse_abalone(path)
    assert table.x[:, 0].tolist() == [2, 0]  # I < F < M
    assert table.x[0, 1:].tolist() == [0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15]
    assert table.y.tolist() == [1, 0]  # more than nine rings
    path.write_text("X,1,2\n")
    with pytest.raises(DataError, match=r"abalone\.data"):
        data.parse_abalone(path)


def test_adult_is_coded_by_the_alphabet(tmp_path):
    path = tmp_path / "adult.data"
    path.write_text(ADULT)
    x = data.parse_adult(path).x
    assert x[:, 1].tolist() == [1, 0]  # "?" before the letters
    assert x[:, 13].tolist() == [1, 0]
    assert data.parse_adult(path, "appearance").x[:, 13].tolist() == [0, 1]
    assert data.parse_adult(path, "names").x[:, 13].tolist() == [0, 12]  # 13th of the list
    assert data.parse_adult(path).y.tolist() == [0, 1]
    path.write_text("1, 2\n")
    with pytest.raises(DataError, match=r"adult\.data"):
        data.parse_adult(path)


@needs_mirror
@pytest.mark.parametrize(
    ("name", "n", "n_test", "ones", "ones_test"),
    [("abalone_coded", 3341, 836, 0.5055, 0.4689), ("adult_coded", 26048, 6513, 0.2396, 0.2457)],
)
def test_the_tables(name, n, n_test, ones, ones_test, tmp_path):
    table = data.table(name, MIRROR, tmp_path)
    assert table_sha256(table.x, table.y) == data.FINGERPRINTS[name]
    split = data.split(table)
    assert (split.n, len(split.y_test)) == (n, n_test)
    assert (split.y.mean(), split.y_test.mean()) == (pytest.approx(ones, abs=5e-5), pytest.approx(ones_test, abs=5e-5))
    both = np.vstack([split.x, split.x_test])
    assert both.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert both.std(axis=0) == pytest.approx(1, abs=1e-12)


@needs_mirror
def test_the_labels_and_numbers_are_those_of_the_suites_own_tables(tmp_path):
    """By other code: the suite's parsers of the same files."""
    from dataclasses import replace

    from datasets.fetch import build, fetch

    own = datasets.get("abalone")
    table, _ = build(own, fetch(own, MIRROR, tmp_path, offline=True))
    ours = data.table("abalone_coded", MIRROR, tmp_path)
    assert np.array_equal(table.y, ours.y)
    assert np.array_equal(table.x[:, :7], ours.x[:, 1:])
    assert np.array_equal(ours.x[:, 0], 2 * table.x[:, 8] + (1 - table.x[:, 7] - table.x[:, 8]))
    own = datasets.get("adult")
    x, y = datasets.adult._rows(fetch(replace(own, raw=own.raw[:1]), MIRROR, tmp_path, offline=True)[0])
    ours = data.table("adult_coded", MIRROR, tmp_path)
    assert np.array_equal(y, ours.y)
    assert np.array_equal(x[:, :6], ours.x[:, [0, 2, 4, 10, 11, 12]])
    at = 6
    for j, name in enumerate(datasets.adult.FIELDS):
        if name in datasets.adult.LEVELS:
            levels = datasets.adult.SORTED_LEVELS[name]
            width = len(levels) - 1
            number = x[:, at : at + width] @ np.arange(1, width + 1)
            at += width
            assert np.array_equal(number, ours.x[:, j]), name


@needs_mirror
def test_the_last_row_of_abalone_has_the_bytes_of_the_authors_file(tmp_path):
    """Seven inputs, scaled, as the program's file aba.p ends; the sex differs in its last digits there."""
    split = data.load("abalone_coded", MIRROR, tmp_path)
    last = split.x_test[-1, 1:].astype("<f8").tobytes()
    assert hashlib.sha256(last).hexdigest() == LAST_ROW


#: sha256 of the last seven numbers of the authors' input, little-endian doubles.
LAST_ROW = "e7254e594bbfefdf625ee25ce5a24f82eeca732b3aaea8c20691e923a3eed29e"


def test_the_settings_of_the_cells():
    cells = run.published()
    assert len(cells) == 87
    s = run.setting_of(cells["setting"].iloc[0])
    assert (s.sigma, s.clip, s.kappa, s.steps, s.rate) == (2.0, 1.0, 0.01, 2000, 0.1)
    plain = run.setting_of("kappa=0.01;T=20000")
    assert (plain.sigma, plain.clip, plain.rate) == (None, np.inf, 0.01)
    compared = cells.loc[cells["table"] == "sgld_vs_advi_abalone", "setting"]
    assert [run.setting_of(t).sigma for t in compared] == pytest.approx(np.exp(np.linspace(0.2, 5, 10)), rel=1e-15)
