"""Medians over independent data sets."""

import pandas as pd

from reports.claims import (
    Closer,
    Larger,
)
from tests.reports.claims.made_up import FALLING, MIXTURE, mixture_scores, run


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
    assert run(MIXTURE, pd.concat([wrong, right]), closer)["verdict"] == "holds in another reading"


def test_too_few_data_sets_tell_nothing():
    row = run(MIXTURE, mixture_scores(FALLING, n=3), Larger("dp_sep", "sep", tables=("1",), metric="fnorm_average"))
    assert row["verdict"] == "not told apart"
    assert "no interval" in row["figure"]
