"""Runs and single runs of Jälkö et al. 2017, from what is committed. About 4 CPU seconds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from datasets.files import ROOT
from papers.jalko2017dpvi import figures, tables, verdicts
from workflow.published import KEY

REFERENCE = ROOT / "papers/jalko2017dpvi/reference"


@pytest.fixture(scope="module")
def judged():
    return pd.read_csv(REFERENCE / "verdicts.csv.gz", dtype=str, keep_default_na=False)


def test_the_runs_behind_a_number_are_those_it_was_judged_by(judged):
    runs = verdicts.runs(REFERENCE)
    told = judged[judged["mean"] != ""]
    assert len(runs) == len(told) == 172
    for row in told.to_dict("records"):
        found = runs[(*(row[k] for k in KEY), row["reading"])]
        assert len(found) == int(float(row["n"]))
        assert np.mean(found) == pytest.approx(float(row["mean"]), abs=1e-8)


def test_every_published_single_run_is_drawn_beside_ours(judged, tmp_path):
    frame = tables.accuracies(judged)
    figure = figures.single_runs(frame, REFERENCE, tmp_path / "runs")
    assert "every single run" in figure.title
    drawn = pd.read_csv(tmp_path / "runs.csv")
    assert drawn.groupby("reading").size().to_dict() == {"published": 100, "authors": 400, "corrected": 400}
    theirs = np.concatenate([1 - v for (t, _), v in verdicts.single_runs().items() if t == figures.NOISES])
    assert sorted(drawn.loc[drawn["reading"] == "published", "accuracy"]) == pytest.approx(sorted(theirs))
