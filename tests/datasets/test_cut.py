"""Regression tables that are cut at a threshold."""

import os

import pytest

import datasets
from datasets.cut import DATASETS
from datasets.fetch import build, fetch

MIRROR = os.environ.get("DPBAYES_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="DPBAYES_MIRROR is not set: no raw files to parse")
#: table -> (threshold, rows that reach it), by counting the raw target.
POSITIVES = {
    "wine_cut": (6, 855),
    "power_cut": (450, 5013),
    "naval_cut": (0.975, 6084),
    "protein_cut": (10, 16707),
    "airfoil_cut": (120, 1143),
    "concrete_cut": (40, 379),
}


def test_each_table_is_named_as_what_it_cuts_and_keeps_its_inputs():
    assert {d.name for d in DATASETS} == set(POSITIVES)
    for cut in DATASETS:
        of = datasets.get(cut.folder)
        assert (cut.n_rows, cut.columns, cut.x_bounds, cut.raw) == (of.n_rows, of.columns, of.x_bounds, of.raw)
        assert cut.y_bounds is None
        assert of.target not in (cut.extremes or ())
        assert f"cut at {POSITIVES[cut.name][0]:g}" in cut.title


@needs_mirror
@pytest.mark.parametrize("name", POSITIVES)
def test_classes(name, tmp_path):
    cut, (threshold, positives) = datasets.get(name), POSITIVES[name]
    table, fingerprint = build(cut, fetch(cut, MIRROR, tmp_path, offline=True))
    of = datasets.get(cut.folder)
    whole, _ = build(of, fetch(of, MIRROR, tmp_path, offline=True))
    assert fingerprint == cut.table_sha256
    assert (table.y == (whole.y >= threshold)).all()
    assert (table.x == whole.x).all()
    assert table.y.sum() == positives
