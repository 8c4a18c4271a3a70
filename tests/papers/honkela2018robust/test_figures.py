"""Figures from what is committed."""

import pandas as pd

from datasets.files import ROOT
from papers.honkela2018robust import figures

REFERENCE = ROOT / "papers/honkela2018robust/reference"


def test_points_of_the_figure():
    judged = pd.read_csv(REFERENCE / "verdicts.csv.gz", dtype={"published_mean": str})
    found = figures.points(judged)
    assert found.groupby("reading").size().to_dict() == {"authors": 48, "corrected": 15, "printed": 34, "published": 48}
    assert not found.duplicated(["table", "method", "reading", "epsilon", "n"]).any()


def test_both_figures_are_drawn(tmp_path):
    made = figures.build(REFERENCE, tmp_path)
    assert [f.name for f in made] == ["honkela2018_scores", "honkela2018_updates"]
    for figure in made:
        assert (tmp_path / f"{figure.name}.svg").is_file()
    assert set(pd.read_csv(tmp_path / "honkela2018_updates.csv")["updates"]) == {500, 2000, 4999, 10000, 20000, 50000}
