"""The simulated table of Honkela et al. 2018."""

import os

import numpy as np
import pytest

import datasets
from datasets import honkela2018
from datasets.base import DataError
from datasets.fetch import build, fetch

MIRROR = os.environ.get("DPBAYES_MIRROR")


def test_two_files_make_a_table(tmp_path):
    x, y = tmp_path / "x_data.csv", tmp_path / "y_data.csv"
    x.write_text("1,2\n3,4\n")
    y.write_text("5\n6\n")
    table = honkela2018.parse(x, y)
    assert table.x.tolist() == [[1, 2], [3, 4]]
    assert table.y.tolist() == [5, 6]
    y.write_text("5\n")
    with pytest.raises(DataError, match=r"y_data\.csv has shape \(1, 1\) for 2 rows of x_data\.csv"):
        honkela2018.parse(x, y)


@pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")
def test_the_rows_are_those_of_seed_42(tmp_path):
    """Up to the last bits of another libm and BLAS."""
    known = datasets.get("honkela2018")
    table, _ = build(known, fetch(known, MIRROR, tmp_path, offline=True))
    rng = np.random.RandomState(42)
    x, b = rng.normal(0, 1, (1000, 10)), rng.normal(0, 1, 10)
    assert np.abs(table.x - x).max() < 1e-14
    assert np.abs(table.y - rng.normal(x @ b, 1)).max() < 1e-14
