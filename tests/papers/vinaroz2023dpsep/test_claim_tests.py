"""Trends along a parameter, medians over independent data sets, and how often a method fails."""

import numpy as np
import pandas as pd
import pytest

from papers.vinaroz2023dpsep.claim_tests import Closer, FailsLess, Larger, Spreads, Worsens
from tests.reports.claims.made_up import FALLING, MIXTURE, lose, mixture_scores, noise, run


def test_trend_in_the_clipping_norm(config, scores):
    test = Worsens("dp_sep", along="clip", tables=("8",), quantifier="all")
    assert run(config, scores, test)["verdict"] == "holds"
    flat = scores[scores["method"] != "dp_sep_authors"].copy()
    flat.loc[flat["method"] == "dp_sep", "value"] = "1.0"
    assert run(config, flat, test)["verdict"] == "undecided"


def test_growing_spread(config, scores):
    scores = scores[scores["method"] != "dp_sep_authors"].copy()
    wide = (scores["method"] == "dp_sep") & (scores["setting"] == "clip=10")
    centre = scores.loc[wide, "value"].astype(float)
    scores.loc[wide, "value"] = [repr(float(v + 40 * abs(v) * np.sin(k))) for k, v in enumerate(centre)]
    row = run(config, scores, Spreads("dp_sep", along="clip", tables=("8",), quantifier="all"))
    assert row["verdict"] == "holds"
    assert "6 of 6 trends in favour by mean" in row["figure"]


def test_medians_decide_on_heavy_tails():
    scores = mixture_scores(FALLING)
    closer = Closer("dp_sep", tables=("1",), along="epsilon", metric="fnorm_average")
    assert run(MIXTURE, scores, closer)["verdict"] == "holds"
    assert run(MIXTURE, scores, Larger("dp_sep", "sep", tables=("1",), metric="fnorm_average"))["verdict"] == "holds"
    upside_down = mixture_scores({**FALLING, "epsilon=5": 9.0})
    row = run(MIXTURE, upside_down, closer)
    assert row["verdict"] == "does not hold"
    assert "1 significantly against (epsilon 1 to 5, median over 40 data sets)" in row["figure"]


def test_a_reading_may_have_its_own_data_set_and_metric():
    wrong = mixture_scores({**FALLING, "epsilon=5": 9.0})
    right = mixture_scores(FALLING, dataset="other", metric="squared")
    closer = Closer("dp_sep", tables=("1",), along="epsilon", metric="fnorm_average")
    assert run(MIXTURE, pd.concat([wrong, right]), closer)["verdict"] == "holds in the authors' code, not as printed"


def test_too_few_data_sets_tell_nothing():
    row = run(MIXTURE, mixture_scores(FALLING, n=3), Larger("dp_sep", "sep", tables=("1",), metric="fnorm_average"))
    assert row["verdict"] == "undecided"
    assert "no interval" in row["figure"]


def test_fails_less(config, scores):
    assert run(config, scores, FailsLess("sep", "ep", tables=("3",)))["verdict"] == "undecided"
    one = scores.reset_index(drop=True)
    worse = lose(scores, "ep", "wine", "failed")
    row = run(config, worse, FailsLess("sep", "ep", tables=("3",)))
    assert row["verdict"] == "holds"
    assert "0 of 60 against 10 of 60" in row["figure"]
    assert run(config, worse, FailsLess("ep", "sep", tables=("3",)))["verdict"] == "does not hold"
    hit = one[(one["method"] == "ep") & (one["dataset"] == "wine") & (one["protocol"] == "authors")]
    one.loc[hit.index[hit["split"] == hit["split"].iloc[0]], "status"] = "failed"
    row = run(config, one, FailsLess("ep", "sep", tables=("3",)))
    assert "1 of 60 against 0 of 60" in row["figure"]
    assert row["verdict"] == "undecided"


@pytest.mark.parametrize(
    "test",
    [
        Worsens("dp_sep", along="clip", tables=("8",)),
        Spreads("dp_sep", along="clip", tables=("8", "9")),
        FailsLess("sep", "ep", tables=("3",)),
    ],
)
def test_pure_noise_is_undecided(config, scores, test):
    assert run(config, noise(scores, 0), test)["verdict"] == "undecided"


def test_one_method_is_asked_for():
    with pytest.raises(TypeError, match="is no method"):
        FailsLess(("sep", "ep"), "vi", tables=("3",))
