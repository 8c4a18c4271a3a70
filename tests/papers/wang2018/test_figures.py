"""Figures and runs of Wang 2018, from what is committed. About 8 CPU seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from datasets.files import ROOT
from papers.wang2018 import figures, tables, verdicts
from papers.wang2018.run import NOISE_FREE
from reports import palette
from workflow.published import KEY

REFERENCE = ROOT / "papers/wang2018/reference"


@pytest.fixture(scope="module")
def judged():
    frame = pd.read_csv(REFERENCE / "verdicts.csv.gz", dtype={"published_mean": str, "setting": str})
    return frame.assign(setting=frame["setting"].fillna(""))


def test_dots_are_told_apart_without_lines():
    looks = palette.looks(m for m in tables.METHODS if m not in NOISE_FREE)
    assert len({look.marker for look in looks.values()}) == len(looks)


def test_the_runs_behind_a_number_are_those_it_was_judged_by(judged):
    runs = verdicts.runs(REFERENCE)
    noisy = judged[judged["p_kind"].isin(["t", "rank"])]
    assert len(runs) == len(noisy) > 6000
    for row in noisy.sample(50, random_state=0).to_dict("records"):
        found = runs[(*(row[k] for k in KEY), row["reading"])]
        assert len(found) == row["n"]
        assert np.median(found) == pytest.approx(row["median"], rel=1e-4)


def test_all_cells_with_a_score_are_in_one_picture(judged, tmp_path):
    figure = figures.all_cells(judged, tmp_path / "all")
    assert f"{judged.drop_duplicates(KEY).shape[0]:,} published numbers" in figure.title
    drawn = pd.read_csv(tmp_path / "all.csv")
    assert len(drawn) == judged["mean"].notna().sum()
    assert drawn.groupby("reading").size()["authors"] == 2576


def test_errors_stand_beside_the_published_ones(tmp_path):
    """A panel a data set; where there is no data the published numbers stand alone."""
    rows = [("a", m, e, 0.1, low, 0.12, 0.2) for m in ("ssp", "adassp") for e, low in (("0.1", 0.08), ("1", 0.09))]
    rows += [("a", m, "", 0.05, 0.05, 0.05, 0.05) for m in NOISE_FREE]
    frame = pd.DataFrame(rows, columns=["dataset", "method", "epsilon", "published", "low", "median", "high"])
    (figure,) = figures.errors(frame, palette.ordered(("adassp", "ssp")), tmp_path / "e", "Errors")
    assert figure.name == "e_1"
    assert figure.title == "Errors, a to a (1 of 1)"
    text = (tmp_path / "e_1.svg").read_text()
    assert text.index("<!-- SSP -->") < text.index("<!-- AdaSSP -->")
