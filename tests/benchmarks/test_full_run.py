"""The benchmark of a full run's fits: which groups are taken, and one pair of fits."""

import pytest

from benchmarks import full_run
from datasets.files import ROOT
from workflow import committed


@pytest.fixture(scope="module")
def reference():
    return committed.Reference()


def test_groups_are_the_largest_ones_with_a_median_cell(reference):
    few, more = (full_run.groups(reference, share) for share in (0.3, 0.5))
    assert few == more[: len(few)]
    hours = [row[2] for row in more]
    assert hours == sorted(hours, reverse=True)
    groups = {(c.experiment, c.dataset, c.method) for c, _, _ in more}
    assert len(groups) == len(more)
    for cell, seconds, _ in few:
        took = reference.seconds(cell.experiment)
        same = [
            took[c.id]
            for c in reference.entries[cell.experiment, cell.method]
            if c.dataset == cell.dataset and c.id in took
        ]
        assert sum(s < seconds for s in same) <= len(same) / 2
        assert sum(s > seconds for s in same) <= len(same) / 2


CELL = """
import json
def run(cells, data, out):
    (out / "fits").mkdir(parents=True)
    fits = [{"seconds": SECONDS} for _ in range(cells[0].splits)]
    (out / "fits" / f"{cells[0].id}.json").write_text(json.dumps({"splits": fits}))
"""
CELLS = """
from dataclasses import dataclass
@dataclass
class Cell:
    experiment: str
    dataset: str
    protocol: str
    method: str
    setting: str
    splits: int = 20
    id: str = "x"
def cells(path, scale):
    return [Cell(*KNOWN)]
"""


def checkout(folder, seconds, known, experiment):
    """A checkout with one cell of one experiment, whose fits take ``seconds``."""
    (folder / "workflow").mkdir(parents=True)
    (folder / "workflow/cell.py").write_text(CELL.replace("SECONDS", str(seconds)))
    (folder / "workflow/experiments.py").write_text(CELLS.replace("KNOWN", repr(known)))
    path = folder / full_run.experiments()[experiment].relative_to(ROOT)
    path.parent.mkdir(parents=True)
    path.touch()
    return folder


def test_a_pair_sums_the_seconds_of_both_checkouts(reference, tmp_path):
    cell = reference.entries["dpsep_uci", "ridge"][0]
    known = [getattr(cell, k) for k in full_run.KEYS]
    before = checkout(tmp_path / "before", 0.25, known, "dpsep_uci")
    now = checkout(tmp_path / "now", 0.5, known, "dpsep_uci")
    other = checkout(tmp_path / "other", 1.0, [*known[:-1], "another"], "dpsep_uci")
    assert full_run.pair((before, now), cell, 3, tmp_path / "wine.npz") == [0.75, 1.5]
    assert full_run.pair((other, now), cell, 1, tmp_path / "wine.npz") == [None, 0.5]
    (now / "workflow/cell.py").write_text("raise SystemExit(3)")
    with pytest.raises(RuntimeError, match=f"{cell.id}: a fit ended with 3"):
        full_run.pair((before, now), cell, 1, tmp_path / "wine.npz")
