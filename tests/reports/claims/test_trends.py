"""Trends along a parameter."""

import numpy as np

from reports.claims import (
    Spreads,
    Worsens,
)
from tests.reports.claims.made_up import run


def test_trend_in_the_clipping_norm(config, scores):
    test = Worsens("dp_sep", along="clip", tables=("8",), quantifier="all")
    assert run(config, scores, test)["verdict"] == "holds"
    flat = scores[scores["method"] != "dp_sep_authors"].copy()
    flat.loc[flat["method"] == "dp_sep", "value"] = "1.0"
    assert run(config, flat, test)["verdict"] == "not told apart"


def test_growing_spread(config, scores):
    scores = scores[scores["method"] != "dp_sep_authors"].copy()
    wide = (scores["method"] == "dp_sep") & (scores["setting"] == "clip=10")
    centre = scores.loc[wide, "value"].astype(float)
    scores.loc[wide, "value"] = [repr(float(v + 40 * abs(v) * np.sin(k))) for k, v in enumerate(centre)]
    row = run(config, scores, Spreads("dp_sep", along="clip", tables=("8",), quantifier="all"))
    assert row["verdict"] == "holds"
    assert "6 of 6 trends in favour by mean" in row["figure"]
