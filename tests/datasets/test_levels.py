"""Data sets with public levels, and the synthetic one with a rare class. About 0.5 CPU seconds."""

import os

import numpy as np
import pytest

import datasets
from datasets import bike_hour, rare_events
from datasets.fetch import build, fetch
from datasets.schema import LEFT_OUT, TableError

MIRROR = os.environ.get("DPBAYES_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")


@needs_mirror
@pytest.mark.parametrize(
    ("name", "shape", "total", "levels"),
    [
        ("bike_hour", (17379, 54), 3_292_679, {"season": 4, "month": 12, "hour": 24, "weekday": 7, "weather": 4}),
        ("abalone_rings", (4177, 9), 41_493, {"sex": 3}),
    ],
)
def test_the_genuine_file_gives_the_table(name, shape, total, levels, tmp_path):
    """Its sum of targets, at most one level per row, and every value inside of its stated range."""
    dataset = datasets.get(name)
    table, fingerprint = build(dataset, fetch(dataset, MIRROR, tmp_path, offline=True))
    assert fingerprint == dataset.table_sha256 != ""
    assert (table.x.shape, table.columns, table.y.sum()) == (shape, dataset.columns, total)
    for level, count in levels.items():
        here = table.x[:, [c.startswith(f"{level}=") for c in table.columns]]
        assert here.shape[1] == count - 1
        # each level has rows, the one without a column too
        assert {0.0, 1.0} == set(here.sum(axis=1))
        assert (here.sum(axis=0) > 0).all()
    for values, bounds in zip(table.x.T, dataset.x_bounds, strict=True):
        assert bounds is None or (bounds[0] <= values.min() and values.max() <= bounds[1])


def test_what_adds_up_to_the_target_and_what_repeats_is_no_input():
    left = [c.name for c in bike_hour.SCHEMA.columns if c.kind == LEFT_OUT]
    assert left == ["row", "calendar year", "calendar month", "casual", "registered"]
    unknown = [c for c, b in zip(bike_hour.COLUMNS, bike_hour.DATASET.x_bounds, strict=True) if b is None]
    assert unknown == ["temperature", "felt temperature", "wind speed"]


def test_a_value_that_the_documentation_does_not_list_is_refused(tmp_path):
    (tmp_path / "hour.csv").write_text("1,2011,01,01,5,0,1,0,0,6,0,1,0.24,0.2879,0.81,0,3,13,16\n")
    with pytest.raises(
        TableError, match=r"column 'season': 1 of 1 fields .* do not fit: 1 not listed as a level; first row 1"
    ):
        bike_hour.parse(tmp_path / "hour.csv")


def test_one_row_in_a_hundred_is_a_rare_event():
    """The mean of the logistic function over the normal distribution of w . x, by Gauss-Hermite quadrature."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    line = rare_events.INTERCEPT + np.linalg.norm(rare_events.SLOPES) * z
    assert weight @ (1 / (1 + np.exp(-line))) / weight.sum() == pytest.approx(0.01, abs=1e-4)
    table, _ = build(rare_events.DATASET)
    # 20,000 rows: six standard deviations are 0.42 %
    assert table.y.mean() == pytest.approx(0.01, abs=0.0042)
    assert np.abs(table.x).max() <= rare_events.LIMIT
    assert rare_events.DATASET.kind == "synthetic"
    assert "synthetic" in rare_events.DATASET.title
