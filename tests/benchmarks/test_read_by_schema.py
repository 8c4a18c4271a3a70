"""The benchmark of reading by a schema reads the same numbers as pandas. No time is asserted."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import read_by_schema as bench
from datasets import records


@pytest.mark.parametrize("what", ["numbers", "short"])
def test_both_read_the_same_numbers(what, tmp_path):
    schema = bench.written(what, tmp_path / "rows.csv", 500)
    rows = records.read(tmp_path / "rows.csv", schema)
    frame = pd.read_csv(tmp_path / "rows.csv")
    np.testing.assert_array_equal(np.column_stack([rows.x, rows.y]), frame.to_numpy())


def test_each_kind_of_file_is_measured_and_committed():
    assert [*bench.measure(rows=200, rounds=1)["file"]] == [*bench.FILES]
    committed = pd.read_csv(bench.TABLE)
    assert [*committed["file"]] == [*bench.FILES]
    assert (committed["rows"] == bench.ROWS).all()
    ratio = committed["by_schema"] / committed["pandas"]
    # all three are rounded to two digits
    rounding = 0.005 * (1 + (1 + ratio) / committed["pandas"])
    assert ((committed["ratio"] - ratio).abs() <= rounding).all()
