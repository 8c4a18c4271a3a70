"""What a perfect copy would earn: the draws, each kind judged as the rule itself does, and the committed tables."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

from reports import ceiling, scoreboard
from reports.evidence import (
    Box,
    Printed,
    Runs,
    all_runs,
    batch,
    box,
    chances,
    exact,
    means,
    printed,
    single,
    streams,
)
from reports.published import KEY
from reports.verdict import REFUTED, VERDICTS, Case, judge
from workflow.papers import papers

RNG = np.random.default_rng(0)
TABLE = [(0.01, 0.1), (0.05, 0.36), (0.2, 0.9)]
WIDE = 0.3 * np.exp(0.4 * RNG.standard_normal(40))
NARROW = 0.3 * np.exp(0.02 * RNG.standard_normal(40))
CASES = {
    "means by t": Runs(printed("0.300", 10, "0.006", "sd"), NARROW, "rmse"),
    "means by ranks": Runs(printed("0.300", 10, "0.150", "se"), WIDE, "rmse"),
    "means without a spread": Runs(printed("0.300", 10), WIDE, "rmse"),
    "means of a norm": Runs(printed("0.300", 10, "0.100", "sd"), WIDE, "fnorm"),
    "few runs": Runs(printed("0.300", 10, "0.006", "sd"), NARROW[:15], "rmse"),
    "a single run": Runs(printed("0.3000", 1), NARROW, "mse", single),
    "a single run by ranks": Runs(printed("0.3000", 1), NARROW, "mse", partial(single, heavy=True)),
    "all runs": Runs(printed("0.300", 10, "0.006", "sd"), NARROW, "test_error", all_runs),
    "single runs of a sampler": Runs(
        Printed(0.3, 0.0, math.nan, 15, tuple(WIDE[:15])), WIDE[15:], "sampler_output", chances
    ),
    "a box": Runs(Box(0.3, 0.28, 0.32, 0.2, 0.4, 1, 1e-5, 20), WIDE[:20], "mmd", partial(box, calibration=TABLE)),
}


def key(name):
    return (*["s", "1", "d", "m", name, "rmse"], "authors")


def judged_alone(runs, theirs, ours):
    """One draw by :func:`reports.verdict.judge`, the published number made by other code."""
    like = runs.published
    if isinstance(like, Box):
        from tests.reports.test_evidence import box_of

        return judge(replace(runs, published=replace(box_of(theirs), unit=like.unit), values=ours), family=87).verdict
    if runs.evidence is chances:
        return judge(replace(runs, published=replace(like, runs=tuple(theirs)), values=ours), family=87).verdict
    digits = round(-math.log10(like.unit))
    std, kind = "", "none"
    if not math.isnan(like.spread):
        root = like.spread_unit / 1e-3  # every spread above has three digits
        std, kind = f"{np.std(theirs, ddof=1) / root:.3f}", "se" if root > 1.01 else "sd"
    paper = printed(f"{np.mean(theirs):.{digits}f}", like.n, std, kind)
    if runs.evidence is all_runs:
        paper = replace(paper, runs=tuple(theirs))
    return judge(replace(runs, published=paper, values=ours), family=87).verdict


@pytest.mark.parametrize("name", CASES)
def test_each_draw_is_judged_as_the_rule_does(name, monkeypatch):
    """30 draws of each kind: the words at once are those of ``judge`` one by one."""
    monkeypatch.setattr(ceiling, "DRAWS", 30)
    runs = CASES[name]
    case = Case(key(name), runs, 87)
    theirs, ours = ceiling.draw(runs, ceiling.way_of(runs), ceiling.stream("ceiling", *case.key))
    assert ceiling.words(case) == [judged_alone(runs, t, o) for t, o in zip(theirs, ours, strict=True)]


def test_the_ways():
    expected = {
        "means by t": "both sides", "few runs": "both sides", "a single run": "one run each", "a box": "both sides",
        "single runs of a sampler": "random split",
    }  # fmt: skip
    assert {name: ceiling.way_of(CASES[name]) for name in expected} == expected
    like = CASES["means by t"].published
    assert ceiling.way_of(Runs(like, NARROW[:4], "rmse", means)) == "none"
    assert ceiling.way_of(Runs(like, NARROW[:5], "rmse", means)) == "both sides"
    assert ceiling.way_of(Runs(like, NARROW, "rmse", lambda *_: None)) == "none"
    assert ceiling.way_of(Runs(like, [0.3], "mse", exact)) == "no noise"
    assert ceiling.way_of(Runs(like, [0.3], "tarp_coverage_rmse", partial(batch, sd=0.1))) == "normal"


def test_draws():
    """Each of single runs is taken once; a split has all runs once; two sets have the variance of the distribution."""
    rng, values = np.random.default_rng(1), np.arange(40.0)
    theirs, ours = ceiling.draw(Runs(printed("3.0", 1), values, "mse", single), "one run each", rng)
    assert theirs[:, 0].tolist() == values.tolist()
    assert (np.sort(np.c_[theirs, ours], axis=1) == values).all()
    known = Runs(Printed(1.0, 0.0, math.nan, 10, tuple(values[:10])), values[10:], "sampler_output", chances)
    theirs, ours = ceiling.draw(known, "random split", rng)
    assert (theirs.shape, ours.shape) == ((400, 10), (400, 30))
    assert (np.sort(np.c_[theirs, ours], axis=1) == values).all()
    assert len(np.unique(theirs, axis=0)) > 390
    theirs, ours = ceiling.draw(Runs(printed("3.0", 10), values[:20], "heldout_nll"), "both sides", rng)
    assert (theirs.shape, ours.shape) == ((400, 10), (400, 20))
    assert set(ours.ravel()) == set(theirs.ravel())
    assert np.unique(ours).var() == pytest.approx(values[:20].var(ddof=1), rel=1e-12)
    assert not (np.sort(ours) == np.unique(ours)).all(axis=1).any()


def test_no_draw_of_a_positive_metric_is_negative():
    few = np.r_[np.zeros(9), 1.0]
    assert ceiling.widened(few, "clipped_ratios").min() == 0
    assert ceiling.widened(few, "heldout_nll").min() < 0


def test_both_sides_vary_as_two_independent_sets_do():
    """The Mann-Whitney count of two sets of 20, against its variance between independent sets.

    400 draws know it within a fifth, three standard errors. The same runs on both sides would give a half.
    """
    values, independent = np.random.default_rng(5).standard_normal(20), 20 * 20 * 41 / 12
    theirs, ours = ceiling.draw(Runs(printed("0.0", 20), values, "heldout_nll"), "both sides", np.random.default_rng(2))
    above = (theirs[:, :, None] > ours[:, None, :]) + 0.5 * (theirs[:, :, None] == ours[:, None, :])
    assert above.sum(axis=(1, 2)).var() / independent == pytest.approx(0.95, rel=0.2)


def test_a_copy_with_lost_runs_is_at_best_inconclusive():
    assert set(ceiling.words(Case(key("x"), CASES["means by t"], 87, lost=1))) == {"inconclusive"}


def test_a_number_without_noise_and_one_without_ceiling():
    one = Runs(printed("0.300", 1), [0.31], "mse", exact)
    assert ceiling.row(Case(key("x"), one, 87))["reproduced"] == 1
    few = ceiling.row(Case(key("x"), Runs(printed("0.300", 10, "0.006", "sd"), NARROW[:4], "rmse"), 87))
    assert (few["way"], few["draws"]) == ("none", 0)
    assert math.isnan(few["reproduced"])


@pytest.mark.parametrize("unit", [1e-3, 1e-19])
def test_a_copy_whose_streams_are_known(unit, monkeypatch):
    """Each draw takes one stream per part, and is judged as ``judge`` does."""
    monkeypatch.setattr(ceiling, "DRAWS", 30)
    values = 0.8 + 0.03 * np.random.default_rng(1).standard_normal((20, 3))
    runs = Runs(Printed(0.8, unit, math.nan, 1), values, "spearman", streams)
    assert ceiling.way_of(runs) == ceiling.STREAMS
    found, theirs = ceiling._streams(runs, np.random.default_rng(0))
    chosen = np.random.default_rng(0).integers(3, size=(30, 20))
    assert theirs == pytest.approx([values[np.arange(20), c].mean() for c in chosen], abs=unit / 2 + 1e-12)
    for i, t in enumerate(theirs):
        alone = streams(replace(runs.published, mean=float(t)), values, "spearman", 1e-4)
        assert (found.p[i], found.bound[i]) == pytest.approx((alone.p, alone.bound), rel=1e-9)
        assert found.higher[i] == alone.higher
    said = ceiling.words(Case(key("streams"), runs, 87))
    assert len(said) == 30
    assert not set(said) & set(REFUTED)
    assert ceiling.way_of(replace(runs, metric="fnorm")) == ceiling.NONE


def test_batches_that_are_far_from_the_margin_or_within_it():
    """sd far below a quarter of the number: reproduced but for the 5 %; far above: never (bounds: six deviations)."""
    for sd, low, high in ((0.01, 0.88, 1.0), (0.3, 0.0, 0.0)):
        runs = Runs(Printed(0.3, 1e-3, math.nan, 1), [0.3], "tarp_coverage_rmse", partial(batch, sd=sd))
        assert low <= ceiling.row(Case(key("b"), runs, 87))["reproduced"] <= high


# ----- what is committed


@pytest.fixture(scope="module")
def committed():
    return ceiling.read()


def test_some_committed_rows_are_made_again(committed):
    """Every 40th number of the papers whose cases are read in seconds."""
    rows = {tuple(r[k] for k in [*KEY, "reading"]): r for r in committed.to_dict("records")}
    for paper, step in (("jalko2017dpvi", 20), ("raisa2021thesis", 90), ("wang2018", 900)):
        for case in list(ceiling.cases(paper))[::step]:
            made, told = ceiling.row(case), rows[case.key]
            assert (made["way"], made["draws"], made["runs"]) == (told["way"], told["draws"], told["runs"])
            assert [made[w] for w in ceiling.SHARES] == pytest.approx([told[w] for w in ceiling.SHARES], abs=1e-8)


def test_every_number_with_a_verdict_has_its_row_and_no_other(committed):
    """By the scoreboard: all scored numbers of the two readings that can be a reproduction."""
    scored = scoreboard.read()
    scored = scored[scored["reading"].isin(scoreboard.ORDER) & scored["verdict"].isin(VERDICTS)]
    told = set(map(tuple, committed[[*KEY, "reading"]].to_numpy()))
    assert told == set(map(tuple, scored[[*KEY, "reading"]].to_numpy()))
    assert len(committed) == len(told)


def test_the_shares_of_a_row_add_up(committed):
    known = committed[committed["way"] != "none"]
    assert known[list(ceiling.SHARES)].sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-7)
    c = ceiling
    assert set(committed["way"]) == {c.EACH, c.BOTH, c.SPLIT, c.STREAMS, c.NORMAL, c.NO_NOISE, c.NONE}
    assert known["refuted"].max() < 0.05  # nothing of ours often refutes itself
    assert set(REFUTED) | set(ceiling.SHARES[:-1]) == set(VERDICTS)
    assert {p.key for p in papers() if (p.reference / ceiling.NAME).is_file()} >= {"wang2018", "vinaroz2023dpsep"}


def test_the_table_of_a_paper_without_numbers_is_empty():
    assert isinstance(ceiling.table([]), pd.DataFrame)
    assert list(ceiling.table([]).columns) == ceiling.COLUMNS
